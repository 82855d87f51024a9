// SPDX-License-Identifier: BSD-3-Clause
/* Atomics: values that the only requester knows, so every answer and the end are exact. */
#include "verify.hpp"

namespace be::test {

namespace {

constexpr unsigned ROUNDS = 200;

/* The two cells of one case; UCP wants them aligned. */
template<typename Word>
struct Cell {
    explicit Cell(Trial &trial) :
        trial(trial),
        local(trial.node, &value, sizeof(value)),
        remote(trial.node.ep(), trial.node.exchange(local.pack(), "memory keys"))
    {
    }

    /* Applies one operation to the other side's cell; returns what was there before. */
    Word fetch(ucp_atomic_op_t op, Word operand, Word swap = 0)
    {
        Word reply = swap; /* compare-and-swap takes the new value from here */
        ucp_request_param_t param{};
        param.op_attr_mask = UCP_OP_ATTR_FIELD_REPLY_BUFFER | UCP_OP_ATTR_FIELD_DATATYPE;
        param.reply_buffer = &reply;
        param.datatype     = ucp_dt_make_contig(sizeof(Word));
        trial.node.wait(ucp_atomic_op_nbx(trial.node.ep(), op, &operand, 1, remote.at(0),
                                          remote.key(), &param),
                        "atomic");
        return reply;
    }

    void post(ucp_atomic_op_t op, Word operand)
    {
        ucp_request_param_t param{};
        param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
        param.datatype     = ucp_dt_make_contig(sizeof(Word));
        trial.node.wait(ucp_atomic_op_nbx(trial.node.ep(), op, &operand, 1, remote.at(0),
                                          remote.key(), &param),
                        "posted atomic");
    }

    Trial &trial;
    alignas(8) Word value = 0;
    SharedMemory local;
    RemoteMemory remote;
};

template<typename Word>
void run(Trial &trial)
{
    Cell<Word> cell(trial);
    Word expected      = 0;
    const auto compare = [&](Word found, const char *what) {
        expect(found == expected, std::string(what) + " returned " +
                                          std::to_string(found) + " instead of " +
                                          std::to_string(expected));
    };
    for (unsigned i = 1; i <= ROUNDS; ++i) {
        const Word operand = static_cast<Word>(i) * 0x01010101u;
        compare(cell.fetch(UCP_ATOMIC_OP_ADD, operand), "fetch-and-add");
        expected += operand;
        compare(cell.fetch(UCP_ATOMIC_OP_SWAP, operand), "swap");
        expected = operand;
        compare(cell.fetch(UCP_ATOMIC_OP_CSWAP, expected, expected + 1),
                "compare-and-swap");
        ++expected;
        compare(cell.fetch(UCP_ATOMIC_OP_CSWAP, expected + 1, 77),
                "failing compare-and-swap");
        cell.post(UCP_ATOMIC_OP_ADD, operand);
        expected += operand;
        cell.post(UCP_ATOMIC_OP_XOR, operand << 1);
        expected ^= operand << 1;
        cell.post(UCP_ATOMIC_OP_OR, 0x10);
        expected |= 0x10;
        cell.post(UCP_ATOMIC_OP_AND, static_cast<Word>(~Word{0x02}));
        expected &= ~Word{0x02};
    }
    trial.node.flush();
    /* Both applied the same to each other's cell. */
    trial.node.barrier("both are flushed");
    expect(cell.value == expected, "the cell is " + std::to_string(cell.value) +
                                           " instead of " + std::to_string(expected));
    trial.node.barrier("both looked");
}

constexpr Case CASES[] = {
        {"atomic/32", run<std::uint32_t>, 1, 1},
        {"atomic/64", run<std::uint64_t>, 1, 1},
};

} // namespace

std::span<const Case> atomic_cases()
{
    return CASES;
}

} // namespace be::test
