// SPDX-License-Identifier: BSD-3-Clause
/*
 * The wire between the two processes of a test that is not under test: a socket pair that keeps
 * message boundaries. It carries worker addresses, keys, barriers and verdicts.
 *
 * A closed or dead other end throws std::runtime_error. One thread a side.
 */
#ifndef BE_TEST_LIB_CHANNEL_HPP
#define BE_TEST_LIB_CHANNEL_HPP

#include <optional>
#include <string>
#include <utility>

namespace be::test {

class Channel {
public:
    /* Two ends, connected to each other. */
    static std::pair<Channel, Channel> pair();

    Channel(Channel &&other) noexcept;
    Channel &operator=(Channel &&) = delete;
    ~Channel();

    int fd() const
    {
        return m_fd;
    }
    void send(const std::string &message) const;
    /* A message that has arrived, or nothing. */
    std::optional<std::string> try_receive() const;
    /* Blocks at most `seconds`, then throws. */
    std::string receive(double seconds) const;

private:
    explicit Channel(int fd) : m_fd(fd)
    {
    }

    int m_fd;
};

} // namespace be::test

#endif
