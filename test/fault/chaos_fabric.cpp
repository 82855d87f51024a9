// SPDX-License-Identifier: BSD-3-Clause
#include "chaos_fabric.hpp"

#include "control/node.hpp"
#include "engine/link.hpp"
#include "engine/peer.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace be::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto settling            = std::chrono::seconds(20);
constexpr unsigned rounds_per_look = 64; // at the numbers of the queue pairs

struct Introduction {
    std::uint8_t address[BE_FABRIC_ADDR_LEN];
    RemoteField fields[chaos_ends];
};

// Silence is found within milliseconds, and a peer that stands still for long is kept.
be_fabric_config_t quick_to_notice(const be_port_info_t &port, bool fallback)
{
    be_fabric_config_t config;
    be_fabric_config_defaults(&port, &config);
    config.timeout         = 8; // 1 ms
    config.retry_count     = 2;
    config.peer_timeout    = 30;
    config.connect_timeout = 30;
    config.recovery        = 1;
    config.rx_capacity     = 64;
    config.rx_max          = 256;
    config.tx_queue        = 64;
    config.chunk           = 4096;
    config.window          = 65536;
    config.fallback        = fallback ? BE_FALLBACK_TCP : BE_FALLBACK_NONE;
    config.fallback_time   = 0.03;
    return config;
}

void require(be_status_t status, const char *what)
{
    if (status != BE_OK) {
        throw std::runtime_error(std::string(what) + ": " + be_status_string(status));
    }
}

const char *to_string(engine::Peer::State state)
{
    switch (state) {
    case engine::Peer::State::connecting:
        return "connecting";
    case engine::Peer::State::ready:
        return "ready";
    case engine::Peer::State::recovering:
        return "recovering";
    case engine::Peer::State::draining:
        return "draining";
    case engine::Peer::State::dead:
        return "dead";
    }
    return "?";
}

} // namespace

ChaosFabric::ChaosFabric(unsigned self, std::uint64_t seed, ChaosBoard &board) :
    m_self(self), m_board(board)
{
    if (std::getenv("BE_TEST_LOG") != nullptr) {
        be_log_set(nullptr, BE_LOG_DEBUG);
    }
    open_device();
    const be_fabric_config_t config = quick_to_notice(m_port, board.fallback);
    const be_fabric_callbacks_t callbacks{this, on_message, on_complete, on_unpack,
                                          on_failed};
    require(be_fabric_create(m_md, m_port.port, &config, &callbacks, &m_fabric),
            "be_fabric_create");
    for (unsigned end = 0; end < chaos_ends; ++end) {
        if (end != self) {
            m_traffic[end] = std::make_unique<Traffic>(m_md, seed, self, end);
        }
    }
}

ChaosFabric::~ChaosFabric()
{
    m_ending = true;
    each_end([](unsigned, const Traffic &traffic) {
        if (traffic.peer() != nullptr) {
            be_peer_put(traffic.peer());
        }
    });
    be_fabric_destroy(m_fabric);
    for (auto &traffic : m_traffic) {
        traffic.reset();
    }
    be_md_close(m_md);
}

void ChaosFabric::open_device()
{
    if (const char *modules = std::getenv("BE_MODULEDIR")) {
        ::setenv("UCX_BE_SOFT_LIBRARY",
                 (std::string(modules) + "/libsoftrdma.so").c_str(), 0);
    }
    be_port_info_t *ports = nullptr;
    unsigned count        = 0;
    char why[256]         = "";
    if (be_ports_query(BE_SOFT_YES, &ports, &count, why, sizeof(why)) != BE_OK ||
        count == 0) {
        throw std::runtime_error(std::string("no software device: ") + why);
    }
    m_port = ports[0];
    be_ports_release(ports);
    require(be_md_open(m_port.device, BE_SOFT_YES, &m_md), "be_md_open");
}

std::string ChaosFabric::introduction() const
{
    Introduction mine{};
    be_fabric_address(m_fabric, mine.address);
    each_end([&](unsigned end, const Traffic &traffic) {
        mine.fields[end] = traffic.field();
    });
    return {reinterpret_cast<const char *>(&mine), sizeof(mine)};
}

void ChaosFabric::connect(const std::string &introductions)
{
    Introduction all[chaos_ends];
    if (introductions.size() != sizeof(all)) {
        throw std::runtime_error("introductions of " +
                                 std::to_string(introductions.size()) +
                                 " bytes instead of " + std::to_string(sizeof(all)));
    }
    std::memcpy(all, introductions.data(), sizeof(all));
    be_fabric_attr_t limits;
    be_fabric_query(m_fabric, &limits);
    for (unsigned end = 0; end < chaos_ends; ++end) {
        if (end != m_self) {
            be_peer_t *peer = nullptr;
            require(be_peer_get(m_fabric, all[end].address, &peer), "be_peer_get");
            m_traffic[end]->connect(peer, all[end].fields[m_self], limits);
        }
    }
}

engine::Peer &ChaosFabric::peer(unsigned end) const
{
    return static_cast<engine::Link *>(m_traffic[end]->peer())->peer;
}

bool ChaosFabric::act(std::mt19937_64 &random)
{
    const unsigned end = (m_self + 1 + random() % (chaos_ends - 1)) % chaos_ends;
    return m_traffic[end]->act(random);
}

bool ChaosFabric::progress()
{
    bool any = be_fabric_progress(m_fabric) != 0;
    if (m_wrong != nullptr) {
        std::rethrow_exception(std::exchange(m_wrong, nullptr));
    }
    each_end([&](unsigned end, const Traffic &) {
        any = m_traffic[end]->take_puts() || any;
    });
    if (++m_rounds % rounds_per_look == 0) {
        publish_queue_pairs();
    }
    return any;
}

bool ChaosFabric::arm()
{
    return be_fabric_arm(m_fabric) == BE_OK;
}

int ChaosFabric::event_fd() const
{
    return be_fabric_event_fd(m_fabric);
}

void ChaosFabric::publish_queue_pairs()
{
    each_end([&](unsigned end, const Traffic &) {
        const engine::Peer &to = peer(end);
        unsigned which         = 0;
        for (const engine::SendQueue *queue : {&to.messages, &to.bulk}) {
            m_board.queue_pairs[m_self][end][which++] = queue->exists() ?
                                                                queue->qp().number() :
                                                                0;
        }
    });
}

// ------------------------------------------------------------------- callbacks

be_rx_result_t
ChaosFabric::on_message(void *arg, std::uint8_t id, void *data, std::size_t length, int)
{
    auto *self = static_cast<ChaosFabric *>(arg);
    self->guard([&] {
        const unsigned from = Traffic::sender(data, length);
        if (from >= chaos_ends || from == self->m_self) {
            throw std::runtime_error("a message says that it is from end " +
                                     std::to_string(from));
        }
        self->m_traffic[from]->receive(id, data, length);
    });
    return BE_RX_DONE;
}

void ChaosFabric::on_complete(void *arg, void *name, be_status_t status)
{
    auto *self = static_cast<ChaosFabric *>(arg);
    self->guard(
            [&] { self->m_traffic.at(Traffic::target(name))->complete(name, status); });
}

void ChaosFabric::on_unpack(void *arg, void *, void *name, const void *data,
                            std::size_t length)
{
    auto *self = static_cast<ChaosFabric *>(arg);
    self->guard([&] {
        self->m_traffic.at(Traffic::target(name))->unpack(name, data, length);
    });
}

void ChaosFabric::on_failed(void *arg, be_peer_t *peer, be_status_t status)
{
    auto *self = static_cast<ChaosFabric *>(arg);
    self->guard([&] {
        if (!self->m_ending) {
            throw std::runtime_error(std::string(be_peer_name(peer)) + " was lost (" +
                                     be_status_string(status) +
                                     "): " + be_peer_failure(peer));
        }
    });
}

// ---------------------------------------------------------------------- faults

void ChaosFabric::break_path(unsigned end, bool bulk)
{
    engine::Peer &to         = peer(end);
    engine::SendQueue &queue = bulk ? to.bulk : to.messages;
    if (queue.exists()) {
        (void)queue.qp().to_error();
    }
}

// The engine hears of it as of any other end of its connection.
void ChaosFabric::cut_channel(unsigned end)
{
    if (const control::ConnectionId connection = peer(end).connection; connection != 0) {
        control::Node::acquire()->close(connection, false);
    }
}

// ----------------------------------------------------------------------- quiet

std::string ChaosFabric::sent() const
{
    std::string numbers;
    for (unsigned end = 0; end < chaos_ends; ++end) {
        const Sent sent = end == m_self ? Sent{} : m_traffic[end]->sent();
        numbers += " " + std::to_string(sent.messages) + " " + std::to_string(sent.puts);
    }
    return numbers;
}

void ChaosFabric::expect(const std::string &numbers)
{
    std::istringstream words(numbers);
    for (Sent &sent : m_expected) {
        if (!(words >> sent.messages >> sent.puts)) {
            throw std::runtime_error("'" + numbers +
                                     "' are not two numbers for each end");
        }
    }
}

bool ChaosFabric::quiet() const
{
    bool all = true;
    each_end([&](unsigned end, const Traffic &traffic) {
        const Sent arrived = traffic.arrived();
        if (arrived.messages > m_expected[end].messages ||
            arrived.puts > m_expected[end].puts) {
            throw std::runtime_error("more arrived from end " + std::to_string(end) +
                                     " than it has sent; " + traffic.describe());
        }
        all = all && arrived == m_expected[end] && traffic.outstanding() == 0;
    });
    return all;
}

bool ChaosFabric::news(bool all)
{
    bool any = false, each = true;
    each_end([&](unsigned end, const Traffic &traffic) {
        const bool more = traffic.events() != m_seen[end];
        any             = any || more;
        each            = each && more;
    });
    const bool found = all ? each : any;
    if (found) {
        each_end([&](unsigned end, const Traffic &traffic) {
            m_seen[end] = traffic.events();
        });
    }
    return found;
}

std::uint64_t ChaosFabric::metric(const std::string &name) const
{
    struct Search {
        const std::string &name;
        std::optional<std::uint64_t> value;
    } search{name, {}};
    be_fabric_metrics(
            m_fabric,
            [](void *arg, const be_metric_t *metric) {
                auto *wanted = static_cast<Search *>(arg);
                if (wanted->name == metric->name) {
                    wanted->value = metric->value;
                }
            },
            &search);
    if (!search.value) {
        throw std::runtime_error("there is no metric " + name);
    }
    return *search.value;
}

// The others; whose device was removed has none, and is nobody's.
unsigned ChaosFabric::rdma_peers() const
{
    const unsigned gone = m_board.without_device;
    if (gone == m_self) {
        return 0;
    }
    return gone == chaos_ends ? chaos_ends - 1 : chaos_ends - 2;
}

// What is not yet as it is without faults; empty: all is.
std::string ChaosFabric::unsettled() const
{
    std::string what;
    const auto equal = [&](const char *name, std::uint64_t expected) {
        if (const std::uint64_t value = metric(name); value != expected) {
            what += std::string(what.empty() ? "" : ", ") + name + " is " +
                    std::to_string(value) + " instead of " + std::to_string(expected);
        }
    };
    equal("peers_ready", chaos_ends - 1);
    equal("queue_pairs", 2 * rdma_peers());
    equal("control_connections", chaos_ends - 1);
    equal("credit_posted", metric("credit_capacity"));
    equal("receive_buffers_used", metric("credit_posted"));
    each_end([&](unsigned end, const Traffic &) {
        if (peer(end).recovery.channel_is_lost()) {
            what += std::string(what.empty() ? "" : ", ") + "no side channel to end " +
                    std::to_string(end);
        }
    });
    return what;
}

void ChaosFabric::until_settled(const std::string &after)
{
    const auto deadline = Clock::now() + settling;
    for (std::string what; !(what = unsettled()).empty();) {
        (void)progress();
        if (Clock::now() > deadline) {
            throw std::runtime_error("after " + after + ": " + what);
        }
    }
}

std::string ChaosFabric::check()
{
    until_settled("the faults");
    each_end([](unsigned, const Traffic &traffic) { traffic.check_quiet(); });
    for (const char *name :
         {"rnr", "messages_dropped", "peers_failed", "bulk_outstanding"}) {
        if (const std::uint64_t value = metric(name); value != 0) {
            throw std::runtime_error(std::string(name) + " is " + std::to_string(value) +
                                     " instead of 0");
        }
    }
    std::string counts;
    for (const char *name :
         {"recoveries", "paths_lost", "channels_lost", "replayed", "recovery_time",
          "messages_received", "bytes_received", "fallbacks", "fallback_returns"}) {
        counts += std::string(" ") + name + " " + std::to_string(metric(name));
    }
    std::uint64_t puts = 0, completed = 0;
    each_end([&](unsigned, const Traffic &traffic) {
        puts += traffic.arrived().puts;
        completed += traffic.completed();
    });
    return counts + " puts " + std::to_string(puts) + " completions " +
           std::to_string(completed);
}

void ChaosFabric::print_state() const
{
    std::string text = "process " + std::to_string(m_self) + " is in this state:\n";
    each_end([&](unsigned end, const Traffic &traffic) {
        if (traffic.peer() == nullptr) {
            return;
        }
        const engine::Peer &to = peer(end);
        text += "  " + traffic.describe() + "\n    peer " + to_string(to.state) +
                ", recovery " + core::to_string(to.recovery.state()) + ", epoch " +
                std::to_string(to.recovery.epoch()) + ", side channel " +
                (to.recovery.channel_is_lost() ? "lost" : "there") + ", cause '" +
                to.cause + "'" + (to.why.empty() ? "" : ", lost: " + to.why) + "\n   ";
        be_peer_metrics(
                traffic.peer(),
                [](void *arg, const be_metric_t *metric) {
                    *static_cast<std::string *>(arg) += std::string(" ") + metric->name +
                                                        " " +
                                                        std::to_string(metric->value);
                },
                &text);
        for (const engine::SendQueue *queue : {&to.messages, &to.bulk}) {
            text += "\n    queue " +
                    (queue->exists() ? std::to_string(queue->qp().number()) : "none") +
                    ", posted " + std::to_string(queue->posted()) + ", retired " +
                    std::to_string(queue->retired());
        }
        const auto *link = static_cast<const engine::Link *>(traffic.peer());
        text += "\n    fence after message " + std::to_string(link->fence_messages);
        for (unsigned kind = 0; kind < link->bulk.size(); ++kind) {
            text += std::string(kind == 0 ? "; puts" : "; gets") + ": issued " +
                    std::to_string(link->bulk[kind].issued) + ", done " +
                    std::to_string(link->bulk[kind].done) + ", fence " +
                    std::to_string(link->bulk[kind].fence) + ", admitted bytes " +
                    std::to_string(to.admitted[kind]);
        }
        text += "\n";
    });
    std::fputs(text.c_str(), stderr);
}

} // namespace be::test
