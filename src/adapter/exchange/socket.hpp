// SPDX-License-Identifier: BSD-3-Clause
//
// TCP sockets of the exchange: non-blocking, and closed when the process becomes another
// program (exec).
#pragma once

#include "adapter/address.hpp"

#include <string>
#include <utility>

namespace be::adapter::exchange {

class Socket {
public:
    Socket() = default;
    explicit Socket(int fd) noexcept : m_fd(fd)
    {
    }
    Socket(Socket &&other) noexcept : m_fd(std::exchange(other.m_fd, -1))
    {
    }
    Socket &operator=(Socket &&other) noexcept
    {
        std::swap(m_fd, other.m_fd);
        return *this;
    }
    ~Socket()
    {
        close();
    }

    int fd() const noexcept
    {
        return m_fd;
    }
    bool open() const noexcept
    {
        return m_fd >= 0;
    }
    void close() noexcept;

    // Small messages at once; a peer whose machine is gone is noticed in 15 seconds.
    void prepare() noexcept;

    // Throws Error naming the address.
    static Socket listen(const Address &address);

    // Without one, *error is an errno value. It may still be connecting.
    static Socket connect(const Address &address, int *error) noexcept;

    // The address it is bound to.
    std::string local_address() const;

    // What has become of connecting: an errno value, or 0.
    int error() const noexcept;

private:
    int m_fd = -1;
};

} // namespace be::adapter::exchange
