// SPDX-License-Identifier: BSD-3-Clause
//
// Values over a socket between a test and its servant.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <unistd.h>

namespace softtest {

[[noreturn]] inline void fatal(const char *what)
{
    perror(what);
    abort();
}

template<class T>
bool try_get(int socket, T &value)
{
    static_assert(std::is_trivially_copyable_v<T>);
    size_t done = 0;
    while (done < sizeof(value)) {
        ssize_t step = read(socket, reinterpret_cast<char *>(&value) + done,
                            sizeof(value) - done);
        if (step <= 0) {
            return false;
        }
        done += static_cast<size_t>(step);
    }
    return true;
}

template<class T>
T get(int socket)
{
    T value;
    if (!try_get(socket, value)) {
        fatal("the other side of a test is gone");
    }
    return value;
}

template<class T>
void put(int socket, const T &value)
{
    static_assert(std::is_trivially_copyable_v<T>);
    if (write(socket, &value, sizeof(value)) != static_cast<ssize_t>(sizeof(value))) {
        fatal("the other side of a test is gone");
    }
}

} // namespace softtest
