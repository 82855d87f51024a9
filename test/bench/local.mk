# Build rules of test/bench/; included by the top-level Makefile.am.
