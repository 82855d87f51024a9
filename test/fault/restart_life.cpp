// SPDX-License-Identifier: BSD-3-Clause
#include "fault/restart_life.hpp"

#include "control/node.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace test {

namespace {

constexpr uint8_t message_id = 1, echo_id = 2;
constexpr uint32_t go_on = static_cast<uint32_t>(Life::Order::none);

// The start of a message; words of the incarnation's number follow.
struct Head {
    uint32_t incarnation;
    uint32_t flag;
    uint64_t number;
};

// What a server says of itself.
struct Hello {
    uint8_t address[BE_FABRIC_ADDR_LEN];
    uint64_t remote;
    uint32_t rkey;
    uint32_t incarnation;
};

// For the environment.
std::string hexadecimal(const uint8_t *bytes, size_t length)
{
    std::string text;
    char digits[3];
    for (size_t i = 0; i < length; ++i) {
        std::snprintf(digits, sizeof(digits), "%02x", bytes[i]);
        text += digits;
    }
    return text;
}

void bytes_of(const std::string &text, uint8_t *bytes, size_t length)
{
    BOOST_REQUIRE_EQUAL(text.size(), 2 * length);
    for (size_t i = 0; i < length; ++i) {
        bytes[i] = static_cast<uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
    }
}

std::string wanted_variable(const char *name)
{
    const char *value = std::getenv(name);
    BOOST_REQUIRE_MESSAGE(value != nullptr,
                          name << " is not set: this case is started by "
                                  "others");
    return value;
}

bool all_words(const uint8_t *data, size_t bytes, uint32_t value)
{
    for (size_t i = 0; i + sizeof(value) <= bytes; i += sizeof(value)) {
        uint32_t word;
        std::memcpy(&word, data + i, sizeof(word));
        if (word != value) {
            return false;
        }
    }
    return true;
}

// Runs in the child. The client has threads, so the server is a program of its own.
int exec_server(int pipe, const Node &client, uint32_t incarnation, const Server &server)
{
    uint8_t address[BE_FABRIC_ADDR_LEN];
    be_fabric_address(client.fabric, address);
    ::fcntl(pipe, F_SETFD, 0);
    ::setenv("BE_SERVER_PIPE", std::to_string(pipe).c_str(), 1);
    ::setenv("BE_SERVER_CLIENT", hexadecimal(address, sizeof(address)).c_str(), 1);
    ::setenv("BE_SERVER_INCARNATION", std::to_string(incarnation).c_str(), 1);
    ::setenv("BE_SERVER_CONNECTS", server.connects ? "1" : "0", 1);
    ::setenv("BE_SERVER_FALLS_BACK",
             client.config.fallback == BE_FALLBACK_TCP ? "1" : "0", 1);
    for (const auto &[name, value] : server.environment) {
        ::setenv(name.c_str(), value.c_str(), 1);
    }
    if (server.output >= 0) {
        ::dup2(server.output, STDOUT_FILENO);
        ::dup2(server.output, STDERR_FILENO);
    }
    ::execl(server.program, "server", "--run_test=server", "--report_level=no",
            static_cast<char *>(nullptr));
    return 98;
}

} // namespace

void set_link(pid_t pid, bool up)
{
    const std::string command = wanted_variable("BE_MODULEDIR") +
                                "/../src/softrdma/softrdma fault " +
                                (up ? "clear" : "link-down") +
                                " pid=" + std::to_string(pid) + " >/dev/null";
    const int status = std::system(command.c_str());
    BOOST_REQUIRE(status == 0 || pid != ::getpid());
}

be_fabric_config_t life_config(const Device &device, bool falls_back)
{
    be_fabric_config_t config = device.config();
    if (falls_back) {
        config.fallback      = BE_FALLBACK_TCP;
        config.fallback_time = 0.02;
        config.timeout       = 7; // 0.5 ms: a link that is down is noticed soon
        config.retry_count   = 1;
        config.peer_timeout  = 6; // s: tests wait for 20
    }
    return config;
}

Memory::Memory(Device &owner) : m_device(owner)
{
    BOOST_REQUIRE_EQUAL(be_mem_alloc(owner.md, size, &mem), BE_OK);
    std::memset(mem.address, 0, size);
}

Memory::~Memory()
{
    be_mem_free(m_device.md, &mem);
}

void Client::check_clean()
{
    BOOST_REQUIRE(wait({&node}, [&] {
        return node.metric("queue_pairs") == 0 && node.metric("peers") == 0 &&
               node.metric("credit_posted") == node.metric("credit_capacity") &&
               node.metric("sends_outstanding") == 0;
    }));
}

Life::Life(Node &node, Memory &source, uint32_t incarnation, const Server &server) :
    m_node(node), m_source(source), m_incarnation(incarnation), m_random(incarnation)
{
    int ends[2];
    BOOST_REQUIRE_EQUAL(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    m_pipe    = ends[0];
    m_process = std::make_unique<be::test::Process>(
            [&] { return exec_server(ends[1], node, incarnation, server); });
    ::close(ends[1]);
    std::fill_n(source.words(), Memory::size / sizeof(uint32_t), incarnation);
}

bool Life::born()
{
    Hello hello{};
    ssize_t length = -1;
    BOOST_REQUIRE_MESSAGE(wait({&m_node},
                               [&] {
                                   length = ::read(m_pipe, &hello, sizeof(hello));
                                   return length >= 0; // 0: nobody can write
                               }),
                          "incarnation " << m_incarnation << " says nothing");
    if (length == 0) {
        return false;
    }
    BOOST_REQUIRE_EQUAL(length, ssize_t(sizeof(hello)));
    BOOST_REQUIRE_EQUAL(hello.incarnation, m_incarnation);
    std::copy(std::begin(hello.address), std::end(hello.address), m_address);
    m_remote = hello.remote;
    m_rkey   = hello.rkey;
    return true;
}

be::engine::Peer &Life::engine_peer()
{
    return static_cast<be::engine::Link *>(m_peer)->peer;
}

Life::~Life()
{
    let_go();
    m_node.completed.clear();
    m_node.received.clear();
    ::close(m_pipe);
}

void Life::connect()
{
    BOOST_REQUIRE_EQUAL(be_peer_get(m_node.fabric, m_address, &m_peer), BE_OK);
}

std::string Life::failure() const
{
    return be_peer_failure(m_peer);
}

void Life::let_go()
{
    if (m_peer != nullptr) {
        be_peer_put(std::exchange(m_peer, nullptr));
    }
}

bool Life::message(uint32_t flag)
{
    const Head head{m_incarnation, flag, m_sent};
    const size_t words = m_random() % 3 == 0 ? m_random() % 1900 : m_random() % 16;
    std::vector<uint8_t> data(sizeof(head) + words * sizeof(uint32_t));
    std::memcpy(data.data(), &head, sizeof(head));
    std::memcpy(data.data() + sizeof(head), m_source.words(), words * sizeof(uint32_t));
    if (m_random() % 2 == 0) {
        const be_sge_t part{m_source.words(), words * sizeof(uint32_t),
                            m_source.mem.lkey};
        if (be_am_zcopy(m_peer, message_id, &head, sizeof(head), &part, 1,
                        completion()) != BE_INPROGRESS) {
            return false;
        }
        ++m_wanted;
    } else if (be_am_bcopy(m_peer, message_id, pack_vector, &data) < 0) {
        return false;
    }
    ++m_sent;
    return true;
}

void Life::act()
{
    const size_t length = 4 * (1 + m_random() % (Memory::size / 8 - 1));
    switch (m_random() % 8) {
    case 0:
    case 1: {
        const be_sge_t part{m_source.words(), length, m_source.mem.lkey};
        m_wanted += be_put_zcopy(m_peer, &part, 1, m_remote, m_rkey, completion()) ==
                    BE_INPROGRESS;
        break;
    }
    case 2: // one at a time, of what the client has put there, or nothing
        if (m_read == 0 ||
            m_node.completed.count(reinterpret_cast<void *>(m_read)) != 0) {
            if (be_get_bcopy(m_peer, nullptr, nullptr, 4096, m_remote, m_rkey,
                             completion()) == BE_INPROGRESS) {
                m_read = ++m_wanted;
            }
        }
        break;
    default:
        (void)message(go_on);
        break;
    }
}

void Life::take_echoes()
{
    for (const Received &received : m_node.received) {
        Head head{};
        BOOST_REQUIRE_EQUAL(received.data.size(), sizeof(head));
        std::memcpy(&head, received.data.data(), sizeof(head));
        BOOST_REQUIRE_EQUAL(head.incarnation, m_incarnation);
        BOOST_REQUIRE_EQUAL(head.number, m_echoed);
        BOOST_REQUIRE_LT(head.number, m_sent);
        ++m_echoed;
    }
    m_node.received.clear();
}

void Life::load_until(const std::function<bool()> &done)
{
    const bool came = wait({&m_node}, [&] {
        take_echoes();
        if (!done()) {
            act();
            return false;
        }
        return true;
    });
    BOOST_REQUIRE_MESSAGE(came, "incarnation " << m_incarnation << ": " << m_sent
                                               << " messages sent, " << m_echoed
                                               << " echoed, and then nothing");
}

void Life::load_until_echo(uint64_t count)
{
    load_until([&] { return m_echoed >= count; });
}

void Life::check_end()
{
    // The failure is told after the last of them.
    BOOST_REQUIRE_EQUAL(m_node.completed.size(), m_wanted);
    for (const auto &[what, status] : m_node.completed) {
        BOOST_REQUIRE(status == BE_OK || status == m_node.failed.back().second);
    }
    take_echoes();
    const Head head{m_incarnation, go_on, m_sent};
    const be_status_t status = m_node.failed.back().second;
    BOOST_REQUIRE_EQUAL(be_am_short(m_peer, message_id, 0, &head, sizeof(head)), status);
    BOOST_REQUIRE_EQUAL(be_peer_status(m_peer), status);
}

void Life::settle()
{
    BOOST_REQUIRE(wait({&m_node}, [&] {
        take_echoes();
        return m_node.completed.size() == m_wanted && m_echoed == m_sent;
    }));
    for (const auto &[what, status] : m_node.completed) {
        BOOST_REQUIRE_EQUAL(status, BE_OK);
    }
}

void Life::finish()
{
    settle();
    BOOST_REQUIRE(wait({&m_node}, [&] { return order(Order::end); }));
    std::optional<int> status;
    BOOST_REQUIRE(wait({&m_node}, [&] {
        status = m_process->wait(0);
        return status.has_value();
    }));
    BOOST_REQUIRE_MESSAGE(*status == 0, be::test::describe_status(*status));
    // What it sent before its goodbye arrives.
    BOOST_REQUIRE(wait({&m_node}, [&] {
        take_echoes();
        return m_echoed == m_sent;
    }));
}

namespace {

void obey(Life::Order order, be_peer_t *client)
{
    auto &peer = static_cast<be::engine::Link *>(client)->peer;
    switch (order) {
    case Life::Order::break_path:
        if (peer.messages.exists()) {
            (void)peer.messages.qp().to_error();
        }
        break;
    case Life::Order::cut_channel:
        be::control::Node::acquire()->close(peer.connection, false);
        break;
    case Life::Order::none:
    case Life::Order::end:
        break;
    }
}

// The server's messages: in order, none missing, all of this life. True: it is asked to end.
bool take_messages(Node &node, be_peer_t *client, uint32_t incarnation,
                   uint64_t &expected)
{
    bool asked = false;
    for (const Received &received : std::exchange(node.received, {})) {
        Head head{};
        BOOST_REQUIRE_GE(received.data.size(), sizeof(head));
        std::memcpy(&head, received.data.data(), sizeof(head));
        BOOST_REQUIRE_EQUAL(head.incarnation, incarnation);
        BOOST_REQUIRE_EQUAL(head.number, expected);
        BOOST_REQUIRE(all_words(received.data.data() + sizeof(head),
                                received.data.size() - sizeof(head), incarnation));
        ++expected;
        const auto order = static_cast<Life::Order>(head.flag);
        asked            = asked || order == Life::Order::end;
        obey(order, client);
        std::vector<uint8_t> echo(sizeof(head));
        std::memcpy(echo.data(), &head, sizeof(head));
        BOOST_REQUIRE_EQUAL(send_bcopy({&node}, client, echo_id, echo), BE_OK);
    }
    return asked;
}

} // namespace

void serve()
{
    const auto pipe        = std::stoi(wanted_variable("BE_SERVER_PIPE"));
    const auto incarnation = static_cast<uint32_t>(
            std::stoul(wanted_variable("BE_SERVER_INCARNATION")));
    Hello hello{};
    uint8_t address[BE_FABRIC_ADDR_LEN];
    bytes_of(wanted_variable("BE_SERVER_CLIENT"), address, sizeof(address));

    Device device;
    Memory memory(device);
    Node node(device,
              life_config(device, wanted_variable("BE_SERVER_FALLS_BACK") == "1"));
    be_peer_t *client = nullptr;
    if (wanted_variable("BE_SERVER_CONNECTS") == "1") {
        BOOST_REQUIRE_EQUAL(be_peer_get(node.fabric, address, &client), BE_OK);
        BOOST_REQUIRE(wait({&node}, [&] {
            return be_peer_can_send(client) != 0 || !node.failed.empty();
        }));
        BOOST_REQUIRE_MESSAGE(node.failed.empty(),
                              "cannot connect: " << be_peer_failure(client));
    }
    be_fabric_address(node.fabric, hello.address);
    hello.remote      = reinterpret_cast<uint64_t>(memory.mem.address);
    hello.rkey        = memory.mem.rkey;
    hello.incarnation = incarnation;
    BOOST_REQUIRE_EQUAL(::write(pipe, &hello, sizeof(hello)), ssize_t(sizeof(hello)));

    uint64_t expected = 0;
    bool asked        = false;
    // Until it is asked, or killed; not beyond its client.
    while (!asked) {
        be_fabric_progress(node.fabric);
        if (client == nullptr && !node.received.empty()) {
            BOOST_REQUIRE_EQUAL(be_peer_get(node.fabric, address, &client), BE_OK);
        }
        if (!node.received.empty()) {
            asked = take_messages(node, client, incarnation, expected);
            // What has been put is of this life.
            const uint32_t first = memory.words()[0];
            const uint32_t last  = memory.words()[Memory::size / 8 - 1];
            BOOST_REQUIRE(first == 0 || first == incarnation);
            BOOST_REQUIRE(last == 0 || last == incarnation);
        }
    }
    BOOST_REQUIRE(
            std::all_of(memory.words(), memory.words() + Memory::size / sizeof(uint32_t),
                        [&](uint32_t word) { return word == 0 || word == incarnation; }));
    BOOST_REQUIRE(wait({&node},
                       [&] { return be_peer_flush(client, nullptr) != BE_INPROGRESS; }));
    be_peer_put(client);
}

} // namespace test
