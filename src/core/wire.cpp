// SPDX-License-Identifier: BSD-3-Clause

#include "core/wire.hpp"

namespace be::core {

const char *describe(DecodeError error)
{
    switch (error) {
    case DecodeError::none:
        return "valid header";
    case DecodeError::truncated:
        return "truncated header, expected at least 16 bytes";
    case DecodeError::version:
        return "unknown header version, expected 2";
    case DecodeError::kind:
        return "unknown header kind, expected 1 (am) or 2 (credit)";
    case DecodeError::reserved:
        return "reserved header bits are set, expected 0";
    }
    return "unknown header error";
}

} // namespace be::core
