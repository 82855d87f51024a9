// SPDX-License-Identifier: BSD-3-Clause

#include "control/watch.hpp"

#include "control/logger.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace be::control {
namespace {

int duplicate(int fd)
{
    const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
        throw std::system_error(errno, std::system_category(),
                                "cannot watch descriptor " + std::to_string(fd));
    }
    return copy;
}

} // namespace

Watch::Watch(asio::io_context &context, int fd, std::function<void()> readable) :
    m_descriptor(context, duplicate(fd)), m_readable(std::move(readable))
{
}

void Watch::start()
{
    m_descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                            [self = shared_from_this()](const ErrorCode &error) {
                                if (error || self->m_cancelled) {
                                    return;
                                }
                                try {
                                    self->m_readable();
                                } catch (const std::exception &problem) {
                                    log(Level::error,
                                        std::string("watched descriptor: ") +
                                                problem.what());
                                }
                                if (!self->m_cancelled) {
                                    self->start();
                                }
                            });
}

void Watch::cancel() noexcept
{
    m_cancelled = true;
    ErrorCode ignored;
    m_descriptor.close(ignored);
}

} // namespace be::control
