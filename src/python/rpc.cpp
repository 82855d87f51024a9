// SPDX-License-Identifier: BSD-3-Clause
//
// Runtime, Server and Channel.
#include "python/buffers.hpp"
#include "python/module.hpp"

#include <pybind11/stl.h>

namespace be::python {

namespace {

// A handler of the user's, which ends on any thread.
std::shared_ptr<py::function> share(py::function function)
{
    return {new py::function(std::move(function)), [](py::function *what) {
                py::gil_scoped_acquire acquire;
                delete what;
            }};
}

// What a Python handler returns is copied: it belongs to Python, whose lock the network
// does not take.
Body run(const py::function &function, const Request &request)
{
    py::gil_scoped_acquire acquire;
    try {
        const py::object result = function(to_array(request.body(),
                                                    request.body().bytes(),
                                                    py::dtype::of<uint8_t>()));
        if (result.is_none()) {
            return {};
        }
        Lent lent;
        return Body::copy(lent.add(result, "the result of a handler"));
    } catch (const py::error_already_set &error) {
        // not itself: it would end without the lock
        throw std::runtime_error(error.what());
    }
}

Held<Runtime> make_runtime(unsigned threads, const std::string &progress, double spin,
                           bool pin, const std::string &token)
{
    RuntimeOptions options;
    options.threads = threads;
    options.pin     = pin;
    options.token   = token;
    options.spin    = std::chrono::microseconds(
               static_cast<int64_t>(std::clamp(spin, -1.0, 1e3) * 1e6));
    if (progress == "polling") {
        options.progress = Progress::polling;
    } else if (progress == "event_driven") {
        options.progress = Progress::event_driven;
    } else if (progress != "adaptive") {
        throw py::value_error("progress '" + progress +
                              "': expected polling, event_driven or adaptive");
    }
    return Held<Runtime>(new Runtime(options));
}

py::array call(Channel &channel, const std::string &method, const py::object &body,
               const py::object &out, const py::object &timeout, bool idempotent,
               const py::object &type)
{
    const py::dtype dtype = py::dtype::from_args(type);
    CallOptions options   = call_options(timeout, idempotent);
    Lent lent;
    Body request;
    if (!body.is_none()) {
        request = Body::borrow(lent.add(body, "body"));
    }
    if (!out.is_none()) {
        options.response = lent.add_writable(out, "out");
    }
    Reply reply;
    {
        py::gil_scoped_release release;
        reply = channel.call(method, std::move(request), options);
        if (reply.ok()) {
            reply.body = reply.body.flat();
        }
    }
    if (!reply.ok()) {
        raise(reply.status, reply.text);
    }
    py::array result = to_array(reply.body, reply.body.bytes(), dtype);
    if (!out.is_none()) { // lies in it: keeps it alive
        return py::array(dtype, {result.size()}, {dtype.itemsize()}, result.data(), out);
    }
    return result;
}

} // namespace

void add_rpc(py::module_ &module)
{
    py::class_<Runtime, Held<Runtime>>(module, "Runtime",
                                       "The threads that servers and channels live on.")
            .def(py::init(&make_runtime), py::arg("threads") = 1,
                 py::arg("progress") = "adaptive", py::arg("spin") = 100e-6,
                 py::arg("pin") = false, py::arg("token") = "",
                 "spin: seconds to poll before sleeping. token: shared secret, 16 to "
                 "1024 "
                 "bytes; empty: the variable BE_TOKEN.");

    py::class_<Server, Held<Server>>(module, "Server", "Serves methods by name.")
            .def(py::init([](Runtime &runtime, const std::string &address) {
                     ServerOptions options;
                     options.address = address;
                     return Held<Server>(new Server(runtime, options));
                 }),
                 py::arg("runtime"), py::arg("address") = "127.0.0.1:0",
                 py::keep_alive<1, 2>())
            .def(
                    "add",
                    [](Server &server, const std::string &name, py::function handler) {
                        server.add(name, [shared = share(std::move(handler))](
                                                 const Request &request) {
                            return run(*shared, request);
                        });
                    },
                    py::arg("name"), py::arg("handler"),
                    "handler(array of uint8) returns bytes, an array or None.")
            .def("start", &Server::start, py::call_guard<py::gil_scoped_release>())
            .def(
                    "drain",
                    [](Server &server, double seconds) {
                        return server.drain(
                                std::chrono::milliseconds(static_cast<int64_t>(
                                        std::clamp(seconds, 0.0, 1e6) * 1e3)));
                    },
                    py::arg("seconds") = 1.0, py::call_guard<py::gil_scoped_release>(),
                    "Answers what was begun, then closes. False: not all in that time.")
            .def_property_readonly("address", &Server::address)
            .def_property_readonly("incarnation", &Server::incarnation);

    py::class_<Channel, Held<Channel>>(module, "Channel",
                                       "One service, at one or more addresses.")
            .def(py::init([](Runtime &runtime, std::vector<std::string> addresses) {
                     ChannelOptions options;
                     options.addresses = std::move(addresses);
                     return Held<Channel>(new Channel(runtime, options));
                 }),
                 py::arg("runtime"), py::arg("addresses"))
            .def("call", &call, py::arg("method"), py::arg("body") = py::none(),
                 py::arg("out") = py::none(), py::arg("timeout") = py::none(),
                 py::arg("idempotent") = false, py::arg("dtype") = "uint8",
                 "Calls and waits. The answer is an array, in `out` (a writable array) "
                 "if "
                 "that is given. Raises Error.");
}

} // namespace be::python
