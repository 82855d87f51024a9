// SPDX-License-Identifier: BSD-3-Clause
//
// A process that keeps every payload it is offered, makes no progress for a while and then goes on; three processes
// that send to it all the time; one that all exchange messages with. With UCX_BE_MUX=process the slow interface has a
// neighbour in its process, which shares its fabric and goes on.
//
// BE_TEST_STOP_SECONDS: how long it stops at least, default 1. It also waits until the others have got on.

#define BOOST_TEST_MODULE slow
#include "harness.hpp"
#include "lib/process.hpp"
#include "metrics.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <malloc.h>
#include <memory>
#include <new>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>

using namespace uct_test;

namespace {

constexpr unsigned senders   = 3;
constexpr unsigned slow      = senders; // process numbers
constexpr unsigned other     = senders + 1;
constexpr unsigned processes = senders + 2;
constexpr uint32_t messages  = 12000; // of each sender; far more than may be kept
constexpr uint64_t exchanges =
        500; // that everybody has to get done while the slow one has stopped
constexpr uint64_t rx_max    = 512;
constexpr uint64_t segment   = 2048; // bytes
constexpr uint8_t message_id = 5;
constexpr uint8_t ping_id    = 6;
constexpr uint8_t pong_id    = 7;
constexpr auto max_seconds   = 60.0; // of a whole case

struct Place {
    std::atomic<uint32_t> length{0};
    std::array<uint8_t, 1024> bytes{};

    void publish(const Address &address)
    {
        const std::vector<uint8_t> encoded = address.encode();
        if (encoded.size() > bytes.size()) {
            throw std::runtime_error("an address of " + std::to_string(encoded.size()) +
                                     " bytes, expected at most 1024");
        }
        std::copy(encoded.begin(), encoded.end(), bytes.begin());
        length = static_cast<uint32_t>(encoded.size());
    }

    Address get() const
    {
        while (length == 0) {
            ::sched_yield();
        }
        return Address::decode({bytes.begin(), bytes.begin() + length});
    }
};

// Shared by all processes; [processes] is the slow one's neighbour.
struct Board {
    std::array<Place, processes + 1> places;
    std::array<std::atomic<uint64_t>, processes + 1> exchanged{};
    std::atomic<bool> over{false};
    std::atomic<unsigned> ended{0};
};

struct Message {
    uint32_t sender;
    uint32_t number;
};

uint64_t seed_of(const Message &message)
{
    return (uint64_t{message.sender} << 32) | message.number;
}

size_t length_of(const Message &message)
{
    return sizeof(Message) + (message.number * 31) % 1000;
}

std::vector<uint8_t> make(const Message &message)
{
    std::vector<uint8_t> bytes = pattern(length_of(message), seed_of(message));
    std::memcpy(bytes.data(), &message, sizeof(message));
    return bytes;
}

Options options(const std::string &scope)
{
    Options options;
    options.config = {{"MUX", scope},
                      {"RX_QUEUE_LEN", "128"},
                      {"RX_MAX", std::to_string(rx_max)},
                      {"SEG_SIZE", std::to_string(segment)}};
    return options;
}

// Pings the other process again and again.
class Exchange {
public:
    Exchange(Interface &iface, Board &board, unsigned number) :
        m_board(board), m_number(number), m_ep(iface, board.places[other].get())
    {
        iface.on_am(pong_id, [this](void *, size_t, unsigned) {
            m_waits = false;
            ++m_board.exchanged[m_number];
            return UCS_OK;
        });
    }

    void go_on()
    {
        if (!m_waits &&
            uct_ep_am_short(m_ep.handle(), ping_id, m_number, nullptr, 0) == UCS_OK) {
            m_waits = true;
        }
    }

private:
    Board &m_board;
    const unsigned m_number;
    Endpoint m_ep;
    bool m_waits = false;
};

// Nobody leaves while others may still want something of him.
void end_with_the_others(Board &board, const std::function<void()> &progress)
{
    ++board.ended;
    while (board.ended != processes) {
        progress();
    }
}

int send_all(Board &board, unsigned number, const std::string &scope)
{
    Interface iface(options(scope));
    board.places[number].publish(iface.address());
    Exchange exchange(iface, board, number);
    Endpoint ep(iface, board.places[slow].get());
    Message next{number, 0};
    while (!board.over) {
        if (next.number < messages) {
            const std::vector<uint8_t> bytes = make(next);
            Packed packed{bytes.data(), bytes.size()};
            next.number += uct_ep_am_bcopy(ep.handle(), message_id, pack, &packed, 0) >=
                           0;
        }
        exchange.go_on();
        iface.progress();
    }
    end_with_the_others(board, [&] { iface.progress(); });
    return 0;
}

int answer_all(Board &board, const std::string &scope)
{
    Interface iface(options(scope));
    board.places[other].publish(iface.address());
    std::array<std::unique_ptr<Endpoint>, processes + 1> back;
    std::deque<uint64_t> pings;
    iface.on_am(ping_id, [&](void *data, size_t, unsigned) {
        uint64_t who;
        std::memcpy(&who, data, sizeof(who));
        pings.push_back(who);
        return UCS_OK;
    });
    const auto progress = [&] {
        iface.progress();
        if (pings.empty()) {
            return;
        }
        std::unique_ptr<Endpoint> &ep = back[pings.front()];
        if (ep == nullptr) {
            ep = std::make_unique<Endpoint>(iface, board.places[pings.front()].get());
        }
        if (uct_ep_am_short(ep->handle(), pong_id, 0, nullptr, 0) == UCS_OK) {
            pings.pop_front();
        }
    };
    while (!board.over) {
        progress();
    }
    end_with_the_others(board, progress);
    return 0;
}

// What is wrong is thrown: Boost's checks are the parent's.
class Slow {
public:
    Slow(Board &board, const std::string &scope) : m_board(board), m_iface(options(scope))
    {
        if (scope == "process") {
            m_neighbour = std::make_unique<Interface>(options(scope));
            board.places[processes].publish(m_neighbour->address());
            m_exchange = std::make_unique<Exchange>(*m_neighbour, board, processes);
        }
        m_iface.on_am(message_id, [this](void *data, size_t length, unsigned flags) {
            return take(data, length, flags);
        });
        board.places[slow].publish(m_iface.address());
    }

    int run()
    {
        until("more messages than may be kept", [&] { return m_copied > 100; });
        const size_t before = allocated();
        stop();
        check_memory(before);
        check_kept();
        until("all messages", [&] { return m_taken == senders * messages; });
        check_memory(before);
        check_kept();
        for (const Kept &kept : m_kept) {
            uct_iface_release_desc(kept.data);
        }
        m_board.over = true;
        end_with_the_others(m_board, [&] { progress(); });
        std::printf("kept %zu, copied %zu of %zu messages\n", m_kept.size(), m_copied,
                    m_taken);
        return m_kept.size() <= rx_max && m_taken == senders * messages ? 0 : 1;
    }

private:
    struct Kept {
        void *data;
        Message message;
    };

    static size_t allocated()
    {
        return mallinfo2().uordblks + mallinfo2().hblkhd;
    }

    static void require(bool good, const std::string &what)
    {
        if (!good) {
            throw std::runtime_error(what);
        }
    }

    ucs_status_t take(void *data, size_t length, unsigned flags)
    {
        Message message;
        std::memcpy(&message, data, sizeof(message));
        const bool expected = message.sender < senders &&
                              message.number == m_next[message.sender] &&
                              length == length_of(message) && is_right(data, message);
        if (!expected) {
            std::fprintf(stderr, "message %u of sender %u, %zu bytes, is not the next\n",
                         message.number, message.sender, length);
            std::_Exit(1); // UCX is C
        }
        ++m_next[message.sender];
        ++m_taken;
        if (flags & UCT_CB_PARAM_FLAG_DESC) {
            m_kept.push_back({data, message});
            return UCS_INPROGRESS;
        }
        ++m_copied;
        return UCS_OK;
    }

    static bool is_right(const void *data, const Message &message)
    {
        const std::vector<uint8_t> expected = make(message);
        return std::memcmp(data, expected.data(), expected.size()) == 0;
    }

    void check_kept() const
    {
        for (const Kept &kept : m_kept) {
            require(is_right(kept.data, kept.message),
                    "a payload has changed while it was kept");
        }
    }

    // Receive buffers as configured, and what waits in a mailbox: up to 17 receive queues, then the sender is cut off.
    void check_memory(size_t before) const
    {
        for (const uint64_t buffers : metric("receive_buffers")) {
            require(buffers <= rx_max, std::to_string(buffers) +
                                               " receive buffers, expected at most " +
                                               std::to_string(rx_max));
        }
        constexpr uint64_t step       = 16 << 20; // what arenas grow by, together
        constexpr uint64_t registered = rx_max * (segment + 256) + step;
        for (const uint64_t bytes : metric("memory_registered")) {
            require(bytes <= registered, std::to_string(bytes) +
                                                 " bytes registered, expected at most " +
                                                 std::to_string(registered));
        }
        const size_t limit = before + 17 * 128 * segment + (1 << 20);
        require(allocated() <= limit, std::to_string(allocated()) +
                                              " bytes allocated, expected at most " +
                                              std::to_string(limit));
    }

    void progress_neighbour()
    {
        if (m_neighbour != nullptr) {
            m_exchange->go_on();
            m_neighbour->progress();
        } else {
            ::sched_yield();
        }
    }

    void progress()
    {
        progress_neighbour();
        m_iface.progress();
    }

    void until(const std::string &what, const std::function<bool()> &done)
    {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        while (!done()) {
            progress();
            require(std::chrono::steady_clock::now() < deadline, "no end of " + what);
        }
    }

    // No progress of the slow interface for so long, and until everybody else has got on.
    void stop()
    {
        const char *wanted = std::getenv("BE_TEST_STOP_SECONDS");
        const auto start   = std::chrono::steady_clock::now();
        const std::chrono::duration<double> least(wanted != nullptr ? std::atof(wanted) :
                                                                      1);
        std::array<uint64_t, processes + 1> from{};
        for (unsigned i = 0; i < from.size(); ++i) {
            from[i] = m_board.exchanged[i];
        }
        const auto got_on = [&](unsigned i) {
            return m_board.exchanged[i] >= from[i] + exchanges;
        };
        for (bool all = false; !all;) {
            const auto passed = std::chrono::steady_clock::now() - start;
            all               = passed >= least;
            for (unsigned i = 0; i < senders; ++i) {
                all = got_on(i) && all;
            }
            all = (m_neighbour == nullptr || got_on(processes)) && all;
            require(all || passed < least + patience,
                    "others do not get on while one interface makes no progress");
            progress_neighbour();
        }
    }

    Board &m_board;
    Interface m_iface;
    std::unique_ptr<Interface> m_neighbour;
    std::unique_ptr<Exchange> m_exchange;
    std::array<uint32_t, senders> m_next{};
    size_t m_taken = 0, m_copied = 0;
    std::vector<Kept> m_kept;
};

void run(const std::string &scope)
{
    if (!is_be()) {
        return;
    }
    void *memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    BOOST_REQUIRE(memory != MAP_FAILED);
    Board &board = *new (memory) Board;
    std::deque<be::test::Process> all;
    for (unsigned i = 0; i < senders; ++i) {
        all.emplace_back([&, i] { return send_all(board, i, scope); });
    }
    all.emplace_back([&] { return Slow(board, scope).run(); });
    all.emplace_back([&] { return answer_all(board, scope); });
    // The slow one knows first what is wrong; without it the others would not end.
    for (const unsigned i : {slow, other, 0u, 1u, 2u}) {
        const auto status = all[i].wait(max_seconds);
        BOOST_REQUIRE_MESSAGE(status && *status == 0,
                              "process " << i << ": "
                                         << (status ? be::test::describe_status(*status) :
                                                      "does not end"));
    }
    ::munmap(memory, sizeof(Board));
}

} // namespace

BOOST_AUTO_TEST_CASE(alone_in_its_process)
{
    run("iface");
}

BOOST_AUTO_TEST_CASE(with_a_neighbour)
{
    run("process");
}
