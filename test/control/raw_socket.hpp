// SPDX-License-Identifier: BSD-3-Clause
//
// A blocking TCP socket that knows the codec and no manners: the hostile, or
// merely odd, other side. All waiting has a deadline.

#pragma once

#include "control/codec.hpp"
#include "control/frame.hpp"

#include <chrono>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace be::control::test {

class RawSocket {
public:
    // Connects. With `receive_buffer` (bytes), the system keeps little that is not
    // read.
    explicit RawSocket(const Address &address, int receive_buffer = 0);

    // Takes a connected descriptor over.
    explicit RawSocket(int fd) : m_fd(fd)
    {
    }

    ~RawSocket();
    RawSocket(RawSocket &&other) noexcept;
    RawSocket(const RawSocket &)            = delete;
    RawSocket &operator=(const RawSocket &) = delete;

    // False when the other side has gone.
    bool send(std::span<const std::uint8_t> bytes);
    bool send(const Message &message);

    // The next message, whose bytes are valid until the next call; nothing at the end
    // of the stream. Throws when neither
    // comes in time.
    std::optional<Message> receive();

    // The next message, which must be a T.
    template<class T>
    T receive_as()
    {
        return std::get<T>(receive().value());
    }

    // Reads up to the end of the stream; throws when it does not come in time.
    void read_to_end();

    // True when there is something to read, or the end, within `time`.
    bool readable_within(std::chrono::milliseconds time);

    // Plays the client up to and including Welcome.
    void authenticate(const Identity &server, std::uint64_t own_id,
                      std::uint64_t features = 0);

    void close();

private:
    bool read_some();

    int m_fd;
    FrameReader m_reader;
    std::deque<std::uint8_t> m_unread;
};

// A listening socket that accepts when told to.
class RawListener {
public:
    explicit RawListener(const char *ip = "127.0.0.1");
    ~RawListener();
    RawListener(const RawListener &)            = delete;
    RawListener &operator=(const RawListener &) = delete;

    RawSocket accept();

    const Address &address() const
    {
        return m_address;
    }

private:
    int m_fd;
    Address m_address;
};

} // namespace be::control::test
