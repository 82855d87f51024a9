# SPDX-License-Identifier: BSD-3-Clause
#
# The Python module byteexpress, on the adapter.
if HAVE_UCX
if HAVE_PYTHON
pyexec_LTLIBRARIES = src/python/byteexpress.la
src_python_byteexpress_la_CPPFLAGS = $(AM_CPPFLAGS) $(ADAPTER_CPPFLAGS)
src_python_byteexpress_la_CXXFLAGS = $(AM_CXXFLAGS) $(PYTHON_CFLAGS)
src_python_byteexpress_la_LIBADD   = $(ADAPTER_LIBS)
# The interpreter that loads it has the functions of Python.
src_python_byteexpress_la_LDFLAGS  = $(AM_LDFLAGS) -module -avoid-version -shared
src_python_byteexpress_la_SOURCES  = \
	src/python/buffers.cpp \
	src/python/buffers.hpp \
	src/python/module.cpp \
	src/python/module.hpp \
	src/python/parameters.cpp \
	src/python/rpc.cpp
endif
endif
