// SPDX-License-Identifier: BSD-3-Clause
//
// Limits of memory groups: read from files that are made for it, and met for real in a
// group of this machine, where the kernel kills who takes too much.
#include "memory/heap.hpp"
#include "memory/memory_group.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

using namespace be::memory;
namespace fs = std::filesystem;

namespace {

constexpr size_t mebi = size_t{1} << 20;

// A folder with files that look like the kernel's.
class Files {
public:
    Files()
    {
        top = fs::temp_directory_path() / "be-groups.XXXXXX";
        BOOST_REQUIRE(mkdtemp(top.data()) != nullptr);
    }

    ~Files()
    {
        fs::remove_all(top);
    }

    void write(const std::string &path, const std::string &text) const
    {
        fs::create_directories(fs::path(top + path).parent_path());
        std::ofstream(top + path) << text;
    }

    void first(const std::string &group, size_t limit, size_t usage, size_t files) const
    {
        write(group + "/memory.limit_in_bytes", std::to_string(limit));
        write(group + "/memory.usage_in_bytes", std::to_string(usage));
        write(group + "/memory.stat",
              "cache 1\ntotal_inactive_file " + std::to_string(files) + "\n");
    }

    void second(const std::string &group, const std::string &limit, size_t usage) const
    {
        write(group + "/memory.max", limit);
        write(group + "/memory.current", std::to_string(usage));
        write(group + "/memory.stat", "anon 1\ninactive_file 0\n");
    }

    void mounted(const std::string &root, const std::string &rest) const
    {
        write("/proc/mountinfo", "22 1 0:20 / / rw - ext4 /dev/root rw\n"
                                 "31 22 0:27 " +
                                         root + " " + top + "/groups rw shared:9 - " +
                                         rest + "\n");
    }

    GroupRoom room() const
    {
        return memory_group_room(top + "/proc");
    }

    std::string top;
};

// A group of this machine with that limit; `folder` is empty where none can be made.
class RealGroup {
public:
    explicit RealGroup(size_t limit)
    {
        const std::string name = "/be-memory-test-" + std::to_string(getpid());
        for (const auto &[top, file] :
             {std::pair{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
              std::pair{"/sys/fs/cgroup", "memory.max"}}) {
            std::error_code error;
            const std::string made = top + name;
            if (folder.empty() && fs::is_directory(top) &&
                fs::create_directory(made, error)) {
                std::ofstream out(made + "/" + file);
                if ((out << limit) && out.flush()) {
                    folder = made;
                } else {
                    rmdir(made.c_str());
                }
            }
        }
    }

    ~RealGroup()
    {
        if (!folder.empty()) {
            rmdir(folder.c_str());
        }
    }

    std::string folder;
};

// As a device does: the whole region is there afterwards.
Registration pin(void *address, size_t length)
{
    memset(address, 1, length);
    return {};
}

// In a process of the group: takes memory until there is none, and writes how much, and
// why there is no more.
[[noreturn]] void take_all(const std::string &group, int out)
{
    HeapConfig config;
    config.arena.region.huge_pages = false;
    std::string why                = "cannot enter the group";
    size_t taken                   = 0;
    std::ofstream procs(group + "/cgroup.procs");
    if ((procs << getpid()) && procs.flush()) {
        Heap heap(config, {pin, [](const Registration &) {}});
        while (taken < 1024 * mebi) {
            void *block = heap.allocate(mebi, 64, 0, &why);
            if (block == nullptr) {
                break;
            }
            taken += mebi;
        }
    }
    dprintf(out, "%zu %s", taken, why.c_str());
    _exit(0);
}

} // namespace

BOOST_AUTO_TEST_SUITE(memory_group)

BOOST_AUTO_TEST_CASE(without_groups_there_is_no_limit)
{
    const Files files;
    BOOST_TEST(files.room().left == SIZE_MAX);
    files.write("/proc/cgroup", "9:cpu:/\nnonsense\n0::/a\n");
    BOOST_TEST(files.room().left == SIZE_MAX);
    BOOST_TEST(beyond_group(SIZE_MAX, files.room()).empty());
}

BOOST_AUTO_TEST_CASE(the_tightest_group_counts)
{
    const Files files;
    files.mounted("/", "cgroup cgroup rw,cpu,memory");
    files.write("/proc/cgroup", "5:cpuset:/else\n4:cpu,memory:/outer/inner\n0::/\n");
    files.first("/groups", SIZE_MAX >> 1, 900 * mebi, 0);
    files.first("/groups/outer", 200 * mebi, 190 * mebi, 30 * mebi);
    files.first("/groups/outer/inner", 100 * mebi, 50 * mebi, 0);
    BOOST_TEST(files.room().left == 40 * mebi);
    BOOST_TEST(files.room().limit == 200 * mebi);
    BOOST_TEST(files.room().folder == files.top + "/groups/outer");
    files.first("/groups/outer/inner", 100 * mebi, 120 * mebi, 0); // lowered since
    BOOST_TEST(files.room().left == 0u);
}

BOOST_AUTO_TEST_CASE(second_version)
{
    const Files files;
    files.mounted("/", "cgroup2 cgroup2 rw,nsdelegate");
    files.write("/proc/cgroup", "0::/a/b\n");
    files.second("/groups/a/b", "max", 5 * mebi);
    BOOST_TEST(files.room().left == SIZE_MAX);
    files.second("/groups/a", std::to_string(64 * mebi), 10 * mebi);
    BOOST_TEST(files.room().left == 54 * mebi);
}

// A container sees its own folder at the place of the whole hierarchy, and knows its group by
// the name that it has outside, or not at all.
BOOST_AUTO_TEST_CASE(containers)
{
    const Files files;
    files.first("/groups", 64 * mebi, 4 * mebi, 0);
    files.first("/groups/mine", 32 * mebi, 4 * mebi, 0);
    files.mounted("/docker/1", "cgroup cgroup rw,memory");
    files.write("/proc/cgroup", "4:memory:/docker/1/mine\n");
    BOOST_TEST(files.room().left == 28 * mebi);
    files.write("/proc/cgroup", "4:memory:/docker/1\n");
    BOOST_TEST(files.room().left == 60 * mebi);
    files.write("/proc/cgroup", "4:memory:/somewhere/else\n");
    BOOST_TEST(files.room().left == 60 * mebi);
    files.mounted("/", "cgroup cgroup rw,memory");
    files.write("/proc/cgroup", "4:memory:/../other\n");
    BOOST_TEST(files.room().left == 60 * mebi);
}

BOOST_AUTO_TEST_CASE(an_eighth_is_left_to_others)
{
    const GroupRoom room = {40 * mebi, 160 * mebi, "/groups/g"};
    BOOST_TEST(beyond_group(20 * mebi, room).empty());
    const std::string why = beyond_group(20 * mebi + 1, room);
    BOOST_TEST(why.find("/groups/g has 41943040 bytes left of its 167772160") !=
               std::string::npos);
    BOOST_TEST(beyond_group(1, {mebi, 160 * mebi, "/groups/g"}).find("of which 0 are") !=
               std::string::npos);
}

// Whoever takes all there is gets an error, and lives.
BOOST_AUTO_TEST_CASE(the_limit_of_this_machine_is_met_without_being_killed)
{
    constexpr size_t limit = 96 * mebi;
    const RealGroup group(limit);
    if (group.folder.empty()) {
        BOOST_TEST_MESSAGE("no memory group can be made here: it takes root, and a "
                           "hierarchy that is mounted for writing");
        return;
    }
    int fds[2];
    BOOST_REQUIRE(pipe(fds) == 0);
    const pid_t child = fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
        take_all(group.folder, fds[1]);
    }
    close(fds[1]);
    std::string said(4096, '\0');
    const ssize_t length = read(fds[0], said.data(), said.size());
    close(fds[0]);
    int status = 1;
    BOOST_REQUIRE(waitpid(child, &status, 0) == child);
    BOOST_TEST(WIFEXITED(status), "killed by signal " << WTERMSIG(status));
    BOOST_REQUIRE(length > 0);
    said.resize(static_cast<size_t>(length));
    const size_t taken = strtoull(said.c_str(), nullptr, 10);
    BOOST_TEST_CONTEXT(said)
    {
        BOOST_TEST(taken >= limit / 2);
        BOOST_TEST(taken < limit);
        BOOST_TEST(said.find("the memory group " + group.folder + " has") !=
                   std::string::npos);
    }
}

BOOST_AUTO_TEST_SUITE_END()
