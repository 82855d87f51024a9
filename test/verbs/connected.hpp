// SPDX-License-Identifier: BSD-3-Clause
//
// An endpoint here and a servant, connected.
#pragma once

#include "servant.hpp"
#include "site.hpp"

#include <boost/test/unit_test.hpp>

namespace softtest {

// Preconditions of tests: that the device reaches other processes' memory by itself, or that it does not.
inline boost::test_tools::assertion_result direct_access(boost::unit_test::test_unit_id)
{
    return where_we_are().direct;
}

inline boost::test_tools::assertion_result
no_direct_access(boost::unit_test::test_unit_id)
{
    return !where_we_are().direct;
}

struct connected {
    explicit connected(const options &wanted = {}) : connected(wanted, wanted)
    {
    }

    connected(const options &mine, const options &theirs) : self(mine), other(theirs)
    {
        BOOST_REQUIRE_EQUAL(self.connect(other.where()), 0);
        BOOST_REQUIRE_EQUAL(other.connect(self.own_address()), 0);
    }

    // The status of one request from here to memory of the other side.
    int
    rdma(ibv_wr_opcode opcode, const address &where, uint32_t length, uint64_t offset = 0)
    {
        BOOST_REQUIRE_EQUAL(self.rdma(opcode, where, length, offset), 0);
        return self.wait_status();
    }

    endpoint self;
    servant other;
};

} // namespace softtest
