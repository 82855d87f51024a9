/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration variables, all UCX_BE_*: UCX's parser fills these structures from the environment
 * and ucx.conf. docs/ucx.md explains each.
 */
#ifndef UCX_BE_OPTIONS_H
#define UCX_BE_OPTIONS_H

#include "compat.h"
#include "devices.h"

#include <engine/c_api.h>

/* How uct_md_mem_reg() registers memory. */
typedef enum {
    UCT_BE_REG_RCACHE, /* through a cache of registrations */
    UCT_BE_REG_DIRECT, /* a registration with the device each time */
    UCT_BE_REG_LAST
} uct_be_reg_t;

typedef enum {
    UCT_BE_BYTE_CREDIT_AUTO,
    UCT_BE_BYTE_CREDIT_YES,
    UCT_BE_BYTE_CREDIT_NO,
    UCT_BE_BYTE_CREDIT_LAST
} uct_be_byte_credit_t;

typedef struct uct_be_md_config {
    uct_md_config_t super;
    unsigned soft; /* be_soft_mode_t */
    unsigned resource_name; /* uct_be_resource_name_t */
    unsigned reg; /* uct_be_reg_t */
    struct {
        unsigned event_priority;
        unsigned long max_regions;
        size_t max_size;
        size_t max_unreleased;
        int purge_on_fork;
    } rcache;
} uct_be_md_config_t;

typedef struct uct_be_iface_config {
    uct_iface_config_t super;
    unsigned mux; /* be_mux_t */
    size_t segment_size;
    unsigned long rx_queue_len;
    unsigned long rx_max;
    unsigned tx_queue_len;
    size_t window;
    size_t chunk;
    unsigned byte_credit; /* uct_be_byte_credit_t */
    size_t byte_budget;
    size_t link_rate;
    unsigned long max_inline;
    unsigned path_mtu; /* index into the names of MTUs: as ibv_mtu, 0 the port's */
    ucs_time_t timeout;
    unsigned long retry_count;
    unsigned long traffic_class;
    unsigned long service_level;
    unsigned long gid_index;
    ucs_time_t peer_timeout;
    ucs_time_t connect_timeout;
    int recovery;
    unsigned long max_recoveries;
    unsigned fallback; /* be_fallback_t */
    char *stats; /* "auto", "no" or a folder */
    char *metrics; /* where to serve them; "": nowhere */
} uct_be_iface_config_t;

extern ucs_config_field_t uct_be_md_config_table[];
extern ucs_config_field_t uct_be_iface_config_table[];

/*
 * The engine's configuration for `port`: its defaults where the user said "auto", else the user's
 * values. UCS_ERR_INVALID_PARAM for a value out of range, after an error that names the variable,
 * the value and what is accepted.
 */
ucs_status_t uct_be_options_to_engine(const uct_be_iface_config_t *config,
                                      const be_port_info_t *port,
                                      be_fabric_config_t *engine_config);

#endif
