// SPDX-License-Identifier: BSD-3-Clause
//
// Ports, GIDs and address handles.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"
#include "site.hpp"

#include <cerrno>
#include <cstring>

using namespace softtest;

namespace {

constexpr uint32_t grh = 40;

options datagram()
{
    options wanted;
    wanted.type = IBV_QPT_UD;
    return wanted;
}

ibv_gid gid_of(endpoint &self, int index)
{
    ibv_gid gid;
    BOOST_REQUIRE_EQUAL(verbs().query_gid(self.context, 1, index, &gid), 0);
    return gid;
}

bool same(const ibv_gid &a, const ibv_gid &b)
{
    return memcmp(a.raw, b.raw, sizeof(a.raw)) == 0;
}

bool is_ipv4(const ibv_gid &gid)
{
    return (gid.global.subnet_prefix == 0) && (gid.raw[10] == 0xff);
}

int send_to(endpoint &from, ibv_ah *handle, uint32_t number)
{
    ibv_send_wr wr{};
    wr.opcode            = IBV_WR_SEND;
    wr.send_flags        = IBV_SEND_SIGNALED;
    wr.wr.ud.ah          = handle;
    wr.wr.ud.remote_qpn  = number;
    wr.wr.ud.remote_qkey = 0x1234;
    return from.post(wr, 8, 0);
}

} // namespace

BOOST_AUTO_TEST_SUITE(addresses)

BOOST_AUTO_TEST_CASE(port_has_several_gids_and_empty_entries)
{
    endpoint self;
    ibv_port_attr port;
    BOOST_REQUIRE_EQUAL(verbs_get_ctx_op(self.context, query_port)
                                ->query_port(self.context, 1, &port, sizeof(port)),
                        0);
    BOOST_TEST(port.gid_tbl_len > 2);
    ibv_gid first = gid_of(self, 0), second = gid_of(self, 1), none{};
    BOOST_TEST(!same(first, none));
    BOOST_TEST(!same(second, none));
    BOOST_TEST(!same(first, second));
    BOOST_TEST(same(gid_of(self, port.gid_tbl_len - 1), none));
    ibv_gid gid;
    BOOST_TEST(verbs().query_gid(self.context, 1, port.gid_tbl_len, &gid) == -1);
    BOOST_TEST(verbs().query_gid(self.context, 1, -1, &gid) == -1);
    BOOST_TEST(verbs().query_gid(self.context, 2, 0, &gid) == -1);

    ibv_gid_entry entry{}, table[8];
    BOOST_TEST(verbs().query_gid_ex(self.context, 1, 1, &entry, 0, sizeof(entry)) == 0);
    BOOST_TEST(same(entry.gid, second));
    BOOST_TEST(verbs().query_gid_ex(self.context, 1, 3, &entry, 0, sizeof(entry)) ==
               ENODATA);
    BOOST_TEST(verbs().query_gid_table(self.context, table, 8, 0, sizeof(entry)) == 2);
    BOOST_TEST(same(table[1].gid, second));
    BOOST_TEST(table[1].gid_index == 1u);
}

BOOST_AUTO_TEST_CASE(datagrams_carry_the_gids_they_were_sent_with)
{
    endpoint self(datagram()), other(datagram());
    BOOST_REQUIRE_EQUAL(self.connect(other.own_address()), 0);
    BOOST_REQUIRE_EQUAL(other.connect(self.own_address()), 0);
    for (uint8_t index = 0; index < 2; ++index) {
        ibv_ah_attr way{};
        way.port_num       = 1;
        way.dlid           = other.own_address().lid;
        way.is_global      = 1;
        way.grh.sgid_index = index;
        way.grh.dgid       = gid_of(other, index);
        way.grh.hop_limit  = 3;
        ibv_ah *handle     = verbs().create_ah(self.pd, &way);
        BOOST_REQUIRE(handle != nullptr);
        BOOST_REQUIRE_EQUAL(other.post_receive(64), 0);
        BOOST_REQUIRE_EQUAL(send_to(self, handle, other.qp->qp_num), 0);
        BOOST_TEST(self.wait_status() == IBV_WC_SUCCESS);
        std::optional<ibv_wc> wc = other.wait();
        BOOST_REQUIRE(wc.has_value());
        BOOST_TEST(wc->byte_len == 8 + grh);
        BOOST_TEST(wc->wc_flags == unsigned{IBV_WC_GRH});
        BOOST_TEST(verbs().destroy_ah(handle) == 0);
        ibv_gid source = gid_of(self, index), target = gid_of(other, index);
        if (is_ipv4(source)) {
            BOOST_TEST(memcmp(other.buffer + 32, source.raw + 12, 4) == 0);
            BOOST_TEST(memcmp(other.buffer + 36, target.raw + 12, 4) == 0);
        } else {
            BOOST_TEST(memcmp(other.buffer + 8, source.raw, 16) == 0);
            BOOST_TEST(memcmp(other.buffer + 24, target.raw, 16) == 0);
        }

        // The way back is in the completion and the header.
        auto *header = reinterpret_cast<ibv_grh *>(other.buffer);
        ibv_ah_attr back;
        BOOST_REQUIRE_EQUAL(verbs().init_ah_from_wc(other.context, 1, &*wc, header,
                                                    &back),
                            0);
        BOOST_TEST(back.grh.sgid_index == index);
        BOOST_TEST(same(back.grh.dgid, source));
        ibv_ah *reply = verbs().create_ah_from_wc(other.pd, &*wc, header, 1);
        BOOST_REQUIRE(reply != nullptr);
        BOOST_REQUIRE_EQUAL(self.post_receive(64, 64), 0);
        BOOST_REQUIRE_EQUAL(send_to(other, reply, wc->src_qp), 0);
        BOOST_TEST(other.wait_status() == IBV_WC_SUCCESS);
        BOOST_TEST(self.wait_status() == IBV_WC_SUCCESS);
        BOOST_TEST(verbs().destroy_ah(reply) == 0);
    }
}

BOOST_AUTO_TEST_CASE(handle_needs_a_valid_address)
{
    endpoint self(datagram());
    auto created = [&](const ibv_ah_attr &attr) {
        ibv_ah_attr copy = attr;
        ibv_ah *handle   = verbs().create_ah(self.pd, &copy);
        if (handle != nullptr) {
            verbs().destroy_ah(handle);
        }
        return handle != nullptr;
    };
    ibv_ah_attr way{};
    way.port_num = 1;
    way.dlid     = self.own_address().lid;
    BOOST_TEST(created(way) != where_we_are().ethernet); // RoCE needs a GID
    way.is_global = 1;
    way.grh.dgid  = gid_of(self, 0);
    BOOST_TEST(created(way));
    way.port_num = 2;
    BOOST_TEST(!created(way));
    way.port_num       = 1;
    way.grh.sgid_index = 2; // an empty entry
    BOOST_TEST(!created(way));
    way.grh.sgid_index = 1; // for RoCE, of another kind of address
    BOOST_TEST(created(way) != where_we_are().ethernet);
}

BOOST_AUTO_TEST_CASE(handle_keeps_its_domain)
{
    endpoint self(datagram());
    ibv_pd *pd = verbs().alloc_pd(self.context);
    BOOST_REQUIRE(pd != nullptr);
    ibv_ah_attr way = way_to(self.own_address());
    ibv_ah *handle  = verbs().create_ah(pd, &way);
    BOOST_REQUIRE(handle != nullptr);
    BOOST_TEST(verbs().dealloc_pd(pd) == EBUSY);
    BOOST_TEST(verbs().destroy_ah(handle) == 0);
    BOOST_TEST(verbs().dealloc_pd(pd) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
