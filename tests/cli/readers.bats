#!/usr/bin/env bats
# Pipes whose reader leaves: success for the tool that writes, as tf(7) says, and the status of a
# pipeline is that of its reader. A disk that is full is an error.
load helper
load translate

setup_file() {
    make_model
    echo '(S (NP (NN dog)) (VP (VB barks)))' >trees
    printf '0\t1\t-1\ta\n' >lists
    tf-batch -q --epochs 9 --tokens 400 lines.tfs lines.tfs >batches.tfs
    tf-attn -m "$MODEL" lines.tfs >attention.tfs
    tf-cbor json lines.tfs >lines.jsonl
    export D=$BATS_FILE_TMPDIR
}

# Run a command whose stdout is a pipe that nobody reads, with the given action for SIGPIPE
# (default or ignored); print its status, and its stderr after it.
unread() {
    "$TF_PYTHON" - "$@" <<'PY'
import os, signal, subprocess, sys
r, w = os.pipe()
os.close(r)
action = {"default": signal.SIG_DFL, "ignored": signal.SIG_IGN}[sys.argv[1]]
p = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=w, stderr=subprocess.PIPE,
                   restore_signals=False, preexec_fn=lambda: signal.signal(signal.SIGPIPE, action))
print(p.returncode, p.stderr.decode(), end="")
PY
}

# Give each command that writes to stdout to a function.
each_writer() {
    "$1" tf-tokenize -m vocab lines.txt
    "$1" tf-tokenize -d -m vocab lines.tfs
    "$1" tf-tokenize --pieces -m vocab lines.txt
    "$1" tf-tokenize --export-vocab -m vocab
    "$1" tf-batch -q lines.tfs lines.tfs
    "$1" tf-batch -q --epochs 5 lines.tfs lines.tfs
    "$1" tf-batch -q --epochs 0 lines.tfs lines.tfs
    "$1" tf-avgckpt run/ckpt-00000400.tfm
    "$1" tf-decode -m "$MODEL" lines.tfs
    "$1" tf-score -q -m "$MODEL" lines.tfs lines.tfs
    "$1" tf-score -q -m "$MODEL" --text lines.tfs lines.tfs
    "$1" tf-attn -m "$MODEL" lines.tfs
    "$1" tf-bleu lines.txt -i lines.txt
    "$1" tf-rerank lists
    "$1" tf-tree trees
    "$1" tf-tree -l trees
    "$1" tf-evalb trees trees
    "$1" tf-plot curve run/log.jsonl
    "$1" tf-plot attention attention.tfs
    "$1" tf-cbor count lines.tfs
    "$1" tf-cbor json lines.tfs
    "$1" tf-cbor head lines.tfs
    "$1" tf-cbor unjson lines.jsonl
    "$1" tf-cbor seal lines.tfs
    "$1" tf-convert "$MODEL"
    "$1" tf-info "$MODEL"
    "$1" tf-info --devices
    "$1" tf-info --help
}

expect_left() {
    local action
    for action in default ignored; do
        output=$(unread $action "$@")
        [ "$output" = "0 " ] || { echo "$*: SIGPIPE $action: $output" >&2; return 1; }
    done
}

expect_full() {
    sh_t 1 '"$@" >/dev/full' "$@"
    expect_contains "$stderr" "No space left on device"
}

@test "every tool that writes: a reader that has left is success, and silent" {
    natively
    cd "$D"
    each_writer expect_left
}

@test "every tool that writes: a full disk is an error" {
    cd "$D"
    each_writer expect_full
}

@test "pipefail: training that needs only the first batches, and head" {
    cd "$D"
    local small="--preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --device cpu"
    sh_t 0 "tf-batch -e 5000 --tokens 40 lines.tfs lines.tfs | tf-train $small --steps 3 -o $T/run"
    [ -e "$T/run/ckpt-00000003.tfm" ]
    expect_contains "$stderr" "tf-batch: "
    sh_t 0 "seq 200000 >$T/many; tf-tokenize -m vocab $T/many | head -c 1 | wc -c"
    expect_output 1
}

@test "pipefail: a reader that fails or is killed decides the status of the pipeline" {
    cd "$D"
    sh_t 2 'tf-batch -q -e 5000 lines.tfs lines.tfs | tf-train --no-such-option'
    expect_error "--no-such-option"
    sh_t 137 'tf-batch -q -e 5000 lines.tfs lines.tfs | sh -c '\''kill -9 $$'\'
    # In the middle of a pipeline, it ends the stream early for the last tool.
    sh_t 1 'tf-batch -q -e 5000 lines.tfs lines.tfs | sh -c '\''head -c 3000; kill -9 $$'\'' | tf-cbor count'
    expect_contains "$stderr" "truncated"
}

@test "a failure stays a failure when the reader has left" {
    cd "$D"
    printf 'a\n\377\n' >bad
    output=$(unread default tf-tokenize --bad fail -m vocab bad)
    expect_contains "$output" "1 tf-tokenize: bad: line 2: invalid UTF-8"
    head -c 300 lines.tfs >cut.tfs
    output=$(unread default tf-tokenize -d -m vocab cut.tfs)
    expect_contains "$output" "1 tf-tokenize: cut.tfs: "
}

@test "of two outputs, the other would be incomplete: an error" {
    cd "$D"
    output=$(unread default tf-tree -l -w - -o "$T/labels" trees)
    expect_contains "$output" "1 tf-tree: stdout: write: Broken pipe"
    [ ! -e "$T/labels" ]
}

@test "training continues when the reader of --log leaves" {
    cd "$D"
    output=$(unread default tf-train -q --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 \
        --device cpu --steps 5 --log - --log-every 1 -o "$T/run" batches.tfs)
    [ "${output:0:2}" = "0 " ] || { echo "$output" >&2; return 1; }
    [ "$(grep -c '"event":"step"' "$T/run/log.jsonl")" -eq 5 ]
}
