// SPDX-License-Identifier: BSD-3-Clause
//
// A peer of be_mux: answers pings, takes puts and messages, and looks at all of it. When there is nothing to do it
// sleeps: there are more processes than processors.

#include "mux_board.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <unistd.h>
#include <vector>

namespace mux {
namespace {

using be::test::check;

// Vain calls of progress() before it sleeps; a round trip is shorter.
constexpr unsigned patience = 2000;

// Of so many messages one is looked at in full when it arrives, the others at both ends: it is the transport that is
// measured.
constexpr unsigned messages_per_look = 64;

struct Kept {
    void *data;
    Header header;
};

class Peer {
public:
    Peer(Board &board, unsigned index, bool keeps) :
        m_board(board),
        m_index(index),
        m_keeps(keeps),
        m_memory(num_workers * num_slots * board.size / sizeof(std::uint64_t)),
        m_context(open_context(false)),
        m_worker(open_worker(m_context))
    {
        publish();
        for (const AmId id : {am_ping, am_bulk, am_stop, am_last}) {
            on_message(m_worker, id,
                       id == am_ping ? handler<&Peer::on_ping> :
                       id == am_bulk ? handler<&Peer::on_bulk> :
                       id == am_stop ? handler<&Peer::on_stop> :
                                       handler<&Peer::on_last>,
                       this);
        }
    }

    Peer(const Peer &)            = delete;
    Peer &operator=(const Peer &) = delete;

    ~Peer()
    {
        ucp_mem_unmap(m_context, m_handle);
        ucp_worker_destroy(m_worker);
        ucp_cleanup(m_context);
    }

    void run()
    {
        for (unsigned idle = 0; m_finished < num_workers;) {
            if (m_pings != 0) {
                answer();
            }
            if (m_stopped) {
                pthread_barrier_wait(&m_board.resume);
                m_stopped = false;
            }
            if (ucp_worker_progress(m_worker) != 0) {
                idle = 0;
            } else if (++idle > patience) {
                check(ucp_worker_wait(m_worker), "ucp_worker_wait");
            }
        }
        for (const Kept &kept : m_kept) {
            check_bulk(kept.data, m_board.size, kept.header.worker, kept.header.slot,
                       kept.header.sequence);
            ucp_am_data_release(m_worker, kept.data);
        }
    }

    // Whoever closes an endpoint may need the other end's progress.
    void leave()
    {
        while (!m_board.closed) {
            ucp_worker_progress(m_worker);
        }
        if (m_back != nullptr) {
            close(m_worker, m_back);
        }
        ++m_board.left;
    }

private:
    using Handler = ucs_status_t (Peer::*)(const Header &, void *, std::size_t,
                                           std::uint64_t attributes);

    template<Handler method>
    static ucs_status_t
    handler(void *arg, const void *header, std::size_t header_length, void *data,
            std::size_t length, const ucp_am_recv_param_t *param)
    {
        Header decoded;
        try {
            if (header_length != sizeof(decoded)) {
                throw std::runtime_error(fmt::format("a header has {} bytes, expected {}",
                                                     header_length, sizeof(decoded)));
            }
            std::memcpy(&decoded, header, sizeof(decoded));
            return (static_cast<Peer *>(arg)->*method)(decoded, data, length,
                                                       param->recv_attr);
        } catch (const std::exception &error) { // UCX is C
            fmt::print(stderr, "be_mux: peer {}: {}\n", static_cast<Peer *>(arg)->m_index,
                       error.what());
            std::_Exit(1);
        }
    }

    void publish()
    {
        ucp_mem_map_params_t params{};
        params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                            UCP_MEM_MAP_PARAM_FIELD_LENGTH;
        params.address = m_memory.data();
        params.length  = m_memory.size() * sizeof(std::uint64_t);
        check(ucp_mem_map(m_context, &params, &m_handle), "ucp_mem_map");
        void *key          = nullptr;
        std::size_t length = 0;
        check(ucp_rkey_pack(m_context, m_handle, &key, &length), "ucp_rkey_pack");
        // The memory's address, then the key.
        const auto address = reinterpret_cast<std::uintptr_t>(m_memory.data());
        std::string packed(reinterpret_cast<const char *>(&address), sizeof(address));
        packed.append(static_cast<const char *>(key), length);
        ucp_rkey_buffer_release(key);
        m_board.keys[m_index].set(packed);
        m_board.addresses[m_index].set(address_of(m_worker));
        m_board.pids[m_index] = getpid();
    }

    ucs_status_t on_ping(const Header &, void *, std::size_t, std::uint64_t)
    {
        ++m_pings;
        return UCS_OK;
    }

    void answer()
    {
        if (m_back == nullptr) {
            m_back = connect(m_worker, m_board.pinger);
        }
        for (; m_pings != 0; --m_pings) {
            const ucs_status_ptr_t request = send(m_back, am_pong, m_header,
                                                  m_pong.data(), m_pong.size());
            if (UCS_PTR_IS_ERR(request)) {
                check(UCS_PTR_STATUS(request), "a pong");
            } else if (request != nullptr) {
                ucp_request_free(request); // it completes by itself
            }
        }
    }

    ucs_status_t on_bulk(const Header &header, void *data, std::size_t length,
                         std::uint64_t attributes)
    {
        if (length != m_board.size || header.worker >= num_workers ||
            header.sequence != m_received[header.worker] + 1) {
            throw std::runtime_error(fmt::format(
                    "message {} of worker {}, {} bytes; expected message {} of {} bytes",
                    header.sequence, header.worker, length,
                    header.worker < num_workers ? m_received[header.worker] + 1 : 0,
                    m_board.size));
        }
        ++m_received[header.worker];
        if (m_keeps && (attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0) {
            m_kept.push_back({data, header});
            ++m_board.kept;
            return UCS_INPROGRESS;
        }
        m_board.copied += m_keeps;
        (header.sequence % messages_per_look == 0 ?
                 check_bulk :
                 check_stamp)(data, length, header.worker, header.slot, header.sequence);
        return UCS_OK;
    }

    ucs_status_t on_stop(const Header &, void *, std::size_t, std::uint64_t)
    {
        m_stopped = true;
        return UCS_OK;
    }

    ucs_status_t
    on_last(const Header &header, void *data, std::size_t length, std::uint64_t)
    {
        Last last;
        if (length != sizeof(last) || header.worker >= num_workers) {
            throw std::runtime_error(fmt::format("the last message of worker {} has {} "
                                                 "bytes, expected {}",
                                                 header.worker, length, sizeof(last)));
        }
        std::memcpy(&last, data, sizeof(last));
        if (m_received[header.worker] != last.messages) {
            throw std::runtime_error(
                    fmt::format("{} messages of worker {} have come, expected {}",
                                m_received[header.worker], header.worker, last.messages));
        }
        for (unsigned slot = 0; slot < num_slots; ++slot) {
            if (last.stamps[slot] != 0) {
                check_bulk(m_memory.data() + (header.worker * num_slots + slot) *
                                                     m_board.size / sizeof(std::uint64_t),
                           m_board.size, header.worker, slot, last.stamps[slot]);
            }
        }
        ++m_finished;
        return UCS_OK;
    }

    Board &m_board;
    const unsigned m_index;
    const bool m_keeps;
    std::vector<std::uint64_t> m_memory;
    ucp_context_h m_context;
    ucp_worker_h m_worker;
    ucp_mem_h m_handle = nullptr;
    ucp_ep_h m_back    = nullptr;
    const Header m_header{};
    const std::array<char, ping_size> m_pong{};
    std::uint64_t m_pings = 0;
    bool m_stopped        = false;
    unsigned m_finished   = 0;
    std::array<std::uint64_t, num_workers> m_received{};
    std::vector<Kept> m_kept;
};

} // namespace

int run_peer(Board &board, unsigned index, bool keeps)
{
    Peer peer(board, index, keeps);
    pthread_barrier_wait(&board.all); // addresses are there
    peer.run();
    pthread_barrier_wait(&board.all); // nobody sends any more
    peer.leave();
    return 0;
}

} // namespace mux
