// SPDX-License-Identifier: BSD-3-Clause

#include "policy.hpp"

#include "baseline.hpp"
#include "product.hpp"

namespace be::sim {

const char *to_string(Policy policy)
{
    switch (policy) {
    case Policy::none:
        return "none";
    case Policy::fixed:
        return "static";
    case Policy::swift:
        return "swift";
    case Policy::product:
        break;
    }
    return "product";
}

std::unique_ptr<Driver> make_driver(const PolicyConfig &config, World &world,
                                    uint32_t host, const std::string &trace)
{
    if (config.policy == Policy::product) {
        return std::make_unique<Product>(config, world, host, trace);
    }
    return std::make_unique<Baseline>(config, world, host);
}

} // namespace be::sim
