// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/table.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <vector>

namespace be::verbs {
namespace {

// A table, or why there is none.
struct Loaded {
    const Table *table = nullptr;
    std::string why;
};

std::string last_loader_error()
{
    const char *text = dlerror();
    return (text != nullptr) ? text : "unknown error of the dynamic loader";
}

// The file that holds `symbol`; empty: unknown.
std::string file_of(const void *symbol)
{
    Dl_info info;
    if ((dladdr(symbol, &info) == 0) || (info.dli_fname == nullptr)) {
        return {};
    }
    return info.dli_fname;
}

class Resolver {
public:
    explicit Resolver(void *library) : m_library(library)
    {
    }

    // `version` is the node libibverbs exports the present ABI of `name` in: without it
    // an older variant of the same name could be found.
    template<typename Function>
    void required(Function &function, const char *name, const char *version)
    {
        optional(function, name, version);
        if (function == nullptr) {
            m_missing += (m_missing.empty() ? "" : ", ");
            m_missing += name;
        }
    }

    template<typename Function>
    void optional(Function &function, const char *name, const char *version)
    {
        void *symbol = dlvsym(m_library, name, version);
        if (symbol == nullptr) {
            symbol = dlsym(m_library, name);
        }
        function = reinterpret_cast<Function>(symbol);
    }

    const std::string &missing() const
    {
        return m_missing;
    }

private:
    void *m_library;
    std::string m_missing;
};

// The names that are missing, separated by commas; empty: the table is complete.
std::string fill(Table &table, void *library)
{
    static constexpr char v1_0[] = "IBVERBS_1.0";
    static constexpr char v1_1[] = "IBVERBS_1.1";
    static constexpr char v1_8[] = "IBVERBS_1.8";

    Resolver resolver(library);
    resolver.required(table.get_device_list, "ibv_get_device_list", v1_1);
    resolver.required(table.free_device_list, "ibv_free_device_list", v1_1);
    resolver.required(table.get_device_name, "ibv_get_device_name", v1_1);
    resolver.required(table.get_device_guid, "ibv_get_device_guid", v1_1);
    resolver.required(table.open_device, "ibv_open_device", v1_1);
    resolver.required(table.close_device, "ibv_close_device", v1_1);
    resolver.required(table.query_device, "ibv_query_device", v1_1);
    resolver.required(table.query_port_compat, "ibv_query_port", v1_1);
    resolver.required(table.query_gid, "ibv_query_gid", v1_1);
    resolver.required(table.alloc_pd, "ibv_alloc_pd", v1_1);
    resolver.required(table.dealloc_pd, "ibv_dealloc_pd", v1_1);
    resolver.required(table.reg_mr, "ibv_reg_mr", v1_1);
    resolver.required(table.dereg_mr, "ibv_dereg_mr", v1_1);
    resolver.required(table.create_comp_channel, "ibv_create_comp_channel", v1_0);
    resolver.required(table.destroy_comp_channel, "ibv_destroy_comp_channel", v1_0);
    resolver.required(table.create_cq, "ibv_create_cq", v1_1);
    resolver.required(table.destroy_cq, "ibv_destroy_cq", v1_1);
    resolver.required(table.get_cq_event, "ibv_get_cq_event", v1_1);
    resolver.required(table.ack_cq_events, "ibv_ack_cq_events", v1_1);
    resolver.required(table.create_srq, "ibv_create_srq", v1_1);
    resolver.required(table.modify_srq, "ibv_modify_srq", v1_1);
    resolver.required(table.query_srq, "ibv_query_srq", v1_1);
    resolver.required(table.destroy_srq, "ibv_destroy_srq", v1_1);
    resolver.required(table.create_qp, "ibv_create_qp", v1_1);
    resolver.required(table.modify_qp, "ibv_modify_qp", v1_1);
    resolver.required(table.query_qp, "ibv_query_qp", v1_1);
    resolver.required(table.destroy_qp, "ibv_destroy_qp", v1_1);
    resolver.required(table.get_async_event, "ibv_get_async_event", v1_1);
    resolver.required(table.ack_async_event, "ibv_ack_async_event", v1_1);
    resolver.required(table.fork_init, "ibv_fork_init", v1_1);
    resolver.optional(table.reg_mr_iova2, "ibv_reg_mr_iova2", v1_8);
    resolver.optional(table.cq_set_yield, "softrdma_cq_set_yield", "SOFTRDMA_1.0");
    return resolver.missing();
}

Loaded load(const std::vector<std::string> &candidates, bool soft)
{
    std::string why;
    for (const std::string &candidate : candidates) {
        void *library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library == nullptr) {
            why += (why.empty() ? "" : "; ") + last_loader_error();
            continue;
        }

        Table table               = {};
        const std::string missing = fill(table, library);
        if (!missing.empty()) {
            why += (why.empty() ? "" : "; ") + candidate + " has no " + missing;
            continue;
        }

        table.soft    = soft;
        table.library = file_of(reinterpret_cast<const void *>(table.get_device_list));
        if (table.library.empty()) {
            table.library = candidate;
        }
        return {new Table(table), {}};
    }
    return {nullptr, why};
}

std::vector<std::string> soft_candidates()
{
    static constexpr char name[] = "libsoftrdma.so";

    // Not from a set-uid program's environment: the file's code runs in this process.
    if (const char *file = secure_getenv("UCX_BE_SOFT_LIBRARY");
        (file != nullptr) && (*file != '\0')) {
        return {file};
    }

    std::vector<std::string> candidates;
    const std::filesystem::path self = file_of(
            reinterpret_cast<const void *>(&query_port));
    if (self.has_parent_path()) {
        const std::filesystem::path beside = self.parent_path() / name;
        std::error_code ignored;
        if (std::filesystem::exists(beside, ignored)) {
            candidates.push_back(beside.string());
        }
    }
    candidates.push_back(name);
    return candidates;
}

const Table *answer(const Loaded &loaded, std::string *why)
{
    if ((loaded.table == nullptr) && (why != nullptr)) {
        *why = loaded.why;
    }
    return loaded.table;
}

} // namespace

const Table *hardware(std::string *why)
{
    static const Loaded &loaded = *new Loaded(load({"libibverbs.so.1"}, false));
    return answer(loaded, why);
}

const Table *soft(std::string *why)
{
    static const Loaded &loaded = *new Loaded(load(soft_candidates(), true));
    return answer(loaded, why);
}

int query_port(const Table &table, ibv_context *context, uint8_t port,
               ibv_port_attr *attr)
{
    memset(attr, 0, sizeof(*attr));

    if (verbs_context *extended = verbs_get_ctx_op(context, query_port)) {
        return extended->query_port(context, port, attr, sizeof(*attr));
    }
    return table.query_port_compat(context, port,
                                   reinterpret_cast<_compat_ibv_port_attr *>(attr));
}

} // namespace be::verbs
