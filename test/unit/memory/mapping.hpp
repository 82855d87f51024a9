// SPDX-License-Identifier: BSD-3-Clause
//
// What the kernel reports about a mapping of this process.
#pragma once

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

// Lines of /proc/self/smaps about the mapping that holds `address`, by name: "VmFlags",
// "KernelPageSize", "AnonHugePages" and others, without the blanks in front.
inline std::map<std::string, std::string> kernel_report(const void *address)
{
    std::map<std::string, std::string> report;
    std::ifstream smaps("/proc/self/smaps");
    std::string line;
    bool inside = false;
    while (std::getline(smaps, line)) {
        unsigned long begin;
        unsigned long end;
        const auto colon = line.find(':');
        if (sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
            const auto value = reinterpret_cast<uintptr_t>(address);
            inside           = (value >= begin) && (value < end);
        } else if (inside && (colon != std::string::npos)) {
            const auto text               = line.find_first_not_of(' ', colon + 1);
            report[line.substr(0, colon)] = (text != std::string::npos) ?
                                                    line.substr(text) + " " :
                                                    "";
        }
    }
    return report;
}

// The policy field of the mapping that begins at `address` in /proc/self/numa_maps, as
// "bind:0", "prefer:0" or "prefer (many):0" by kernel version; empty: the kernel has no
// such file.
inline std::string kernel_policy(const void *address)
{
    std::ifstream maps("/proc/self/numa_maps");
    std::ostringstream begin;
    begin << std::hex << reinterpret_cast<uintptr_t>(address) << ' ';
    std::string line;
    while (std::getline(maps, line)) {
        if (line.rfind(begin.str(), 0) == 0) {
            line.erase(0, begin.str().size());
            const auto colon = line.find(':');
            return line.substr(0, (colon == std::string::npos) ? line.find(' ') :
                                                                 line.find(' ', colon));
        }
    }
    return {};
}
