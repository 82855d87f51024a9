// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/run/ucx_library.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace be::tools {

using Environment = std::map<std::string, std::string>;

/**
 * What be_run was asked and what it found.
 */
struct Request {
    UcxVersion ucx;
    std::filesystem::path modules;
    std::string device; //< the only one to use, empty: all of them; see name_device()
    std::vector<std::string> command;
};

/**
 * What be_run will do: variables to set (and no others), and what to execute.
 */
struct Plan {
    Environment variables;
    std::vector<std::string> command;
    std::vector<std::string> warnings;
};

/**
 * Whether `program` has the name of a launcher of Open MPI (MPICH shares some).
 */
bool is_open_mpi_launcher(const std::string &program);

/**
 * A verbs device or port ("mlx5_0", "mlx5_0:2"), or a network interface ("eth2"), in the
 * form that Request has: a device without a port gets port 1.
 *
 * @param is_verbs_device  Tells devices from network interfaces.
 */
std::string name_device(const std::string &device, bool is_verbs_device);

/**
 * Variables that the user has set are kept, except that the loading ones are prepended
 * to. Open MPI reads OMPI_MCA_* wherever its processes start, so they are always set: a
 * launcher may be hidden in a script.
 *
 * @param open_mpi  The command is a launcher of Open MPI, which hands a variable on to
 *                  other hosts only when told with -x.
 */
Plan make_plan(const Request &request, const Environment &environment, bool open_mpi);

} // namespace be::tools
