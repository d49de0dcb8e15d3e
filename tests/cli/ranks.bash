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
    timeout -k 5 "$TF_TIMEOUT" "mpirun.$m" -n "$n" "${options[@]}" "$@" </dev/null
}

# Processes of tf-train in the current directory, which is the test's own, but not rank 0, whose pid
# is in $1/lock: other tests have ranks at the same time.
other_ranks() {
    local p
    for p in /proc/[0-9]*; do
        [ "$p/cwd" -ef . ] && [ "$(cat "$p/comm")" = tf-train ] || continue
        [ "${p#/proc/}" = "$(cat "$1/lock")" ] || echo "${p#/proc/}"
    done
}
