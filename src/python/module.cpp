// SPDX-License-Identifier: BSD-3-Clause
#include "python/module.hpp"

namespace be::python {

void raise(Status status, const std::string &text)
{
    throw Error(status, std::string(to_string(status)) + ": " + text);
}

CallOptions call_options(const py::object &timeout, bool idempotent)
{
    constexpr double longest = 1e9; // seconds
    CallOptions options;

    options.idempotent = idempotent;
    if (timeout.is_none()) {
        options.timeout = no_deadline;
        return options;
    }
    const double seconds = timeout.cast<double>();
    if (!(seconds >= 0) || (seconds > longest)) {
        throw py::value_error("timeout " + std::to_string(seconds) +
                              ": expected seconds, 0 to 1e9, or None");
    }
    options.timeout = std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
    return options;
}

} // namespace be::python

PYBIND11_MODULE(byteexpress, module)
{
    using namespace be::python;

    module.doc() =
            "RPC and a parameter server over UCX. Data is neither copied on its way "
            "in nor out: arguments are NumPy arrays or anything else with "
            "contiguous memory, results are NumPy arrays.";
    py::register_exception<be::Error>(module, "Error", PyExc_RuntimeError);
    module.def("version", &be::version, "Of this library and of UCX.");
    add_rpc(module);
    add_parameters(module);
}
