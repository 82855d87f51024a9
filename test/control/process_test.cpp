// SPDX-License-Identifier: BSD-3-Clause
//
// Peers in other processes: killed, stopped, forked.

#include "child_process.hpp"
#include "raw_socket.hpp"
#include "recorder.hpp"
#include "samples.hpp"

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/wait.h>

#include <stdexcept>

// Defined by ThreadSanitizer's runtime alone.
extern "C" [[gnu::weak]] void __tsan_init();

using namespace be::control;
using namespace be::control::test;
using namespace std::chrono_literals;
using Kind  = Happening::Kind;
using Clock = std::chrono::steady_clock;

namespace {

// How to reach a fabric of another process.
struct Target {
    Address address;
    Identity identity;
};

// Body of a child: a fabric that accepts connections until its pipe ends.
void serve(Pipe &pipe)
{
    auto node = Node::acquire();
    auto port = node->listen("127.0.0.1");
    Recorder server(node, port);

    pipe.send(Target{port, server.identity()});
    pipe.wait_for_end();
}

void require(bool condition, const char *what)
{
    if (!condition) {
        throw std::runtime_error(what);
    }
}

// Connects `client` to a fabric in a child process.
void establish(Recorder &client, const Target &target)
{
    client.connect(target.address, target.identity);
    client.next(Kind::accept);
}

// ThreadSanitizer loses track of threads that the child of a multi-threaded process
// creates, and ends it.
boost::test_tools::assertion_result
threads_may_follow_a_fork(boost::unit_test::test_unit_id)
{
    boost::test_tools::assertion_result result(__tsan_init == nullptr);
    result.message() << "not possible under ThreadSanitizer";
    return result;
}

std::int64_t milliseconds_since(Clock::time_point start)
{
    return (Clock::now() - start) / 1ms;
}

} // namespace

BOOST_AUTO_TEST_SUITE(process)

BOOST_AUTO_TEST_CASE(killed_peer_is_noticed_at_once)
{
    ChildProcess child(serve);
    auto target = child.pipe().receive<Target>();
    auto node   = Node::acquire();
    Recorder client(node, node->listen("127.0.0.1"));
    establish(client, target);

    auto start = Clock::now();
    child.signal(SIGKILL);
    BOOST_CHECK(client.next(Kind::closed).reason == Reason::closed_by_peer);
    auto time = milliseconds_since(start);
    BOOST_TEST_MESSAGE("noticed after " << time << " ms");
    BOOST_TEST(time < 5000); // far below peer_timeout; milliseconds when idle

    // And a new attempt finds nobody.
    client.connect(target.address, target.identity);
    BOOST_CHECK(client.next(Kind::closed).reason == Reason::unreachable);
    BOOST_TEST(WIFSIGNALED(child.wait()));
}

// A responder whose channel was cut asks whether the initiator lives.
BOOST_AUTO_TEST_CASE(killed_peer_is_told_from_a_cut)
{
    ChildProcess child(serve);
    auto target = child.pipe().receive<Target>();
    auto node   = Node::acquire();
    Recorder client(node, node->listen("127.0.0.1"));
    auto probe = [&] {
        node->probe(client.identity().fabric_id, target.address,
                    target.identity.fabric_id);
        return client.next(Kind::probed).probe;
    };

    establish(client, target);
    BOOST_CHECK(probe() == ProbeResult::alive);
    auto start = Clock::now();
    child.signal(SIGKILL);
    BOOST_CHECK(client.next(Kind::closed).reason == Reason::closed_by_peer);
    BOOST_CHECK(probe() == ProbeResult::gone);
    auto time = milliseconds_since(start);
    BOOST_TEST_MESSAGE("known to be gone after " << time << " ms");
    BOOST_TEST(time < 1500); // before probe_timeout; milliseconds when idle
    BOOST_TEST(WIFSIGNALED(child.wait()));
}

BOOST_AUTO_TEST_CASE(ending_peer_says_goodbye)
{
    ChildProcess child(serve);
    auto target = child.pipe().receive<Target>();
    auto node   = Node::acquire();
    Recorder client(node, node->listen("127.0.0.1"));
    establish(client, target);

    BOOST_TEST(child.wait() == 0);
    BOOST_CHECK(client.next(Kind::closed).reason == Reason::goodbye);
}

BOOST_AUTO_TEST_CASE(stopped_peer_lives_until_peer_timeout)
{
    ChildProcess child(serve);
    auto target = child.pipe().receive<Target>();
    auto node   = Node::acquire();
    Settings settings;
    settings.peer_timeout = 600ms;
    Recorder client(node, node->listen("127.0.0.1"), settings);
    establish(client, target);

    child.signal(SIGSTOP);
    auto start = Clock::now();
    auto end   = client.next(Kind::closed);
    BOOST_CHECK(end.reason == Reason::timeout);
    // Its last sign of life was no later than the stop, and no Ping old enough to
    // be answered before it was.
    BOOST_TEST(milliseconds_since(start) >= 600 - 200 - 50);

    // Connecting to it is given the same time.
    start = Clock::now();
    client.connect(target.address, target.identity);
    BOOST_CHECK(client.next(Kind::closed).reason == Reason::timeout);
    BOOST_TEST(milliseconds_since(start) >= 600 - 50);

    child.signal(SIGCONT);
    BOOST_TEST(child.wait() == 0);
}

BOOST_AUTO_TEST_CASE(stopped_peer_that_goes_on_is_kept)
{
    ChildProcess child(serve);
    auto target = child.pipe().receive<Target>();
    auto node   = Node::acquire();
    Recorder client(node, node->listen("127.0.0.1"));
    establish(client, target);

    child.signal(SIGSTOP);
    BOOST_TEST(child.pipe().receive_nothing_for(300ms));
    child.signal(SIGCONT);
    BOOST_TEST(client.is_quiet());
    BOOST_TEST(child.wait() == 0);
    BOOST_CHECK(client.next(Kind::closed).reason == Reason::goodbye);
}

BOOST_AUTO_TEST_CASE(restarted_peer_is_a_stranger)
{
    auto node = Node::acquire();
    Recorder client(node, node->listen("127.0.0.1"));
    Target old;
    {
        Recorder first(node, node->listen("127.0.0.1"));
        old = {node->listen("127.0.0.1"), first.identity()};
    }
    // The port has been taken over by another fabric.
    Recorder second(node, node->listen("127.0.0.1"));
    client.connect(old.address, old.identity);
    BOOST_CHECK(client.next(Kind::closed).reason == Reason::unknown_fabric);
    BOOST_TEST(second.is_quiet());
}

BOOST_AUTO_TEST_CASE(child_starts_afresh_and_leaves_the_parents_connections_alone,
                     *boost::unit_test::precondition(threads_may_follow_a_fork))
{
    auto node = Node::acquire();
    auto port = node->listen("127.0.0.1");
    auto a    = std::make_unique<Recorder>(node, port);
    auto b    = std::make_unique<Recorder>(node, port);
    auto id   = a->connect(port, b->identity());
    b->next(Kind::connect);
    a->next(Kind::accept);
    b->next(Kind::ready);

    ChildProcess child([&](Pipe &pipe) {
        bool refused = false;
        try {
            node->listen("127.0.0.1");
        } catch (const std::system_error &error) {
            refused = (error.code().value() == ECHILD);
        }
        require(refused, "the inherited node still listens");

        // All that uses the inherited node goes, and the node with it.
        auto target = b->identity();
        node->close(id);
        a.reset();
        b.reset();
        std::weak_ptr<Node> inherited = node;
        node.reset();
        require(inherited.expired(), "the inherited node is still in use");

        auto fresh = Node::acquire();
        auto own   = fresh->listen("127.0.0.1");
        require(own.port != port.port, "the child listens on the parent's port");
        Recorder mine(fresh, own);
        mine.connect(port, target);
        mine.next(Kind::accept);
        pipe.send('c');
        pipe.wait_for_end();
    });

    child.pipe().receive<char>();
    auto from_child = b->next(Kind::connect);
    b->next(Kind::ready);
    BOOST_TEST(child.wait() == 0);
    auto end = b->next(Kind::closed);
    BOOST_TEST(end.id == from_child.id);
    BOOST_CHECK(end.reason == Reason::goodbye);

    // The parent's own connection has not noticed anything, and still works.
    BOOST_TEST(a->is_quiet());
    node->close(id);
    BOOST_CHECK(a->next(Kind::closed).reason == Reason::local);
    BOOST_CHECK(b->next(Kind::closed).reason == Reason::goodbye);
}

// The child's copies of the sockets do not keep the parent's connections up.
BOOST_AUTO_TEST_CASE(death_of_a_parent_is_noticed_while_its_child_lives)
{
    ChildProcess parent([](Pipe &pipe) {
        auto node = Node::acquire();
        auto port = node->listen("127.0.0.1");
        Recorder server(node, port);
        pipe.send(Target{port, server.identity()});
        server.next(Kind::connect);
        server.next(Kind::ready);

        ChildProcess grandchild([&](Pipe &own) {
            own.send('g');
            // Ends with the outermost process, which holds the other end.
            pipe.wait_for_end();
        });
        grandchild.pipe().receive<char>();
        pipe.send('f');
        pipe.wait_for_end();
    });

    auto target = parent.pipe().receive<Target>();
    auto node   = Node::acquire();
    Recorder client(node, node->listen("127.0.0.1"));
    establish(client, target);
    parent.pipe().receive<char>(); // the grandchild lives

    parent.signal(SIGKILL);
    BOOST_CHECK(client.next(Kind::closed).reason == Reason::closed_by_peer);
    BOOST_TEST(WIFSIGNALED(parent.wait()));
}

BOOST_AUTO_TEST_SUITE_END()
