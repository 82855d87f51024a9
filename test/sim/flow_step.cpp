// SPDX-License-Identifier: BSD-3-Clause

#include "flow_step.hpp"

#include <istream>
#include <iterator>
#include <ostream>
#include <sstream>
#include <stdexcept>

namespace be::sim {

using core::Action;
using core::Actions;
using core::Flow;

namespace {

constexpr const char *names[] = {"join",          "leave",        "hello",
                                 "admit",         "stamp",        "blocked",
                                 "cell",          "answered",     "arrival",
                                 "reposted",      "request",      "told",
                                 "cell_due",      "bulk_queued",  "next_bulk",
                                 "stamp_bulk",    "bulk_done",    "read_done",
                                 "bytes_arrived", "byte_request", "revoked",
                                 "bytes_revoked", "given_back",   "bytes_given_back",
                                 "tick",          "drain"};

static_assert(std::size(names) == Step::calls);

constexpr std::string_view magic = "be-flow-trace-2";

uint64_t pair(uint32_t low, uint32_t high)
{
    return uint64_t{low} | (uint64_t{high} << 32);
}

uint64_t stamp(Flow &flow, uint32_t peer)
{
    core::DataHeader header;

    flow.stamp(peer, header);
    return pair(header.seq, header.granted);
}

uint64_t hello(Flow &flow, uint32_t peer)
{
    uint64_t word = 0;

    core::store_cell(&word, flow.take_cell(peer));
    return word;
}

} // namespace

uint64_t apply(Flow &flow, const Step &step, Actions &actions)
{
    const auto value = static_cast<uint32_t>(step.value);

    switch (step.call) {
    case Step::join: /* its actions come with the next step */
        return flow.join(step.now).value_or(core::no_peer);
    case Step::leave:
        flow.leave(step.peer, step.now, actions);
        break;
    case Step::hello:
        return hello(flow, step.peer);
    case Step::admit:
        return flow.admit_message(step.peer, value);
    case Step::stamp:
        return stamp(flow, step.peer);
    case Step::blocked:
        flow.blocked(step.peer,
                     {.small = value,
                      .large = static_cast<uint32_t>(step.value >> 32),
                      .first = static_cast<uint32_t>(step.extra),
                      .all   = step.extra >> 32},
                     step.now, actions);
        break;
    case Step::cell:
        return flow.credit_update(step.peer, core::load_cell(&step.value), step.now,
                                  actions);
    case Step::answered:
        return flow.answered(step.peer, value, step.now, actions);
    case Step::arrival:
        return static_cast<uint64_t>(flow.arrival(step.peer, value,
                                                  static_cast<uint32_t>(step.extra),
                                                  step.now, actions));
    case Step::reposted:
        flow.reposted(value, step.now, actions);
        break;
    case Step::request:
        flow.request(step.peer, value, step.now, actions);
        break;
    case Step::told:
        flow.told(step.peer);
        break;
    case Step::cell_due:
        return flow.cell_due(step.peer);
    case Step::bulk_queued:
        flow.bulk_queued(step.peer, step.value, static_cast<core::BulkKind>(step.extra),
                         step.now, actions);
        break;
    case Step::next_bulk: {
        core::BulkGrant grant = flow.next_bulk(step.now);

        return grant ? pair(grant.bytes,
                            2 * grant.peer + static_cast<unsigned>(grant.kind)) :
                       0;
    }
    case Step::stamp_bulk:
        return core::decode_notice(core::encode(flow.stamp_bulk(step.peer)))->value;
    case Step::bulk_done:
        flow.bulk_done(step.peer, step.value);
        flow.drain(actions);
        break;
    case Step::read_done:
        flow.read_done(step.peer, step.value, step.now, actions);
        break;
    case Step::bytes_arrived:
        return flow.bytes_arrived(step.peer, value, step.now, actions);
    case Step::byte_request:
        flow.byte_request(step.peer, value, step.now, actions);
        break;
    case Step::revoked:
        flow.revoked(step.peer, value, step.now, actions);
        break;
    case Step::bytes_revoked:
        flow.bytes_revoked(step.peer, value, step.now, actions);
        break;
    case Step::given_back:
        return flow.given_back(step.peer, value, step.now, actions);
    case Step::bytes_given_back:
        return flow.bytes_given_back(step.peer, value, step.now, actions);
    case Step::tick:
        flow.tick(step.now, actions);
        break;
    case Step::drain:
    case Step::calls:
        flow.drain(actions);
        break;
    }
    return 0;
}

void write_config(std::ostream &out, const core::FlowConfig &config)
{
    const core::ReceivePoolConfig &pool = config.pool;
    const core::BytePoolConfig &bytes   = config.bytes;

    out << magic << ' ' << pool.capacity << ' ' << pool.max_capacity << ' ' << pool.floor
        << ' ' << pool.quantum << ' ' << pool.share_cap << ' ' << pool.max_peers << ' '
        << pool.revoke << ' ' << pool.first_total << ' ' << config.window.port << ' '
        << config.window.peer << ' ' << config.window.quantum << ' ' << bytes.unit << ' '
        << bytes.quantum << ' ' << bytes.run << ' ' << bytes.bonus << ' ' << bytes.late
        << ' ' << bytes.least_bonus << ' ' << bytes.loop_ns << ' ' << bytes.unit_ps << ' '
        << bytes.active_ns << ' ' << bytes.suspect_ns << ' ' << bytes.first_total << ' '
        << config.small_message << ' ' << config.active_ns << '\n';
}

void write_step(std::ostream &out, const Step &step, uint64_t result,
                const Actions &actions)
{
    out << names[step.call] << ' ' << step.peer << ' ' << step.value << ' ' << step.extra
        << ' ' << step.now << " = " << result;
    for (const Action &action : actions) {
        out << ' ' << unsigned{action.kind} << ' ' << action.peer << ' ' << action.value;
    }
    out << '\n';
}

namespace {

core::FlowConfig read_config(std::istream &in)
{
    core::FlowConfig config;
    core::ReceivePoolConfig &pool = config.pool;
    core::BytePoolConfig &bytes   = config.bytes;
    std::string line, word;

    std::getline(in, line);

    std::istringstream fields(line);

    if (!(fields >> word >> pool.capacity >> pool.max_capacity >> pool.floor >>
          pool.quantum >> pool.share_cap >> pool.max_peers >> pool.revoke >>
          pool.first_total >> config.window.port >> config.window.peer >>
          config.window.quantum >> bytes.unit >> bytes.quantum >> bytes.run >>
          bytes.bonus >> bytes.late >> bytes.least_bonus >> bytes.loop_ns >>
          bytes.unit_ps >> bytes.active_ns >> bytes.suspect_ns >> bytes.first_total >>
          config.small_message >> config.active_ns) ||
        (word != magic)) {
        throw std::runtime_error("line 1: '" + line + "' is no configuration, expected " +
                                 std::string(magic) + " and 24 numbers");
    }
    return config;
}

Step read_step(const std::string &line)
{
    std::istringstream fields(line);
    std::string name;
    Step step;
    unsigned call = 0;

    if (!(fields >> name >> step.peer >> step.value >> step.extra >> step.now)) {
        throw std::runtime_error("'" + line +
                                 "' is no step, expected a name and four numbers");
    }
    while ((call < Step::calls) && (name != names[call])) {
        ++call;
    }
    if (call == Step::calls) {
        throw std::runtime_error("'" + name + "' is no call of a flow");
    }
    step.call = static_cast<Step::Call>(call);
    return step;
}

void replay_step(Flow &flow, const std::string &line)
{
    std::array<Action, 64> storage;
    Actions actions(storage);
    Step step = read_step(line);
    std::ostringstream again;

    if ((step.peer != core::no_peer) && !flow.member(step.peer)) {
        throw std::runtime_error("peer " + std::to_string(step.peer) + " has not joined");
    }

    uint64_t result = apply(flow, step, actions);

    write_step(again, step, result, actions);
    if (again.str() != line + '\n') {
        throw std::runtime_error("recorded '" + line + "', replayed '" +
                                 again.str().substr(0, again.str().size() - 1) + "'");
    }
    if (std::string broken = flow.check(); !broken.empty()) {
        throw std::runtime_error("after '" + line + "': " + broken);
    }
}

} // namespace

uint64_t replay(std::istream &in)
{
    Flow flow(read_config(in));
    std::string line;
    uint64_t steps = 0;

    while (std::getline(in, line)) {
        try {
            replay_step(flow, line);
        } catch (const std::runtime_error &error) {
            throw std::runtime_error("line " + std::to_string(steps + 2) + ": " +
                                     error.what());
        }
        ++steps;
    }
    return steps;
}

} // namespace be::sim
