/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * C facade of the engine: all that the UCX component knows of the rest.
 *
 * Objects
 *   be_md_t      one verbs device with its protection domain
 *   be_fabric_t  a worker's view of one port: an interface with an id, a member of what lies below (completion
 *                queues, one shared receive queue, peers)
 *   be_peer_t    the way from there to one interface elsewhere; all ways to one remote fabric share its queue
 *                pairs
 *
 * Threads: calls on one be_fabric_t and its peers come from one thread at a time (UCX's worker lock), also
 * where several be_fabric_t share what lies below. be_md_* and be_mem_* may be called from any thread.
 * Callbacks are invoked only from inside be_fabric_progress() of the be_fabric_t they were given to, except
 * be_log_func_t, which may come from the control thread. Pack functions are called by the send that was given them.
 *
 * Completions: operations take an opaque `void *comp`. BE_OK means done at once, comp is not used;
 * BE_INPROGRESS means be_fabric_callbacks_t::complete(comp, status) is called exactly once later. A NULL
 * comp asks for no call.
 *
 * No function throws or exits. Each failure is logged once, where it was found.
 */
#ifndef BE_ENGINE_C_API_H
#define BE_ENGINE_C_API_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum be_status {
    BE_OK         = 0,
    BE_INPROGRESS = 1,
    BE_ERR_NO_RESOURCE =
            -1, /* credit, window, work queue or connection not there yet: try from pending */
    BE_ERR_NO_MEMORY   = -2,
    BE_ERR_INVALID     = -3, /* an argument is out of range */
    BE_ERR_UNREACHABLE = -4, /* no route, refused, version or token mismatch */
    BE_ERR_PEER_FAILED = -5, /* the peer process or its queue pairs are gone */
    BE_ERR_IO          = -6, /* a verbs call failed */
    BE_ERR_BUSY        = -7, /* arm: events are waiting */
    BE_ERR_CANCELED    = -8,
    BE_ERR_NO_DEVICE   = -9,
    BE_ERR_UNSUPPORTED = -10
} be_status_t;

const char *be_status_string(be_status_t status);

/* ------------------------------------------------------------------ logging */
typedef enum be_log_level {
    BE_LOG_ERROR,
    BE_LOG_WARN,
    BE_LOG_INFO,
    BE_LOG_DEBUG,
    BE_LOG_TRACE
} be_log_level_t;
typedef void (*be_log_func_t)(be_log_level_t level, const char *text);

/* Process-wide; `max_level` keeps the engine from formatting what nobody reads. */
void be_log_set(be_log_func_t func, be_log_level_t max_level);

/* ------------------------------------------------------------------ devices */
typedef enum be_soft_mode {
    BE_SOFT_AUTO,
    BE_SOFT_YES,
    BE_SOFT_NO
} be_soft_mode_t;

enum {
    BE_NAME_MAX = 64
};

typedef struct be_port_info {
    char device[BE_NAME_MAX]; /* verbs name, "mlx5_0" */
    char netdev[BE_NAME_MAX]; /* network interface behind the port, "eth2"; "lo" for the soft device; may be "" */
    uint8_t port; /* 1-based */
    uint8_t soft; /* 1: the embedded software device */
    uint8_t usable; /* 0: see reason */
    uint8_t numa_node; /* 0xff: unknown */
    double bandwidth; /* bytes per second */
    double latency; /* seconds, one way, small message */
    char reason[160]; /* why the port is or is not used */
} be_port_info_t;

/* All ports of all devices in *ports_p (free with be_ports_release), usable or not. When the machine has no RDMA device and
 * `mode` allows it, the soft device's ports. BE_ERR_NO_DEVICE: none at all; `why` (of why_size bytes) then says so in words. */
be_status_t be_ports_query(be_soft_mode_t mode, be_port_info_t **ports_p,
                           unsigned *num_ports_p, char *why, size_t why_size);
void be_ports_release(be_port_info_t *ports);

/* ------------------------------------------------------------ memory domain */
typedef struct be_md be_md_t;

be_status_t be_md_open(const char *device, be_soft_mode_t mode, be_md_t **md_p);
void be_md_close(be_md_t *md);

typedef struct be_mem {
    void *address;
    size_t length;
    uint32_t lkey;
    uint32_t rkey;
    void *handle; /* the engine's own */
} be_mem_t;

enum {
    BE_ACCESS_LOCAL      = 1 << 0,
    BE_ACCESS_REMOTE_PUT = 1 << 1,
    BE_ACCESS_REMOTE_GET = 1 << 2
};

/* Registers [address, address + length). `quiet`: do not log a failure (the caller probes). */
be_status_t be_mem_register(be_md_t *md, void *address, size_t length, unsigned access,
                            int quiet, be_mem_t *mem);
be_status_t be_mem_deregister(be_md_t *md, be_mem_t *mem);
/* Memory from the md's arenas, registered for local and remote access; length is rounded up. */
be_status_t be_mem_alloc(be_md_t *md, size_t length, be_mem_t *mem);
void be_mem_free(be_md_t *md, be_mem_t *mem);

/* ------------------------------------------------------------------- fabric */
typedef struct be_fabric be_fabric_t;
typedef struct be_peer be_peer_t;

enum {
    BE_FABRIC_ADDR_LEN =
            56, /* all that it takes to connect: token, fabric id, interface, control address, network */
    BE_DEVICE_ADDR_LEN = 24, /* host or subnet, link layer: decides reachability */
    BE_MAX_SGE         = 8, /* entries of one zcopy */
    BE_AM_MAX_HEADER   = 256 /* bytes of an am_zcopy header */
};

/* Who shares queue pairs, credit and receives. */
typedef enum be_mux {
    BE_MUX_IFACE, /* nobody: each be_fabric_t has its own */
    BE_MUX_PROCESS /* those of a process that have the same port and configuration */
} be_mux_t;

/* What data goes over when there is no RDMA to a peer. Both ends must say the same. */
typedef enum be_fallback {
    BE_FALLBACK_NONE, /* it waits for RDMA */
    BE_FALLBACK_TCP /* the side channel; only with recovery */
} be_fallback_t;

typedef struct be_fabric_config {
    size_t segment_size; /* largest active message, bytes */
    unsigned rx_capacity; /* receives of the shared queue at start */
    unsigned rx_max; /* receive buffers in all, those the application keeps included */
    unsigned tx_queue; /* work requests of one queue pair */
    unsigned tx_completions; /* work requests outstanding over all queue pairs, at least 16 */
    size_t window; /* bytes of bulk outstanding per port */
    size_t chunk; /* bulk is cut into pieces of this many bytes; with byte credit smaller */
    size_t byte_budget; /* bytes that may be under way toward the port; 0: no byte credit */
    double link_rate; /* of the port, bytes per second; only byte credit uses it */
    unsigned max_inline; /* bytes; the device may give less */
    uint8_t path_mtu; /* ibv_mtu value; 0: the port's active MTU */
    uint8_t timeout; /* RC: 4.096 us * 2^timeout */
    uint8_t retry_count; /* RC: 0..6 (7 is for ever on some devices) */
    uint8_t traffic_class; /* GRH */
    uint8_t service_level;
    int gid_index; /* -1: choose (RoCE v2, IPv4 first) */
    double peer_timeout; /* seconds of silence until a peer is declared dead */
    double connect_timeout; /* seconds */
    int recovery; /* queue pairs that fail are replaced while both processes live */
    unsigned max_recoveries; /* of peers at the same time that this end begins */
    be_fallback_t fallback;
    double fallback_time; /* seconds for which RDMA must be there again until it is used again */
    be_mux_t mux;
    size_t rx_headroom; /* bytes in front of every received payload that belong to the upper layer */
    size_t am_alignment; /* (payload + am_align_offset) is aligned to this; 1: anything */
    size_t am_align_offset;
    int shared; /* several threads use the fabric, each while it holds the upper layer's lock */
} be_fabric_config_t;

/* Defaults of everything but the last four, for `port`. */
void be_fabric_config_defaults(const be_port_info_t *port, be_fabric_config_t *config);
/* The byte budget for a port of that rate when nobody says what the switch can take. */
size_t be_default_byte_budget(double link_rate);

typedef enum be_rx_result {
    BE_RX_DONE,
    BE_RX_KEPT
} be_rx_result_t;

typedef struct be_fabric_callbacks {
    void *arg;
    /* A message. `keep` != 0: the callee may return BE_RX_KEPT and give `data` back with be_rx_release(). */
    be_rx_result_t (*am)(void *arg, uint8_t am_id, void *data, size_t length, int keep);
    void (*complete)(void *arg, void *comp, be_status_t status);
    /* get_bcopy: the data has arrived. */
    void (*unpack)(void *arg, void *unpack_func, void *unpack_arg, const void *data,
                   size_t length);
    /* Called once per failed peer, outside any operation and after the last of them is complete; the peer object
     * stays until its last be_peer_put(). */
    void (*peer_failed)(void *arg, be_peer_t *peer, be_status_t status);
} be_fabric_callbacks_t;

be_status_t be_fabric_create(be_md_t *md, uint8_t port, const be_fabric_config_t *config,
                             const be_fabric_callbacks_t *callbacks,
                             be_fabric_t **fabric_p);
/* Says goodbye to every peer, or leaves to those who share it. All endpoints (be_peer_t references) are gone before. */
void be_fabric_destroy(be_fabric_t *fabric);

typedef struct be_fabric_attr {
    size_t max_short; /* am_short payload + 8-byte header; put_short */
    size_t max_bcopy; /* am, put and get bcopy */
    size_t max_zcopy; /* am_zcopy: header + payload */
    size_t max_rma; /* put and get zcopy */
    size_t max_iov;
    int zero_copy; /* 0: so little memory may be locked that what applications send is better copied */
} be_fabric_attr_t;

void be_fabric_query(const be_fabric_t *fabric, be_fabric_attr_t *attr);
void be_fabric_address(const be_fabric_t *fabric, uint8_t address[BE_FABRIC_ADDR_LEN]);
void be_fabric_device_address(const be_fabric_t *fabric,
                              uint8_t address[BE_DEVICE_ADDR_LEN]);
/* 1: reachable; 0: not, and `why` (if not NULL) says so. */
int be_fabric_is_reachable(const be_fabric_t *fabric,
                           const uint8_t device_address[BE_DEVICE_ADDR_LEN], char *why,
                           size_t why_size);

/* Handles completions, arrivals, the side channel and bulk that became admissible; returns how many events. */
unsigned be_fabric_progress(be_fabric_t *fabric);
/* One descriptor, readable when be_fabric_progress() has work; valid until destroy. */
int be_fabric_event_fd(const be_fabric_t *fabric);
/* BE_OK: the next event makes the descriptor readable. BE_ERR_BUSY: progress first. */
be_status_t be_fabric_arm(be_fabric_t *fabric);
/* Makes the descriptor readable, whatever there is to do, until the next be_fabric_arm(). The worker's thread. */
void be_fabric_signal(be_fabric_t *fabric);
/* Gives back a payload kept by the am callback (`data` as it was given). Any thread that holds the worker. */
void be_rx_release(be_fabric_t *fabric, void *data);
/* Everything posted so far, to every peer, is complete: BE_OK, or BE_INPROGRESS and comp later. */
be_status_t be_fabric_flush(be_fabric_t *fabric, void *comp);
void be_fabric_fence(be_fabric_t *fabric);

/* -------------------------------------------------------------------- peers */
/* The interface with that address, its fabric connected on first use (without waiting); one reference more. A device
 * address is not asked for: UCX's connection managers pass their own in its place. */
be_status_t be_peer_get(be_fabric_t *fabric, const uint8_t address[BE_FABRIC_ADDR_LEN],
                        be_peer_t **peer_p);
void be_peer_put(be_peer_t *peer);
be_status_t
be_peer_status(const be_peer_t *peer); /* BE_OK while it lives (connecting included) */
/* 1 when a message would be taken now: cheap enough to ask before each dispatch of pending. */
int be_peer_can_send(be_peer_t *peer);
/* The upper layer queued (+n) or unqueued (-n) operations on endpoints to this peer: the peer's demand for credit. */
void be_peer_demand(be_peer_t *peer, int change);
/* Probe: a dead peer is reported through peer_failed. */
be_status_t be_peer_check(be_peer_t *peer);

typedef struct be_sge {
    void *address;
    size_t length;
    uint32_t lkey;
} be_sge_t;

typedef size_t (*be_pack_func_t)(void *dest, void *arg);

/* Active messages. Order per peer is kept. */
be_status_t be_am_short(be_peer_t *peer, uint8_t am_id, uint64_t header,
                        const void *payload, unsigned length);
be_status_t
be_am_short_iov(be_peer_t *peer, uint8_t am_id, const be_sge_t *iov, size_t iovcnt);
ssize_t be_am_bcopy(be_peer_t *peer, uint8_t am_id, be_pack_func_t pack,
                    void *arg); /* bytes, or be_status_t */
be_status_t be_am_zcopy(be_peer_t *peer, uint8_t am_id, const void *header,
                        unsigned header_length, const be_sge_t *iov, size_t iovcnt,
                        void *comp);

/* Remote memory. A zero-length zcopy still tells whether the peer lives. */
be_status_t be_put_short(be_peer_t *peer, const void *data, unsigned length,
                         uint64_t remote, uint32_t rkey);
ssize_t be_put_bcopy(be_peer_t *peer, be_pack_func_t pack, void *arg, uint64_t remote,
                     uint32_t rkey);
be_status_t be_put_zcopy(be_peer_t *peer, const be_sge_t *iov, size_t iovcnt,
                         uint64_t remote, uint32_t rkey, void *comp);
be_status_t be_get_bcopy(be_peer_t *peer, void *unpack_func, void *unpack_arg,
                         size_t length, uint64_t remote, uint32_t rkey, void *comp);
be_status_t be_get_zcopy(be_peer_t *peer, const be_sge_t *iov, size_t iovcnt,
                         uint64_t remote, uint32_t rkey, void *comp);

/* All operations issued before on this peer are complete at the target. BE_OK: nothing outstanding. */
be_status_t be_peer_flush(be_peer_t *peer, void *comp);
/* Later operations on this peer are ordered behind earlier ones, across active messages and remote memory. */
void be_peer_fence(be_peer_t *peer);

/* ------------------------------------------------------------------ metrics */
typedef enum be_metric_kind {
    BE_METRIC_TOTAL, /* only grows */
    BE_METRIC_NOW, /* goes up and down */
    BE_METRIC_BUCKET /* only grows; of a histogram: how many were below what the name says */
} be_metric_kind_t;

typedef struct be_metric {
    const char *name;
    const char *unit; /* "count", "bytes", "ns" */
    const char *help; /* one sentence */
    be_metric_kind_t kind;
    uint64_t value;
} be_metric_t;

/* One list serves VFS, tools and exporters. */
typedef void (*be_metric_func_t)(void *arg, const be_metric_t *metric);
void be_fabric_metrics(const be_fabric_t *fabric, be_metric_func_t func, void *arg);
void be_peer_metrics(const be_peer_t *peer, be_metric_func_t func, void *arg);
/* State of the path to the peer and what became of it, in lines for people; cut off at `size` bytes. */
void be_peer_path(const be_peer_t *peer, char *text, size_t size);
/* A page with a fabric's metrics for others to see. In a file for be_info and be_run: `folder` says where, "" is the
 * user's own, where it is removed when it is closed, NULL is no file. Over HTTP where `serve` says (UCX_BE_METRICS),
 * "" is not. NULL when there can be none, which is logged. Closed before its fabric. */
typedef struct be_stats be_stats_t;
be_stats_t *be_stats_open(be_fabric_t *fabric, const char *device, const char *folder,
                          const char *serve);
void be_stats_close(be_stats_t *stats);
/* Answers, if somebody has asked: now and then from progress. */
void be_stats_poll(be_stats_t *stats);
/* Before sleeping. */
void be_stats_rest(be_stats_t *stats);
/* Those that be_peer_get() returned and that are connected or connecting. */
typedef void (*be_peer_visit_func_t)(void *arg, be_peer_t *peer);
void be_fabric_visit_peers(be_fabric_t *fabric, be_peer_visit_func_t func, void *arg);
/* "fabric 1234… at 127.0.0.1:4711", for messages; valid while the peer is. */
const char *be_peer_name(const be_peer_t *peer);
/* Why it was lost ("the peer closed the connection"), empty while it was not; valid while the peer is. The engine
 * itself logs a loss only when there is no reference that peer_failed could be called for. */
const char *be_peer_failure(const be_peer_t *peer);
/* Whether it was lost because it said goodbye: it ended in good order, and somebody here still wanted something. */
int be_peer_departed(const be_peer_t *peer);

#ifdef __cplusplus
}
#endif
#endif
