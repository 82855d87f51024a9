// SPDX-License-Identifier: BSD-3-Clause
//
// One put or get on its way: cut into pieces as the window admits them, done when its last piece is.

#pragma once

#include "engine/c_api.h"
#include "engine/fifo.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace be::engine {

class Link;

struct BulkOperation {
    enum class Kind : std::uint8_t {
        put,
        get
    };

    BulkOperation *next     = nullptr; // in the link's queue, or in stock
    Link *link              = nullptr; // whose it is
    Kind kind               = Kind::put;
    bool posted_any         = false; // a zero-length operation still posts one piece
    bool offered            = false; // to flow control, which admits it
    std::uint8_t sge_count  = 0;
    be_status_t status      = BE_OK; // the first failure of a piece
    std::uint32_t rkey      = 0;
    std::uint32_t in_flight = 0; // pieces posted, not retired
    std::uint64_t after = 0; // the message queue must have retired this many first (fence)
    std::uint64_t after_others = 0; // ... and so many of the link's other kind be done
    std::uint64_t remote       = 0; // where it begins there
    std::size_t posted         = 0; // bytes
    std::size_t unposted       = 0;
    std::array<be_sge_t, BE_MAX_SGE> sge{};
    void *completion = nullptr;

    // get_bcopy: where the data lands before it is unpacked.
    void *staging             = nullptr;
    void *unpack_func         = nullptr;
    void *unpack_arg          = nullptr;
    std::size_t unpack_length = 0;

    bool all_posted() const noexcept
    {
        return posted_any && unposted == 0;
    }
};

using BulkQueue      = Fifo<BulkOperation>;
using BulkOperations = Stock<BulkOperation>;

} // namespace be::engine
