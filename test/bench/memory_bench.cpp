// SPDX-License-Identifier: BSD-3-Clause
//
// The allocator beside malloc() (which memory.sh makes jemalloc's) and beside malloc() with
// a registration. memory.sh runs it and prints ratios.
#include "engine/c_api.h"
#include "memory/heap.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

namespace {

using be::memory::Heap;
using be::memory::HeapConfig;
using be::memory::Registration;

// Regions are registered with the device, as the transport's are.
class Device {
public:
    static Device &instance()
    {
        static auto *const device = new Device; // outlives all threads
        return *device;
    }

    be_mem_t add(void *address, size_t length)
    {
        be_mem_t mem;
        if (be_mem_register(m_md, address, length, BE_ACCESS_LOCAL, 0, &mem) != BE_OK) {
            exit(1);
        }
        return mem;
    }

    void remove(be_mem_t *mem)
    {
        be_mem_deregister(m_md, mem);
    }

    Heap &heap()
    {
        return m_heap;
    }

private:
    Device() :
        m_heap({}, {[this](void *address, size_t length) {
                        auto *mem = new be_mem_t(add(address, length));
                        return Registration{mem->lkey, mem->rkey, mem};
                    },
                    [](const Registration &) {}})
    {
        be_port_info_t *ports;
        unsigned count;
        char why[256];
        if ((be_ports_query(BE_SOFT_YES, &ports, &count, why, sizeof(why)) != BE_OK) ||
            (be_md_open(ports[0].device, BE_SOFT_YES, &m_md) != BE_OK)) {
            fprintf(stderr, "no software device: %s\n", why);
            exit(1);
        }
        be_ports_release(ports);
    }

    be_md_t *m_md = nullptr;
    Heap m_heap;
};

void heap(benchmark::State &state)
{
    Heap &heap        = Device::instance().heap();
    const auto length = static_cast<size_t>(state.range(0));
    for (auto _ : state) {
        void *block = heap.allocate(length);
        benchmark::DoNotOptimize(block);
        heap.free(block, length);
    }
}

void plain_malloc(benchmark::State &state)
{
    const auto length = static_cast<size_t>(state.range(0));
    for (auto _ : state) {
        void *block = malloc(length);
        benchmark::DoNotOptimize(block);
        free(block);
    }
}

void malloc_and_register(benchmark::State &state)
{
    Device &device    = Device::instance();
    const auto length = static_cast<size_t>(state.range(0));
    for (auto _ : state) {
        void *block  = malloc(length);
        be_mem_t mem = device.add(block, length);
        benchmark::DoNotOptimize(mem);
        device.remove(&mem);
        free(block);
    }
}

void sizes(benchmark::internal::Benchmark *benchmark)
{
    benchmark->Arg(64)->Arg(4096)->Arg(262144)->UseRealTime();
}

BENCHMARK(heap)->Apply(sizes)->Threads(1)->Threads(2);
BENCHMARK(plain_malloc)->Apply(sizes)->Threads(1)->Threads(2);
BENCHMARK(malloc_and_register)->Apply(sizes);

} // namespace

BENCHMARK_MAIN();
