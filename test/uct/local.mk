# Build rules of test/uct/; included by the top-level Makefile.am.
