# Build rules of src/ucx_be/; included by the top-level Makefile.am.
