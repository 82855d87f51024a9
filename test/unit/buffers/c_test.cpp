// SPDX-License-Identifier: BSD-3-Clause
//
// The allocator's C API.
#include <byteexpress/memory.h>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstring>
#include <string>

namespace {

int map_region(void *arg, void *address, size_t, void **handle)
{
    ++*static_cast<int *>(arg);
    *handle = address;
    return 0;
}

void unmap_region(void *arg, void *)
{
    --*static_cast<int *>(arg);
}

int refuse_region(void *, void *, size_t, void **)
{
    return EPERM;
}

} // namespace

BOOST_AUTO_TEST_SUITE(c_api)

BOOST_AUTO_TEST_CASE(blocks_come_and_go)
{
    int mapped = 0;
    be_allocator_params_t params;
    be_allocator_params_init(&params);
    params.map           = map_region;
    params.unmap         = unmap_region;
    params.arg           = &mapped;
    params.no_huge_pages = 1;

    be_allocator_t *memory = nullptr;
    BOOST_REQUIRE(be_allocator_create(&params, &memory, nullptr, 0) == 0);
    void *one = be_alloc(memory, 100, 0);
    void *two = be_alloc(memory, 100000, 4096);
    BOOST_REQUIRE(one != nullptr);
    BOOST_REQUIRE(two != nullptr);
    memset(two, 1, 100000);
    BOOST_TEST(reinterpret_cast<uintptr_t>(two) % 4096 == 0u);
    BOOST_TEST(mapped >= 1);
    void *handle = nullptr;
    BOOST_TEST(be_allocator_find(memory, one, &handle) == 1);
    BOOST_TEST(handle != nullptr);
    BOOST_TEST(be_allocator_find(memory, &mapped, &handle) == 0);

    be_free(memory, one);
    be_free_sized(memory, two, 100000, 4096);
    be_free(memory, nullptr);
    be_allocator_stats_t stats;
    be_allocator_stats(memory, &stats);
    BOOST_TEST(stats.live == 0u);
    BOOST_TEST(stats.maps >= 1u);
    be_allocator_destroy(memory);
    BOOST_TEST(mapped == 0);
}

BOOST_AUTO_TEST_CASE(wrong_parameters_get_a_reason)
{
    be_allocator_t *memory = nullptr;
    char why[128];
    be_allocator_params_t params;
    be_allocator_params_init(&params);
    params.struct_size = 3;
    BOOST_TEST(be_allocator_create(&params, &memory, why, sizeof(why)) == EINVAL);
    BOOST_TEST(std::string(why).find("struct_size 3") != std::string::npos);

    be_allocator_params_init(&params);
    params.map = map_region;
    BOOST_TEST(be_allocator_create(&params, &memory, why, sizeof(why)) == EINVAL);

    be_allocator_params_init(&params);
    params.map             = refuse_region;
    params.unmap           = unmap_region;
    params.receive_reserve = 1 << 20;
    BOOST_TEST(be_allocator_create(&params, &memory, why, sizeof(why)) == ENOMEM);
    BOOST_TEST(std::string(why).find(strerror(EPERM)) != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
