// SPDX-License-Identifier: BSD-3-Clause
//
// The server's side of an exchange: the listening socket, and its guests.
//
// At most max_half_open guests are between connecting and joining; more wait in the
// kernel's queue. Who has not joined in time is cut off.
#pragma once

#include "adapter/exchange/link.hpp"

namespace be::adapter {
class ServerConnection;
}

namespace be::adapter::exchange {

class Acceptor;
class Guest;

struct Joining {
    std::uint64_t connection;
    std::uint32_t turn;
    std::vector<std::byte> address; // of the client's worker
    bool again; // has been welcomed already, and asks for another turn
};

struct Service {
    Secret secret;
    std::chrono::milliseconds handshake_timeout;
    std::size_t max_half_open;

    // Loop's thread: a client that knows the secret. Sooner or later calls welcome() or
    // close() of the guest.
    std::function<void(const std::shared_ptr<Guest> &, Joining)> join;
};

class Guest : public Link {
public:
    Guest(std::shared_ptr<Loop> loop, std::shared_ptr<Acceptor> acceptor);

    // Any thread. `message` is a welcome without address, which is `address`.
    void welcome(const Message &message, std::vector<std::byte> address);

    // The service's own, on the loop's thread: whom this guest has become.
    std::weak_ptr<ServerConnection> connection;

    // Loop's thread, from Service::join: who hears that the client is gone.
    void set_down(Down down)
    {
        m_gone = std::move(down);
    }

private:
    friend class Acceptor;

    // A client may lose its turn to others that connect between the same workers.
    static constexpr unsigned max_joins = 64;

    enum class Stage {
        connected,
        challenged,
        joined,
        welcomed
    };

    struct Deadline : Timer {
        Deadline(Guest &owner, Fire fire) : Timer(fire), guest(owner)
        {
        }
        Guest &guest;
    };

    void start(Socket socket);
    const char *
    on_message(const Message &message, std::span<const std::byte> rest) override;
    void on_end() override;
    void no_longer_half_open();

    std::shared_ptr<Acceptor> m_acceptor; // until it has joined
    const std::shared_ptr<const Service> m_service;
    Down m_gone;
    Stage m_stage    = Stage::connected;
    unsigned m_joins = 0;
    Deadline m_deadline;
};

class Acceptor : public Loop::Watcher, public std::enable_shared_from_this<Acceptor> {
public:
    // Throws Error naming the address. It listens, and accepts once start() was called.
    Acceptor(std::shared_ptr<Loop> loop, const Address &address, Service service);

    // Any thread but the loop's. start() throws Error when the loop has stopped; nobody is
    // accepted after stop() has returned, and the port is free.
    void start();
    void stop();

    const std::string &address() const noexcept
    {
        return m_address;
    }

    void on_events(std::uint32_t events) override;

private:
    friend class Guest;

    struct Pause : Timer {
        Pause(Acceptor &owner, Fire fire) : Timer(fire), acceptor(owner)
        {
        }
        Acceptor &acceptor;
    };

    void set_listening(bool listening);
    void one_less();

    const std::shared_ptr<Loop> m_loop;
    const std::shared_ptr<const Service> m_service;
    Socket m_socket;
    const std::string m_address; // with the port that was chosen
    std::uint64_t m_key     = 0;
    std::size_t m_half_open = 0;
    Pause m_pause;
};

} // namespace be::adapter::exchange
