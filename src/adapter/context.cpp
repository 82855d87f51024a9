// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/context.hpp"

namespace be::adapter {

void require(ucs_status_t status, const std::string &what)
{
    if (status != UCS_OK) {
        throw Error(Status::unreachable, what + ": " + ucs_status_string(status));
    }
}

Context::Context()
{
    ucp_config_t *config = nullptr;
    require(ucp_config_read(nullptr, nullptr, &config),
            "UCX cannot read its configuration (variables UCX_*)");

    // Endpoints are paired when they are made, not with the first large message: see
    // Worker::create(). A release that does not know this pairs them by itself.
    (void)ucp_config_modify(config, "RESOLVE_REMOTE_EP_ID", "y");

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
    m_pool.emplace(m_context);
}

Context::~Context()
{
    m_pool.reset();
    ucp_cleanup(m_context);
}

} // namespace be::adapter
