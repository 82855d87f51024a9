// SPDX-License-Identifier: BSD-3-Clause
//
// Whether this is built with a sanitizer that keeps freed memory for a while, or needs more for itself: what a process
// takes then says nothing about leaks.

#pragma once

namespace be::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer) ||
                                  __has_feature(thread_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

} // namespace be::test
