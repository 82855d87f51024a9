// SPDX-License-Identifier: BSD-3-Clause
#include "mux_board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace mux {

using be::test::check;

namespace {

std::uint64_t word(unsigned worker, unsigned slot, std::size_t i)
{
    return (worker + 1) * 0x9e3779b97f4a7c15u ^ (slot + 1) * 0xc2b2ae3d27d4eb4fu ^
           i * 0x165667b19e3779f9u;
}

void check_word(const void *data, std::size_t i, unsigned worker, unsigned slot,
                std::uint64_t expected)
{
    std::uint64_t found;
    std::memcpy(&found, static_cast<const char *>(data) + i * sizeof(found),
                sizeof(found));
    if (found != expected) {
        throw std::runtime_error(fmt::format(
                "bulk of worker {}, slot {}: word {} is {:#x}, expected {:#x}", worker,
                slot, i, found, expected));
    }
}

void make_barrier(pthread_barrier_t &barrier, unsigned count)
{
    pthread_barrierattr_t shared;
    if (pthread_barrierattr_init(&shared) != 0 ||
        pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) != 0 ||
        pthread_barrier_init(&barrier, &shared, count) != 0) {
        throw std::runtime_error("no barrier that processes share");
    }
}

} // namespace

void Blob::set(const std::string &text)
{
    if (text.size() > bytes.size()) {
        throw std::runtime_error(
                fmt::format("an address or key has {} bytes, expected at most {}",
                            text.size(), bytes.size()));
    }
    length = static_cast<std::uint32_t>(text.copy(bytes.data(), text.size()));
}

Board::Board(std::size_t bulk_size) : size(bulk_size)
{
    make_barrier(all, 1 + num_peers);
    make_barrier(resume, 2);
}

void fill(std::uint64_t *words, std::size_t bytes, unsigned worker, unsigned slot)
{
    for (std::size_t i = 0; i < bytes / sizeof(*words); ++i) {
        words[i] = word(worker, slot, i);
    }
}

void stamp(std::uint64_t *words, std::size_t bytes, std::uint64_t value) noexcept
{
    words[0] = words[bytes / sizeof(*words) - 1] = value;
}

void check_stamp(const void *data, std::size_t bytes, unsigned worker, unsigned slot,
                 std::uint64_t value)
{
    const std::size_t count = bytes / sizeof(std::uint64_t);
    check_word(data, 0, worker, slot, value);
    check_word(data, count - 1, worker, slot, value);
}

void check_bulk(const void *data, std::size_t bytes, unsigned worker, unsigned slot,
                std::uint64_t value)
{
    check_stamp(data, bytes, worker, slot, value);
    for (std::size_t i = 1; i + 1 < bytes / sizeof(std::uint64_t); ++i) {
        check_word(data, i, worker, slot, word(worker, slot, i));
    }
}

ucp_context_h open_context(bool workers_shared)
{
    ucp_config_t *config = nullptr;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    params.features   = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
    params.mt_workers_shared  = workers_shared;
    ucp_context_h context     = nullptr;
    const ucs_status_t status = ucp_init(&params, config, &context);
    ucp_config_release(config);
    check(status, "ucp_init");
    return context;
}

ucp_worker_h open_worker(ucp_context_h context)
{
    ucp_worker_params_t params{};
    params.field_mask   = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode  = UCS_THREAD_MODE_SERIALIZED;
    ucp_worker_h worker = nullptr;
    check(ucp_worker_create(context, &params, &worker), "ucp_worker_create");
    return worker;
}

std::string address_of(ucp_worker_h worker)
{
    ucp_address_t *address = nullptr;
    std::size_t length     = 0;
    check(ucp_worker_get_address(worker, &address, &length), "ucp_worker_get_address");
    std::string bytes(reinterpret_cast<const char *>(address), length);
    ucp_worker_release_address(worker, address);
    return bytes;
}

ucp_ep_h connect(ucp_worker_h worker, const Blob &address)
{
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = reinterpret_cast<const ucp_address_t *>(address.bytes.data());
    ucp_ep_h ep       = nullptr;
    check(ucp_ep_create(worker, &params, &ep), "ucp_ep_create");
    return ep;
}

void on_message(ucp_worker_h worker, AmId id, ucp_am_recv_callback_t handler, void *arg)
{
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id  = id;
    param.cb  = handler;
    param.arg = arg;
    check(ucp_worker_set_am_recv_handler(worker, &param),
          "ucp_worker_set_am_recv_handler");
}

ucs_status_ptr_t
send(ucp_ep_h ep, AmId id, const Header &header, const void *data, std::size_t length)
{
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags        = UCP_AM_SEND_FLAG_EAGER;
    return ucp_am_send_nbx(ep, id, &header, sizeof(header), data, length, &param);
}

void close(ucp_worker_h worker, ucp_ep_h ep)
{
    ucp_request_param_t param{};
    const ucs_status_ptr_t request = ucp_ep_close_nbx(ep, &param);
    if (UCS_PTR_IS_PTR(request)) {
        while (ucp_request_check_status(request) == UCS_INPROGRESS) {
            ucp_worker_progress(worker);
        }
        ucp_request_free(request);
    }
}

} // namespace mux
