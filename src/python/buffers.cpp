// SPDX-License-Identifier: BSD-3-Clause
#include "python/buffers.hpp"

#include <memory>
#include <string>

namespace be::python {

std::span<std::byte> Lent::add(const py::handle &object, const char *what, int flags)
{
    View taken;
    if (PyObject_GetBuffer(object.ptr(), &taken.view, flags) != 0) {
        PyErr_Clear();
        throw py::value_error(
                std::string(what) + " of type " +
                std::string(py::str(py::type::of(object).attr("__name__"))) +
                ": expected contiguous memory, as bytes or a NumPy array" +
                ((flags & PyBUF_WRITABLE) != 0 ? " that can be written to" : ""));
    }
    m_views.push_back(std::move(taken));
    const Py_buffer &view = m_views.back().view;
    return {static_cast<std::byte *>(view.buf), static_cast<size_t>(view.len)};
}

std::span<const std::byte> Lent::add(const py::handle &object, const char *what)
{
    return add(object, what, PyBUF_C_CONTIGUOUS);
}

std::span<std::byte> Lent::add_writable(const py::handle &object, const char *what)
{
    return add(object, what, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
}

py::array
to_array(const Body &body, std::span<const std::byte> bytes, const py::dtype &dtype)
{
    const auto item = static_cast<size_t>(dtype.itemsize());
    if (item == 0) {
        throw py::value_error("dtype: expected items of at least one byte");
    }
    auto kept = std::make_unique<Body>(body);
    py::capsule owner(kept.get(), [](void *what) { delete static_cast<Body *>(what); });
    (void)kept.release();
    py::array array(dtype, {bytes.size() / item}, {item}, bytes.data(), owner);
    array.attr("setflags")(py::arg("write") = false);
    return array;
}

} // namespace be::python
