// SPDX-License-Identifier: BSD-3-Clause
//
// A folder with the layout of /sys/class/infiniband, removed at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace be::verbs::test {

class FakeSysfs {
public:
    FakeSysfs()
    {
        std::string name =
                (std::filesystem::temp_directory_path() / "be_sysfs_XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) {
            throw std::runtime_error("no temporary folder");
        }
        m_root = name;
    }

    ~FakeSysfs()
    {
        std::error_code ignored;
        std::filesystem::remove_all(m_root, ignored);
    }

    FakeSysfs(const FakeSysfs &)            = delete;
    FakeSysfs &operator=(const FakeSysfs &) = delete;

    std::string root() const
    {
        return m_root.string();
    }

    void add_device(const std::string &device)
    {
        std::filesystem::create_directories(m_root / device);
    }

    // `file` is relative to the root; its folders are made.
    void write(const std::string &file, const std::string &line)
    {
        const std::filesystem::path path = m_root / file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << line << "\n";
    }

private:
    std::filesystem::path m_root;
};

} // namespace be::verbs::test
