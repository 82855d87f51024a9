// SPDX-License-Identifier: BSD-3-Clause
#include "fault/points.hpp"

#include "control/fault_point.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace test {

std::span<const Point> points()
{
    // In the order in which a process comes there, those of TCP behind all others.
    static constexpr Point table[] = {
            {1, "sent Challenge", Scene::connect, listener},
            {2, "received Challenge", Scene::connect, dialler},
            {3, "sent Hello", Scene::connect, dialler},
            {4, "received Hello", Scene::connect, listener},
            {5, "sent Welcome", Scene::connect, listener},
            {6, "received Welcome", Scene::connect, dialler},
            {7, "queue pairs made", Scene::connect, either},
            {8, "sent Connect", Scene::connect, dialler},
            {9, "received Connect", Scene::connect, listener},
            {10, "queue pairs connected", Scene::connect, either},
            {11, "sent Accept", Scene::connect, listener},
            {12, "received Accept", Scene::connect, dialler},
            {13, "sent Ready", Scene::connect, dialler},
            {14, "received Ready", Scene::connect, listener},
            {15, "connected", Scene::connect, either},

            {16, "path lost", Scene::recover, either},
            {17, "path drained", Scene::recover, either},
            {18, "fresh queue pairs made", Scene::recover, either},
            {19, "sent Recover", Scene::recover, either},
            {20, "received Recover", Scene::recover, either},
            {21, "fresh queue pairs connected", Scene::recover, either},
            {22, "position taken", Scene::recover, either},
            {23, "sent Recovered", Scene::recover, either},
            {24, "received Recovered", Scene::recover, either},
            {25, "sent again", Scene::recover, either},
            {26, "recovered", Scene::recover, either},

            {27, "channel lost", Scene::resume, either},
            {28, "sent Probe", Scene::resume, listener},
            {29, "received Probe", Scene::resume, dialler},
            {30, "sent Pong", Scene::resume, dialler},
            {31, "received Pong", Scene::resume, listener},
            {32, "sent Connect", Scene::resume, dialler, 2},
            {33, "received Connect", Scene::resume, listener, 2},
            {34, "sent Accept", Scene::resume, listener, 2},
            {35, "received Accept", Scene::resume, dialler, 2},
            {36, "sent Ready", Scene::resume, dialler, 2},
            {37, "received Ready", Scene::resume, listener, 2},
            {38, "channel regained", Scene::resume, either},

            {39, "sent Goodbye", Scene::depart, either},
            {40, "received Goodbye", Scene::bereave, either},
            {41, "peer given up", Scene::bereave, either},
            {42, "queue pairs gone", Scene::bereave, either},

            {43, "RDMA given up", Scene::fall, either, 1, true},
            {44, "position taken for TCP", Scene::fall, either},
            {45, "TCP opened", Scene::fall, either},
            {46, "frame queued", Scene::fall, either, 5},
            {47, "received Data", Scene::fall, either, 5},
            {48, "frame taken", Scene::fall, either, 5},
            {49, "executed over TCP", Scene::fall, either, 5},
            {50, "piece served", Scene::fall, either, 2},
            {51, "done over TCP", Scene::fall, either, 2},

            {52, "TCP left", Scene::cut, either},
            {53, "channel lost", Scene::cut, either},
            {54, "channel regained", Scene::cut, either},
            {55, "TCP opened", Scene::cut, either, 2},

            {56, "RDMA tried again", Scene::rise, either, 1, true},
            {57, "TCP left", Scene::rise, either},
            {58, "fresh queue pairs made", Scene::rise, either, 2},
            {59, "fresh queue pairs connected", Scene::rise, either},
            {60, "back to RDMA", Scene::rise, either},
    };
    return table;
}

} // namespace test

namespace be::fault {
namespace {

class Wish {
public:
    void pass(std::string_view step)
    {
        if (step == m_step && m_left.fetch_sub(1) == 1) {
            if (::write(m_record, m_step.data(), m_step.size()) >= 0) {
                ::kill(::getpid(), SIGKILL);
            }
            std::abort();
        }
    }

    bool concerns(std::string_view step) const
    {
        return step == m_step;
    }

private:
    static std::string text(const char *name)
    {
        const char *value = std::getenv(name);
        return value == nullptr ? "" : value;
    }

    const std::string m_step = text("BE_FAULT_POINT");
    const int m_record       = std::atoi(text("BE_FAULT_RECORD").c_str());
    std::atomic<int> m_left  = std::max(1, std::atoi(text("BE_FAULT_NTH").c_str()));
};

Wish &wish()
{
    static Wish instance;
    return instance;
}

bool is_listed(std::string_view step)
{
    const auto points = test::points();
    return std::any_of(points.begin(), points.end(),
                       [&](const test::Point &point) { return step == point.step; });
}

// Sessions are the control thread's.
thread_local std::string in_output;

} // namespace

void pass(std::string_view step, std::string_view message)
{
    if (!message.empty()) {
        wish().pass(std::string(step) + " " + std::string(message));
        return;
    }
    if (!is_listed(step)) {
        std::fprintf(stderr, "fault point \"%.*s\" is not in the table of points\n",
                     static_cast<int>(step.size()), step.data());
        std::abort();
    }
    wish().pass(step);
}

void sending(std::string_view message)
{
    if (auto step = "sent " + std::string(message); wish().concerns(step)) {
        in_output = std::move(step);
    }
}

void sent()
{
    if (!in_output.empty()) {
        wish().pass(std::exchange(in_output, {}));
    }
}

} // namespace be::fault
