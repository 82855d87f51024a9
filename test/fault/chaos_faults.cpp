// SPDX-License-Identifier: BSD-3-Clause
#include "chaos_faults.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace be::test {
namespace {

constexpr double order_seconds = 20; // that an order may take; its process may stand still

void await(Process &process, const char *what)
{
    if (!process.wait(order_seconds)) {
        throw std::runtime_error(std::string(what) + ": softrdma does not end");
    }
}

} // namespace

const char *ChaosFaults::name(Kind kind)
{
    constexpr const char *names[kinds] = {"all queue pairs in error",
                                          "a queue pair in error",
                                          "a queue pair in error, silently",
                                          "link down",
                                          "completions delayed",
                                          "verbs calls stalled",
                                          "packets lost",
                                          "side channel cut",
                                          "process stopped",
                                          "link down for long"};
    return names[static_cast<unsigned>(kind)];
}

ChaosFaults::ChaosFaults(std::uint64_t seed, const std::string &chosen, std::string tool,
                         std::vector<Target> targets, const ChaosBoard &board) :
    m_random(seed), m_tool(std::move(tool)), m_targets(std::move(targets)), m_board(board)
{
    for (const char digit : chosen) {
        if (digit < '0' || digit >= static_cast<char>('0' + kinds)) {
            throw std::invalid_argument(
                    "'" + chosen + "' is not one of the digits 0 to " +
                    std::to_string(kinds - 1) + " for each kind of fault");
        }
        m_kinds.push_back(static_cast<Kind>(digit - '0'));
    }
}

unsigned ChaosFaults::below(unsigned bound)
{
    return static_cast<unsigned>(m_random() % bound);
}

std::string ChaosFaults::milliseconds(unsigned low, unsigned high)
{
    return std::to_string(low + below(high - low + 1)) + "ms";
}

void ChaosFaults::start()
{
    m_next = Clock::now();
}

ChaosFaults::Clock::time_point ChaosFaults::due() const noexcept
{
    return std::min({m_next, m_loss_ends, m_stop_ends});
}

void ChaosFaults::turn()
{
    reap();
    const auto time = Clock::now();
    if (m_loss_ends <= time) {
        end_loss();
    }
    if (m_stop_ends <= time) {
        end_stop();
    }
    if (m_next <= time) {
        begin();
        m_next = time + std::chrono::milliseconds(20 + below(61));
    }
}

void ChaosFaults::begin()
{
    const auto kind       = m_kinds[below(static_cast<unsigned>(m_kinds.size()))];
    const unsigned target = below(chaos_ends);
    const unsigned other  = (target + 1 + below(chaos_ends - 1)) % chaos_ends;
    const unsigned queue  = below(2);
    const auto until      = [&](unsigned low, unsigned high) {
        return Clock::now() + std::chrono::milliseconds(low + below(high - low + 1));
    };
    switch (kind) {
    case Kind::break_all:
        order(kind, target, {"fault", "qp-error"});
        break;
    case Kind::break_one:
        if (const auto number = m_board.queue_pairs[target][other][queue].load();
            number != 0) {
            order(kind, target, {"fault", "qp-error", "qpn=" + std::to_string(number)});
        }
        break;
    case Kind::break_inside:
        m_targets[target].channel->send("break " + std::to_string(other) + " " +
                                        std::to_string(queue));
        ++m_counts[static_cast<unsigned>(kind)];
        break;
    case Kind::link_down:
        order(kind, target, {"fault", "link-down", "for=" + milliseconds(5, 100)});
        break;
    case Kind::link_gone:
        order(kind, target, {"fault", "link-down", "for=" + milliseconds(200, 1000)});
        break;
    case Kind::completion_delay:
        order(kind, target,
              {"fault", "completion-delay", "delay=" + milliseconds(1, 10),
               "for=" + milliseconds(5, 100)});
        break;
    case Kind::stall:
        order(kind, target, {"fault", "stall", "for=" + milliseconds(5, 100)});
        break;
    case Kind::loss:
        if (m_lossy == chaos_ends) {
            m_lossy     = target;
            m_loss_ends = until(5, 50);
            order(kind, target, {"set", "loss=0." + std::to_string(1 + below(3))});
        }
        break;
    case Kind::cut:
        m_targets[target].channel->send("cut " + std::to_string(other));
        ++m_counts[static_cast<unsigned>(kind)];
        break;
    case Kind::stop:
        if (m_stopped == chaos_ends) {
            m_stopped   = target;
            m_stop_ends = until(5, 300);
            m_targets[target].process->signal(SIGSTOP);
            ++m_counts[static_cast<unsigned>(kind)];
        }
        break;
    }
}

std::unique_ptr<Process>
ChaosFaults::device_order(unsigned target, std::vector<std::string> words) const
{
    words.insert(words.begin(), m_tool);
    words.push_back("pid=" + std::to_string(m_targets[target].process->pid()));
    return std::make_unique<Process>([words]() mutable {
        if (std::getenv("BE_TEST_LOG") == nullptr) {
            const int nowhere = ::open("/dev/null", O_WRONLY);
            (void)::dup2(nowhere, STDOUT_FILENO);
            (void)::dup2(nowhere, STDERR_FILENO);
        }
        std::vector<char *> arguments;
        for (std::string &word : words) {
            arguments.push_back(word.data());
        }
        arguments.push_back(nullptr);
        ::execv(arguments[0], arguments.data());
        return 127;
    });
}

void ChaosFaults::order(Kind kind, unsigned target, std::vector<std::string> words)
{
    m_orders.push_back({kind, device_order(target, std::move(words))});
}

void ChaosFaults::reap()
{
    for (auto order = m_orders.begin(); order != m_orders.end();) {
        const auto status = order->process->wait(0);
        if (!status) {
            ++order;
            continue;
        }
        if (*status == 0) {
            ++m_counts[static_cast<unsigned>(order->kind)];
        } else if (WIFEXITED(*status) && WEXITSTATUS(*status) == 1) {
            ++m_missed;
        } else {
            throw std::runtime_error(m_tool + " for '" + name(order->kind) +
                                     "': " + describe_status(*status));
        }
        order = m_orders.erase(order);
    }
}

void ChaosFaults::end_loss()
{
    m_loss_ends = Clock::time_point::max();
    order(Kind::loss, std::exchange(m_lossy, chaos_ends), {"set", "off"});
    --m_counts[static_cast<unsigned>(Kind::loss)]; // it is the same one
}

void ChaosFaults::end_stop()
{
    m_stop_ends = Clock::time_point::max();
    m_targets[std::exchange(m_stopped, chaos_ends)].process->signal(SIGCONT);
}

unsigned ChaosFaults::remove_device()
{
    if (m_stopped != chaos_ends) {
        return chaos_ends;
    }
    const unsigned target = below(chaos_ends);
    const auto process    = device_order(target, {"fault", "device-removed"});
    await(*process, "device removed");
    if (*process->wait(0) != 0) {
        throw std::runtime_error("softrdma fault device-removed: " +
                                 describe_status(*process->wait(0)));
    }
    return target;
}

void ChaosFaults::finish()
{
    m_next = Clock::time_point::max();
    if (m_stopped != chaos_ends) {
        end_stop();
    }
    for (Order &order : m_orders) {
        await(*order.process, name(order.kind));
    }
    reap();
    m_lossy     = chaos_ends;
    m_loss_ends = Clock::time_point::max();
    for (unsigned target = 0; target < m_targets.size(); ++target) {
        for (const std::vector<std::string> &words :
             {std::vector<std::string>{"fault", "clear"},
              std::vector<std::string>{"set", "off"}}) {
            const auto process = device_order(target, words);
            await(*process, words.back().c_str());
            if (*process->wait(0) != 0) {
                throw std::runtime_error("softrdma " + words.front() + " " +
                                         words.back() + ": " +
                                         describe_status(*process->wait(0)));
            }
        }
    }
}

} // namespace be::test
