// SPDX-License-Identifier: BSD-3-Clause
//
// put_zcopy of 1 MiB between two fabrics of this process: from memory of the allocator,
// which the device knows, and from memory of malloc(), which has to be registered first.
// Both include allocating it, and giving it back. memory.sh prints the ratio.
#include "bench_device.hpp"

#include <benchmark/benchmark.h>

#include <cstring>

namespace {

using be::bench::Device;

constexpr size_t length = size_t{1} << 20;

class Fabrics {
public:
    static Fabrics &instance()
    {
        static auto *const fabrics = new Fabrics;
        return *fabrics;
    }

    // Returns when it is complete.
    void put(void *data, uint32_t lkey)
    {
        const be_sge_t sge = {data, length, lkey};
        bool done          = false;
        be_status_t status;
        const auto remote = reinterpret_cast<uintptr_t>(m_target_memory.address);
        do {
            status = be_put_zcopy(m_peer, &sge, 1, remote, m_target_memory.rkey, &done);
            progress();
        } while (status == BE_ERR_NO_RESOURCE);
        while ((status == BE_INPROGRESS) && !done) {
            progress();
        }
        if ((status != BE_OK) && (status != BE_INPROGRESS)) {
            fail("put", status);
        }
    }

    // Of what was put last.
    const void *target() const
    {
        return m_target_memory.address;
    }

private:
    Fabrics() : m_initiator(open()), m_target(open())
    {
        uint8_t address[BE_FABRIC_ADDR_LEN];
        be_fabric_address(m_target, address);
        be_status_t status = be_peer_get(m_initiator, address, &m_peer);
        if (status == BE_OK) {
            status = be_mem_alloc(Device::instance().md(), length, &m_target_memory);
        }
        if (status != BE_OK) {
            fail("set up", status);
        }
    }

    [[noreturn]] static void fail(const char *what, be_status_t status)
    {
        fprintf(stderr, "cannot %s: %s\n", what, be_status_string(status));
        exit(1);
    }

    static be_fabric_t *open()
    {
        static const be_fabric_callbacks_t callbacks = {
                nullptr, [](void *, uint8_t, void *, size_t, int) { return BE_RX_DONE; },
                [](void *, void *comp, be_status_t status) {
                    if (status != BE_OK) {
                        fail("complete", status);
                    }
                    *static_cast<bool *>(comp) = true;
                },
                [](void *, void *, void *, const void *, size_t) {},
                [](void *, be_peer_t *, be_status_t status) { fail("reach", status); }};
        Device &device = Device::instance();
        be_fabric_config_t config;
        be_fabric_config_defaults(&device.port(), &config);
        be_fabric_t *fabric;
        const be_status_t status = be_fabric_create(device.md(), device.port().port,
                                                    &config, &callbacks, &fabric);
        if (status != BE_OK) {
            fail("create a fabric", status);
        }
        return fabric;
    }

    void progress()
    {
        be_fabric_progress(m_initiator);
        be_fabric_progress(m_target);
    }

    be_fabric_t *m_initiator;
    be_fabric_t *m_target;
    be_peer_t *m_peer = nullptr;
    be_mem_t m_target_memory{};
};

// What an application does before it sends: the memory is written.
void fill(void *data, size_t round)
{
    memset(data, static_cast<int>(round & 0xff), length);
}

void check(benchmark::State &state, size_t round)
{
    const auto *bytes = static_cast<const uint8_t *>(Fabrics::instance().target());
    if ((bytes[0] != (round & 0xff)) || (bytes[length - 1] != (round & 0xff))) {
        state.SkipWithError("wrong content");
    }
}

void put_from_heap(benchmark::State &state)
{
    auto &heap   = Device::instance().heap();
    size_t round = 0;
    for (auto _ : state) {
        void *block = heap.allocate(length);
        be::memory::Registration registration;
        if ((block == nullptr) || !heap.find(block, &registration)) {
            state.SkipWithError("no memory");
            break;
        }
        fill(block, ++round);
        Fabrics::instance().put(block, registration.lkey);
        heap.free(block, length);
    }
    check(state, round);
}

void put_from_malloc(benchmark::State &state)
{
    Device &device = Device::instance();
    size_t round   = 0;
    for (auto _ : state) {
        void *block = malloc(length);
        fill(block, ++round);
        be_mem_t mem = device.add(block, length);
        Fabrics::instance().put(block, mem.lkey);
        device.remove(&mem);
        free(block);
    }
    check(state, round);
}

BENCHMARK(put_from_heap)->Arg(length)->UseRealTime();
BENCHMARK(put_from_malloc)->Arg(length)->UseRealTime();

} // namespace
