// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** Marks what the library exports; everything else in it is hidden. */
#define BE_API __attribute__((visibility("default")))
