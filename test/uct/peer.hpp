// SPDX-License-Identifier: BSD-3-Clause
//
// What a test and the uct_peer process agree on, and how the test starts and ends it.

#pragma once

#include "harness.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace uct_test {

inline constexpr uint8_t peer_am_id = 6;
inline constexpr size_t peer_memory = size_t{8} << 20;
inline constexpr uint64_t peer_seed = 4711;

std::string to_hex(const std::vector<uint8_t> &bytes);
std::vector<uint8_t> from_hex(const std::string &text);

// A running uct_peer; killed, if it still runs, by the destructor.
class Peer {
public:
    // echo_to: where it sends messages back to; nullptr: nowhere.
    explicit Peer(const Address *echo_to = nullptr);
    ~Peer();
    Peer(const Peer &)            = delete;
    Peer &operator=(const Peer &) = delete;

    const Address &address() const
    {
        return m_address;
    }

    const std::vector<uint8_t> &packed_key() const
    {
        return m_key;
    }

    uint64_t remote() const
    {
        return m_remote;
    }

    void signal(int number) const;
    void kill(); // SIGKILL, and waits until it is gone
    void leave(); // asks it to end by itself, and waits for that

private:
    void wait();

    pid_t m_pid = -1;
    int m_input = -1; // its standard input
    Address m_address;
    std::vector<uint8_t> m_key;
    uint64_t m_remote = 0;
};

} // namespace uct_test
