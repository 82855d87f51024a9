// SPDX-License-Identifier: BSD-3-Clause
#include "key_values.h"

namespace softrdma {

std::vector<std::string> split(std::string_view text, char separator)
{
    std::vector<std::string> parts;
    while (!text.empty()) {
        size_t end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        text = (end == std::string_view::npos) ? std::string_view() :
                                                 text.substr(end + 1);
    }
    return parts;
}

key_value to_key_value(std::string_view text)
{
    size_t sign = text.find('=');
    if (sign == std::string_view::npos) {
        return {std::string(text), ""};
    }
    return {std::string(text.substr(0, sign)), std::string(text.substr(sign + 1))};
}

} // namespace softrdma
