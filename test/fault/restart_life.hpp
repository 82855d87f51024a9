// SPDX-License-Identifier: BSD-3-Clause
//
// One incarnation of a server, and the traffic of its client with it. Every message and every word that is put carries
// the incarnation's number. What is the server here may be the one that connects.

#pragma once

#include "engine/peer.hpp"
#include "engine/world.hpp"
#include "lib/process.hpp"

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace test {

// Memory that the other process may write and read.
class Memory {
public:
    static constexpr size_t size = 256u << 10;

    explicit Memory(Device &owner);
    ~Memory();
    Memory(const Memory &)            = delete;
    Memory &operator=(const Memory &) = delete;

    uint32_t *words() const
    {
        return static_cast<uint32_t *>(mem.address);
    }

    be_mem_t mem{};

private:
    Device &m_device;
};

// The link of that process goes down or comes up. Who is dead has none.
void set_link(pid_t pid, bool up);

// `falls_back`: data goes over TCP while there is no RDMA.
be_fabric_config_t life_config(const Device &device, bool falls_back);

// Its server is configured alike.
struct Client {
    explicit Client(bool falls_back = false) :
        node(device, life_config(device, falls_back)), source(device)
    {
    }

    ~Client()
    {
        if (node.config.fallback == BE_FALLBACK_TCP) {
            set_link(::getpid(), true);
        }
    }

    // Nothing of a life that has ended is left.
    void check_clean();

    Device device;
    Node node;
    Memory source;
};

// What the server is started with.
struct Server {
    bool connects = false; // to the client, and has done so when it tells its address
    const char *program = "/proc/self/exe";
    int output          = -1; // a descriptor for what it writes to stdout and stderr
    std::vector<std::pair<std::string, std::string>> environment{};
};

// The client's side of one life. It ends with kill or finish(); then the peer is let go.
class Life {
public:
    // Starts the server.
    Life(Node &node, Memory &source, uint32_t incarnation, const Server &server);
    ~Life();
    Life(const Life &)            = delete;
    Life &operator=(const Life &) = delete;

    const be::test::Process &process() const
    {
        return *m_process;
    }

    be::test::Process &process()
    {
        return *m_process;
    }

    // Waits until it tells its address. False: it has died.
    bool born();
    void connect();
    be::engine::Peer &engine_peer();
    std::string failure() const;
    // The endpoint is closed.
    void let_go();
    // Operations of all kinds; false: it did not come true in time.
    void load_until(const std::function<bool()> &done);
    void load_until_echo(uint64_t count);
    uint64_t echoed() const
    {
        return m_echoed;
    }
    // After the peer has failed: every operation is complete, and nothing more is taken or comes.
    void check_end();
    // The server is asked to do something: to say goodbye and end, for one.
    enum class Order : uint32_t {
        none,
        end,
        break_path, // a queue pair of its own goes to the error state
        cut_channel
    };
    bool order(Order what)
    {
        return message(static_cast<uint32_t>(what));
    }
    // Everything is complete and echoed.
    void settle();
    // The server says goodbye and ends well.
    void finish();

private:
    void act();
    bool message(uint32_t flag);
    void take_echoes();

    void *completion()
    {
        return reinterpret_cast<void *>(m_wanted + 1);
    }

    Node &m_node;
    Memory &m_source; // holds this incarnation's number, everywhere
    uint32_t m_incarnation;
    int m_pipe = -1;
    std::unique_ptr<be::test::Process> m_process;
    std::mt19937_64 m_random;
    uint8_t m_address[BE_FABRIC_ADDR_LEN];
    uint64_t m_remote = 0;
    uint32_t m_rkey   = 0;
    be_peer_t *m_peer = nullptr;
    uint64_t m_sent   = 0;
    uint64_t m_echoed = 0;
    size_t m_wanted   = 0; // completions
    size_t m_read     = 0; // of them, of the last read
};

// The server: echoes messages until one asks it to end. What it needs is in the environment that Life has made.
void serve();

} // namespace test
