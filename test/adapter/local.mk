# Build rules of test/adapter/; included by the top-level Makefile.am.
