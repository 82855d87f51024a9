// SPDX-License-Identifier: BSD-3-Clause
//
// Verified traffic between two fabrics in different processes, through the C facade: everything that can be sent, put and
// got. What the n-th message or put of a direction is follows from (seed, from, to, n), so each end knows what the other does
// without a word. Wrong content, order or number throws std::runtime_error.
//
// Messages arrive in order and once. A put fills a slot at the target, which takes it, clears the slot and publishes how many it
// has taken; the source reads that and fills the slot again. A put that is written twice is found in a slot that should be
// empty, or hold another. A message behind a fence says how many puts were before it: they must be there.

#pragma once

#include "engine/c_api.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace be::test {

// Memory of one end for one other: what that one writes and reads, and what is sent from and read into.
struct Field {
    static constexpr std::size_t slot  = 16u << 10;
    static constexpr std::size_t slots = 16;
    static constexpr std::size_t taken =
            slot * slots; // two words: the number, and its complement
    static constexpr std::size_t readable     = taken + 4096;
    static constexpr std::size_t readable_end = readable + (64u << 10);
    static constexpr std::size_t buffer       = 32u << 10;
    static constexpr std::size_t buffers      = 8;
    static constexpr std::size_t size         = readable_end + buffer * buffers;
};

struct RemoteField {
    std::uint64_t address;
    std::uint32_t rkey;
};

// What has been sent from one end to another.
struct Sent {
    std::uint64_t messages = 0;
    std::uint64_t puts     = 0;

    bool operator==(const Sent &) const = default;
};

// Both directions between this end and one other. One thread.
class Traffic {
public:
    // The memory is the md's until the object ends.
    Traffic(be_md_t *md, std::uint64_t seed, unsigned self, unsigned other);
    ~Traffic();
    Traffic(const Traffic &)            = delete;
    Traffic &operator=(const Traffic &) = delete;

    RemoteField field() const noexcept;
    void
    connect(be_peer_t *peer, const RemoteField &remote, const be_fabric_attr_t &limits);

    be_peer_t *peer() const noexcept
    {
        return m_peer;
    }

    // One operation of any kind. False: there is no room for it now.
    bool act(std::mt19937_64 &random);
    // Takes the puts that are complete. False: none.
    bool take_puts();

    // ---- For the callbacks of the fabric

    // Of a message: which end has sent it.
    static unsigned sender(const void *data, std::size_t length);
    void receive(unsigned id, const void *data, std::size_t length);

    // Of an operation, by the name that the fabric was given for it: which end it goes to.
    static unsigned target(const void *name) noexcept
    {
        return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(name) % most_ends);
    }

    void unpack(const void *name, const void *data, std::size_t length);
    void complete(const void *name, be_status_t status);

    // ---- The state

    const Sent &sent() const noexcept
    {
        return m_sent;
    }

    Sent arrived() const noexcept
    {
        return {m_received, m_taken};
    }

    // Operations under way.
    std::size_t outstanding() const noexcept
    {
        return m_operations.size();
    }

    // Goes up with everything that comes: a stop of it is worth a look.
    std::uint64_t events() const noexcept
    {
        return m_received + m_taken + m_completed;
    }

    std::uint64_t completed() const noexcept
    {
        return m_completed;
    }

    // Nothing is under way either way: no put was written twice, no buffer is missing.
    void check_quiet() const;
    std::string describe() const;

private:
    enum class Kind : std::uint8_t {
        message,
        put,
        packed_get,
        get,
        taken_get,
        flush
    };

    struct Operation {
        std::uint64_t number;
        Kind kind;
        std::size_t buffer = Field::buffers; // none
        std::size_t offset = 0; // in what is readable
        std::size_t length = 0;
        bool unpacked      = false;
    };

    static constexpr std::uintptr_t most_ends = 16;

    void *name(const Operation &operation) const noexcept
    {
        return reinterpret_cast<void *>((operation.number + 1) * most_ends + m_other);
    }

    Operation *find(const void *name) noexcept;
    Operation &begin(Kind kind);
    void lend_buffer(Operation &operation, std::size_t buffer) noexcept;
    // Of what begin() has made, with what the fabric has returned for it.
    bool posted(Operation &operation, std::int64_t result, const char *what);
    bool sent_at_once(std::int64_t result, const char *what) const;
    void finish(Operation &operation);
    std::string direction(bool outgoing) const;
    [[noreturn]] void wrong(bool outgoing, const std::string &what) const;

    bool send();
    bool send_behind_fence(std::uint64_t header);
    bool put();
    bool get(std::mt19937_64 &random);
    bool get_taken();
    bool flush();
    std::optional<std::size_t> free_buffer() const;
    void learn_taken(const void *data);
    bool take_put(std::size_t slot);

    std::uint8_t *at(std::size_t offset) const noexcept
    {
        return static_cast<std::uint8_t *>(m_memory.address) + offset;
    }

    std::uint8_t *buffer_at(std::size_t buffer) const noexcept
    {
        return at(Field::readable_end + buffer * Field::buffer);
    }

    be_md_t *const m_md;
    const std::uint64_t m_seed;
    const unsigned m_self, m_other;
    be_mem_t m_memory{};
    be_peer_t *m_peer = nullptr;
    RemoteField m_remote{};
    be_fabric_attr_t m_limits{};

    Sent m_sent;
    std::uint64_t m_taken_seen = 0; // of our puts, as far as we know
    std::optional<std::uint64_t>
            m_fenced; // so many puts were before a fence whose message is to be sent
    std::map<std::uint64_t, Operation> m_operations; // by number
    std::uint64_t m_operation = 0; // the next one's number
    std::array<bool, Field::buffers> m_used{};
    bool m_asking = false; // what has been taken; one at a time

    std::uint64_t m_received  = 0; // messages
    std::uint64_t m_taken     = 0; // puts, all before this one
    std::uint64_t m_completed = 0; // operations
    std::array<std::uint64_t, Field::slots> m_next{}; // the put that the slot is to hold
};

} // namespace be::test
