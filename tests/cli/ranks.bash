# Programs on several ranks, under each MPI that is installed.
# shellcheck shell=bash

# Set mpis to those of openmpi and mpich for which there is a launcher and a plugin; skip if there
# are none.
find_mpis() {
    local m
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    mpis=()
    for m in openmpi mpich; do
        if command -v "mpirun.$m" >/dev/null &&
            [ -e "$(dirname "$(command -v tf-train)")/tf-comm-$m.so" ]; then
            mpis+=("$m")
        elif [[ " ${TF_TEST_REQUIRE:-} " == *" $m "* ]]; then
            echo "no $m, which is required" >&2
            return 1
        fi
    done
    [ "${#mpis[@]}" -gt 0 ] ||
        skip "neither Open MPI nor MPICH: training on many processes is not tested"
}

# mpi_run NUMBER COMMAND...: under the first MPI, or under $mpi.
mpi_run() {
    local n=$1 m=${mpi:-${mpis[0]}} options=()
    shift
    [ "$m" != openmpi ] || options=(--oversubscribe --bind-to none)
    launch "mpirun.$m" -n "$n" "${options[@]}" "$@"
}

# launch LAUNCHER ARGUMENT...: at most TF_TIMEOUT seconds, then 124. The launcher of Open MPI 4.1.4
# can hang after all ranks have ended (tests/faults/ranks.py): then there is a file launcher-hung.
launch() {
    # shellcheck disable=SC2016
    timeout --foreground -k 20 "$TF_TIMEOUT" bash -c "$(declare -f all_ranks)"'
        name=$1
        late() {
            [ "$name" != mpirun.openmpi ] || [ -n "$(all_ranks)" ] || >launcher-hung
            kill "$launcher" 2>/dev/null
            sleep 5
            kill -KILL "$launcher" 2>/dev/null
        }
        trap late TERM
        set -m # a process group of its own
        "$@" &
        launcher=$!
        wait "$launcher"' launch "$@" </dev/null
}

# After `run` of a launcher: skip the rest if the launcher hung, so that there is no status.
unless_hung() {
    [ ! -e launcher-hung ] || skip "the launcher of Open MPI hung after all ranks had ended"
}

# Wait for a launcher in the background: $status.
launcher_ends() {
    status=0
    wait "$!" || status=$?
    unless_hung
}

# Processes of tf-train in the current directory, which is the test's own: other tests have ranks at
# the same time.
all_ranks() {
    local p
    for p in /proc/[0-9]*; do
        [ "$p/cwd" -ef . ] && [ "$(cat "$p/comm")" = tf-train ] || continue
        echo "${p#/proc/}"
    done 2>/dev/null
}

# Those but rank 0, whose pid is in $1/lock.
other_ranks() {
    all_ranks | grep -vx "$(cat "$1/lock")"
}
