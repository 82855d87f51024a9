// SPDX-License-Identifier: BSD-3-Clause
//
// crash_test [--workers N] [--pairs N] [--kills N] [--seed N] [--messages N]
//
// N processes, all connected to all others by some queue pairs each, work without a pause. One of them is killed
// at a random moment and replaced by a new one, as often as asked; in between, processes that only open the
// device are killed while they do so. In the end every connection must have brought that many messages since
// its process was started. Then the survivors say whether anything happened that must not, and how many
// descriptors and mappings they hold. No wait is without an end: one that is too long says where all processes are.
#include "worker.hpp"

#include "../wire.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace crash;
using softtest::get;
using softtest::put;
using softtest::try_get;

namespace {

constexpr int patience_ms = 20000;

struct settings {
    uint32_t workers  = 4;
    uint32_t pairs    = 1;
    uint32_t kills    = 200;
    uint32_t seed     = 1;
    uint32_t messages = 20;
};

// Where the threads of a process are: name, state, processor time (ticks), what they sleep in.
void describe(pid_t pid)
{
    std::error_code gone;
    std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
    for (std::filesystem::directory_iterator task(tasks, gone), end;
         !gone && (task != end); task.increment(gone)) {
        std::string stat, sleep;
        std::getline(std::ifstream(task->path() / "stat"), stat);
        std::getline(std::ifstream(task->path() / "wchan"), sleep);
        printf("  process %d: %s, in %s\n", pid, stat.substr(0, 120).c_str(),
               sleep.c_str());
    }
}

struct member {
    pid_t pid  = -1;
    int socket = -1;
    place where{};
    std::vector<uint32_t> numbers; // of its queue pairs, `pairs` for each worker
};

class group {
public:
    explicit group(const settings &wanted) : m_wanted(wanted), m_random(wanted.seed)
    {
    }

    ~group()
    {
        if (m_opener > 0) {
            finish(m_opener);
        }
    }

    void start()
    {
        m_members.resize(m_wanted.workers);
        for (uint32_t i = 0; i < m_wanted.workers; ++i) {
            spawn(i);
        }
        for (uint32_t i = 0; i < m_wanted.workers; ++i) {
            for (uint32_t j = 0; j < i; ++j) {
                connect(i, j);
            }
        }
        for (uint32_t i = 0; i < m_wanted.workers; ++i) {
            tell(i, {verb::go, everybody, {}});
        }
        for (uint32_t i = 0; i < m_wanted.workers; ++i) {
            answer_of(i);
        }
    }

    void kill_and_replace_one()
    {
        auto begin = std::chrono::steady_clock::now();
        replace_one();
        m_longest = std::max(m_longest, std::chrono::steady_clock::now() - begin);
    }

    void replace_one()
    {
        uint32_t victim = any(m_wanted.workers);
        disturb();
        usleep(any(2000)); // the moment is random
        finish(m_members[victim].pid);
        close(m_members[victim].socket);
        for (uint32_t i = 0; i < m_wanted.workers; ++i) {
            if (i != victim) {
                tell(i, {verb::bury, victim, {}});
            }
        }
        for (uint32_t i = 0; i < m_wanted.workers; ++i) {
            if (i != victim) {
                answer_of(i);
            }
        }
        spawn(victim);
        for (uint32_t i = 0; i < m_wanted.workers; ++i) {
            if (i != victim) {
                connect(victim, i);
                go(victim, i);
            }
        }
    }

    // The number of things that are wrong.
    int conclude()
    {
        int wrong           = 0;
        uint64_t received   = 0;
        uint64_t completed  = 0;
        uint32_t most_files = 0, most_mappings = 0;
        for (uint32_t i = 0; i < m_wanted.workers; ++i) {
            answer last{};
            for (int tries = 0; tries < patience_ms / 10; ++tries) {
                tell(i, {verb::report, 0, {}});
                last = answer_of(i);
                if (last.least_received >= m_wanted.messages) {
                    break;
                }
                usleep(10000); // between two looks
            }
            if (last.least_received < m_wanted.messages) {
                printf("FAIL worker %u: a connection brought %u messages only\n", i,
                       last.least_received);
                ++wrong;
            }
            wrong += static_cast<int>(last.faults);
            received += last.received;
            completed += last.completed;
            most_files    = std::max(most_files, last.descriptors);
            most_mappings = std::max(most_mappings, last.mappings);
        }
        for (const member &each : m_members) {
            close(each.socket);
        }
        for (const member &each : m_members) {
            wait_for_end(each.pid);
        }
        // Each peer costs a pidfd, the write end of its doorbell, and a mapping; of the last dead one in each
        // place, the mapping may still be there.
        uint32_t files    = 24 + 2 * m_wanted.workers;
        uint32_t mappings = 1 + 2 * m_wanted.workers;
        printf("the longest replacement took %ld ms\n",
               std::chrono::duration_cast<std::chrono::milliseconds>(m_longest).count());
        printf("%lu requests, %lu receives; at most %u descriptors (%u allowed), %u "
               "mappings (%u allowed)\n",
               completed, received, most_files, files, most_mappings, mappings);
        wrong += (most_files > files) + (most_mappings > mappings);
        return wrong;
    }

private:
    uint32_t any(uint32_t below)
    {
        return static_cast<uint32_t>(m_random() % below);
    }

    template<class F>
    pid_t child(F body)
    {
        pid_t parent = getpid();
        pid_t pid    = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == parent) {
                body();
            }
            _exit(0);
        }
        return pid;
    }

    void spawn(uint32_t index)
    {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            softtest::fatal("socketpair");
        }
        uint32_t seed = static_cast<uint32_t>(m_random());
        member &fresh = m_members[index];
        fresh.pid     = child([&] {
            close(ends[0]);
            for (uint32_t i = 0; i < m_wanted.workers; ++i) {
                if ((i != index) && (m_members[i].socket >= 0)) {
                    close(m_members[i].socket);
                }
            }
            worker self(ends[1], index, m_wanted.workers, m_wanted.pairs, seed);
            self.run();
        });
        close(ends[1]);
        fresh.socket = ends[0];
        expect(index);
        fresh.where = get<place>(fresh.socket);
        fresh.numbers.resize(m_wanted.workers * m_wanted.pairs);
        for (uint32_t &number : fresh.numbers) {
            number = get<uint32_t>(fresh.socket);
        }
    }

    // Both get ready before either one sends.
    void connect(uint32_t a, uint32_t b)
    {
        for (auto [self, peer] : {std::pair(a, b), std::pair(b, a)}) {
            tell(self, {verb::connect, peer, m_members[peer].where});
            for (uint32_t p = 0; p < m_wanted.pairs; ++p) {
                put(m_members[self].socket,
                    m_members[peer].numbers[self * m_wanted.pairs + p]);
            }
            answer_of(self);
        }
    }

    void go(uint32_t a, uint32_t b)
    {
        for (auto [self, peer] : {std::pair(a, b), std::pair(b, a)}) {
            tell(self, {verb::go, peer, {}});
            answer_of(self);
        }
    }

    // Somebody who opens the device and is killed while doing so.
    void disturb()
    {
        if (m_opener > 0) {
            finish(m_opener);
        }
        m_opener = child([&] {
            for (const member &each : m_members) {
                close(each.socket); // their other ends must see when this process closes them
            }
            for (int i = 0; i < 20; ++i) {
                ibv_device **list    = softtest::verbs().get_device_list(nullptr);
                ibv_context *context = softtest::verbs().open_device(list[0]);
                ibv_pd *pd           = softtest::verbs().alloc_pd(context);
                ibv_cq *cq = softtest::verbs().create_cq(context, 16, nullptr, nullptr,
                                                         0);
                softtest::verbs().destroy_cq(cq);
                softtest::verbs().dealloc_pd(pd);
                softtest::verbs().close_device(context);
                softtest::verbs().free_device_list(list);
            }
        });
    }

    void finish(pid_t pid)
    {
        kill(pid, SIGKILL);
        wait_for_end(pid);
    }

    void wait_for_end(pid_t pid)
    {
        int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
        pollfd entry{handle, POLLIN, 0};
        if (::poll(&entry, 1, patience_ms) != 1) {
            printf("FAIL process %d does not end\n", pid);
            give_up();
        }
        close(handle);
        waitpid(pid, nullptr, 0);
    }

    [[noreturn]] void give_up()
    {
        for (const member &each : m_members) {
            describe(each.pid);
        }
        fflush(stdout);
        abort();
    }

    void tell(uint32_t index, const command &what)
    {
        put(m_members[index].socket, what);
    }

    // Gives up on a worker that does not answer.
    void expect(uint32_t index)
    {
        pollfd entry{m_members[index].socket, POLLIN, 0};
        if (::poll(&entry, 1, patience_ms) != 1) {
            printf("FAIL worker %u (process %d) does not answer\n", index,
                   m_members[index].pid);
            give_up();
        }
    }

    answer answer_of(uint32_t index)
    {
        expect(index);
        answer result;
        if (!try_get(m_members[index].socket, result)) {
            printf("FAIL worker %u (process %d) is gone\n", index, m_members[index].pid);
            give_up();
        }
        return result;
    }

    const settings m_wanted;
    std::minstd_rand m_random;
    std::vector<member> m_members;
    pid_t m_opener = -1;
    std::chrono::steady_clock::duration m_longest{};
};

settings read(int argc, char **argv)
{
    settings result;
    struct {
        const char *name;
        uint32_t *value;
    } known[] = {{"--workers", &result.workers},
                 {"--pairs", &result.pairs},
                 {"--kills", &result.kills},
                 {"--seed", &result.seed},
                 {"--messages", &result.messages}};
    for (int i = 1; i < argc; i += 2) {
        bool found = false;
        for (auto &each : known) {
            if ((i + 1 < argc) && (strcmp(argv[i], each.name) == 0)) {
                *each.value = static_cast<uint32_t>(strtoul(argv[i + 1], nullptr, 10));
                found       = true;
            }
        }
        if (!found) {
            fprintf(stderr,
                    "crash_test: '%s': expected --workers, --pairs, --kills, --seed or "
                    "--messages and a number\n",
                    argv[i]);
            exit(2);
        }
    }
    return result;
}

} // namespace

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    setenv("SOFTRDMA_DOMAIN", "crash", 0);
    setenv("SOFTRDMA_ONLY", "yes", 1);
    settings wanted = read(argc, argv);
    group all(wanted);
    all.start();
    for (uint32_t i = 0; i < wanted.kills; ++i) {
        all.kill_and_replace_one();
    }
    return (all.conclude() == 0) ? 0 : 1;
}
