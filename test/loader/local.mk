# SPDX-License-Identifier: BSD-3-Clause
#
# How the transport gets into a program.
if HAVE_UCX
TESTS += test/loader/run.sh
endif
EXTRA_DIST += test/loader/run.sh
