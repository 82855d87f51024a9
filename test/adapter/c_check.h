/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests in C share: checks that are counted, and something that happens once.
 */
#ifndef BE_TEST_C_CHECK_H
#define BE_TEST_C_CHECK_H

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static unsigned passed, failed;

#define CHECK(_condition)                                        \
    do {                                                         \
        if (_condition) {                                        \
            __atomic_add_fetch(&passed, 1, __ATOMIC_RELAXED);    \
        } else {                                                 \
            __atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED);    \
            printf("FAIL line %d: %s\n", __LINE__, #_condition); \
        }                                                        \
    } while (0)

/* The rest needs it: the program ends, without waiting for its threads. */
#define REQUIRE(_condition)         \
    do {                            \
        CHECK(_condition);          \
        if (failed != 0) {          \
            _exit(finish_checks()); \
        }                           \
    } while (0)

static int finish_checks(void)
{
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    fflush(stdout);
    return failed != 0;
}

struct event {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int set;
};

#define EVENT_INIT                                             \
    {                                                          \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 \
    }

static void event_set(struct event *event)
{
    pthread_mutex_lock(&event->mutex);
    event->set = 1;
    pthread_cond_signal(&event->condition);
    pthread_mutex_unlock(&event->mutex);
}

/* Until it has happened, and then anew: whoever runs the program bounds it. */
static void event_wait(struct event *event)
{
    pthread_mutex_lock(&event->mutex);
    while (!event->set) {
        pthread_cond_wait(&event->condition, &event->mutex);
    }
    event->set = 0;
    pthread_mutex_unlock(&event->mutex);
}

#endif
