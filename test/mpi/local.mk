# test/mpi: MPI programs over the transport; run.sh runs them. The MPI compiler builds them, whatever the
# flags of the rest (sanitizers) are.

if HAVE_MPI
mpi_programs = \
	test/mpi/be_mpi_ring \
	test/mpi/be_mpi_collective \
	test/mpi/be_mpi_faults \
	test/mpi/be_mpi_onesided \
	test/mpi/be_mpi_threads \
	test/mpi/be_mpi_unexpected
noinst_DATA += $(mpi_programs)
CLEANFILES  += $(mpi_programs)
TESTS       += test/adapter/mpi.sh test/mpi/faults.sh test/mpi/run.sh

mpi_compile = $(AM_V_GEN)$(MKDIR_P) test/mpi && \
	$(MPICC) -std=gnu11 -O2 -g -Wall -Wextra -I$(srcdir)/test/mpi -o $@

test/mpi/be_mpi_ring: $(srcdir)/test/mpi/ring.c $(srcdir)/test/mpi/check.h
	$(mpi_compile) $(srcdir)/test/mpi/ring.c -lpthread
test/mpi/be_mpi_collective: $(srcdir)/test/mpi/collective.c $(srcdir)/test/mpi/check.h $(srcdir)/test/mpi/exchange.h
	$(mpi_compile) $(srcdir)/test/mpi/collective.c -lpthread
test/mpi/be_mpi_faults: $(srcdir)/test/mpi/faults.c $(srcdir)/test/mpi/check.h $(srcdir)/test/mpi/exchange.h
	$(mpi_compile) $(srcdir)/test/mpi/faults.c -lpthread
test/mpi/be_mpi_onesided: $(srcdir)/test/mpi/onesided.c $(srcdir)/test/mpi/check.h $(srcdir)/test/mpi/exchange.h
	$(mpi_compile) $(srcdir)/test/mpi/onesided.c -lpthread
test/mpi/be_mpi_threads: $(srcdir)/test/mpi/threads.c $(srcdir)/test/mpi/check.h
	$(mpi_compile) $(srcdir)/test/mpi/threads.c -lpthread
test/mpi/be_mpi_unexpected: $(srcdir)/test/mpi/unexpected.c $(srcdir)/test/mpi/check.h
	$(mpi_compile) $(srcdir)/test/mpi/unexpected.c -lpthread
endif

EXTRA_DIST += \
	examples/mpi_tasks.c \
	test/adapter/mpi.sh \
	test/mpi/check.h \
	test/mpi/collective.c \
	test/mpi/exchange.h \
	test/mpi/faults.c \
	test/mpi/faults.sh \
	test/mpi/job.sh \
	test/mpi/onesided.c \
	test/mpi/ring.c \
	test/mpi/run.sh \
	test/mpi/threads.c \
	test/mpi/unexpected.c
