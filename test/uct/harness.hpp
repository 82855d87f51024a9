// SPDX-License-Identifier: BSD-3-Clause
//
// UCT objects for tests, on the public API of UCT alone. The transport is `be`, loaded as UCX would;
// BE_UCT_TL names another one (tcp, posix) and BE_UCT_DEVICE its device, which shows that a test asks
// for what UCT promises and not for what `be` happens to do. A test of something that the transport
// does not have is skipped.
//
// One thread. Every wait is bounded by `patience`; a test that runs into it fails.

#pragma once

#include <uct/api/uct.h>
extern "C" {
#include <ucs/async/async_fwd.h>
}

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace uct_test {

inline constexpr std::chrono::seconds patience{30};

std::string transport(); // "be" unless the environment says otherwise
bool is_be();

// Where an interface is; what travels between processes.
struct Address {
    std::vector<uint8_t> device;
    std::vector<uint8_t> iface;

    std::vector<uint8_t> encode() const;
    static Address decode(const std::vector<uint8_t> &bytes);
};

struct Options {
    size_t rx_headroom = 0;
    std::optional<size_t> am_alignment;
    std::optional<size_t> am_align_offset;
    std::map<std::string, std::string> config; // of the interface: "SEG_SIZE" → "8k"
    std::map<std::string, std::string> md_config; // of the memory domain
    std::function<ucs_status_t(uct_ep_h, ucs_status_t)> on_error;
};

struct Error : std::runtime_error {
    Error(const std::string &what, ucs_status_t code) :
        std::runtime_error(what + ": " + ucs_status_string(code)), status(code)
    {
    }

    ucs_status_t status;
};

// One worker with one interface. The constructor throws Error.
class Interface {
public:
    explicit Interface(Options options = {});
    ~Interface();
    Interface(const Interface &)            = delete;
    Interface &operator=(const Interface &) = delete;

    uct_iface_h handle() const
    {
        return m_iface;
    }

    uct_md_h md() const
    {
        return m_md;
    }

    uct_component_h component() const
    {
        return m_component;
    }

    const uct_iface_attr_t &attr() const
    {
        return m_attr;
    }

    const uct_md_attr_t &md_attr() const
    {
        return m_md_attr;
    }

    bool has(uint64_t flags) const
    {
        return (m_attr.cap.flags & flags) == flags;
    }

    Address address() const;
    unsigned progress();

    using AmHandler =
            std::function<ucs_status_t(void *data, size_t length, unsigned flags)>;
    void on_am(uint8_t id, AmHandler handler);

private:
    struct Opened;
    static ucs_status_t am_callback(void *arg, void *data, size_t length, unsigned flags);
    static ucs_status_t error_callback(void *arg, uct_ep_h ep, ucs_status_t status);
    ucs_status_t open();
    void close();

    Options m_options;
    ucs_async_context_t *m_async = nullptr;
    uct_worker_h m_worker        = nullptr;
    uct_component_h m_component  = nullptr;
    uct_md_h m_md                = nullptr;
    uct_iface_h m_iface          = nullptr;
    uct_iface_attr_t m_attr{};
    uct_md_attr_t m_md_attr{};
    std::map<uint8_t, std::unique_ptr<AmHandler>> m_handlers;
};

class Endpoint {
public:
    Endpoint(Interface &iface, const Address &remote);
    ~Endpoint();
    Endpoint(const Endpoint &)            = delete;
    Endpoint &operator=(const Endpoint &) = delete;

    uct_ep_h handle() const
    {
        return m_ep;
    }

    // Before the destructor would.
    void destroy();

private:
    uct_ep_h m_ep = nullptr;
};

// Registered memory with its remote key as another process would use it.
class Memory {
public:
    Memory(Interface &iface, size_t length); // allocated by the memory domain
    Memory(Interface &iface, void *address, size_t length); // of the caller
    ~Memory();
    Memory(const Memory &)            = delete;
    Memory &operator=(const Memory &) = delete;

    uint8_t *data() const
    {
        return m_data;
    }

    size_t size() const
    {
        return m_size;
    }

    uct_mem_h memh() const
    {
        return m_memh;
    }

    uct_rkey_t rkey() const
    {
        return m_key.rkey;
    }

    uint64_t remote(size_t offset = 0) const
    {
        return reinterpret_cast<uintptr_t>(m_data) + offset;
    }

    std::vector<uint8_t> packed_key() const;

private:
    void unpack();

    Interface &m_iface;
    uint8_t *m_data  = nullptr;
    size_t m_size    = 0;
    uct_mem_h m_memh = UCT_MEM_HANDLE_NULL;
    bool m_allocated = false;
    std::vector<uint8_t> m_own; // when the memory domain does not allocate
    uct_rkey_bundle_t m_key{};
};

// A key that came from elsewhere.
class RemoteKey {
public:
    RemoteKey(Interface &iface, const std::vector<uint8_t> &packed);
    ~RemoteKey();
    RemoteKey(const RemoteKey &)            = delete;
    RemoteKey &operator=(const RemoteKey &) = delete;

    uct_rkey_t rkey() const
    {
        return m_key.rkey;
    }

private:
    uct_component_h m_component;
    uct_rkey_bundle_t m_key{};
};

// A uct_completion_t for any number of operations. UCT counts it down by one for each that completes,
// so after the last it is where it was; an operation completed twice takes it below.
class Completion {
public:
    Completion();

    uct_completion_t *use(); // for one more operation
    ucs_status_t
    started(ucs_status_t status); // its result; anything but UCS_INPROGRESS ends it

    int outstanding() const
    {
        return m_comp.count - 1;
    }

    bool done() const
    {
        return outstanding() == 0;
    }

    ucs_status_t status() const
    {
        return m_comp.status;
    }

private:
    uct_completion_t m_comp{};
};

using Interfaces = std::vector<Interface *>;

// Progresses all until `done`; false when patience is over.
bool progress_until(const Interfaces &ifaces, const std::function<bool()> &done,
                    std::chrono::milliseconds limit = patience);

// Calls `operation` until it returns something else than UCS_ERR_NO_RESOURCE.
ucs_status_t
retry(const Interfaces &ifaces, const std::function<ucs_status_t()> &operation);
ssize_t retry_bcopy(const Interfaces &ifaces, const std::function<ssize_t()> &operation);

// Everything sent through `ep` is complete at its target.
void flush(const Interfaces &ifaces, const Endpoint &ep);

// Bytes that depend on `seed` and position.
std::vector<uint8_t> pattern(size_t length, uint64_t seed);
void fill(uint8_t *data, size_t length, uint64_t seed);
bool matches(const uint8_t *data, size_t length, uint64_t seed);

// uct_pack_callback_t over a buffer.
struct Packed {
    const uint8_t *data;
    size_t length;
    int calls = 0;
};
size_t pack(void *dest, void *arg);

} // namespace uct_test
