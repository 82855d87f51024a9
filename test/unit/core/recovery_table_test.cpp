// SPDX-License-Identifier: BSD-3-Clause
//
// Recovery does what test/model/recovery.table says: in every situation, with the channel lost
// or not, with a device or not, on every event. What is inside a Recovery shows in what it
// answers to the next events, so situations are compared by that.

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "core/recovery.hpp"
#include "recovery_table.hpp"

using namespace be::core;
using namespace be::test;

namespace {

const RecoveryConfig config{.backoff = {.first_ns = 10, .max_ns = 100, .stable_ns = 1000},
                            .device_stable_ns = 1000,
                            .timeout_ns       = 1'000'000};
constexpr uint64_t now      = 500'000;
constexpr uint64_t settled  = now + 2000; /* stable, and after any back-off */
constexpr uint64_t too_late = now + 2 * 1'000'000;

using Step  = RecoveryStep;
using Event = std::function<RecoverySteps(Recovery &)>;

Event recover(int32_t ahead, RecoveryPath path)
{
    return [=](Recovery &end) {
        return end.recover(end.epoch() + static_cast<uint32_t>(ahead), path, now);
    };
}

Event recovered(int32_t ahead)
{
    return [=](Recovery &end) {
        return end.recovered(end.epoch() + static_cast<uint32_t>(ahead), now);
    };
}

const std::map<std::string, Event> events{
        {"connected", [](Recovery &end) { return end.connected(now); }},
        {"failed", [](Recovery &end) { return end.failed(now); }},
        {"drained", [](Recovery &end) { return end.drained(now); }},
        {"tick", [](Recovery &end) { return end.tick(settled); }},
        {"rewired", [](Recovery &end) { return end.rewired(now); }},
        {"recover_older_rdma", recover(-1, RecoveryPath::rdma)},
        {"recover_older_tcp", recover(-1, RecoveryPath::tcp)},
        {"recover_same_rdma", recover(0, RecoveryPath::rdma)},
        {"recover_same_tcp", recover(0, RecoveryPath::tcp)},
        {"recover_newer_rdma", recover(2, RecoveryPath::rdma)},
        {"recover_newer_tcp", recover(2, RecoveryPath::tcp)},
        {"recovered_older", recovered(-1)},
        {"recovered_same", recovered(0)},
        {"recovered_newer", recovered(1)},
        {"channel_lost", [](Recovery &end) { return end.channel_lost(now); }},
        {"channel_back", [](Recovery &end) { return end.channel_back(now); }},
        {"no_device", [](Recovery &end) { return end.no_device(now); }},
        {"device_back", [](Recovery &end) { return end.device_back(now); }},
        {"timed_out", [](Recovery &end) { return end.tick(too_late); }},
        {"refused", [](Recovery &end) { return end.refused(now); }},
        {"departed", [](Recovery &end) { return end.departed(now); }},
        {"give_up",
         [](Recovery &end) { return end.give_up(RecoveryReason::local, now); }},
};

struct Situation {
    RecoveryState state;
    Names path; /* events from broken, or from the start */
    bool first; /* there is such a thing in epoch 0 */
};

/* How to get there. Those that exist only while the channel is lost say so themselves. */
const std::map<std::string, Situation> situations{
        {"connecting", {RecoveryState::connecting, {}, true}},
        {"ready", {RecoveryState::ready, {"connected"}, true}},
        {"broken", {RecoveryState::broken, {}, false}},
        {"broken_rdma", {RecoveryState::broken, {"recover_same_rdma"}, false}},
        {"broken_tcp", {RecoveryState::broken, {"recover_same_tcp"}, false}},
        {"drained", {RecoveryState::broken, {"drained"}, false}},
        {"drained_rdma",
         {RecoveryState::broken, {"recover_same_rdma", "channel_lost", "drained"}, false}},
        {"drained_tcp",
         {RecoveryState::broken, {"recover_same_tcp", "channel_lost", "drained"}, false}},
        {"recovering", {RecoveryState::recovering, {"drained", "tick"}, false}},
        {"recovering_tcp",
         {RecoveryState::recovering, {"no_device", "drained", "tick"}, false}},
        {"rewiring",
         {RecoveryState::recovering, {"drained", "tick", "recover_same_rdma"}, false}},
        {"rewiring_heard",
         {RecoveryState::recovering,
          {"drained", "tick", "recover_same_rdma", "recovered_same"},
          false}},
        {"rewired",
         {RecoveryState::rewired,
          {"drained", "tick", "recover_same_rdma", "rewired"},
          false}},
        {"tcp_own",
         {RecoveryState::tcp,
          {"no_device", "drained", "tick", "recover_same_rdma"},
          false}},
        {"tcp_peer",
         {RecoveryState::tcp, {"drained", "tick", "recover_same_tcp"}, false}},
        {"dead", {RecoveryState::dead, {"refused"}, false}},
};

template<typename Map>
Names names_of(const Map &map)
{
    Names names;

    for (const auto &entry : map) {
        names.push_back(entry.first);
    }
    return names;
}

RecoveryTable read_table()
{
    std::ifstream file(BE_RECOVERY_TABLE);

    BOOST_REQUIRE_MESSAGE(file, "cannot read " BE_RECOVERY_TABLE);
    return RecoveryTable(file, names_of(situations), names_of(events));
}

/* Nothing if there is no such thing. */
std::optional<Recovery> make(const std::string &name, const When &when)
{
    const Situation &situation = situations.at(name);
    Recovery end(config, 1);

    if (when.first && !situation.first) {
        return std::nullopt;
    }
    if (!when.first) { /* epoch 1 */
        for (const char *event : {"connected", "failed"}) {
            events.at(event)(end);
        }
    }
    if (!when.first && (name == "connecting")) {
        return std::nullopt;
    }
    if (!when.first && (name == "ready")) {
        for (const char *event :
             {"drained", "tick", "recover_same_rdma", "rewired", "recovered_same"}) {
            events.at(event)(end);
        }
    } else {
        for (const std::string &event : situation.path) {
            events.at(event)(end);
        }
    }
    events.at(when.device ? "device_back" : "no_device")(end);
    if (when.lost) {
        events.at("channel_lost")(end);
    }
    if ((end.state() != situation.state) ||
        ((end.state() != RecoveryState::dead) && (end.channel_is_lost() != when.lost))) {
        return std::nullopt;
    }
    return end;
}

std::string steps_text(const RecoverySteps &steps)
{
    static const std::pair<Step, const char *> all[] = {
            {Step::drain, "drain"},     {Step::send_recover, "send_recover"},
            {Step::rewire, "rewire"},   {Step::send_recovered, "send_recovered"},
            {Step::use_tcp, "use_tcp"}, {Step::resume, "resume"},
            {Step::redial, "redial"},   {Step::die, "die"}};
    std::string text;

    for (const auto &[step, name] : all) {
        if (steps.has(step)) {
            text += (text.empty() ? "" : ",") + std::string(name);
        }
    }
    return text.empty() ? "-" : text;
}

std::string joined(const Names &steps)
{
    std::string text;

    for (const std::string &step : steps) {
        text += (text.empty() ? "" : ",") + step;
    }
    return text.empty() ? "-" : text;
}

/* What it would answer to what may come next. */
std::string future(const Recovery &end)
{
    static const std::vector<Names> probes{{"drained"},
                                           {"rewired"},
                                           {"recover_same_rdma"},
                                           {"recovered_same"},
                                           {"no_device", "device_back", "tick"},
                                           {"tick"},
                                           {"timed_out"},
                                           {"failed"}};
    std::ostringstream text;

    text << to_string(end.state()) << (end.channel_is_lost() ? " lost" : "");
    for (bool back : {false, true}) {
        for (const Names &probe : probes) {
            Recovery copy = end;

            text << "; ";
            if (back) {
                text << steps_text(copy.channel_back(now)) << ' ';
            }
            for (const std::string &event : probe) {
                text << steps_text(events.at(event)(copy)) << ' '
                     << to_string(copy.state()) << ' ' << copy.epoch() - end.epoch()
                     << ' ';
            }
        }
    }
    return text.str();
}

uint32_t
expected_epoch(const std::string &word, const std::string &event, uint32_t before)
{
    if (word == "+1") {
        return before + 1;
    }
    return before + ((word == "theirs") && event.starts_with("recover_newer") ? 2 : 0);
}

} // namespace

BOOST_AUTO_TEST_SUITE(recovery_table)

BOOST_AUTO_TEST_CASE(situations_differ_in_what_they_answer)
{
    for (bool lost : {false, true}) {
        std::map<std::string, std::string> seen;

        for (const std::string &name : names_of(situations)) {
            std::optional<Recovery> end = make(name,
                                               When{lost, true, name == "connecting"});

            if (end && (end->state() != RecoveryState::dead)) {
                auto [other, is_new] = seen.emplace(future(*end), name);
                BOOST_TEST(is_new, name << " answers as " << other->second);
            }
        }
        BOOST_TEST(seen.size() >= 11u);
    }
}

/* One event in one situation. The row is that of the table. */
void walk(const RecoveryTable::Row &row, const std::string &from,
          const std::string &event, const When &when, Recovery end)
{
    std::string place = "line " + std::to_string(row.line) + ": " + from + ", " + event +
                        (when.lost ? ", lost" : ", up") +
                        (when.device ? ", device" : ", no device") +
                        (when.first ? ", first" : "");

    BOOST_REQUIRE_MESSAGE(row.next != "impossible", place);

    std::string next    = (row.next == "=") ? from : row.next;
    uint32_t before     = end.epoch();
    RecoverySteps steps = events.at(event)(end);

    BOOST_TEST(steps_text(steps) == joined(row.steps), place);
    BOOST_TEST(end.epoch() == expected_epoch(row.epoch, event, before), place);
    BOOST_TEST(to_string(end.state()) == to_string(situations.at(next).state), place);
    if ((next == "dead") || (event == "timed_out")) { /* the next events come earlier */
        return;
    }

    bool found = (event == "channel_back") ||
                 ((from == "connecting") && (event == "connected"));
    When after{.lost   = (event == "channel_lost") || (when.lost && !found),
               .device = (event == "device_back") ||
                         (when.device && (event != "no_device")),
               .first = when.first && situations.at(next).first};

    std::optional<Recovery> same = make(next, after);

    BOOST_REQUIRE_MESSAGE(same.has_value(), place << ": there is no such " << next);
    BOOST_TEST(future(end) == future(*same), place);
}

BOOST_AUTO_TEST_CASE(every_situation_and_event)
{
    RecoveryTable table = read_table();
    std::set<unsigned> used;
    int walked = 0;

    for (const std::string &from : names_of(situations)) {
        for (const std::string &event : names_of(events)) {
            for (int bits = 0; bits < 8; ++bits) {
                When when{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
                std::optional<Recovery> end   = make(from, when);
                const RecoveryTable::Row *row = table.find(from, event, when);

                BOOST_REQUIRE_MESSAGE(row != nullptr,
                                      from << ", " << event << " is not in the table");
                if (end) {
                    walk(*row, from, event, when, *end);
                    ++walked;
                }
                if (end || (row->next == "impossible")) {
                    used.insert(row->line);
                }
            }
        }
    }
    for (const RecoveryTable::Row &row : table.rows()) {
        BOOST_TEST(used.count(row.line) == 1u, "line " << row.line << " never counts");
    }
    BOOST_TEST(walked > 1000);
}

BOOST_AUTO_TEST_CASE(a_bad_table_is_refused)
{
    for (const char *text :
         {"ready failed - broken +1", "ready failed - broken +1 drain more",
          "redy failed - broken +1 drain", "ready fails - broken +1 drain",
          "ready failed - brokn +1 drain", "ready failed - broken +2 drain",
          "ready failed sometimes broken +1 drain"}) {
        std::istringstream file(text);

        BOOST_CHECK_THROW(RecoveryTable(file, names_of(situations), names_of(events)),
                          std::runtime_error);
    }
}

BOOST_AUTO_TEST_SUITE_END()
