# test/rxe: the soft-RoCE guest. contrib/check.sh runs it as a stage of its own: it needs an emulator.
EXTRA_DIST += test/rxe/adapter.sh test/rxe/guest.sh test/rxe/recovery.sh test/rxe/run.sh test/rxe/verbs.differences test/rxe/verbs.sh
