// SPDX-License-Identifier: BSD-3-Clause
/*
 * One process's UCP: context, worker and an endpoint to the other process of the pair.
 *
 * Every wait is bounded: after `NodeOptions::patience` seconds it throws, naming what did not come.
 * Failures of UCP calls throw std::runtime_error with the call and the status. One thread.
 */
#ifndef BE_TEST_LIB_NODE_HPP
#define BE_TEST_LIB_NODE_HPP

#include "channel.hpp"

#include <functional>
#include <string>
#include <ucp/api/ucp.h>

namespace be::test {

/* Throws "CALL: status" unless the status is UCS_OK. */
void check(ucs_status_t status, const std::string &call);

struct NodeOptions {
    bool sleep  = false; /* waits on the worker's event descriptor instead of polling */
    bool errors = false; /* UCP_ERR_HANDLING_MODE_PEER and an error callback */
    double patience = 60; /* seconds that one wait may take */
    std::string
            net_devices{}; /* UCX_NET_DEVICES of this process; "": as the environment says */
};

class Node {
public:
    Node(Channel &channel, const NodeOptions &options);
    ~Node();
    Node(const Node &)            = delete;
    Node &operator=(const Node &) = delete;

    ucp_context_h context() const
    {
        return m_context;
    }
    ucp_worker_h worker() const
    {
        return m_worker;
    }
    ucp_ep_h ep() const
    {
        return m_ep;
    }
    /* Of the endpoint's error callback; UCS_OK while it was not called. */
    ucs_status_t ep_error() const
    {
        return m_ep_error;
    }

    /* Exchanges worker addresses with the other process and opens the endpoint. */
    void connect();
    /* Opens an endpoint to a packed worker address. */
    ucp_ep_h open(const std::string &address);
    std::string address() const;
    /* Closes an endpoint: after its operations are complete, or at once when `force`. */
    void close(ucp_ep_h ep, bool force = false);
    /* Closes ep(): both sides flush, then both close, so that neither disturbs the other. */
    void disconnect();
    /* Drops ep(), which failed, and connects to the process that is at the other end now. */
    void reconnect();

    /* Makes progress until then. With NodeOptions::sleep it sleeps on nothing but the worker's
     * event descriptor, so the condition must come true by an event of UCP. */
    void until(const std::function<bool()> &condition, const std::string &what);
    /* The status of an operation that ended; frees its request. */
    ucs_status_t wait_status(ucs_status_ptr_t request, const std::string &what);
    /* As wait_status, and throws unless it is UCS_OK. */
    void wait(ucs_status_ptr_t request, const std::string &what);
    void flush();

    /* Sends `message` to the other process and returns its message of the same call. */
    std::string exchange(const std::string &message, const std::string &what);
    /* Both processes are here. Both make progress until then. */
    void barrier(const std::string &what);

private:
    static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status);
    void until_either(const std::function<bool()> &condition, const std::string &what,
                      bool also_channel);
    void sleep_until_event(double seconds, bool also_channel);

    Channel &m_channel;
    NodeOptions m_options;
    ucp_context_h m_context = nullptr;
    ucp_worker_h m_worker   = nullptr;
    ucp_ep_h m_ep           = nullptr;
    int m_event_fd          = -1;
    ucs_status_t m_ep_error = UCS_OK;
};

/* Memory that the other process may read and write. */
class SharedMemory {
public:
    /* Registers [address, address + length), or allocates when address is null. */
    SharedMemory(Node &node, void *address, std::size_t length);
    ~SharedMemory();
    SharedMemory(const SharedMemory &)            = delete;
    SharedMemory &operator=(const SharedMemory &) = delete;

    void *address() const
    {
        return m_address;
    }
    /* What RemoteMemory opens. */
    std::string pack() const;

private:
    Node &m_node;
    void *m_address;
    ucp_mem_h m_memory = nullptr;
};

class RemoteMemory {
public:
    RemoteMemory(ucp_ep_h ep, const std::string &packed);
    ~RemoteMemory();
    RemoteMemory(const RemoteMemory &)            = delete;
    RemoteMemory &operator=(const RemoteMemory &) = delete;

    ucp_rkey_h key() const
    {
        return m_key;
    }
    std::uint64_t at(std::size_t offset) const
    {
        return m_address + offset;
    }

private:
    std::uint64_t m_address;
    ucp_rkey_h m_key = nullptr;
};

} // namespace be::test

#endif
