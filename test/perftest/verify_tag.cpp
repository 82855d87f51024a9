// SPDX-License-Identifier: BSD-3-Clause
/* Tag matching: expected, unexpected, probed, synchronous, vectors, order and truncation. */
#include "verify.hpp"

namespace be::test {

namespace {

constexpr ucp_tag_t TAG      = 0x1122334455667788;
constexpr ucp_tag_t FULL_TAG = ~ucp_tag_t{0};

ucp_request_param_t layout(bool vector)
{
    ucp_request_param_t param{};
    if (vector) {
        param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
        param.datatype     = ucp_dt_make_iov();
    }
    return param;
}

ucs_status_ptr_t
send(Trial &trial, const void *data, std::size_t length, ucp_tag_t tag = TAG)
{
    const auto param = layout(false);
    return ucp_tag_send_nbx(trial.node.ep(), data, length, tag, &param);
}

ucs_status_ptr_t receive(Trial &trial, void *data, std::size_t length,
                         ucp_tag_t tag = TAG, ucp_tag_t mask = FULL_TAG)
{
    const auto param = layout(false);
    return ucp_tag_recv_nbx(trial.node.worker(), data, length, tag, mask, &param);
}

void expected(Trial &trial)
{
    GuardedBuffer out(trial.size), in(trial.size, 1);
    out.fill(trial.seed_out);
    const auto receiving = receive(trial, in.data(), in.size());
    trial.node.barrier("both receives are posted");
    const auto sending = send(trial, out.data(), out.size());
    trial.node.wait(sending, "send");
    trial.node.wait(receiving, "receive");
    in.check(trial.seed_in, "received");
    out.check(trial.seed_out, "sent");
}

void unexpected(Trial &trial)
{
    GuardedBuffer out(trial.size, 3), in(trial.size);
    out.fill(trial.seed_out);
    const auto sending = send(trial, out.data(), out.size());
    trial.node.barrier("both sends are posted");
    trial.node.wait(receive(trial, in.data(), in.size()), "receive");
    trial.node.wait(sending, "send");
    in.check(trial.seed_in, "received");
}

void probed(Trial &trial)
{
    GuardedBuffer out(trial.size), in(trial.size);
    out.fill(trial.seed_out);
    const auto sending        = send(trial, out.data(), out.size());
    ucp_tag_message_h message = nullptr;
    ucp_tag_recv_info_t info{};
    trial.node.until(
            [&] {
                message = ucp_tag_probe_nb(trial.node.worker(), TAG, FULL_TAG, 1, &info);
                return message != nullptr;
            },
            "probe finds the message");
    expect(info.length == trial.size, "probe: length " + std::to_string(info.length));
    expect(info.sender_tag == TAG, "probe: another tag");
    const auto param = layout(false);
    trial.node.wait(ucp_tag_msg_recv_nbx(trial.node.worker(), in.data(), in.size(),
                                         message, &param),
                    "receive of the probed message");
    trial.node.wait(sending, "send");
    in.check(trial.seed_in, "received");
}

/* The send may not complete before the receive is posted. */
void synchronous(Trial &trial)
{
    GuardedBuffer out(trial.size), in(trial.size);
    out.fill(trial.seed_out);
    const auto param   = layout(false);
    const auto sending = ucp_tag_send_sync_nbx(trial.node.ep(), out.data(), out.size(),
                                               TAG, &param);
    ucp_tag_recv_info_t info{};
    trial.node.until(
            [&] {
                return ucp_tag_probe_nb(trial.node.worker(), TAG, FULL_TAG, 0, &info) !=
                       nullptr;
            },
            "the message has arrived");
    trial.node.barrier("both messages have arrived");
    expect(UCS_PTR_IS_PTR(sending) && ucp_request_check_status(sending) == UCS_INPROGRESS,
           "synchronous send completed before its receive");
    trial.node.barrier("both looked");
    trial.node.wait(receive(trial, in.data(), in.size()), "receive");
    trial.node.wait(sending, "synchronous send");
    in.check(trial.seed_in, "received");
}

void vectors(Trial &trial, bool send_vector, bool receive_vector)
{
    GuardedBuffer out(trial.size, 5), in(trial.size, 2);
    out.fill(trial.seed_out);
    const auto out_entries = split(out.data(), out.size());
    const auto in_entries  = split(in.data(), in.size());
    const auto out_param = layout(send_vector), in_param = layout(receive_vector);
    const auto receiving = ucp_tag_recv_nbx(
            trial.node.worker(), receive_vector ? (void *)in_entries.data() : in.data(),
            receive_vector ? in_entries.size() : in.size(), TAG, FULL_TAG, &in_param);
    const auto sending = ucp_tag_send_nbx(trial.node.ep(),
                                          send_vector ? (const void *)out_entries.data() :
                                                        out.data(),
                                          send_vector ? out_entries.size() : out.size(),
                                          TAG, &out_param);
    trial.node.wait(sending, "send");
    trial.node.wait(receiving, "receive");
    in.check(trial.seed_in, "received");
}

void vector_both(Trial &trial)
{
    vectors(trial, true, true);
}

void vector_out(Trial &trial)
{
    vectors(trial, true, false);
}

void vector_in(Trial &trial)
{
    vectors(trial, false, true);
}

/* Many messages of one tag, lengths from 1 to size: they match in the order of sending. */
void ordered(Trial &trial)
{
    constexpr std::size_t COUNT = 300;
    const auto length = [&](std::size_t i) { return 1 + (i * 7919) % trial.size; };
    std::vector<GuardedBuffer> out, in;
    std::vector<ucs_status_ptr_t> sending, receiving;
    for (std::size_t i = 0; i < COUNT; ++i) {
        out.emplace_back(length(i), i);
        out.back().fill(trial.seed_out + i);
        in.emplace_back(length(i), i + 1);
    }
    /* Half of the receives are there before the messages. */
    for (std::size_t i = 0; i < COUNT / 2; ++i) {
        receiving.push_back(receive(trial, in[i].data(), in[i].size()));
    }
    for (std::size_t i = 0; i < COUNT; ++i) {
        sending.push_back(send(trial, out[i].data(), out[i].size()));
    }
    trial.node.barrier("all sends are posted");
    for (std::size_t i = COUNT / 2; i < COUNT; ++i) {
        receiving.push_back(receive(trial, in[i].data(), in[i].size()));
    }
    for (std::size_t i = 0; i < COUNT; ++i) {
        trial.node.wait(sending[i], "send " + std::to_string(i));
        trial.node.wait(receiving[i], "receive " + std::to_string(i));
        in[i].check(trial.seed_in + i, "message " + std::to_string(i));
    }
}

/* A receive one byte too short fails and writes nothing behind its end; the next is whole. */
void truncated(Trial &trial)
{
    GuardedBuffer out(trial.size), in(trial.size - 1), whole(trial.size);
    out.fill(trial.seed_out);
    const auto first  = receive(trial, in.data(), in.size());
    const auto second = receive(trial, whole.data(), whole.size());
    trial.node.barrier("both receives are posted");
    const auto sending_first  = send(trial, out.data(), out.size());
    const auto sending_second = send(trial, out.data(), out.size());
    const ucs_status_t status = trial.node.wait_status(first, "short receive");
    expect(status == UCS_ERR_MESSAGE_TRUNCATED,
           std::string("short receive ended with ") + ucs_status_string(status));
    trial.node.wait(second, "whole receive");
    trial.node.wait(sending_first, "first send");
    trial.node.wait(sending_second, "second send");
    in.check_guards("short receive");
    whole.check(trial.seed_in, "whole receive");
}

void empty(Trial &trial)
{
    GuardedBuffer in(0);
    const auto receiving = receive(trial, in.data(), 0, TAG, 0);
    trial.node.wait(send(trial, nullptr, 0), "send of nothing");
    trial.node.wait(receiving, "receive of nothing");
    in.check_guards("empty receive");
}

constexpr Case CASES[] = {
        {"tag/expected", expected},
        {"tag/unexpected", unexpected},
        {"tag/probed", probed},
        {"tag/sync", synchronous},
        {"tag/iov", vector_both, 8},
        {"tag/iov_to_contig", vector_out, 8},
        {"tag/contig_to_iov", vector_in, 8},
        {"tag/ordered", ordered, 1024, 65536},
        {"tag/truncated", truncated, 2},
        {"tag/empty", empty, 1, 1},
};

} // namespace

std::span<const Case> tag_cases()
{
    return CASES;
}

} // namespace be::test
