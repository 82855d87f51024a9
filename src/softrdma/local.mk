# Build rules of src/softrdma/; included by the top-level Makefile.am.
