// SPDX-License-Identifier: BSD-3-Clause
//
// A message without a body that nobody waits for.
#pragma once

#include "adapter/worker.hpp"

namespace be::adapter {

// Under the worker's lock.
inline void send_notice(Endpoint &to, wire::Header header)
{
    auto *notice      = new Outgoing([](Outgoing &sent, ucs_status_t) { delete &sent; });
    header.connection = to.peer();
    notice->encode(header);
    to.worker().send(to, *notice);
}

} // namespace be::adapter
