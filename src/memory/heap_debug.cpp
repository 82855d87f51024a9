// SPDX-License-Identifier: BSD-3-Clause
#include "memory/heap_debug.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace be::memory {
namespace {

constexpr size_t zone              = 64; // bytes in front of and behind a block, at least
constexpr unsigned char zone_byte  = 0xfd;
constexpr unsigned char fresh_byte = 0xcd;
constexpr unsigned char freed_byte = 0xdd;
constexpr size_t keep_bytes        = size_t{16} << 20; // of freed blocks
constexpr size_t keep_blocks       = 4096;

bool holds(const unsigned char *bytes, size_t length, unsigned char value)
{
    return std::all_of(bytes, bytes + length,
                       [value](unsigned char byte) { return byte == value; });
}

std::string hexadecimal(uintptr_t address)
{
    char text[24];
    snprintf(text, sizeof(text), "0x%" PRIxPTR, address);
    return text;
}

} // namespace

Heap::Debug::Debug(ForkMutex &mutex, Arena &arena, Report report) :
    m_mutex(mutex), m_arena(arena), m_report(std::move(report))
{
}

Heap::Debug::~Debug() = default;

void Heap::Debug::add_owner(std::string_view name)
{
    const std::lock_guard<ForkMutex> guard(m_mutex);
    m_owners.emplace_back(name);
}

std::string Heap::Debug::describe(const Records::value_type &entry) const
{
    return "the block of " + std::to_string(entry.second.size) + " bytes at " +
           hexadecimal(entry.first) + " of owner \"" + m_owners[entry.second.owner] +
           "\"";
}

// Appends what is wrong with the block to `found`, once.
void Heap::Debug::examine(Records::value_type &entry, std::string &found) const
{
    Record &record    = entry.second;
    const auto *begin = static_cast<const unsigned char *>(record.block.address);
    const auto *end   = begin + record.block.length;
    const auto *user  = reinterpret_cast<const unsigned char *>(entry.first);
    if (record.blamed) {
        return;
    }

    std::string what;
    if (!holds(begin, static_cast<size_t>(user - begin), zone_byte)) {
        what = "was written in front of";
    } else if (!holds(user + record.size, static_cast<size_t>(end - user) - record.size,
                      zone_byte)) {
        what = "was written past its end";
    } else if (record.freed && !holds(user, record.size, freed_byte)) {
        what = "was written to after it had been freed";
    } else {
        return;
    }
    record.blamed = true;
    found += (found.empty() ? "" : "\n") + describe(entry) + " " + what;
}

// Gives the memory of the block that was freed first back. False: there is none.
bool Heap::Debug::release_oldest(std::string &found)
{
    if (m_freed.empty()) {
        return false;
    }
    const auto entry = m_records.find(m_freed.front());
    m_freed.pop_front();
    m_freed_bytes -= entry->second.block.length;
    examine(*entry, found);
    m_arena.free(entry->second.block);
    m_records.erase(entry);
    return true;
}

void *Heap::Debug::allocate(size_t size, size_t align, size_t length, unsigned owner,
                            std::string *why)
{
    const size_t front = std::max(zone, align);
    if (size > SIZE_MAX / 2) {
        return m_arena.allocate(size, align, why).address; // refused
    }
    std::string found;
    void *address = nullptr;
    {
        const std::lock_guard<ForkMutex> guard(m_mutex);
        Block block = m_arena.allocate(front + size + zone, align, why);
        while (!block && release_oldest(found)) {
            block = m_arena.allocate(front + size + zone, align, why);
        }
        if (block) {
            auto *user = static_cast<unsigned char *>(block.address) + front;
            memset(block.address, zone_byte, block.length);
            memset(user, fresh_byte, size);
            m_records[reinterpret_cast<uintptr_t>(user)] = {block, size,  length,
                                                            owner, false, false};
            address                                      = user;
        }
    }
    report(found);
    return address;
}

size_t Heap::Debug::free(void *address, size_t size, unsigned owner) noexcept
{
    std::string found;
    size_t length = 0;
    {
        const std::lock_guard<ForkMutex> guard(m_mutex);
        const auto entry = m_records.find(reinterpret_cast<uintptr_t>(address));
        if (entry == m_records.end()) {
            found = "owner \"" + m_owners[owner] + "\" freed " +
                    hexadecimal(reinterpret_cast<uintptr_t>(address)) +
                    ", where no block begins";
        } else if (entry->second.freed) {
            found = describe(*entry) + " was freed twice, now by owner \"" +
                    m_owners[owner] + "\"";
        } else {
            Record &record = entry->second;
            if ((size != 0) && (size != record.size)) {
                found = describe(*entry) + " was freed as one of " +
                        std::to_string(size) + " bytes";
            } else if ((size != 0) && (owner != record.owner)) {
                found = describe(*entry) + " was freed by owner \"" + m_owners[owner] +
                        "\"";
            }
            examine(*entry, found);
            memset(address, freed_byte, record.size);
            record.freed = true;
            length       = record.length;
            m_freed_bytes += record.block.length;
            m_freed.push_back(entry->first);
            while ((m_freed_bytes > keep_bytes) || (m_freed.size() > keep_blocks)) {
                release_oldest(found);
            }
        }
    }
    report(found);
    return length;
}

void Heap::Debug::check() noexcept
{
    std::string found;
    {
        const std::lock_guard<ForkMutex> guard(m_mutex);
        for (auto &entry : m_records) {
            examine(entry, found);
        }
    }
    report(found);
}

void Heap::Debug::release_all() noexcept
{
    std::string found;
    {
        const std::lock_guard<ForkMutex> guard(m_mutex);
        while (release_oldest(found)) {
        }
    }
    report(found);
}

void Heap::Debug::report(const std::string &found) const noexcept
{
    if (found.empty()) {
        return;
    }
    if (m_report) {
        m_report(found);
        return;
    }
    fprintf(stderr, "memory: %s\n", found.c_str());
    abort();
}

} // namespace be::memory
