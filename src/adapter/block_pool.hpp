// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for large bodies that is used again: fresh pages cost more to touch, and to
// register, than the transfer that fills them.
#pragma once

#include <cstddef>
#include <memory>

namespace be::adapter {

// `size` bytes, undefined; goes back to the pool with the last reference. Any thread.
// Throws std::bad_alloc.
std::shared_ptr<std::byte[]> pooled(size_t size);

} // namespace be::adapter
