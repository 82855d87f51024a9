// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of the module `byteexpress`, and what they share.
//
// Whatever waits lets go of the interpreter's lock (GIL), since handlers take it on the
// runtime's threads.
#pragma once

#include <byteexpress/byteexpress.hpp>

#include <functional>
#include <memory>

#include <pybind11/pybind11.h>

namespace be::python {

namespace py = pybind11;

void add_rpc(py::module_ &module);
void add_parameters(py::module_ &module);

// Ends with the lock let go, because it waits for threads that may need it.
template<class T>
struct EndUnlocked {
    void operator()(T *object) const
    {
        py::gil_scoped_release release;
        delete object;
    }
};
template<class T>
using Held = std::unique_ptr<T, EndUnlocked<T>>;

// Seconds; None: no end. Throws py::value_error for one that is negative.
CallOptions call_options(const py::object &timeout, bool idempotent);

// As a Python exception, byteexpress.Error.
[[noreturn]] void raise(Status status, const std::string &text);

} // namespace be::python
