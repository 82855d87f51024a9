// SPDX-License-Identifier: BSD-3-Clause
//
// A verbs library that is told what to answer and remembers what it was asked.
//
// Entry points are plain functions, so there is one library at a time: the last one made.
#pragma once

#include "verbs/table.hpp"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace be::verbs::test {

struct MockPort {
    ibv_port_attr attributes  = {};
    std::vector<ibv_gid> gids = {};
};

// An active port: 100 Gb/s, 16 empty GIDs.
MockPort active_port(int link_layer);

struct MockDevice {
    std::string name;
    std::vector<MockPort> ports;
    ibv_transport_type transport = IBV_TRANSPORT_IB;
    int open_error               = 0;
    ibv_device_attr attributes   = {};
};

class MockLibrary {
public:
    // `soft`: what the table says of itself.
    explicit MockLibrary(bool soft = false);
    ~MockLibrary();
    MockLibrary(const MockLibrary &)            = delete;
    MockLibrary &operator=(const MockLibrary &) = delete;

    const Table &table() const
    {
        return m_table;
    }

    MockDevice &add(const std::string &name, std::vector<MockPort> ports);

    // The call of that name ("create_qp") fails with that errno value, always.
    std::map<std::string, int> errors;
    // ibv_get_device_list fails as a whole; 0: it works.
    int list_error = 0;
    // create_qp refuses more inline bytes than this.
    unsigned inline_limit = UINT32_MAX;

    // What was asked.
    int lists = 0; // device lists not given back
    int open  = 0; // contexts open
    int alive = 0; // other objects not destroyed
    std::vector<unsigned> inline_attempts;
    struct Modification {
        ibv_qp_attr attributes;
        int mask;
    };
    std::vector<Modification> modifications;
    ibv_qp_init_attr last_qp = {};
    std::string last_registration; // the call it came by

    std::deque<ibv_async_event> events; // to be read, in order
    int acknowledged = 0;

private:
    friend struct Calls;

    std::deque<MockDevice> m_devices;
    std::deque<ibv_device> m_handles; // same order
    Table m_table = {};
};

} // namespace be::verbs::test
