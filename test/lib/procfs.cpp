// SPDX-License-Identifier: BSD-3-Clause
#include "procfs.hpp"

#include <arpa/inet.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

namespace be::test {

namespace {

std::filesystem::path proc(pid_t pid)
{
    return "/proc/" + std::to_string(pid);
}

/* A field of /proc/PID/status, without its unit. */
std::size_t status_field(pid_t pid, const std::string &name)
{
    std::ifstream file(proc(pid) / "status");
    std::string line;
    while (std::getline(file, line)) {
        if (line.rfind(name + ":", 0) == 0) {
            return std::stoull(line.substr(name.size() + 1));
        }
    }
    throw std::runtime_error("no " + name + " in " + (proc(pid) / "status").string());
}

} // namespace

std::vector<std::string> descriptors(pid_t pid)
{
    std::vector<std::string> targets;
    for (const auto &entry : std::filesystem::directory_iterator(proc(pid) / "fd")) {
        std::error_code gone; /* closed between the listing and now */
        const auto target = std::filesystem::read_symlink(entry.path(), gone);
        if (!gone) {
            targets.push_back(target.string());
        }
    }
    return targets;
}

Footprint footprint(pid_t pid)
{
    constexpr std::size_t KIB = 1024;
    return {descriptors(pid).size(), status_field(pid, "Threads"),
            (status_field(pid, "RssAnon") + status_field(pid, "RssShmem")) * KIB};
}

std::vector<Listening> listening_sockets(pid_t pid)
{
    constexpr const char *LISTEN = "0A";
    const auto targets           = descriptors(pid);
    const std::set<std::string> sockets(targets.begin(), targets.end());
    std::vector<Listening> listening;
    std::ifstream file("/proc/net/tcp");
    std::string line;
    std::getline(file, line); /* headings */
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout,
                inode;
        fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >>
                uid >> timeout >> inode;
        if (state == LISTEN && sockets.count("socket:[" + inode + "]") != 0) {
            /* The kernel prints the address as it lies in memory, the port as a number. */
            const auto colon = local.find(':');
            listening.push_back(
                    {ntohl(static_cast<std::uint32_t>(std::stoul(local, nullptr, 16))),
                     static_cast<std::uint16_t>(
                             std::stoul(local.substr(colon + 1), nullptr, 16))});
        }
    }
    return listening;
}

} // namespace be::test
