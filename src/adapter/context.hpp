// SPDX-License-Identifier: BSD-3-Clause
//
// The UCP context of a runtime.
#pragma once

#include <byteexpress/status.hpp>

#include "adapter/block_pool.hpp"

#include <optional>
#include <string>

#include <ucp/api/ucp.h>

namespace be::adapter {

class Context {
public:
    // Throws Error with what UCX says.
    Context();
    ~Context();
    Context(const Context &)            = delete;
    Context &operator=(const Context &) = delete;

    ucp_context_h handle() const noexcept
    {
        return m_context;
    }

private:
    ucp_context_h m_context = nullptr;
    std::optional<PoolUser> m_pool; // large bodies are known to it
};

// Throws Error with `what` and UCX's text unless `status` is UCS_OK.
void require(ucs_status_t status, const std::string &what);

} // namespace be::adapter
