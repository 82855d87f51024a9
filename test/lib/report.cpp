// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <cerrno>
#include <cstdio>
#include <new>
#include <sys/mman.h>
#include <system_error>

namespace be::test {

Report::Report()
{
    void *memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::system_error(errno, std::generic_category(), "mmap of the report");
    }
    m_shared = new (memory) Shared{};
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

Report::~Report()
{
    ::munmap(m_shared, sizeof(Shared));
}

void Report::begin(const std::string &name)
{
    std::snprintf(m_shared->name, sizeof(m_shared->name), "%s", name.c_str());
    m_shared->open = true;
}

void Report::pass(const std::string &note)
{
    ++m_shared->passed;
    m_shared->open = false;
    std::printf("ok %s%s%s\n", m_shared->name, note.empty() ? "" : " ", note.c_str());
}

void Report::fail(const std::string &why)
{
    ++m_shared->failed;
    m_shared->open = false;
    std::printf("FAIL %s: %s\n", m_shared->name, why.c_str());
}

void Report::skip(const std::string &name, const std::string &why)
{
    ++m_shared->skipped;
    std::printf("skip %s: %s\n", name.c_str(), why.c_str());
}

bool Report::open() const
{
    return m_shared->open;
}

int Report::finish() const
{
    std::printf("%u passed, %u failed, %u skipped\n", m_shared->passed, m_shared->failed,
                m_shared->skipped);
    if (m_shared->failed != 0) {
        return 1;
    }
    return (m_shared->passed != 0) ? 0 : 77;
}

} // namespace be::test
