# Loaded by every bats file: `load helper` (from tests/lint: `load ../cli/helper`). Gives the tools
# in PATH, an empty directory per test in $T (the current directory too),
# and a few checks that print what they saw.
# shellcheck shell=bash

bats_require_minimum_version 1.5.0

TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
export TOP
export PATH="${TF_BIN:-$TOP/build/bin}:$PATH"
export TF_PYTHON=${TF_PYTHON:-/usr/bin/python3}
export PYTHONPATH=$TOP/tests/cli PYTHONDONTWRITEBYTECODE=1
# Seconds that one command may take; the sanitizers and the emulator are slow.
if [ -n "${TF_SAN:-}${TF_EMULATOR:-}" ]; then : "${TF_TIMEOUT:=240}"; else : "${TF_TIMEOUT:=60}"; fi
export LC_ALL=C.UTF-8
set -o pipefail
# make has no names with blanks, and many tests put $T into a line of shell.
case $BATS_RUN_TMPDIR in
    *[[:space:]]*) echo "TMPDIR=$TMPDIR: tests need a directory without blanks in its name" >&2; exit 1 ;;
esac

# Before each command bats notes where it is, which takes 0.2 ms, a fifth of the time of some files.
# Here that is the test's line alone; the place of a failure is looked for when there is one.
setup() {
    eval "set -- $(trap -p ERR)" # trap -- 'what bats does' ERR
    # shellcheck disable=SC2064 # now
    trap "tell_place \"\$BASH_COMMAND\"; $3" ERR
    : the place of the failure is below # what bats shows as the command that failed
    trap '[[ $BASH_SOURCE != "$BATS_RUN_TMPDIR"/* ]] || last_line=$LINENO' DEBUG
    T=$BATS_TEST_TMPDIR at_level=$BASH_SUBSHELL
    umask 022
    cd "$T" || return 1
    [ -z "${SKIP_ALL:-}" ] || skip "$SKIP_ALL"
    if declare -F prepare >/dev/null; then prepare; fi
}

# bats 1.8 ends the process that counts down BATS_TEST_TIMEOUT by a signal that is lost if the test
# took less time than that process to begin: prove would then wait for all of the 20 minutes.
bats_abort_timeout_countdown() {
    local sleeping='' children=/proc/$1/task/$1/children
    disown "$1" # or bash would say that it was killed
    kill -STOP "$1"
    if [ -e "$children" ]; then read -r sleeping <"$children"; else sleeping=$(pgrep -P "$1"); fi
    # shellcheck disable=SC2086
    kill -KILL "$1" $sleeping
    return 0
} 2>/dev/null

# The status stays that of the command. `return` in a test is seen by bats only.
tell_place() {
    # shellcheck disable=SC2319 # of the command
    local status=$? lines=() i
    echo "failed: $1" >&2
    for ((i = 1; i < ${#FUNCNAME[@]}; i++)); do
        case ${BASH_SOURCE[i]} in
            "$BATS_RUN_TMPDIR"/*) lines+=("${BASH_LINENO[i - 1]}") ;; # the test, rewritten
            "$TOP"/*) echo "  at ${BASH_SOURCE[i]#"$TOP"/}:${BASH_LINENO[i - 1]}" >&2 ;;
        esac
    done
    printf "  at ${BATS_TEST_FILENAME#"$TOP"/}:%d\n" "${lines[@]:-$last_line}" >&2
    return $status
}

# A test that ends itself: no trap sees where. Bats itself calls this, too, and so do subshells.
exit() {
    local status=${1:-$?}
    case $BASH_SUBSHELL:${BASH_SOURCE[1]} in
        "$at_level":"$BATS_RUN_TMPDIR"/* | "$at_level":"$TOP"/*)
            [ "$status" = 0 ] || tell_place "exit $status" || : ;;
    esac
    builtin exit "$status"
}

# So many lines of six words, made of syllables.
sentences() {
    awk -v n="$1" 'BEGIN { srand(1)
        split("ka to mi ren sch ein wal k ed s ing er haus st a o 12 7 ä ö", p, " ")
        for (i = 0; i < n; i++) {
            l = ""
            for (k = 0; k < 6; k++) {
                for (m = 0; m < 3; m++) l = l p[int(rand() * 20) + 1]
                l = l " " }
            print l } }'
}

# What `run --separate-stderr timeout ...` of bats does, in 40 % of its time.
n_limited=0
limited() {
    # A file of its own: what an earlier command left running may still write.
    local - IFS=$'\n' errors=$BATS_FILE_TMPDIR/stderr.$BASHPID.$((++n_limited))
    if output=$(timeout -k 10 "$TF_TIMEOUT" "$@" 2>"$errors"); then status=0; else status=$?; fi
    stderr=$(<"$errors")
    set -f
    # shellcheck disable=SC2034,SC2206 # split into lines; those that are empty are left out
    lines=($output) stderr_lines=($stderr)
}

# Run a command for at most TF_TIMEOUT seconds:
#     t STATUS COMMAND ...      then look at $output, $stderr, ${lines[@]}
t() {
    local want=$1
    shift
    limited "$@" </dev/null
    expect_status "$want"
}

# The same for a line of shell, with pipes and redirections: sh_t STATUS 'a | b >c'
sh_t() {
    local want=$1
    shift
    limited bash -o pipefail -c "$1" sh "${@:2}"
    expect_status "$want"
}

# Wait until a command succeeds, for example wait_for test -s err
wait_for() {
    local end=$((SECONDS + TF_TIMEOUT))
    until "$@"; do
        ((SECONDS < end)) || { echo "never true: $*" >&2; return 1; }
        sleep 0.02
    done
}

expect_status() {
    # shellcheck disable=SC2154
    if [ "$status" -ne "$1" ]; then
        printf 'status %s, expected %s\nstdout: %s\nstderr: %s\n' "$status" "$1" "$output" \
            "$stderr" >&2
        return 1
    fi
}

# One line on stderr that contains the text: what every failure looks like.
expect_error() {
    # shellcheck disable=SC2154
    if [ "${#stderr_lines[@]}" -ne 1 ] || [[ $stderr != *"$1"* ]]; then
        printf 'expected one line with: %s\ngot: %s\n' "$1" "$stderr" >&2
        return 1
    fi
}

expect_output() {
    # shellcheck disable=SC2154
    if [ "$output" != "$1" ]; then
        diff <(printf '%s\n' "$1") <(printf '%s\n' "$output") >&2
        return 1
    fi
}

# The same after warnings about bad lines or records: the messages of a filter that exits with 4.
expect_bad() {
    local i last=$((${#stderr_lines[@]} - 1))
    for ((i = 0; i < last; i++)); do
        [[ ${stderr_lines[i]} == *": warning: "* ]] || last=-1
    done
    if [ "$last" -lt 0 ] || [[ ${stderr_lines[last]} != *"$1"* ]]; then
        printf 'expected warnings and a line with: %s\ngot: %s\n' "$1" "$stderr" >&2
        return 1
    fi
}

expect_contains() {
    if [[ $1 != *"$2"* ]]; then
        printf 'expected: %s\nwithin: %s\n' "$2" "$1" >&2
        return 1
    fi
}

# File $1 is golden file tests/golden/$2, byte for byte. TF_UPDATE=1 writes the golden file instead.
expect_golden() {
    local want=$TOP/tests/golden/$2
    if [ -n "${TF_UPDATE:-}" ]; then
        mkdir -p "$(dirname "$want")" && cp "$1" "$want"
        return
    fi
    cmp "$want" "$1" >&2 && return
    diff -a "$want" "$1" | head -20 >&2
    return 1
}

# Files are equal; if not, stderr says where not.
same() {
    cmp "$1" "$2" >&2
}

# Golden files in folder $G: a copy of tests/golden/$1 whose compressed files are unpacked.
golden() {
    G=$PWD/golden
    cp -r "$TOP/tests/golden/$1" "$G"
    chmod -R u+w "$G"
    gunzip -r "$G"
}

# A script of tests/cli for each line of stdin, its arguments.
each() { "$TF_PYTHON" "$TOP/tests/cli/each.py" "$TOP/tests/cli/$1"; }

# The line of a model's weights: equal for equal ones.
fingerprint() { tf-info "$1" | grep '^model'; }

# A batch stream of a copying task: batches n=20 >FILE, see batches.py.
batches() {
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" "$@"
}

# The first line of a test that takes AddressSanitizer long and shows it no line of lib/ and cmd/
# that others do not.
natively() {
    [[ ${TF_SAN:-} != *address* ]] || skip "other tests show AddressSanitizer the same code"
}

# For setup_file, where bats 1.8 takes skip for a failure: skip_all REASON; return 0
skip_all() { export SKIP_ALL=$1; }

# For setup_file, `cuda_or_emulation || return 0`: a GPU, or the emulation where none can be used.
cuda_or_emulation() {
    local build=${TF_BUILD:-$TOP/build}
    if tf-info --devices --json | grep -q '"cuda":"not usable'; then
        [ -e "$build/emulate/tf-backend-cuda.so" ] ||
            { skip_all "the CUDA backend was not built"; return 1; }
        export TF_BACKEND_DIR=$build/emulate EMULATED=yes
    fi
}

# Skip unless every one of these commands is there; fail if TF_TEST_REQUIRE has what is missing.
need() {
    local c
    for c in "$@"; do
        command -v "$c" >/dev/null || lacks "$c" "no $c"
    done
}

# The same for modules of PEER_PYTHON, a Python that Debian's packages are not enough for.
need_peer() {
    "${PEER_PYTHON:-false}" -c 'import sys; from importlib.util import find_spec
sys.exit(not all(map(find_spec, sys.argv[1:])))' "$@" || lacks "$1" "no PEER_PYTHON that has $*"
}

# Skip for lack of $1, which TF_TEST_REQUIRE may have, with reason $2.
lacks() {
    [[ " ${TF_TEST_REQUIRE:-} " != *" $1 "* ]] || { echo "$2; $1 is required" >&2; return 1; }
    skip "$2"
}
