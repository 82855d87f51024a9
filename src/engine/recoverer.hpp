// SPDX-License-Identifier: BSD-3-Clause
//
// Keeps the peers of a fabric through failures of their queue pairs (recovery.cpp) and of the side channel
// (channel.cpp), as long as their processes live, and decides when there is no RDMA to them (fallback.cpp). core::Recovery
// decides what is done when; here it is done, and in the fabric itself. Guarded as the fabric is.

#pragma once

#include "core/recovery.hpp"
#include "engine/c_api.h"
#include "engine/fault.hpp"
#include "engine/inbox.hpp"
#include "engine/peer.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace be::engine {

class Fabric;

class Recoverer {
public:
    explicit Recoverer(Fabric &fabric) noexcept : m_fabric(fabric)
    {
    }

    // For the peers of the fabric.
    core::RecoveryConfig config() const noexcept;

    // May data go over the side channel?
    static bool may_fall_back(const be_fabric_config_t &config) noexcept
    {
        return config.recovery != 0 && config.fallback == BE_FALLBACK_TCP;
    }

    // That the device takes at most until it gives up what is not answered.
    static std::uint64_t retries_ns(const be_fabric_config_t &config) noexcept;

    // Is the peer kept when something fails?
    static bool recoverable(const Peer &peer) noexcept
    {
        return peer.recoverable && (peer.state == Peer::State::ready ||
                                    peer.state == Peer::State::recovering);
    }

    // ---- The path: queue pairs

    // It failed: the peer recovers, or fails with this status.
    void lose_path(Peer &peer, be_status_t status, const Fault &fault);
    // Nothing of it can arrive any more, and all that did was taken.
    void path_drained(Peer &peer);
    void on_recover(const ControlEvent &event);
    void on_recovered(const ControlEvent &event);
    // What our device says, of any of its queue pairs and ports, those of other fabrics as well. Did a peer of ours lose
    // its path?
    bool on_device(const verbs::AsyncEvent &event);

    // ---- A device that says nothing (silence.cpp)

    void look_for_silence(std::uint64_t time)
    {
        if (time >= m_look_at) [[unlikely]] {
            look_at_all(time);
        }
    }

    // When to look again, if completions are awaited by then.
    std::uint64_t look_at_ns() const noexcept
    {
        return m_look_at;
    }

    // ---- The side channel

    void lose_channel(Peer &peer, const ControlEvent &event);
    void on_resume(const ControlEvent &event); // a Connect that resumes
    void on_resumed(Peer &peer, const ControlEvent &event); // an Accept of one
    void regain_channel(Peer &peer);
    void on_probed(const ControlEvent &event);

    // ---- Time

    bool idle() const noexcept
    {
        return m_ailing.empty();
    }

    void look_after();
    // When that has something to do; ~0: only an event can bring it.
    std::uint64_t due_ns() const noexcept;

    // The peer is lost.
    void forget(Peer &peer) noexcept
    {
        std::erase(m_ailing, &peer);
    }

private:
    static bool is_news(const Peer &peer, const verbs::AsyncEvent &event) noexcept;
    void ail(Peer &peer);
    bool under_way(const Peer &peer, std::uint64_t time) const noexcept;
    std::size_t turns(std::uint64_t time) const noexcept;
    void log_loss(const Peer &peer);
    void run(Peer &peer, core::RecoverySteps steps);
    void abandon_path(Peer &peer);
    void blame(Peer &peer, const Fault &fault);
    std::uint64_t carried(const Peer &peer) const noexcept;
    void tell_use(Peer &peer);
    std::uint32_t writes_arrived(const Peer &peer) const noexcept;
    void tell_position(Peer &peer);
    void tell_rewired(Peer &peer);
    void rewire(Peer &peer);
    bool take_position(Peer &peer);
    void resume(Peer &peer);
    void resume_over_tcp(Peer &peer);
    void resumed(Peer &peer);

    void judge(Peer &peer);
    void give_up_rdma(Peer &peer);
    void try_rdma(Peer &peer);
    core::RecoverySteps has_rdma(Peer &peer);
    void port_changed(bool up);
    void look_at_rdma(Peer &peer, std::uint64_t time);

    void look_at_all(std::uint64_t time);

    void redial(Peer &peer);
    void probe_process(Peer &peer);
    void put_off_redial(Peer &peer);

    static constexpr std::uint64_t quiet_ns = 1'000'000'000; // between two warnings

    Fabric &m_fabric;
    std::vector<Peer *>
            m_ailing; // without a path, or without a channel; in this order they begin
    std::uint64_t m_warned_at = 0; // ns, of a loss
    unsigned m_unwarned       = 0; // losses since
    std::uint64_t m_told_at   = 0; // ns, that data goes over TCP
    std::uint64_t m_look_at   = 0; // ns
    bool m_device_failed      = false; // for good
};

} // namespace be::engine
