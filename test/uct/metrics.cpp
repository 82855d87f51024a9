// SPDX-License-Identifier: BSD-3-Clause
#include "metrics.hpp"

extern "C" {
#include <ucs/datastruct/string_buffer.h>
#include <ucs/vfs/base/vfs_obj.h>
}

#include <stdexcept>

namespace uct_test {

std::vector<std::string> list(const std::string &path)
{
    std::vector<std::string> names;
    ucs_vfs_path_list_dir(
            path.c_str(),
            [](const char *name, void *arg) {
                static_cast<std::vector<std::string> *>(arg)->emplace_back(name);
            },
            &names);
    return names;
}

std::vector<uint64_t> metric(const std::string &name)
{
    std::vector<uint64_t> values;
    for (const std::string &worker : list("/uct/worker")) {
        const std::string folder = "/uct/worker/" + worker + "/iface";
        for (const std::string &iface : list(folder)) {
            (void)list(folder + "/" + iface); // UCX updates a folder when it is looked at
            ucs_string_buffer_t buffer;
            ucs_string_buffer_init(&buffer);
            const std::string path    = folder + "/" + iface + "/" + name;
            const ucs_status_t status = ucs_vfs_path_read_file(path.c_str(), &buffer);
            if (status == UCS_OK) {
                values.push_back(std::stoull(ucs_string_buffer_cstr(&buffer)));
            }
            ucs_string_buffer_cleanup(&buffer);
            if (status != UCS_OK) {
                throw std::runtime_error("no metric " + path + ": " +
                                         ucs_status_string(status));
            }
        }
    }
    return values;
}

} // namespace uct_test
