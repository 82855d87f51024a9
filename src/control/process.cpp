// SPDX-License-Identifier: BSD-3-Clause

#include "control/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <vector>

namespace be::control {

namespace {

// Never destroyed: the control thread may outlive static destruction.
struct Process {
    std::mutex mutex;
    std::atomic<unsigned> generation{0};
    std::vector<int> descriptors;
};

Process &process() noexcept
{
    static auto *instance = new Process;
    return *instance;
}

void before_fork()
{
    process().mutex.lock();
}

void after_fork_in_parent()
{
    process().mutex.unlock();
}

// Only this thread exists here, and it holds the mutex.
void after_fork_in_child()
{
    auto &self = process();

    for (int fd : self.descriptors) {
        ::close(fd);
    }
    self.descriptors.clear();
    self.generation.fetch_add(1, std::memory_order_relaxed);
    self.mutex.unlock();
}

} // namespace

void initialize_process()
{
    static const int error = [] {
        process();
        return pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    }();

    if (error != 0) {
        throw std::system_error(error, std::system_category(),
                                "control channel: cannot install fork handlers");
    }
}

std::mutex &process_mutex() noexcept
{
    return process().mutex;
}

unsigned process_generation() noexcept
{
    return process().generation.load(std::memory_order_relaxed);
}

void track_descriptor(int fd)
{
    process().descriptors.push_back(fd);
}

void untrack_descriptor(int fd) noexcept
{
    std::erase(process().descriptors, fd);
}

} // namespace be::control
