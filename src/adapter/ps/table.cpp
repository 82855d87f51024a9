// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/ps/table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace be::ps {

namespace {

// value += factor * pushed. Neither need be aligned.
void add(std::byte *value, const std::byte *pushed, size_t length, float factor)
{
    for (size_t i = 0; i < length; i += sizeof(float)) {
        float a, b;
        std::memcpy(&a, value + i, sizeof(a));
        std::memcpy(&b, pushed + i, sizeof(b));
        a += factor * b;
        std::memcpy(value + i, &a, sizeof(a));
    }
}

// Numbers begin at 0.
Stored zeros(size_t size)
{
    Stored value(size, 0);
    std::memset(value.data(), 0, size);
    return value;
}

} // namespace

Stored Table::find(Key key) const
{
    const Part &part = m_parts[index_of(key)];
    std::lock_guard lock(part.mutex);
    const auto at = part.items.find(key);
    return (at == part.items.end()) ? Stored() : at->second;
}

bool Table::apply(Key key, Rule rule, float rate, std::span<const std::byte> pushed)
{
    Part &part = m_parts[index_of(key)];
    std::lock_guard lock(part.mutex);
    const auto found       = part.items.find(key);
    const bool is_new      = found == part.items.end();
    const uint64_t version = (is_new ? 0 : found->second.version()) + 1;
    Stored *in_place = (!is_new && found->second.unique()) ? &found->second : nullptr;
    Stored next; // what takes its place, if it is not changed in place

    switch (rule) {
    case Rule::assign:
        if ((in_place != nullptr) && (in_place->size() == pushed.size())) {
            std::copy(pushed.begin(), pushed.end(), in_place->data());
        } else {
            in_place = nullptr;
            next     = Stored(pushed, version);
        }
        break;
    case Rule::sum:
    case Rule::sgd:
        if ((pushed.size() % sizeof(float) != 0) ||
            (!is_new && (found->second.size() != pushed.size()))) {
            return false;
        }
        if (in_place == nullptr) {
            next = is_new ? zeros(pushed.size()) : Stored(found->second.bytes(), version);
        }
        add(((in_place != nullptr) ? *in_place : next).data(), pushed.data(),
            pushed.size(), (rule == Rule::sum) ? 1 : -rate);
        break;
    case Rule::user:
        in_place = nullptr;
        next     = updated(key, is_new ? Stored() : found->second, pushed, rate);
        break;
    }
    if (in_place != nullptr) {
        in_place->set_version(version);
        return true;
    }
    next.set_version(version);
    if (is_new) {
        part.items.emplace(key, std::move(next));
    } else {
        found->second = std::move(next);
    }
    return true;
}

Stored Table::updated(Key key, const Stored &value, std::span<const std::byte> pushed,
                      float rate) const
{
    std::vector<std::byte> bytes;
    if (value) {
        bytes.assign(value.bytes().begin(), value.bytes().end());
    }
    m_update(key, bytes, pushed, rate);
    return {bytes, 0};
}

size_t Table::size() const
{
    size_t count = 0;

    for (const Part &part : m_parts) {
        std::lock_guard lock(part.mutex);
        count += part.items.size();
    }
    return count;
}

} // namespace be::ps
