// SPDX-License-Identifier: BSD-3-Clause
//
// What peers may write and read by a remote key while no device checks it for them: the memory that was registered with
// the device for that. A key is judged as the device would: known, within its range, with the right to do that.
//
// Threads: any. While somebody writes or reads, remove() of whatever key waits: memory that it has returned for is not
// touched any more.

#pragma once

#include "memory/fork_mutex.hpp"
#include "verbs/context.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>

namespace be::engine {

enum class Refusal : std::uint8_t {
    none,
    key, // nobody knows it
    range, // not all of it is within what was registered
    rights // not for that
};

// Half a sentence, e.g. "the key is unknown". Never null. Values of no Refusal are fine.
const char *to_string(Refusal refusal) noexcept;

class RemoteKeys {
public:
    // `access`: IBV_ACCESS_*; memory that nobody may reach from afar is left out. Throws std::bad_alloc.
    void add(std::uint32_t key, const void *address, std::size_t length, unsigned access);

    // Not known: ignored.
    void remove(std::uint32_t key) noexcept;

    // Both move no byte unless all may be moved. No bytes need no right. The last bytes are written last, as devices do.
    // `data` is the piece at `offset` of a write of `whole` bytes; it fits, and is judged as all of that.
    Refusal write(std::uint32_t key, std::uint64_t address, std::size_t whole,
                  std::size_t offset, std::span<const std::byte> data) noexcept;
    // `use` is called with the bytes, where they are.
    template<class Use>
    Refusal read(std::uint32_t key, std::uint64_t address, std::size_t length, Use &&use)
    {
        const std::lock_guard lock(m_mutex);
        const Refusal refusal = judge(key, address, length, IBV_ACCESS_REMOTE_READ);
        if (refusal == Refusal::none) {
            use(std::span(reinterpret_cast<const std::byte *>(address), length));
        }
        return refusal;
    }

    // Is that much there, to be read?
    Refusal
    readable(std::uint32_t key, std::uint64_t address, std::size_t length) noexcept;

private:
    struct Range {
        std::uint64_t begin;
        std::uint64_t length;
        unsigned access;
    };

    Refusal judge(std::uint32_t key, std::uint64_t address, std::size_t length,
                  unsigned access) const noexcept;

    memory::ForkMutex m_mutex;
    std::unordered_map<std::uint32_t, Range> m_ranges;
};

} // namespace be::engine
