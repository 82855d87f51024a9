// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of Boost.Asio that the control channel uses, header-only.

#pragma once

// Not used here, and clang 14 has no <coroutine> that Boost 1.74 would accept.
#define BOOST_ASIO_DISABLE_CO_AWAIT 1

// ThreadSanitizer does not know fences, and g++ warns of them. Asio's queues are
// ordered by mutexes as well, which it does know.
#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK 1
#endif
#endif

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace be::control {

namespace asio = boost::asio;

using ErrorCode = boost::system::error_code;

} // namespace be::control
