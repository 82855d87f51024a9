// SPDX-License-Identifier: BSD-3-Clause
#include "softrdma/cli/report.h"

#include "softrdma/counters.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

namespace softrdma::cli {
namespace {

namespace fs = std::filesystem;

// Readers never see a file that is half written.
void write_file(const fs::path &path, uint64_t value)
{
    fs::path fresh = path;
    fresh += ".new";
    std::ofstream file(fresh);
    file << value << "\n";
    file.close();
    std::error_code failure;
    if (file) {
        fs::rename(fresh, path, failure);
    }
    if (!file || failure) {
        throw std::runtime_error(path.string() + ": cannot be written: " +
                                 (failure ? failure.message() : strerror(errno)));
    }
}

template<class F>
void write_port(const fs::path &device, port_shared &shape, F value)
{
    std::vector<counter_view> list = list_counters(shape);
    for (const char *folder : {"counters", "hw_counters"}) {
        fs::create_directories(device / "ports" / "1" / folder);
    }
    for (size_t i = 0; i < list.size(); ++i) {
        write_file(device / "ports" / "1" / list[i].folder / list[i].name,
                   value(i) / list[i].unit);
    }
}

} // namespace

void export_counters(domain &where, const std::string &folder)
{
    try {
        fs::path root      = folder;
        fs::path processes = root / "processes";
        fs::create_directories(processes);
        std::set<std::string> present;
        std::set<uint32_t> devices;
        for (const port_view &view : where.ports()) {
            std::string pid = std::to_string(view.owner->pid);
            present.insert(pid);
            devices.insert(view.device);
            std::vector<counter_view> list = list_counters(*view.port);
            write_port(processes / pid / device_name(view.device), *view.port,
                       [&](size_t i) { return list[i].source->value(); });
        }
        port_shared shape{};
        for (uint32_t device : devices) {
            write_port(root / device_name(device), shape,
                       [&](size_t i) { return where.total(device, i); });
        }
        for (const fs::directory_entry &entry : fs::directory_iterator(processes)) {
            if (!present.contains(entry.path().filename())) {
                fs::remove_all(entry.path());
            }
        }
    } catch (const fs::filesystem_error &error) {
        throw std::runtime_error(std::string("export: ") + error.what());
    }
}

} // namespace softrdma::cli
