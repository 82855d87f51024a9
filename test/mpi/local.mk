# Build rules of test/mpi/; included by the top-level Makefile.am.
