// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/sysfs.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

namespace be::verbs::sysfs {
namespace {

namespace fs = std::filesystem;

std::string read_line(const fs::path &file)
{
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

std::optional<int> read_number(const fs::path &file)
{
    const std::string text  = read_line(file);
    int value               = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(),
                                              value);
    if ((error != std::errc()) || (end != text.data() + text.size())) {
        return std::nullopt;
    }
    return value;
}

// Names in `directory`, sorted.
std::vector<std::string> list(const fs::path &directory)
{
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && (entry != end);
         entry.increment(error)) {
        names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

fs::path port_path(const std::string &root, const std::string &device, uint8_t port)
{
    return fs::path(root) / device / "ports" / std::to_string(port);
}

} // namespace

std::vector<std::string> devices(const std::string &root)
{
    return list(root);
}

std::string netdev(const std::string &root, const std::string &device, uint8_t port)
{
    const std::string of_gid = read_line(port_path(root, device, port) /
                                         "gid_attrs/ndevs/0");
    if (!of_gid.empty()) {
        return of_gid;
    }

    // Interfaces of a device with several ports tell which they belong to: dev_port
    // counts from 0.
    const fs::path interfaces            = fs::path(root) / device / "device/net";
    const std::vector<std::string> names = list(interfaces);
    for (const std::string &name : names) {
        if (read_number(interfaces / name / "dev_port") == port - 1) {
            return name;
        }
    }
    return {};
}

int numa_node(const std::string &root, const std::string &device)
{
    return read_number(fs::path(root) / device / "device/numa_node").value_or(-1);
}

std::string
gid_type(const std::string &root, const std::string &device, uint8_t port, int index)
{
    return read_line(port_path(root, device, port) / "gid_attrs/types" /
                     std::to_string(index));
}

} // namespace be::verbs::sysfs
