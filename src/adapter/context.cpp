// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/context.hpp"

#include <cstdlib>

namespace be::adapter {

void require(ucs_status_t status, const std::string &what)
{
    if (status != UCS_OK) {
        throw Error(Status::unreachable, what + ": " + ucs_status_string(status));
    }
}

Context::Context()
{
    // A server that restarts wants its port back while connections to it are still ending.
    // UCX takes this from the environment only; what the user has set stays.
    setenv("UCX_CM_REUSEADDR", "y", 0);

    ucp_config_t *config = nullptr;
    require(ucp_config_read(nullptr, nullptr, &config),
            "UCX cannot read its configuration (variables UCX_*)");

    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED |
                        UCP_PARAM_FIELD_NAME;
    params.features          = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.mt_workers_shared = 1;
    params.name              = "byteexpress";

    const ucs_status_t status = ucp_init(&params, config, &m_context);
    ucp_config_release(config);
    require(status, "UCX finds no transport that can be used (see UCX_TLS and "
                    "UCX_NET_DEVICES)");
}

Context::~Context()
{
    ucp_cleanup(m_context);
}

} // namespace be::adapter
