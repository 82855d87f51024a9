// SPDX-License-Identifier: BSD-3-Clause

#include "engine/registry.hpp"

#include "control/process.hpp"

#include <atomic>
#include <mutex>
#include <tuple>
#include <vector>

namespace be::engine {
namespace {

struct Registry {
    struct OpenDevice {
        std::string name;
        verbs::SoftMode mode;
        std::weak_ptr<Device> device;
    };

    explicit Registry(unsigned process) : generation(process)
    {
    }

    const unsigned generation;
    std::mutex mutex; // held while something is opened: two who come at once share it
    std::vector<OpenDevice> devices;
    std::vector<std::weak_ptr<Fabric>> fabrics;
};

// Of this process: a child's is empty, and its mutex is free whatever the parent's threads were doing. The parent's
// is left as it is.
Registry &registry()
{
    static std::atomic<Registry *> current{nullptr};
    control::initialize_process();
    const unsigned generation = control::process_generation();
    Registry *found           = current.load(std::memory_order_acquire);
    while (found == nullptr || found->generation != generation) {
        auto fresh = std::make_unique<Registry>(generation);
        if (current.compare_exchange_strong(found, fresh.get(),
                                            std::memory_order_acq_rel)) {
            found = fresh.release();
        }
    }
    return *found;
}

auto terms(const be_fabric_config_t &c) noexcept
{
    return std::tie(c.segment_size, c.rx_capacity, c.rx_max, c.tx_queue, c.tx_completions,
                    c.window, c.chunk, c.byte_budget, c.link_rate, c.max_inline,
                    c.path_mtu, c.timeout, c.retry_count, c.traffic_class,
                    c.service_level, c.gid_index, c.peer_timeout, c.connect_timeout,
                    c.recovery, c.max_recoveries, c.fallback, c.fallback_time, c.mux,
                    c.rx_headroom, c.am_alignment, c.am_align_offset);
}

} // namespace

bool compatible(const be_fabric_config_t &one, const be_fabric_config_t &other) noexcept
{
    return terms(one) == terms(other);
}

std::shared_ptr<Device> open_device(const std::string &name, verbs::SoftMode mode)
{
    Registry &shared = registry();
    const std::lock_guard lock(shared.mutex);
    std::erase_if(shared.devices, [](const auto &open) { return open.device.expired(); });
    for (const auto &open : shared.devices) {
        if (open.name == name && open.mode == mode) {
            if (auto device = open.device.lock()) {
                return device;
            }
        }
    }
    auto device = std::make_shared<Device>(name, mode);
    shared.devices.push_back({name, mode, device});
    return device;
}

std::shared_ptr<Fabric> open_fabric(const std::shared_ptr<Device> &device,
                                    std::uint8_t port, const be_fabric_config_t &config)
{
    if (config.mux != BE_MUX_PROCESS) {
        return std::make_shared<Fabric>(device, port, config);
    }
    Registry &shared = registry();
    const std::lock_guard lock(shared.mutex);
    std::erase_if(shared.fabrics, [](const auto &open) { return open.expired(); });
    for (const auto &open : shared.fabrics) {
        if (auto fabric = open.lock();
            fabric != nullptr && fabric->suits(*device, port, config)) {
            return fabric;
        }
    }
    auto fabric = std::make_shared<Fabric>(device, port, config);
    shared.fabrics.push_back(fabric);
    return fabric;
}

} // namespace be::engine
