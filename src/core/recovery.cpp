// SPDX-License-Identifier: BSD-3-Clause

#include "core/recovery.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "core/serial.hpp"

namespace be::core {

namespace {

uint64_t add(uint64_t time_ns, uint64_t wait_ns)
{
    return (wait_ns > Recovery::never - time_ns) ? Recovery::never : time_ns + wait_ns;
}

} // namespace

const char *to_string(RecoveryState state)
{
    switch (state) {
    case RecoveryState::connecting:
        return "connecting";
    case RecoveryState::ready:
        return "ready";
    case RecoveryState::broken:
        return "broken";
    case RecoveryState::recovering:
        return "recovering";
    case RecoveryState::rewired:
        return "rewired";
    case RecoveryState::tcp:
        return "tcp";
    case RecoveryState::dead:
        return "dead";
    }
    return "unknown";
}

const char *to_string(RecoveryPath path)
{
    switch (path) {
    case RecoveryPath::rdma:
        return "rdma";
    case RecoveryPath::tcp:
        return "tcp";
    }
    return "unknown";
}

const char *to_string(RecoveryReason reason)
{
    switch (reason) {
    case RecoveryReason::none:
        return "none";
    case RecoveryReason::refused:
        return "refused";
    case RecoveryReason::departed:
        return "departed";
    case RecoveryReason::timed_out:
        return "timed out";
    case RecoveryReason::local:
        return "local";
    case RecoveryReason::protocol:
        return "protocol";
    }
    return "unknown";
}

Recovery::Recovery(const RecoveryConfig &config, uint64_t seed) :
    m_config(config), m_backoff(config.backoff, seed)
{
    if (config.timeout_ns == 0) {
        throw std::invalid_argument("recovery timeout is 0 ns, expected at least 1");
    }
}

RecoverySteps Recovery::connected(uint64_t now_ns)
{
    if (m_state != RecoveryState::connecting) {
        return {};
    }
    m_lost_ns = never; /* it came over the channel */
    return go_up(RecoveryState::ready, now_ns);
}

RecoverySteps Recovery::failed(uint64_t now_ns)
{
    switch (m_state) {
    case RecoveryState::connecting:
    case RecoveryState::ready:
    case RecoveryState::recovering:
    case RecoveryState::rewired:
        return fail(now_ns);
    default:
        return {}; /* broken: what was to fail has; tcp: nothing of it is in use */
    }
}

void Recovery::worked()
{
    m_worked = m_worked || is_up();
}

void Recovery::hasten(uint64_t now_ns)
{
    m_begin_ns = std::min(m_begin_ns, now_ns);
}

RecoverySteps Recovery::drained(uint64_t now_ns)
{
    if ((m_state != RecoveryState::broken) || m_drained) {
        return {};
    }
    m_drained = true;
    return answer(now_ns);
}

RecoverySteps Recovery::rewired(uint64_t now_ns)
{
    if ((m_state != RecoveryState::recovering) || !m_theirs) {
        return {};
    }

    RecoverySteps steps = unless_lost(RecoveryStep::send_recovered);

    if (m_heard) {
        return steps | go_up(RecoveryState::ready, now_ns);
    }
    m_state = RecoveryState::rewired;
    return steps;
}

RecoverySteps Recovery::recover(uint32_t epoch, RecoveryPath path, uint64_t now_ns)
{
    int32_t ahead = serial_diff(epoch, m_epoch);

    /* What comes while the channel is lost is not to be relied on. It is said again. */
    if ((m_state == RecoveryState::dead) || channel_is_lost() || (ahead < 0)) {
        return {};
    }
    if ((path == RecoveryPath::tcp) && !m_config.tcp) {
        return die(RecoveryReason::protocol);
    }
    if (ahead > 0) {
        return adopt(epoch, path, now_ns);
    }
    switch (m_state) {
    case RecoveryState::broken:
        m_theirs = path;
        return answer(now_ns);
    case RecoveryState::recovering:
        if (m_theirs) {
            return {};
        }
        m_theirs = path;
        return meet(now_ns);
    case RecoveryState::ready:
    case RecoveryState::rewired:
        return RecoveryStep::send_recovered; /* they did not hear it, or will twice */
    default:
        return {};
    }
}

RecoverySteps Recovery::recovered(uint32_t epoch, uint64_t now_ns)
{
    if ((epoch != m_epoch) || channel_is_lost()) {
        return {};
    }
    if (m_state == RecoveryState::recovering) {
        m_heard = m_theirs.has_value(); /* it comes after their Recover */
        return {};
    }
    return (m_state == RecoveryState::rewired) ? go_up(RecoveryState::ready, now_ns) :
                                                 RecoverySteps{};
}

RecoverySteps Recovery::channel_lost(uint64_t now_ns)
{
    if ((m_state == RecoveryState::dead) || channel_is_lost()) {
        return {};
    }
    m_lost_ns = now_ns;
    switch (m_state) {
    case RecoveryState::connecting:
        return {}; /* connecting dials by itself; failed() will ask for it otherwise */
    case RecoveryState::tcp: /* data was on its way */
        return fail(now_ns) | RecoveryStep::redial;
    default:
        return RecoveryStep::redial;
    }
}

/* What may have been lost with the channel is said again. */
RecoverySteps Recovery::channel_back(uint64_t now_ns)
{
    if ((m_state == RecoveryState::dead) || !channel_is_lost()) {
        return {};
    }
    m_lost_ns = never;
    switch (m_state) {
    case RecoveryState::ready:
        return (m_epoch != 0) ? RecoverySteps(RecoveryStep::send_recovered) :
                                RecoverySteps{};
    case RecoveryState::broken:
        return answer(now_ns);
    case RecoveryState::recovering:
        return RecoveryStep::send_recover;
    case RecoveryState::rewired:
        return RecoveryStep::send_recover | RecoveryStep::send_recovered;
    default:
        return {};
    }
}

RecoverySteps Recovery::no_device(uint64_t)
{
    m_device_ns = never;
    return {};
}

RecoverySteps Recovery::device_back(uint64_t now_ns)
{
    if (m_device_ns != never) {
        return {};
    }
    m_device_ns = now_ns;
    return (m_state == RecoveryState::broken) ? answer(now_ns) : RecoverySteps{};
}

RecoverySteps Recovery::refused(uint64_t)
{
    return die(RecoveryReason::refused);
}

RecoverySteps Recovery::departed(uint64_t)
{
    return die(RecoveryReason::departed);
}

RecoverySteps Recovery::give_up(RecoveryReason reason, uint64_t)
{
    return die(reason);
}

RecoverySteps Recovery::tick(uint64_t now_ns, bool may_begin)
{
    if (now_ns >= deadline_ns()) {
        return die(RecoveryReason::timed_out);
    }
    if (now_ns >= return_ns()) {
        m_begin_ns = now_ns;
        return break_off(m_epoch + 1, now_ns);
    }
    if (!can_begin() || (now_ns < m_begin_ns)) {
        return {};
    }
    m_denied = !may_begin;
    return may_begin ? begin(now_ns) : RecoverySteps{};
}

uint64_t Recovery::due_ns() const
{
    uint64_t begin_ns = (can_begin() && !m_denied) ? m_begin_ns : never;

    return std::min({deadline_ns(), return_ns(), begin_ns});
}

bool Recovery::is_up() const
{
    return (m_state == RecoveryState::ready) || (m_state == RecoveryState::tcp);
}

/* All that a Recover of our own needs is here, but for time and permission. */
bool Recovery::can_begin() const
{
    return (m_state == RecoveryState::broken) && m_drained && !channel_is_lost() &&
           ((m_device_ns != never) || m_config.tcp);
}

/* Something that counts for the back-off. */
RecoverySteps Recovery::fail(uint64_t now_ns)
{
    uint64_t good_ns = is_up() ? now_ns - m_up_ns : 0;

    m_begin_ns = add(now_ns, m_backoff.failed(m_worked ? never : good_ns));
    return break_off(m_epoch + 1, now_ns);
}

RecoverySteps Recovery::break_off(uint32_t epoch, uint64_t now_ns)
{
    bool undialled = (m_state == RecoveryState::connecting) && channel_is_lost();

    if (is_up() || (m_state == RecoveryState::connecting)) {
        m_left_ns = now_ns;
    }
    m_state   = RecoveryState::broken;
    m_epoch   = epoch;
    m_drained = false;
    m_denied  = false;
    m_heard   = false;
    m_worked  = false;
    m_theirs.reset();
    return RecoveryStep::drain |
           (undialled ? RecoverySteps(RecoveryStep::redial) : RecoverySteps{});
}

/* The peer is in a later epoch: into that. */
RecoverySteps Recovery::adopt(uint32_t epoch, RecoveryPath path, uint64_t now_ns)
{
    RecoverySteps steps;

    if (m_state == RecoveryState::broken) {
        m_epoch = epoch; /* still drains the same queue pairs, or has */
    } else {
        m_begin_ns = now_ns;
        steps      = break_off(epoch, now_ns);
    }
    m_theirs = path;
    return steps | answer(now_ns);
}

/* Goes on if the peer has begun. */
RecoverySteps Recovery::answer(uint64_t now_ns)
{
    return (m_theirs && can_begin()) ? begin(now_ns) : RecoverySteps{};
}

RecoverySteps Recovery::begin(uint64_t now_ns)
{
    m_state  = RecoveryState::recovering;
    m_path   = (m_device_ns != never) ? RecoveryPath::rdma : RecoveryPath::tcp;
    m_denied = false;
    return RecoveryStep::send_recover | (m_theirs ? meet(now_ns) : RecoverySteps{});
}

/* Both Recovers of this epoch are here. */
RecoverySteps Recovery::meet(uint64_t now_ns)
{
    if ((m_path == RecoveryPath::tcp) || (m_theirs == RecoveryPath::tcp)) {
        return RecoveryStep::use_tcp | go_up(RecoveryState::tcp, now_ns);
    }
    return RecoveryStep::rewire;
}

RecoverySteps Recovery::go_up(RecoveryState state, uint64_t now_ns)
{
    m_state = state;
    m_up_ns = now_ns;
    if (m_left_ns != never) {
        uint64_t took_ns = now_ns - m_left_ns;
        auto bucket      = static_cast<std::size_t>(std::bit_width(took_ns / 1000));

        ++m_stats.completed;
        m_stats.last_ns = took_ns;
        ++m_stats.durations[std::min(bucket, RecoveryStats::buckets - 1)];
        m_left_ns = never;
    }
    return RecoveryStep::resume;
}

RecoverySteps Recovery::die(RecoveryReason reason)
{
    if (m_state == RecoveryState::dead) {
        return {};
    }
    m_state  = RecoveryState::dead;
    m_reason = reason;
    return RecoveryStep::die;
}

RecoverySteps Recovery::unless_lost(RecoveryStep step) const
{
    return channel_is_lost() ? RecoverySteps{} : RecoverySteps(step);
}

/* Connecting has times of its own. */
uint64_t Recovery::deadline_ns() const
{
    if ((m_state == RecoveryState::connecting) || (m_state == RecoveryState::dead)) {
        return never;
    }
    return add(std::min(m_left_ns, m_lost_ns), m_config.timeout_ns);
}

/* From TCP, when the device that we lacked has been there for long enough. */
uint64_t Recovery::return_ns() const
{
    if ((m_state != RecoveryState::tcp) || (m_path != RecoveryPath::tcp) ||
        (m_device_ns == never)) {
        return never;
    }
    return add(std::max(m_device_ns, m_up_ns), m_config.device_stable_ns);
}

} // namespace be::core
