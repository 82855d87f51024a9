// SPDX-License-Identifier: BSD-3-Clause
//
// What the exported ibv_* functions have in common: objects of the soft device are served here, all
// others by the real libibverbs. That is reached through a handle of its own and never through the
// search order, in which programs (UCX) often do not have it.
#pragma once

#include "context.h"
#include "device.h"

#include <infiniband/verbs.h>

// The header hides some functions behind macros; here the functions themselves are defined.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define SOFTRDMA_EXPORT extern "C" __attribute__((visibility("default")))

namespace softrdma {

// The function of the real libibverbs, null when that is absent or does not have it.
void *real_symbol(const char *name, const char *version);

} // namespace softrdma

// The real function of that name and version, looked up once. Null when there is none.
#define SOFTRDMA_REAL(name, version)                                 \
    ([] {                                                            \
        static const auto found = reinterpret_cast<decltype(&name)>( \
                ::softrdma::real_symbol(#name, version));            \
        return found;                                                \
    }())

// Returns from the exported function with what the real one says, for an object that is not ours. Such
// an object came from the real library, so that is there.
#define SOFTRDMA_FORWARD_IF(foreign, name, version, ...)      \
    do {                                                      \
        if (foreign) {                                        \
            return SOFTRDMA_REAL(name, version)(__VA_ARGS__); \
        }                                                     \
    } while (0)

// Returns with an error when the device was removed. What gives back is not refused.
#define SOFTRDMA_CHECK_PRESENT(context, result)                     \
    do {                                                            \
        SOFTRDMA_CHECK_USABLE(context, result);                     \
        if (::softrdma::device_context::from(context)->removed()) { \
            errno = EIO;                                            \
            return result;                                          \
        }                                                           \
    } while (0)

// Returns with an error for an object that a forked child inherited.
#define SOFTRDMA_CHECK_USABLE(context, result) \
    do {                                       \
        if (!::softrdma::is_usable(context)) { \
            errno = EIO;                       \
            return result;                     \
        }                                      \
    } while (0)
