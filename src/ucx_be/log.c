/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"
#include "compat.h"

#include <pthread.h>

enum {
    LOG_BURST      = 32, /* messages at once */
    LOG_PER_SECOND = 4 /* and after that */
};

static struct {
    pthread_mutex_t lock;
    ucs_time_t refilled;
    double tokens;
    unsigned suppressed;
} log_limit = {PTHREAD_MUTEX_INITIALIZER, 0, LOG_BURST, 0};

/* 1: log it, and `suppressed_p` messages were not before. Any thread may call; whoever finds another
 * one here (or, after fork, the shadow of one) logs without counting. */
static int log_take_token(unsigned *suppressed_p)
{
    ucs_time_t now = ucs_get_time();
    int granted;

    if (pthread_mutex_trylock(&log_limit.lock) != 0) {
        return 1;
    }

    if (log_limit.refilled != 0) {
        log_limit.tokens += ucs_time_to_sec(now - log_limit.refilled) * LOG_PER_SECOND;
        log_limit.tokens = ucs_min(log_limit.tokens, (double)LOG_BURST);
    }
    log_limit.refilled = now;

    granted = log_limit.tokens >= 1;
    if (granted) {
        log_limit.tokens -= 1;
        *suppressed_p        = log_limit.suppressed;
        log_limit.suppressed = 0;
    } else {
        ++log_limit.suppressed;
    }
    pthread_mutex_unlock(&log_limit.lock);
    return granted;
}

static ucs_log_level_t log_level_to_ucs(be_log_level_t level)
{
    static const ucs_log_level_t levels[] = {[BE_LOG_ERROR] = UCS_LOG_LEVEL_ERROR,
                                             [BE_LOG_WARN]  = UCS_LOG_LEVEL_WARN,
                                             [BE_LOG_INFO]  = UCS_LOG_LEVEL_INFO,
                                             [BE_LOG_DEBUG] = UCS_LOG_LEVEL_DEBUG,
                                             [BE_LOG_TRACE] = UCS_LOG_LEVEL_TRACE};

    return levels[level];
}

void uct_be_log(be_log_level_t level, const char *text)
{
    ucs_log_level_t ucs_level = log_level_to_ucs(level);
    unsigned suppressed       = 0;

    if (level <= BE_LOG_WARN) {
        if (!log_take_token(&suppressed)) {
            return;
        }
        if (suppressed > 0) {
            ucs_log(ucs_level, "be: %u messages suppressed", suppressed);
        }
    }

    ucs_log(ucs_level, "be: %s", text);
}

/* The most talkative level that UCX would still print. */
static be_log_level_t log_max_level(void)
{
    be_log_level_t level = BE_LOG_TRACE;

    while ((level > BE_LOG_ERROR) && !ucs_log_is_enabled(log_level_to_ucs(level))) {
        --level;
    }
    return level;
}

void uct_be_log_init(void)
{
    be_log_set(uct_be_log, log_max_level());
}

void uct_be_log_cleanup(void)
{
    be_log_set(NULL, BE_LOG_ERROR);
}
