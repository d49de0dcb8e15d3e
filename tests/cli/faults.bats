#!/usr/bin/env bats
# Faults put into the tools: a sample of what `make faults` runs in full, and what it once found.
# bats file_tags=first
load helper

prepare() {
    need "$TF_PYTHON"
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=20 >b.tfs
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=5 seed=9 >v.tfs
}

small=(--preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --warmup 0 --schedule constant \
    --lr 0.01 --device cpu)

@test "killed after the last rename: the next start still links best.tfm, and deletes nothing" {
    args=("${small[@]}" --steps 20 --save-every 5 --keep 1 --valid v.tfs --valid-every 5 -o run \
        b.tfs)
    tf-train "${args[@]}"
    [ run/best.tfm -ef run/ckpt-00000020.tfm ]
    # What a kill leaves there: the older best, and the checkpoint that was to go.
    cp run/ckpt-00000020.tfm run/ckpt-00000015.tfm
    rm run/best.tfm
    t 0 tf-train "${args[@]}"
    expect_contains "$stderr" "nothing left to do"
    [ run/best.tfm -ef run/ckpt-00000020.tfm ]
    [ -e run/ckpt-00000015.tfm ]
}

@test "killed after the last rename: a start that is refused for its stream repairs nothing" {
    args=("${small[@]}" --steps 20 --save-every 5 --keep 1 --valid v.tfs --valid-every 5 -o run)
    tf-train "${args[@]}" b.tfs
    cp run/ckpt-00000020.tfm run/ckpt-00000015.tfm
    rm run/best.tfm
    args+=(--steps 25)
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=30 corpus=8 >c.tfs
    t 1 tf-train "${args[@]}" c.tfs
    expect_contains "$stderr" "differs from the checkpoint's"
    [ "$(ls run)" = $'ckpt-00000015.tfm\nckpt-00000020.tfm\nlock\nlog.jsonl' ]
    t 0 tf-train "${args[@]}" b.tfs
    [ run/best.tfm -ef run/ckpt-00000020.tfm ]
    [ ! -e run/ckpt-00000015.tfm ]
}

@test "stopped after the last update: the next start writes the last checkpoint, and best.tfm" {
    args=("${small[@]}" --steps 20 --save-every 6 --valid v.tfs --valid-every 5 -o run b.tfs)
    tf-train "${args[@]}"
    cp -r run whole
    mv run/ckpt-00000020.tfm run/resume.tfm
    rm run/best.tfm # one of two names of a file
    cp whole/ckpt-00000018.tfm run/best.tfm
    t 0 tf-train "${args[@]}"
    cmp whole/ckpt-00000020.tfm run/ckpt-00000020.tfm
    cmp whole/best.tfm run/best.tfm
    [ ! -e run/resume.tfm ]
    t 0 tf-train "${args[@]}"
    expect_contains "$stderr" "nothing left to do"
}

@test "a checkpoint that the disk spoils never gets its name; the one before it stays" {
    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    args=("${small[@]}" --steps 10 --save-every 5 -o run b.tfs)
    spoil=(env "LD_PRELOAD=$TF_BUILD/tests/faults/shim.so" TF_FAULT_CALLS=write TF_FAULT_DO=spoil)
    "${spoil[@]}" TF_FAULT_REPORT=writes tf-train "${args[@]}"
    read -r writes _ <writes
    reported=0
    for at in $(seq "$writes"); do
        rm -rf run
        run --separate-stderr "${spoil[@]}" "TF_FAULT_AT=$at" tf-train "${args[@]}" </dev/null
        for f in run/*.tfm; do
            [ ! -e "$f" ] || tf-cbor check "$f"
        done
        case $stderr in
            *"reading back the new file"*)
                expect_status 1
                [ -z "$(find run -name '.tf-*')" ]
                reported=$((reported + 1)) ;;
        esac
    done
    [ "$reported" -ge 1 ] # writes to the log come at any time between
}

@test "a call on the directory of a run fails: status 1 and the file, or the run does without" {
    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=10 end=0 >part.tfs
    args=("${small[@]}" --steps 12 --save-every 4 --keep 1 --valid v.tfs --valid-every 4 -o run)
    tf-train "${args[@]}" part.tfs || true
    mv run half # a regular checkpoint, best.tfm and resume.tfm
    rm -rf run; cp -r half run; rm run/resume.tfm run/best.tfm
    mv run no-best
    cp -r half run
    tf-train "${args[@]}" b.tfs
    mv run whole
    rm -rf run; cp -r whole run; rm run/best.tfm
    mv run finished
    while read -r from call of at status_of message; do
        # "a-b": the first of these calls with that message; its number depends on the plugins.
        # "a+": that one and all that follow.
        numbers=("$at")
        [[ $at != *-* ]] || mapfile -t numbers < <(seq "${at%-*}" "${at#*-}")
        for n in "${numbers[@]}"; do
            rm -rf run
            cp -r "$from" run
            run --separate-stderr env "LD_PRELOAD=$TF_BUILD/tests/faults/shim.so" \
                "TF_FAULT_CALLS=$call" "TF_FAULT_OF=$of" "TF_FAULT_AT=$n" TF_FAULT_DO=EIO \
                tf-train "${args[@]}" b.tfs </dev/null
            [[ $stderr != *"$message: Input"* ]] || break
        done
        echo "$from, $call $of $n" >&2
        expect_status "$status_of"
        [ -z "$message" ] || expect_contains "$stderr" "$message: Input/output error"
        if [ "$status_of" -ne 0 ]; then
            # It stops there: it does not complete the run, and deletes nothing that this may need.
            [[ $stderr != *"finished at"* && $stderr != *"nothing left"* ]]
            [[ $from != half || -e run/resume.tfm ]]
            [[ $from != half || -e run/ckpt-00000008.tfm || $message == run/resume.tfm* ]]
        fi
        # What the failure left, the next start completes.
        t 0 tf-train "${args[@]}" b.tfs
        cmp run/ckpt-00000012.tfm whole/ckpt-00000012.tfm
        cmp run/best.tfm whole/best.tfm
    done <<'EOF'
half opendir * 1 0
half opendir * 2 1 run
half opendir * 3 1 run
half readdir * 1-40 1 run
half mkdir * 1 1 run: mkdir
half fsync * 1 1 run: fsync of its directory
half fsync * 1-9 1 run/log.jsonl: sync
half flock * 1 1 run/lock: flock
half ftruncate * 1 1 run/lock: write
half pwrite * 1 1 run/lock: write
half read * 1 1 run/log.jsonl: read
half read * 10 1 run/log.jsonl: read
half read * 1-40 1 run/resume.tfm: read
half open resume.tfm 1 1 run/resume.tfm
half open resume.tfm 2 1 run/resume.tfm
half open best.tfm 1 1 run/best.tfm
no-best open ckpt-* 1 1 run/ckpt-00000008.tfm
half stat lock 1-40 1 run/lock
half stat * 1-40 1 run/log.jsonl
half open log.jsonl 1 1 run/log.jsonl
half open log.jsonl 2 1 run/log.jsonl
half open log.jsonl 3 1 run/log.jsonl
half open log.jsonl 4 1 run/log.jsonl
half open .tf-ckpt-* 1 1 run/ckpt-00000012.tfm: cannot create a temporary file in its directory
half open .tf-log.jsonl.* 1 1 run/log.jsonl: cannot create a temporary file in its directory
half write * 1 1 run/log.jsonl: write
half write * 2 1 run/log.jsonl: write
half write * 1-40 1 run/ckpt-00000012.tfm: write
half rename log.jsonl 1 1 run/log.jsonl: rename
half rename ckpt-* 1 1 run/ckpt-00000012.tfm: rename
half rename best.tfm 1 1 run/best.tfm: rename
half link * 1 0
half unlink ckpt-* 1 1 run/ckpt-00000008.tfm: unlink
half unlink resume.tfm 1 1 run/resume.tfm: unlink
half thread * 1+ 0
half thread,rename ckpt-* 1+ 1 run/ckpt-00000012.tfm: rename
no-best rename best.tfm 1 1 run/best.tfm: rename
finished rename best.tfm 1 1 run/best.tfm: rename
EOF
}

@test "a checkpoint without one of its tensors or records: refused by the name of that" {
    args=("${small[@]}" --steps 5 --save-every 5 -o run)
    tf-train "${args[@]}" b.tfs
    tf-cbor json run/ckpt-00000005.tfm >whole
    for name in p/dec.0.ff.2.b m/enc.0.ff.1.w v/dec.0.ff.2.b; do
        # Without the fingerprint of its weights, which a custom writer may leave out, too.
        grep -v "\"name\":\"$name\"" whole | sed '/"kind":/ s/"model":"[^"]*",*//' >part
        [ "$(($(wc -l <whole) - $(wc -l <part)))" -eq 1 ]
        tf-cbor unjson part >run/ckpt-00000005.tfm
        t 1 tf-train "${small[@]}" --steps 10 -o run b.tfs
        expect_contains "$stderr" "${name#*/}"
    done
}

@test "a checkpoint that records shards which no run has: refused by name" {
    tf-train "${small[@]}" --shards 4 --steps 5 -o run b.tfs
    tf-cbor json run/ckpt-00000005.tfm | sed 's/"shards":4/"shards":3/' >part
    tf-cbor unjson part >run/ckpt-00000005.tfm
    t 1 tf-train "${small[@]}" --steps 10 -o run b.tfs
    expect_error "tf-train: run/ckpt-00000005.tfm: shards: 3 is not a power of two"
}

@test "a lock removed while a checkpoint gets its name: 75, whatever the second run did to the file" {
    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    args=("${small[@]}" --steps 10 --save-every 5 -o run b.tfs)
    env "LD_PRELOAD=$TF_BUILD/tests/faults/shim.so" TF_FAULT_CALLS=rename TF_FAULT_AT=1 \
        TF_FAULT_DO=stop tf-train "${args[@]}" </dev/null 2>err &
    pid=$!
    wait_for grep -q '^State:.T' /proc/$pid/status
    rm run/lock
    t 0 tf-train "${args[@]}" # it removes the temporary files of runs that it takes for killed
    cp -r run second
    kill -CONT $pid
    status=0
    wait $pid || status=$?
    expect_status 75
    expect_contains "$(<err)" "tf-train: run/lock: removed or replaced, so that another run may use"
    diff -r run second
}

@test "no memory for the table of options: the tool says so under its name" {
    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    for n in 1 2 3; do
        t 1 env "LD_PRELOAD=$TF_BUILD/tests/faults/shim.so" TF_FAULT_CALLS=malloc TF_FAULT_AT=$n \
            TF_FAULT_DO=ENOMEM tf-train "${small[@]}" --steps 5 -o run b.tfs
        [[ $stderr == 'tf-train: '*memory* ]]
    done
}

@test "an average of what is not there" {
    t 1 tf-avgckpt -n 5 nowhere
    expect_error "tf-avgckpt: nowhere: No such file or directory"
}

@test "an average of a directory that cannot be read to its end: 1, whatever was read before" {
    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    tf-train "${small[@]}" --steps 6 --save-every 2 -o run b.tfs
    for n in 1 3 5; do # of ., .., three checkpoints, lock and log
        t 1 env "LD_PRELOAD=$TF_BUILD/tests/faults/shim.so" TF_FAULT_CALLS=readdir "TF_FAULT_AT=$n" \
            TF_FAULT_DO=EIO tf-avgckpt -n 1 run -o model.tfm
        expect_error "tf-avgckpt: run: Input/output error"
        [ ! -e model.tfm ]
    done
}

# The rows of tests/faults, a few of their points each. What could not be run is printed; the test
# is skipped if that is all of it.
short() {
    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    local rc=0
    timeout -k 10 1100 "$TOP/tests/faults/run" --short --tmp "$T/faults" "$@" >out || rc=$?
    cat out
    [ "$rc" -eq 0 ]
    grep -E ': note: .*(nothing was run|was not run)' out | sed 's/^/# /' >&3 || true
    grep -v ': note: ' out | grep -qv ': nothing run; ' ||
        skip "nothing was run: $(sed -n 's/.*: note: //p' out | head -n 1)"
}

@test "a tool that fails undisturbed, and one without a call to strike: their row fails" {
    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    rows() { t 1 env "$1" "$TOP/tests/faults/run" --short --tmp "$T/faults" "$2"; }
    mkdir bin
    ln -s "$TF_BIN"/tf-* bin/
    rm bin/tf-evalb
    printf '#!/bin/sh\ncase $1 in -*) ;; *) exit 3 ;; esac\n' >bin/tf-evalb
    chmod +x bin/tf-evalb
    rows TF_BIN="$T/bin" B3
    expect_contains "$stderr" "the undisturbed run failed: tf-evalb $T/faults/material/trees"
    cc -shared -fPIC -o shim.so -x c - <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void nothing(void)
{
    const char *report = getenv("TF_FAULT_REPORT");
    if (report != NULL)
        fputs("0 0\n", fopen(report, "w"));
}
C
    rows TF_SHIM="$T/shim.so" B3
    [[ $stderr == *"B3: FAILED: tf-tokenize "*", undisturbed: status 0, 0 calls of malloc: "* ]]
}

@test "killed: at random times, at the calls of a save, while it recovers; power cut" {
    need strace
    short A1 A2 A3 A4
}

@test "calls that fail, full disks, no memory, short reads and writes" {
    need strace
    short B1 B2 B3 B4
}

@test "one of several ranks killed, stopped or sent a signal" {
    need mpirun
    short G1 G3
}

@test "several ranks: a wrong bit, a cut wire, other numbers of them, a slow one, one without memory" {
    need mpirun
    short G2 G4 G5 G6 G7
}

@test "stopped, resumed, fed in pieces, refused by name; other threads; NaN" {
    short C1 C2 C3 D2 D3 F1 F2
}

@test "histories of a run: kills, power cuts, full disks, other kernels, settings, data and locks" {
    need strace
    short S
}

@test "answers in time, readers and writers that leave, damaged files, layouts of decoding" {
    short E J1 J2 J3 K
}

@test "lines, options, text that is none, locales, places, two trainers" {
    short D1 H1 H2 I1 I2 L1 L2 # D1 with I2: the locales are made once
}

@test "inputs that change while a tool stands before a read; a second user in the directory" {
    short P Q
}

@test "vocabularies of strangers: pieces without bound, tables that lead out of themselves" {
    for i in $(seq 40); do echo "abc bcd cde $i"; done >text
    tf-tokenize --train --vocab-size 30 -o v.model text 2>/dev/null
    "$TF_PYTHON" - <<'PY'
import os, random, struct, sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.environ["TOP"] + "/tests/faults")
from vocabularies import field as item, varint

def fields(m):
    """(number, body or None, as it stands) of each field."""
    at = 0
    def number():
        nonlocal at
        n = shift = 0
        while True:
            b, at = m[at], at + 1
            n |= (b & 127) << shift
            shift += 7
            if b < 128:
                return n
    while at < len(m):
        begin, key = at, number()
        n = number() if key & 7 in (0, 2) else 0
        size = {0: 0, 1: 8, 2: n, 5: 4}[key & 7]
        at += size
        yield key >> 3, m[at - size:at] if key & 7 == 2 else None, m[begin:at]

model = open("v.model", "rb").read()
open("long.model", "wb").write(model + item(1, item(1, b"a" * 4000000) + b"\x15\0\0\x80\xbf"))

def with_table(name, change):
    out = b""
    for number, body, raw in fields(model):
        if number == 3:
            raw = item(3, b"".join(item(2, change(b)) if n == 2 else r for n, b, r in fields(body)))
        out += raw
    open(name, "wb").write(out)

def noise(t):
    r, t = random.Random(1), bytearray(t)
    for _ in range(200):
        i = r.randrange(4, len(t) - 4)
        t[i:i + 4] = struct.pack("<I", r.getrandbits(32))
    return bytes(t)

with_table("same.model", lambda t: t)
with_table("noise.model", noise)
with_table("size.model", lambda t: b"\xff\xff\xff\x7f" + t[4:])
with_table("open.model", lambda t: t[:-1] + b"x")
PY
    cmp v.model same.model
    t 1 tf-tokenize -m long.model text
    expect_error "long.model: SentencePiece model with a piece of 4000000 bytes, at most 2048"
    for m in noise size open; do
        t 1 tf-tokenize -m $m.model text
        expect_error "$m.model: SentencePiece model with a damaged normalisation table"
    done
}

@test "the cost of hostile input, old files" {
    short R T
}
