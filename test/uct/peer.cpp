// SPDX-License-Identifier: BSD-3-Clause
//
// The other process of a two-process test: says where it is and what memory it offers, then makes
// progress until its standard input is closed. With an address as argument it sends every message
// back to there.
//
//   uct_peer [ADDRESS]        all values in hexadecimal
//   output: "ADDRESS KEY REMOTE_ADDRESS LENGTH", one line

#include "harness.hpp"
#include "peer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <deque>

using namespace uct_test;

int main(int argc, char **argv)
{
    Interface iface;
    Memory memory(iface, peer_memory);
    fill(memory.data(), memory.size(), peer_seed);

    std::unique_ptr<Endpoint> back;
    std::deque<std::vector<uint8_t>> echoes;
    iface.on_am(peer_am_id, [&](void *data, size_t length, unsigned) {
        const auto *bytes = static_cast<const uint8_t *>(data);
        if (argc > 1) {
            echoes.emplace_back(bytes, bytes + length);
        }
        return UCS_OK;
    });
    if (argc > 1) {
        back = std::make_unique<Endpoint>(iface, Address::decode(from_hex(argv[1])));
    }

    std::printf("%s %s %llx %zx\n", to_hex(iface.address().encode()).c_str(),
                to_hex(memory.packed_key()).c_str(),
                static_cast<unsigned long long>(memory.remote()), memory.size());
    std::fflush(stdout);

    pollfd input{STDIN_FILENO, POLLIN, 0};
    for (unsigned round = 0;; ++round) {
        iface.progress();
        while (!echoes.empty()) {
            Packed packed{echoes.front().data(), echoes.front().size()};
            if (uct_ep_am_bcopy(back->handle(), peer_am_id, pack, &packed, 0) ==
                UCS_ERR_NO_RESOURCE) {
                break;
            }
            echoes.pop_front();
        }
        if (((round % 1024) == 0) && (poll(&input, 1, 0) == 1)) {
            char byte;
            if (read(STDIN_FILENO, &byte, 1) == 0) {
                return 0;
            }
        }
    }
}
