// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/ps/table.hpp"

#include <cstring>

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

} // namespace

Table::Item Table::find(Key key) const
{
    const Part &part = m_parts[index_of(key)];
    std::lock_guard lock(part.mutex);
    const auto at = part.items.find(key);
    return (at == part.items.end()) ? Item() : at->second;
}

bool Table::apply(Key key, Rule rule, float rate, std::span<const std::byte> pushed)
{
    Part &part = m_parts[index_of(key)];
    std::lock_guard lock(part.mutex);
    const auto found  = part.items.find(key);
    const bool is_new = found == part.items.end();

    if ((rule == Rule::sum) || (rule == Rule::sgd)) {
        if ((pushed.size() % sizeof(float) != 0) ||
            (!is_new && (found->second.bytes->size() != pushed.size()))) {
            return false;
        }
    }
    Item &item = is_new ? part.items[key] : found->second;
    if (rule == Rule::assign) {
        if (!is_new && (item.bytes.use_count() == 1)) {
            item.bytes->assign(pushed.begin(), pushed.end());
        } else {
            item.bytes = std::make_shared<Bytes>(pushed.begin(), pushed.end());
        }
    } else {
        if (is_new) { // numbers begin at 0
            item.bytes = std::make_shared<Bytes>(rule == Rule::user ? 0 : pushed.size());
        } else if (item.bytes.use_count() != 1) {
            item.bytes = std::make_shared<Bytes>(*item.bytes);
        }
        switch (rule) {
        case Rule::sum:
            add(item.bytes->data(), pushed.data(), pushed.size(), 1);
            break;
        case Rule::sgd:
            add(item.bytes->data(), pushed.data(), pushed.size(), -rate);
            break;
        default:
            m_update(key, *item.bytes, pushed, rate);
        }
    }
    item.version++;
    return true;
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
