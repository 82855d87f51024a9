// SPDX-License-Identifier: BSD-3-Clause
//
// The values, in parts that are locked one by one.
//
// A value that is being sent is not changed: a push then works on a copy. So a pull holds
// a lock only for as long as it takes to count a reference.
#pragma once

#include "adapter/ps/stored.hpp"

#include <byteexpress/ps.hpp>

#include <array>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace be::ps {

class Table {
public:
    using Update = decltype(ServerOptions::update);

    explicit Table(Update update) : m_update(std::move(update))
    {
    }

    // Nothing: no such key.
    Stored find(Key key) const;

    // False: another length, nothing was changed.
    bool apply(Key key, Rule rule, float rate, std::span<const std::byte> pushed);

    size_t size() const;

    // Calls `visit(key, value)` for all, without any lock held.
    template<class Visit>
    void for_each(Visit &&visit) const
    {
        for (const Part &part : m_parts) {
            std::vector<std::pair<Key, Stored>> items;
            {
                std::lock_guard lock(part.mutex);
                items.assign(part.items.begin(), part.items.end());
            }
            for (const auto &[key, value] : items) {
                visit(key, value);
            }
        }
    }

private:
    struct alignas(64) Part {
        mutable std::mutex mutex;
        std::unordered_map<Key, Stored> items;
    };

    // What Rule::user makes of it.
    Stored updated(Key key, const Stored &value, std::span<const std::byte> pushed,
                   float rate) const;

    static size_t index_of(Key key) noexcept
    {
        return (key * 0x9E3779B97F4A7C15u) >> 58;
    }

    const Update m_update;
    std::array<Part, 64> m_parts;
};

} // namespace be::ps
