// SPDX-License-Identifier: BSD-3-Clause
//
// A device owes a completion for every work request that asked for one: of success, or of failure once the retries are
// used up. Some lose one (a timer that is not set again when a link has gone down, firmware that hangs), and then nobody
// ever hears of it. So the queues are looked at now and then, and a path on which nothing has been completed for far
// longer than all its retries can take is given up; to be wrong costs a recovery and nothing else.

#include "engine/fabric.hpp"

#include <fmt/format.h>

#include <cmath>

namespace be::engine {
namespace {

constexpr unsigned looks = 3; // in vain, one after the other

// Between two looks. The second on top is for whoever does the device's work, on a machine that is busy.
std::uint64_t pause_ns(const be_fabric_config_t &config) noexcept
{
    return (Recoverer::retries_ns(config) + 1'000'000'000) / looks + 1;
}

} // namespace

// A retry takes up to four times what was asked for (InfiniBand specification, volume 1, 9.7.6.1.3).
std::uint64_t Recoverer::retries_ns(const be_fabric_config_t &config) noexcept
{
    const double attempt = 4.096e-6 * std::ldexp(1.0, static_cast<int>(config.timeout));
    return static_cast<std::uint64_t>(4 * attempt * (config.retry_count + 1.0) * 1e9);
}

// What has been completed but not polled is no silence, however rarely the application makes progress.
void Recoverer::look_at_all(std::uint64_t time)
{
    const auto &config = m_fabric.m_config;
    const auto pause   = pause_ns(config);
    m_look_at          = time + pause;
    if (config.timeout == 0) { // the device was asked to wait for ever
        return;
    }
    (void)m_fabric.poll_sends();
    bool awaited = !m_fabric.m_draining.empty();
    for (const auto &owner : m_fabric.m_peers) {
        Peer *peer = owner.get();
        if (peer == nullptr || peer->state != Peer::State::ready || peer->tcp) {
            continue;
        }
        for (SendQueue *queue : {&peer->messages, &peer->bulk}) {
            if (queue->silent_looks() < looks) {
                awaited |= queue->awaits_completion();
                continue;
            }
            ++m_fabric.m_counters.silences;
            lose_path(*peer, BE_ERR_PEER_FAILED,
                      {Fault::Side::local, queue->qp().number(),
                       fmt::format("queue pair {:#x} on {}: no completion for {:.1f} s, "
                                   "{} work requests wait",
                                   queue->qp().number(),
                                   m_fabric.m_device->context().device(),
                                   static_cast<double>(pause) * looks / 1e9,
                                   queue->posted() - queue->retired())});
            break;
        }
    }
    if (!awaited) { // what failed with its queue pair is not awaited any more
        m_fabric.m_sends.forget_signals();
    }
}

} // namespace be::engine
