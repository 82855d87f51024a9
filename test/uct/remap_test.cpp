// SPDX-License-Identifier: BSD-3-Clause
//
// The registration cache under memory that comes and goes at the same addresses, under threads and
// fork, and when registrations run out.

#include "harness.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

using namespace uct_test;

namespace {

constexpr size_t page = 4096;

// Rounds: more with BE_TEST_OPERATIONS.
int rounds(int otherwise)
{
    const char *text = getenv("BE_TEST_OPERATIONS");
    return (text != nullptr) ? atoi(text) : otherwise;
}

Options cached(const char *max_regions = "1000")
{
    Options result;
    result.md_config = {{"REG", "rcache"}, {"RCACHE_MAX_REGIONS", max_regions}};
    return result;
}

// Pages that come and go at one place. It is never left free: another thread's memory might come to lie
// there.
class Place {
public:
    explicit Place(size_t length) : m_length(length), m_where(map(nullptr, 0))
    {
    }

    ~Place()
    {
        munmap(m_where, m_length);
    }

    // New pages: mapped over the old ones, or those thrown away.
    uint8_t *renew()
    {
        if (++m_count % 3 == 0) {
            madvise(m_where, m_length, MADV_DONTNEED);
        } else {
            map(m_where, MAP_FIXED);
        }
        return static_cast<uint8_t *>(m_where);
    }

private:
    void *map(void *where, int flags) const
    {
        void *mapped = mmap(where, m_length, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
        if (mapped == MAP_FAILED) {
            abort();
        }
        return mapped;
    }

    size_t m_length;
    void *m_where;
    unsigned m_count = 0;
};

// Registers parts of its own pages, which it maps anew; parts overlap.
class Churn {
public:
    Churn(uct_md_h md, unsigned seed) : m_md(md), m_random(seed)
    {
    }

    void run(const std::atomic<bool> &stop)
    {
        Place place(64 * page);
        while (!stop.load()) {
            uint8_t *bytes = place.renew();
            uct_mem_h held[4];
            unsigned count = 0;
            for (; count < 4; ++count) {
                const size_t first = m_random() % 60;
                const size_t pages = 1 + m_random() % (64 - first);
                if (uct_md_mem_reg(m_md, bytes + first * page, pages * page,
                                   UCT_MD_MEM_ACCESS_RMA, &held[count]) != UCS_OK) {
                    ++m_failures;
                    break;
                }
            }
            while (count > 0) {
                m_failures += uct_md_mem_dereg(m_md, held[--count]) != UCS_OK;
            }
        }
    }

    uint64_t failures() const
    {
        return m_failures;
    }

private:
    uct_md_h m_md;
    std::mt19937 m_random;
    uint64_t m_failures = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(remap)

// What arrives is what lies there now, never what lay there before.
BOOST_AUTO_TEST_CASE(never_a_stale_byte)
{
    if (!is_be()) {
        return;
    }
    Interface initiator(cached());
    Interface target(cached());
    Interfaces ifaces{&initiator, &target};
    Endpoint ep(initiator, target.address());

    std::atomic<bool> stop{false};
    std::vector<Churn> churns;
    for (unsigned i = 0; i < 16; ++i) {
        churns.emplace_back(initiator.md(), i);
    }
    std::vector<std::thread> threads;
    for (Churn &churn : churns) {
        threads.emplace_back([&churn, &stop] { churn.run(stop); });
    }

    Place source(16 * page), sink(16 * page);
    const int count = rounds(600);
    for (int round = 0; round < count; ++round) {
        const size_t length = (1 + static_cast<size_t>(round) % 16) * page;
        uint8_t *from = source.renew(), *to = sink.renew();
        fill(from, length, static_cast<unsigned>(round));
        Memory local(initiator, from, length);
        Memory remote(target, to, length);
        RemoteKey key(initiator, remote.packed_key());
        uct_iov_t iov{};
        iov.buffer = local.data();
        iov.length = length;
        iov.memh   = local.memh();
        iov.count  = 1;
        Completion completion;
        uct_completion_t *comp = completion.use();
        BOOST_REQUIRE_GE(completion.started(
                                 retry(ifaces,
                                       [&] {
                                           return uct_ep_put_zcopy(ep.handle(), &iov, 1,
                                                                   remote.remote(),
                                                                   key.rkey(), comp);
                                       })),
                         UCS_OK);
        BOOST_REQUIRE(progress_until(ifaces, [&] { return completion.done(); }));
        BOOST_REQUIRE_EQUAL(completion.status(), UCS_OK);
        BOOST_REQUIRE(matches(to, length, static_cast<unsigned>(round)));
        if (round % 300 == 150) {
            const pid_t child = fork();
            if (child == 0) {
                _exit(0);
            }
            int status = 1;
            BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
            BOOST_REQUIRE_EQUAL(status, 0);
        }
    }
    stop = true;
    for (unsigned i = 0; i < threads.size(); ++i) {
        threads[i].join();
        BOOST_CHECK_EQUAL(churns[i].failures(), 0u);
    }
}

// The software device has 65536 registrations; the cache is told not to care.
BOOST_AUTO_TEST_CASE(unused_registrations_go_when_they_run_out)
{
    if (!is_be()) {
        return;
    }
    constexpr size_t count = 70000;
    Interface iface(cached("inf"));
    void *area = mmap(nullptr, 2 * count * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    BOOST_REQUIRE(area != MAP_FAILED);
    auto *bytes = static_cast<uint8_t *>(area);
    uct_mem_h memh;
    for (size_t i = 0; i < count; ++i) { // every other page: no two become one
        BOOST_REQUIRE_EQUAL(uct_md_mem_reg(iface.md(), bytes + 2 * i * page, page,
                                           UCT_MD_MEM_ACCESS_RMA, &memh),
                            UCS_OK);
        BOOST_REQUIRE_EQUAL(uct_md_mem_dereg(iface.md(), memh), UCS_OK);
    }

    // In use, they stay; the one too many is refused, and is given when another goes.
    std::vector<uct_mem_h> held;
    ucs_status_t status = UCS_OK;
    for (size_t i = 0; (i < count) && (status == UCS_OK); ++i) {
        status = uct_md_mem_reg(iface.md(), bytes + 2 * i * page, page,
                                UCT_MD_MEM_ACCESS_RMA | UCT_MD_MEM_FLAG_HIDE_ERRORS,
                                &memh);
        if (status == UCS_OK) {
            held.push_back(memh);
        }
    }
    BOOST_CHECK_EQUAL(status, UCS_ERR_NO_MEMORY);
    BOOST_CHECK_GT(held.size(), 60000u);
    BOOST_REQUIRE_EQUAL(uct_md_mem_dereg(iface.md(), held.back()), UCS_OK);
    held.pop_back();
    BOOST_CHECK_EQUAL(uct_md_mem_reg(iface.md(), bytes + 2 * (count - 1) * page, page,
                                     UCT_MD_MEM_ACCESS_RMA, &memh),
                      UCS_OK);
    held.push_back(memh);
    for (uct_mem_h one : held) {
        BOOST_REQUIRE_EQUAL(uct_md_mem_dereg(iface.md(), one), UCS_OK);
    }
    munmap(area, 2 * count * page);
}

BOOST_AUTO_TEST_SUITE_END()
