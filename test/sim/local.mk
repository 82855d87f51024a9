# Build rules of test/sim/; included by the top-level Makefile.am.
