// SPDX-License-Identifier: BSD-3-Clause
//
// The software device and a heap whose regions are registered with it, as the transport's
// are. What fails ends the benchmark.
#pragma once

#include "engine/c_api.h"
#include "memory/heap.hpp"

#include <cstdio>
#include <cstdlib>

namespace be::bench {

class Device {
public:
    static Device &instance()
    {
        static auto *const device = new Device; // outlives all threads
        return *device;
    }

    be_mem_t add(void *address, size_t length)
    {
        be_mem_t mem;
        if (be_mem_register(m_md, address, length, BE_ACCESS_LOCAL, 0, &mem) != BE_OK) {
            exit(1);
        }
        return mem;
    }

    void remove(be_mem_t *mem)
    {
        be_mem_deregister(m_md, mem);
    }

    memory::Heap &heap()
    {
        return m_heap;
    }

    be_md_t *md()
    {
        return m_md;
    }

    const be_port_info_t &port() const
    {
        return m_port;
    }

private:
    Device() :
        m_heap({}, {[this](void *address, size_t length) {
                        auto *mem = new be_mem_t(add(address, length));
                        return memory::Registration{mem->lkey, mem->rkey, mem};
                    },
                    [](const memory::Registration &) {}})
    {
        be_port_info_t *ports;
        unsigned count;
        char why[256];
        if ((be_ports_query(BE_SOFT_YES, &ports, &count, why, sizeof(why)) != BE_OK) ||
            (be_md_open(ports[0].device, BE_SOFT_YES, &m_md) != BE_OK)) {
            fprintf(stderr, "no software device: %s\n", why);
            exit(1);
        }
        m_port = ports[0];
        be_ports_release(ports);
    }

    be_port_info_t m_port{};
    be_md_t *m_md = nullptr;
    memory::Heap m_heap;
};

} // namespace be::bench
