// SPDX-License-Identifier: BSD-3-Clause
#include "peer.h"

#include "cma.h"
#include "guard.h"
#include "log.h"
#include "process.h"
#include "reclaim.h"
#include "resource_limit.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace softrdma {
namespace {

int open_remote(pid_t pid, int fd, int flags)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
    return open(path, flags | O_CLOEXEC);
}

// Why a descriptor of that process could not be opened, unless it is because it is gone.
void report_unreachable(pid_t pid, int failure)
{
    if ((failure == EACCES) || (failure == EPERM)) {
        SOFTRDMA_LOG_ONCE(
                error,
                "process %d cannot be reached: /proc/%d/fd: %s (it must run as the same "
                "user and be dumpable)",
                pid, pid, strerror(failure));
    } else if ((failure != ENOENT) && (failure != ESRCH)) {
        SOFTRDMA_LOG_ONCE(error, "process %d cannot be reached: %s", pid,
                          describe_failure(failure).c_str());
    }
}

} // namespace

peer::peer(segment_layout *segment_, uint32_t slot_, uint64_t generation_, pid_t pid_,
           bool own_) :
    segment(segment_), slot(slot_), generation(generation_), pid(pid_), own(own_)
{
}

peer::~peer()
{
    let_go();
}

void peer::let_go()
{
    std::lock_guard lock(m_mutex);
    for (const auto &entry : m_channels) {
        close(entry.second.fd);
    }
    m_channels.clear();
    if (m_segment_file >= 0) {
        close(m_segment_file);
        m_segment_file = -1;
    }
    if (!own && (segment != nullptr)) {
        munmap(segment, limits::segment_bytes);
        segment = nullptr;
    }
}

bool peer::notify(int fd, uint64_t identity, uint64_t cookie)
{
    if (own) {
        return write(fd, &cookie, sizeof(cookie)) == sizeof(cookie);
    }

    std::lock_guard lock(m_mutex);
    auto found = m_channels.find(fd);
    if ((found != m_channels.end()) && (found->second.identity != identity)) {
        close(found->second.fd);
        m_channels.erase(found);
        found = m_channels.end();
    }
    if (found == m_channels.end()) {
        // For reading, too: writing into a pipe that nobody could read from any more is a SIGPIPE.
        int opened = open_remote(pid, fd, O_RDWR | O_NONBLOCK);
        if (opened < 0) {
            report_unreachable(pid, errno);
            return false;
        }
        found = m_channels.emplace(fd, channel{opened, identity}).first;
    }
    return write(found->second.fd, &cookie, sizeof(cookie)) == sizeof(cookie);
}

void peer::ring_doorbell(int doorbell_fd)
{
    segment->attention.fetch_add(1, std::memory_order_seq_cst);
    // A full pipe is fine: the owner is being woken already.
    notify(doorbell_fd, 0, 0);
}

void peer::call(int doorbell_fd, uint32_t caller)
{
    if (caller != 0) {
        segment->callers[caller / 64].fetch_or(uint64_t{1} << (caller % 64),
                                               std::memory_order_release);
    }
    segment->attention.fetch_add(relay_call, std::memory_order_seq_cst);
    notify(doorbell_fd, 0, 0);
}

void peer::refuse_access(int failure)
{
    bool known = m_out_of_reach.exchange(true, std::memory_order_relaxed);
    if (!known && (failure != 0)) {
        say_refused(failure, pid);
    }
}

int peer::segment_file(int fd)
{
    std::lock_guard lock(m_mutex);
    if (m_segment_file < 0) {
        m_segment_file = open_remote(pid, fd, O_RDWR);
    }
    return m_segment_file;
}

peer_table::~peer_table()
{
    for (auto &entry : m_peers) {
        delete entry.load(std::memory_order_relaxed);
    }
    for (peer *old : m_retired) {
        delete old;
    }
}

peer *peer_table::find(uint32_t slot)
{
    if ((slot == 0) || (slot >= limits::processes)) {
        return nullptr;
    }
    uint64_t generation = m_owner.reg.entry(slot).generation.load(
            std::memory_order_acquire);
    peer *known = m_peers[slot].load(std::memory_order_acquire);
    if ((known == nullptr) || (known->generation != generation)) {
        known = attach(slot, generation);
    }
    // As what closes an object (guard.h).
    return ((known != nullptr) && !known->dead.load(std::memory_order_seq_cst)) ? known :
                                                                                  nullptr;
}

peer *peer_table::attach(uint32_t slot, uint64_t generation)
{
    std::lock_guard lock(m_mutex);
    peer *known = m_peers[slot].load(std::memory_order_acquire);
    if ((known != nullptr) && (known->generation == generation)) {
        return known;
    }
    if (known != nullptr) {
        m_peers[slot].store(nullptr, std::memory_order_seq_cst);
        m_retired.push_back(known);
    }
    if (generation == 0) {
        return nullptr;
    }

    process_entry &entry = m_owner.reg.entry(slot);
    pid_t pid            = entry.pid.load(std::memory_order_acquire);
    if (slot == m_owner.reg.own_slot()) {
        peer *self = new peer(m_owner.seg.base(), slot, generation, pid, true);
        m_peers[slot].store(self, std::memory_order_release);
        return self;
    }

    int fd = open_remote(pid, entry.segment_fd, O_RDWR);
    if (fd < 0) {
        report_unreachable(pid, errno);
        return nullptr;
    }
    struct stat info;
    if ((fstat(fd, &info) != 0) ||
        (info.st_size != static_cast<off_t>(limits::segment_bytes))) {
        close(fd);
        return nullptr; // another program runs in that process now
    }
    void *base = mmap(nullptr, limits::segment_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, fd, 0);
    int failed = errno;
    close(fd);
    if (base == MAP_FAILED) {
        SOFTRDMA_LOG_ONCE(
                error,
                "process %d cannot be reached: mapping 4 GiB of its device memory: "
                "%s",
                pid, describe_failure(failed).c_str());
        return nullptr;
    }
    madvise(base, limits::segment_bytes, MADV_DONTFORK);
    auto *segment = static_cast<segment_layout *>(base);
    if ((segment->magic != segment_magic) || (segment->slot != slot) ||
        (segment->generation != generation)) {
        munmap(base, limits::segment_bytes); // died and was replaced meanwhile
        return nullptr;
    }

    peer *found = new peer(segment, slot, generation, pid, false);
    if (!m_owner.config.cma) {
        found->refuse_access(0);
    } else {
        uint64_t word;
        int failure = try_access(pid, segment->address, &word, sizeof(word));
        if (is_refusal(failure)) {
            found->refuse_access(failure);
        }
    }
    m_peers[slot].store(found, std::memory_order_release);
    SOFTRDMA_LOG(debug, "attached to process %d in slot %u", pid, slot);
    if (!m_owner.background.watch(slot, generation, pid)) {
        found->dead.store(true, std::memory_order_release);
    }
    uint32_t own = m_owner.reg.own_slot();
    segment->visitors[own / 64].fetch_or(uint64_t{1} << (own % 64),
                                         std::memory_order_release);
    found->ring_doorbell(entry.doorbell_fd);
    return found;
}

void peer_table::mark_dead(uint32_t slot, uint64_t generation)
{
    std::vector<peer *> unused;
    peer *died = nullptr;
    {
        std::lock_guard lock(m_mutex);
        peer *known = m_peers[slot].load(std::memory_order_acquire);
        if ((known != nullptr) && (known->generation == generation)) {
            died = known;
            died->dead.store(true, std::memory_order_seq_cst);
            SOFTRDMA_LOG(debug, "process %d in slot %u died", died->pid, slot);
        }
        unused.swap(m_retired);
    }
    m_owner.relays.forget(slot, generation);
    m_owner.served.forget(slot, generation);
    reclaim_from_dead(m_owner);
    m_owner.look_again();
    // Runs on the service thread, outside of any execution. What died stays known as dead until its slot is
    // taken again.
    if ((died != nullptr) && quiesce(m_owner.reg, slot, true)) {
        died->let_go();
    }
    for (peer *old : unused) {
        quiesce(m_owner.reg, old->slot, true);
        delete old;
    }
}

} // namespace softrdma
