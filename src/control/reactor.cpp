// SPDX-License-Identifier: BSD-3-Clause
//
// The control thread and the calls that other threads make into it.

#include "control/reactor.hpp"

#include "control/logger.hpp"

#include <pthread.h>
#include <signal.h>

#include <exception>
#include <future>
#include <stdexcept>

namespace be::control {

namespace {

// How long detach() waits for its Goodbyes to reach the kernel.
constexpr auto flush_time = std::chrono::milliseconds(200);

// A new thread inherits the mask: signals are the application's business. Those
// that a thread raises by its own fault stay open, for the sake of crash reports.
class SignalsBlocked {
public:
    SignalsBlocked()
    {
        sigset_t all;
        sigfillset(&all);
        for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
            sigdelset(&all, fault);
        }
        pthread_sigmask(SIG_SETMASK, &all, &m_previous);
    }

    ~SignalsBlocked()
    {
        pthread_sigmask(SIG_SETMASK, &m_previous, nullptr);
    }

    SignalsBlocked(const SignalsBlocked &)            = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
    sigset_t m_previous;
};

} // namespace

Reactor::Reactor() : m_work(m_context.get_executor())
{
}

void Reactor::start()
{
    SignalsBlocked blocked;
    m_thread = std::thread([self = shared_from_this()] { self->run(); });
}

void Reactor::run() noexcept
{
    pthread_setname_np(pthread_self(), "be_control");

    while (!m_context.stopped()) {
        m_turn.take();
        guarded([this] {
            while (!m_turn.is_lent() && (m_context.run_one() != 0)) {
            }
        });
        m_turn.let_go();
        m_turn.wait();
    }

    m_turn.take();
    shut_down();
    m_turn.let_go();
}

template<class Work>
void Reactor::guarded(Work &&work) noexcept
{
    try {
        work();
    } catch (const std::exception &error) {
        log(Level::error, std::string("control thread: ") + error.what());
    } catch (...) {
        log(Level::error, "control thread: unknown exception");
    }
}

void Reactor::poll() noexcept
{
    // Frames that are handled in a row: what they carry is to be looked at while it is in the processor's cache.
    constexpr unsigned most_in_a_row = 8;

    if (!m_turn.is_lent()) {
        if (m_turn.ask()) {
            guarded([this] { post([] {}); });
        }
        return;
    }
    auto self = shared_from_this(); // a callback may let go of the last user
    if (const Turn::Use turn(m_turn); turn) {
        guarded([this] {
            for (unsigned i = 0; (i < most_in_a_row) && (m_context.poll_one() != 0);
                 ++i) {
            }
        });
    }
}

void Reactor::rest() noexcept
{
    m_turn.give_back();
}

bool Reactor::on_control_thread() const noexcept
{
    return m_turn.is_mine();
}

// Runs `work` on the control thread and waits for it; throws what it throws.
void Reactor::run_there(const std::function<void()> &work)
{
    if (on_control_thread()) {
        work();
        return;
    }

    rest(); // who waits does not poll
    std::exception_ptr error;
    auto done = std::make_shared<std::promise<void>>();
    asio::post(m_context, [&work, &error, done] {
        try {
            work();
        } catch (...) {
            error = std::current_exception();
        }
        // Nothing of the caller's is touched from here on.
        done->set_value();
    });
    done->get_future().wait();
    if (error) {
        std::rethrow_exception(std::move(error));
    }
}

// Runs `work` on the control thread, later.
template<class Work>
void Reactor::post(Work work)
{
    asio::post(m_context, std::move(work));
}

void Reactor::stop()
{
    run_there([this] {
        while (!m_fabrics.empty()) {
            end_fabric(m_fabrics.begin()->first, nullptr);
        }
        m_work.reset();
        m_context.stop();
    });

    if (on_control_thread()) {
        m_thread.detach();
    } else {
        m_thread.join();
    }
}

Address Reactor::listen(const Address &ip, const ListenOptions &options)
{
    Address result;

    run_there([&] {
        auto &listener = m_listeners[ip.ip];
        if (!listener) {
            auto on_accept = [this, timeout = options.handshake_timeout](auto socket,
                                                                         const auto &peer,
                                                                         auto seat) {
                on_incoming(std::move(socket), peer, std::move(seat), timeout);
            };
            try {
                listener = std::make_shared<Listener>(m_context, m_counters, ip, options,
                                                      on_accept);
            } catch (...) {
                m_listeners.erase(ip.ip);
                throw;
            }
            listener->start();
        }
        result = listener->address();
    });
    return result;
}

void Reactor::attach(const Identity &identity, Sink *sink, const Settings &settings)
{
    run_there([&] {
        std::lock_guard lock(m_fabrics_mutex);
        auto [position, is_new] = m_fabrics.try_emplace(identity.fabric_id);
        if (!is_new) {
            throw std::invalid_argument("control channel: a fabric with the id " +
                                        std::to_string(identity.fabric_id) +
                                        " is attached already");
        }
        position->second = {{identity, settings}, sink};
    });
}

void Reactor::detach(std::uint64_t fabric_id)
{
    auto flushed = std::make_shared<std::promise<void>>();
    auto future  = flushed->get_future();

    // Fulfilled when the last connection that holds the token has let it go.
    std::shared_ptr<void> token(nullptr, [flushed](void *) { flushed->set_value(); });

    run_there([&] { end_fabric(fabric_id, token); });
    token.reset();
    if (!on_control_thread()) {
        future.wait_for(flush_time);
    }
}

std::optional<LocalFabric> Reactor::find_fabric(std::uint64_t fabric_id)
{
    std::lock_guard lock(m_fabrics_mutex);
    auto position = m_fabrics.find(fabric_id);

    if (position == m_fabrics.end()) {
        return std::nullopt;
    }
    return position->second.local;
}

ConnectionId Reactor::connect(std::uint64_t local_fabric, const Address &remote,
                              const Identity &remote_identity, const ConnectInfo &mine)
{
    auto local = attached(local_fabric, "connect");
    return start_dial(
            {.local = local, .address = remote, .remote = remote_identity, .mine = mine},
            local.settings.peer_timeout);
}

ProbeId Reactor::probe(std::uint64_t local_fabric, const Address &remote,
                       std::uint64_t remote_fabric)
{
    auto local = attached(local_fabric, "probe");
    return start_dial({.local   = local,
                       .address = remote,
                       .remote  = {.fabric_id = remote_fabric},
                       .probe   = true},
                      local.settings.probe_timeout);
}

LocalFabric Reactor::attached(std::uint64_t fabric_id, const char *what)
{
    auto local = find_fabric(fabric_id);
    if (!local) {
        throw std::invalid_argument(std::string("control channel: ") + what +
                                    " from fabric " + std::to_string(fabric_id) +
                                    ", which is not attached");
    }
    return *local;
}

ConnectionId
Reactor::start_dial(Dial::Request request, std::chrono::milliseconds patience)
{
    request.id = m_next_id.fetch_add(1, std::memory_order_relaxed);
    post([this, request, patience] {
        if (sink_of(request.local.identity.fabric_id) == nullptr) {
            return; // detached meanwhile: nobody is left to hear of it
        }
        auto dial = std::make_shared<Dial>(*this, m_counters, m_context, request,
                                           patience);
        m_dials.emplace(request.id, dial);
        dial->attempt();
    });
    return request.id;
}

void Reactor::decide(ConnectionId id, const char *what,
                     std::function<bool(Session &)> decision)
{
    auto flow = find_flow(id);
    if (flow) {
        flow->post();
    }
    post_decision(id, what, [flow, decision = std::move(decision)](Session &session) {
        if (flow) {
            flow->arrived();
        }
        return decision(session);
    });
}

void Reactor::post_decision(ConnectionId id, const char *what,
                            std::function<bool(Session &)> decision)
{
    post([this, id, what, decision = std::move(decision)] {
        auto position = m_connections.find(id);
        if (position == m_connections.end()) {
            return;
        }

        auto connection = position->second;
        connection->act([&](Session &session) {
            if (!decision(session) && !session.finished()) {
                log_limited(Level::warning,
                            std::string(what) + "() ignored: connection with " +
                                    connection->peer() + " is " + session.situation());
            }
        });
    });
}

void Reactor::accept(ConnectionId id, const ConnectInfo &mine)
{
    decide(id, "accept", [mine](Session &session) { return session.accept(mine); });
}

void Reactor::ready(ConnectionId id)
{
    decide(id, "ready", [](Session &session) { return session.ready(); });
}

void Reactor::recover(ConnectionId id, const RecoverInfo &mine)
{
    decide(id, "recover", [mine](Session &session) { return session.recover(mine); });
}

void Reactor::recovered(ConnectionId id, std::uint32_t epoch)
{
    decide(id, "recovered",
           [epoch](Session &session) { return session.recovered(epoch); });
}

void Reactor::refuse(ConnectionId id, Reason reason, const std::string &text)
{
    decide(id, "refuse",
           [reason, text](Session &session) { return session.refuse(reason, text); });
    post([this, id, text] { end_dial(id, Reason::local, "refused here: " + text); });
}

void Reactor::close(ConnectionId id, bool goodbye)
{
    static const std::string detail = "closed here";

    decide(id, "close",
           [goodbye](Session &session) { return session.close(goodbye, detail); });
    post([this, id] { end_dial(id, Reason::local, detail); });
}

void Reactor::watch(int fd, std::function<void()> readable)
{
    run_there([&] {
        auto &watch = m_watches[fd];
        if (watch) {
            throw std::invalid_argument("control channel: descriptor " +
                                        std::to_string(fd) + " is watched already");
        }
        try {
            watch = std::make_shared<Watch>(m_context, fd, std::move(readable));
        } catch (...) {
            m_watches.erase(fd);
            throw;
        }
        watch->start();
    });
}

void Reactor::unwatch(int fd)
{
    run_there([&] {
        if (const auto found = m_watches.find(fd); found != m_watches.end()) {
            found->second->cancel();
            m_watches.erase(found);
        }
    });
}

} // namespace be::control
