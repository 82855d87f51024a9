# Build rules of test/control/; included by the top-level Makefile.am.
