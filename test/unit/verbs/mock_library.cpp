// SPDX-License-Identifier: BSD-3-Clause
#include "mock_library.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace be::verbs::test {
namespace {

MockLibrary *library = nullptr;

} // namespace

// The entry points.
struct Calls {
    static MockDevice &device_of(const ibv_device *handle)
    {
        for (size_t i = 0; i < library->m_handles.size(); ++i) {
            if (&library->m_handles[i] == handle) {
                return library->m_devices[i];
            }
        }
        throw std::logic_error("a device that is not of this library");
    }

    static MockDevice &device_of(const ibv_context *context)
    {
        return device_of(context->device);
    }

    // The errno value `call` is to fail with; 0: it is to work.
    static int error_of(const char *call)
    {
        const auto found = library->errors.find(call);
        return (found == library->errors.end()) ? 0 : found->second;
    }

    // For calls that return an object.
    template<typename Object>
    static Object *make(const char *call, Object object)
    {
        if (const int error = error_of(call)) {
            errno = error;
            return nullptr;
        }
        ++library->alive;
        return new Object(object);
    }

    template<typename Object>
    static int destroy(const char *call, Object *object)
    {
        if (const int error = error_of(call)) {
            return error;
        }
        --library->alive;
        delete object;
        return 0;
    }

    static ibv_device **get_device_list(int *count)
    {
        if (library->list_error != 0) {
            errno = library->list_error;
            return nullptr;
        }
        const size_t size = library->m_handles.size();
        auto **list       = new ibv_device *[size + 1]();
        for (size_t i = 0; i < size; ++i) {
            library->m_handles[i].transport_type = library->m_devices[i].transport;

            list[i] = &library->m_handles[i];
        }
        *count = static_cast<int>(size);
        ++library->lists;
        return list;
    }

    static void free_device_list(ibv_device **list)
    {
        --library->lists;
        delete[] list;
    }

    static const char *get_device_name(ibv_device *device)
    {
        return device->name;
    }

    static ibv_context *open_device(ibv_device *device)
    {
        const int error = device_of(device).open_error;
        if (error != 0) {
            errno = error;
            return nullptr;
        }
        ++library->open;
        auto *context     = new ibv_context();
        context->device   = device;
        context->async_fd = eventfd(0, EFD_CLOEXEC);
        return context;
    }

    static int close_device(ibv_context *context)
    {
        --library->open;
        close(context->async_fd);
        delete context;
        return 0;
    }

    static int query_device(ibv_context *context, ibv_device_attr *attributes)
    {
        *attributes               = device_of(context).attributes;
        attributes->phys_port_cnt = static_cast<uint8_t>(device_of(context).ports.size());
        return error_of("query_device");
    }

    static MockPort *port_of(ibv_context *context, uint8_t port)
    {
        std::vector<MockPort> &ports = device_of(context).ports;
        return ((port >= 1) && (port <= ports.size())) ? &ports[port - 1] : nullptr;
    }

    static int
    query_port(ibv_context *context, uint8_t number, _compat_ibv_port_attr *result)
    {
        const MockPort *port = port_of(context, number);
        if (port == nullptr) {
            return EINVAL;
        }
        auto *attributes        = reinterpret_cast<ibv_port_attr *>(result);
        *attributes             = port->attributes;
        attributes->gid_tbl_len = static_cast<int>(port->gids.size());
        return error_of("query_port");
    }

    static int query_gid(ibv_context *context, uint8_t number, int index, ibv_gid *gid)
    {
        const MockPort *port = port_of(context, number);
        if ((port == nullptr) || (index < 0) ||
            (static_cast<size_t>(index) >= port->gids.size())) {
            errno = EINVAL;
            return -1; // as libibverbs does
        }
        *gid = port->gids[static_cast<size_t>(index)];
        return 0;
    }

    static ibv_pd *alloc_pd(ibv_context *context)
    {
        ibv_pd pd  = {};
        pd.context = context;
        return make("alloc_pd", pd);
    }

    static ibv_mr *
    register_memory(const char *call, ibv_pd *pd, void *address, size_t length)
    {
        library->last_registration = call;
        ibv_mr mr                  = {};
        mr.context                 = pd->context;
        mr.pd                      = pd;
        mr.addr                    = address;
        mr.length                  = length;
        mr.lkey                    = 11;
        mr.rkey                    = 22;
        return make("reg_mr", mr);
    }

    static ibv_cq *
    create_cq(ibv_context *context, int entries, void *, ibv_comp_channel *channel, int)
    {
        ibv_cq cq  = {};
        cq.context = context;
        cq.channel = channel;
        cq.cqe     = entries;
        return make("create_cq", cq);
    }

    static ibv_srq *create_srq(ibv_pd *pd, ibv_srq_init_attr *attributes)
    {
        attributes->attr.max_wr *= 2; // devices round up
        ibv_srq srq = {};
        srq.context = pd->context;
        srq.pd      = pd;
        return make("create_srq", srq);
    }

    static ibv_qp *create_qp(ibv_pd *pd, ibv_qp_init_attr *init)
    {
        library->inline_attempts.push_back(init->cap.max_inline_data);
        if (init->cap.max_inline_data > library->inline_limit) {
            init->cap.max_send_wr = 0; // what a failed call leaves behind is anything
            errno                 = EINVAL;
            return nullptr;
        }
        library->last_qp = *init;
        ibv_qp qp        = {};
        qp.context       = pd->context;
        qp.qp_num        = 77;
        qp.state         = IBV_QPS_RESET;
        return make("create_qp", qp);
    }

    static int modify_qp(ibv_qp *qp, ibv_qp_attr *attributes, int mask)
    {
        library->modifications.push_back({*attributes, mask});
        if (const int error = error_of("modify_qp")) {
            errno = error;
            return -1; // as some providers do
        }
        qp->state = attributes->qp_state;
        return 0;
    }

    static int query_qp(ibv_qp *qp, ibv_qp_attr *attributes, int, ibv_qp_init_attr *)
    {
        attributes->qp_state = qp->state;
        return error_of("query_qp");
    }

    static int get_async_event(ibv_context *, ibv_async_event *event)
    {
        if (library->events.empty()) {
            errno = EAGAIN;
            return -1;
        }
        *event = library->events.front();
        library->events.pop_front();
        return 0;
    }
};

MockPort active_port(int link_layer)
{
    MockPort port;
    port.attributes.state        = IBV_PORT_ACTIVE;
    port.attributes.active_mtu   = IBV_MTU_4096;
    port.attributes.active_speed = 32; // 25 Gb/s a lane
    port.attributes.active_width = 2; // four lanes
    port.attributes.link_layer   = static_cast<uint8_t>(link_layer);
    port.gids.resize(16);
    return port;
}

MockLibrary::MockLibrary(bool soft)
{
    library = this;

    m_table.soft              = soft;
    m_table.library           = "mock.so";
    m_table.get_device_list   = Calls::get_device_list;
    m_table.free_device_list  = Calls::free_device_list;
    m_table.get_device_name   = Calls::get_device_name;
    m_table.open_device       = Calls::open_device;
    m_table.close_device      = Calls::close_device;
    m_table.query_device      = Calls::query_device;
    m_table.query_port_compat = Calls::query_port;
    m_table.query_gid         = Calls::query_gid;
    m_table.alloc_pd          = Calls::alloc_pd;
    m_table.dealloc_pd = [](ibv_pd *pd) { return Calls::destroy("dealloc_pd", pd); };
    m_table.reg_mr     = [](ibv_pd *pd, void *address, size_t length, int) {
        return Calls::register_memory("reg_mr", pd, address, length);
    };
    m_table.reg_mr_iova2 = [](ibv_pd *pd, void *address, size_t length, uint64_t,
                              unsigned) {
        return Calls::register_memory("reg_mr_iova2", pd, address, length);
    };
    m_table.dereg_mr   = [](ibv_mr *mr) { return Calls::destroy("dereg_mr", mr); };
    m_table.create_cq  = Calls::create_cq;
    m_table.destroy_cq = [](ibv_cq *cq) { return Calls::destroy("destroy_cq", cq); };
    m_table.create_srq = Calls::create_srq;
    m_table.modify_srq = [](ibv_srq *, ibv_srq_attr *, int) {
        return Calls::error_of("modify_srq");
    };
    m_table.destroy_srq = [](ibv_srq *srq) { return Calls::destroy("destroy_srq", srq); };
    m_table.create_qp   = Calls::create_qp;
    m_table.modify_qp   = Calls::modify_qp;
    m_table.query_qp    = Calls::query_qp;
    m_table.destroy_qp  = [](ibv_qp *qp) { return Calls::destroy("destroy_qp", qp); };
    m_table.get_async_event = Calls::get_async_event;
    m_table.ack_async_event = [](ibv_async_event *) { ++library->acknowledged; };
}

MockLibrary::~MockLibrary()
{
    library = nullptr;
}

MockDevice &MockLibrary::add(const std::string &name, std::vector<MockPort> ports)
{
    MockDevice device;
    device.name                   = name;
    device.ports                  = std::move(ports);
    device.attributes.max_srq     = 1024;
    device.attributes.max_srq_wr  = 32768;
    device.attributes.max_srq_sge = 8;
    device.attributes.max_cqe     = 65536;
    device.attributes.max_qp      = 4096;
    device.attributes.max_qp_wr   = 16384;
    device.attributes.max_sge     = 30;
    m_devices.push_back(device);

    ibv_device handle = {};
    strncpy(handle.name, name.c_str(), sizeof(handle.name) - 1);
    m_handles.push_back(handle);
    return m_devices.back();
}

} // namespace be::verbs::test
