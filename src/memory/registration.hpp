// SPDX-License-Identifier: BSD-3-Clause
//
// How regions become known to a device, without knowing the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace be::memory {

// What the device knows a region by.
struct Registration {
    uint32_t lkey = 0;
    uint32_t rkey = 0;
    void *handle  = nullptr; // the registrar's own
};

struct Registrar {
    // Throws std::exception when it cannot: the text becomes the reason of the failed
    // allocation. May be called from any thread, without a lock of this library.
    std::function<Registration(void *address, size_t length)> add;
    std::function<void(const Registration &registration)> remove; // must not throw
};

} // namespace be::memory
