# test/install: contrib/check.sh runs it as a stage of its own.
EXTRA_DIST += test/install/run.sh test/install/linked.c
