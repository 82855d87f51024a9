# SPDX-License-Identifier: BSD-3-Clause
#
# The model of recovery, for Spin. Its transitions are those of the unit test's table.
TESTS      += test/model/recovery.sh
EXTRA_DIST += \
	test/model/recovery.pml \
	test/model/recovery.sh \
	test/model/recovery.table \
	test/model/steps.awk
