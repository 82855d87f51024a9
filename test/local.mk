# SPDX-License-Identifier: BSD-3-Clause
#
# Checks of the source tree itself.
EXTRA_DIST += test/lsan.supp
TESTS += contrib/layers.sh contrib/file-size.sh
