// SPDX-License-Identifier: BSD-3-Clause

#include "harness.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>

namespace uct_test {

Completion::Completion()
{
    m_comp.func   = [](uct_completion_t *) {};
    m_comp.count  = 1;
    m_comp.status = UCS_OK;
}

uct_completion_t *Completion::use()
{
    ++m_comp.count;
    return &m_comp;
}

ucs_status_t Completion::started(ucs_status_t status)
{
    if (status != UCS_INPROGRESS) {
        --m_comp.count;
    }
    return status;
}

bool progress_until(const Interfaces &ifaces, const std::function<bool()> &done,
                    std::chrono::milliseconds limit)
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!done()) {
        for (Interface *iface : ifaces) {
            iface->progress();
        }
        if (std::chrono::steady_clock::now() > deadline) {
            return done();
        }
    }
    return true;
}

ssize_t retry_bcopy(const Interfaces &ifaces, const std::function<ssize_t()> &operation)
{
    ssize_t result = UCS_ERR_NO_RESOURCE;
    progress_until(ifaces, [&] {
        result = operation();
        return result != UCS_ERR_NO_RESOURCE;
    });
    return result;
}

ucs_status_t
retry(const Interfaces &ifaces, const std::function<ucs_status_t()> &operation)
{
    return static_cast<ucs_status_t>(
            retry_bcopy(ifaces, [&] { return static_cast<ssize_t>(operation()); }));
}

void flush(const Interfaces &ifaces, const Endpoint &ep)
{
    Completion completion;
    uct_completion_t *comp    = completion.use();
    const ucs_status_t status = completion.started(retry(ifaces, [&] {
        return uct_ep_flush(ep.handle(), UCT_FLUSH_FLAG_LOCAL, comp);
    }));
    if ((status != UCS_OK) && (status != UCS_INPROGRESS)) {
        throw Error("flush", status);
    }
    if (!progress_until(ifaces, [&] { return completion.done(); })) {
        throw std::runtime_error("flush did not complete");
    }
}

void fill(uint8_t *data, size_t length, uint64_t seed)
{
    for (size_t i = 0; i < length; ++i) {
        data[i] = static_cast<uint8_t>((seed * 131) + (i * 7) + (i >> 8) + (i >> 16));
    }
}

std::vector<uint8_t> pattern(size_t length, uint64_t seed)
{
    std::vector<uint8_t> bytes(length);
    fill(bytes.data(), length, seed);
    return bytes;
}

bool matches(const uint8_t *data, size_t length, uint64_t seed)
{
    const std::vector<uint8_t> expected = pattern(length, seed);
    return (length == 0) || std::memcmp(data, expected.data(), length) == 0;
}

size_t pack(void *dest, void *arg)
{
    auto *packed = static_cast<Packed *>(arg);
    std::copy_n(packed->data, packed->length, static_cast<uint8_t *>(dest));
    ++packed->calls;
    return packed->length;
}

} // namespace uct_test
