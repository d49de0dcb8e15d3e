#!/usr/bin/env bats
# Pipes of tools on a terminal: one of them shows progress, and nobody does among lines of text.
load helper
load translate

setup_file() {
    make_model
    for _ in $(seq 40); do cat text; done >long
    tf-tokenize -m vocab long >long.tfs
    export D=$BATS_FILE_TMPDIR
}

# Run a line of shell as the foreground job of a terminal; type each further argument as a line and
# wait for its echo and the answer; at last end the input. Print what the terminal shows, with ESC[K
# as <K> and carriage returns as newlines, and the status.
on_terminal() {
    "$TF_PYTHON" - "$@" <<'PY'
import os, pty, sys
command, typed = sys.argv[1], sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp("timeout", ["timeout", "--foreground", os.environ.get("TF_TIMEOUT", "60"), "bash", "-o", "pipefail", "-c", command])
shown = b""

def read(lines):
    global shown
    start = len(shown)
    while shown.count(b"\n", start) < lines:
        try:
            got = os.read(fd, 65536)
        except OSError:  # the last process has closed the terminal
            return
        if not got:
            return
        shown += got

for line in typed:
    os.write(fd, line.encode() + b"\n")
    read(2)
if typed:
    os.write(fd, b"\4")
read(float('inf'))
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(shown.decode().replace("\r\n", "\n").replace("\x1b[K", "<K>").replace("\r", "\n"))
print("status", status)
PY
}

@test "a stream is never read from a terminal; text is" {
    cd "$D"
    for command in "tf-batch" "tf-batch - long.tfs" "tf-decode --device cpu -m $MODEL" \
        "tf-score --device cpu -m $MODEL" "tf-attn --device cpu -m $MODEL" "tf-cbor check" \
        "tf-tokenize -d -m vocab" "tf-info -" "tf-avgckpt -" "tf-plot attention -"; do
        on_terminal "$command | cat >$T/out" >"$T/shown"
        cat "$T/shown"
        grep -q "^tf-[a-z]*: stdin is a terminal: a stream.* is required$" "$T/shown"
        grep -q '^status 2' "$T/shown"
    done
    on_terminal "tf-batch >$T/out" | grep "stdin is a terminal: a stream of kind "
    for input in /dev/tty /dev/stdin /dev/fd/0; do
        on_terminal "tf-cbor check $input | cat >$T/out" >"$T/shown"
        cat "$T/shown"
        grep -q "^tf-cbor: $input is a terminal: a stream is required$" "$T/shown"
        grep -q '^status 2' "$T/shown"
    done
    on_terminal "tf-convert - >$T/out" | grep "stdin is a terminal: a model is required"
    on_terminal "tf-train -o run" | grep "stdin is a terminal: a batch stream is required (see tf-batch)"
}

@test "a stream is never written to a terminal" {
    cd "$D"
    for output in - /dev/stdout /dev/fd/1 /dev/tty; do
        on_terminal "tf-cbor head -n 1 -o $output long.tfs" >"$T/shown"
        cat -A "$T/shown"
        grep -q "^tf-cbor: ${output/#-/stdout}: will not write binary data to a terminal$" "$T/shown"
        grep -q '^status 2' "$T/shown"
    done
}

trainer_shows() {
    local steps=${TF_EMULATOR:+100}
    rm -rf "$T/run"
    on_terminal "tf-batch --epochs 0 --tokens 200 long.tfs long.tfs | { until read -t 0; do sleep 0.01; done; tf-train --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --device cpu --steps ${steps:-1000} -o $T/run; }" >"$T/shown"
    cat "$T/shown"
    # The endless stream fills the pipe before tf-train starts, which shows its steps after it.
    grep -q '^status 0' "$T/shown" &&
        grep -q '^<K>tf-batch: epoch 0, batch' "$T/shown" &&
        grep -q '^<K>tf-train: step ' "$T/shown" &&
        ! sed '1,/^<K>tf-train: step /d' "$T/shown" | grep 'tf-batch: epoch'
}

@test "tf-batch is silent while tf-train shows progress" {
    cd "$D"
    # Of two tools the one with the higher process id shows progress. Where the ids started from the
    # lowest again meanwhile, that may have been the other one: once more.
    id() { bash -c 'echo $$'; }
    local before
    before=$(id)
    trainer_shows || { [ "$(id)" -lt "$before" ] && trainer_shows; }
}

@test "nobody shows progress among lines that are typed or written to the terminal" {
    cd "$D"
    local translate='tf-tokenize -m vocab | tf-decode --device cpu -m '$MODEL' | tf-tokenize -d -m vocab'
    on_terminal "$translate" "a b c" "b b" >"$T/shown"
    cat -A "$T/shown"
    [ "$(grep -v '^$' "$T/shown")" = $'a b c\na b c\nb b\nb b\nstatus 0' ]
    on_terminal "tf-tokenize -m vocab lines.txt | tf-decode --device cpu --window 4 -m $MODEL | tf-tokenize -d -m vocab" >"$T/shown"
    cat -A "$T/shown"
    sed '1,/^<K>[abc]/d' "$T/shown" >"$T/rest"
    run -1 grep tf-decode "$T/rest"
    [ "$(grep -c '^\(<K>\)*[abc ]*$' "$T/shown")" -ge 58 ]
}

@test "a line of progress is cleared before the message of another tool" {
    cd "$D"
    { cat lines.txt; printf '\377\n'; } >bad.txt
    on_terminal "{ cat lines.tfs; until [ -s $T/out ]; do sleep 0.1; done; tf-tokenize --bad fail -m vocab bad.txt; } | tf-decode --device cpu -m $MODEL | cat >$T/out" >"$T/shown"
    cat -A "$T/shown"
    grep -q '^<K>tf-decode: .* lines, ' "$T/shown"
    # Of the two that report the line, the first clears the other's progress.
    grep -m 1 'bad.txt: line 60: invalid UTF-8' "$T/shown" | grep -q '^<K>tf-'
}

@test "tf-tokenize -d that writes to the terminal has the lock of text, in its sandbox too" {
    cd "$D"
    cat >"$T/locked" <<'PY'
import fcntl, os, struct, sys
text, job = 1 << 31, 1 << 32  # base/terminal.c
lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, os.getpgrp() * job + text, job - text, 0)
sys.exit(struct.unpack("hhqqi4x", fcntl.fcntl(2, fcntl.F_GETLK, lock))[0] == fcntl.F_UNLCK)
PY
    on_terminal "{ cat lines.tfs; until $TF_PYTHON $T/locked; do sleep 0.1; done; } | tf-tokenize -d -m vocab" >"$T/shown"
    tail -n 3 "$T/shown"
    grep -q '^status 0' "$T/shown"
}
