// SPDX-License-Identifier: BSD-3-Clause

#include "engine/device.hpp"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>

namespace be::engine {
namespace {

const verbs::Table &table_of(const std::string &device, verbs::SoftMode mode)
{
    const verbs::Discovery found = verbs::discover(mode);
    for (const verbs::PortReport &port : found.ports) {
        if (port.device == device) {
            std::string why;
            const verbs::Table *table = port.soft ? verbs::soft(&why) :
                                                    verbs::hardware(&why);
            if (table == nullptr) {
                throw std::runtime_error(why);
            }
            return *table;
        }
    }
    throw std::runtime_error(
            fmt::format("no RDMA device is called \"{}\": {}", device, found.reason));
}

memory::Registrar registrar(const verbs::ProtectionDomain &pd, unsigned access)
{
    return {.add =
                    [&pd, access](void *address, std::size_t length) {
                        auto region = std::make_unique<verbs::MemoryRegion>(pd, address,
                                                                            length,
                                                                            access);
                        const std::uint32_t lkey = region->lkey();
                        const std::uint32_t rkey = region->rkey();
                        return memory::Registration{lkey, rkey, region.release()};
                    },
            .remove =
                    [](const memory::Registration &registration) {
                        delete static_cast<verbs::MemoryRegion *>(registration.handle);
                    }};
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

Device::Device(const std::string &name, verbs::SoftMode mode) :
    m_context(table_of(name, mode), name),
    m_pd(m_context),
    m_local({}, registrar(m_pd, IBV_ACCESS_LOCAL_WRITE)),
    m_remote({}, registrar(m_pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                         IBV_ACCESS_REMOTE_READ))
{
}

} // namespace be::engine
