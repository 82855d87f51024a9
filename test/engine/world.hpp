// SPDX-License-Identifier: BSD-3-Clause
//
// Fabrics in one process, on the software device, through the C facade: what the engine's tests stand on.

#pragma once

#include "engine/c_api.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace test {

// A condition that should come true soon is waited for this long before it counts as false.
inline constexpr auto patience = std::chrono::seconds(20);

struct Received {
    uint8_t id;
    std::vector<uint8_t> data;
};

inline std::vector<uint8_t> pattern(size_t length, unsigned seed)
{
    std::vector<uint8_t> data(length);
    for (size_t i = 0; i < length; ++i) {
        data[i] = static_cast<uint8_t>((i * 131 + (i >> 8) * 17 + seed * 29 + 7) & 0xff);
    }
    return data;
}

// The software device, or the one that BE_TEST_DEVICE names.
class Device {
public:
    // `number`: which of the software devices, where there are several.
    explicit Device(unsigned number = 0)
    {
        const char *wanted        = std::getenv("BE_TEST_DEVICE");
        const be_soft_mode_t mode = wanted == nullptr ? BE_SOFT_YES : BE_SOFT_NO;
        if (const char *modules = std::getenv("BE_MODULEDIR")) {
            ::setenv("UCX_BE_SOFT_LIBRARY",
                     (std::string(modules) + "/libsoftrdma.so").c_str(), 0);
        }
        be_port_info_t *ports = nullptr;
        unsigned count        = 0;
        char why[256];
        const be_status_t status = be_ports_query(mode, &ports, &count, why, sizeof(why));
        BOOST_REQUIRE_MESSAGE(status == BE_OK && count > number, why);
        const be_port_info_t *chosen = std::find_if(
                ports + number, ports + count, [&](const be_port_info_t &candidate) {
                    return wanted == nullptr || std::string(candidate.device) == wanted;
                });
        BOOST_REQUIRE_MESSAGE(chosen != ports + count,
                              "BE_TEST_DEVICE=" << wanted << ": there is no such device");
        port = *chosen;
        be_ports_release(ports);
        BOOST_REQUIRE_EQUAL(be_md_open(port.device, mode, &md), BE_OK);
    }

    ~Device()
    {
        be_md_close(md);
    }

    be_fabric_config_t config() const
    {
        be_fabric_config_t defaults;
        be_fabric_config_defaults(&port, &defaults);
        return defaults;
    }

    be_port_info_t port{};
    be_md_t *md = nullptr;
};

class Node {
public:
    Node(Device &device, const be_fabric_config_t &config) : config(config)
    {
        const be_fabric_callbacks_t callbacks{this, on_message, on_complete, on_unpack,
                                              on_failed};
        BOOST_REQUIRE_EQUAL(be_fabric_create(device.md, device.port.port, &config,
                                             &callbacks, &fabric),
                            BE_OK);
    }

    ~Node()
    {
        close();
    }

    void close()
    {
        if (fabric != nullptr) {
            for (be_peer_t *peer : peers) {
                be_peer_put(peer);
            }
            be_fabric_destroy(fabric);
            fabric = nullptr;
        }
    }

    be_peer_t *connect(const Node &other)
    {
        uint8_t address[BE_FABRIC_ADDR_LEN];
        be_fabric_address(other.fabric, address);
        be_peer_t *peer = nullptr;
        BOOST_REQUIRE_EQUAL(be_peer_get(fabric, address, &peer), BE_OK);
        peers.push_back(peer);
        return peer;
    }

    uint64_t metric(const char *name) const
    {
        std::pair<const char *, uint64_t> wanted{name, ~uint64_t{0}};
        be_fabric_metrics(
                fabric,
                [](void *arg, const be_metric_t *metric) {
                    auto *out = static_cast<std::pair<const char *, uint64_t> *>(arg);
                    if (std::string(metric->name) == out->first) {
                        out->second = metric->value;
                    }
                },
                &wanted);
        BOOST_REQUIRE_MESSAGE(wanted.second != ~uint64_t{0}, "no metric " << name);
        return wanted.second;
    }

    be_fabric_t *fabric = nullptr;
    be_fabric_config_t config;
    std::vector<be_peer_t *> peers;
    std::vector<Received> received;
    std::vector<std::pair<unsigned, void *>> kept; // which of the received, and its payload
    bool keep = false;
    std::map<void *, be_status_t> completed;
    std::vector<std::pair<be_peer_t *, be_status_t>> failed;
    std::vector<uint8_t> unpacked;

private:
    static be_rx_result_t
    on_message(void *arg, uint8_t id, void *data, size_t length, int may_keep)
    {
        auto *self        = static_cast<Node *>(arg);
        const auto *bytes = static_cast<const uint8_t *>(data);
        self->received.push_back({id, {bytes, bytes + length}});
        if (self->keep && may_keep) {
            self->kept.emplace_back(static_cast<unsigned>(self->received.size() - 1),
                                    data);
            return BE_RX_KEPT;
        }
        return BE_RX_DONE;
    }

    static void on_complete(void *arg, void *completion, be_status_t status)
    {
        auto *self = static_cast<Node *>(arg);
        // Boost's checks are for one thread at a time; nodes may have one each.
        if (!self->completed.emplace(completion, status).second) {
            BOOST_FAIL("completed twice");
        }
    }

    static void on_unpack(void *arg, void *, void *, const void *data, size_t length)
    {
        const auto *bytes = static_cast<const uint8_t *>(data);
        static_cast<Node *>(arg)->unpacked.assign(bytes, bytes + length);
    }

    static void on_failed(void *arg, be_peer_t *peer, be_status_t status)
    {
        static_cast<Node *>(arg)->failed.emplace_back(peer, status);
    }
};

// Progresses all until `done`. False: it did not come true in time.
inline bool wait(std::initializer_list<Node *> nodes, const std::function<bool()> &done)
{
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!done()) {
        for (Node *node : nodes) {
            if (node->fabric != nullptr) {
                be_fabric_progress(node->fabric);
            }
        }
        if (std::chrono::steady_clock::now() > deadline) {
            return false;
        }
    }
    return true;
}

// Retries `send` until it takes the operation.
inline be_status_t
push(std::initializer_list<Node *> nodes, const std::function<ssize_t()> &send)
{
    ssize_t result = BE_ERR_NO_RESOURCE;
    const bool ok  = wait(nodes, [&] { return (result = send()) != BE_ERR_NO_RESOURCE; });
    return ok ? static_cast<be_status_t>(result < 0 ? result : (result == 1 ? 1 : 0)) :
                BE_ERR_NO_RESOURCE;
}

inline size_t pack_vector(void *dest, void *arg)
{
    const auto *data = static_cast<const std::vector<uint8_t> *>(arg);
    std::copy(data->begin(), data->end(), static_cast<uint8_t *>(dest));
    return data->size();
}

inline be_status_t send_bcopy(std::initializer_list<Node *> nodes, be_peer_t *peer,
                              uint8_t id, const std::vector<uint8_t> &data)
{
    ssize_t result = BE_ERR_NO_RESOURCE;
    wait(nodes, [&] {
        result = be_am_bcopy(peer, id, pack_vector,
                             const_cast<std::vector<uint8_t> *>(&data));
        return result != BE_ERR_NO_RESOURCE;
    });
    return result < 0 ? static_cast<be_status_t>(result) : BE_OK;
}

} // namespace test
