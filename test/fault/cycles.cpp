// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_ucp_cycles: connections that come and go leave nothing behind.
 *
 *   be_ucp_cycles [--cycles N]        default 1000
 *
 * Three kinds: endpoints between two lasting workers, whole contexts, and clients of a listener.
 * After a first part that fills caches and pools, descriptors and threads must not grow,
 * memory by less than what one leaked connection a cycle would take.
 */
#include "lib/node.hpp"
#include "lib/pattern.hpp"
#include "lib/process.hpp"
#include "lib/procfs.hpp"

#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <netinet/in.h>
#include <stdexcept>
#include <unistd.h>

namespace be::test {

namespace {

/* A connection costs kilobytes at least: its queues, its endpoint. */
constexpr std::size_t BYTES_A_CYCLE = 1024;
/* Allocator and page granularity, whatever the number of cycles. */
constexpr std::size_t SLACK = 1 << 20;
/* Sockets of the latest connections that the side channel may still be closing: a descriptor left of each
 * connection would be hundreds. */
constexpr std::size_t CLOSING = 4;

/* Compares this process with what it was. */
class Leaks {
public:
    /* `cycle` of `cycles` is over; the first quarter warms up. */
    void look(unsigned cycle, unsigned cycles)
    {
        if (cycle == cycles / 4) {
            m_before = now();
            m_start  = cycle;
        } else if (cycle == cycles) {
            compare(cycles - m_start);
        }
    }
    const std::string &note() const
    {
        return m_note;
    }

private:
    static Footprint now()
    {
        ::malloc_trim(0);
        return footprint(::getpid());
    }

    void compare(unsigned cycles)
    {
        const Footprint after = now();
        const auto grown      = static_cast<long long>(after.resident) -
                           static_cast<long long>(m_before.resident);
        const std::size_t limit = SLACK + cycles * BYTES_A_CYCLE;
        m_note                  = "(" + std::to_string(cycles) + " cycles: descriptors " +
                 std::to_string(m_before.descriptors) + " -> " +
                 std::to_string(after.descriptors) + ", threads " +
                 std::to_string(m_before.threads) + " -> " +
                 std::to_string(after.threads) + ", resident " +
                 std::to_string(grown / 1024) + " KiB more)";
        if (after.descriptors > m_before.descriptors + CLOSING ||
            after.threads > m_before.threads || grown > static_cast<long long>(limit)) {
            throw std::runtime_error("something is left of each connection " + m_note);
        }
    }

    Footprint m_before{};
    unsigned m_start = 0;
    std::string m_note;
};

/* A message each way on one endpoint; returns when both are through. */
void ping(Node &node, ucp_ep_h ep, std::uint64_t number)
{
    std::uint64_t in = ~number;
    ucp_request_param_t param{};
    const auto receiving = ucp_tag_recv_nbx(node.worker(), &in, sizeof(in), 1,
                                            ~ucp_tag_t{0}, &param);
    node.wait(ucp_tag_send_nbx(ep, &number, sizeof(number), 1, &param), "ping");
    node.wait(receiving, "pong");
    if (in != number) {
        throw std::runtime_error("cycle " + std::to_string(number) +
                                 " got the message of " + std::to_string(in));
    }
}

void endpoints(Side &side, unsigned cycles)
{
    Node node(side.channel, {});
    const std::string address = node.exchange(node.address(), "worker addresses");
    Leaks leaks;
    for (unsigned i = 1; i <= cycles; ++i) {
        const ucp_ep_h ep = node.open(address);
        ping(node, ep, i);
        node.barrier("both got it");
        node.close(ep);
        node.barrier("both closed");
        leaks.look(i, cycles);
    }
    if (side.rank == 0) {
        side.report.pass(leaks.note());
    }
}

void contexts(Side &side, unsigned cycles)
{
    Leaks leaks;
    for (unsigned i = 1; i <= cycles; ++i) {
        {
            Node node(side.channel, {});
            node.connect();
            ping(node, node.ep(), i);
            node.disconnect();
        }
        leaks.look(i, cycles);
    }
    if (side.rank == 0) {
        side.report.pass(leaks.note());
    }
}

sockaddr_in loopback(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family      = AF_INET;
    address.sin_port        = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* A listener on a port that the kernel chooses; accepts one connection at a time. */
class Listener {
public:
    explicit Listener(Node &node) : m_node(node)
    {
        sockaddr_in address = loopback(0);
        ucp_listener_params_t params{};
        params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                            UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
        params.sockaddr.addr    = reinterpret_cast<const sockaddr *>(&address);
        params.sockaddr.addrlen = sizeof(address);
        params.conn_handler.cb  = [](ucp_conn_request_h request, void *arg) {
            static_cast<Listener *>(arg)->m_request = request;
        };
        params.conn_handler.arg = this;
        check(ucp_listener_create(node.worker(), &params, &m_listener),
              "ucp_listener_create");
    }
    ~Listener()
    {
        ucp_listener_destroy(m_listener);
    }
    Listener(const Listener &)            = delete;
    Listener &operator=(const Listener &) = delete;

    std::uint16_t port() const
    {
        ucp_listener_attr_t attr{};
        attr.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
        check(ucp_listener_query(m_listener, &attr), "ucp_listener_query");
        return ntohs(reinterpret_cast<const sockaddr_in *>(&attr.sockaddr)->sin_port);
    }

    ucp_ep_h accept()
    {
        m_node.until([this] { return m_request != nullptr; }, "a connection request");
        ucp_ep_params_t params{};
        params.field_mask   = UCP_EP_PARAM_FIELD_CONN_REQUEST;
        params.conn_request = m_request;
        m_request           = nullptr;
        return open(m_node, params);
    }

    /* Sockaddr connections need error handling; a client that closes first is no error. */
    static ucp_ep_h open(Node &node, ucp_ep_params_t params)
    {
        params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                             UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.err_mode       = UCP_ERR_HANDLING_MODE_PEER;
        params.err_handler.cb = [](void *, ucp_ep_h, ucs_status_t) {};
        ucp_ep_h ep           = nullptr;
        check(ucp_ep_create(node.worker(), &params, &ep), "ucp_ep_create");
        return ep;
    }

private:
    Node &m_node;
    ucp_listener_h m_listener    = nullptr;
    ucp_conn_request_h m_request = nullptr;
};

ucp_ep_h dial(Node &node, std::uint16_t port)
{
    sockaddr_in address = loopback(port);
    ucp_ep_params_t params{};
    params.field_mask       = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
    params.flags            = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    params.sockaddr.addr    = reinterpret_cast<const sockaddr *>(&address);
    params.sockaddr.addrlen = sizeof(address);
    return Listener::open(node, params);
}

void clients(Side &side, unsigned cycles)
{
    Node node(side.channel, {});
    Leaks leaks;
    const auto cycle = [&](unsigned i, ucp_ep_h ep) {
        ping(node, ep, i);
        node.barrier("both got it");
        /* Forced: the other side's end of a closed connection reports it, if it is not closed. */
        node.close(ep, true);
        node.barrier("both closed");
        leaks.look(i, cycles);
    };
    if (side.rank == 0) {
        Listener listener(node);
        node.exchange(std::to_string(listener.port()), "the client");
        for (unsigned i = 1; i <= cycles; ++i) {
            cycle(i, listener.accept());
        }
        side.report.pass(leaks.note());
    } else {
        const auto port = static_cast<std::uint16_t>(
                std::stoul(node.exchange("client", "the listener's port")));
        for (unsigned i = 1; i <= cycles; ++i) {
            cycle(i, dial(node, port));
        }
    }
}

} // namespace

} // namespace be::test

int main(int argc, char **argv)
{
    using namespace be::test;
    unsigned cycles = 1000;
    if (argc == 3 && std::strcmp(argv[1], "--cycles") == 0) {
        cycles = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
    }
    if ((argc != 1 && argc != 3) || cycles < 8) {
        std::fprintf(stderr, "be_ucp_cycles: expected [--cycles N], N at least 8\n");
        return 2;
    }
    Report report;
    run_pair(report, "cycles/endpoints", {.seconds = 200},
             [&](Side &side) { endpoints(side, cycles); });
    /* A context opens every device: ten times dearer than an endpoint. */
    run_pair(report, "cycles/contexts", {.seconds = 200},
             [&](Side &side) { contexts(side, cycles / 10); });
    run_pair(report, "cycles/clients", {.seconds = 200},
             [&](Side &side) { clients(side, cycles); });
    return report.finish();
}
