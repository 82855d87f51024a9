// SPDX-License-Identifier: BSD-3-Clause
//
// What the owners of verbs objects ask of the library, and how they take its failures.
#include "mock_library.hpp"

#include "verbs/error.hpp"
#include "verbs/queue_pair.hpp"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <type_traits>

using namespace be::verbs;
using namespace be::verbs::test;

namespace {

auto mentions(const std::string &part)
{
    return [part](const Error &error) {
        BOOST_TEST_MESSAGE(error.what());
        return std::string(error.what()).find(part) != std::string::npos;
    };
}

struct Fixture {
    MockLibrary library;
    std::optional<Context> context;
    std::optional<ProtectionDomain> pd;
    std::optional<CompletionQueue> cq;

    Fixture()
    {
        library.add("mlx5_0", {active_port(IBV_LINK_LAYER_ETHERNET)});
        context.emplace(library.table(), "mlx5_0");
        pd.emplace(*context);
        cq.emplace(*context, 128);
    }

    ~Fixture()
    {
        cq.reset();
        pd.reset();
        context.reset();
        BOOST_TEST(library.alive == 0);
        BOOST_TEST(library.open == 0);
        BOOST_TEST(library.lists == 0);
        BOOST_TEST(failed_destroys().exchange(0) == 0u);
    }

    QueuePair queue_pair(unsigned max_inline = 0)
    {
        QueuePairCapacity capacity;
        capacity.max_inline = max_inline;
        return QueuePair(*context, *pd, *cq, *cq, nullptr, capacity);
    }
};

static_assert(std::is_nothrow_move_constructible_v<QueuePair>);
static_assert(!std::is_copy_constructible_v<QueuePair>);
static_assert(std::is_nothrow_move_constructible_v<Context>);

} // namespace

BOOST_FIXTURE_TEST_SUITE(objects, Fixture)

BOOST_AUTO_TEST_CASE(unknown_device_lists_those_there_are)
{
    BOOST_CHECK_EXCEPTION(Context(library.table(), "mlx5_9"), Error, mentions("mlx5_0"));
    BOOST_CHECK_EXCEPTION(Context(library.table(), "mlx5_9"), Error, mentions("mlx5_9"));
}

BOOST_AUTO_TEST_CASE(device_that_cannot_be_opened_says_why)
{
    library.add("locked0", {}).open_error = EACCES;
    BOOST_CHECK_EXCEPTION(Context(library.table(), "locked0"), Error,
                          mentions("/dev/infiniband"));
    try {
        Context(library.table(), "locked0");
        BOOST_FAIL("opened");
    } catch (const Error &error) {
        BOOST_TEST(error.code().value() == EACCES);
        BOOST_TEST(error.call() == "ibv_open_device");
        BOOST_TEST(error.device() == "locked0");
    }
}

BOOST_AUTO_TEST_CASE(registration_failure_names_the_range_and_the_remedy)
{
    char memory[64];
    library.errors["reg_mr"] = ENOMEM;
    BOOST_CHECK_EXCEPTION(MemoryRegion(*pd, memory, 64, 0), Error, mentions("length 64"));
    BOOST_CHECK_EXCEPTION(MemoryRegion(*pd, memory, 64, 0), Error, mentions("mlx5_0"));
    BOOST_CHECK_EXCEPTION(MemoryRegion(*pd, memory, 64, 0), Error,
                          mentions("locked memory"));

    int error = 0;
    BOOST_TEST(!MemoryRegion::attempt(*pd, memory, 64, 0, &error));
    BOOST_TEST(error == ENOMEM);
}

BOOST_AUTO_TEST_CASE(optional_rights_go_the_new_way_where_there_is_one)
{
    char memory[64];
    const MemoryRegion plain(*pd, memory, 64, IBV_ACCESS_LOCAL_WRITE);
    BOOST_TEST(library.last_registration == "reg_mr");
    const MemoryRegion relaxed(*pd, memory, 64, IBV_ACCESS_RELAXED_ORDERING);
    BOOST_TEST(library.last_registration == "reg_mr_iova2");
    BOOST_TEST(relaxed.lkey() == 11u);
    BOOST_TEST(relaxed.rkey() == 22u);
    BOOST_TEST(relaxed.address() == memory);
    BOOST_TEST(relaxed.length() == 64u);
}

BOOST_AUTO_TEST_CASE(queue_larger_than_the_device_has_names_the_limit)
{
    BOOST_CHECK_EXCEPTION(CompletionQueue(*context, 100000), Error, mentions("65536"));
    library.errors["create_srq"] = EINVAL;
    BOOST_CHECK_EXCEPTION(SharedReceiveQueue(*context, *pd, 99999), Error,
                          mentions("32768"));
    library.errors["create_qp"] = EINVAL;
    BOOST_CHECK_EXCEPTION(queue_pair(), Error, mentions("16384"));
}

BOOST_AUTO_TEST_CASE(shared_queue_tells_what_the_device_gave)
{
    SharedReceiveQueue srq(*context, *pd, 100);
    BOOST_TEST(srq.max_receives() == 200u);
    srq.set_limit(10);
    library.errors["modify_srq"] = EINVAL;
    BOOST_CHECK_EXCEPTION(srq.set_limit(10), Error, mentions("limit 10"));
}

BOOST_AUTO_TEST_CASE(inline_falls_back_until_it_is_accepted)
{
    library.inline_limit = 100;
    const QueuePair qp   = queue_pair(512);
    BOOST_TEST(library.inline_attempts == (std::vector<unsigned>{512, 256, 128, 64}),
               boost::test_tools::per_element());
    BOOST_TEST(qp.max_inline() == 64u);
    BOOST_TEST(qp.capacity().max_sends == 256u); // not what the failed attempts left
    BOOST_TEST((library.last_qp.qp_type == IBV_QPT_RC));
    BOOST_TEST(library.last_qp.sq_sig_all == 0);

    library.inline_limit = 0;
    BOOST_TEST(queue_pair(512).max_inline() == 0u);
}

BOOST_AUTO_TEST_CASE(shared_receive_queue_leaves_no_receives_of_its_own)
{
    const SharedReceiveQueue srq(*context, *pd, 100);
    QueuePairCapacity capacity;
    capacity.max_receives = 55;
    const QueuePair qp(*context, *pd, *cq, *cq, &srq, capacity);
    BOOST_TEST(library.last_qp.srq == srq.get());
    BOOST_TEST(library.last_qp.cap.max_recv_wr == 0u);
}

BOOST_AUTO_TEST_CASE(connecting_sets_every_attribute)
{
    QueuePair qp = queue_pair();
    qp.to_init(1, IBV_ACCESS_REMOTE_WRITE);
    RemoteEnd remote;
    remote.qpn        = 0x1234;
    remote.psn        = 0xff000001; // only 24 bits count
    remote.lid        = 9;
    remote.gid.raw[0] = 0xfe;
    LocalEnd local;
    local.gid_index          = 3;
    local.global             = true;
    local.traffic_class      = 106;
    local.service_level      = 2;
    local.mtu                = IBV_MTU_4096;
    local.max_dest_rd_atomic = 16;
    qp.to_rtr(remote, local);
    SendLimits limits;
    limits.psn           = 0xff000002;
    limits.timeout       = 12;
    limits.retry_count   = 5;
    limits.max_rd_atomic = 8;
    qp.to_rts(limits);
    BOOST_TEST((qp.state() == IBV_QPS_RTS));

    BOOST_TEST_REQUIRE(library.modifications.size() == 3u);
    const auto &init = library.modifications[0];
    BOOST_TEST(init.mask ==
               (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    BOOST_TEST(init.attributes.port_num == 1);
    BOOST_TEST(init.attributes.qp_access_flags == IBV_ACCESS_REMOTE_WRITE);

    const ibv_qp_attr &rtr = library.modifications[1].attributes;
    BOOST_TEST(rtr.dest_qp_num == 0x1234u);
    BOOST_TEST(rtr.rq_psn == 1u);
    BOOST_TEST((rtr.path_mtu == IBV_MTU_4096));
    BOOST_TEST(rtr.max_dest_rd_atomic == 16);
    BOOST_TEST(rtr.min_rnr_timer > 0); // 0 means 655 ms
    BOOST_TEST(rtr.ah_attr.dlid == 9);
    BOOST_TEST(rtr.ah_attr.is_global == 1);
    BOOST_TEST(rtr.ah_attr.grh.sgid_index == 3);
    BOOST_TEST(rtr.ah_attr.grh.traffic_class == 106);
    BOOST_TEST(rtr.ah_attr.grh.hop_limit > 1); // routed networks
    BOOST_TEST(rtr.ah_attr.grh.dgid.raw[0] == 0xfe);
    BOOST_TEST(rtr.ah_attr.sl == 2);

    const auto &rts = library.modifications[2];
    BOOST_TEST((rts.mask & IBV_QP_RNR_RETRY) != 0);
    BOOST_TEST(rts.attributes.rnr_retry == 0);
    BOOST_TEST(rts.attributes.sq_psn == 2u);
    BOOST_TEST(rts.attributes.timeout == 12);
    BOOST_TEST(rts.attributes.retry_cnt == 5);
    BOOST_TEST(rts.attributes.max_rd_atomic == 8);

    BOOST_TEST(qp.to_error() == 0);
    BOOST_TEST((qp.state() == IBV_QPS_ERR));
    BOOST_TEST(qp.to_reset() == 0);
    BOOST_TEST((qp.state() == IBV_QPS_RESET));
}

BOOST_AUTO_TEST_CASE(failed_transition_names_queue_pair_and_target)
{
    QueuePair qp                = queue_pair();
    library.errors["modify_qp"] = ETIMEDOUT;
    BOOST_CHECK_EXCEPTION(qp.to_init(1, 0), Error, mentions("queue pair 77 to init"));
    BOOST_CHECK_EXCEPTION(qp.to_rtr({}, {}), Error, mentions("could not be resolved"));
    BOOST_CHECK_EXCEPTION(qp.to_rts({}), Error, mentions("ready to send"));
    BOOST_TEST(qp.to_error() == ETIMEDOUT);
    library.errors["query_qp"] = EIO;
    BOOST_TEST((qp.state() == IBV_QPS_UNKNOWN));
}

BOOST_AUTO_TEST_CASE(moved_object_is_destroyed_once)
{
    QueuePair first = queue_pair();
    QueuePair other = queue_pair();
    BOOST_TEST(library.alive == 4); // pd, cq and these
    QueuePair second = std::move(first);
    BOOST_TEST(library.alive == 4);
    other = std::move(second);
    BOOST_TEST(library.alive == 3);
    BOOST_TEST(other.number() == 77u);
}

BOOST_AUTO_TEST_CASE(refused_destroy_is_counted)
{
    std::optional<QueuePair> qp  = queue_pair();
    ibv_qp *raw                  = qp->get();
    library.errors["destroy_qp"] = EBUSY;
    qp.reset();
    BOOST_TEST(failed_destroys().exchange(0) == 1u);
    library.errors.clear();
    BOOST_TEST(library.table().destroy_qp(raw) == 0);
}

BOOST_AUTO_TEST_CASE(events_are_sorted_by_subject_and_acknowledged)
{
    AsyncEvents events(*context);
    BOOST_TEST((fcntl(events.fd(), F_GETFL) & O_NONBLOCK) != 0);
    BOOST_TEST(!events.next());

    QueuePair qp          = queue_pair();
    ibv_async_event fatal = {};
    fatal.event_type      = IBV_EVENT_QP_FATAL;
    fatal.element.qp      = qp.get();
    ibv_async_event down  = {};
    down.event_type       = IBV_EVENT_PORT_ERR;
    down.element.port_num = 1;
    ibv_async_event up    = {};
    up.event_type         = IBV_EVENT_PORT_ACTIVE;
    up.element.port_num   = 2;
    ibv_async_event gone  = {};
    gone.event_type       = IBV_EVENT_DEVICE_FATAL;
    ibv_async_event moved = {};
    moved.event_type      = IBV_EVENT_LID_CHANGE;
    library.events        = {fatal, down, up, gone, moved};

    const auto first = events.next();
    BOOST_TEST_REQUIRE(first.has_value());
    BOOST_TEST((first->subject == AsyncEvent::Subject::queue_pair));
    BOOST_TEST((first->kind == AsyncEvent::Kind::queue_pair_failed));
    BOOST_TEST(first->object == qp.get());
    BOOST_TEST(first->qpn == qp.number());
    const auto second = events.next();
    BOOST_TEST_REQUIRE(second.has_value());
    BOOST_TEST((second->subject == AsyncEvent::Subject::port));
    BOOST_TEST((second->kind == AsyncEvent::Kind::port_down));
    BOOST_TEST(second->port == 1);
    const auto third = events.next();
    BOOST_TEST_REQUIRE(third.has_value());
    BOOST_TEST((third->kind == AsyncEvent::Kind::port_up));
    BOOST_TEST(third->port == 2);
    const auto fourth = events.next();
    BOOST_TEST_REQUIRE(fourth.has_value());
    BOOST_TEST((fourth->subject == AsyncEvent::Subject::device));
    BOOST_TEST((fourth->kind == AsyncEvent::Kind::device_failed));
    BOOST_TEST(fourth->text == std::string("device failed"));
    const auto fifth = events.next();
    BOOST_TEST_REQUIRE(fifth.has_value());
    BOOST_TEST((fifth->kind == AsyncEvent::Kind::other));
    BOOST_TEST(!events.next());
    BOOST_TEST(library.acknowledged == 5);
}

BOOST_AUTO_TEST_SUITE_END()
