// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_peer_death: the other process is killed; the survivor must hear of it, get every request
 * back, and go on.
 *
 *   be_peer_death [--only PREFIX] [--none]
 *
 * Rank 0 survives, rank 1 is the victim. --none runs the single case of an endpoint without
 * error handling, for a caller that looks at what is printed. Transports come from UCX_TLS.
 */
#include "load.hpp"

#include "lib/pattern.hpp"
#include "lib/process.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

namespace be::test {

namespace {

using Clock = std::chrono::steady_clock;

/* Longest time from the death to the callback, seconds: several keepalive rounds. */
constexpr double NOTICE_SECONDS = 20;

std::string milliseconds_since(Clock::time_point start)
{
    const std::chrono::duration<double, std::milli> passed = Clock::now() - start;
    char text[40];
    std::snprintf(text, sizeof(text), "%.1f ms", passed.count());
    return text;
}

NodeOptions survivor_options(bool sleep = false)
{
    NodeOptions options;
    options.errors   = true;
    options.sleep    = sleep;
    options.patience = NOTICE_SECONDS;
    return options;
}

/* The victim tells its process id first. */
pid_t victim_pid(Side &side)
{
    return static_cast<pid_t>(std::stol(side.channel.receive(NOTICE_SECONDS)));
}

void say_pid(Side &side)
{
    side.channel.send(std::to_string(::getpid()));
}

/* One small message each way, so that the connection is made. */
void greet(Node &node)
{
    std::uint64_t out = 1, in = 0;
    ucp_request_param_t param{};
    const auto receiving = ucp_tag_recv_nbx(node.worker(), &in, sizeof(in), 1,
                                            ~ucp_tag_t{0}, &param);
    node.wait(ucp_tag_send_nbx(node.ep(), &out, sizeof(out), 1, &param), "greeting");
    node.wait(receiving, "the other's greeting");
}

/* What the endpoint refuses after its failure, and its end. */
void bury(Node &node)
{
    ucp_request_param_t param{};
    char byte                 = 0;
    const ucs_status_t status = node.wait_status(ucp_tag_send_nbx(node.ep(), &byte, 1,
                                                                  LOAD_TAG, &param),
                                                 "send after the failure");
    if (status == UCS_OK) {
        throw std::runtime_error("a send to the dead peer succeeded after the failure");
    }
}

/* Nothing is under way when the victim dies. */
void idle(Side &side, bool sleep)
{
    if (side.rank == 1) {
        say_pid(side);
        Node node(side.channel, survivor_options());
        node.connect();
        greet(node);
        node.barrier("the survivor is idle");
        serve(node, load_kinds()[0]);
    }
    const pid_t victim = victim_pid(side);
    Node node(side.channel, survivor_options(sleep));
    node.connect();
    greet(node);
    node.barrier("the survivor is idle");
    ::kill(victim, SIGKILL);
    const auto start = Clock::now();
    node.until([&] { return node.ep_error() != UCS_OK; }, "the error callback");
    const std::string note = "(" + milliseconds_since(start) + ", " +
                             ucs_status_string(node.ep_error()) + ")";
    bury(node);
    side.report.pass(note);
}

/* A full window of one kind of operation. */
void loaded(Side &side, const LoadKind &kind)
{
    if (side.rank == 1) {
        say_pid(side);
        Node node(side.channel, survivor_options());
        node.connect();
        serve(node, kind);
    }
    const pid_t victim = victim_pid(side);
    Node node(side.channel, survivor_options());
    node.connect();
    {
        Load load(node, kind);
        node.until(
                [&] {
                    load.turn();
                    return load.completed() >= kind.warm_up;
                },
                "traffic before the death");
        if (load.failed() != 0) {
            throw std::runtime_error("an operation failed while the peer was alive");
        }
        ::kill(victim, SIGKILL);
        const auto start = Clock::now();
        node.until(
                [&] {
                    load.turn();
                    return node.ep_error() != UCS_OK;
                },
                "the error callback");
        const std::string passed = milliseconds_since(start);
        load.drain();
        bury(node);
        side.report.pass("(" + passed + ", " + std::to_string(load.failed()) +
                         " operations failed)");
    }
}

/* What the survivor waits for from the dead: stream data, a flush, a rendezvous. */
void waiting(Side &side)
{
    constexpr std::size_t SIZE = 64 << 20;
    std::vector<char> buffer(SIZE);
    ucp_request_param_t param{};
    if (side.rank == 1) {
        say_pid(side);
        Node node(side.channel, survivor_options());
        node.connect();
        greet(node);
        /* The survivor matches this one and is fetching it when the sender dies. */
        ucp_tag_send_nbx(node.ep(), buffer.data(), SIZE, LOAD_TAG, &param);
        node.barrier("the rendezvous is offered");
        node.until([] { return false; }, "the end, which comes by a signal");
    }
    const pid_t victim = victim_pid(side);
    Node node(side.channel, survivor_options());
    node.connect();
    greet(node);
    node.barrier("the rendezvous is offered");
    ucp_tag_recv_info_t info{};
    node.until(
            [&] {
                return ucp_tag_probe_nb(node.worker(), LOAD_TAG, ~ucp_tag_t{0}, 0,
                                        &info) != nullptr;
            },
            "the offer");
    const auto fetching = ucp_tag_recv_nbx(node.worker(), buffer.data(), SIZE, LOAD_TAG,
                                           ~ucp_tag_t{0}, &param);
    char byte           = 0;
    std::size_t length  = 0;
    const auto stream   = ucp_stream_recv_nbx(node.ep(), &byte, 1, &length, &param);
    const auto never    = ucp_tag_recv_nbx(node.worker(), &byte, 1, 12345, ~ucp_tag_t{0},
                                           &param);
    ::kill(victim, SIGKILL);
    const auto start = Clock::now();
    node.until([&] { return node.ep_error() != UCS_OK; }, "the error callback");
    const std::string passed  = milliseconds_since(start);
    const ucs_status_t fetch  = node.wait_status(fetching, "rendezvous from the dead");
    const ucs_status_t status = node.wait_status(stream, "stream data from the dead");
    if (status == UCS_OK) {
        throw std::runtime_error("stream data came from the dead");
    }
    /* A receive of any sender's message belongs to no endpoint: its owner cancels it. */
    ucp_request_cancel(node.worker(), never);
    check((node.wait_status(never, "cancelled receive") == UCS_ERR_CANCELED) ?
                  UCS_OK :
                  UCS_ERR_IO_ERROR,
          "cancel of a receive");
    bury(node);
    side.report.pass("(" + passed + ", rendezvous: " + ucs_status_string(fetch) + ")");
}

/* The victim's successor in the same place is a peer like any other. */
void restarted(Side &side)
{
    if (side.rank == 1) {
        const auto life = [&side](bool killed) {
            Node node(side.channel, survivor_options());
            say_pid(side);
            node.connect();
            greet(node);
            node.until([killed] { return !killed; }, "the end, which comes by a signal");
            node.exchange("done", "the survivor's end");
            node.disconnect();
            return 0;
        };
        Process first([&life] { return life(true); });
        if (!first.wait(NOTICE_SECONDS)) {
            throw std::runtime_error("the first incarnation was not killed");
        }
        Process second([&life] { return life(false); });
        const auto status = second.wait(NOTICE_SECONDS);
        if (!status || *status != 0) {
            throw std::runtime_error("the second incarnation failed");
        }
        return;
    }
    const pid_t victim = victim_pid(side);
    Node node(side.channel, survivor_options());
    node.connect();
    greet(node);
    ::kill(victim, SIGKILL);
    const auto start = Clock::now();
    victim_pid(side); /* of the next: it is there before the failure is */
    node.until([&] { return node.ep_error() != UCS_OK; }, "the error callback");
    const std::string passed = milliseconds_since(start);
    node.reconnect();
    greet(node);
    node.exchange("done", "the second incarnation");
    node.disconnect();
    side.report.pass("(" + passed + ")");
}

/* Two seconds of a stopped process are no death: everything arrives, in order. */
void stopped(Side &side)
{
    constexpr std::uint64_t COUNT = 20000;
    constexpr std::size_t SIZE    = 2000;
    std::vector<char> buffer(SIZE);
    ucp_request_param_t param{};
    if (side.rank == 1) {
        say_pid(side);
        Node node(side.channel, survivor_options());
        node.connect();
        for (std::uint64_t i = 0; i < COUNT; ++i) {
            node.wait(ucp_tag_recv_nbx(node.worker(), buffer.data(), SIZE, LOAD_TAG,
                                       ~ucp_tag_t{0}, &param),
                      "message " + std::to_string(i));
            pattern_check(buffer.data(), SIZE, i, "message " + std::to_string(i));
        }
        node.disconnect();
        return;
    }
    const pid_t victim = victim_pid(side);
    Node node(side.channel, survivor_options());
    node.connect();
    std::deque<std::pair<std::vector<char>, ucs_status_ptr_t>> sends;
    std::uint64_t sent    = 0;
    const auto send_until = [&](std::uint64_t end) {
        for (; sent < end; ++sent) {
            pattern_fill(buffer.data(), SIZE, sent);
            sends.emplace_back(buffer, nullptr);
            sends.back().second = ucp_tag_send_nbx(node.ep(), sends.back().first.data(),
                                                   SIZE, LOAD_TAG, &param);
        }
    };
    const auto settle = [&](std::size_t left) {
        for (; sends.size() > left; sends.pop_front()) {
            node.wait(sends.front().second, "send");
        }
    };
    while (sent < COUNT / 4) {
        send_until(sent + 100);
        settle(100);
    }
    ::kill(victim, SIGSTOP);
    /* More than anything on the way can hold. */
    send_until(COUNT * 3 / 4);
    const auto start = Clock::now();
    node.until([&] { return Clock::now() - start > std::chrono::seconds(2); },
               "two seconds");
    ::kill(victim, SIGCONT);
    while (sent < COUNT) {
        send_until(sent + 100);
        settle(100);
    }
    settle(0);
    node.disconnect();
    check(node.ep_error(), "the endpoint of the stopped peer");
    side.report.pass();
}

/* Without error handling: the requests end all the same, and the caller sees the output. */
void unhandled(Side &side)
{
    const LoadKind &kind = load_kinds()[0];
    NodeOptions options;
    options.patience = NOTICE_SECONDS;
    if (side.rank == 1) {
        say_pid(side);
        Node node(side.channel, options);
        node.connect();
        serve(node, kind);
    }
    const pid_t victim = victim_pid(side);
    Node node(side.channel, options);
    node.connect();
    Load load(node, kind);
    node.until(
            [&] {
                load.turn();
                return load.completed() >= kind.warm_up;
            },
            "traffic before the death");
    ::kill(victim, SIGKILL);
    node.until(
            [&] {
                load.turn();
                return load.failed() != 0;
            },
            "a failed operation");
    load.drain();
    side.report.pass("(" + std::to_string(load.failed()) + " failed)");
}

class Suite {
public:
    Suite(Report &report, std::string only) : m_report(report), m_only(std::move(only))
    {
    }

    void run(const std::string &name, const std::function<void(Side &)> &body,
             int victim_signal = SIGKILL)
    {
        if (std::string_view(name).substr(0, m_only.size()) == m_only) {
            run_pair(m_report, name, {.seconds = 90, .rank1_dies = victim_signal}, body);
        }
    }

private:
    Report &m_report;
    std::string m_only;
};

} // namespace

} // namespace be::test

int main(int argc, char **argv)
{
    using namespace be::test;
    std::string only;
    bool none = false;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--none") == 0) {
            none = true;
        } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else {
            std::fprintf(stderr, "be_peer_death: %s: expected [--none] [--only PREFIX]\n",
                         argv[i]);
            return 2;
        }
    }
    /* UCX looks for dead peers that often, unless the caller says otherwise. */
    ::setenv("UCX_KEEPALIVE_INTERVAL", "1s", 0);
    Report report;
    Suite suite(report, only);
    if (none) {
        suite.run("death/no_error_handling", unhandled);
        return report.finish();
    }
    suite.run("death/idle", [](Side &side) { idle(side, false); });
    suite.run("death/idle_sleeping", [](Side &side) { idle(side, true); });
    for (const LoadKind &kind : load_kinds()) {
        suite.run(std::string("death/under_") + kind.name,
                  [&kind](Side &side) { loaded(side, kind); });
    }
    suite.run("death/waiting", waiting);
    suite.run("death/restarted", restarted, 0);
    suite.run("stopped", stopped, 0);
    return report.finish();
}
