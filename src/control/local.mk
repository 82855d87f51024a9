# Build rules of src/control/; included by the top-level Makefile.am.
