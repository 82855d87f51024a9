# Build rules of test/verbs/; included by the top-level Makefile.am.
