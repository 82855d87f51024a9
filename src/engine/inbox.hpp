// SPDX-License-Identifier: BSD-3-Clause
//
// What the control thread tells a fabric, handed over to the worker's thread.
//
// The control thread pushes (Sink); the worker takes everything at once from progress(). pending() costs one
// relaxed load, so that an idle side channel costs the data path nothing. The eventfd wakes a worker that
// sleeps. Data is copied. What waits is bounded, however small the messages are: when it is much, the connection that
// brings more is not read until the worker has taken it.

#pragma once

#include "control/block_cache.hpp"
#include "control/node.hpp"
#include "control/sink.hpp"
#include "engine/tcp_frame.hpp"
#include "verbs/context.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace be::engine {

// A frame that has come over the side channel.
struct TcpArrival {
    TcpFrame frame;
    std::string_view error; // what is wrong with it; empty: nothing
    control::Block memory;
    std::span<std::byte>
            payload; // in there; of a message, what follows its data header is aligned to a cache line
};

struct ControlEvent {
    enum class Kind {
        connect,
        accept,
        ready,
        closed,
        recover,
        recovered,
        probed,
        device,
        data,
        writable // the connection takes data again
    };

    Kind kind;
    control::ConnectionId connection = 0; // probed: the question
    control::ConnectInfo info{}; // connect, accept
    control::Reason reason = control::Reason::local; // closed
    std::string detail{}; // closed
    std::optional<control::RecoverInfo> recover{};
    std::uint32_t epoch         = 0; // recovered, data
    control::ProbeResult result = control::ProbeResult::unknown;
    std::optional<verbs::AsyncEvent> device{};
    TcpArrival data{};
};

class Inbox final : public control::Sink {
public:
    Inbox(); // throws std::system_error
    ~Inbox();
    Inbox(const Inbox &)            = delete;
    Inbox &operator=(const Inbox &) = delete;

    bool pending() const noexcept
    {
        return m_pending.load(std::memory_order_relaxed);
    }

    // Whose connections these are: once, before there are any.
    void serve(control::Node &node) noexcept
    {
        m_node = &node;
    }

    // Exchanges the waiting events with `out`, which must be empty; its storage is used again. Reads on where it had
    // stopped for those.
    void take(std::vector<ControlEvent> &out);

    // Readable while events wait.
    int event_fd() const noexcept
    {
        return m_fd;
    }

    void on_connect(control::ConnectionId id, const control::ConnectInfo &peer) override;
    void on_accept(control::ConnectionId id, const control::ConnectInfo &peer) override;
    void on_ready(control::ConnectionId id) override;
    void on_closed(control::ConnectionId id, control::Reason reason,
                   const std::string &detail) override;
    void on_recover(control::ConnectionId id, const control::RecoverInfo &peer) override;
    void on_recovered(control::ConnectionId id, std::uint32_t epoch) override;
    void on_probed(control::ProbeId id, control::ProbeResult result) override;
    void on_data(control::ConnectionId id, const control::DataView &data,
                 control::Block &memory) override;
    void on_writable(control::ConnectionId id) override;

    // Any thread.
    void on_device(const verbs::AsyncEvent &event);

private:
    void push(ControlEvent event);

    control::Node *m_node = nullptr;
    std::mutex m_mutex;
    std::vector<ControlEvent> m_events;
    std::size_t m_bytes = 0; // of those that a peer may send any number of
    std::vector<control::ConnectionId> m_paused;
    std::atomic<bool> m_pending{false};
    int m_fd;
};

} // namespace be::engine
