// SPDX-License-Identifier: BSD-3-Clause
//
// What has become of paths to the peers of a fabric, for those who watch: totals, and the peers that lost theirs last.
// Told of losses and recoveries, which are rare. Guarded as the fabric is.

#pragma once

#include "core/recovery_durations.hpp"
#include "core/stats_page.hpp"
#include "engine/c_api.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace be::engine {

class Peer;

class RecoveryRecord {
public:
    RecoveryRecord();

    void lost(Peer &peer); // Peer::fault says why
    void recovered(std::uint64_t took_ns) noexcept;
    // The peer goes.
    void forget(const Peer &peer) noexcept;

    void port_is_up(bool up) noexcept
    {
        m_port_is_up = up;
    }

    bool port_is_up() const noexcept
    {
        return m_port_is_up;
    }

    void metrics(be_metric_func_t func, void *arg) const;

    // Those whose path is lost now, then those that lost it last, then others, as many as fit: how many. Where all fit,
    // all are shown; else it takes no longer for more peers.
    std::size_t show(std::span<const std::unique_ptr<Peer>> peers,
                     std::span<core::StatsPeer> rows) const noexcept;

private:
    std::vector<Peer *> m_last; // that lost their path; the last first; its size is bounded
    std::uint64_t m_local     = 0; // losses
    std::uint64_t m_remote    = 0;
    std::uint64_t m_last_time = 0; // of recoveries, ns
    std::uint64_t m_longest   = 0;
    core::RecoveryDurations m_durations{};
    bool m_port_is_up = true;
};

// Numbers of one peer, in the metrics of each link to it.
void path_metrics(const Peer &peer, be_metric_func_t func, void *arg);

// Lines for people: state, path, epoch, losses and their last cause, recoveries and how long they took.
std::string path_text(const Peer &peer);

} // namespace be::engine
