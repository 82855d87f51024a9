// SPDX-License-Identifier: BSD-3-Clause
//
// Memory domain: allocation, registration with and without cache, read-only memory, invalidation.

#include "harness.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

using namespace uct_test;

namespace {

constexpr size_t page = 4096;

struct Mapping {
    Mapping(size_t size, int protection) :
        length(size),
        data(static_cast<uint8_t *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
    {
        BOOST_REQUIRE(data != MAP_FAILED);
        fill(data, length, 3);
        BOOST_REQUIRE_EQUAL(mprotect(data, length, protection), 0);
    }

    ~Mapping()
    {
        munmap(data, length);
    }

    size_t length;
    uint8_t *data;
};

struct World {
    explicit World(const std::string &method) :
        initiator(options(method)), target(options(method))
    {
    }

    static Options options(const std::string &method)
    {
        Options result;
        if (is_be()) {
            result.md_config = {{"REG", method}};
        }
        return result;
    }

    ucs_status_t transfer(decltype(&uct_ep_get_zcopy) operation, const Memory &local,
                          const Memory &remote)
    {
        RemoteKey key(initiator, remote.packed_key());
        uct_iov_t iov{};
        iov.buffer = local.data();
        iov.length = local.size();
        iov.memh   = local.memh();
        iov.count  = 1;
        Completion completion;
        uct_completion_t *comp    = completion.use();
        const ucs_status_t status = completion.started(retry(ifaces, [&] {
            return operation(ep.handle(), &iov, 1, remote.remote(), key.rkey(), comp);
        }));
        if (status < 0) {
            return status;
        }
        BOOST_REQUIRE(progress_until(ifaces, [&] { return completion.done(); }));
        return completion.status();
    }

    Interface initiator;
    Interface target;
    Interfaces ifaces{&initiator, &target};
    Endpoint ep{initiator, target.address()};
};

} // namespace

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(allocated_memory_is_usable_and_aligned)
{
    World world("rcache");
    if (!(world.initiator.md_attr().cap.flags & UCT_MD_FLAG_ALLOC)) {
        return;
    }
    std::mt19937 random(5);
    std::vector<std::unique_ptr<Memory>> all;
    for (int i = 0; i < 300; ++i) {
        const size_t size = 1 + random() % 200000;
        all.push_back(std::make_unique<Memory>(world.initiator, size));
        BOOST_CHECK_EQUAL(reinterpret_cast<uintptr_t>(all.back()->data()) % 64, 0u);
        fill(all.back()->data(), size, i);
        if (i % 3 == 0) {
            std::swap(all[random() % all.size()], all.back());
        }
    }
    // None overlaps another: filled again in order, all still hold what was written last.
    for (size_t i = 0; i < all.size(); ++i) {
        fill(all[i]->data(), all[i]->size(), i);
    }
    for (size_t i = 0; i < all.size(); ++i) {
        BOOST_REQUIRE(matches(all[i]->data(), all[i]->size(), i));
    }
}

BOOST_AUTO_TEST_CASE(user_memory)
{
    for (const char *method : {"rcache", "direct"}) {
        World world(method);
        if (!world.initiator.has(UCT_IFACE_FLAG_GET_ZCOPY | UCT_IFACE_FLAG_PUT_ZCOPY)) {
            return;
        }
        std::vector<uint8_t> here(300001), there = pattern(300001, 8);
        for (int i = 0; i < 5; ++i) {
            Memory local(world.initiator, here.data() + i, here.size() - i);
            Memory remote(world.target, there.data() + i, there.size() - i);
            std::fill(here.begin(), here.end(), 0);
            BOOST_REQUIRE_EQUAL(world.transfer(uct_ep_get_zcopy, local, remote), UCS_OK);
            BOOST_REQUIRE(std::equal(here.begin() + i, here.end(), there.begin() + i));
        }
    }
}

// The cache gives one registration to all who ask for the same memory.
BOOST_AUTO_TEST_CASE(registrations_are_cached)
{
    World world("rcache");
    if (!is_be()) {
        return;
    }
    std::vector<uint8_t> bytes(100000);
    uct_mem_h first, second, after;
    const auto reg = [&](uct_mem_h *memh) {
        return uct_md_mem_reg(world.initiator.md(), bytes.data(), bytes.size(),
                              UCT_MD_MEM_ACCESS_RMA, memh);
    };
    BOOST_REQUIRE_EQUAL(reg(&first), UCS_OK);
    BOOST_REQUIRE_EQUAL(reg(&second), UCS_OK);
    BOOST_CHECK_EQUAL(first, second);
    BOOST_CHECK_EQUAL(uct_md_mem_dereg(world.initiator.md(), first), UCS_OK);
    BOOST_CHECK_EQUAL(uct_md_mem_dereg(world.initiator.md(), second), UCS_OK);
    BOOST_REQUIRE_EQUAL(reg(&after), UCS_OK);
    BOOST_CHECK_EQUAL(after, first);
    BOOST_CHECK_EQUAL(uct_md_mem_dereg(world.initiator.md(), after), UCS_OK);
}

// Memory that was unmapped, and mapped anew at the same place, must be registered anew.
BOOST_AUTO_TEST_CASE(unmapped_memory_leaves_the_cache)
{
    constexpr size_t length = 64 * page;
    World world("rcache");
    if (!is_be()) {
        return;
    }
    std::vector<uint8_t> here(length);
    Memory local(world.initiator, here.data(), here.size());
    void *where = nullptr;
    for (int round = 0; round < 20; ++round) {
        void *mapped = mmap(where, length, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS |
                                    ((where != nullptr) ? MAP_FIXED : 0),
                            -1, 0);
        BOOST_REQUIRE(mapped != MAP_FAILED);
        where = mapped;
        fill(static_cast<uint8_t *>(where), length, round);
        {
            Memory remote(world.target, where, length);
            BOOST_REQUIRE_EQUAL(world.transfer(uct_ep_get_zcopy, local, remote), UCS_OK);
            BOOST_REQUIRE(matches(here.data(), length, round));
        }
        BOOST_REQUIRE_EQUAL(munmap(where, length), 0);
    }
}

// Constants can be sent and read; that they cannot be written is said before the device breaks the
// connection over it.
BOOST_AUTO_TEST_CASE(read_only_memory)
{
    for (const char *method : {"rcache", "direct"}) {
        World world(method);
        if (!is_be()) {
            return;
        }
        Mapping constant(8 * page, PROT_READ);
        std::vector<uint8_t> bytes(constant.length);
        {
            Memory local(world.initiator, bytes.data(), bytes.size());
            Memory remote(world.target, constant.data, constant.length);
            BOOST_CHECK_EQUAL(world.transfer(uct_ep_get_zcopy, local, remote), UCS_OK);
            BOOST_CHECK(matches(bytes.data(), bytes.size(), 3));
            BOOST_CHECK_EQUAL(world.transfer(uct_ep_put_zcopy, local, remote),
                              UCS_ERR_INVALID_PARAM);
        }
        std::fill(bytes.begin(), bytes.end(), 0);
        Memory local(world.initiator, constant.data, constant.length);
        Memory remote(world.target, bytes.data(), bytes.size());
        BOOST_CHECK_EQUAL(world.transfer(uct_ep_put_zcopy, local, remote), UCS_OK);
        BOOST_CHECK(matches(bytes.data(), bytes.size(), 3));
        BOOST_CHECK_EQUAL(world.transfer(uct_ep_get_zcopy, local, remote),
                          UCS_ERR_INVALID_PARAM);
    }
}

// Pages of the range that are in memory.
size_t resident(const uint8_t *data, size_t length)
{
    std::vector<unsigned char> state(length / page);
    BOOST_REQUIRE_EQUAL(mincore(const_cast<uint8_t *>(data), length, state.data()), 0);
    return std::count_if(state.begin(), state.end(),
                         [](unsigned char one) { return (one & 1) != 0; });
}

// Memory that went out of sight comes back when it will be needed, and no more than was named.
BOOST_AUTO_TEST_CASE(advice_brings_memory_in)
{
    World world("direct"); // the cache would throw the registration away with the pages
    if (!is_be()) {
        return;
    }
    const uct_md_h md = world.initiator.md();
    BOOST_CHECK(world.initiator.md_attr().cap.flags & UCT_MD_FLAG_ADVISE);
    for (const int protection : {PROT_READ | PROT_WRITE, PROT_READ}) {
        Mapping mapping(16 * page, protection);
        Memory memory(world.initiator, mapping.data, mapping.length);
        BOOST_REQUIRE_EQUAL(madvise(mapping.data, mapping.length, MADV_DONTNEED), 0);
        BOOST_REQUIRE_EQUAL(resident(mapping.data, mapping.length), 0u);

        BOOST_CHECK_EQUAL(uct_md_mem_advise(md, memory.memh(), mapping.data,
                                            mapping.length, UCT_MADV_NORMAL),
                          UCS_OK);
        BOOST_CHECK_EQUAL(resident(mapping.data, mapping.length), 0u);
        // From the middle of a page to that of another one.
        BOOST_CHECK_EQUAL(uct_md_mem_advise(md, memory.memh(), mapping.data + 100,
                                            3 * page, UCT_MADV_WILLNEED),
                          UCS_OK);
        BOOST_CHECK_EQUAL(resident(mapping.data, mapping.length), 4u);
        BOOST_CHECK_EQUAL(uct_md_mem_advise(md, memory.memh(), mapping.data,
                                            mapping.length, UCT_MADV_WILLNEED),
                          UCS_OK);
        BOOST_CHECK_EQUAL(resident(mapping.data, mapping.length), 16u);
    }
}

BOOST_AUTO_TEST_CASE(advice_for_what_is_not_registered_is_refused)
{
    World world("direct");
    if (!is_be()) {
        return;
    }
    Mapping mapping(16 * page, PROT_READ | PROT_WRITE);
    Memory memory(world.initiator, mapping.data + page, 4 * page);
    const auto advise = [&](size_t offset, size_t length) {
        return uct_md_mem_advise(world.initiator.md(), memory.memh(),
                                 mapping.data + offset, length, UCT_MADV_WILLNEED);
    };
    BOOST_CHECK_EQUAL(advise(page, 4 * page), UCS_OK);
    BOOST_CHECK_EQUAL(advise(5 * page - 1, 1), UCS_OK);
    BOOST_CHECK_EQUAL(advise(page - 1, 1), UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(advise(page, 4 * page + 1), UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(advise(5 * page, 1), UCS_ERR_INVALID_PARAM);
    BOOST_CHECK_EQUAL(advise(page, SIZE_MAX - page), UCS_ERR_INVALID_PARAM);
}

// UCP asks for the kind of memory where a domain can tell: this one has host memory only, and says so.
BOOST_AUTO_TEST_CASE(memory_types_are_not_told_apart)
{
    World world("rcache");
    if (!is_be()) {
        return;
    }
    BOOST_CHECK_EQUAL(world.initiator.md_attr().cap.detect_mem_types, 0u);
    BOOST_CHECK_EQUAL(world.initiator.md_attr().cap.reg_mem_types,
                      UCS_BIT(UCS_MEMORY_TYPE_HOST));
    char byte;
    uct_md_mem_attr_t attr{};
    attr.field_mask = UCT_MD_MEM_ATTR_FIELD_MEM_TYPE;
    BOOST_CHECK_EQUAL(uct_md_mem_query(world.initiator.md(), &byte, 1, &attr),
                      UCS_ERR_UNSUPPORTED);
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_there)
{
    for (const char *method : {"rcache", "direct"}) {
        World world(method);
        if (!is_be()) {
            return;
        }
        void *hole = mmap(nullptr, page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        BOOST_REQUIRE(hole != MAP_FAILED);
        munmap(hole, page);
        uct_mem_h memh;
        BOOST_CHECK_LT(uct_md_mem_reg(world.initiator.md(), hole, page,
                                      UCT_MD_MEM_ACCESS_RMA | UCT_MD_MEM_FLAG_HIDE_ERRORS,
                                      &memh),
                       UCS_OK);
    }
}

BOOST_AUTO_TEST_SUITE_END()
