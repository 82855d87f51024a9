// SPDX-License-Identifier: BSD-3-Clause
//
// Metrics as files of UCX's virtual file system, read as its FUSE daemon reads them.

#include "harness.hpp"
#include "metrics.hpp"

#include <boost/test/unit_test.hpp>

extern "C" {
#include <ucs/datastruct/string_buffer.h>
#include <ucs/vfs/base/vfs_obj.h>
}

#include <sys/stat.h>

#include <algorithm>

using namespace uct_test;

namespace {

std::string read(const std::string &path)
{
    ucs_string_buffer_t buffer;
    ucs_string_buffer_init(&buffer);
    const ucs_status_t status = ucs_vfs_path_read_file(path.c_str(), &buffer);
    const std::string text    = ucs_string_buffer_cstr(&buffer);
    ucs_string_buffer_cleanup(&buffer);
    BOOST_CHECK_MESSAGE(status == UCS_OK, path << ": " << ucs_status_string(status));
    return text;
}

// The folder of the only interface, "" if there is none.
std::string interface_folder()
{
    for (const std::string &worker : list("/uct/worker")) {
        for (const std::string &iface : list("/uct/worker/" + worker + "/iface")) {
            return "/uct/worker/" + worker + "/iface/" + iface;
        }
    }
    return "";
}

// Every file in a folder holds one number. Returns how many there are.
size_t check_numbers(const std::string &folder)
{
    size_t numbers = 0;
    for (const std::string &name : list(folder)) {
        ucs_vfs_path_info_t info{};
        BOOST_REQUIRE_EQUAL(ucs_vfs_path_get_info((folder + "/" + name).c_str(), &info),
                            UCS_OK);
        if ((name == "peer") || (name == "path") || ((info.mode & S_IFMT) != S_IFREG)) {
            continue;
        }
        const std::string text = read(folder + "/" + name);
        BOOST_CHECK_MESSAGE((text.size() > 1) && (text.back() == '\n') &&
                                    std::all_of(text.begin(), text.end() - 1,
                                                [](char c) {
                                                    return (c >= '0') && (c <= '9');
                                                }),
                            name << " is '" << text << "'");
        ++numbers;
    }
    return numbers;
}

} // namespace

BOOST_AUTO_TEST_SUITE(vfs)

BOOST_AUTO_TEST_CASE(metrics_are_files)
{
    if (!is_be()) {
        return;
    }
    Interface iface;
    iface.on_am(1, [](void *, size_t, unsigned) { return UCS_OK; });
    const std::string folder = interface_folder();
    BOOST_REQUIRE(!folder.empty());
    BOOST_CHECK_GT(check_numbers(folder), 5u);

    {
        Endpoint ep(iface, iface.address());
        BOOST_REQUIRE_EQUAL(retry({&iface},
                                  [&] {
                                      return uct_ep_am_short(ep.handle(), 1, 0, nullptr,
                                                             0);
                                  }),
                            UCS_OK);
        flush({&iface}, ep);

        (void)list(folder); // UCX updates a folder when it is looked at
        const std::vector<std::string> eps = list(folder + "/ep");
        BOOST_REQUIRE_EQUAL(eps.size(), 1u);
        BOOST_CHECK_GT(check_numbers(folder + "/ep/" + eps[0]), 5u);
        BOOST_CHECK(read(folder + "/ep/" + eps[0] + "/peer").find("fabric ") == 0);
        BOOST_CHECK(read(folder + "/ep/" + eps[0] + "/path")
                            .find("state ready\npath rdma\nepoch 0\n") == 0);
    }
    // The endpoint's files go with it.
    BOOST_CHECK(list(folder + "/ep").empty());
    BOOST_CHECK_GT(check_numbers(folder), 5u);
}

BOOST_AUTO_TEST_SUITE_END()
