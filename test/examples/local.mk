# test/examples: UCX's own examples.
TESTS      += test/examples/run.sh
EXTRA_DIST += test/examples/run.sh
