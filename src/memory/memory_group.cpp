// SPDX-License-Identifier: BSD-3-Clause
#include "memory/memory_group.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace be::memory {
namespace {

constexpr size_t kept_share = 8; // 1/8 of the limit

// The names that a version of the interface has for it.
struct Files {
    const char *limit;
    const char *usage;
    const char *reclaimable; // a line of memory.stat
};
constexpr Files version1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                            "total_inactive_file"};
constexpr Files version2 = {"memory.max", "memory.current", "inactive_file"};

// Where a hierarchy is mounted, and which of its folders is there.
struct Mount {
    std::string root;
    std::string point;
};

bool listed(const std::string &list, const std::string &item)
{
    return ("," + list + ",").find("," + item + ",") != std::string::npos;
}

// Fields of mountinfo: id, parent, device, root, mount point, options, any number of
// others, "-", type, source, options of the type.
std::optional<Mount> find_mount(const std::string &proc, bool second)
{
    std::ifstream file(proc + "/mountinfo");
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string skipped, type, options;
        Mount mount;
        fields >> skipped >> skipped >> skipped >> mount.root >> mount.point;
        while ((fields >> skipped) && (skipped != "-")) {
        }
        fields >> type >> skipped >> options;
        if (second ? (type == "cgroup2") :
                     ((type == "cgroup") && listed(options, "memory"))) {
            return mount;
        }
    }
    return std::nullopt;
}

// Of the first number of a file; none: no such file, or no number ("max").
std::optional<size_t> number_in(const std::string &path)
{
    std::ifstream file(path);
    size_t value;
    return (file >> value) ? std::optional(value) : std::nullopt;
}

size_t stat_value(const std::string &path, const std::string &name)
{
    std::ifstream file(path);
    std::string key;
    size_t value;
    while (file >> key >> value) {
        if (key == name) {
            return value;
        }
    }
    return 0;
}

void look_at(const std::string &folder, const Files &files, GroupRoom &least)
{
    const auto limit = number_in(folder + "/" + files.limit);
    const auto usage = number_in(folder + "/" + files.usage);
    if (!limit || !usage) {
        return;
    }
    const size_t files_held = stat_value(folder + "/memory.stat", files.reclaimable);
    const size_t used       = *usage - std::min(*usage, files_held);
    const size_t left       = *limit - std::min(*limit, used);
    if (left < least.left) {
        least = {left, *limit, folder};
    }
}

// From the group up to where the hierarchy is mounted.
void look_upwards(const Mount &mount, std::string group, const Files &files,
                  GroupRoom &least)
{
    // A container sees a part of the hierarchy, or a group outside of what it sees.
    if ((mount.root != "/") && group.starts_with(mount.root)) {
        group.erase(0, mount.root.size());
    } else if ((mount.root != "/") || group.starts_with("/..")) {
        group.clear();
    }
    while (group.size() > 1) {
        look_at(mount.point + group, files, least);
        group.erase(group.rfind('/'));
    }
    look_at(mount.point, files, least);
}

} // namespace

GroupRoom memory_group_room(const std::string &proc)
{
    GroupRoom least;
    std::ifstream file(proc + "/cgroup");
    std::string line;
    while (std::getline(file, line)) { // number:controllers:group
        const auto first  = line.find(':');
        const auto second = line.find(':', first + 1);
        if (second == std::string::npos) {
            continue;
        }
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (!controllers.empty() && !listed(controllers, "memory")) {
            continue;
        }
        if (const auto mount = find_mount(proc, controllers.empty())) {
            look_upwards(*mount, line.substr(second + 1),
                         controllers.empty() ? version2 : version1, least);
        }
    }
    return least;
}

std::string beyond_group(size_t length, const GroupRoom &room)
{
    if (room.left == SIZE_MAX) {
        return {};
    }
    const size_t kept  = room.limit / kept_share;
    const size_t given = room.left - std::min(room.left, kept);
    if (length <= given) {
        return {};
    }
    return "the memory group " + room.folder + " has " + std::to_string(room.left) +
           " bytes left of its " + std::to_string(room.limit) + ", of which " +
           std::to_string(given) + " are for registered memory";
}

} // namespace be::memory
