# Build rules of src/memory/; included by the top-level Makefile.am.
