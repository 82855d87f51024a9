# Build rules of src/verbs/; included by the top-level Makefile.am.
