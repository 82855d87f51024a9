// SPDX-License-Identifier: BSD-3-Clause
#include "servant.hpp"

#include "wire.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace softtest {

template<class R, class... A>
R servant::call(char command, A... arguments)
{
    put(m_socket, command);
    (put(m_socket, arguments), ...);
    return get<R>(m_socket);
}

servant::servant(const options &wanted)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        fatal("socketpair");
    }
    m_pid = fork();
    if (m_pid < 0) {
        fatal("fork");
    }
    if (m_pid == 0) {
        std::string number = std::to_string(ends[1]);
        fcntl(ends[1], F_SETFD, 0); // the one that stays open
        execl("/proc/self/exe", "servant", "--servant", number.c_str(), nullptr);
        _exit(127);
    }
    close(ends[1]);
    m_socket       = ends[0];
    options theirs = wanted;
    theirs.servant = true;
    put(m_socket, theirs);
    m_address = get<address>(m_socket);
}

servant::~servant()
{
    close(m_socket);
    if (m_pid < 0) {
        return;
    }
    double give_up = now_ms() + patience_ms;
    while (waitpid(m_pid, nullptr, WNOHANG) == 0) {
        if (now_ms() > give_up) {
            fprintf(stderr, "servant %d does not end\n", m_pid);
            kill();
            return;
        }
        usleep(1000);
    }
}

int servant::connect(const address &other)
{
    return call<int>('c', other);
}

int servant::post_receive(uint32_t length, uint64_t offset, uint64_t id)
{
    return call<int>('r', length, offset, id);
}

void servant::post_receive_later(uint32_t length, uint32_t ms)
{
    put(m_socket, 'l');
    put(m_socket, length);
    put(m_socket, ms);
}

int servant::send(uint32_t length, unsigned flags, uint64_t offset)
{
    return call<int>('s', length, flags, offset);
}

ibv_wc servant::wait(double ms)
{
    return call<ibv_wc>('w', ms);
}

bool servant::silent(double ms)
{
    return wait(ms).status == no_completion;
}

uint64_t servant::word(uint64_t offset)
{
    return call<uint64_t>('v', offset);
}

void servant::set_word(uint64_t offset, uint64_t value)
{
    call<int>('V', offset, value);
}

uint64_t servant::sum(uint64_t offset, uint64_t length)
{
    return call<uint64_t>('+', offset, length);
}

void servant::arm(bool solicited_only)
{
    call<int>('a', solicited_only);
}

bool servant::wait_event(double ms)
{
    return call<int>('e', ms) != 0;
}

int servant::wait_async(double ms)
{
    return call<int>('y', ms);
}

int servant::set_limit(uint32_t limit)
{
    return call<int>('m', limit);
}

void servant::deregister()
{
    call<int>('d');
}

int servant::forbid()
{
    return call<int>('u');
}

int servant::state()
{
    return call<int>('q');
}

int servant::create_objects()
{
    return call<int>('O');
}

int servant::listed_devices()
{
    return call<int>('#');
}

void servant::watch_word(uint64_t offset, uint32_t changes)
{
    put(m_socket, 'x');
    put(m_socket, offset);
    put(m_socket, changes);
    get<int>(m_socket); // it watches
}

bool servant::watches() const
{
    pollfd entry{m_socket, POLLIN, 0};
    return poll(&entry, 1, 0) == 0;
}

uint64_t servant::watch_result()
{
    return get<uint64_t>(m_socket);
}

void servant::check_order(uint32_t bytes, uint32_t rounds)
{
    put(m_socket, 'o');
    put(m_socket, bytes);
    put(m_socket, rounds);
    get<int>(m_socket); // it watches
}

uint64_t servant::order_result()
{
    return get<uint64_t>(m_socket);
}

void servant::start_adding(const address &target, uint32_t count)
{
    put(m_socket, 'n');
    put(m_socket, target);
    put(m_socket, count);
}

uint64_t servant::adding_result()
{
    return get<uint64_t>(m_socket);
}

void servant::start_sending(uint32_t length, uint32_t count)
{
    put(m_socket, 'b');
    put(m_socket, length);
    put(m_socket, count);
}

uint64_t servant::sending_result()
{
    return get<uint64_t>(m_socket);
}

void servant::start_writing(const address &target, uint32_t length, uint32_t count)
{
    put(m_socket, 'i');
    put(m_socket, target);
    put(m_socket, length);
    put(m_socket, count);
}

uint64_t servant::writing_result()
{
    return get<uint64_t>(m_socket);
}

void servant::signal(int number)
{
    ::kill(m_pid, number);
    if (number == SIGSTOP) {
        waitpid(m_pid, nullptr, WUNTRACED); // until all its threads stand still
    }
}

void servant::kill()
{
    signal(SIGKILL);
    waitpid(m_pid, nullptr, 0);
    m_pid = -1;
}

} // namespace softtest
