# Build rules of test/fault/; included by the top-level Makefile.am.
