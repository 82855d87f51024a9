// SPDX-License-Identifier: BSD-3-Clause
//
// The allocator beside malloc() (which memory.sh makes jemalloc's) and beside malloc() with
// a registration. memory.sh runs it and prints ratios.
#include "bench_device.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>

namespace {

using be::bench::Device;
using be::memory::Heap;

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
