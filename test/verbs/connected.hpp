// SPDX-License-Identifier: BSD-3-Clause
//
// An endpoint here and a servant, connected.
#pragma once

#include "servant.hpp"

#include <boost/test/unit_test.hpp>

namespace softtest {

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
