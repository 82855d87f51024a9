// SPDX-License-Identifier: BSD-3-Clause
//
// A descriptor of somebody else's that the control thread watches: Node::watch().
//
// Threads: the control thread.

#pragma once

#include "control/asio.hpp"

#include <functional>
#include <memory>

namespace be::control {

class Watch : public std::enable_shared_from_this<Watch> {
public:
    // Watches a duplicate of `fd`. Throws std::system_error.
    Watch(asio::io_context &context, int fd, std::function<void()> readable);

    void start();

    // No call after this one.
    void cancel() noexcept;

private:
    asio::posix::stream_descriptor m_descriptor;
    const std::function<void()> m_readable;
    bool m_cancelled = false;
};

} // namespace be::control
