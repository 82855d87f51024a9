# Build rules of test/unit/; included by the top-level Makefile.am.
include test/unit/memory/local.mk
