// SPDX-License-Identifier: BSD-3-Clause
//
// Proof by counters that large messages are not copied, whichever way UCP sends them: two workers of
// this process exchange tagged messages, active messages, puts and gets between their own buffers, and
// the transport's counters of both (read as UCX's virtual file system shows them) say how many bytes went
// through a staging buffer and how often memory was registered.

#include <ucp/api/ucp.h>

#include <sys/stat.h>

extern "C" {
#include <ucs/datastruct/string_buffer.h>
#include <ucs/vfs/base/vfs_obj.h>
}

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
        exit(1);
    }
}

// Sum of all files of that name anywhere below the folder.
uint64_t sum(const std::string &folder, const std::string &name)
{
    std::vector<std::string> entries;
    ucs_vfs_path_list_dir(
            folder.c_str(),
            [](const char *entry, void *arg) {
                static_cast<std::vector<std::string> *>(arg)->emplace_back(entry);
            },
            &entries);
    uint64_t total = 0;
    for (const std::string &entry : entries) {
        const std::string path = (folder == "/" ? "" : folder) + "/" + entry;
        ucs_vfs_path_info_t info{};
        if (ucs_vfs_path_get_info(path.c_str(), &info) != UCS_OK) {
            continue;
        }
        if ((info.mode & S_IFMT) == S_IFDIR) {
            total += sum(path, name);
        } else if (entry == name) {
            ucs_string_buffer_t text;
            ucs_string_buffer_init(&text);
            if (ucs_vfs_path_read_file(path.c_str(), &text) == UCS_OK) {
                total += strtoull(ucs_string_buffer_cstr(&text), nullptr, 10);
            }
            ucs_string_buffer_cleanup(&text);
        }
    }
    return total;
}

uint64_t counter(const char *name)
{
    return sum("/uct/worker", name);
}

class Side {
public:
    Side()
    {
        ucp_params_t params{};
        params.field_mask = UCP_PARAM_FIELD_FEATURES;
        params.features   = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA;
        ucp_config_t *config;
        check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
        check(ucp_init(&params, config, &context), "ucp_init");
        ucp_config_release(config);
        ucp_worker_params_t worker_params{};
        check(ucp_worker_create(context, &worker_params, &worker), "ucp_worker_create");
    }

    void connect(const Side &other)
    {
        ucp_address_t *address;
        size_t length;
        check(ucp_worker_get_address(other.worker, &address, &length), "address");
        ucp_ep_params_t params{};
        params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        params.address    = address;
        check(ucp_ep_create(worker, &params, &ep), "ucp_ep_create");
        ucp_worker_release_address(other.worker, address);
    }

    ucp_context_h context = nullptr;
    ucp_worker_h worker   = nullptr;
    ucp_ep_h ep           = nullptr;
};

struct Pair {
    Side a, b;

    void progress()
    {
        ucp_worker_progress(a.worker);
        ucp_worker_progress(b.worker);
    }

    void wait(std::vector<void *> requests)
    {
        for (void *request : requests) {
            if (request == nullptr) {
                continue;
            }
            check(UCS_PTR_IS_ERR(request) ? UCS_PTR_STATUS(request) : UCS_OK, "request");
            while (ucp_request_check_status(request) == UCS_INPROGRESS) {
                progress();
            }
            check(ucp_request_check_status(request), "transfer");
            ucp_request_free(request);
        }
    }
};

// What the handler of active messages needs.
struct Arrival {
    Pair *pair    = nullptr;
    uint8_t *to   = nullptr;
    size_t length = 0;
    void *request = nullptr;
    bool here     = false;
};

ucs_status_t on_message(void *arg, const void *, size_t, void *data, size_t length,
                        const ucp_am_recv_param_t *param)
{
    auto *arrival = static_cast<Arrival *>(arg);
    arrival->here = true;
    if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
        memcpy(arrival->to, data, length);
        return UCS_OK;
    }
    ucp_request_param_t none{};
    arrival->request = ucp_am_recv_data_nbx(arrival->pair->b.worker, data, arrival->to,
                                            length, &none);
    return UCS_INPROGRESS;
}

using Transfer = std::function<void(uint8_t *from, uint8_t *to, size_t length)>;

// One kind of transfer at one size: content, copies and registrations.
bool prove(const char *name, size_t length, bool local_to_remote,
           const Transfer &transfer)
{
    constexpr unsigned rounds = 8;
    std::vector<uint8_t> here(length), there(length);
    uint8_t *from = local_to_remote ? here.data() : there.data();
    uint8_t *to   = local_to_remote ? there.data() : here.data();
    transfer(here.data(), there.data(), length); // connects, registers

    const uint64_t copied     = counter("bytes_copied"),
                   registered = counter("registrations");
    for (unsigned round = 0; round < rounds; ++round) {
        for (size_t i = 0; i < length; ++i) {
            from[i] = static_cast<uint8_t>(i * 7 + i / 255 + round);
        }
        memset(to, 0xff, length);
        transfer(here.data(), there.data(), length);
        if (memcmp(from, to, length) != 0) {
            printf("not ok - %s of %zu bytes: wrong content\n", name, length);
            return false;
        }
    }
    const uint64_t payload = rounds * length;
    const uint64_t copies  = counter("bytes_copied") - copied;
    const uint64_t calls   = counter("registrations") - registered;
    const bool right       = (copies * 100 < payload) && (calls == 0);
    printf("%s - %s of %zu bytes: %llu of %llu bytes copied on both sides, %llu "
           "registrations\n",
           right ? "ok" : "not ok", name, length, (unsigned long long)copies,
           (unsigned long long)payload, (unsigned long long)calls);
    return right;
}

} // namespace

int main()
{
    Pair pair;
    pair.a.connect(pair.b);
    pair.b.connect(pair.a);
    ucp_request_param_t none{};

    Arrival arrival;
    arrival.pair = &pair;
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id  = 1;
    handler.cb  = on_message;
    handler.arg = &arrival;
    check(ucp_worker_set_am_recv_handler(pair.b.worker, &handler), "handler");

    const Transfer tag = [&](uint8_t *from, uint8_t *to, size_t length) {
        void *receive = ucp_tag_recv_nbx(pair.b.worker, to, length, 1, UINT64_MAX, &none);
        pair.wait({ucp_tag_send_nbx(pair.a.ep, from, length, 1, &none), receive});
    };
    const Transfer am = [&](uint8_t *from, uint8_t *to, size_t length) {
        arrival.to   = to;
        arrival.here = false;
        void *send   = ucp_am_send_nbx(pair.a.ep, 1, nullptr, 0, from, length, &none);
        while (!arrival.here) {
            pair.progress();
        }
        pair.wait({std::exchange(arrival.request, nullptr), send});
    };
    // Remote memory of B, mapped once for each buffer.
    const auto rma = [&](bool put) {
        return [&pair, &none, put](uint8_t *from, uint8_t *to, size_t length) {
            ucp_mem_map_params_t params{};
            params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                UCP_MEM_MAP_PARAM_FIELD_LENGTH;
            params.address = to;
            params.length  = length;
            ucp_mem_h memory;
            void *packed;
            size_t size;
            ucp_rkey_h key;
            check(ucp_mem_map(pair.b.context, &params, &memory), "ucp_mem_map");
            check(ucp_rkey_pack(pair.b.context, memory, &packed, &size), "pack");
            check(ucp_ep_rkey_unpack(pair.a.ep, packed, &key), "unpack");
            ucp_rkey_buffer_release(packed);
            const auto remote = reinterpret_cast<uint64_t>(to);
            void *request     = put ? ucp_put_nbx(pair.a.ep, from, length, remote, key,
                                                  &none) :
                                      ucp_get_nbx(pair.a.ep, from, length, remote, key,
                                                  &none);
            pair.wait({request});
            pair.wait({ucp_ep_flush_nbx(pair.a.ep, &none)});
            ucp_rkey_destroy(key);
            check(ucp_mem_unmap(pair.b.context, memory), "ucp_mem_unmap");
        };
    };

    unsigned passed = 0, failed = 0;
    for (const size_t length : {size_t{65536}, size_t{1} << 20, size_t{4} << 20}) {
        for (const bool right :
             {prove("tag", length, true, tag), prove("active message", length, true, am),
              prove("put", length, true, rma(true)),
              prove("get", length, false, rma(false))}) {
            (right ? passed : failed) += 1;
        }
    }
    if (counter("messages_sent") == 0) {
        printf("not ok - the counters are those of the transport\n");
        ++failed;
    }
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    fflush(stdout);
    _Exit(failed == 0 ? 0 : 1); // both ends are here: nothing to close in order
}
