// SPDX-License-Identifier: BSD-3-Clause
//
// Processes that are killed in the middle of an operation, at each instruction that makes a difference: one is
// stepped through the whole operation (ptrace) while it is noted after which instructions the memory of the
// survivor's device had changed; then, for each of these, another one is killed there. Whatever it left half
// done, its message came whole or not at all, every receive can still be used, and who waits is woken.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "abandon.hpp"
#include "endpoint.hpp"
#include "site.hpp"

#include <cstring>
#include <optional>
#include <ostream>
#include <poll.h>
#include <set>

using namespace softtest;

namespace {

constexpr uint32_t depth  = 8; // receives
constexpr uint32_t stride = 16384; // of their memory
constexpr uint64_t word   = 512 * 1024; // that is added to

// A survivor sleeps no longer than this: it may be that there is nothing to be woken for.
constexpr int sleep_ms = 300;

// What the survivor does first.
enum class next {
    sleep, // waits for the event it asked for
    rearm, // asks for another one
    fail, // takes the queue pair to the error state
    reset // takes it back to its beginning
};

struct scene {
    const char *name;
    ibv_wr_opcode opcode;
    uint32_t length;
    next then;
    bool shared  = true; // receives
    bool contact = false; // it is the first operation between the two
    bool limit   = false; // of the shared receives, and it is reached
};

std::ostream &operator<<(std::ostream &to, const scene &which)
{
    return to << which.name;
}

// The shortest messages travel in their completion, others in a bounce buffer, the longest ones straight.
const scene scenes[] = {
        {"sleeper", IBV_WR_SEND, 64, next::sleep},
        {"short message", IBV_WR_SEND, 64, next::rearm},
        {"bounced message", IBV_WR_SEND, 1024, next::rearm},
        {"large message", IBV_WR_SEND, 12000, next::rearm},
        {"first message", IBV_WR_SEND, 64, next::rearm, true, true},
        {"limit reached", IBV_WR_SEND, 64, next::rearm, true, false, true},
        {"limit reached, bounced", IBV_WR_SEND, 1024, next::rearm, true, false, true},
        {"write with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, 64, next::rearm},
        {"short message, failure", IBV_WR_SEND, 64, next::fail, false},
        {"bounced message, failure", IBV_WR_SEND, 1024, next::fail, false},
        {"short message, reset", IBV_WR_SEND, 64, next::reset, false},
        {"bounced message, reset", IBV_WR_SEND, 1024, next::reset, false},
        {"addition", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, next::rearm},
};

options quick(bool shared)
{
    options result;
    result.shared_receives = shared;
    result.recv_depth      = 2 * depth;
    result.send_depth      = 2 * depth;
    result.cqe             = 64;
    result.timeout         = 8; // 1 ms
    result.min_rnr_timer   = 1; // 10 us
    return result;
}

bool event_within(int fd, int ms)
{
    pollfd entry{fd, POLLIN, 0};
    return poll(&entry, 1, ms) == 1;
}

// The one that is killed.
void send_once(const scene &what, endpoint &self, const address &to)
{
    int failure = 0;
    if (what.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        failure = self.atomic(what.opcode, to, word, 1, 0);
    } else if (what.opcode == IBV_WR_SEND) {
        failure = self.send(what.length);
    } else {
        failure = self.rdma(what.opcode, to, what.length);
    }
    if (failure != 0) {
        _exit(1);
    }
}

class survivor {
public:
    explicit survivor(const scene &what) :
        m_what(what), m_self(quick(what.shared)), m_victim([&](int socket) {
            endpoint self(quick(false));
            put(socket, self.own_address());
            address to = get<address>(socket);
            if (self.connect(to) != 0) {
                return;
            }
            if (!what.contact && ((self.send(8) != 0) || (self.wait_status() != 0))) {
                return;
            }
            memset(self.buffer, 0x5a, what.length);
            stepped_process::halt();
            send_once(what, self, to);
            stepped_process::halt();
        })
    {
        BOOST_REQUIRE_EQUAL(m_self.connect(get<address>(m_victim.socket())), 0);
        if (!what.contact) {
            BOOST_REQUIRE_EQUAL(m_self.post_receive(stride), 0);
        }
        put(m_victim.socket(), m_self.own_address());
        if (!what.contact) {
            BOOST_REQUIRE_EQUAL(m_self.wait_status(), int{IBV_WC_SUCCESS});
        }
        post_all();
        if (what.limit) {
            ibv_srq_attr attr{};
            attr.srq_limit = depth;
            BOOST_REQUIRE_EQUAL(verbs().modify_srq(m_self.srq, &attr, IBV_SRQ_LIMIT), 0);
        }
        BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(m_self.cq, 0), 0);
        BOOST_REQUIRE(m_victim.wait_until_halted());
    }

    // Steps it through the operation: after how many instructions something had changed here.
    std::vector<uint32_t> record()
    {
        device_memory memory;
        std::vector<uint32_t> result{0};
        uint64_t before = memory.fingerprint();
        for (uint32_t count = 1; m_victim.step(); ++count) {
            uint64_t after = memory.fingerprint();
            if (after != before) {
                result.push_back(count);
            }
            before = after;
        }
        return result;
    }

    void kill_after(uint32_t instructions)
    {
        for (uint32_t i = 0; (i < instructions) && m_victim.step(); ++i) {
        }
        m_victim.kill();
    }

    void go_on()
    {
        switch (m_what.then) {
        case next::sleep: {
            m_victim.reap();
            bool woken = event_within(m_self.channel->fd, sleep_ms);
            BOOST_TEST((!take(0) || woken), "a completion without its event");
            use_the_rest();
            break;
        }
        case next::rearm:
            BOOST_TEST(ibv_req_notify_cq(m_self.cq, 0) == 0);
            m_victim.reap();
            take(0);
            use_the_rest();
            break;
        case next::fail:
            m_victim.reap();
            fail();
            break;
        case next::reset:
            reset();
            m_victim.reap();
            break;
        }
        drain_events();
    }

private:
    void post_all()
    {
        m_posted.clear();
        for (uint32_t i = 1; i <= depth; ++i) {
            BOOST_REQUIRE_EQUAL(m_self.post_receive(stride, i * stride, i), 0);
            m_posted.insert(i);
        }
    }

    // The next completion of a receive; false when none comes in time.
    bool take(double ms, ibv_wc_status status = IBV_WC_SUCCESS)
    {
        std::optional<ibv_wc> wc = m_self.wait(ms);
        if (!wc) {
            return false;
        }
        BOOST_TEST(wc->status == status);
        BOOST_TEST(m_posted.erase(wc->wr_id) == 1u, "receive " << wc->wr_id << " twice");
        if ((wc->status == IBV_WC_SUCCESS) && (wc->opcode == IBV_WC_RECV)) {
            const char *data = m_self.buffer + wc->wr_id * stride;
            bool whole       = (wc->byte_len == m_what.length) &&
                         (data[0] == data[wc->byte_len - 1]) && (data[0] != 0);
            BOOST_TEST(whole, "a broken message of " << wc->byte_len << " bytes");
        }
        return true;
    }

    // All receives that are left, by messages to itself.
    void use_the_rest()
    {
        ibv_qp_init_attr attr{};
        attr.send_cq = attr.recv_cq = m_self.cq;
        attr.srq                    = m_self.srq;
        attr.cap                    = {2 * depth, 0, 1, 0, 0};
        attr.qp_type                = IBV_QPT_RC;
        ibv_qp *first               = m_self.qp;
        m_self.qp                   = verbs().create_qp(m_self.pd, &attr);
        BOOST_REQUIRE(m_self.qp != nullptr);
        BOOST_REQUIRE_EQUAL(m_self.connect(m_self.own_address()), 0);
        if (m_what.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
            BOOST_TEST(m_self.atomic(m_what.opcode, m_self.own_address(), word, 1, 0) ==
                       0);
            BOOST_TEST(m_self.wait_status(3000) == IBV_WC_SUCCESS);
            BOOST_TEST(m_self.word(word) - 1 <= 1u);
        }
        memset(m_self.buffer, 0x77, m_what.length);
        while (!m_posted.empty()) {
            BOOST_REQUIRE_EQUAL(m_self.send(m_what.length, 0), 0);
            BOOST_REQUIRE(take(3000));
        }
        BOOST_TEST(!take(0));
        if (m_what.limit) {
            BOOST_TEST(limit_events() == 1u);
        }
        BOOST_TEST(verbs().destroy_qp(m_self.qp) == 0);
        m_self.qp = first;
    }

    uint32_t limit_events()
    {
        uint32_t count = 0;
        ibv_async_event event;
        while (event_within(m_self.context->async_fd, (count == 0) ? 3000 : 10) &&
               (verbs().get_async_event(m_self.context, &event) == 0)) {
            count += event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED;
            verbs().ack_async_event(&event);
        }
        return count;
    }

    // Every receive comes back: with the message, or flushed.
    void fail()
    {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_ERR;
        BOOST_TEST(verbs().modify_qp(m_self.qp, &attr, IBV_QP_STATE) == 0);
        uint32_t messages = 0;
        while (!m_posted.empty()) {
            std::optional<ibv_wc> wc = m_self.wait(3000);
            BOOST_REQUIRE(wc);
            BOOST_TEST(m_posted.erase(wc->wr_id) == 1u);
            messages += wc->status == IBV_WC_SUCCESS;
        }
        BOOST_TEST(messages <= 1u);
        BOOST_TEST(m_self.silent(0));
    }

    // As new.
    void reset()
    {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RESET;
        BOOST_REQUIRE_EQUAL(verbs().modify_qp(m_self.qp, &attr, IBV_QP_STATE), 0);
        BOOST_REQUIRE_EQUAL(m_self.to_init(), 0);
        post_all();
        BOOST_REQUIRE_EQUAL(m_self.to_rtr(m_self.own_address()), 0);
        BOOST_REQUIRE_EQUAL(m_self.to_rts(), 0);
        BOOST_TEST(m_self.silent(0)); // nothing of before
        memset(m_self.buffer, 0x77, m_what.length);
        while (!m_posted.empty()) {
            BOOST_REQUIRE_EQUAL(m_self.send(m_what.length, 0), 0);
            BOOST_REQUIRE(take(3000));
        }
    }

    void drain_events()
    {
        ibv_cq *cq;
        void *its_context;
        while (verbs().get_cq_event(m_self.channel, &cq, &its_context) == 0) {
            verbs().ack_cq_events(cq, 1);
        }
    }

    const scene &m_what;
    endpoint m_self;
    stepped_process m_victim;
    std::set<uint64_t> m_posted; // receives
};

// Instrumented code has many times the instructions, and each is a stop here: minutes for an operation.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STEPS_INSTRUMENTED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STEPS_INSTRUMENTED 1
#endif

boost::test_tools::assertion_result plain_code(boost::unit_test::test_unit_id)
{
#ifdef STEPS_INSTRUMENTED
    boost::test_tools::assertion_result no(false);
    no.message() << "stepping through instrumented code takes too long";
    return no;
#else
    return true;
#endif
}

} // namespace

BOOST_AUTO_TEST_SUITE(abandoned, *boost::unit_test::precondition(plain_code))

BOOST_DATA_TEST_CASE(killed_anywhere, boost::unit_test::data::make(scenes), what)
{
    if (!where_we_are().soft || !stepped_process::allowed()) {
        BOOST_TEST_MESSAGE("not the software device, or ptrace is not allowed here");
        return;
    }
    std::vector<uint32_t> moments = survivor(what).record();
    BOOST_TEST_MESSAGE(moments.size() << " moments of " << moments.back());
    BOOST_TEST(moments.size() >= 3u);
    for (uint32_t moment : moments) {
        BOOST_TEST_CONTEXT("killed after instruction " << moment)
        {
            survivor self(what);
            self.kill_after(moment);
            self.go_on();
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
