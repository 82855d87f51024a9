// SPDX-License-Identifier: BSD-3-Clause
//
// The other side of a test: an endpoint in a process of its own, that does what it is told over a
// socket. servant is the test's handle to it; serve() is the process itself.
#pragma once

#include "endpoint.hpp"

#include <sys/types.h>

namespace softtest {

// What stands for a completion that did not come: a status the device never reports.
inline constexpr ibv_wc_status no_completion = IBV_WC_GENERAL_ERR;

class servant {
public:
    // Starts this program again as a servant with an endpoint of these options.
    explicit servant(const options &wanted = {});
    // Ends the process; kills it when it does not end by itself.
    ~servant();
    servant(const servant &)            = delete;
    servant &operator=(const servant &) = delete;

    const address &where() const
    {
        return m_address;
    }

    int connect(const address &other);
    int post_receive(uint32_t length, uint64_t offset = 0, uint64_t id = 0);
    int send(uint32_t length, unsigned flags = IBV_SEND_SIGNALED, uint64_t offset = 0);
    // Posts a receive by itself, `ms` after the call.
    void post_receive_later(uint32_t length, uint32_t ms);
    // The status is no_completion when there was none in time.
    ibv_wc wait(double ms = patience_ms);
    bool silent(double ms);

    uint64_t word(uint64_t offset);
    void set_word(uint64_t offset, uint64_t value);
    // The sum of the bytes of a range.
    uint64_t sum(uint64_t offset, uint64_t length);

    void arm(bool solicited_only);
    // Whether a completion event came in time; it is acknowledged.
    bool wait_event(double ms = patience_ms);
    // The asynchronous event that came in time, -1 if none; it is acknowledged.
    int wait_async(double ms = patience_ms);

    int set_limit(uint32_t limit);
    void deregister();
    // Takes the right to access the registered memory away, from the device too.
    int forbid();
    int state();
    // The errno of creating a protection domain, a completion queue, a queue pair: the first that fails;
    // and what the device list holds.
    int create_objects();
    int listed_devices();
    // Spins until the word at `offset` changes `changes` times; returns how many of the values seen
    // were neither 0 nor all ones.
    void watch_word(uint64_t offset, uint32_t changes);
    bool watches() const; // still
    uint64_t watch_result();

    // For each round from 1: waits until the byte before `bytes` is the round's number and looks at all
    // before it; then stores the number in the buffer's last word. Returns how many of them were others.
    void check_order(uint32_t bytes, uint32_t rounds);
    uint64_t order_result();

    // Adds one to the word at the start of that memory, `count` times; returns how often it worked.
    void start_adding(const address &target, uint32_t count);
    uint64_t adding_result();

    // Sends that many messages, one after the other; returns how many worked.
    void start_sending(uint32_t length, uint32_t count);
    uint64_t sending_result();

    // Writes that many times to that memory, up to 16 at a time; returns how often it worked.
    void start_writing(const address &target, uint32_t length, uint32_t count);
    uint64_t writing_result();

    void signal(int number);
    // Kills it and waits until it is gone.
    void kill();

    pid_t pid() const
    {
        return m_pid;
    }

private:
    template<class R, class... A>
    R call(char command, A... arguments);

    pid_t m_pid  = -1;
    int m_socket = -1;
    address m_address{};
};

// The servant process: serves until its socket closes.
int serve(int socket);

} // namespace softtest
