# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-3-Clause
#
# be_mpi_faults as a job in the background that goes on until it is asked to end. Sourced after harness.sh, before or after
# be_start; one job at a time.
#
#   job_start COMMAND...     COMMAND ends with "$job_program"; process id in $job, output in $job_log
#   over, after              see below
#   touch "$job_stop"        asks it to end; job_end ends it
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# shellcheck disable=SC2034 # callers use it
job_program=$BE_BUILDDIR/test/mpi/be_mpi_faults

job_start() {
    job_stop=$BE_TMP/stop job_rounds=$BE_TMP/rounds job_log=$BE_TMP/job.log
    rm -f "$job_stop" "$job_rounds"
    be_spawn "$@" "$job_stop" "$job_rounds" >"$job_log" 2>&1
    job=$be_pid
}

# The number of rounds that are over.
over() { local n=0; [ ! -s "$job_rounds" ] || read -r n <"$job_rounds"; echo $((10#$n)); }

# after ROUNDS SECONDS: waits until so many are over, and while the job runs.
after() {
    local give_up=$((SECONDS + $2))
    until [ "$(over)" -ge "$1" ]; do
        [ "$SECONDS" -lt "$give_up" ] && kill -0 "$job" 2>/dev/null || return 1
        sleep 0.005 # between two looks; nothing depends on its length
    done
}

# A job that cannot go on.
job_end() {
    kill "$job" 2>/dev/null
    be_reap "$job" 10
}
