// SPDX-License-Identifier: BSD-3-Clause
//
// The life of endpoints on a worker: how they are connected, and how they end.
#include "adapter/random.hpp"
#include "adapter/worker.hpp"

namespace be::adapter {

namespace {

// Beyond, the other side asks for nonsense.
constexpr uint32_t max_skipped = 1024;

// Progress for what a peer sent before it ended.
constexpr unsigned last_rounds = 1000;

// How long closing waits for an endpoint that cannot be paired, as the peer is silent.
constexpr std::chrono::milliseconds time_to_settle{500};

// UCP's number of the worker with that address; 0: it cannot be read.
uint64_t number_of(std::span<const std::byte> address)
{
    // UCP does not change it
    auto *bytes = const_cast<std::byte *>(address.data());
    ucp_worker_address_attr_t attributes{};
    attributes.field_mask = UCP_WORKER_ADDRESS_ATTR_FIELD_UID;
    if (ucp_worker_address_query(reinterpret_cast<ucp_address_t *>(bytes), &attributes) !=
        UCS_OK) {
        return 0;
    }
    return attributes.worker_uid;
}

} // namespace

bool Worker::enroll(const std::shared_ptr<Endpoint> &endpoint)
{
    if (stopped()) {
        return false;
    }
    do {
        endpoint->m_number = random_number();
    } while (!m_endpoints.emplace(endpoint->m_number, endpoint).second);
    endpoint->m_open = true;
    return true;
}

// An endpoint to its own worker is paired with itself.
uint32_t Worker::turns(AddressBytes address)
{
    const uint64_t number = number_of(address);
    return (number == number_of(m_address)) ? 0 : m_turns[number];
}

ucs_status_t Worker::create(AddressBytes address, Endpoint *owner, ucp_ep_h *ep)
{
    ucp_ep_params_t params{};

    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER |
                        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address         = reinterpret_cast<const ucp_address_t *>(address.data());
    params.err_mode        = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.arg = owner;
    params.err_handler.cb  = [](void *arg, ucp_ep_h, ucs_status_t why) {
        if (auto *failed = static_cast<Endpoint *>(arg)) {
            failed->worker().fail(*failed, ucs_status_string(why));
        }
    };
    const ucs_status_t status = ucp_ep_create(m_worker, &params, ep);
    if (status != UCS_OK) {
        return status;
    }
    struct Flush {
        Worker &worker;
        ucp_ep_h ep;
    };
    std::unique_ptr<Flush> flush(new Flush{*this, *ep}); // an aggregate

    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data    = flush.get();
    param.cb.send      = [](void *request, ucs_status_t, void *data) {
        const std::unique_ptr<Flush> ended(static_cast<Flush *>(data));
        ucp_request_free(request);
        ended->worker.on_settled(ended->ep);
    };
    if (UCS_PTR_IS_PTR(ucp_ep_flush_nbx(*ep, &param))) {
        (void)flush.release();
        m_settling.emplace(*ep, std::make_unique<Settling>(*this, *ep));
    }
    return UCS_OK;
}

Worker::Settling::Settling(Worker &owner, ucp_ep_h which) :
    Timer([](Timer &timer) {
        auto &self = static_cast<Settling &>(timer);
        self.worker.on_settled(self.ep);
    }),
    worker(owner),
    ep(which)
{
}

// Has been paired, has failed, or takes too long.
void Worker::on_settled(ucp_ep_h ep)
{
    const auto at = m_settling.find(ep);
    if (at != m_settling.end()) {
        auto settling = std::move(at->second);
        m_settling.erase(at);
        settling->clear();
        if (settling->closed) {
            m_settled.push_back(std::move(settling)); // not here, in a callback of UCP's
        }
    }
}

std::string
Worker::connect(Endpoint &endpoint, AddressBytes address, uint64_t peer, uint32_t turn)
{
    const uint64_t number = number_of(address);
    if (number == 0) {
        return "the worker address that the other side has sent cannot be read";
    }
    if (number != number_of(m_address)) {
        uint32_t &made = m_turns[number];
        if ((turn < made) || (turn - made > max_skipped)) {
            return "turn " + std::to_string(turn) + ": expected " + std::to_string(made) +
                   " to " + std::to_string(made + max_skipped);
        }
        for (; made < turn; made++) { // of exchanges that were broken off
            ucp_ep_h unused = nullptr;
            if (create(address, nullptr, &unused) == UCS_OK) {
                discard(unused, [] {});
            }
        }
        made++;
    }
    const ucs_status_t status = create(address, &endpoint, &endpoint.m_ep);
    if (status != UCS_OK) {
        endpoint.m_ep = nullptr;
        return std::string("cannot connect to the other side's worker: ") +
               ucs_status_string(status);
    }
    endpoint.m_peer = peer;
    return {};
}

void Worker::disconnect(Endpoint &endpoint)
{
    if (endpoint.m_ep != nullptr) {
        // UCP may still call the error handler until it is closed
        discard(std::exchange(endpoint.m_ep, nullptr),
                [keep = endpoint.shared_from_this()] {});
    }
}

exchange::Link::Down Worker::link_down(const std::shared_ptr<Endpoint> &endpoint)
{
    // Endpoints are let go of under the lock only, which the loop never has.
    return [worker = shared_from_this(),
            weak   = std::weak_ptr(endpoint)](const std::string &why, bool in_order) {
        worker->hand_over([weak, why, in_order] {
            if (const auto lost = weak.lock()) {
                lost->worker().lost(*lost, why, in_order);
            }
        });
    };
}

// Not by UCP's own graceful way: once that is begun, nothing can end it when the peer
// does not answer.
void Worker::close(Endpoint &endpoint)
{
    if (!endpoint.m_open) {
        return;
    }
    auto keep = endpoint.shared_from_this();
    m_endpoints.erase(endpoint.m_number);
    endpoint.m_open = false;
    m_leaving.insert(keep);

    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data    = &endpoint;
    param.cb.send      = [](void *request, ucs_status_t, void *data) {
        auto *flushed = static_cast<Endpoint *>(data);
        ucp_request_free(request);
        flushed->worker().m_flushed.push_back(flushed->shared_from_this());
    };
    if ((endpoint.m_ep == nullptr) ||
        !UCS_PTR_IS_PTR(ucp_ep_flush_nbx(endpoint.m_ep, &param))) {
        m_flushed.push_back(std::move(keep));
    }
}

void Worker::fail(Endpoint &endpoint, const std::string &why)
{
    if (endpoint.m_open) {
        m_failed.push_back({endpoint.shared_from_this(), why});
    }
}

void Worker::lost(Endpoint &endpoint, const std::string &why, bool in_order)
{
    for (unsigned i = 0; (i < last_rounds) && (ucp_worker_progress(m_worker) != 0); i++) {
    }
    if (endpoint.m_open) {
        m_failed.push_back({endpoint.shared_from_this(), why, in_order});
    }
}

void Worker::fail_all(const std::string &why)
{
    for (const auto &[number, endpoint] : m_endpoints) {
        m_failed.push_back({endpoint, why});
    }
}

// Not from UCP's callbacks, where an endpoint must not be closed.
unsigned Worker::bury()
{
    unsigned count = 0;

    while (!m_failed.empty()) {
        const Failure failure = std::move(m_failed.back());
        Endpoint &endpoint    = *failure.endpoint;
        m_failed.pop_back();
        if (!endpoint.m_open) {
            continue; // failed twice
        }
        m_endpoints.erase(endpoint.m_number);
        destroy(endpoint, failure.why);
        if (!failure.in_order) {
            counters.failures.add();
        }
        endpoint.on_failure(failure.why);
        count++;
    }
    while (!m_flushed.empty()) {
        const auto endpoint = std::move(m_flushed.back());
        m_flushed.pop_back();
        if (m_leaving.erase(endpoint) != 0) {
            destroy(*endpoint, {});
        }
        count++;
    }
    while (!m_settled.empty()) {
        const auto settled = std::move(m_settled.back());
        m_settled.pop_back();
        m_closing--;
        if (discard(settled->ep, settled->closed)) {
            settled->closed();
        }
        count++;
    }
    return count;
}

void Worker::destroy(Endpoint &endpoint, const std::string &why)
{
    const auto keep = endpoint.shared_from_this();

    endpoint.m_open = false;
    if (endpoint.link != nullptr) {
        endpoint.link->close(why);
    }
    if ((endpoint.m_ep == nullptr) ||
        discard(endpoint.m_ep, [keep] { keep->on_closed(); })) {
        endpoint.on_closed();
    }
}

// True when it was closed at once; else `closed` is called later.
bool Worker::discard(ucp_ep_h ep, std::function<void()> closed)
{
    const auto settling = m_settling.find(ep);
    if (settling != m_settling.end()) {
        settling->second->closed = std::move(closed);
        timers.add(*settling->second, Clock::now() + time_to_settle);
        m_closing++;
        return false;
    }
    struct Waiting {
        Worker &worker;
        std::function<void()> closed;
    };
    auto *waiting = new Waiting{*this, std::move(closed)};

    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                         UCP_OP_ATTR_FIELD_USER_DATA;
    param.flags     = UCP_EP_CLOSE_FLAG_FORCE;
    param.user_data = waiting;
    param.cb.send   = [](void *request, ucs_status_t, void *data) {
        std::unique_ptr<Waiting> ended(static_cast<Waiting *>(data));
        ended->worker.m_closing--;
        ended->closed();
        ucp_request_free(request);
    };
    const ucs_status_ptr_t p = ucp_ep_close_nbx(ep, &param);
    if (UCS_PTR_IS_PTR(p)) {
        m_closing++;
        return false;
    }
    delete waiting;
    return true;
}

} // namespace be::adapter
