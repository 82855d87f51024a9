// SPDX-License-Identifier: BSD-3-Clause
//
// BE_CORE_INVARIANT(condition): what the code around it guarantees whatever the input. A debug
// build (BE_ENABLE_ASSERT) stops where it is broken; others do not evaluate it.

#pragma once

#include <cstdlib>

#ifdef BE_ENABLE_ASSERT
#define BE_CORE_INVARIANT(condition) ((condition) ? static_cast<void>(0) : std::abort())
#else
#define BE_CORE_INVARIANT(condition) static_cast<void>(sizeof(!(condition)))
#endif
