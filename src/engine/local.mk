# Build rules of src/engine/; included by the top-level Makefile.am.
