// SPDX-License-Identifier: BSD-3-Clause
//
// A table in a file: "BEPS", u32 format (1), then { u64 key, u64 length, bytes } for each
// value, then u64 count and u64 check, which is FNV-1a over all bytes before it.
#pragma once

#include "adapter/ps/table.hpp"

#include <string>

namespace be::ps {

// Throws std::system_error.
void save_table(const Table &table, const std::string &path);

// Throws std::runtime_error; then nothing was changed.
void load_table(Table &table, const std::string &path);

} // namespace be::ps
