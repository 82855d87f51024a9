// SPDX-License-Identifier: BSD-3-Clause
//
// A fabric for tests: attaches itself to a node, records what happens to its
// connections, and answers as it is told to. All waiting has a deadline.

#pragma once

#include "control/node.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace be::control::test {

// Longer than anything takes on a busy machine; only a failing test waits so long.
constexpr auto patience = std::chrono::seconds(20);

struct Happening {
    enum class Kind {
        connect,
        accept,
        ready,
        recover,
        recovered,
        probed,
        data,
        writable,
        closed,
    };

    Kind kind;
    ConnectionId id;
    ConnectInfo peer{};
    Reason reason = Reason::local;
    std::string detail{};
    RecoverInfo recover{};
    ProbeResult probe      = ProbeResult::unknown;
    std::uint8_t data_kind = 0; // of data, as epoch in recover.epoch
    std::vector<std::uint8_t> header{}; // copies
    std::vector<std::uint8_t> payload{};
};

class Recorder final : public Sink {
public:
    // Attaches a new fabric whose control port is `port`.
    Recorder(std::shared_ptr<Node> node, const Address &port,
             const Settings &settings = {});

    // Detaches, unless done already.
    ~Recorder();

    Recorder(const Recorder &)            = delete;
    Recorder &operator=(const Recorder &) = delete;

    void detach();

    // Connects to the fabric `other` behind `address`.
    ConnectionId connect(const Address &address, const Identity &other);

    // Takes the oldest happening not taken yet; throws when none comes in time.
    Happening next();

    // The same, and throws unless it is of this kind.
    Happening next(Happening::Kind kind);

    // True when nothing is left to take.
    bool is_quiet();

    const Identity &identity() const
    {
        return m_identity;
    }

    ConnectInfo info() const;

    // Called on the control thread, before the happening is recorded; set before
    // connections exist. The default accepts and confirms everything.
    std::function<void(const Happening &)> respond;

    // Keeps the memory of data, as long as it lives itself.
    bool keeps_memory = false;

private:
    void on_connect(ConnectionId id, const ConnectInfo &peer) override;
    void on_accept(ConnectionId id, const ConnectInfo &peer) override;
    void on_ready(ConnectionId id) override;
    void on_recover(ConnectionId id, const RecoverInfo &peer) override;
    void on_recovered(ConnectionId id, std::uint32_t epoch) override;
    void on_probed(ProbeId id, ProbeResult result) override;
    void on_data(ConnectionId id, const DataView &data, Block &memory) override;
    void on_writable(ConnectionId id) override;
    void on_closed(ConnectionId id, Reason reason, const std::string &detail) override;
    void record(Happening happening);

    std::shared_ptr<Node> m_node;
    Address m_port;
    Identity m_identity;
    bool m_attached = true;

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Happening> m_happenings;
    std::vector<Block> m_kept;
};

} // namespace be::control::test
