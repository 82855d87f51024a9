// SPDX-License-Identifier: BSD-3-Clause
#include "memory/arena_impl.hpp"

#include <unistd.h>

#include <algorithm>

namespace be::memory {
namespace {

size_t round_to_units(size_t size)
{
    return (size + region_unit - 1) / region_unit * region_unit;
}

} // namespace

// `wish` bytes, or less where the system or the device does not have them, but `need`.
std::unique_ptr<ArenaRegion> Arena::Impl::map_region(size_t need, size_t wish,
                                                     bool dedicated, uint32_t number,
                                                     std::string &why) const
{
    for (;;) {
        try {
            return std::make_unique<ArenaRegion>(wish, config.region, registrar, number,
                                                 dedicated);
        } catch (const std::bad_alloc &) {
            throw;
        } catch (const std::exception &error) {
            why = error.what();
        }
        if (wish <= need) {
            return nullptr;
        }
        wish = std::max(need, round_to_units(wish / 2));
    }
}

void Arena::Impl::add(std::unique_ptr<ArenaRegion> region)
{
    const Region &memory = region->memory();
    index.insert(memory.data(), memory.length(), {region->registration(), region.get()});
    ++stats.registrations;
    ++stats.regions;
    stats.mapped += memory.length();
    stats.mapped_peak = std::max(stats.mapped_peak, stats.mapped);
    if (note.empty()) {
        note = memory.note();
    }
    const auto base = reinterpret_cast<uintptr_t>(memory.data());
    regions.emplace(base, std::move(region));
}

Arena::Impl::Retired Arena::Impl::release(ArenaRegion &region)
{
    const Region &memory = region.memory();
    --stats.regions;
    stats.mapped -= memory.length();
    ahead_failed = false;
    index.erase(memory.data(), memory.length());
    return regions.extract(reinterpret_cast<uintptr_t>(memory.data()));
}

bool Arena::Impl::grow(Lock &lock, size_t length, std::string &why, ArenaRegion **region)
{
    if (region != nullptr) {
        *region = nullptr;
    }
    // One at a time. In a forked child nobody finishes what a thread of the parent began.
    if ((growing != 0) && (growing == getpid())) {
        grown.wait(lock, [this] { return growing == 0; });
        return true;
    }

    const size_t room = (config.cap - stats.mapped) / region_unit * region_unit;
    const size_t need = round_to_units(length);
    if (need > room) {
        why = "the memory limit of " + std::to_string(config.cap) +
              " bytes is reached: " + std::to_string(stats.mapped) + " are mapped, " +
              std::to_string(stats.used) + " of them in use";
        return false;
    }
    const size_t step     = round_to_units(config.step);
    const bool dedicated  = need > step;
    const size_t wish     = std::max(need, std::min(next_step, room));
    const uint32_t number = next_number++;

    const bool may_notice = !noticed && config.notice;

    growing = getpid();
    lock.unlock();
    std::unique_ptr<ArenaRegion> made;
    std::exception_ptr failure;
    try {
        made = map_region(need, wish, dedicated, number, why);
        if (may_notice && (made != nullptr) && !made->memory().note().empty()) {
            config.notice(made->memory().note());
            noticed = true; // only who grows looks at it
        }
    } catch (...) {
        failure = std::current_exception();
    }
    lock.lock();
    growing = 0;
    grown.notify_all();
    if (failure) {
        std::rethrow_exception(failure);
    }
    if (made == nullptr) {
        return false;
    }

    const size_t mapped = made->memory().length();
    if (!dedicated) {
        // Doubles, unless the system could not give as much as was wished for.
        next_step    = (mapped < wish) ? std::max(mapped, region_unit) :
                                         std::min(std::max(next_step, mapped) * 2, step);
        ahead_failed = false;
    } else if (region != nullptr) {
        *region = made.get();
    }
    add(std::move(made));
    return true;
}

size_t Arena::Impl::free_bytes() const
{
    size_t bytes = 0;
    for (const auto &[base, region] : regions) {
        bytes += region->dedicated() ? 0 : region->free_bytes();
    }
    return bytes;
}

// Somebody waits, or less than a quarter of the last region is left. (next_step is twice
// that region.)
bool Arena::Impl::wants_ahead() const
{
    if ((growing != 0) || (config.cap - stats.mapped < region_unit)) {
        return false;
    }
    return (wanted > 0) || (config.ahead && !ahead_failed && !regions.empty() &&
                            (free_bytes() < next_step / 8));
}

void Arena::Impl::run() noexcept
{
    Lock lock(mutex);
    if (!wants_ahead()) {
        return;
    }
    const size_t length = std::max(wanted, region_unit);
    std::string why;
    wanted = 0;
    try {
        ahead_failed = (length > config.step) || !grow(lock, length, why, nullptr);
        stats.ahead += ahead_failed ? 0 : 1;
    } catch (const std::bad_alloc &) {
        ahead_failed = true; // whoever needs the memory will hear of it
    }
}

} // namespace be::memory
