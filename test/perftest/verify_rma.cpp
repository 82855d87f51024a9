// SPDX-License-Identifier: BSD-3-Clause
/* Remote memory: put and get of all sizes, many small ones, allocated memory, order. */
#include "verify.hpp"

#include <algorithm>
#include <cstring>

namespace be::test {

namespace {

void put(Trial &trial, const void *data, std::size_t length, const RemoteMemory &remote,
         std::size_t offset)
{
    ucp_request_param_t param{};
    trial.node.wait(ucp_put_nbx(trial.node.ep(), data, length, remote.at(offset),
                                remote.key(), &param),
                    "put");
}

ucs_status_ptr_t get(Trial &trial, void *data, std::size_t length,
                     const RemoteMemory &remote, std::size_t offset)
{
    ucp_request_param_t param{};
    return ucp_get_nbx(trial.node.ep(), data, length, remote.at(offset), remote.key(),
                       &param);
}

/* This side's memory, and the other side's. */
struct Window {
    Window(Trial &trial, void *address, std::size_t length) :
        local(trial.node, address, length),
        remote(trial.node.ep(), trial.node.exchange(local.pack(), "memory keys"))
    {
    }

    SharedMemory local;
    RemoteMemory remote;
};

void put_whole(Trial &trial)
{
    GuardedBuffer out(trial.size, 3), in(trial.size, 1);
    out.fill(trial.seed_out);
    Window window(trial, in.data(), in.size());
    put(trial, out.data(), out.size(), window.remote, 0);
    trial.node.flush();
    trial.node.barrier("both puts are flushed");
    in.check(trial.seed_in, "memory after put");
}

void get_whole(Trial &trial)
{
    GuardedBuffer source(trial.size, 3), in(trial.size, 1);
    source.fill(trial.seed_out);
    Window window(trial, source.data(), source.size());
    trial.node.wait(get(trial, in.data(), in.size(), window.remote, 0), "get");
    in.check(trial.seed_in, "memory after get");
    trial.node.barrier("both gets are through");
    source.check(trial.seed_out, "source of get");
}

/* Memory that UCX allocates, with put and get of its parts. */
void allocated(Trial &trial)
{
    Window window(trial, nullptr, trial.size);
    GuardedBuffer out(trial.size), in(trial.size);
    out.fill(trial.seed_out);
    std::memset(window.local.address(), 0, trial.size);
    trial.node.barrier("both memories are cleared");
    const std::size_t middle = trial.size / 3;
    put(trial, out.data() + middle, trial.size - middle, window.remote, middle);
    put(trial, out.data(), middle, window.remote, 0);
    trial.node.flush();
    trial.node.wait(get(trial, in.data(), trial.size, window.remote, 0), "get");
    in.check(trial.seed_out, "got back what was put");
    trial.node.barrier("both are through");
    pattern_check(window.local.address(), trial.size, trial.seed_in, "allocated memory");
}

/* A thousand puts and gets of odd lengths, side by side, and nothing between them. */
void scattered(Trial &trial)
{
    constexpr std::size_t COUNT = 1000, STRIDE = 200;
    const auto length = [](std::size_t i) { return 1 + (i * 37) % (STRIDE - 1); };
    GuardedBuffer out(COUNT * STRIDE), memory(COUNT * STRIDE), in(COUNT * STRIDE);
    out.fill(trial.seed_out);
    std::memset(memory.data(), 0, memory.size());
    std::memset(in.data(), 0, in.size());
    Window window(trial, memory.data(), memory.size());
    ucp_request_param_t param{};
    std::vector<ucs_status_ptr_t> requests;
    for (std::size_t i = 0; i < COUNT; ++i) {
        requests.push_back(ucp_put_nbx(trial.node.ep(), out.data() + i * STRIDE,
                                       length(i), window.remote.at(i * STRIDE),
                                       window.remote.key(), &param));
    }
    trial.node.flush();
    for (std::size_t i = 0; i < COUNT; ++i) {
        requests.push_back(
                get(trial, in.data() + i * STRIDE, length(i), window.remote, i * STRIDE));
    }
    for (const auto request : requests) {
        trial.node.wait(request, "small put or get");
    }
    trial.node.barrier("both are through");
    for (std::size_t i = 0; i < COUNT; ++i) {
        const std::size_t at = i * STRIDE, gap = at + length(i);
        const auto is_clear    = [](std::uint8_t byte) { return byte == 0; };
        const std::string what = "piece " + std::to_string(i);
        pattern_check(memory.data() + at, length(i), trial.seed_in, what + " put", at);
        pattern_check(in.data() + at, length(i), trial.seed_out, what + " got", at);
        expect(std::all_of(memory.data() + gap, memory.data() + at + STRIDE, is_clear),
               what + ": put wrote behind its end");
    }
    memory.check_guards("memory of puts");
    in.check_guards("memory of gets");
}

/* Data, fence, flag: who sees the flag sees the data. */
void fenced(Trial &trial)
{
    if (trial.sleeping) {
        return; /* a store into memory is no event */
    }
    constexpr unsigned ROUNDS = 20;
    std::vector<std::uint8_t> memory(trial.size + 16), out(trial.size);
    Window window(trial, memory.data(), memory.size());
    /* The flag lies behind the data, aligned. */
    const auto base      = reinterpret_cast<std::uintptr_t>(memory.data());
    const auto offset_of = [&](std::uint64_t address) {
        return (address + trial.size + 7) / 8 * 8 - address;
    };
    auto *flag = reinterpret_cast<volatile std::uint64_t *>(base + offset_of(base));
    const std::size_t remote_flag = offset_of(window.remote.at(0));
    for (std::uint64_t round = 1; round <= ROUNDS; ++round) {
        pattern_fill(out.data(), out.size(), trial.seed_out + round);
        put(trial, out.data(), out.size(), window.remote, 0);
        check(ucp_worker_fence(trial.node.worker()), "ucp_worker_fence");
        put(trial, &round, sizeof(round), window.remote, remote_flag);
        trial.node.until([&] { return *flag == round; }, "flag " + std::to_string(round));
        pattern_check(memory.data(), trial.size, trial.seed_in + round,
                      "data under the flag");
        trial.node.flush();
        trial.node.barrier("both looked");
    }
}

constexpr Case CASES[] = {
        {"put", put_whole},
        {"get", get_whole},
        {"rma/allocated", allocated, 3},
        {"rma/scattered", scattered, 1, 1},
        {"rma/fenced", fenced, 8, 1 << 20},
};

} // namespace

std::span<const Case> rma_cases()
{
    return CASES;
}

} // namespace be::test
