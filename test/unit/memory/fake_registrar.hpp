// SPDX-License-Identifier: BSD-3-Clause
//
// Registers by number, and can be told to refuse: what a device does, without one.
#pragma once

#include "memory/arena.hpp"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

namespace be::memory::test {

class FakeRegistrar {
public:
    // The arena keeps references: the object stays where it is.
    Registrar callbacks()
    {
        return {[this](void *address, size_t length) { return add(address, length); },
                [this](const Registration &registration) { remove(registration); }};
    }

    uint64_t added    = 0;
    uint64_t wrong    = 0; // removals of what was not registered
    size_t largest    = SIZE_MAX; // bytes: above it, registration is refused
    size_t bytes_left = SIZE_MAX; // bytes that may still be registered

    struct Range {
        uintptr_t begin;
        size_t length;
    };
    std::map<uint32_t, Range> ranges; // by lkey

private:
    Registration add(void *address, size_t length)
    {
        if ((length > largest) || (length > bytes_left)) {
            throw std::runtime_error("refused " + std::to_string(length) + " bytes");
        }
        bytes_left -= length;
        ++added;
        const auto lkey = static_cast<uint32_t>(added);
        ranges[lkey]    = {reinterpret_cast<uintptr_t>(address), length};
        return {lkey, lkey + 0x10000, this};
    }

    void remove(const Registration &registration)
    {
        const auto found = ranges.find(registration.lkey);
        if ((found == ranges.end()) || (registration.handle != this)) {
            ++wrong;
            return;
        }
        bytes_left += found->second.length;
        ranges.erase(found);
    }
};

// Ordinary pages: these tests are about bookkeeping.
inline ArenaConfig small_arena(size_t step, size_t cap)
{
    ArenaConfig config;
    config.step              = step;
    config.cap               = cap;
    config.region.huge_pages = false;
    return config;
}

} // namespace be::memory::test
