// SPDX-License-Identifier: BSD-3-Clause
/* Streams: bytes in order, whatever the pieces they were sent and are taken in. */
#include "verify.hpp"

#include <algorithm>

namespace be::test {

namespace {

ucs_status_ptr_t send(Trial &trial, const void *data, std::size_t count, bool vector)
{
    ucp_request_param_t param{};
    if (vector) {
        param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
        param.datatype     = ucp_dt_make_iov();
    }
    return ucp_stream_send_nbx(trial.node.ep(), data, count, &param);
}

ucs_status_ptr_t receive(Trial &trial, void *data, std::size_t size, std::size_t *length)
{
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags        = UCP_STREAM_RECV_FLAG_WAITALL;
    return ucp_stream_recv_nbx(trial.node.ep(), data, size, length, &param);
}

/* All bytes into one buffer; receiving starts before or after the sending. */
void whole(Trial &trial, bool vector)
{
    GuardedBuffer out(trial.size, 1), in(trial.size, 7);
    out.fill(trial.seed_out);
    const auto entries   = split(out.data(), out.size());
    std::size_t length   = 0;
    const auto receiving = receive(trial, in.data(), in.size(), &length);
    const auto sending   = vector ? send(trial, entries.data(), entries.size(), true) :
                                    send(trial, out.data(), out.size(), false);
    trial.node.wait(receiving, "stream receive");
    trial.node.wait(sending, "stream send");
    in.check(trial.seed_in, "received");
}

void contiguous(Trial &trial)
{
    whole(trial, false);
}

void vectors(Trial &trial)
{
    whole(trial, true);
}

/* Sent in pieces of one cut, received in pieces of another. */
void recut(Trial &trial)
{
    constexpr std::size_t OUT_PIECE = 1000, IN_PIECE = 3333;
    GuardedBuffer out(trial.size), in(trial.size);
    out.fill(trial.seed_out);
    std::vector<ucs_status_ptr_t> sending;
    for (std::size_t at = 0; at < out.size(); at += OUT_PIECE) {
        sending.push_back(send(trial, out.data() + at,
                               std::min(OUT_PIECE, out.size() - at), false));
    }
    for (std::size_t at = 0; at < in.size(); at += IN_PIECE) {
        std::size_t length = 0;
        trial.node.wait(receive(trial, in.data() + at, std::min(IN_PIECE, in.size() - at),
                                &length),
                        "stream receive at " + std::to_string(at));
    }
    for (const auto request : sending) {
        trial.node.wait(request, "stream send");
    }
    in.check(trial.seed_in, "received");
}

/* Data taken in place, as it comes. */
void in_place(Trial &trial)
{
    GuardedBuffer out(trial.size);
    out.fill(trial.seed_out);
    const auto sending = send(trial, out.data(), out.size(), false);
    std::size_t taken  = 0;
    const auto all     = [&] {
        std::size_t length = 0;
        ucs_status_ptr_t data;
        while ((data = ucp_stream_recv_data_nb(trial.node.ep(), &length)) != nullptr) {
            if (UCS_PTR_IS_ERR(data)) {
                check(UCS_PTR_STATUS(data), "ucp_stream_recv_data");
            }
            expect(taken + length <= trial.size,
                       "the stream is longer than what was sent");
            pattern_check(data, length, trial.seed_in, "stream data", taken);
            taken += length;
            ucp_stream_data_release(trial.node.ep(), data);
        }
        return taken == trial.size;
    };
    trial.node.until(all, "the whole stream");
    trial.node.wait(sending, "stream send");
}

constexpr Case CASES[] = {
        {"stream/contig", contiguous},
        {"stream/iov", vectors, 8},
        {"stream/recut", recut, 1024, 1 << 20},
        {"stream/in_place", in_place},
};

} // namespace

std::span<const Case> stream_cases()
{
    return CASES;
}

} // namespace be::test
