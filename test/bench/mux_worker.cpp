// SPDX-License-Identifier: BSD-3-Clause
#include "mux_worker.hpp"

#include <fmt/format.h>

namespace mux {

using be::test::check;

Worker::Worker(ucp_context_h context, Board &board, unsigned number, Bulk bulk) :
    m_board(board), m_number(number), m_bulk(bulk), m_worker(open_worker(context))
{
    on_message(m_worker, am_pong, on_pong, this);
    if (number == 0) {
        board.pinger.set(address_of(m_worker));
    }
    for (Lane &lane : m_lanes) {
        for (unsigned i = 0; i < num_slots; ++i) {
            lane.slots[i].words.resize(board.size / sizeof(std::uint64_t));
            fill(lane.slots[i].words.data(), board.size, number, i);
            lane.slots[i].header = {.worker = static_cast<std::uint16_t>(number),
                                    .slot   = static_cast<std::uint16_t>(i)};
        }
    }
}

Worker::~Worker()
{
    ucp_worker_destroy(m_worker);
}

void Worker::disconnect()
{
    for (Lane &lane : m_lanes) {
        ucp_rkey_destroy(lane.key);
        close(m_worker, lane.ep);
    }
}

void Worker::connect()
{
    for (unsigned peer = 0; peer < num_peers; ++peer) {
        Lane &lane            = m_lanes[peer];
        const std::string key = m_board.keys[peer].get();
        lane.ep               = mux::connect(m_worker, m_board.addresses[peer]);
        std::memcpy(&lane.remote, key.data(), sizeof(lane.remote));
        check(ucp_ep_rkey_unpack(lane.ep, key.data() + sizeof(lane.remote), &lane.key),
              "ucp_ep_rkey_unpack");
    }
    flush();
}

bool Worker::connected()
{
    ucp_worker_progress(m_worker);
    return done();
}

void Worker::flush()
{
    const ucp_request_param_t param{};
    for (unsigned peer = 0; peer < num_peers; ++peer) {
        m_requests[peer] = ucp_ep_flush_nbx(m_lanes[peer].ep, &param);
    }
    m_flushing = true;
    m_stopping = true;
}

void Worker::start(Role role, unsigned first_peer)
{
    m_role       = role;
    m_first_peer = first_peer;
    m_stopping   = false;
    m_flushing   = false;
    m_bytes      = 0;
    m_latencies.clear();
}

// True once: the request is complete, or there was none.
bool Worker::ended(ucs_status_ptr_t &request, const char *what)
{
    if (UCS_PTR_IS_PTR(request)) {
        const ucs_status_t status = ucp_request_check_status(request);
        if (status == UCS_INPROGRESS) {
            return false;
        }
        ucp_request_free(request);
        request = nullptr;
        check(status, what);
    }
    check(UCS_PTR_STATUS(request), what);
    return true;
}

bool Worker::step()
{
    bool happened = false;
    if (m_role == Role::streams) {
        for (unsigned peer = m_first_peer; peer < num_peers; ++peer) {
            for (Slot &slot : m_lanes[peer].slots) {
                happened |= look_after(m_lanes[peer], slot);
            }
        }
    } else if (m_role == Role::pings && !m_waits && !m_stopping) {
        ping();
        happened = true;
    }
    happened |= ucp_worker_progress(m_worker) != 0;
    if (std::exchange(m_got_pong, false)) {
        m_waits = false;
        m_latencies.push_back(
                std::chrono::duration<double, std::micro>(Clock::now() - m_pinged).count() /
                2);
        happened = true;
    }
    return happened;
}

bool Worker::done()
{
    if (!m_stopping || m_waits) {
        return false;
    }
    for (Lane &lane : m_lanes) {
        for (Slot &slot : lane.slots) {
            if (!ended(slot.request, "bulk")) {
                return false;
            }
        }
    }
    if (!m_flushing) {
        flush();
    }
    bool all = true;
    for (ucs_status_ptr_t &request : m_requests) {
        all = ended(request, "ucp_ep_flush") && all;
    }
    return all;
}

void Worker::sleep()
{
    check(ucp_worker_wait(m_worker), "ucp_worker_wait");
}

ucs_status_t Worker::on_pong(void *arg, const void *, std::size_t, void *, std::size_t,
                             const ucp_am_recv_param_t *)
{
    static_cast<Worker *>(arg)->m_got_pong = true;
    return UCS_OK;
}

void Worker::ping()
{
    if (!ended(m_ping_request, "a ping")) {
        return;
    }
    m_waits        = true;
    m_pinged       = Clock::now();
    m_ping_request = send(m_lanes[0].ep, am_ping, m_ping_header, m_ping.data(),
                          m_ping.size());
}

bool Worker::look_after(Lane &lane, Slot &slot)
{
    const bool posted = slot.request != nullptr;
    if (!ended(slot.request, "bulk") || m_stopping) {
        return false;
    }
    post(lane, slot);
    m_bytes += m_board.size;
    return posted || slot.request == nullptr;
}

void Worker::post(Lane &lane, Slot &slot)
{
    std::uint64_t *words = slot.words.data();
    if (m_bulk == Bulk::am) {
        slot.header.sequence = ++lane.messages;
        stamp(words, m_board.size, slot.header.sequence);
        slot.request = send(lane.ep, am_bulk, slot.header, words, m_board.size);
        return;
    }
    const ucp_request_param_t param{};
    stamp(words, m_board.size, ++slot.stamp);
    slot.request = ucp_put_nbx(lane.ep, words, m_board.size,
                               lane.remote + (m_number * num_slots + slot.header.slot) *
                                                     m_board.size,
                               lane.key, &param);
}

void Worker::stop_peer()
{
    ucs_status_ptr_t request = send(m_lanes[slow_peer].ep, am_stop, m_ping_header,
                                    nullptr, 0);
    while (!ended(request, "the order to stop")) {
        ucp_worker_progress(m_worker);
    }
}

void Worker::finish()
{
    const Header header{.worker = static_cast<std::uint16_t>(m_number)};
    std::array<ucs_status_ptr_t, num_peers> requests{};
    for (unsigned peer = 0; peer < num_peers; ++peer) {
        Lane &lane         = m_lanes[peer];
        lane.last.messages = lane.messages;
        for (unsigned i = 0; i < num_slots; ++i) {
            lane.last.stamps[i] = lane.slots[i].stamp;
        }
        requests[peer] = send(lane.ep, am_last, header, &lane.last, sizeof(lane.last));
    }
    for (ucs_status_ptr_t &request : requests) {
        while (!ended(request, "the last message")) {
            ucp_worker_progress(m_worker);
        }
    }
}

} // namespace mux
