// SPDX-License-Identifier: BSD-3-Clause
/* Active messages: eager and rendezvous, headers, vectors, and payloads that the receiver keeps. */
#include "verify.hpp"

namespace be::test {

namespace {

constexpr unsigned AM_ID = 5;

/* Takes every message of the case, in the order of arrival. */
class Inbox {
public:
    struct Message {
        std::string header;
        std::string data; /* copied in the callback, */
        void *kept         = nullptr; /* ... or held back, */
        void *rndv         = nullptr; /* ... or still to be fetched */
        std::size_t length = 0;
    };

    Inbox(Node &node, bool keep) : m_node(node), m_keep(keep)
    {
        set(on_message);
    }
    ~Inbox()
    {
        set(nullptr);
    }
    Inbox(const Inbox &)            = delete;
    Inbox &operator=(const Inbox &) = delete;

    const std::vector<Message> &wait(std::size_t count)
    {
        m_node.until([&] { return m_messages.size() >= count; },
                     "active message " + std::to_string(count));
        return m_messages;
    }

private:
    void set(ucp_am_recv_callback_t callback)
    {
        ucp_am_handler_param_t param{};
        param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                           UCP_AM_HANDLER_PARAM_FIELD_ARG |
                           UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
        param.id    = AM_ID;
        param.cb    = callback;
        param.arg   = this;
        param.flags = UCP_AM_FLAG_WHOLE_MSG;
        if (m_keep) {
            param.flags |= UCP_AM_FLAG_PERSISTENT_DATA;
        }
        const ucs_status_t status = ucp_worker_set_am_recv_handler(m_node.worker(),
                                                                   &param);
        if (callback != nullptr) {
            check(status, "ucp_worker_set_am_recv_handler");
        }
    }

    static ucs_status_t on_message(void *arg, const void *header,
                                   std::size_t header_length, void *data,
                                   std::size_t length, const ucp_am_recv_param_t *param)
    {
        auto *inbox = static_cast<Inbox *>(arg);
        Message message;
        message.length = length;
        message.header.assign(static_cast<const char *>(header), header_length);
        const bool rndv = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
        const bool kept = !rndv && inbox->m_keep &&
                          (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
        if (rndv) {
            message.rndv = data;
        } else if (kept) {
            message.kept = data;
        } else {
            message.data.assign(static_cast<const char *>(data), length);
        }
        inbox->m_messages.push_back(std::move(message));
        return (rndv || kept) ? UCS_INPROGRESS : UCS_OK;
    }

    Node &m_node;
    bool m_keep;
    std::vector<Message> m_messages;
};

ucs_status_ptr_t send(Trial &trial, const void *data, std::size_t count, unsigned flags,
                      const std::string &header = {}, bool vector = false)
{
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags        = flags;
    if (vector) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        param.datatype = ucp_dt_make_iov();
    }
    return ucp_am_send_nbx(trial.node.ep(), AM_ID,
                           header.empty() ? nullptr : header.data(), header.size(), data,
                           count, &param);
}

/* Checks content, fetching or releasing it as its kind wants. */
void take(Trial &trial, const Inbox::Message &message, std::size_t size,
          std::uint64_t seed)
{
    expect(message.length == size, "active message of " + std::to_string(message.length) +
                                           " bytes instead of " + std::to_string(size));
    if (message.rndv != nullptr) {
        GuardedBuffer in(size, 3);
        ucp_request_param_t param{};
        trial.node.wait(ucp_am_recv_data_nbx(trial.node.worker(), message.rndv, in.data(),
                                             in.size(), &param),
                        "fetching of rendezvous data");
        in.check(seed, "rendezvous data");
    } else if (message.kept != nullptr) {
        pattern_check(message.kept, size, seed, "kept data");
        ucp_am_data_release(trial.node.worker(), message.kept);
    } else {
        pattern_check(message.data.data(), size, seed, "data");
    }
}

void one(Trial &trial, unsigned flags, std::size_t header_length, bool vector)
{
    GuardedBuffer out(trial.size, 1);
    out.fill(trial.seed_out);
    std::string header(header_length, '\0'), expected(header_length, '\0');
    pattern_fill(header.data(), header.size(), trial.seed_out + 1);
    pattern_fill(expected.data(), expected.size(), trial.seed_in + 1);
    const auto entries = split(out.data(), out.size());
    Inbox inbox(trial.node, false);
    trial.node.barrier("both handlers are set");
    const auto sending   = vector ? send(trial, entries.data(), entries.size(), flags,
                                         header, true) :
                                    send(trial, out.data(), out.size(), flags, header);
    const auto &messages = inbox.wait(1);
    take(trial, messages[0], trial.size, trial.seed_in);
    expect(messages[0].header == expected, "the header is not what was sent");
    trial.node.wait(sending, "active message send");
    trial.node.barrier("both are through");
    expect(messages.size() == 1, "more messages than were sent");
}

void automatic(Trial &trial)
{
    one(trial, 0, 0, false);
}

void eager(Trial &trial)
{
    one(trial, UCP_AM_SEND_FLAG_EAGER, 0, false);
}

void rendezvous(Trial &trial)
{
    one(trial, UCP_AM_SEND_FLAG_RNDV, 0, false);
}

void with_header(Trial &trial)
{
    one(trial, 0, 100, false);
}

void vector_eager(Trial &trial)
{
    one(trial, UCP_AM_SEND_FLAG_EAGER, 8, true);
}

void vector_automatic(Trial &trial)
{
    one(trial, 0, 8, true);
}

/* Hundreds of payloads are held until all are there: receive buffers must not run out. */
void kept(Trial &trial)
{
    const std::size_t count = (trial.size <= 8193) ? 1000 : 50;
    GuardedBuffer out(trial.size);
    Inbox inbox(trial.node, true);
    trial.node.barrier("both handlers are set");
    for (std::size_t i = 0; i < count; ++i) {
        out.fill(trial.seed_out + i);
        trial.node.wait(send(trial, out.data(), out.size(), UCP_AM_SEND_FLAG_EAGER),
                        "send " + std::to_string(i));
    }
    const auto &messages = inbox.wait(count);
    for (std::size_t i = 0; i < count; ++i) {
        take(trial, messages[i], trial.size, trial.seed_in + i);
    }
    trial.node.barrier("both are through");
}

constexpr Case CASES[] = {
        {"am/automatic", automatic},
        {"am/eager", eager, 1, 1 << 20},
        {"am/rndv", rendezvous},
        {"am/header", with_header},
        {"am/iov_eager", vector_eager, 8, 1 << 20},
        {"am/iov", vector_automatic, 8},
        {"am/kept", kept, 8, 65536},
};

} // namespace

std::span<const Case> am_cases()
{
    return CASES;
}

} // namespace be::test
