// SPDX-License-Identifier: BSD-3-Clause

#include "engine/device.hpp"

#include "engine/limits.hpp"
#include "engine/log.hpp"
#include "verbs/error.hpp"
#include "verbs/lockable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace be::engine {
namespace {

verbs::PortReport find(const std::string &device, verbs::SoftMode mode)
{
    const verbs::Discovery found = verbs::discover(mode);
    for (const verbs::PortReport &port : found.ports) {
        if (port.device == device) {
            return port;
        }
    }
    throw std::runtime_error(
            fmt::format("no RDMA device is called \"{}\": {}", device, found.reason));
}

const verbs::Table &table_of(const verbs::PortReport &port)
{
    std::string why;
    const verbs::Table *table = port.soft ? verbs::soft(&why) : verbs::hardware(&why);
    if (table == nullptr) {
        throw std::runtime_error(why);
    }
    return *table;
}

// Near the device. `local`: for our own buffers, whose next region is mapped before the last one is used up. Where little
// memory can be locked they take a quarter of it, so that the rest is there for what the application sends from.
memory::ArenaConfig arena_config(const verbs::PortReport &port, bool local)
{
    memory::ArenaConfig config;
    const std::uint64_t lockable = verbs::lockable_memory(port.soft);
    if (lockable != verbs::no_limit) {
        const std::size_t share = std::max<std::size_t>(lockable / 4 /
                                                                memory::region_unit,
                                                        1) *
                                  memory::region_unit;
        config.first = std::min(config.first, share);
        config.step  = std::min(config.step, share);
        config.cap   = local ? share : config.cap;
    }
    config.ahead            = local;
    config.region.numa_node = port.numa_node;
    config.notice           = [device = port.device](const std::string &what) {
        static std::atomic_flag said;
        if (!said.test_and_set()) {
            log(BE_LOG_INFO, "{}: buffers are not all they could be: {}", device, what);
        }
    };
    return config;
}

} // namespace

verbs::SoftMode to_verbs(be_soft_mode_t mode) noexcept
{
    switch (mode) {
    case BE_SOFT_YES:
        return verbs::SoftMode::yes;
    case BE_SOFT_NO:
        return verbs::SoftMode::no;
    case BE_SOFT_AUTO:
        break;
    }
    return verbs::SoftMode::automatic;
}

Device::Device(const std::string &name, verbs::SoftMode mode) : Device(find(name, mode))
{
}

Device::Device(const verbs::PortReport &port) :
    m_context(table_of(port), port.device),
    m_zero_copy(verbs::lockable_memory(port.soft) >= least_lockable_for_zero_copy),
    m_pd(m_context),
    m_events(m_context),
    m_local(arena_config(port, true), registrar(IBV_ACCESS_LOCAL_WRITE)),
    m_remote(arena_config(port, false),
             registrar(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                       IBV_ACCESS_REMOTE_READ))
{
    if (!m_zero_copy) {
        log(BE_LOG_INFO, "{}: large messages are copied, which costs speed: {}",
            port.device, verbs::registration_hint(ENOMEM, port.soft));
    }
}

memory::Registrar Device::registrar(unsigned access)
{
    return {.add =
                    [this, access](void *address, std::size_t length) {
                        m_registrations.fetch_add(1, std::memory_order_relaxed);
                        auto region = std::make_unique<verbs::MemoryRegion>(m_pd, address,
                                                                            length,
                                                                            access);
                        const std::uint32_t lkey = region->lkey();
                        const std::uint32_t rkey = region->rkey();
                        m_keys.add(rkey, address, length, access);
                        return memory::Registration{lkey, rkey, region.release()};
                    },
            .remove =
                    [this](const memory::Registration &registration) {
                        m_keys.remove(registration.rkey);
                        delete static_cast<verbs::MemoryRegion *>(registration.handle);
                    }};
}

} // namespace be::engine
