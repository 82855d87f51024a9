// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_hostile: strangers at the ports on which the processes of a pair listen, while verified
 * traffic flows between them.
 *
 *   be_hostile [--lenient]
 *
 * The traffic goes on undisturbed, every stranger is turned away, no descriptor is left, and a new
 * connection is still made afterwards. --lenient lets the port keep strangers (UCX's own tcp does).
 * Transports come from UCX_TLS.
 */
#include "attack.hpp"

#include "lib/node.hpp"
#include "lib/pattern.hpp"
#include "lib/process.hpp"
#include "lib/procfs.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <unistd.h>
#include <vector>

namespace be::test {

namespace {

using Clock = std::chrono::steady_clock;

constexpr ucp_tag_t TAG      = 0x7af1c;
constexpr std::uint64_t STOP = 0;
/* Rounds of traffic during one attack, at least. */
constexpr unsigned MIN_ROUNDS = 20;

/* One message of rank 0 and its echo: a number, and content that the number names. */
class Traffic {
public:
    Traffic(Node &node) : m_node(node), m_out(8 + SIZE), m_in(8 + SIZE)
    {
    }

    void send(std::uint64_t number)
    {
        std::memcpy(m_out.data(), &number, 8);
        pattern_fill(m_out.data() + 8, SIZE, number);
        ucp_request_param_t param{};
        m_node.wait(ucp_tag_send_nbx(m_node.ep(), m_out.data(), m_out.size(), TAG,
                                     &param),
                    "send of message " + std::to_string(number));
    }
    std::uint64_t receive()
    {
        ucp_request_param_t param{};
        m_node.wait(ucp_tag_recv_nbx(m_node.worker(), m_in.data(), m_in.size(), TAG,
                                     ~ucp_tag_t{0}, &param),
                    "receive of a message");
        std::uint64_t number;
        std::memcpy(&number, m_in.data(), 8);
        m_in.check_guards("message");
        pattern_check(m_in.data() + 8, SIZE, number, "message " + std::to_string(number));
        return number;
    }

private:
    static constexpr std::size_t SIZE = 40000;

    Node &m_node;
    GuardedBuffer m_out, m_in;
};

/* The attacking process: for each "NAME ADDRESS PORT" it answers with what was left open. */
int attacker(const Channel &channel)
{
    for (;;) {
        std::istringstream order(channel.receive(600));
        std::string name;
        Listening target{};
        if (!(order >> name >> target.address >> target.port)) {
            return 0;
        }
        for (const Attack &attack : attacks()) {
            if (name == attack.name) {
                channel.send(std::to_string(attack.run(target)));
            }
        }
    }
}

/* Another worker with endpoints both ways, by the same process and port. */
void newcomer(Side &side)
{
    Node node(side.channel, {});
    node.connect();
    Traffic traffic(node);
    if (side.rank == 0) {
        traffic.send(1);
        traffic.receive();
    } else {
        traffic.send(traffic.receive());
    }
    node.disconnect();
}

void echo(Side &side)
{
    Node node(side.channel, {});
    node.connect();
    node.exchange(std::to_string(::getpid()), "process ids");
    Traffic traffic(node);
    for (std::uint64_t number = 1; number != STOP;) {
        number = traffic.receive();
        traffic.send(number);
    }
    node.barrier("the attacks are over");
    newcomer(side);
    node.disconnect();
}

class Victim {
public:
    Victim(Side &side, bool lenient) :
        m_side(side),
        m_lenient(lenient),
        m_ends(Channel::pair()),
        m_attacker([this] { return attacker(m_ends.second); }),
        m_node(side.channel, {}),
        m_traffic(m_node)
    {
        m_node.connect();
        m_pids = {::getpid(),
                  static_cast<pid_t>(std::stol(m_node.exchange("pid", "process ids")))};
    }

    void run()
    {
        round();
        m_descriptors = descriptors();
        for (const Attack &attack : attacks()) {
            m_side.report.begin(std::string("hostile/") + attack.name);
            m_side.report.pass(suffer(attack.name));
        }
        m_side.report.begin("hostile/descriptors");
        settle();
        m_side.report.pass();
        m_traffic.send(STOP);
        m_traffic.receive();
        m_side.report.begin("hostile/newcomer");
        m_node.barrier("the attacks are over");
        newcomer(m_side);
        m_node.disconnect();
        m_side.report.pass();
        m_ends.first.send("end");
    }

private:
    void round()
    {
        m_traffic.send(++m_number);
        if (m_traffic.receive() != m_number) {
            throw std::runtime_error("message " + std::to_string(m_number) +
                                     " was answered by another");
        }
    }

    std::size_t descriptors() const
    {
        return footprint(m_pids[0]).descriptors + footprint(m_pids[1]).descriptors;
    }

    /* Traffic as long as the attack lasts, on each port of both processes. */
    std::string suffer(const std::string &name)
    {
        unsigned rounds = 0, ports = 0;
        for (const pid_t pid : m_pids) {
            for (const Listening &target : listening_sockets(pid)) {
                ++ports;
                m_ends.first.send(name + " " + std::to_string(target.address) + " " +
                                  std::to_string(target.port));
                std::optional<std::string> left;
                for (unsigned here = 0; here < MIN_ROUNDS || !left; ++here, ++rounds) {
                    round();
                    if (!left && !(left = m_ends.first.try_receive()) &&
                        m_attacker.wait(0)) {
                        throw std::runtime_error("the attack could not be made");
                    }
                }
                if (*left != "0" && !m_lenient) {
                    throw std::runtime_error("port " + std::to_string(target.port) +
                                             " keeps " + *left + " strangers");
                }
            }
        }
        if (ports == 0) {
            throw std::runtime_error("neither process listens on a TCP port");
        }
        return "(" + std::to_string(ports) + " ports, " + std::to_string(rounds) +
               " rounds of traffic)";
    }

    /* The attacker's connections are gone from both processes. */
    void settle()
    {
        const auto end = Clock::now() + std::chrono::seconds(15);
        while (descriptors() > m_descriptors) {
            if (Clock::now() > end) {
                throw std::runtime_error(std::to_string(descriptors()) +
                                         " descriptors are open instead of " +
                                         std::to_string(m_descriptors));
            }
            round();
        }
    }

    Side &m_side;
    bool m_lenient;
    std::pair<Channel, Channel> m_ends;
    Process m_attacker;
    Node m_node;
    Traffic m_traffic;
    std::vector<pid_t> m_pids{};
    std::size_t m_descriptors = 0;
    std::uint64_t m_number    = 0;
};

} // namespace

} // namespace be::test

int main(int argc, char **argv)
{
    using namespace be::test;
    const bool lenient = argc == 2 && std::strcmp(argv[1], "--lenient") == 0;
    if (argc > 2 || (argc == 2 && !lenient)) {
        std::fprintf(stderr, "be_hostile: expected [--lenient]\n");
        return 2;
    }
    Report report;
    run_pair(report, "hostile/start", {.seconds = 400}, [&](Side &side) {
        if (side.rank == 0) {
            std::make_unique<Victim>(side, lenient)->run();
        } else {
            echo(side);
        }
    });
    return report.finish();
}
