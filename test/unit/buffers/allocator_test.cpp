// SPDX-License-Identifier: BSD-3-Clause
//
// The public allocator: containers, mapping, owners, limits.
#include <byteexpress/memory.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <list>
#include <map>
#include <stdexcept>
#include <vector>

namespace {

constexpr size_t mebi = size_t{1} << 20;

struct Mapper {
    be::RegionMapper callbacks()
    {
        return {[this](void *address, size_t length) {
                    if (refuse) {
                        throw std::runtime_error("the network is full");
                    }
                    regions[address] = length;
                    return address;
                },
                [this](void *handle) { regions.erase(handle); }};
    }

    bool refuse = false;
    std::map<void *, size_t> regions; // the handle is the address
};

be::AllocatorOptions small(Mapper &mapper)
{
    be::AllocatorOptions options;
    options.mapper       = mapper.callbacks();
    options.first_region = 2 * mebi;
    options.region       = 4 * mebi;
    options.huge_pages   = false;
    options.grow_ahead   = false;
    return options;
}

} // namespace

BOOST_AUTO_TEST_SUITE(allocator)

BOOST_AUTO_TEST_CASE(containers_live_in_mapped_regions)
{
    Mapper mapper;
    {
        be::Allocator memory(small(mapper));
        std::pmr::vector<double> numbers(1000, 1.5, &memory);
        std::list<int, be::StlAllocator<int>> list{be::StlAllocator<int>(memory)};
        for (int i = 0; i < 1000; ++i) {
            list.push_back(i);
            numbers.push_back(i);
        }
        const be::Allocator::Region region = memory.find(numbers.data());
        BOOST_TEST(region.found);
        BOOST_TEST(mapper.regions.count(region.handle) == 1u);
        BOOST_TEST(memory.find(&list.back()).found);
        BOOST_TEST(!memory.find(&mapper).found);
        BOOST_TEST(numbers[1999] == 999.0);
        BOOST_TEST(memory.stats().maps == mapper.regions.size());
        BOOST_TEST(memory.stats().live >= 2000 * sizeof(double));
    }
    BOOST_TEST(mapper.regions.empty());
}

BOOST_AUTO_TEST_CASE(the_limit_is_kept_and_named)
{
    Mapper mapper;
    be::AllocatorOptions options = small(mapper);
    options.limit                = 4 * mebi;
    be::Allocator memory(options);

    std::string why;
    BOOST_TEST(memory.try_allocate(5 * mebi, 64, 0, &why) == nullptr);
    BOOST_TEST(why.find(std::to_string(4 * mebi)) != std::string::npos);
    BOOST_CHECK_THROW((void)memory.allocate(5 * mebi), std::bad_alloc);
    BOOST_TEST(memory.stats().failures == 2u);
    BOOST_TEST(memory.stats().mapped <= options.limit);
}

BOOST_AUTO_TEST_CASE(a_mapper_that_refuses_is_quoted)
{
    Mapper mapper;
    mapper.refuse = true;
    be::Allocator memory(small(mapper));
    std::string why;
    BOOST_TEST(memory.try_allocate(100, 64, 0, &why) == nullptr);
    BOOST_TEST(why.find("the network is full") != std::string::npos);

    mapper.refuse = false;
    void *block   = memory.try_allocate(100);
    BOOST_TEST(block != nullptr);
    memory.free(block);
}

BOOST_AUTO_TEST_CASE(reception_has_memory_of_its_own)
{
    Mapper mapper;
    be::AllocatorOptions options = small(mapper);
    options.limit                = 8 * mebi;
    options.receive_reserve      = 2 * mebi;
    be::Allocator memory(options);
    const be::Allocator::Owner receiver = memory.add_owner("receive", true);

    std::vector<void *> taken;
    while (void *block = memory.try_allocate(64 * 1024)) {
        taken.push_back(block);
    }
    BOOST_TEST(taken.size() == 6 * mebi / (64 * 1024));

    void *received = memory.try_allocate(mebi, 64, receiver);
    BOOST_REQUIRE(received != nullptr);
    BOOST_TEST(memory.find(received).found);
    BOOST_TEST(memory.try_allocate(64 * 1024) == nullptr);
    BOOST_TEST(memory.stats().owners[receiver].name == "receive");
    BOOST_TEST(memory.stats().owners[receiver].live == mebi);
    memory.free(received, mebi, 64, receiver);
    BOOST_TEST(memory.stats().owners[receiver].live == 0u);
    for (void *block : taken) {
        memory.free(block);
    }
    BOOST_TEST(memory.stats().live == 0u);
}

BOOST_AUTO_TEST_CASE(wrong_options_are_named)
{
    Mapper mapper;
    be::AllocatorOptions options = small(mapper);
    options.mapper.unmap         = nullptr;
    BOOST_CHECK_THROW(be::Allocator{options}, std::invalid_argument);
    options           = small(mapper);
    options.numa_node = -3;
    BOOST_CHECK_THROW(be::Allocator{options}, std::invalid_argument);
    options                 = small(mapper);
    options.limit           = 2 * mebi;
    options.receive_reserve = 2 * mebi;
    BOOST_CHECK_THROW(be::Allocator{options}, std::invalid_argument);
    options        = small(mapper);
    options.region = 0;
    BOOST_CHECK_THROW(be::Allocator{options}, std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(misuse_is_reported_with_the_owner)
{
    Mapper mapper;
    std::vector<std::string> reports;
    be::AllocatorOptions options = small(mapper);
    options.debug                = true;
    options.report = [&](const std::string &text) { reports.push_back(text); };
    be::Allocator memory(options);
    const be::Allocator::Owner rpc = memory.add_owner("rpc");

    auto *block = static_cast<char *>(memory.try_allocate(100, 64, rpc));
    memory.free(block, 100, 64, rpc);
    memory.free(block, 100, 64, rpc);
    BOOST_REQUIRE(reports.size() == 1u);
    BOOST_TEST(reports[0].find("freed twice") != std::string::npos);
    BOOST_TEST(reports[0].find("\"rpc\"") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
