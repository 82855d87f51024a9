// SPDX-License-Identifier: BSD-3-Clause
//
// Two fabrics in one process that send each other everything there is, and check it: what the tests of recovery break
// queue pairs under.

#pragma once

#include "world.hpp"

#include "engine/peer.hpp"

#include <cstring>
#include <deque>
#include <random>
#include <unistd.h>

namespace test {

inline uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

// Orders that fault of this process's software device. False: it was not taken.
inline bool device_fault(const std::string &what)
{
    const char *modules = std::getenv("BE_MODULEDIR");
    BOOST_REQUIRE(modules != nullptr);
    const std::string command = std::string(modules) +
                                "/../src/softrdma/softrdma fault " + what +
                                " pid=" + std::to_string(::getpid()) + " >/dev/null";
    return std::system(command.c_str()) == 0;
}

// Words of one side that the other writes and reads, and the source of what it sends.
class Memory {
public:
    explicit Memory(Device &owner) : device(owner)
    {
        BOOST_REQUIRE_EQUAL(be_mem_alloc(device.md, size, &mem), BE_OK);
        std::memset(mem.address, 0, size);
    }

    ~Memory()
    {
        be_mem_free(device.md, &mem);
    }

    Memory(const Memory &)            = delete;
    Memory &operator=(const Memory &) = delete;

    uint8_t *at(size_t offset) const
    {
        return static_cast<uint8_t *>(mem.address) + offset;
    }

    static constexpr size_t size = 5u << 20;
    Device &device;
    be_mem_t mem{};
};

inline constexpr size_t put_area =
        1u << 20; // of Memory; behind it lies what is read, and what is sent
inline constexpr size_t read_area = 2u << 20;
inline constexpr size_t send_area = 3u << 20; // and behind it where reads arrive
inline constexpr size_t put_slot  = 4096;

// One side: a fabric, what it has sent and what it expects.
class End {
public:
    End(Device &device, const be_fabric_config_t &config, uint64_t seed) :
        node(device, config), memory(device), random(seed)
    {
        for (size_t i = 0; i < put_area; ++i) {
            *memory.at(read_area + i) = static_cast<uint8_t>(i * 37 + i / 251);
        }
    }

    void connect(End &to)
    {
        other = &to;
        peer  = node.connect(to.node);
    }

    be::engine::Peer &engine_peer()
    {
        return static_cast<be::engine::Link *>(peer)->peer;
    }

    size_t below(size_t bound)
    {
        return random() % bound;
    }

    // One operation, if there is room for it.
    void act()
    {
        switch (below(10)) {
        case 0:
        case 1:
            short_message();
            break;
        case 2:
            packed_message();
            break;
        case 3:
            message_from_memory();
            break;
        case 4:
            put(0);
            break;
        case 5:
            put(1);
            break;
        case 6:
            put(2);
            break;
        case 7:
            get(below(2) == 0);
            break;
        case 8:
            flush();
            break;
        case 9:
            if (!m_fenced) {
                m_fenced = true;
                m_fence  = m_puts;
                be_peer_fence(peer);
            }
            short_message();
            break;
        }
    }

    // What has been written here is taken, as a program does that waits for a value in its memory: if it were written
    // again, it would be there in the end.
    void take_puts()
    {
        for (auto put = other->puts.begin(); put != other->puts.end();) {
            uint8_t *data = memory.at(put->offset);
            if (data[0] != 0 && data[put->length - 1] != 0) {
                BOOST_REQUIRE(std::all_of(data, data + put->length, [&](uint8_t byte) {
                    return byte == put->value;
                }));
                std::memset(data, 0, put->length);
                taken.push_back(put->offset);
                put = other->puts.erase(put);
            } else {
                ++put;
            }
        }
    }

    void check_messages()
    {
        for (; checked < node.received.size(); ++checked) {
            BOOST_REQUIRE(!other->messages.empty());
            const Message &message = other->messages.front();
            BOOST_REQUIRE(node.received[checked].data == message.data);
            BOOST_REQUIRE(other->puts.empty() ||
                          other->puts.front().number >= message.after);
            other->messages.pop_front();
        }
    }

    bool quiet() const
    {
        return messages.empty() && puts.empty() && node.completed.size() == wanted;
    }

    // For a message.
    std::string state()
    {
        const auto &peer = engine_peer();
        return std::to_string(messages.size()) + " messages and " +
               std::to_string(puts.size()) + " puts have not arrived, " +
               std::to_string(node.completed.size()) + " of " + std::to_string(wanted) +
               " are complete, recovery " + be::core::to_string(peer.recovery.state()) +
               " in epoch " + std::to_string(peer.recovery.epoch()) + " (" + peer.cause +
               ")" + (peer.why.empty() ? "" : ", lost: " + peer.why);
    }

    struct Put {
        size_t offset, length;
        uint8_t value;
        uint64_t number;
    };

    struct Message {
        std::vector<uint8_t> data;
        uint64_t after; // so many puts, by a fence
    };

    Node node;
    Memory memory;
    std::mt19937_64 random;
    End *other      = nullptr;
    be_peer_t *peer = nullptr;
    std::deque<Message> messages; // sent, and not seen to arrive
    std::deque<Put> puts; // likewise
    std::deque<size_t> taken;
    size_t wanted  = 0; // completions
    size_t checked = 0;
    uint64_t sent  = 0;
    size_t slot    = 0;

private:
    void *completion()
    {
        return reinterpret_cast<void *>(wanted + 1);
    }

    std::vector<uint8_t> next_message(size_t length)
    {
        std::vector<uint8_t> data = pattern(std::max<size_t>(length, 8),
                                            static_cast<unsigned>(sent));
        std::memcpy(data.data(), &sent, sizeof(sent));
        return data;
    }

    void sent_message(std::vector<uint8_t> data)
    {
        ++sent;
        messages.push_back({std::move(data), m_fenced ? m_fence : 0});
        m_fenced = false;
    }

    void short_message()
    {
        std::vector<uint8_t> data = next_message(below(100));
        uint64_t header;
        std::memcpy(&header, data.data(), sizeof(header));
        if (be_am_short(peer, 1, header, data.data() + 8,
                        static_cast<unsigned>(data.size() - 8)) == BE_OK) {
            sent_message(std::move(data));
        }
    }

    void packed_message()
    {
        std::vector<uint8_t> data = next_message(below(2) == 0 ? below(600) :
                                                                 below(8000));
        if (be_am_bcopy(peer, 2, pack_vector, &data) >= 0) {
            sent_message(std::move(data));
        }
    }

    // Sent from a place that is not used again.
    void message_from_memory()
    {
        const size_t length = 8 + below(4000);
        if (m_send_offset + length > put_area) {
            return;
        }
        std::vector<uint8_t> data = next_message(length + 16);
        uint8_t *place            = memory.at(send_area + m_send_offset);
        std::copy(data.begin() + 16, data.end(), place);
        const be_sge_t parts[2] = {{place, length / 2, memory.mem.lkey},
                                   {place + length / 2, length - length / 2,
                                    memory.mem.lkey}};
        if (be_am_zcopy(peer, 3, data.data(), 16, parts, 2, completion()) ==
            BE_INPROGRESS) {
            m_send_offset += length;
            ++wanted;
            sent_message(std::move(data));
        }
    }

    // Into a slot that nothing is known to be in.
    void put(int how)
    {
        if (slot == put_area / put_slot) {
            return;
        }
        const size_t length = 1 + below(how == 0 ? 100 : put_slot - 1);
        const size_t offset = slot * put_slot;
        const auto value    = static_cast<uint8_t>(1 + below(255));
        std::vector<uint8_t> data(length, value);
        const auto remote = reinterpret_cast<uint64_t>(other->memory.at(offset));
        bool posted       = false;
        if (how == 0) {
            posted = be_put_short(peer, data.data(), static_cast<unsigned>(length),
                                  remote, other->memory.mem.rkey) == BE_OK;
        } else if (how == 1) {
            posted = be_put_bcopy(peer, pack_vector, &data, remote,
                                  other->memory.mem.rkey) >= 0;
        } else {
            uint8_t *place = memory.at(put_area +
                                       offset); // as large, and not used otherwise
            std::copy(data.begin(), data.end(), place);
            const be_sge_t part{place, length, memory.mem.lkey};
            posted = be_put_zcopy(peer, &part, 1, remote, other->memory.mem.rkey,
                                  completion()) == BE_INPROGRESS;
            wanted += posted;
        }
        if (posted) {
            ++slot;
            puts.push_back({offset, length, value, m_puts++});
        }
    }

    // One at a time; what is read does not change.
    void get(bool packed)
    {
        if (m_get != nullptr && node.completed.count(m_get) == 0) {
            return;
        }
        check_get();
        const size_t length = 1 + below(packed ? 4000 : put_area / 8);
        const size_t offset = read_area + below(put_area - length);
        const auto remote   = reinterpret_cast<uint64_t>(other->memory.at(offset));
        m_got.assign(length, 0);
        const be_sge_t part{memory.at(send_area + put_area), length, memory.mem.lkey};
        const be_status_t status = packed ? be_get_bcopy(peer, nullptr, nullptr, length,
                                                         remote, other->memory.mem.rkey,
                                                         completion()) :
                                            be_get_zcopy(peer, &part, 1, remote,
                                                         other->memory.mem.rkey,
                                                         completion());
        if (status == BE_INPROGRESS) {
            m_get        = completion();
            m_get_packed = packed;
            m_get_offset = offset;
            ++wanted;
        }
    }

public:
    void check_get()
    {
        if (m_get != nullptr) {
            const uint8_t *expected = other->memory.at(m_get_offset);
            const uint8_t *got      = m_get_packed ? node.unpacked.data() :
                                                     memory.at(send_area + put_area);
            BOOST_REQUIRE(std::equal(got, got + m_got.size(), expected));
            m_get = nullptr;
        }
    }

    // Nothing is under way: all that can be used again is.
    void settled()
    {
        check_get();
        for (const auto &[completion, status] : node.completed) {
            BOOST_REQUIRE_EQUAL(status, BE_OK);
        }
        node.completed.clear();
        node.received.clear();
        wanted = checked = slot = m_send_offset = 0;
        BOOST_REQUIRE(std::all_of(memory.at(0), memory.at(put_area),
                                  [](uint8_t byte) { return byte == 0; }));
        BOOST_REQUIRE(node.failed.empty());
    }

private:
    void flush()
    {
        if (be_peer_flush(peer, completion()) == BE_INPROGRESS) {
            ++wanted;
        }
    }

    size_t m_send_offset = 0;
    uint64_t m_puts      = 0;
    uint64_t m_fence     = 0; // puts before it
    bool m_fenced        = false; // the next message is behind it
    void *m_get          = nullptr; // its completion
    bool m_get_packed    = false;
    size_t m_get_offset  = 0;
    std::vector<uint8_t> m_got; // only its size counts
};

struct Pair {
    Pair(Device &device, const be_fabric_config_t &config, uint64_t seed) :
        Pair(device, config, device, config, seed)
    {
    }

    Pair(Device &device, const be_fabric_config_t &config, Device &other,
         const be_fabric_config_t &other_config, uint64_t seed) :
        random(seed), a(device, config, seed + 1), b(other, other_config, seed + 2)
    {
        a.connect(b);
        b.connect(a);
        BOOST_REQUIRE(until([&] { return ready(); }));
    }

    bool ready()
    {
        return a.engine_peer().state == be::engine::Peer::State::ready &&
               b.engine_peer().state == be::engine::Peer::State::ready;
    }

    bool until(const std::function<bool()> &done)
    {
        return wait({&a.node, &b.node}, [&] {
            a.take_puts();
            b.take_puts();
            a.check_messages();
            b.check_messages();
            BOOST_REQUIRE_MESSAGE(a.node.failed.empty() && b.node.failed.empty(),
                                  "a peer was lost; " << a.state() << "; " << b.state());
            return done();
        });
    }

    // A queue pair of either side goes to the error state, without a word to anybody.
    void fault()
    {
        End &end    = random() % 2 == 0 ? a : b;
        auto &peer  = end.engine_peer();
        auto &queue = random() % 2 == 0 ? peer.messages : peer.bulk;
        if (peer.state == be::engine::Peer::State::ready && queue.exists()) {
            (void)queue.qp().to_error();
            ++faults;
        }
    }

    // Operations and faults until so many of those have been.
    void run(unsigned most)
    {
        while (faults < most) {
            const unsigned acts = 20 + static_cast<unsigned>(random() % 400);
            for (unsigned i = 0; i < acts; ++i) {
                (random() % 2 == 0 ? a : b).act();
                if (random() % 4 == 0) {
                    (void)be_fabric_progress((random() % 2 == 0 ? a : b).node.fabric);
                }
                if (random() % 64 == 0) {
                    fault();
                }
            }
            BOOST_REQUIRE_MESSAGE(until([&] { return a.quiet() && b.quiet(); }),
                                  "after " << faults << " faults something does not "
                                           << "complete; " << a.state() << "; "
                                           << b.state());
            flush();
            a.settled();
            b.settled();
        }
        BOOST_TEST_MESSAGE(faults << " faults, " << a.node.metric("recoveries")
                                  << " recoveries, " << a.sent + b.sent << " messages, "
                                  << a.node.metric("replayed") + b.node.metric("replayed")
                                  << " work requests replayed");
    }

    void flush()
    {
        for (End *end : {&a, &b}) {
            be_status_t status = BE_INPROGRESS;
            BOOST_REQUIRE(until([&] {
                status = be_peer_flush(end->peer, nullptr);
                return status != BE_INPROGRESS;
            }));
            BOOST_REQUIRE_EQUAL(status, BE_OK);
        }
    }

    std::mt19937_64 random;
    End a, b;
    unsigned faults = 0;
};

inline be_fabric_config_t quick(const Device &device)
{
    be_fabric_config_t config = device.config();
    config.timeout     = 7; // 0.5 ms: what is sent to a queue pair in error meets silence
    config.retry_count = 1;
    return config;
}

// So small that they are full all the time.
inline void small_queues(be_fabric_config_t &config)
{
    config.rx_capacity = 8;
    config.rx_max      = 32;
    config.tx_queue    = 16;
    config.chunk       = 4096;
    config.window      = 16384;
}

inline void with_byte_credit(be_fabric_config_t &config)
{
    config.byte_budget = 64 << 10;
    config.link_rate   = 1e9;
}

} // namespace test
