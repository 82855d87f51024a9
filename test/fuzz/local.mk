# Build rules of test/fuzz/; included by the top-level Makefile.am.
include test/fuzz/wire.mk
include test/fuzz/control.mk
