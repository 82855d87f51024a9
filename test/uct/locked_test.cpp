// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that the device cannot register because no more may be locked: messages from it are copied, the rest is refused,
// and the peer that gets its key does without.

#define BOOST_TEST_MODULE locked
#include "harness.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

using namespace uct_test;

namespace {

constexpr size_t mebi   = 1u << 20;
constexpr uint8_t am_id = 5;

// Before the device is opened.
void limit(const char *mebibytes)
{
    setenv("SOFTRDMA_LOCKED", mebibytes, 1);
}

struct Large {
    Large()
    {
        BOOST_REQUIRE(data != MAP_FAILED);
        fill(data, 2 * mebi, 7);
    }

    ~Large()
    {
        munmap(data, length);
    }

    static constexpr size_t length = 200 * mebi;
    uint8_t *data = static_cast<uint8_t *>(mmap(nullptr, length, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

struct Registered {
    Registered(Interface &owner, const Large &memory, unsigned flags) :
        iface(owner),
        status(uct_md_mem_reg(owner.md(), memory.data, memory.length, flags, &memh))
    {
    }

    ~Registered()
    {
        if (status == UCS_OK) {
            BOOST_CHECK_EQUAL(uct_md_mem_dereg(iface.md(), memh), UCS_OK);
        }
    }

    Interface &iface;
    uct_mem_h memh = UCT_MEM_HANDLE_NULL;
    ucs_status_t status;
};

Options with_cache(const char *method)
{
    Options result;
    result.md_config = {{"REG", method}};
    return result;
}

uct_iov_t part_of(const Large &memory, size_t offset, size_t length, uct_mem_h memh)
{
    uct_iov_t iov{};
    iov.buffer = memory.data + offset;
    iov.length = length;
    iov.memh   = memh;
    iov.count  = 1;
    return iov;
}

// That UCX's log wrote meanwhile.
size_t lines_of(const std::function<void()> &work)
{
    std::FILE *file = std::tmpfile();
    BOOST_REQUIRE(file != nullptr);
    std::fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    BOOST_REQUIRE_GE(dup2(fileno(file), STDOUT_FILENO), 0);
    work();
    std::fflush(stdout);
    BOOST_REQUIRE_GE(dup2(before, STDOUT_FILENO), 0);
    close(before);
    std::rewind(file);
    std::string text;
    for (int next = std::fgetc(file); next != EOF; next = std::fgetc(file)) {
        text += static_cast<char>(next);
    }
    std::fclose(file);
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// What cannot be registered here, and memory of another interface that is.
struct Refused {
    uct_iov_t iov() const
    {
        return part_of(memory, 0, mebi, all.memh);
    }

    Large memory;
    Interface initiator, target;
    Endpoint ep{initiator, target.address()};
    Memory remote{target, mebi};
    RemoteKey key{initiator, remote.packed_key()};
    Registered all{initiator, memory, UCT_MD_MEM_ACCESS_RMA};
};

struct Limited {
    Limited()
    {
        limit("128");
    }
};

BOOST_TEST_GLOBAL_FIXTURE(Limited);

} // namespace

BOOST_AUTO_TEST_CASE(what_peers_shall_reach_or_ucp_can_do_without_is_refused)
{
    Large memory;
    for (const char *method : {"rcache", "direct"}) {
        Interface iface(with_cache(method));
        BOOST_CHECK_EQUAL(Registered(iface, memory, UCT_MD_MEM_ACCESS_ALL).status,
                          UCS_ERR_NO_MEMORY);
        BOOST_CHECK_EQUAL(Registered(iface, memory,
                                     UCT_MD_MEM_ACCESS_RMA | UCT_MD_MEM_FLAG_HIDE_ERRORS)
                                  .status,
                          UCS_ERR_NO_MEMORY);
    }
}

BOOST_AUTO_TEST_CASE(messages_are_copied)
{
    Large memory;
    for (const char *method : {"rcache", "direct"}) {
        Interface sender(with_cache(method)), receiver(with_cache(method));
        Endpoint ep(sender, receiver.address());
        Registered all(sender, memory, UCT_MD_MEM_ACCESS_RMA);
        BOOST_REQUIRE_EQUAL(all.status, UCS_OK);
        BOOST_REQUIRE(sender.has(UCT_IFACE_FLAG_AM_ZCOPY));

        const std::vector<uint8_t> header = pattern(16, 1);
        const size_t most   = sender.attr().cap.am.max_zcopy - header.size();
        unsigned arrived    = 0;
        size_t bytes        = 0;
        const auto expected = pattern(2 * mebi, 7);
        receiver.on_am(am_id, [&](void *data, size_t length, unsigned) {
            const auto *got = static_cast<const uint8_t *>(data);
            BOOST_CHECK(std::equal(header.begin(), header.end(), got));
            // Two parts: from offset 1 and from the middle.
            const size_t half = (length - header.size()) / 2;
            BOOST_CHECK(std::equal(got + header.size(), got + header.size() + half,
                                   expected.begin() + 1));
            BOOST_CHECK(std::equal(got + header.size() + half, got + length,
                                   expected.begin() + mebi));
            ++arrived;
            bytes += length;
            return UCS_OK;
        });
        size_t sent       = 0;
        unsigned messages = 0;
        for (size_t length : {size_t{2}, size_t{999}, size_t{4096}, most & ~size_t{1}}) {
            const size_t half = length / 2;
            uct_iov_t iov[2]  = {part_of(memory, 1, half, all.memh),
                                 part_of(memory, mebi, length - half, all.memh)};
            Completion completion;
            uct_completion_t *comp = completion.use();
            BOOST_REQUIRE_EQUAL(completion.started(
                                        retry({&sender, &receiver},
                                              [&] {
                                                  return uct_ep_am_zcopy(ep.handle(),
                                                                         am_id,
                                                                         header.data(),
                                                                         header.size(),
                                                                         iov, 2, 0, comp);
                                              })),
                                UCS_OK);
            sent += header.size() + length;
            ++messages;
        }
        BOOST_CHECK(progress_until({&sender, &receiver},
                                   [&] { return arrived == messages; }));
        BOOST_CHECK_EQUAL(bytes, sent);
    }
}

BOOST_AUTO_TEST_CASE(put_and_get_are_refused)
{
    Refused refused;
    BOOST_REQUIRE_EQUAL(refused.all.status, UCS_OK);

    const uct_iov_t iov = refused.iov();
    Completion completion;
    for (auto operation : {&uct_ep_put_zcopy, &uct_ep_get_zcopy}) {
        uct_completion_t *comp = completion.use();
        BOOST_CHECK_EQUAL(completion.started(
                                  retry({&refused.initiator, &refused.target},
                                        [&] {
                                            return operation(refused.ep.handle(), &iov, 1,
                                                             refused.remote.remote(),
                                                             refused.key.rkey(), comp);
                                        })),
                          UCS_ERR_NO_MEMORY);
    }
}

// Who goes on trying does not fill the disk.
BOOST_AUTO_TEST_CASE(refusals_are_logged_with_measure)
{
    Refused refused;
    const uct_iov_t iov = refused.iov();
    const size_t lines  = lines_of([&] {
        for (unsigned i = 0; i < 1000; ++i) {
            Completion completion;
            uct_completion_t *comp = completion.use();
            BOOST_CHECK_EQUAL(completion.started(
                                       uct_ep_put_zcopy(refused.ep.handle(), &iov, 1,
                                                        refused.remote.remote(),
                                                        refused.key.rkey(), comp)),
                               UCS_ERR_NO_MEMORY);
        }
    });
    BOOST_CHECK_GT(lines, 0u);
    BOOST_CHECK_LT(lines, 100u);
}

BOOST_AUTO_TEST_CASE(without_a_header)
{
    Large memory;
    Interface sender, receiver;
    Endpoint ep(sender, receiver.address());
    Registered all(sender, memory, UCT_MD_MEM_ACCESS_RMA);
    const uct_iov_t iov = part_of(memory, 0, 999, all.memh);
    size_t bytes        = 0;
    receiver.on_am(am_id, [&](void *, size_t length, unsigned) {
        bytes += length;
        return UCS_OK;
    });
    Completion completion;
    uct_completion_t *comp = completion.use();
    BOOST_REQUIRE_EQUAL(completion.started(retry({&sender, &receiver},
                                                 [&] {
                                                     return uct_ep_am_zcopy(ep.handle(),
                                                                            am_id,
                                                                            nullptr, 0,
                                                                            &iov, 1, 0,
                                                                            comp);
                                                 })),
                        UCS_OK);
    BOOST_CHECK(progress_until({&sender, &receiver}, [&] { return bytes == 999; }));
}

BOOST_AUTO_TEST_CASE(its_key_says_that_there_is_none)
{
    Large memory;
    Interface iface;
    Registered all(iface, memory, UCT_MD_MEM_ACCESS_RMA);
    BOOST_REQUIRE_EQUAL(all.status, UCS_OK);

    std::vector<uint8_t> packed(iface.md_attr().rkey_packed_size);
    BOOST_REQUIRE_EQUAL(uct_md_mkey_pack(iface.md(), all.memh, packed.data()), UCS_OK);
    uct_rkey_bundle_t key{};
    BOOST_CHECK_EQUAL(uct_rkey_unpack(iface.component(), packed.data(), &key),
                      UCS_ERR_UNREACHABLE);
}

BOOST_AUTO_TEST_CASE(with_next_to_nothing_all_is_copied)
{
    limit("8");
    // The device reads its settings once, so only what this process concludes from them can be seen here.
    Interface iface;
    BOOST_CHECK(!iface.has(UCT_IFACE_FLAG_AM_ZCOPY));
    BOOST_CHECK(!iface.has(UCT_IFACE_FLAG_PUT_ZCOPY));
    BOOST_CHECK(!iface.has(UCT_IFACE_FLAG_GET_ZCOPY));
    BOOST_CHECK(iface.has(UCT_IFACE_FLAG_AM_BCOPY | UCT_IFACE_FLAG_PUT_BCOPY |
                          UCT_IFACE_FLAG_GET_BCOPY));
}
