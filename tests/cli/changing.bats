#!/usr/bin/env bats
# Inputs that are modified between two reads: the result is that of the old or of the new contents,
# or status 1. Row P of tests/faults has all tools and kinds of changes.
load helper

prepare() {
    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    shim=("LD_PRELOAD=$TF_BUILD/tests/faults/shim.so" TF_FAULT_CALLS=read)
}

# stopped N CHANGE COMMAND...: run it, and CHANGE, a function, while it stands before its read
# number N, or after its end if it makes fewer. Sets status; output is in `out` and `err`.
stopped() {
    local n=$1 change=$2 pid
    shift 2
    env "${shim[@]}" "TF_FAULT_AT=$n" TF_FAULT_DO=stop "$@" </dev/null >out 2>err &
    pid=$!
    wait_for stands $pid
    "$change"
    kill -CONT $pid 2>/dev/null || :
    status=0
    wait $pid || status=$?
}

stands() { [ ! -e "/proc/$1" ] || grep -qs '^State:.[TZ]' "/proc/$1/status"; }

# mixed COMMAND...: `file` is overwritten by `new` before each read of the command.
mixed() {
    local failed=0 reads
    cp old file
    env "${shim[@]}" TF_FAULT_REPORT=report "$@" >old.out
    read -r reads _ <report
    cp new file
    "$@" >new.out
    cmp -s old.out new.out && return 1
    for ((n = 1; n <= reads; n++)); do
        cp old file
        touch -d 2001-01-01 file
        stopped "$n" overwrite "$@"
        if [ "$status" -eq 0 ]; then
            cmp -s out old.out || cmp out new.out
        else
            expect_status 1
            [ "$(<err)" = "$1: file: changed while it was read" ]
            failed=$((failed + 1))
        fi
    done
    [ "$failed" -gt 0 ]
}

overwrite() { dd if=new of=file bs=1M conv=notrunc status=none; }

# 150 kB or more in each of `old` and `new`, which have equal sizes: lines of the first and of the
# second argument, in which # is their number.
pair() {
    "$TF_PYTHON" - "$@" <<'END'
import sys
n = 150000 // len(sys.argv[1]) + 1
for name, line in zip(("old", "new"), sys.argv[1:]):
    with open(name, "w") as f:
        f.write("".join(line.replace("#", "%05d" % i) + "\n" for i in range(n)))
END
}

@test "a model of safetensors, and its configuration" {
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=3 >b.tfs
    for seed in 1 2; do
        tf-train -q --preset tiny --layers 1 --d-model 32 --d-ff 512 --heads 2 --device cpu \
            --seed $seed --steps 1 -o run$seed b.tfs
        tf-convert -o st$seed run$seed/ckpt-00000001.tfm
    done
    cp st1 old
    mv st2 new
    mixed tf-convert --to npz file
    "$TF_PYTHON" - <<'END'
import json
data = open("st1", "rb").read()
header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
config = json.loads(header["__metadata__"]["config"])
for name, dropout in (("old", 0.1), ("new", 0.2)):
    config["dropout"] = dropout
    open(name, "w").write(150000 * " " + json.dumps(config))
END
    mixed tf-convert --config file --to npz st1
}

@test "text" {
    pair 'the dog barks #' 'a cat sleeps. #'
    cp old ref
    mixed tf-bleu ref -i file
    mixed tf-bleu ref -i ref -i file
    pair 'dog#' 'cat#'
    echo 'Mr. dog00001. The end.' >few
    mixed tf-bleu --as paper --print-tokens --prefixes file -i few
}

@test "trees" {
    pair '(S (A# (NN dog)) (VP (VB barks)))' '(S (B# (NN dog)) (VP (VB barks)))'
    mixed tf-tree -l file
    cp old gold
    cp new test
    mixed tf-evalb gold file
    mixed tf-evalb file gold
    pair 'DELETE_LABEL A#' 'DELETE_LABEL B#'
    mixed tf-evalb -p file gold test
    pair 'a b#' 'c d#'
    sed 's:.*:S NN NN /S:' old >sequences
    mixed tf-tree -r -w file sequences
}

@test "a matrix, and JSON Lines of a stream" {
    pair 10000,#,3,4,5,6 90000,#,3,4,5,6
    mixed tf-plot heat file
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=300 v=1000 | tf-cbor json >old
    sed 's/"idx":\[\([0-9]\)/"idx":[1\1/' old >new
    sed -i 's/"idx":\[\([0-9]\)/"idx":[2\1/' old
    mixed tf-cbor unjson file
}

# A log of 5000 steps; `more` has those that follow.
log_of() {
    "$TF_PYTHON" - <<'END'
for name, steps in (("old", range(1, 5001)), ("more", range(5001, 5101))):
    with open(name, "w") as f:
        for i in steps:
            f.write('{"event":"step","step":%d,"loss":%.3f}\n' % (i, 9 / i))
END
}

append() { cat more >>file; }

append_cut() { head -c 1001 more >>file; }

# What precedes the new bytes is changed, too.
append_and_overwrite() {
    cat more >>file
    printf '{"event":"step","step":1,"loss":5.' | dd of=file conv=notrunc status=none
}

@test "a log to which a training appends" {
    log_of
    cp old file
    env "${shim[@]}" TF_FAULT_REPORT=report tf-plot curve file >old.svg
    read -r reads _ <report
    [ "$reads" -ge 4 ]
    cat old more >file
    tf-plot curve file >new.svg
    cmp -s old.svg new.svg && return 1
    for ((n = 1; n <= reads; n++)); do
        cp old file
        stopped "$n" append tf-plot curve file
        expect_status 0
        [ ! -s err ]
        cmp -s out new.svg || cmp out old.svg
        cp old file
        stopped "$n" append_cut tf-plot curve file
        expect_status 0
        expect_contains "$(<err)" "dropped, since it is incomplete"
    done
    # The beginning is read again only for a file that has changed, and must be as it was.
    for change in append_and_overwrite overwrite; do
        sed 's/"loss":0/"loss":1/' old >new
        cp old file
        touch -d 2001-01-01 file
        stopped "$reads" $change tf-plot curve file
        expect_status 1
        [ "$(<err)" = "tf-plot: file: changed while it was read" ]
    done
    # A gzip file grows by members.
    gzip -c old >packed
    gzip -c more >more.gz
    mv packed old
    mv more.gz more
    for ((n = 1; n <= 3; n++)); do
        cp old file
        stopped "$n" append tf-plot curve file
        expect_status 0
        cmp -s out new.svg || cmp out old.svg
    done
}
