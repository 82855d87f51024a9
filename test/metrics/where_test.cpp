// SPDX-License-Identifier: BSD-3-Clause
//
// UCX_BE_METRICS as users write it.

#define BOOST_TEST_MODULE metrics_where
#include <boost/test/unit_test.hpp>

#include "metrics/where.hpp"

#include <cerrno>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace be::metrics;

namespace {

void is(const char *text, const char *address, unsigned first, unsigned last)
{
    const Where where = parse_where(text);
    BOOST_CHECK_EQUAL(where.address, address);
    BOOST_CHECK_EQUAL(where.first, first);
    BOOST_CHECK_EQUAL(where.last, last);
}

} // namespace

BOOST_AUTO_TEST_CASE(addresses_and_ports)
{
    is("127.0.0.1:9400", "127.0.0.1", 9400, 9400);
    is("127.0.0.1:9400+", "127.0.0.1", 9400, 9463);
    is("127.0.0.1:65530+", "127.0.0.1", 65530, 65535);
    is("0.0.0.0:9400-9415", "0.0.0.0", 9400, 9415);
    is("[::1]:9400+", "[::1]", 9400, 9463);
    is("127.0.0.1:0", "127.0.0.1", 0, 0);
}

BOOST_AUTO_TEST_CASE(the_rest_is_refused)
{
    for (const char *text :
         {"", "9400", ":9400", "localhost:9400", "127.0.0.1:", "127.0.0.1:+",
          "127.0.0.1:65536", "127.0.0.1:http", "127.0.0.1:9400-", "127.0.0.1:9400-9399",
          "127.0.0.1:9400-9410+", "127.0.0.1:0+", "127.0.0.1:-1", "[::1:9400", "::1:9400",
          "127.0.0.1:9400 "}) {
        BOOST_CHECK_EXCEPTION(parse_where(text), std::invalid_argument,
                              [&](const std::exception &error) {
                                  return std::string(error.what())
                                          .starts_with("'" + std::string(text) + "'");
                              });
    }
}

BOOST_AUTO_TEST_CASE(a_port_that_is_taken_is_known)
{
    const Where where = parse_where("127.0.0.1:0");
    const int fd      = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    socklen_t length        = sizeof(address);
    address.sin_family      = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto *plain             = reinterpret_cast<sockaddr *>(&address);
    BOOST_REQUIRE_EQUAL(::bind(fd, plain, length), 0);
    BOOST_REQUIRE_EQUAL(::listen(fd, 1), 0);
    BOOST_REQUIRE_EQUAL(::getsockname(fd, plain, &length), 0);
    BOOST_CHECK_EQUAL(try_port(where, ntohs(address.sin_port)), EADDRINUSE);
    ::close(fd);
    BOOST_CHECK_EQUAL(try_port(where, ntohs(address.sin_port)), 0);
}
