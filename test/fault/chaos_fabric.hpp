// SPDX-License-Identifier: BSD-3-Clause
//
// The fabric of a process of the chaos test and its traffic with all others. What is wrong throws std::runtime_error, from
// progress() if a callback found it.

#pragma once

#include "chaos_member.hpp"

#include "engine/c_api.h"
#include "engine/traffic.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <random>
#include <string>

namespace be::engine {
class Peer;
}

namespace be::test {

class ChaosFabric {
public:
    ChaosFabric(unsigned self, std::uint64_t seed, ChaosBoard &board);
    ~ChaosFabric();
    ChaosFabric(const ChaosFabric &)            = delete;
    ChaosFabric &operator=(const ChaosFabric &) = delete;

    // Address and memory, for the others.
    std::string introduction() const;
    // All introductions, in order.
    void connect(const std::string &introductions);

    // Waits until the fabric is as it is without faults.
    void until_settled(const std::string &after);
    // One operation to some end. False: there was no room.
    bool act(std::mt19937_64 &random);
    // False: there was nothing to do.
    bool progress();
    bool arm();
    int event_fd() const;

    void break_path(unsigned end, bool bulk);
    void cut_channel(unsigned end);

    // Messages and puts, of each end; one's own are 0.
    std::string sent() const;
    void expect(const std::string &numbers);
    // What was expected has come, and all operations are complete.
    bool quiet() const;
    // Something came since the last call. `all`: with every end.
    bool news(bool all);

    // Waits until it is settled, checks that nothing has leaked, and returns what was counted: " NAME VALUE"
    // each.
    std::string check();
    void print_state() const;

private:
    static be_rx_result_t
    on_message(void *arg, std::uint8_t id, void *data, std::size_t length, int keep);
    static void on_complete(void *arg, void *name, be_status_t status);
    static void
    on_unpack(void *arg, void *func, void *name, const void *data, std::size_t length);
    static void on_failed(void *arg, be_peer_t *peer, be_status_t status);

    // Runs what a callback does; keeps the first thing that is wrong.
    template<typename Call>
    void guard(Call &&call) noexcept
    {
        try {
            call();
        } catch (...) {
            if (m_wrong == nullptr) {
                m_wrong = std::current_exception();
            }
        }
    }

    void open_device();
    engine::Peer &peer(unsigned end) const;
    std::uint64_t metric(const std::string &name) const;
    unsigned rdma_peers() const;
    std::string unsettled() const;
    void publish_queue_pairs();

    template<typename Visit>
    void each_end(Visit &&visit) const
    {
        for (unsigned end = 0; end < chaos_ends; ++end) {
            if (end != m_self) {
                visit(end, *m_traffic[end]);
            }
        }
    }

    const unsigned m_self;
    ChaosBoard &m_board;
    be_port_info_t m_port{};
    be_md_t *m_md         = nullptr;
    be_fabric_t *m_fabric = nullptr;
    std::array<std::unique_ptr<Traffic>, chaos_ends> m_traffic; // none with itself
    std::array<Sent, chaos_ends> m_expected{};
    std::array<std::uint64_t, chaos_ends> m_seen{}; // Traffic::events()
    std::exception_ptr m_wrong;
    bool m_ending     = false; // the others may leave
    unsigned m_rounds = 0; // of progress()
};

} // namespace be::test
