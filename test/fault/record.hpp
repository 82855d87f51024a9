// SPDX-License-Identifier: BSD-3-Clause

#pragma once

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace test {

// A pipe for what another process has to say; the next one that is started inherits it.
class Record {
public:
    Record()
    {
        BOOST_REQUIRE_EQUAL(::pipe2(m_ends, O_NONBLOCK), 0);
        ::fcntl(m_ends[0], F_SETFD, FD_CLOEXEC);
    }

    ~Record()
    {
        ::close(m_ends[0]);
        ::close(m_ends[1]);
    }

    Record(const Record &)            = delete;
    Record &operator=(const Record &) = delete;

    // All so far.
    const std::string &read()
    {
        char text[4096];
        for (ssize_t length; (length = ::read(m_ends[0], text, sizeof(text))) > 0;) {
            m_text.append(text, static_cast<size_t>(length));
        }
        return m_text;
    }

    int descriptor() const
    {
        return m_ends[1];
    }

private:
    int m_ends[2];
    std::string m_text;
};

} // namespace test
