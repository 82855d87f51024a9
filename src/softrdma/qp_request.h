// SPDX-License-Identifier: BSD-3-Clause
//
// A send request that has to wait: everything it needs is copied, so that the application may reuse what
// it posted from.
#pragma once

#include "ah.h"
#include "qp.h"

namespace softrdma {

struct queue_pair::stored_request {
    ibv_send_wr wr; // its pointers point into this structure
    ibv_sge sges[limits::sges];
    char inline_data[limits::inline_bytes];
    // How far it is with the fabric model.
    enum class progress : uint8_t {
        posted,
        travels,
        executed
    };
    progress phase;
    uint32_t message; // of the model, while it travels
    outcome result; // once executed
    uint64_t complete_at; // when its acknowledgement is back
    alignas(address_handle) char address[sizeof(address_handle)]; // of a datagram
};

} // namespace softrdma
