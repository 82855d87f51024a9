// SPDX-License-Identifier: BSD-3-Clause

#include "harness.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <iostream>

namespace uct_test {
namespace {

void check(ucs_status_t status, const std::string &what)
{
    if (status != UCS_OK) {
        throw Error(what, status);
    }
}

std::string environment(const char *name, const std::string &otherwise)
{
    const char *value = std::getenv(name);
    return ((value != nullptr) && (*value != '\0')) ? value : otherwise;
}

// As UCX's own loader does with UCX_PLUGIN_PATH.
void load_plugin()
{
    static void *library = nullptr;
    if (!is_be() || (library != nullptr)) {
        return;
    }

    const std::string folder = environment("BE_MODULEDIR", "modules");
    library = dlopen((folder + "/libuct_be.so.0").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw std::runtime_error(dlerror());
    }
}

// Later releases of UCX want the names with the transport's prefix.
template<typename Config>
ucs_status_t modify(Config *config, const std::map<std::string, std::string> &values)
{
    for (const auto &[name, value] : values) {
        ucs_status_t status = uct_config_modify(config, name.c_str(), value.c_str());
        if (status == UCS_ERR_NO_ELEM) {
            status = uct_config_modify(config, ("BE_" + name).c_str(), value.c_str());
        }
        if (status != UCS_OK) {
            return status;
        }
    }
    return UCS_OK;
}

} // namespace

std::string transport()
{
    return environment("BE_UCT_TL", "be");
}

bool is_be()
{
    return transport() == "be";
}

std::vector<uint8_t> Address::encode() const
{
    std::vector<uint8_t> bytes{static_cast<uint8_t>(device.size())};
    bytes.insert(bytes.end(), device.begin(), device.end());
    bytes.insert(bytes.end(), iface.begin(), iface.end());
    return bytes;
}

Address Address::decode(const std::vector<uint8_t> &bytes)
{
    const auto middle = bytes.begin() + 1 + bytes.at(0);
    return {{bytes.begin() + 1, middle}, {middle, bytes.end()}};
}

// What belongs to the search for the transport; released when the interface is open.
struct Interface::Opened {
    uct_component_h *components       = nullptr;
    uct_md_config_t *md_config        = nullptr;
    uct_iface_config_t *config        = nullptr;
    uct_tl_resource_desc_t *resources = nullptr;

    ~Opened()
    {
        if (components != nullptr) {
            uct_release_component_list(components);
        }
        if (md_config != nullptr) {
            uct_config_release(md_config);
        }
        if (config != nullptr) {
            uct_config_release(config);
        }
        if (resources != nullptr) {
            uct_release_tl_resource_list(resources);
        }
    }
};

ucs_status_t Interface::open()
{
    load_plugin();

    const std::string device = environment("BE_UCT_DEVICE", "");
    unsigned num_components  = 0;
    Opened opened;
    ucs_status_t status;

    check(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &m_async),
          "async context");
    check(uct_worker_create(m_async, UCS_THREAD_MODE_SINGLE, &m_worker), "worker");
    check(uct_query_components(&opened.components, &num_components), "components");

    for (unsigned i = 0; (i < num_components) && (m_component == nullptr); ++i) {
        uct_component_attr_t attr{};
        attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
        check(uct_component_query(opened.components[i], &attr), "component name");
        if (attr.name == transport()) {
            m_component = opened.components[i];
        }
    }
    if (m_component == nullptr) {
        return UCS_ERR_NO_DEVICE;
    }

    uct_component_attr_t attr{};
    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
    check(uct_component_query(m_component, &attr), "component");
    if (attr.md_resource_count == 0) {
        return UCS_ERR_NO_DEVICE;
    }
    std::vector<uct_md_resource_desc_t> mds(attr.md_resource_count);
    attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = mds.data();
    check(uct_component_query(m_component, &attr), "memory domains");

    check(uct_md_config_read(m_component, nullptr, nullptr, &opened.md_config),
          "md config");
    status = modify(opened.md_config, m_options.md_config);
    if (status != UCS_OK) {
        return status;
    }
    status = uct_md_open(m_component, mds[0].md_name, opened.md_config, &m_md);
    if (status != UCS_OK) {
        m_md = nullptr;
        return status;
    }
    check(uct_md_query(m_md, &m_md_attr), "md attributes");

    unsigned num_resources = 0;
    check(uct_md_query_tl_resources(m_md, &opened.resources, &num_resources),
          "resources");
    const uct_tl_resource_desc_t *chosen = nullptr;
    for (unsigned i = 0; i < num_resources; ++i) {
        if ((chosen == nullptr) &&
            (device.empty() || (device == opened.resources[i].dev_name))) {
            chosen = &opened.resources[i];
        }
    }
    if (chosen == nullptr) {
        return UCS_ERR_NO_DEVICE;
    }

    check(uct_md_iface_config_read(m_md, chosen->tl_name, nullptr, nullptr,
                                   &opened.config),
          "interface config");
    status = modify(opened.config, m_options.config);
    if (status != UCS_OK) {
        return status;
    }

    uct_iface_params_t params{};
    params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE |
                        UCT_IFACE_PARAM_FIELD_RX_HEADROOM |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS;
    params.open_mode            = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name  = chosen->tl_name;
    params.mode.device.dev_name = chosen->dev_name;
    params.rx_headroom          = m_options.rx_headroom;
    params.err_handler          = error_callback;
    params.err_handler_arg      = this;
    params.err_handler_flags    = 0;
    if (m_options.am_alignment) {
        params.field_mask |= UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT;
        params.am_alignment = *m_options.am_alignment;
    }
    if (m_options.am_align_offset) {
        params.field_mask |= UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET;
        params.am_align_offset = *m_options.am_align_offset;
    }

    status = uct_iface_open(m_md, m_worker, &params, opened.config, &m_iface);
    if (status != UCS_OK) {
        m_iface = nullptr;
        return status;
    }

    check(uct_iface_query(m_iface, &m_attr), "interface attributes");
    uct_iface_progress_enable(m_iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    return UCS_OK;
}

void Interface::close()
{
    if (m_iface != nullptr) {
        uct_iface_close(m_iface);
    }
    if (m_md != nullptr) {
        uct_md_close(m_md);
    }
    if (m_worker != nullptr) {
        uct_worker_destroy(m_worker);
    }
    if (m_async != nullptr) {
        ucs_async_context_destroy(m_async);
    }
}

Interface::Interface(Options options) : m_options(std::move(options))
{
    const ucs_status_t status = open();
    if (status == UCS_ERR_NO_DEVICE) {
        close();
        std::cout << "SKIP: UCX has no device for transport " << transport() << std::endl;
        std::exit(77);
    }
    if (status != UCS_OK) {
        close();
        throw Error("cannot open an interface of " + transport(), status);
    }
}

Interface::~Interface()
{
    close();
}

Address Interface::address() const
{
    Address result;
    result.device.resize(m_attr.device_addr_len);
    result.iface.resize(m_attr.iface_addr_len);
    check(uct_iface_get_device_address(m_iface, reinterpret_cast<uct_device_addr_t *>(
                                                        result.device.data())),
          "device address");
    check(uct_iface_get_address(m_iface, reinterpret_cast<uct_iface_addr_t *>(
                                                 result.iface.data())),
          "interface address");
    return result;
}

unsigned Interface::progress()
{
    return uct_worker_progress(m_worker);
}

ucs_status_t Interface::am_callback(void *arg, void *data, size_t length, unsigned flags)
{
    return (*static_cast<AmHandler *>(arg))(data, length, flags);
}

ucs_status_t Interface::error_callback(void *arg, uct_ep_h ep, ucs_status_t status)
{
    const auto &on_error = static_cast<Interface *>(arg)->m_options.on_error;
    return on_error ? on_error(ep, status) : UCS_OK;
}

void Interface::on_am(uint8_t id, AmHandler handler)
{
    auto owned = std::make_unique<AmHandler>(std::move(handler));
    check(uct_iface_set_am_handler(m_iface, id, am_callback, owned.get(), 0),
          "am handler");
    m_handlers[id] = std::move(owned);
}

Endpoint::Endpoint(Interface &iface, const Address &remote)
{
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface      = iface.handle();
    params.dev_addr   = reinterpret_cast<const uct_device_addr_t *>(remote.device.data());
    params.iface_addr = reinterpret_cast<const uct_iface_addr_t *>(remote.iface.data());
    check(uct_ep_create(&params, &m_ep), "endpoint");
}

void Endpoint::destroy()
{
    if (m_ep != nullptr) {
        uct_ep_destroy(std::exchange(m_ep, nullptr));
    }
}

Endpoint::~Endpoint()
{
    destroy();
}

Memory::Memory(Interface &iface, size_t length) : m_iface(iface)
{
    if (iface.md_attr().cap.flags & UCT_MD_FLAG_ALLOC) {
        uct_alloc_method_t method = UCT_ALLOC_METHOD_MD;
        uct_md_h md               = iface.md();
        uct_mem_alloc_params_t params{};
        uct_allocated_memory_t mem{};
        params.field_mask = UCT_MEM_ALLOC_PARAM_FIELD_MDS;
        params.mds.mds    = &md;
        params.mds.count  = 1;
        check(uct_mem_alloc(length, &method, 1, &params, &mem), "memory");
        m_data      = static_cast<uint8_t *>(mem.address);
        m_memh      = mem.memh;
        m_allocated = true;
    } else {
        m_own.resize(length);
        m_data = m_own.data();
        check(uct_md_mem_reg(iface.md(), m_data, length, UCT_MD_MEM_ACCESS_ALL, &m_memh),
              "registration");
    }
    m_size = length;
    unpack();
}

Memory::Memory(Interface &iface, void *address, size_t length) :
    m_iface(iface), m_data(static_cast<uint8_t *>(address)), m_size(length)
{
    check(uct_md_mem_reg(iface.md(), address, length, UCT_MD_MEM_ACCESS_ALL, &m_memh),
          "registration");
    unpack();
}

void Memory::unpack()
{
    const std::vector<uint8_t> packed = packed_key();
    check(uct_rkey_unpack(m_iface.component(), packed.data(), &m_key), "remote key");
}

std::vector<uint8_t> Memory::packed_key() const
{
    std::vector<uint8_t> packed(std::max<size_t>(m_iface.md_attr().rkey_packed_size, 1));
    check(uct_md_mkey_pack(m_iface.md(), m_memh, packed.data()), "packed key");
    return packed;
}

Memory::~Memory()
{
    uct_rkey_release(m_iface.component(), &m_key);
    if (m_allocated) {
        uct_allocated_memory_t mem{};
        mem.method = UCT_ALLOC_METHOD_MD;
        mem.md     = m_iface.md();
        mem.memh   = m_memh;
        uct_mem_free(&mem);
    } else {
        uct_md_mem_dereg(m_iface.md(), m_memh);
    }
}

RemoteKey::RemoteKey(Interface &iface, const std::vector<uint8_t> &packed) :
    m_component(iface.component())
{
    check(uct_rkey_unpack(m_component, packed.data(), &m_key), "remote key");
}

RemoteKey::~RemoteKey()
{
    uct_rkey_release(m_component, &m_key);
}

} // namespace uct_test
