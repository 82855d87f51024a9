// SPDX-License-Identifier: BSD-3-Clause
//
// What the C facade's files share: from handles to objects, no exception past the facade.

#pragma once

#include "engine/c_api.h"
#include "engine/log.hpp"
#include "engine/member.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>

// Several memory domains of a process may have the same device.
struct be_md {
    std::shared_ptr<be::engine::Device> device;
};

namespace be::engine {

inline Member &member_of(be_fabric_t *fabric)
{
    return *static_cast<Member *>(fabric);
}

inline const Member &member_of(const be_fabric_t *fabric)
{
    return *static_cast<const Member *>(fabric);
}

inline Link &link_of(be_peer_t *peer)
{
    return *static_cast<Link *>(peer);
}

// The metrics of what is constant to the caller are read under the lock like everything else.
inline Link &link_of(const be_peer_t *peer)
{
    return *static_cast<Link *>(const_cast<be_peer_t *>(peer));
}

// The fabric of a link or a member, locked for one call.
class Locked {
public:
    explicit Locked(Fabric &fabric) : m_fabric(fabric), m_lock(fabric.lock())
    {
    }

    explicit Locked(const Link &link) : Locked(link.peer.fabric)
    {
    }

    Fabric *operator->() noexcept
    {
        return &m_fabric;
    }

private:
    Fabric &m_fabric;
    const std::lock_guard<MemberLock> m_lock;
};

// Runs `body`, which returns a status; an exception is logged with `what` was being done.
template<typename Body>
be_status_t guarded(const char *what, Body &&body) noexcept
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        log_line(BE_LOG_ERROR, std::string(what) + ": out of memory");
        return BE_ERR_NO_MEMORY;
    } catch (const std::exception &error) {
        log(BE_LOG_ERROR, "{}: {}", what, error.what());
        return BE_ERR_IO;
    }
}

inline void copy_text(char *out, std::size_t size, const std::string &text)
{
    if (size != 0) {
        const std::size_t length = std::min(size - 1, text.size());
        std::memcpy(out, text.data(), length);
        out[length] = '\0';
    }
}

} // namespace be::engine
