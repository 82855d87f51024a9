# Build rules of src/core/; included by the top-level Makefile.am.
