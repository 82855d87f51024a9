# Build rules of src/tools/; included by the top-level Makefile.am.
