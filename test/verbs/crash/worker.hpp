// SPDX-License-Identifier: BSD-3-Clause
//
// One of the processes that may be killed: it is connected to all others and sends, writes, reads and adds
// without a pause. Everything it is told of its work is checked: messages come whole and in order, and no
// request fails but those to a peer that was killed, and these with retries exhausted or flushed.
#pragma once

#include "../verbs_api.hpp"
#include "message.hpp"

#include <random>
#include <vector>

namespace crash {

class worker {
public:
    // `socket` leads to the coordinator. Queue pairs are numbered peer by peer.
    worker(int socket, uint32_t self, uint32_t workers, uint32_t pairs, uint32_t seed);

    // Serves until the socket closes.
    void run();

private:
    struct connection {
        ibv_qp *qp           = nullptr;
        uint32_t peer        = 0;
        bool running         = false;
        bool failed          = false; // with retries exhausted
        uint32_t outstanding = 0;
        uint32_t posted      = 0; // requests
        uint32_t sent        = 0; // messages
        uint32_t received    = 0; // messages
        uint32_t total =
                0; // receives that were completed, also before it was connected again
    };

    void create_queues();
    void obey(const command &next);
    void connect(const command &what);
    void bury(uint32_t peer);
    void report();
    void fault(const connection &where, const char *what, uint32_t detail);

    // Address of a block of memory.
    uint64_t block(uint32_t index) const;
    void post_receive(connection &from, uint64_t slot);
    void post_something(connection &to);

    // Takes some completions; false when there are none.
    bool poll();
    void sent(connection &to, const ibv_wc &wc);
    void arrived(connection &from, const ibv_wc &wc);
    void check_message(connection &from, const char *data, uint32_t length);

    uint32_t any(uint32_t below)
    {
        return static_cast<uint32_t>(m_random() % below);
    }

    const int m_socket;
    const uint32_t m_self;
    const uint32_t m_workers;
    const uint32_t m_pairs;
    const bool m_shared; // receives are shared
    std::minstd_rand m_random;

    ibv_context *m_context = nullptr;
    ibv_pd *m_pd           = nullptr;
    ibv_mr *m_mr           = nullptr;
    ibv_cq *m_cq           = nullptr;
    ibv_srq *m_srq         = nullptr;
    char *m_memory         = nullptr;
    std::vector<connection> m_connections;
    std::vector<place> m_places; // of the peers
    std::vector<uint32_t>
            m_by_number; // index of the connection, by the low bits of its queue pair's number
    bool m_working = false; // was told to go
    answer m_answer{};
};

} // namespace crash
