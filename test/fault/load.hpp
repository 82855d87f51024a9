// SPDX-License-Identifier: BSD-3-Clause
/*
 * Traffic from a survivor to a process that is about to die: one kind of operation, many
 * outstanding, every request accounted for.
 */
#ifndef BE_TEST_FAULT_LOAD_HPP
#define BE_TEST_FAULT_LOAD_HPP

#include "lib/node.hpp"

#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace be::test {

/* The tag of every message of a load. */
constexpr ucp_tag_t LOAD_TAG  = 0x10ad;
constexpr unsigned LOAD_AM_ID = 9;

struct LoadKind {
    const char *name;
    std::size_t size; /* bytes of one operation */
    std::size_t window; /* outstanding operations */
    std::size_t warm_up; /* operations that complete before the peer is killed */
    bool remote_memory; /* the operation needs the peer's memory */
    ucs_status_ptr_t (*issue)(Node &node, void *buffer, std::size_t size,
                              const RemoteMemory *remote);
};

std::span<const LoadKind> load_kinds();

/* The survivor's side. */
class Load {
public:
    Load(Node &node, const LoadKind &kind);
    ~Load();
    Load(const Load &)            = delete;
    Load &operator=(const Load &) = delete;

    /* Fills the window and retires what is complete. Failures are counted, not thrown. */
    void turn();
    /* Waits until nothing is outstanding. */
    void drain();

    std::size_t completed() const
    {
        return m_completed;
    }
    std::size_t failed() const
    {
        return m_failed;
    }
    std::size_t outstanding() const
    {
        return m_requests.size();
    }

private:
    void count(ucs_status_t status);

    Node &m_node;
    const LoadKind &m_kind;
    std::vector<char> m_buffer;
    std::unique_ptr<RemoteMemory> m_remote;
    std::deque<ucs_status_ptr_t> m_requests;
    std::size_t m_completed = 0;
    std::size_t m_failed    = 0;
};

/* The victim's side: takes everything that comes, until it is killed or the survivor ends. */
void serve(Node &node, const LoadKind &kind);

} // namespace be::test

#endif
