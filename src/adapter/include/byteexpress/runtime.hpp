// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <byteexpress/export.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace be {

/** What a thread of the runtime does while nothing happens. */
enum class Progress {
    polling, //< polls for ever: lowest latency, one core busy for each thread
    event_driven, //< sleeps at once
    adaptive, //< polls for RuntimeOptions::spin, then sleeps
};

/** What a runtime is made with. */
struct RuntimeOptions {
    /** Threads, each with a UCP worker of its own: 1 to 256. */
    unsigned threads = 1;

    /** What its threads do while nothing happens. */
    Progress progress = Progress::adaptive;

    /** How long to poll before sleeping (adaptive); at most a second. */
    std::chrono::microseconds spin{100};

    /**
     * Binds thread i to the i-th core that this process may use (through hwloc), to its
     * first hardware thread; with more threads than cores they take turns.
     */
    bool pin = false;

    /**
     * A secret that servers and channels share: 16 to 1024 bytes. Neither talks to whoever
     * does not prove to know it; it is never sent. Empty: the variable BE_TOKEN, and if that
     * is not set, anybody who reaches a server's address may call it.
     */
    std::string token = {};
};

/** Totals since the start, summed over the threads. */
struct RuntimeStats {
    std::uint64_t sent       = 0; //< messages
    std::uint64_t received   = 0; //< messages
    std::uint64_t sleeps     = 0; //< times that a thread went to sleep
    std::uint64_t failures   = 0; //< connections that failed
    std::uint64_t violations = 0; //< messages refused because they broke the protocol
    std::uint64_t calls      = 0; //< calls of channels that ended, however
    std::uint64_t retries    = 0; //< further attempts of calls
    std::uint64_t requests   = 0; //< requests whose handler was run
};

namespace adapter {
class Workers;
}

/**
 * The UCP context and the threads that servers and channels live on. UCX's own variables
 * (UCX_TLS, UCX_NET_DEVICES) choose the transport.
 *
 * A process needs one; several do not disturb each other. Servers and channels keep
 * what they need of the runtime alive, but stop working when it is destroyed: calls
 * under way end with Status::closed or connection_lost.
 *
 * Threads: any function from any thread. Not to be destroyed on one of its own threads.
 * fork(): the child must not use it.
 */
class BE_API Runtime {
public:
    /** @throws Error naming the option and its range, or what UCX says. */
    explicit Runtime(const RuntimeOptions &options = {});
    ~Runtime();
    Runtime(const Runtime &)            = delete;
    Runtime &operator=(const Runtime &) = delete;

    /** What it was made with. */
    const RuntimeOptions &options() const noexcept;
    /** Not of one moment while messages come and go. */
    RuntimeStats stats() const noexcept;

    /** What could not be done as asked (binding of threads), one sentence each. */
    std::vector<std::string> notes() const;

    /** For the library's other parts. */
    const std::shared_ptr<adapter::Workers> &workers() const noexcept
    {
        return m_workers;
    }

private:
    std::shared_ptr<adapter::Workers> m_workers;
};

/** "0.1.0 (UCX 1.13.1)". */
BE_API std::string version();

} // namespace be
