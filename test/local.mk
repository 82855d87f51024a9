# SPDX-License-Identifier: BSD-3-Clause
#
# Checks of the source tree itself.
TESTS += contrib/layers.sh contrib/file-size.sh
