// SPDX-License-Identifier: BSD-3-Clause
#include "chaos_member.hpp"

#include "chaos_fabric.hpp"

#include <poll.h>
#include <random>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace be::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto patience        = std::chrono::seconds(20); // without any news
constexpr double parent_speaks = 60; // s

class ChaosMember {
public:
    ChaosMember(unsigned self, std::uint64_t seed, const Channel &parent,
                ChaosBoard &board) :
        m_parent(parent), m_fabric(self, seed, board), m_random(seed * 16 + self)
    {
    }

    void run()
    {
        m_parent.send(m_fabric.introduction());
        m_fabric.connect(m_parent.receive(parent_speaks));
        m_fabric.until_settled("connecting");
        m_parent.send("connected");
        while (!m_ended) {
            bool any = false;
            while (auto order = m_parent.try_receive()) {
                obey(*order);
                any = true;
            }
            if (m_going) {
                any = operations() || any;
            }
            any = m_fabric.progress() || any;
            answer_when_quiet();
            watch();
            if (!any) {
                rest();
            }
        }
    }

    void print_state() const
    {
        m_fabric.print_state();
    }

private:
    void obey(const std::string &order)
    {
        std::istringstream words(order);
        std::string what;
        unsigned end = 0, queue = 0;
        words >> what;
        m_news_at = Clock::now();
        if (what == "go") {
            m_going = true;
        } else if (what == "break") {
            words >> end >> queue;
            m_fabric.break_path(end, queue != 0);
        } else if (what == "cut") {
            words >> end;
            m_fabric.cut_channel(end);
        } else if (what == "stop") {
            m_going = false;
            m_parent.send("sent" + m_fabric.sent());
        } else if (what == "expect") {
            std::string numbers;
            std::getline(words, numbers);
            m_fabric.expect(numbers);
            m_waits = true;
        } else if (what == "check") {
            m_parent.send("fine" + m_fabric.check());
        } else if (what == "state") {
            print_state();
        } else if (what == "end") {
            m_ended = true;
        } else {
            throw std::runtime_error("unknown order '" + order + "'");
        }
    }

    // Bursts, so that queues are full at times, and empty at others.
    bool operations()
    {
        bool any = false;
        for (std::uint64_t left = m_random() % 16; left != 0; --left) {
            any = m_fabric.act(m_random) || any;
        }
        return any;
    }

    void answer_when_quiet()
    {
        if (m_waits && m_fabric.quiet()) {
            m_waits = false;
            m_parent.send("quiet");
        }
    }

    // Traffic flows with every end, or what is waited for comes.
    void watch()
    {
        const auto time = Clock::now();
        if (!m_fabric.news(m_going)) {
            if (m_going || m_waits) {
                if (time - m_news_at > patience) {
                    throw std::runtime_error("nothing comes for 20 s");
                }
                return;
            }
        }
        m_news_at = time;
    }

    // As a sleeping worker does. Puts announce themselves to nobody: not for long.
    void rest()
    {
        if (m_fabric.arm()) {
            pollfd entries[] = {{m_fabric.event_fd(), POLLIN, 0},
                                {m_parent.fd(), POLLIN, 0}};
            (void)::poll(entries, 2, 1);
        }
    }

    const Channel &m_parent;
    ChaosFabric m_fabric;
    std::mt19937_64 m_random;
    bool m_going                = false;
    bool m_waits                = false; // for what the others have sent
    bool m_ended                = false;
    Clock::time_point m_news_at = Clock::now();
};

} // namespace

int run_chaos_member(unsigned self, std::uint64_t seed, const Channel &parent,
                     ChaosBoard &board)
{
    ChaosMember member(self, seed, parent, board);
    try {
        member.run();
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "process %u (%d): %s\n", self, ::getpid(), error.what());
        member.print_state();
        std::fflush(nullptr);
        std::_Exit(1); // with its memory in use by others
    }
}

} // namespace be::test
