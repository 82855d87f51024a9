// SPDX-License-Identifier: BSD-3-Clause
/*
 * be_run's decisions: which variables, which command line, which folder.
 */
#define BOOST_TEST_MODULE be_run
#include <boost/test/unit_test.hpp>

#include "tools/run/modules.hpp"
#include "tools/run/plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

using namespace be::tools;
namespace fs = std::filesystem;

namespace {

constexpr UcxVersion old_ucx{1, 13, 1};
constexpr UcxVersion new_ucx{1, 22, 0};

Request request_for(UcxVersion ucx, std::vector<std::string> command = {"ucx_info", "-d"})
{
    return {ucx, "/opt/ucx", "", std::move(command)};
}

/* A folder of its own for one test, removed at its end. */
struct TemporaryFolder {
    TemporaryFolder()
    {
        std::string name = (fs::temp_directory_path() / "be_run_test.XXXXXX").string();
        BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }

    ~TemporaryFolder()
    {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }

    void touch(const fs::path &file) const
    {
        fs::create_directories((path / file).parent_path());
        std::ofstream{path / file};
    }

    fs::path path;
};

bool has_option(const std::vector<std::string> &command, const std::string &variable)
{
    for (size_t i = 0; i + 1 < command.size(); ++i) {
        if (command[i] == "-x" && command[i + 1] == variable) {
            return true;
        }
    }
    return false;
}

} // namespace

BOOST_AUTO_TEST_SUITE(plan)

BOOST_AUTO_TEST_CASE(versions_are_ordered_as_releases_are)
{
    BOOST_TEST((UcxVersion{1, 9, 9} < UcxVersion{1, 13, 0}));
    BOOST_TEST((UcxVersion{1, 21, 9} < plugin_path_since));
    BOOST_TEST((UcxVersion{2, 0, 0} >= plugin_path_since));
    BOOST_TEST((UcxVersion{1, 13, 1}).to_string() == "1.13.1");
}

BOOST_AUTO_TEST_CASE(old_ucx_is_preloaded)
{
    const Plan plan = make_plan(request_for(old_ucx), {}, false);
    BOOST_TEST(plan.variables.at("LD_PRELOAD") == "/opt/ucx/libbe_preload.so");
    BOOST_TEST(!plan.variables.contains("UCX_PLUGIN_PATH"));
    BOOST_TEST(plan.variables.at("UCX_TLS") == "be,self");
    BOOST_TEST(plan.command == request_for(old_ucx).command,
               boost::test_tools::per_element());
    BOOST_TEST(plan.warnings.empty());
}

BOOST_AUTO_TEST_CASE(new_ucx_gets_the_plugin_path)
{
    const Plan plan = make_plan(request_for(new_ucx), {}, false);
    BOOST_TEST(plan.variables.at("UCX_PLUGIN_PATH") == "/opt/ucx");
    BOOST_TEST(!plan.variables.contains("LD_PRELOAD"));
}

BOOST_AUTO_TEST_CASE(loading_variables_are_extended_once)
{
    Plan plan = make_plan(request_for(old_ucx), {{"LD_PRELOAD", "/lib/other.so"}}, false);
    BOOST_TEST(plan.variables.at("LD_PRELOAD") ==
               "/lib/other.so:/opt/ucx/libbe_preload.so");

    plan = make_plan(request_for(old_ucx), plan.variables, false);
    BOOST_TEST(plan.variables.at("LD_PRELOAD") ==
               "/lib/other.so:/opt/ucx/libbe_preload.so");

    plan = make_plan(request_for(new_ucx), {{"UCX_PLUGIN_PATH", "/opt/ucx2"}}, false);
    BOOST_TEST(plan.variables.at("UCX_PLUGIN_PATH") == "/opt/ucx:/opt/ucx2");
}

BOOST_AUTO_TEST_CASE(what_the_user_set_is_kept)
{
    const Plan plan = make_plan(request_for(old_ucx),
                                {{"UCX_TLS", "tcp,be"}, {"OMPI_MCA_pml", "ob1"}}, false);
    BOOST_TEST(!plan.variables.contains("UCX_TLS"));
    BOOST_TEST(!plan.variables.contains("OMPI_MCA_pml"));
    BOOST_TEST(plan.variables.at("OMPI_MCA_osc") == "ucx");
    BOOST_TEST(plan.warnings.empty());
}

BOOST_AUTO_TEST_CASE(transports_without_be_are_pointed_out)
{
    const auto warnings = [](const char *transports) {
        return make_plan(request_for(old_ucx), {{"UCX_TLS", transports}}, false)
                .warnings.size();
    };
    BOOST_TEST(warnings("tcp,self") == 1);
    BOOST_TEST(warnings("^be") == 1);
    BOOST_TEST(warnings("bed,self") == 1);
    BOOST_TEST(warnings("all") == 0);
    BOOST_TEST(warnings("^tcp") == 0);
    BOOST_TEST(warnings("self,be") == 0);
}

BOOST_AUTO_TEST_CASE(device_is_handed_to_ucx)
{
    Request request = request_for(old_ucx);
    request.device  = "mlx5_0:1";
    const Plan plan = make_plan(request, {{"UCX_NET_DEVICES", "eth0"}}, false);
    BOOST_TEST(plan.variables.at("UCX_NET_DEVICES") == "mlx5_0:1");
    BOOST_TEST(plan.variables.at("UCX_BE_RESOURCE_NAME") == "port");
}

BOOST_AUTO_TEST_CASE(network_interface_is_handed_to_ucx)
{
    Request request = request_for(old_ucx);
    request.device  = name_device("eth2", false);
    const Plan plan = make_plan(request, {}, false);
    BOOST_TEST(plan.variables.at("UCX_NET_DEVICES") == "eth2");
    BOOST_TEST(!plan.variables.contains("UCX_BE_RESOURCE_NAME"));
}

BOOST_AUTO_TEST_CASE(verbs_device_gets_a_port)
{
    BOOST_TEST(name_device("mlx5_0", true) == "mlx5_0:1");
    BOOST_TEST(name_device("mlx5_0:2", true) == "mlx5_0:2");
    BOOST_TEST(name_device("", false).empty());
}

BOOST_AUTO_TEST_CASE(open_mpi_launcher_forwards_variables)
{
    const Plan plan = make_plan(
            request_for(old_ucx, {"mpirun", "-np", "2", "ring"}),
            {{"UCX_BE_SOFT", "yes"}, {"SOFTRDMA_DEVICES", "2"}, {"HOME", "/root"}}, true);
    BOOST_TEST(plan.command.front() == "mpirun");
    for (const char *variable : {"LD_PRELOAD", "UCX_TLS", "OMPI_MCA_pml", "OMPI_MCA_osc",
                                 "UCX_BE_SOFT", "SOFTRDMA_DEVICES"}) {
        BOOST_TEST(has_option(plan.command, variable), variable << " is not forwarded");
    }
    BOOST_TEST(!has_option(plan.command, "HOME"));

    // the options come before the user's own words, which are left as they are
    const std::vector<std::string> tail(plan.command.end() - 3, plan.command.end());
    const std::vector<std::string> expected{"-np", "2", "ring"};
    BOOST_TEST(tail == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(launchers_are_known_by_name)
{
    for (const char *name :
         {"mpirun", "/usr/bin/mpiexec", "orterun", "oshrun", "mpirun.openmpi"}) {
        BOOST_TEST(is_open_mpi_launcher(name), name);
    }
    for (const char *name : {"mpirun.mpich", "ucx_perftest", "mpirun2", "/mpirun/ring"}) {
        BOOST_TEST(!is_open_mpi_launcher(name), name);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(modules)

BOOST_AUTO_TEST_CASE(build_tree_comes_first_in_a_build_tree_only)
{
    const InstalledFolders installed{"/usr/bin", "/usr/lib/ucx"};
    BOOST_TEST(module_candidates("/b/src/tools/be_run", installed).front() ==
               "/b/modules");
    BOOST_TEST(module_candidates("/b/src/tools/.libs/be_run", installed).front() ==
               "/b/modules");

    const auto candidates = module_candidates("/usr/bin/be_run", installed);
    BOOST_TEST(candidates.front() == "/usr/lib/ucx");
    BOOST_TEST(std::count(candidates.begin(), candidates.end(), "/usr/lib/ucx") == 1);
}

BOOST_AUTO_TEST_CASE(moved_prefix_keeps_the_relation)
{
    const InstalledFolders installed{"/usr/local/bin", "/usr/local/lib/x86_64/ucx"};
    const auto candidates = module_candidates("/image/usr/local/bin/be_run", installed);
    BOOST_TEST(candidates.front() == "/image/usr/local/lib/x86_64/ucx");
    BOOST_TEST(candidates.back() == "/usr/local/lib/x86_64/ucx");
}

BOOST_AUTO_TEST_CASE(folder_must_hold_what_is_needed)
{
    const TemporaryFolder folder;
    folder.touch(fs::path("plugin") / plugin_file);
    folder.touch(fs::path("both") / plugin_file);
    folder.touch(fs::path("both") / preload_file);

    const std::vector<fs::path> candidates{folder.path / "none", folder.path / "plugin",
                                           folder.path / "both"};
    BOOST_TEST(find_modules(candidates, false) == folder.path / "plugin");
    BOOST_TEST(find_modules(candidates, true) == folder.path / "both");
}

BOOST_AUTO_TEST_CASE(failure_names_files_and_folders)
{
    const std::vector<fs::path> candidates{"/nowhere/a", "/nowhere/b"};
    BOOST_CHECK_EXCEPTION(find_modules(candidates, true), std::runtime_error,
                          [](const std::runtime_error &error) {
                              const std::string text = error.what();
                              return text.find(plugin_file) != std::string::npos &&
                                     text.find(preload_file) != std::string::npos &&
                                     text.find("/nowhere/a, /nowhere/b") !=
                                             std::string::npos;
                          });
}

BOOST_AUTO_TEST_SUITE_END()
