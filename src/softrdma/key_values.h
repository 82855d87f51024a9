// SPDX-License-Identifier: BSD-3-Clause
//
// "key=value,key=value": the form of SOFTRDMA_FAULT and SOFTRDMA_FABRIC, and, as separate words, of the
// arguments of the program `softrdma`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softrdma {

// The parts of a text between separators; none of an empty text.
std::vector<std::string> split(std::string_view text, char separator);

struct key_value {
    std::string key;
    std::string value; // empty when there is no '='
};

key_value to_key_value(std::string_view text);

} // namespace softrdma
