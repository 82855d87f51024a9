// SPDX-License-Identifier: BSD-3-Clause
//
// The parameter server.
#include "python/buffers.hpp"
#include "python/module.hpp"

#include <pybind11/stl.h>

namespace be::python {

namespace {

using Keys = py::array_t<ps::Key, py::array::c_style>;

std::span<const ps::Key> keys_of(const Keys &keys)
{
    if (keys.ndim() != 1) {
        throw py::value_error("keys of " + std::to_string(keys.ndim()) +
                              " dimensions: expected a list of numbers");
    }
    return {keys.data(), static_cast<size_t>(keys.size())};
}

ps::Rule rule_of(const std::string &name)
{
    const std::pair<const char *, ps::Rule> rules[] = {{"assign", ps::Rule::assign},
                                                       {"sum", ps::Rule::sum},
                                                       {"sgd", ps::Rule::sgd},
                                                       {"user", ps::Rule::user}};
    for (const auto &[known, rule] : rules) {
        if (name == known) {
            return rule;
        }
    }
    throw py::value_error("rule '" + name + "': expected assign, sum, sgd or user");
}

// Which of the bodies a value lies in.
const Body &home_of(const ps::Pulled &pulled, const ps::Value &value)
{
    static const Body none;
    for (const Body &body : pulled.bodies) {
        const auto bytes = body.bytes();
        if ((value.bytes.data() >= bytes.data()) &&
            (value.bytes.data() + value.bytes.size() <= bytes.data() + bytes.size())) {
            return body;
        }
    }
    return none; // an empty value
}

py::list pull(ps::Worker &worker, const Keys &keys, const py::object &type,
              const py::object &timeout)
{
    const py::dtype dtype     = py::dtype::from_args(type);
    const CallOptions options = call_options(timeout, true);
    const auto wanted         = keys_of(keys);
    ps::Pulled pulled;
    {
        py::gil_scoped_release release;
        pulled = worker.pull(wanted, options);
    }
    if (!pulled.ok()) {
        raise(pulled.status, pulled.text);
    }
    py::list values;
    for (const ps::Value &value : pulled.values) {
        if (value.found) {
            values.append(to_array(home_of(pulled, value), value.bytes, dtype));
        } else {
            values.append(py::none());
        }
    }
    return values;
}

uint64_t push(ps::Worker &worker, const std::string &rule, const Keys &keys,
              const py::sequence &values, float rate, const py::object &timeout)
{
    const CallOptions options = call_options(timeout, true);
    const ps::Rule what       = rule_of(rule);
    const auto wanted         = keys_of(keys);
    Lent lent;
    std::vector<std::span<const std::byte>> bytes;
    for (const py::handle &value : values) {
        bytes.push_back(lent.add(value, "a value"));
    }
    ps::Pushed pushed;
    {
        py::gil_scoped_release release;
        pushed = worker.push(what, wanted, bytes, rate, options);
    }
    if (!pushed.ok()) {
        raise(pushed.status, pushed.text);
    }
    return pushed.mismatched;
}

} // namespace

void add_parameters(py::module_ &module)
{
    py::class_<ps::Server>(module, "ParameterServer",
                           "One server's part of the parameters: adds its methods to a "
                           "Server, which is started afterwards.")
            .def(py::init([](Server &server) {
                     return std::make_unique<ps::Server>(server);
                 }),
                 py::arg("server"), py::keep_alive<1, 2>())
            .def("__len__", &ps::Server::size)
            .def("save", &ps::Server::save, py::arg("path"),
                 py::call_guard<py::gil_scoped_release>())
            .def("load", &ps::Server::load, py::arg("path"),
                 py::call_guard<py::gil_scoped_release>())
            .def_property_readonly("repeated", &ps::Server::repeated);

    py::class_<ps::Worker, Held<ps::Worker>>(
            module, "Worker", "Pulls from and pushes to parameter servers.")
            .def(py::init([](Runtime &runtime,
                             std::vector<std::vector<std::string>> servers) {
                     ps::WorkerOptions options;
                     options.servers = std::move(servers);
                     return Held<ps::Worker>(new ps::Worker(runtime, options));
                 }),
                 py::arg("runtime"), py::arg("servers"),
                 "servers: the list of each server's addresses.")
            .def("pull", &pull, py::arg("keys"), py::arg("dtype") = "float32",
                 py::arg("timeout") = py::none(),
                 "An array for each key, or None; they lie in the answer's own memory. "
                 "Raises Error.")
            .def("push", &push, py::arg("rule"), py::arg("keys"), py::arg("values"),
                 py::arg("rate") = 1.0f, py::arg("timeout") = py::none(),
                 "rule: assign, sum, sgd or user. Returns how many values had another "
                 "length and were left as they are. Raises Error.")
            .def("server_of", &ps::Worker::server_of, py::arg("key"));
}

} // namespace be::python
