// SPDX-License-Identifier: BSD-3-Clause
//
// Socket addresses as text: "10.0.0.1:7000", "[fe80::1]:7000".
#pragma once

#include <string>

#include <sys/socket.h>

namespace be::adapter {

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;

    const sockaddr *get() const noexcept
    {
        return reinterpret_cast<const sockaddr *>(&storage);
    }
};

// Numeric ones only. Throws Error naming `what`, the text and what is expected.
Address parse_address(const std::string &text, const char *what);

std::string to_string(const sockaddr_storage &address);

} // namespace be::adapter
