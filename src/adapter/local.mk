# Build rules of src/adapter/; included by the top-level Makefile.am.
