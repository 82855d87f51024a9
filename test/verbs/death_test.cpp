// SPDX-License-Identifier: BSD-3-Clause
//
// What is and what is not a death, and who hears of it.
#include <boost/test/unit_test.hpp>

#include "abandon.hpp"
#include "connected.hpp"
#include "port_view.hpp"
#include "site.hpp"
#include "softrdma/registry.h"

#include <chrono>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace softtest;

namespace {

constexpr uint32_t slot_shift = 14; // of the process, in the number of its queue pairs

// A child with its end of a socket; it is killed in the end.
class child {
public:
    template<class F>
    explicit child(F body)
    {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            fatal("socketpair");
        }
        pid = fork();
        if (pid == 0) {
            close(ends[0]);
            body(ends[1]);
            _exit(0);
        }
        close(ends[1]);
        socket = ends[0];
    }

    ~child()
    {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        close(socket);
    }

    pid_t pid;
    int socket;
};

// Of this process.
bool main_thread_ended()
{
    std::ifstream status("/proc/self/stat");
    std::string text;
    std::getline(status, text);
    size_t end = text.rfind(')');
    return (end != std::string::npos) && (text[end + 2] == 'Z');
}

// Descriptors and mappings of this process.
size_t count_open()
{
    using std::filesystem::directory_iterator;
    size_t count = static_cast<size_t>(
            std::distance(directory_iterator("/proc/self/fd"), directory_iterator()));
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        count += line.find("/memfd:softrdma") != std::string::npos;
    }
    return count;
}

// A message of each to a servant of its own that sleeps; all servants live at the same time, and are killed.
void outlive_servants(std::deque<endpoint> &survivors)
{
    std::deque<servant> others(survivors.size());
    for (size_t i = 0; i < survivors.size(); ++i) {
        BOOST_REQUIRE_EQUAL(survivors[i].connect(others[i].where()), 0);
        BOOST_REQUIRE_EQUAL(others[i].connect(survivors[i].own_address()), 0);
        BOOST_REQUIRE_EQUAL(others[i].post_receive(64), 0);
        others[i].arm(false);
        BOOST_REQUIRE_EQUAL(survivors[i].send(8), 0);
        BOOST_TEST(survivors[i].wait_status() == IBV_WC_SUCCESS);
        BOOST_TEST(others[i].wait_event());
    }
    for (servant &other : others) {
        other.kill();
    }
}

uint32_t slot_of(uint32_t queue_pair)
{
    return queue_pair >> slot_shift;
}

} // namespace

BOOST_AUTO_TEST_SUITE(deaths)

BOOST_AUTO_TEST_CASE(process_whose_main_thread_ended_is_alive)
{
    child first([](int socket) {
        static endpoint self;
        std::thread([socket] {
            while (!main_thread_ended()) {
                std::this_thread::yield();
            }
            put(socket, self.qp->qp_num);
            pause();
        }).detach();
        syscall(SYS_exit, 0); // of this thread, without unwinding
    });
    uint32_t taken = slot_of(get<uint32_t>(first.socket));
    child second([](int socket) {
        endpoint self;
        put(socket, self.qp->qp_num);
        pause();
    });
    BOOST_TEST(slot_of(get<uint32_t>(second.socket)) != taken);
}

BOOST_AUTO_TEST_CASE(who_cannot_look_takes_nobody_for_dead)
{
    rlimit before{}, none{};
    BOOST_REQUIRE_EQUAL(getrlimit(RLIMIT_NOFILE, &before), 0);
    none.rlim_max = before.rlim_max;
    BOOST_REQUIRE_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    uint64_t started = softrdma::process_start_time(getpid());
    BOOST_REQUIRE_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
    BOOST_TEST(started == softrdma::unknown_start);
    BOOST_TEST(softrdma::process_start_time(getpid()) < softrdma::unknown_start);
    BOOST_TEST(softrdma::process_start_time(getpid()) != 0u);
    pid_t gone = fork();
    if (gone == 0) {
        _exit(0);
    }
    siginfo_t info;
    BOOST_TEST(waitid(P_PID, static_cast<id_t>(gone), &info, WEXITED | WNOWAIT) == 0);
    BOOST_TEST(softrdma::process_start_time(gone) == 0u); // a zombie
    BOOST_TEST(waitpid(gone, nullptr, 0) == gone);
    BOOST_TEST(softrdma::process_start_time(gone) == 0u);
}

BOOST_AUTO_TEST_CASE(peer_beyond_the_last_descriptor_is_named)
{
    if (!where_we_are().soft) {
        return;
    }
    child lacking([](int socket) {
        endpoint self;
        servant other;
        if ((self.connect(other.where()) != 0) ||
            (other.connect(self.own_address()) != 0)) {
            return;
        }
        dup2(socket, STDERR_FILENO);
        rlimit limit{};
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = 0;
        setrlimit(RLIMIT_NOFILE, &limit);
        dprintf(socket, "%d\n", self.send(8) + self.wait_status() + self.wait_status(0));
    });
    shutdown(lacking.socket, SHUT_WR);
    std::string said;
    char next;
    while (read(lacking.socket, &next, 1) == 1) {
        said += next;
    }
    size_t first = said.find("cannot be reached: Too many open files (ulimit -n is 0)");
    BOOST_TEST(first != std::string::npos, said);
    BOOST_TEST(said.find("cannot be reached", first + 10) == std::string::npos, said);
    BOOST_TEST(said.ends_with("11\n"), said); // IBV_WC_RETRY_EXC_ERR, and nothing else
}

BOOST_AUTO_TEST_CASE(the_dead_leave_nothing_open,
                     *boost::unit_test::precondition(on_software_device))
{
    std::deque<endpoint> first(1), others(4);
    outlive_servants(first);
    const size_t before = count_open();
    outlive_servants(others);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (count_open() > before && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
    }
    BOOST_TEST(count_open() <= before);
}

BOOST_AUTO_TEST_CASE(waking_a_dead_peer_is_no_signal)
{
    if (!where_we_are().soft || !stepped_process::allowed()) {
        BOOST_TEST_MESSAGE("not the software device, or ptrace is not allowed here");
        return;
    }
    // A survivor that cannot hear of the death, because its service thread is held: the peer's end of the
    // pipe is closed, but it does not know.
    child survivor([](int socket) {
        signal(SIGPIPE, SIG_DFL);
        options wanted;
        endpoint self(wanted);
        servant other(wanted);
        bool ready = (self.connect(other.where()) == 0) &&
                     (other.connect(self.own_address()) == 0) &&
                     (other.post_receive(64) == 0) && (other.post_receive(64) == 0);
        other.arm(false);
        ready = ready && (self.send(8) == 0) && (self.wait_status() == IBV_WC_SUCCESS) &&
                other.wait_event();
        other.wait();
        other.arm(false);
        put(socket, ready);
        get<bool>(socket); // the thread is held
        other.kill();
        self.send(8);
        put(socket, self.wait_status());
    });
    BOOST_REQUIRE(get<bool>(survivor.socket));
    held_thread service(survivor.pid, "softrdma");
    put(survivor.socket, true);
    int status = -1;
    BOOST_TEST(try_get(survivor.socket, status));
    BOOST_TEST(status == IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_SUITE_END()
