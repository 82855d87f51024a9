/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

static const char *uct_be_soft_names[] = {[BE_SOFT_AUTO]   = "auto",
                                          [BE_SOFT_YES]    = "yes",
                                          [BE_SOFT_NO]     = "no",
                                          [BE_SOFT_NO + 1] = NULL};

static const char *uct_be_resource_names[] = {[UCT_BE_RESOURCE_NETDEV] = "netdev",
                                              [UCT_BE_RESOURCE_PORT]   = "port",
                                              [UCT_BE_RESOURCE_LAST]   = NULL};

static const char *uct_be_reg_names[] = {[UCT_BE_REG_RCACHE] = "rcache",
                                         [UCT_BE_REG_DIRECT] = "direct",
                                         [UCT_BE_REG_LAST]   = NULL};

/* The index is the value of enum ibv_mtu. */
static const char *uct_be_mtu_names[] = {"auto", "256",  "512", "1024",
                                         "2048", "4096", NULL};

static const char *uct_be_byte_credit_names[] = {[UCT_BE_BYTE_CREDIT_AUTO] = "auto",
                                                 [UCT_BE_BYTE_CREDIT_YES]  = "yes",
                                                 [UCT_BE_BYTE_CREDIT_NO]   = "no",
                                                 [UCT_BE_BYTE_CREDIT_LAST] = NULL};

static const char *uct_be_fallback_names[] = {[BE_FALLBACK_NONE]    = "none",
                                              [BE_FALLBACK_TCP]     = "tcp",
                                              [BE_FALLBACK_TCP + 1] = NULL};

static const char *uct_be_mux_names[] = {[BE_MUX_IFACE]       = "iface",
                                         [BE_MUX_PROCESS]     = "process",
                                         [BE_MUX_PROCESS + 1] = NULL};

ucs_config_field_t uct_be_md_config_table[] = {
        {"", "", NULL, ucs_offsetof(uct_be_md_config_t, super),
         UCS_CONFIG_TYPE_TABLE(uct_md_config_table)},

        {"SOFT", "auto",
         "Use of the software RDMA device that comes with this transport:\n"
         "  auto - only on a machine that has no RDMA device at all\n"
         "  yes  - always, RDMA devices are ignored\n"
         "  no   - never",
         ucs_offsetof(uct_be_md_config_t, soft), UCS_CONFIG_TYPE_ENUM(uct_be_soft_names)},

        {"RESOURCE_NAME", "netdev",
         "How a port is called, for instance in UCX_NET_DEVICES:\n"
         "  netdev - as its network interface (eth2; lo for the software device), which\n"
         "           client-server connections by socket address need\n"
         "  port   - as RDMA device and port (mlx5_0:1)",
         ucs_offsetof(uct_be_md_config_t, resource_name),
         UCS_CONFIG_TYPE_ENUM(uct_be_resource_names)},

        {"REG", UCT_BE_REG_DEFAULT,
         "How user memory is registered with the device:\n"
         "  rcache - once, and kept until it is unmapped or the cache is full\n"
         "  direct - each time; UCP has a cache of its own from UCX 1.14 on",
         ucs_offsetof(uct_be_md_config_t, reg), UCS_CONFIG_TYPE_ENUM(uct_be_reg_names)},

        {"RCACHE_MAX_REGIONS", "65536",
         "Number of regions in the registration cache; those not in use for longest are\n"
         "released when there are more.",
         ucs_offsetof(uct_be_md_config_t, rcache.max_regions), UCS_CONFIG_TYPE_ULUNITS},

        {"RCACHE_MAX_SIZE", "64G",
         "Total size of the regions in the registration cache, in bytes; those not in "
         "use\n"
         "for longest are released when there is more.",
         ucs_offsetof(uct_be_md_config_t, rcache.max_size), UCS_CONFIG_TYPE_MEMUNITS},

        {"RCACHE_MAX_UNRELEASED", "512M",
         "Size of unmapped but still registered memory that triggers a cleanup, in "
         "bytes.",
         ucs_offsetof(uct_be_md_config_t, rcache.max_unreleased),
         UCS_CONFIG_TYPE_MEMUNITS},

        {"RCACHE_MEM_PRIO", "1000",
         "Priority of the registration cache among those who are told of unmapped "
         "memory;\n"
         "a number, the lowest is told first.",
         ucs_offsetof(uct_be_md_config_t, rcache.event_priority), UCS_CONFIG_TYPE_UINT},

        {"RCACHE_PURGE_ON_FORK", "y", "Empty the registration cache before fork: y or n.",
         ucs_offsetof(uct_be_md_config_t, rcache.purge_on_fork), UCS_CONFIG_TYPE_BOOL},

        {.name = NULL}};

ucs_config_field_t uct_be_iface_config_table[] = {
        {"", "", NULL, ucs_offsetof(uct_be_iface_config_t, super),
         UCS_CONFIG_TYPE_TABLE(uct_iface_config_table)},

        {"MUX", "iface",
         "Who shares queue pairs, receive buffers and credit:\n"
         "  iface   - nobody, each worker has its own\n"
         "  process - all workers of the process that use a port with the same settings",
         ucs_offsetof(uct_be_iface_config_t, mux),
         UCS_CONFIG_TYPE_ENUM(uct_be_mux_names)},

        {"SEG_SIZE", "8k",
         "Largest active message and size of a receive buffer, in bytes.",
         ucs_offsetof(uct_be_iface_config_t, segment_size), UCS_CONFIG_TYPE_MEMUNITS},

        {"RX_QUEUE_LEN", "auto",
         "Receive buffers that all peers share; as many messages can be on their way to\n"
         "this process. auto is 4096, or 1024 with the software device.",
         ucs_offsetof(uct_be_iface_config_t, rx_queue_len), UCS_CONFIG_TYPE_ULUNITS},

        {"RX_MAX", "auto",
         "Upper limit of receive buffers, those included that hold unexpected messages;\n"
         "beyond it a message that nobody expects is copied.",
         ucs_offsetof(uct_be_iface_config_t, rx_max), UCS_CONFIG_TYPE_ULUNITS},

        {"TX_QUEUE_LEN", "256", "Work requests of one queue pair.",
         ucs_offsetof(uct_be_iface_config_t, tx_queue_len), UCS_CONFIG_TYPE_UINT},

        {"WINDOW", "auto",
         "Data of puts and gets that may be under way from one port, in bytes;\n"
         "auto derives it from the port's rate.",
         ucs_offsetof(uct_be_iface_config_t, window), UCS_CONFIG_TYPE_MEMUNITS},

        {"CHUNK", "auto",
         "Puts and gets are cut into pieces of this many bytes, which small messages\n"
         "overtake; auto derives it from the port's rate.",
         ucs_offsetof(uct_be_iface_config_t, chunk), UCS_CONFIG_TYPE_MEMUNITS},

        {"BYTE_CREDIT", "auto",
         "Whether receivers grant in bytes too what may be under way toward them, so "
         "that\n"
         "many senders to one overflow no switch. All processes of a job need the same:\n"
         "  auto - except with the software device, whose processes have no network "
         "between them\n"
         "  yes  - always\n"
         "  no   - never",
         ucs_offsetof(uct_be_iface_config_t, byte_credit),
         UCS_CONFIG_TYPE_ENUM(uct_be_byte_credit_names)},

        {"BYTE_BUDGET", "auto",
         "With byte credit: bytes that may be under way toward one port. The switch "
         "before it\n"
         "should hold as much without pausing; too little leaves the port idle. auto is\n"
         "four times what the path holds.",
         ucs_offsetof(uct_be_iface_config_t, byte_budget), UCS_CONFIG_TYPE_MEMUNITS},

        {"LINK_RATE", "auto",
         "With byte credit: rate of the port in bytes per second, as in 12500M; auto is\n"
         "what the port reports.",
         ucs_offsetof(uct_be_iface_config_t, link_rate), UCS_CONFIG_TYPE_MEMUNITS},

        {"MAX_INLINE", "auto",
         "Messages up to this many bytes are handed to the device inside the work "
         "request;\n"
         "the device may allow less.",
         ucs_offsetof(uct_be_iface_config_t, max_inline), UCS_CONFIG_TYPE_ULUNITS},

        {"PATH_MTU", "auto",
         "Largest packet on the wire, in bytes; auto is what the port is set to.",
         ucs_offsetof(uct_be_iface_config_t, path_mtu),
         UCS_CONFIG_TYPE_ENUM(uct_be_mtu_names)},

        {"TIMEOUT", "auto",
         "Time until the device sends again what was not acknowledged, in seconds "
         "unless\n"
         "a unit is given; rounded up to 4.096 us times a power of two.",
         ucs_offsetof(uct_be_iface_config_t, timeout), UCS_CONFIG_TYPE_TIME_UNITS},

        {"RETRY_COUNT", "auto",
         "Number of times the device sends again before the connection is repaired,\n"
         "0 to 6.",
         ucs_offsetof(uct_be_iface_config_t, retry_count), UCS_CONFIG_TYPE_ULUNITS},

        {"RECOVERY", "y",
         "Replace queue pairs that fail while both processes live, and send again what "
         "did\n"
         "not arrive; n: an endpoint fails with its queue pairs.",
         ucs_offsetof(uct_be_iface_config_t, recovery), UCS_CONFIG_TYPE_BOOL},

        {"MAX_RECOVERIES", "auto",
         "Number of peers whose queue pairs are replaced at the same time, 1 to 65536; "
         "others\n"
         "wait for their turn. auto is 64.",
         ucs_offsetof(uct_be_iface_config_t, max_recoveries), UCS_CONFIG_TYPE_ULUNITS},

        {"FALLBACK", "none",
         "What data goes over while there is no RDMA between two processes:\n"
         "none - it waits for RDMA, up to PEER_TIMEOUT,\n"
         "tcp  - the connection that supervises the peer, if both ends say so.",
         ucs_offsetof(uct_be_iface_config_t, fallback),
         UCS_CONFIG_TYPE_ENUM(uct_be_fallback_names)},

        {"TRAFFIC_CLASS", "auto",
         "RoCE: type-of-service byte of the packets (DSCP in its upper six bits), 0 to "
         "255.",
         ucs_offsetof(uct_be_iface_config_t, traffic_class), UCS_CONFIG_TYPE_ULUNITS},

        {"SL", "auto",
         "InfiniBand: service level, 0 to 15; RoCE: the lower three bits are the "
         "priority.",
         ucs_offsetof(uct_be_iface_config_t, service_level), UCS_CONFIG_TYPE_ULUNITS},

        {"GID_INDEX", "auto",
         "Index of the port's source address in its GID table, 0 to 255; auto prefers\n"
         "RoCE v2 and IPv4.",
         ucs_offsetof(uct_be_iface_config_t, gid_index), UCS_CONFIG_TYPE_ULUNITS},

        {"PEER_TIMEOUT", "30s",
         "Time a peer may be silent until it is taken for dead, in seconds unless a "
         "unit\n"
         "is given. A peer whose process has ended is known at once.",
         ucs_offsetof(uct_be_iface_config_t, peer_timeout), UCS_CONFIG_TYPE_TIME_UNITS},

        {"CONNECT_TIMEOUT", "10s",
         "Time the first connection to a peer may take, in seconds unless a unit is "
         "given.",
         ucs_offsetof(uct_be_iface_config_t, connect_timeout),
         UCS_CONFIG_TYPE_TIME_UNITS},

        {"STATS", "auto",
         "Where be_info and be_run find a process's counters:\n"
         "  auto - $XDG_RUNTIME_DIR/byteexpress or /tmp/byteexpress-UID, while it runs\n"
         "  no   - nowhere\n"
         "  else - a folder that exists; they stay there",
         ucs_offsetof(uct_be_iface_config_t, stats), UCS_CONFIG_TYPE_STRING},

        {"METRICS", "",
         "Where the process serves its metrics over HTTP, for Prometheus: ADDRESS:PORT,\n"
         "or ADDRESS:PORT+ for the first free port of 64, or ADDRESS:FIRST-LAST for the\n"
         "first free one of these. Empty: nowhere.",
         ucs_offsetof(uct_be_iface_config_t, metrics), UCS_CONFIG_TYPE_STRING},

        {.name = NULL}};
