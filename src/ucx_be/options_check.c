/* SPDX-License-Identifier: BSD-3-Clause */
/* From the user's options to the engine's configuration, with every range checked. */
#include "options.h"

#include <math.h>

enum {
    RC_TIMEOUT_MAX      = 31, /* RC timeout exponent: five bits in the queue pair */
    RX_MAX              = 1 << 20,
    BYTE_BUDGET_MIN     = 64 * UCS_KBYTE,
    BYTE_BUDGET_MAX     = 2 * UCS_MBYTE,
    LINK_RATE_MIN       = UCS_MBYTE,
    SEGMENTS_PER_BUDGET = 4, /* at least: the largest message is a quantum of it */
    RX_MAX_PER_RX_QUEUE = 4
};

#define LINK_RATE_MAX   (UCS_GBYTE * 1024ul)
#define RC_TIMEOUT_UNIT 4.096e-6 /* seconds; InfiniBand specification, 9.7.6.1.3 */
#define TICK_TOLERANCE \
    1e-6 /* a tick of a 1 GHz clock in 1 ms, the least that counts here */
#define TIMEOUT_MAX 3600.0 /* seconds; a longer one is surely a mistake */
#define TIMEOUT_MIN 0.01 /* seconds; less than a busy host's scheduling delays */

/* A number of the configuration: accepted values (both ends included, then in words) and where it
 * goes unless it is "auto". */
typedef struct {
    const char *name;
    unsigned long value;
    unsigned long min, max;
    const char *accepted;
    unsigned long *target;
} number_t;

static ucs_status_t take_numbers(const number_t *numbers, unsigned count)
{
    const number_t *number;

    for (number = numbers; number < numbers + count; ++number) {
        if (number->value == UCS_ULUNITS_AUTO) {
            continue;
        }

        if ((number->value < number->min) || (number->value > number->max)) {
            ucs_error("UCX_BE_%s=%lu is out of range: expected %s", number->name,
                      number->value, number->accepted);
            return UCS_ERR_INVALID_PARAM;
        }

        *number->target = number->value;
    }

    return UCS_OK;
}

static const char *seconds_str(ucs_time_t value, char *buffer, size_t size)
{
    if (value == UCS_TIME_INFINITY) {
        return "inf";
    }

    snprintf(buffer, size, "%.6gs", ucs_time_to_sec(value));
    return buffer;
}

/* UCX keeps times in ticks, rounded down, so that a limit itself may come back a little beyond. */
static int exceeds(double seconds, double limit)
{
    return seconds > limit * (1 + TICK_TOLERANCE);
}

static ucs_status_t take_time(const char *name, ucs_time_t value, double *seconds_p)
{
    double seconds = ucs_time_to_sec(value);
    char text[32];

    if (value == UCS_TIME_AUTO) {
        return UCS_OK;
    }

    if ((value == UCS_TIME_INFINITY) || exceeds(TIMEOUT_MIN, seconds) ||
        exceeds(seconds, TIMEOUT_MAX)) {
        ucs_error("UCX_BE_%s=%s is out of range: expected auto or %gs to %gs", name,
                  seconds_str(value, text, sizeof(text)), TIMEOUT_MIN, TIMEOUT_MAX);
        return UCS_ERR_INVALID_PARAM;
    }

    *seconds_p = seconds;
    return UCS_OK;
}

/* The exponent of the RC timeout, rounded up. */
static ucs_status_t take_rc_timeout(ucs_time_t value, uint8_t *exponent_p)
{
    double seconds = ucs_time_to_sec(value);
    double longest = ldexp(RC_TIMEOUT_UNIT, RC_TIMEOUT_MAX);
    int exponent   = 1;
    char text[32];

    if (value == UCS_TIME_AUTO) {
        return UCS_OK;
    }

    if ((value == UCS_TIME_INFINITY) || (seconds <= 0) || exceeds(seconds, longest)) {
        ucs_error(
                "UCX_BE_TIMEOUT=%s is out of range: expected auto or more than 0 and at "
                "most %.0fs",
                seconds_str(value, text, sizeof(text)), longest);
        return UCS_ERR_INVALID_PARAM;
    }

    while (exceeds(seconds, ldexp(RC_TIMEOUT_UNIT, exponent))) {
        ++exponent;
    }
    *exponent_p = exponent;
    return UCS_OK;
}

/* Values that are good alone but not together. */
static ucs_status_t check_relations(const be_fabric_config_t *engine_config)
{
    if (engine_config->window < engine_config->chunk) {
        ucs_error(
                "UCX_BE_WINDOW=%zu is less than UCX_BE_CHUNK=%zu: expected at least one "
                "chunk",
                engine_config->window, engine_config->chunk);
        return UCS_ERR_INVALID_PARAM;
    }

    if ((engine_config->byte_budget != 0) &&
        (engine_config->byte_budget <
         SEGMENTS_PER_BUDGET * engine_config->segment_size)) {
        ucs_error(
                "UCX_BE_BYTE_BUDGET=%zu is too little for UCX_BE_SEG_SIZE=%zu: expected "
                "at least %d times as much",
                engine_config->byte_budget, engine_config->segment_size,
                SEGMENTS_PER_BUDGET);
        return UCS_ERR_INVALID_PARAM;
    }

    if (engine_config->rx_max < engine_config->rx_capacity) {
        ucs_error(
                "UCX_BE_RX_MAX=%u is less than UCX_BE_RX_QUEUE_LEN=%u: expected at least "
                "as many",
                engine_config->rx_max, engine_config->rx_capacity);
        return UCS_ERR_INVALID_PARAM;
    }

    return UCS_OK;
}

ucs_status_t uct_be_options_to_engine(const uct_be_iface_config_t *config,
                                      const be_port_info_t *port,
                                      be_fabric_config_t *engine_config)
{
    be_fabric_config_t *engine = engine_config;
    unsigned long segment_size, rx_queue, rx_max, tx_queue, window, chunk, max_inline;
    unsigned long byte_budget, link_rate = 0;
    unsigned long retry_count, traffic_class, service_level;
    unsigned long gid_index = ULONG_MAX;
    unsigned long max_recoveries;
    ucs_status_t status;

    be_fabric_config_defaults(port, engine);
    segment_size   = engine->segment_size;
    rx_queue       = engine->rx_capacity;
    tx_queue       = engine->tx_queue;
    window         = engine->window;
    chunk          = engine->chunk;
    byte_budget    = 0;
    max_inline     = engine->max_inline;
    retry_count    = engine->retry_count;
    traffic_class  = engine->traffic_class;
    service_level  = engine->service_level;
    max_recoveries = engine->max_recoveries;
    rx_max         = engine->rx_max;
    if (config->rx_queue_len != UCS_ULUNITS_AUTO) {
        /* As the engine's defaults are to each other. */
        rx_max = ucs_min(RX_MAX_PER_RX_QUEUE * config->rx_queue_len, RX_MAX);
    }

    {
        const number_t numbers[] = {
                {"SEG_SIZE", config->segment_size, 1024, 256 * UCS_KBYTE,
                 "1k to 256k bytes", &segment_size},
                {"RX_QUEUE_LEN", config->rx_queue_len, 2, 32768, "auto or 2 to 32768",
                 &rx_queue},
                {"RX_MAX", config->rx_max, 2, RX_MAX, "auto or 2 to 1048576", &rx_max},
                {"TX_QUEUE_LEN", config->tx_queue_len, 16, 16384, "16 to 16384",
                 &tx_queue},
                {"WINDOW", config->window, UCS_KBYTE, UCS_GBYTE, "auto or 1k to 1g bytes",
                 &window},
                {"CHUNK", config->chunk, UCS_KBYTE, UCS_GBYTE, "auto or 1k to 1g bytes",
                 &chunk},
                {"BYTE_BUDGET", config->byte_budget, BYTE_BUDGET_MIN, BYTE_BUDGET_MAX,
                 "auto or 64k to 2m bytes", &byte_budget},
                {"LINK_RATE", config->link_rate, LINK_RATE_MIN, LINK_RATE_MAX,
                 "auto or 1m to 1t bytes per second", &link_rate},
                {"MAX_INLINE", config->max_inline, 0, 1024, "auto or 0 to 1024 bytes",
                 &max_inline},
                {"RETRY_COUNT", config->retry_count, 0, 6, "auto or 0 to 6",
                 &retry_count},
                {"MAX_RECOVERIES", config->max_recoveries, 1, 65536, "auto or 1 to 65536",
                 &max_recoveries},
                {"TRAFFIC_CLASS", config->traffic_class, 0, 255, "auto or 0 to 255",
                 &traffic_class},
                {"SL", config->service_level, 0, 15, "auto or 0 to 15", &service_level},
                {"GID_INDEX", config->gid_index, 0, 255, "auto or 0 to 255", &gid_index}};

        status = take_numbers(numbers, ucs_static_array_size(numbers));
    }

    if ((status != UCS_OK) ||
        ((status = take_rc_timeout(config->timeout, &engine->timeout)) != UCS_OK) ||
        ((status = take_time("PEER_TIMEOUT", config->peer_timeout,
                             &engine->peer_timeout)) != UCS_OK) ||
        ((status = take_time("CONNECT_TIMEOUT", config->connect_timeout,
                             &engine->connect_timeout)) != UCS_OK)) {
        return status;
    }

    /* What was not asked for follows what was. */
    if (config->window == UCS_MEMUNITS_AUTO) {
        window = ucs_max(window, chunk);
    } else if (config->chunk == UCS_MEMUNITS_AUTO) {
        chunk = ucs_min(chunk, window);
    }

    if (link_rate != 0) {
        engine->link_rate = link_rate;
    }
    if ((config->byte_credit == UCT_BE_BYTE_CREDIT_NO) ||
        ((config->byte_credit == UCT_BE_BYTE_CREDIT_AUTO) &&
         (engine->byte_budget == 0))) {
        byte_budget = 0;
    } else if (byte_budget == 0) {
        byte_budget = be_default_byte_budget(engine->link_rate);
    }

    engine->mux            = config->mux;
    engine->byte_budget    = byte_budget;
    engine->segment_size   = segment_size;
    engine->rx_capacity    = rx_queue;
    engine->rx_max         = rx_max;
    engine->tx_queue       = tx_queue;
    engine->window         = window;
    engine->chunk          = chunk;
    engine->max_inline     = max_inline;
    engine->recovery       = config->recovery;
    engine->max_recoveries = (unsigned)max_recoveries;
    engine->fallback       = config->fallback;
    engine->retry_count    = retry_count;
    engine->traffic_class  = traffic_class;
    engine->service_level  = service_level;
    if (config->path_mtu != 0) {
        engine->path_mtu = config->path_mtu;
    }
    if (gid_index != ULONG_MAX) {
        engine->gid_index = gid_index;
    }
    return check_relations(engine);
}
