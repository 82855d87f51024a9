# Build rules of test/unit/; included by the top-level Makefile.am.
include test/unit/buffers/local.mk
include test/unit/core/local.mk
include test/unit/memory/local.mk
include test/unit/verbs/local.mk
