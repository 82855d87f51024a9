// SPDX-License-Identifier: BSD-3-Clause
//
// Devices, domains and regions under a second name.
#include <boost/test/unit_test.hpp>

#include "connected.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace softtest;

namespace {

ibv_context *import_copy(const endpoint &of)
{
    int copy             = fcntl(of.context->cmd_fd, F_DUPFD_CLOEXEC, 0);
    ibv_context *context = verbs().import_device(copy);
    if (context == nullptr) {
        close(copy);
    }
    return context;
}

} // namespace

BOOST_AUTO_TEST_SUITE(import)

BOOST_AUTO_TEST_CASE(imported_objects_are_the_original_ones)
{
    const verbs_api &v = verbs();
    connected pair;
    ibv_context *context = import_copy(pair.self);
    BOOST_REQUIRE(context != nullptr);
    BOOST_TEST(context->device == pair.self.context->device);
    ibv_pd *pd = v.import_pd(context, pair.self.pd->handle);
    BOOST_REQUIRE(pd != nullptr);
    ibv_mr *mr = v.import_mr(pd, pair.self.mr->handle);
    BOOST_REQUIRE(mr != nullptr);
    BOOST_TEST(mr->lkey == pair.self.mr->lkey);
    BOOST_TEST(mr->rkey == pair.self.mr->rkey);
    BOOST_TEST(mr->length == buffer_bytes);

    // A queue pair of the imported domain uses the region of the original one.
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = pair.self.cq;
    attr.cap                    = {4, 4, 1, 1, 0};
    attr.qp_type                = IBV_QPT_RC;
    ibv_qp *first               = pair.self.qp;
    pair.self.qp                = v.create_qp(pd, &attr);
    BOOST_REQUIRE(pair.self.qp != nullptr);
    servant other;
    BOOST_REQUIRE_EQUAL(pair.self.connect(other.where()), 0);
    BOOST_REQUIRE_EQUAL(other.connect(pair.self.own_address()), 0);
    pair.self.word(0) = 99;
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, other.where(), 8) == IBV_WC_SUCCESS);
    BOOST_TEST(other.word(0) == 99u);
    BOOST_TEST(v.destroy_qp(pair.self.qp) == 0);
    pair.self.qp = first;

    // Given up by name, the objects stay.
    v.unimport_mr(mr);
    v.unimport_pd(pd);
    BOOST_TEST(v.close_device(context) == 0);
    BOOST_TEST(pair.rdma(IBV_WR_RDMA_WRITE, pair.other.where(), 8) == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(either_name_ends_the_object)
{
    const verbs_api &v = verbs();
    endpoint self;
    ibv_context *context = import_copy(self);
    BOOST_REQUIRE(context != nullptr);
    ibv_pd *pd = v.alloc_pd(self.context);
    ibv_mr *mr = v.reg_mr(pd, self.buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
    BOOST_REQUIRE(mr != nullptr);
    ibv_pd *other_pd = v.import_pd(context, pd->handle);
    BOOST_REQUIRE(other_pd != nullptr);
    ibv_mr *other_mr = v.import_mr(other_pd, mr->handle);
    BOOST_REQUIRE(other_mr != nullptr);
    BOOST_TEST(v.dealloc_pd(other_pd) == EBUSY); // the region is in it
    BOOST_TEST(v.dereg_mr(other_mr) == 0);
    BOOST_TEST(v.dereg_mr(mr) == EINVAL); // gone
    v.unimport_mr(mr);
    BOOST_TEST(v.dealloc_pd(other_pd) == 0);
    BOOST_TEST(v.dealloc_pd(pd) == EINVAL);
    v.unimport_pd(pd);
    BOOST_TEST(v.close_device(context) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_not_there_cannot_be_imported)
{
    const verbs_api &v = verbs();
    endpoint self;
    errno = 0;
    BOOST_TEST(v.import_pd(self.context, 0xffffffff) == nullptr);
    BOOST_TEST(errno == EINVAL);
    errno = 0;
    BOOST_TEST(v.import_mr(self.pd, 0xffffffff) == nullptr);
    BOOST_TEST(errno == EINVAL);
    // A region of another domain.
    endpoint stranger;
    BOOST_TEST(v.import_mr(self.pd, stranger.mr->handle) == nullptr);
}

BOOST_AUTO_TEST_CASE(device_of_another_process_is_not_imported)
{
    endpoint self;
    pid_t pid = fork();
    if (pid == 0) {
        // A device of its own, and the parent's descriptor.
        endpoint own;
        errno         = 0;
        bool refused  = (import_copy(self) == nullptr) && (errno == EOPNOTSUPP);
        bool accepted = import_copy(own) != nullptr;
        _exit((refused && accepted) ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()
