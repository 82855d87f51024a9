// SPDX-License-Identifier: BSD-3-Clause
//
// Between Python's buffers (NumPy arrays, bytes, memoryview) and bodies, without a copy.
// With the interpreter's lock (GIL), all.
#pragma once

#include <byteexpress/body.hpp>

#include <span>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace be::python {

namespace py = pybind11;

// Objects' memory, kept in place while it is lent. `what` names them in errors.
class Lent {
public:
    // Throws py::value_error for one that is not one contiguous piece.
    std::span<const std::byte> add(const py::handle &object, const char *what);

    // The same, for memory that is written to.
    std::span<std::byte> add_writable(const py::handle &object, const char *what);

private:
    std::span<std::byte> add(const py::handle &object, const char *what, int flags);

    // Released with the lock, as all of this.
    struct View {
        View() = default;
        View(View &&other) noexcept : view(other.view)
        {
            other.view.obj = nullptr;
        }
        View &operator=(View &&) = delete;
        ~View()
        {
            PyBuffer_Release(&view); // nothing for one without an object
        }
        Py_buffer view{};
    };
    std::vector<View> m_views;
};

// An array on the body's memory, which it keeps alive; read-only. `dtype`: of its items; a
// rest too short for one is left out.
py::array
to_array(const Body &body, std::span<const std::byte> bytes, const py::dtype &dtype);

} // namespace be::python
