// SPDX-License-Identifier: BSD-3-Clause

#include "engine/waker.hpp"

#include "control/process.hpp"

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace be::engine {
namespace {

constexpr int look_again_ms = 1;

} // namespace

Waker::Waker(const std::array<int, 3> &fds, std::function<bool()> look) :
    m_fds(fds),
    m_look(std::move(look)),
    m_generation(control::process_generation()),
    m_stop(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))
{
    if (m_stop < 0) {
        throw std::system_error(errno, std::system_category(),
                                "cannot create an eventfd");
    }
    // Signals are for the application's threads: this one inherits a mask that blocks them.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        m_thread = std::thread([this] { run(); });
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        ::close(m_stop);
        throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Waker::~Waker()
{
    if (control::process_generation() != m_generation) {
        m_thread.detach();
    } else {
        (void)::eventfd_write(m_stop, 1);
        m_thread.join();
    }
    ::close(m_stop);
}

void Waker::run()
{
    bool again = false;
    for (;;) {
        pollfd fds[] = {{m_stop, POLLIN, 0},
                        {m_fds[0], POLLIN, 0},
                        {m_fds[1], POLLIN, 0},
                        {m_fds[2], POLLIN, 0}};
        (void)::poll(fds, std::size(fds), again ? look_again_ms : -1);
        if (fds[0].revents != 0) {
            return;
        }
        again = m_look();
    }
}

} // namespace be::engine
