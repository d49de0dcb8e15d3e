#!/usr/bin/env bats
# tf-train: the same bytes whatever happens in between, and a clear end whatever goes wrong.
bats_require_minimum_version 1.5.0
load helper

prepare() {
    need "$TF_PYTHON"
    batches n=40 >b.tfs
}

# A model of 1+1 layers and width 16: a run of 40 updates takes a few hundredths of a second.
small=(--preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --dropout 0.1 --attention-dropout \
    0.1 --warmup 20 --device cpu)

train() {
    tf-train "${small[@]}" "$@"
}

# For `t` and `sh_t`, which start commands of their own.
tr_t() {
    local want=$1
    shift
    t "$want" tf-train "${small[@]}" "$@"
}

sum() {
    sha256sum <"$1" | cut -d' ' -f1
}

# As messages show a hash.
short() {
    sum "$1" | cut -c1-12
}

# Wait until the log of a run has a line about this update.
wait_step() {
    wait_for grep -qs "\"event\":\"step\",\"step\":$2," "$1/log.jsonl"
}

@test "any number of threads gives the same bytes" {
    for n in 1 2 5; do
        train --threads $n --steps 24 --save-every 12 --ema 0.9 --clip 1 -o run$n b.tfs
    done
    for n in 2 5; do
        same run1/ckpt-00000012.tfm run$n/ckpt-00000012.tfm
        same run1/ckpt-00000024.tfm run$n/ckpt-00000024.tfm
    done
    run -1 cmp -s run1/ckpt-00000012.tfm run1/ckpt-00000024.tfm
}

@test "neither directory, time zone, locale nor chunks of a pipe are in the bytes" {
    train --steps 10 -o a b.tfs
    mkdir -p deep/er
    (cd deep/er && TZ=Asia/Tokyo LC_ALL=C HOME=/ train --steps 10 -o b - < <(dd if=../../b.tfs \
        bs=7 status=none))
    same a/ckpt-00000010.tfm deep/er/b/ckpt-00000010.tfm
    batches n=40 seed=2 >c.tfs
    train --steps 10 -o c c.tfs
    train --steps 10 --seed 2 -o d b.tfs
    run -1 cmp -s a/ckpt-00000010.tfm c/ckpt-00000010.tfm
    run -1 cmp -s a/ckpt-00000010.tfm d/ckpt-00000010.tfm
}

@test "a stream that breaks off: saved, status 1; the same command with the whole stream resumes to the same bytes" {
    args=(--steps 13 --save-every 5 --accumulate 3 --ema 0.9)
    train "${args[@]}" -o whole b.tfs
    # After so many batches: within an update, at its end, at a regular checkpoint, in the first and
    # in a later epoch.
    for k in 1 2 3 4 8 9 15 16 29 37 38; do
        batches n=$k end=0 >part.tfs
        tr_t 1 "${args[@]}" -o run part.tfs
        expect_contains "$stderr" "part.tfs: truncated after record $k"
        [ -e run/resume.tfm ] || [ -e run/ckpt-00000005.tfm ] || [ $k -lt 3 ]
    done
    train "${args[@]}" -o run b.tfs
    same whole/ckpt-00000013.tfm run/ckpt-00000013.tfm
    same whole/ckpt-00000010.tfm run/ckpt-00000010.tfm
    [ ! -e run/resume.tfm ]
}

@test "stopped after each update in turn: the last checkpoint does not show it" {
    batches n=12 >short.tfs
    train --steps 12 --save-every 4 --valid b.tfs --valid-every 3 -o whole short.tfs
    for k in $(seq 11); do
        rm -rf run
        batches n=$k end=0 >part.tfs
        run train --steps 12 --save-every 4 --valid b.tfs --valid-every 3 -o run part.tfs
        [ "$status" -eq 1 ]
        train --steps 12 --save-every 4 --valid b.tfs --valid-every 3 -o run short.tfs
        same whole/ckpt-00000012.tfm run/ckpt-00000012.tfm
        same whole/best.tfm run/best.tfm
    done
}

@test "killed again and again" {
    batches n=400 >long.tfs
    run_long() { exec tf-train "${small[@]}" --steps 400 --save-every 5 --keep 3 -o run long.tfs; }
    train --steps 400 --save-every 5 --keep 3 -o whole long.tfs
    ended() {
        same whole/ckpt-00000400.tfm run/ckpt-00000400.tfm
        [ -z "$(find run -name '.tf-*')" ]
        # One more when a kill fell between the last save and its deletion of the oldest: a run that
        # is over deletes nothing.
        n=$(ls run/ckpt-*.tfm | wc -l)
        [ $n -eq 3 ] || [ $n -eq 4 ] || { ls run >&2; return 1; }
        # Each update is in the log once.
        grep '"event":"step"' run/log.jsonl | grep -o '"step":[0-9]*,' | sort | uniq -d | wc -l |
            grep -qx 0
    }
    # 0 to 49 ms, in an order that does not depend on the clock. A run that finishes is checked and
    # started again: however
    # fast the machine, there are as many kills.
    kills=0
    for i in $(seq 400); do
        (run_long) 2>/dev/null &
        sleep "0.0$(printf %02d $(((i * 37) % 50)))"
        kill -KILL $! 2>/dev/null || true
        rc=0
        wait $! 2>/dev/null || rc=$?
        if [ $rc -eq 0 ]; then
            ended
            rm -rf run
        else
            [ $rc -eq 137 ] || { echo "status $rc" >&2; return 1; }
            kills=$((kills + 1))
        fi
        [ $kills -lt 50 ] || break
    done
    (run_long)
    ended
    [ $kills -eq 50 ]
}

# The step of a checkpoint.
at_step() {
    tf-info "$1" >info
    grep -qx "step  *$2" info
}

# A run with these options on a pipe that stays open after the first 9 batches, in the background:
# $pid.
begin() {
    mkfifo pipe
    batches n=9 end=0 >nine.tfs
    # The process that started the tests may ignore a signal (nohup does), as a shell does with INT
    # for what it sends to the background.
    env --default-signal=TERM,HUP,INT tf-train "${small[@]}" --log-every 1 --save-every 100 -o run \
        "$@" - <pipe 2>err &
    pid=$!
    exec 7>pipe
    cat nine.tfs >&7
    wait_step run 9
}

ends() {
    rc=0
    wait "$pid" || rc=$?
    exec 7>&-
    [ $rc -eq "$1" ] || { echo "status $rc, expected $1: $(cat err)" >&2; return 1; }
}

@test "TERM, INT, HUP: save, then die of it" {
    train --steps 20 --save-every 100 -o whole b.tfs
    for s in TERM:143 HUP:129 INT:130; do
        begin
        kill -"${s%:*}" "$pid"
        ends "${s#*:}"
        grep -qx "tf-train: stopped at step 9, saved in run/resume.tfm; repeat the command to resume" \
            err
        train --steps 20 --save-every 100 -o run b.tfs
        same whole/ckpt-00000020.tfm run/ckpt-00000020.tfm
        rm -rf run pipe
    done
}

@test "USR2: save and stop with 75; USR1: save and continue" {
    begin
    kill -USR1 "$pid"
    # While the stream gives nothing.
    wait_for test -e run/resume.tfm
    at_step run/resume.tfm 9
    rm run/resume.tfm
    batches n=10 end=0 | tail -c +$(($(stat -c %s nine.tfs) + 1)) >&7
    wait_step run 10
    kill -USR2 "$pid"
    ends 75
    at_step run/resume.tfm 10
}

@test "--save-minutes works while the stream is silent" {
    begin --save-minutes 0.01
    wait_for test -e run/resume.tfm
    kill -USR2 "$pid"
    ends 75
    at_step run/resume.tfm 9
}

@test "signals before the stream has begun: USR1 changes nothing, USR2 ends with 75, TERM as ever" {
    batches n=10 >ten.tfs
    for s in USR1:0 USR2:75 TERM:143; do
        rm -rf run
        mkfifo pipe
        env --default-signal=TERM,USR1,USR2 tf-train "${small[@]}" --steps 10 -o run pipe 2>err &
        pid=$!
        wait_for test -e run/lock
        sleep 0.1
        kill -"${s%:*}" "$pid"
        [ "$s" != USR1:0 ] || timeout 20 cp ten.tfs pipe
        ends "${s#*:}"
        if [ "$s" = USR1:0 ]; then [ -e run/ckpt-00000010.tfm ]; else [ "$(ls run)" = lock ]; fi
        rm pipe
    done
}

@test "the same while --init is read" {
    train --steps 1 -o first b.tfs
    for s in USR1:0 USR2:75; do
        rm -rf run pipe
        mkfifo pipe
        env --default-signal=USR1,USR2 tf-train --device cpu --init pipe --steps 3 -o run b.tfs \
            2>err &
        pid=$!
        exec 7>pipe # returns when it has opened the other end
        kill -"${s%:*}" "$pid"
        [ "$s" != USR1:0 ] || cat first/ckpt-00000001.tfm >&7
        exec 7>&-
        ends "${s#*:}"
    done
}

@test "many shards on few threads: no thread waits for memory that others hold for ever" {
    local last steps=60
    [ -z "${TF_EMULATOR:-}" ] || steps=6 # 8 seconds each
    last=$(printf 'ckpt-%08d.tfm' $steps)
    batches n=60 pairs=80 >wide.tfs
    for threads in 1 2 3; do
        t 0 tf-train -q --preset tiny --layers 2 --d-model 64 --d-ff 128 --heads 2 --device cpu \
            --shards 32 --threads $threads --steps $steps -o run$threads wide.tfs
        same "run1/$last" "run$threads/$last"
    done
}

@test "a save whose cleaning up fails: the message names the file that was written" {
    args=(--steps 20 --save-every 10 --keep 1 -o run)
    mkfifo pipe
    batches n=15 end=0 >some.tfs
    begin_saved
    mkdir run/ckpt-00000005.tfm
    batches n=20 | tail -c +$(($(stat -c %s some.tfs) + 1)) >&7
    ends 1
    expect_contains "$(<err)" "last good checkpoint is run/ckpt-00000020.tfm"
}

@test "provenance after --init: the dialect is the model's, and there is no preset" {
    train --as t2t --steps 1 -o first b.tfs
    tf-train -q --device cpu --init first/ckpt-00000001.tfm --steps 2 --seed 2 -o run b.tfs
    tf-cbor json run/ckpt-00000002.tfm | sed -n 1p >header.json
    "$TF_PYTHON" - <<'PY'
import json
stages = json.loads(open("header.json").read())["header"]["made"]
opts = [s["opts"] for s in stages if s["prog"] == "tf-train"]
assert opts[-1]["as"] == "t2t" and "preset" not in opts[-1], opts[-1]
PY
}

@test "a signal wins over the end of the pipe that comes with it" {
    begin
    kill -STOP "$pid"
    kill -TERM "$pid"
    exec 7>&-
    kill -CONT "$pid"
    ends 143
}

@test "a run that does not record its initial weights has glorot's, or fused as t2t" {
    train --steps 5 --initializer glorot -o run b.tfs
    tf-info --json run/ckpt-00000005.tfm |
        "$TF_PYTHON" -c 'import json, sys; assert "initializer" not in json.load(sys.stdin)["config"]'
    tr_t 1 --steps 8 -o run b.tfs
    expect_error "initializer: 'glorot' in the checkpoint, 'scaled' in this run"
    tr_t 0 --steps 8 --initializer glorot -o run b.tfs
    train --steps 5 --as t2t -o t2t b.tfs
    tr_t 1 --steps 8 --as t2t --initializer scaled -o t2t b.tfs
    expect_error "initializer: 'fused' in the checkpoint, 'scaled' in this run"
}

@test "batches that do not fit the learning rate of the preset: a warning when a run begins" {
    model=(--preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --device cpu -q)
    t 0 tf-train "${model[@]}" --steps 2 -o run b.tfs
    expect_error "warning: updates of up to 25 tokens: the learning rate of preset tiny is for 2000 (tf-batch --preset tiny, or --accumulate 80)"
    t 0 tf-train "${model[@]}" --steps 4 -o run b.tfs
    expect_error "resuming from run/ckpt-00000002.tfm"
    batches setting=30000 >w.tfs
    t 0 tf-train "${model[@]}" --steps 2 -o much w.tfs
    expect_error "updates of up to 30000 tokens: the learning rate of preset tiny is for 2000 (tf-batch --preset tiny)"
    # Within a factor of two, and with a learning rate of one's own, there is nothing to say.
    batches setting=4000 >most.tfs
    batches setting=100 >parts.tfs
    for o in "--clip 1 most.tfs" "--accumulate 10 parts.tfs" "--lr-scale 1 b.tfs" "--warmup 9 b.tfs" \
        "--schedule constant --lr 0.1 b.tfs"; do
        # shellcheck disable=SC2086
        t 0 tf-train "${model[@]}" --steps 1 -o "other${o// /}" $o
        [ -z "$stderr" ]
    done
}

@test "a stream without batches trains nothing: status 1" {
    batches n=0 >none.tfs
    tr_t 1 --steps 10 -o run none.tfs
    expect_error "tf-train: the stream ended before the first update; no checkpoint was saved before"
    batches n=2 >few.tfs
    tr_t 1 --steps 10 --accumulate 3 -o few few.tfs
    expect_contains "$stderr" "2 of 3 batches were not used"
    expect_contains "$stderr" "the stream ended before the first update"
    # The same directory serves the next attempt; a run that has begun may end again where it was.
    train --steps 10 -o run b.tfs
    tr_t 0 --steps 1000 -o run b.tfs
    tr_t 0 --steps 1000 -o run b.tfs
}

@test "no vocabulary to store: a new run warns, once" {
    echo a >va
    batches vocab=va n=40 >named.tfs
    warning="tf-train: warning: no --vocab: the model will carry no vocabulary"
    tr_t 0 --steps 2 -q -o none named.tfs
    expect_error "$warning"
    tr_t 0 --steps 4 -q -o none named.tfs
    run -1 grep -q -e --vocab <<<"$stderr"
    tr_t 0 --steps 2 -q --vocab va -o carried named.tfs
    [ -z "$stderr" ]
    t 0 tf-train --device cpu --steps 2 -q --init carried/ckpt-00000002.tfm -o init named.tfs
    [ -z "$stderr" ]
    t 0 tf-train --device cpu --steps 2 -q --init none/ckpt-00000004.tfm -o init2 named.tfs
    expect_error "$warning"
}

@test "over is over" {
    train --steps 10 -o run b.tfs
    before=$(sum run/ckpt-00000010.tfm)
    tr_t 0 --steps 10 -o run b.tfs
    expect_contains "$stderr" "step 10 of 10 is done: nothing left to do"
    expect_contains "$stderr" "; next: tf-avgckpt -n 1 run -o model.tfm"
    # Options of a different run are refused even though there is nothing to do, and without reading
    # a stream.
    tr_t 1 --steps 10 --seed 9 -o run nowhere.tfs
    expect_error "run/ckpt-00000010.tfm: seed: 1 in the checkpoint, 9 in this run"
    tr_t 1 --steps 10 --d-ff 64 -o run nowhere.tfs
    expect_error "d_ff: "
    tr_t 0 --steps 10 --seed 9 --force -o run nowhere.tfs
    expect_contains "$stderr" "nothing left to do"
    [ "$before" = "$(sum run/ckpt-00000010.tfm)" ]
    tr_t 0 --steps 12 -o run b.tfs
    [ -e run/ckpt-00000012.tfm ]
    # The end of the stream is an end too.
    tr_t 0 --steps 1000 -o run b.tfs
    expect_contains "$stderr" "the stream ended at step 40 of 1000 (tf-batch --epochs 0 repeats the text)"
    [ -e run/resume.tfm ]
    before=$(sum run/resume.tfm)
    tr_t 0 --steps 1000 -o run b.tfs
    [ "$before" = "$(sum run/resume.tfm)" ]
}

@test "a directory in use: 75, and whose it is" {
    begin
    t 75 tf-train "${small[@]}" -o run b.tfs
    expect_error "tf-train: run: in use by process $pid"
    [ "$(cat run/lock)" = "$pid" ] # the one that was refused leaves it
    kill -KILL "$pid"
    ends 137
    [ "$(cat run/lock)" = "$pid" ]
    tr_t 0 --steps 12 --save-every 100 -o run b.tfs
    [ ! -s run/lock ] # by now another program may have the number
}

# A run with $args on `pipe`, which stays open after some.tfs, past step 14 and the save of step 10,
# which is over: $pid.
begin_saved() {
    tf-train "${small[@]}" "${args[@]}" --log-every 1 - <pipe 2>err &
    pid=$!
    exec 7>pipe
    cat some.tfs >&7
    wait_step run 14
    wait_for grep -q '"event":"save","step":10,' run/log.jsonl
}

@test "a lock that is removed lets a second run in; the first saves nothing more, and ends with 75" {
    args=(--steps 20 --save-every 10 -o run)
    train "${args[@]}" -o whole b.tfs
    mkfifo pipe
    batches n=15 end=0 >some.tfs
    for second in no yes; do
        rm -rf run
        begin_saved
        rm run/lock
        [ $second = no ] || train "${args[@]}" b.tfs
        # The run may end before it has read all.
        batches n=20 | tail -c +$(($(stat -c %s some.tfs) + 1)) >&7 || true
        exec 7>&-
        ends 75
        expect_contains "$(<err)" "tf-train: run/lock: removed or replaced, so that another run may use the directory; last good checkpoint is run/ckpt-00000010.tfm"
        [ ! -e run/resume.tfm ]
        tr_t 0 "${args[@]}" b.tfs
        same whole/ckpt-00000020.tfm run/ckpt-00000020.tfm
    done
}

@test "a directory that is moved away: the run ends with 75, and writes nothing to what replaces it" {
    args=(--steps 20 --save-every 10 --keep 1 -o run)
    train "${args[@]}" -o whole b.tfs
    mkfifo pipe
    batches n=15 end=0 >some.tfs
    for what in directory link file; do
        rm -rf run foreign moved
        mkdir foreign
        cp whole/ckpt-00000020.tfm foreign/resume.tfm # what a checkpoint at step 20 would remove
        begin_saved
        touch -d 2001-02-03 foreign
        (cd foreign; find . -printf '%p %s %t\n') >before
        mv run moved
        case $what in
            directory) mv foreign run ;;
            link) ln -s foreign run ;;
            file) echo >run ;;
        esac
        # The run may end before it has read all.
        batches n=20 | tail -c +$(($(stat -c %s some.tfs) + 1)) >&7 || true
        exec 7>&-
        ends 75
        expect_contains "$(<err)" "tf-train: run/lock: removed or replaced, so that another run may use the directory; last good checkpoint is run/ckpt-00000010.tfm"
        # A file made and removed would have changed the time of the directory.
        [ $what = file ] || (cd run; find . -printf '%p %s %t\n') | diff - before
        rm -rf run
        mv moved run
        [ -z "$(find run -name '.tf-*')" ]
        tr_t 0 "${args[@]}" b.tfs
        same whole/ckpt-00000020.tfm run/ckpt-00000020.tfm
    done
}

@test "a process that may not write in the directory cannot lock it" {
    [ "$(id -u)" -eq 0 ] || skip "needs a second user"
    need setpriv
    chmod 755 "$T"
    begin
    run -66 setpriv --reuid=65534 --regid=65534 --clear-groups flock -s run/lock true
    kill -KILL "$pid"
    ends 137
    [ "$(stat -c %a run/lock)" = 600 ]
    tr_t 0 --steps 12 --save-every 100 -o run b.tfs
}

@test "files that no run wrote, under a run's names: refused, and left as they are" {
    mkdir -p run elsewhere
    echo "my diary" >elsewhere/notes
    for name in log.jsonl lock; do
        cp elsewhere/notes run/$name
        tr_t 1 --steps 3 -o run b.tfs
        expect_error "tf-train: run/$name: not written by tf-train: move it, or choose another directory"
        cmp elsewhere/notes run/$name
        ln -sf ../elsewhere/notes run/$name
        tr_t 1 --steps 3 -o run b.tfs
        expect_error "tf-train: run/$name: a symbolic link, not a file of a run"
        [ "$(<elsewhere/notes)" = "my diary" ]
        rm run/$name
        mkfifo run/$name
        tr_t 1 --steps 3 -o run b.tfs
        expect_error "tf-train: run/$name: not a regular file"
        rm run/$name
    done
    for name in ckpt-00000003.tfm best.tfm resume.tfm; do
        mkfifo run/$name
        tr_t 1 --steps 3 -o run b.tfs
        expect_contains "$stderr" "tf-train: warning: run/$name: not a regular file; skipped"
        rm -f run/$name run/log.jsonl
    done
    # A checkpoint takes the place of a link, and what it points to stays.
    ln -s ../elsewhere/notes run/ckpt-00000003.tfm
    ln -s ../elsewhere/none run/resume.tfm
    ln -s ../elsewhere/none run/best.tfm
    tr_t 1 --steps 3 -o run b.tfs
    rm run/ckpt-00000003.tfm
    rm -r run
    begin --steps 10 --valid b.tfs --valid-every 1
    ln -s ../elsewhere/notes run/ckpt-00000010.tfm
    batches n=10 end=0 | tail -c +$(($(stat -c %s nine.tfs) + 1)) >&7
    ends 0
    [ ! -L run/ckpt-00000010.tfm ]
    [ "$(<elsewhere/notes)" = "my diary" ]
    [ "$(ls elsewhere)" = notes ]
    tf-cbor check run/best.tfm
}

@test "what would be another run is refused by name" {
    printf a >va; printf b >vb
    batches vocab=va >v.tfs
    train --steps 5 --vocab va -o run v.tfs
    args=(--steps 8 --vocab va -o run)
    tr_t 1 "${args[@]}" --seed 2 v.tfs
    expect_error "run/ckpt-00000005.tfm: seed: 1 in the checkpoint, 2 in this run (another -o starts a new run; --force continues with the new value)"
    tr_t 1 "${args[@]}" --dropout 0.3 v.tfs
    expect_error "dropout: 0.1 in the checkpoint, 0.3 in this run"
    tr_t 1 "${args[@]}" --warmup 7 v.tfs
    expect_error "warmup: 20 in the checkpoint, 7 in this run"
    tr_t 1 "${args[@]}" --clip 1 v.tfs
    expect_error "clip: 0 in the checkpoint, 1 in this run"
    tr_t 1 "${args[@]}" --d-ff 64 v.tfs
    expect_error "d_ff: 32 in the checkpoint, 64 in this run"
    tr_t 1 "${args[@]}" --initializer glorot v.tfs
    expect_error "initializer: 'scaled' in the checkpoint, 'glorot' in this run"
    batches vocab=va setting=26 >w.tfs
    tr_t 1 "${args[@]}" w.tfs
    expect_error "tokens: 25 in the checkpoint, 26 in the stream"
    batches vocab=va corpus=8 >w.tfs
    tr_t 1 "${args[@]}" w.tfs
    expect_contains "$stderr" "w.tfs: corpus $(printf 'corpus 8' | sha256sum | cut \
        -c1-64) differs from the checkpoint's, $(printf 'corpus 7' | sha256sum | cut -c1-64)"
    batches vocab=vb >w.tfs
    tr_t 1 --steps 8 -o run w.tfs
    expect_error "vocabulary $(short va) differs from that of the stream: $(short vb) (use one vocabulary for all: tf-tokenize -m MODEL)"
    tr_t 1 "${args[@]}" w.tfs
    expect_error "tf-train: va: text, not a vocabulary: not a SentencePiece model"
    batches vocab=va n=3 >w.tfs
    tr_t 1 "${args[@]}" w.tfs
    expect_contains "$stderr" \
        "w.tfs: ends at part 0, batch 3, before the checkpoint's position, part 0, batch 5"
    batches vocab=va first=7 >w.tfs
    tr_t 1 "${args[@]}" w.tfs
    expect_contains "$stderr" \
        "the stream continues at part 0, batch 7, the checkpoint at part 0, batch 5"
    [ "$(ls run)" = $'ckpt-00000005.tfm\nlock\nlog.jsonl' ]
    # A stream from the position of the checkpoint, or from before it, gives the same bytes.
    batches vocab=va first=4 >w.tfs
    cp -r run run2
    train "${args[@]}" w.tfs
    train --steps 8 --vocab va -o run2 v.tfs
    same run/ckpt-00000008.tfm run2/ckpt-00000008.tfm
    tr_t 0 --steps 10 --vocab va -o run --force --seed 2 --dropout 0.3 v.tfs
    # Each difference is reported.
    expect_contains "$stderr" \
        "dropout: 0.1 in the checkpoint, 0.3 in this run; continuing with the new value"
    expect_contains "$stderr" \
        "seed: 1 in the checkpoint, 2 in this run; continuing with the new value"
    tr_t 0 --steps 11 --vocab va -o run --force --seed 3 --dropout 0.2 --clip 1 --relu-dropout 0.1 \
        v.tfs
    for key in seed dropout clip relu_dropout; do expect_contains "$stderr" ": $key: "; done
    tr_t 1 --steps 12 --vocab va -o run --force --seed 3 --dropout 0.3 --d-ff 64 v.tfs
    expect_contains "$stderr" "d_ff: 32 in the checkpoint, 64 in this run (the weights have other shapes; another -o starts a new run)"
}

@test "-0 is 0" {
    train --steps 2 --relu-dropout -0 -o run b.tfs
    train --steps 4 --relu-dropout 0 -o run b.tfs
    train --steps 6 --relu-dropout -0 -o run b.tfs
}

@test "divergence: 3, nothing saved, the last good checkpoint named" {
    tr_t 3 --schedule constant --lr 1e13 --warmup 0 --steps 40 --save-every 1 -o run b.tfs
    expect_error "tf-train: diverged at step"
    expect_contains "$stderr" "last good checkpoint is run/ckpt-0000000"
    [[ $stderr != *-nan* ]]
    tf-cbor check "$(sed 's/.*checkpoint is //' <<<"$stderr")"
    tr_t 3 --schedule constant --lr 1e30 --warmup 0 --steps 40 -o none b.tfs
    expect_contains "$stderr" "no checkpoint was saved before"
    [ "$(ls none)" = $'lock\nlog.jsonl' ]
}

@test "streams that cannot be trained on" {
    batches poison=3 >x.tfs
    tr_t 1 -o run x.tfs
    expect_error "x.tfs"
    batches gap=3 >x.tfs
    tr_t 1 -o run2 x.tfs
    expect_error "x.tfs: batch 4, expected batch 3; last good checkpoint is run2/resume.tfm"
    batches bad=1 >x.tfs
    tr_t 1 -o run3 x.tfs
    expect_error "a bad record (line 5: not UTF-8) in a batch stream"
    tr_t 1 --positions learned --max-positions 6 -o run4 b.tfs
    expect_error "the model has 6 learned positions"
    : >x.tfs
    tr_t 1 -o run5 x.tfs
    expect_error "x.tfs: truncated: no stream"
    batches size=0 >x.tfs
    tr_t 2 -o run6 x.tfs
    expect_error "--vocab-size is required"
    tr_t 0 --vocab-size 64 --steps 3 -o run6 x.tfs
    tr_t 2 --vocab-size 63 -o run7 b.tfs
    expect_error "--vocab-size 63: the stream's vocabulary has 64"
    echo text >x.tfs
    tr_t 1 -o run8 x.tfs
    expect_error "x.tfs"
    cat run/ckpt-* run6/ckpt-* >x.tfs 2>/dev/null || true
    tr_t 1 -o run9 x.tfs
    expect_error "checkpoint"
}

@test "parts of a stream follow each other" {
    batches n=6 >p1
    batches n=6 seed=3 >p2
    cat p1 p2 >x.tfs
    train --steps 12 --save-every 100 -o whole x.tfs
    train --steps 8 --save-every 100 -o run x.tfs
    cp -r run run2
    train --steps 12 --save-every 100 -o run2 x.tfs
    same whole/ckpt-00000012.tfm run2/ckpt-00000012.tfm
    # The batches of one part are not taken for those of the next.
    batches n=0 >p0
    cat p1 p0 >x.tfs
    tr_t 1 --steps 12 -o run x.tfs
    expect_contains "$stderr" \
        "x.tfs: ends at part 1, batch 0, before the checkpoint's position, part 1, batch 2"
    expect_contains "$stderr" "in part 1 of the stream: those before it are skipped"
}

@test "another corpus that is too short: part, batch, and how to start over" {
    train --steps 5 -o run b.tfs
    batches n=3 corpus=8 >c.tfs
    tr_t 1 --force --steps 8 -o run c.tfs
    expect_contains "$stderr" "c.tfs: ends at part 0, batch 3, before the checkpoint's position, part 0, batch 5 (to start over, use --init in a new directory)"
}

@test "--force leaves a trace of what it overrode, once" {
    train --steps 5 -o as_it_was b.tfs
    batches n=40 corpus=8 >c.tfs
    stages() { tf-info --json "$1" | "$TF_PYTHON" -c 'import json, sys; print([x["prog"] for x in json.load(sys.stdin)["made"]].count("tf-train"))'; }
    # Options, the stream, stages of tf-train in the end.
    for row in ":b:1" "--seed 2:b:2" ":c:2"; do
        IFS=: read -r options stream want <<<"$row"
        for stops in "10" "7 8 10"; do
            rm -rf run
            cp -r as_it_was run
            # shellcheck disable=SC2086
            for steps in $stops; do train --force --steps $steps $options -o run $stream.tfs \
                2>err; done
            [ "$(stages run/ckpt-00000010.tfm)" -eq "$want" ]
            mv run/ckpt-00000010.tfm "${stops// /-}.tfm"
        done
        same 10.tfm 7-8-10.tfm
    done
    tr_t 0 --force --steps 6 -o as_it_was c.tfs
    expect_contains "$stderr" \
        "warning: c.tfs: the corpus differs from the checkpoint's; continuing with the new one"
}

# Sets that this machine has, other than that of its checkpoint; the first is always there.
@test "other kernels on resumption: refused by name; with --force in the log and the provenance" {
    export TF_CPU_ISA=generic
    train --steps 5 -o run b.tfs
    cp run/ckpt-00000005.tfm before
    tr_t 0 --steps 5 -o run b.tfs
    unset TF_CPU_ISA
    tr_t 1 --device ref --steps 8 -o run b.tfs
    expect_error "run/ckpt-00000005.tfm: kernels: 'generic' in the checkpoint, 'ref' in this run (another -o starts a new run; --force continues with the new value)"
    for set in avx2 avx512 openblas; do
        TF_CPU_ISA=$set train --steps 1 -o "$set" b.tfs 2>missing || {
            expect_contains "$(cat missing)" "$set"
            continue
        }
        TF_CPU_ISA=$set tr_t 1 --steps 8 -o run b.tfs
        expect_contains "${stderr,,}" "kernels: 'generic' in the checkpoint, '$set"
    done
    same before run/ckpt-00000005.tfm
    tr_t 0 --device ref --steps 8 --force -o run b.tfs
    expect_contains "$stderr" "kernels: 'generic' in the checkpoint, 'ref' in this run; continuing"
    expect_contains "$(grep '"event":"start"' run/log.jsonl | tail -n 1)" '"kernels":"ref"'
    expect_contains "$(tf-info --json run/ckpt-00000008.tfm | "$TF_PYTHON" -c '
import json, sys
print([x.get("kernels") for x in json.load(sys.stdin)["made"] if x["prog"] == "tf-train"])')" \
        "[None, 'ref']"
    TF_CPU_ISA=generic tr_t 1 --steps 9 -o run b.tfs
    expect_error "kernels: 'ref' in the checkpoint, 'generic' in this run"
}

@test "a checkpoint that does not record its kernels continues with any" {
    TF_CPU_ISA=generic train --steps 5 -o run b.tfs
    tf-cbor json run/ckpt-00000005.tfm >new.jsonl
    sed '/"settings"/ s/"kernels":"generic",*//' new.jsonl >old.jsonl
    [ "$(wc -c <new.jsonl)" -gt "$(wc -c <old.jsonl)" ]
    tf-cbor unjson old.jsonl >run/ckpt-00000005.tfm
    tr_t 0 --device ref --steps 8 -o run b.tfs
    TF_CPU_ISA=generic tr_t 1 --steps 9 -o run b.tfs
    expect_error "kernels: 'ref' in the checkpoint, 'generic' in this run"
}

# The largest position that a checkpoint can record is 2^63 - 1, that after batch 2^63 - 2.
@test "counters at the ends of 63 and 64 bits: resumable, or refused with nothing saved" {
    local most=9223372036854775806 name batches
    for name in shift set_epoch set_record; do
        rm -rf run
        [ $name = shift ] && batches=$((most - 5)) || batches=$most
        batches n=6 "$name=$batches" >big.tfs
        tr_t 0 --steps 5 -o run big.tfs
        tr_t 0 --steps 6 -o run big.tfs
        rm -rf whole
        tr_t 0 --steps 6 -o whole big.tfs
        same run/ckpt-00000006.tfm whole/ckpt-00000006.tfm
    done
    for name in ordinal epoch record; do
        for n in 9223372036854775807 9223372036854775808 18446744073709551615; do
            rm -rf run
            case $name in
                ordinal) batches n=1 shift=$n ;;
                *) batches n=1 set_$name=$n ;;
            esac >big.tfs
            tr_t 1 --steps 1 -o run big.tfs
            expect_error "$name $n, maximum $most"
            [ -z "$(find run -name '*.tfm')" ]
        done
    done
    batches n=3 shift=$((most - 1)) >big.tfs
    rm -rf run
    tr_t 1 --steps 3 -o run big.tfs
    expect_contains "$stderr" "ordinal 9223372036854775807, maximum $most"
    [ "$(ls run)" = $'ckpt-00000002.tfm\nlock\nlog.jsonl' ] ||
        [ "$(ls run)" = $'lock\nlog.jsonl\nresume.tfm' ]
}

# A checkpoint as another program may write it, without checks: with_counter NAME VALUE <OLD >NEW
with_counter() {
    "$TF_PYTHON" -c '
import io, sys, cbor2
name, value = sys.argv[1], int(sys.argv[2])
state, _, key = name.rpartition(".")
data = sys.stdin.buffer.read()
f, changed = io.BytesIO(data), 0
while f.tell() < len(data):
    r = cbor2.load(f)
    if isinstance(r, list) and r[0] == 13:
        continue
    if isinstance(r, list) and r[0] in (6, 7, 15):
        r[-1] = None
    if isinstance(r, list) and r[0] == 7 and r[1] == (state or key):
        changed += 1
        if state:
            assert key in r[2]
            r[2][key] = value
        else:
            r[2] = value
    cbor2.dump(r, sys.stdout.buffer)
assert changed == 1' "$@"
}

@test "every counter of a checkpoint at the ends of 63 and 64 bits: refused by name, or resumable" {
    batches n=4 >v.tfs
    args=(--valid v.tfs --valid-every 2 -o run b.tfs)
    train --steps 5 "${args[@]}"
    mv run whole
    for counter in step micro src_tokens tgt_tokens cursor.{part,ordinal,epoch,record} \
        best.{valid_step,stale,step}; do
        for n in 9223372036854775807 9223372036854775808 18446744073709551615; do
            rm -rf run
            mkdir run
            with_counter "$counter" "$n" <whole/ckpt-00000005.tfm >run/ckpt-00000005.tfm
            run --separate-stderr tf-train "${small[@]}" --steps 6 "${args[@]}" </dev/null
            case $counter$n in
                cursor.epoch9223372036854775807 | cursor.record9223372036854775807)
                    # The next batch sets them.
                    expect_status 0
                    tr_t 0 --steps 7 "${args[@]}" ;;
                cursor.*9223372036854775807)
                    expect_status 1
                    expect_contains "$stderr" "ends at part 0, batch 40, before the checkpoint" ;;
                *)
                    expect_status 1
                    expect_contains "$stderr" "run/ckpt-00000005.tfm: state"
                    expect_contains "$stderr" "${counter%.*}"
                    expect_contains "$stderr" "none of its 1 checkpoints can be read"
                    [ "$(find run -name '*.tfm')" = run/ckpt-00000005.tfm ] ;;
            esac
        done
    done
}

@test "a validation later than the checkpoint is refused" {
    batches n=4 >v.tfs
    train --steps 5 --valid v.tfs --valid-every 2 -o run b.tfs
    mv run/ckpt-00000005.tfm whole.tfm
    for counter in best.valid_step best.step; do
        with_counter $counter 6 <whole.tfm >run/ckpt-00000005.tfm
        rm -f run/best.tfm
        tr_t 1 --steps 6 -o run b.tfs
        expect_contains "$stderr" "state: best: step"
    done
}

@test "damaged checkpoints: the one before is taken, with a warning; none left: 1" {
    train --steps 15 --save-every 5 -o whole b.tfs
    train --steps 10 --save-every 5 -o run b.tfs
    truncate -s -1 run/ckpt-00000010.tfm
    tr_t 0 --steps 15 --save-every 5 --keep 2 -o run b.tfs
    expect_contains "$stderr" "warning: run/ckpt-00000010.tfm: "
    expect_contains "$stderr" "resuming from run/ckpt-00000005.tfm"
    same whole/ckpt-00000015.tfm run/ckpt-00000015.tfm
    # One whose step cannot be read may be the newest of all: it is reported, and stays.
    batches n=18 end=0 >part.tfs
    tr_t 1 --steps 20 --save-every 5 --keep 2 -o run part.tfs
    truncate -s 100 run/resume.tfm
    tr_t 0 --steps 20 --save-every 5 --keep 2 -o run b.tfs
    expect_contains "$stderr" "warning: run/resume.tfm: truncated"
    expect_contains "$stderr" "resuming from run/ckpt-00000015.tfm"
    [ -e run/resume.tfm ]
    for f in run/*.tfm; do echo >"$f"; done
    tr_t 1 --steps 15 -o run b.tfs
    expect_contains "$stderr" "run: none of its 3 checkpoints can be read"
}

@test "a checkpoint that cannot be read, but may be whole: 1, and no older one takes its place" {
    train --steps 10 --save-every 5 -o run b.tfs
    mkdir disk
    mv run/ckpt-00000010.tfm disk
    cp -r run before
    ln -s ../no-disk/ckpt-00000010.tfm run/ckpt-00000010.tfm
    tr_t 1 --steps 20 --save-every 5 -o run b.tfs
    expect_error "tf-train: run/ckpt-00000010.tfm: No such file or directory; to resume from an older checkpoint, move it away"
    same before/log.jsonl run/log.jsonl
    # A link to the damaged file is damage.
    mkdir no-disk
    head -c 1000 disk/ckpt-00000010.tfm >no-disk/ckpt-00000010.tfm
    tr_t 0 --steps 5 --save-every 5 -o run b.tfs
    expect_contains "$stderr" "warning: run/ckpt-00000010.tfm: truncated"
    [ -z "${TF_SAN:-}" ] || skip "the sanitizer does not run under strace"
    need strace
    cp disk/ckpt-00000010.tfm no-disk
    for failure in "openat EACCES Permission denied" "read EIO Input/output error"; do
        read -r call error text <<<"$failure"
        t 1 strace -f -qq -o /dev/null -P "$T/no-disk/ckpt-00000010.tfm" -P ckpt-00000010.tfm \
            -e "trace=$call" -e "inject=$call:error=$error" tf-train "${small[@]}" --steps 20 \
            --save-every 5 -o run b.tfs
        expect_contains "$stderr" "tf-train: run/ckpt-00000010.tfm: "
        expect_contains "$stderr" "$text; to resume from an older checkpoint, move it away"
        [ "$(cd run && echo ckpt*)" = "ckpt-00000005.tfm ckpt-00000010.tfm" ]
    done
    tr_t 0 --steps 20 --save-every 5 -o run b.tfs
    expect_contains "$stderr" "resuming from run/ckpt-00000010.tfm"
}

@test "names of checkpoints: another step inside is refused, other ways to write a number are no names" {
    train --steps 15 --save-every 5 -o run b.tfs
    cp run/ckpt-00000005.tfm run/ckpt-00000099.tfm
    tr_t 1 --steps 20 --save-every 5 -o run b.tfs
    expect_error "tf-train: run/ckpt-00000099.tfm: the name is that of step 99, but it contains step 5; move it away"
    mv run/ckpt-00000099.tfm run/ckpt-99999999999999999999.tfm
    cp run/ckpt-00000005.tfm run/ckpt-000000016.tfm
    tr_t 0 --steps 20 --save-every 5 --keep 1 -o run b.tfs
    expect_contains "$stderr" "resuming from run/ckpt-00000015.tfm"
    [ "$(cd run && echo ckpt*)" = \
        "ckpt-000000016.tfm ckpt-00000020.tfm ckpt-99999999999999999999.tfm" ]
}

@test "validation: best.tfm, early stopping, and all that is in the log" {
    args=(--steps 40 --save-every 6 --valid v.tfs --valid-every 3 --patience 3 --keep 2 --schedule \
        constant --lr 0.1 --warmup 0)
    batches n=5 seed=9 >v.tfs
    train "${args[@]}" --log extra.jsonl -o run b.tfs 2>err
    best=$(grep '"best":true' run/log.jsonl | tail -1 | grep -o '"step":[0-9]*' | cut -d: -f2)
    tf-info run/best.tfm >info
    grep -q "^step  *$best$" info
    last=$(grep '"event":"valid"' run/log.jsonl | tail -1 | grep -o '"step":[0-9]*' | cut -d: -f2)
    [ $((last - best)) -eq 9 ]
    grep -q "stopping at step $last: no improvement since step $best" err
    [ -e "run/ckpt-$(printf %08d "$last").tfm" ]
    cmp run/log.jsonl extra.jsonl
    "$TF_PYTHON" - <<'PY'
import json, math
lines = [json.loads(x) for x in open("run/log.jsonl")]
assert lines[0]["event"] == "start" and lines[-1]["event"] == "end" and lines[-1]["reason"] == "patience", lines[-1]
step = [x for x in lines if x["event"] == "step"][0]
for key in "step epoch loss nll ppl acc lr grad_norm src_tokens tgt_tokens tok_s seconds".split():
    assert key in step, key
valid = [x for x in lines if x["event"] == "valid"]
assert [x["step"] for x in valid] == list(range(3, 3 * len(valid) + 1, 3))
assert all(abs(math.exp(x["nll"]) / x["ppl"] - 1) < 1e-4 for x in valid)
best = math.inf
for x in valid:
    assert x["best"] == (x["ppl"] < best), x
    best = min(best, x["ppl"])
PY
    tr_t 0 "${args[@]}" -o run b.tfs
    expect_contains "$stderr" "no improvement since step $best: nothing left to do"
    train --steps 12 --valid v.tfs --valid-every 3 --best-by acc -o acc b.tfs
    [ -e acc/best.tfm ]
    tr_t 1 --valid nowhere.tfs -o x b.tfs
    expect_error "nowhere.tfs: No such file"
    for o in --patience=3 --valid-every=3 --best-by=acc; do
        tr_t 2 $o -o x b.tfs
        expect_error "tf-train: ${o%=*} requires --valid"
    done
}

@test "the log begins with all that is needed to repeat the run, at each start" {
    printf a >va
    batches n=40 vocab=va >c.tfs
    batches n=5 vocab=va seed=9 >v.tfs
    args=(--vocab va --valid v.tfs --valid-every 4 --save-every 4)
    train --steps 4 --clip 2 "${args[@]}" -o run c.tfs
    train --steps 8 --clip 2 "${args[@]}" -o run c.tfs
    cat >look.py <<'PY'
import hashlib, json, re, sys, time, datetime
lines = [json.loads(x) for x in open("run/log.jsonl")]
one, two = [x for x in lines if x["event"] == "start"]
assert lines[0] is one and one["step"] == 0 and two["step"] == 4
assert "from" not in one and two["from"] == "run/ckpt-00000004.tfm"
for x in one, two:
    then = datetime.datetime.strptime(x["time"] + "+0000", "%Y-%m-%dT%H:%M:%SZ%z").timestamp()
    assert abs(time.time() - then) < 600, x["time"]
    assert x["data"]["corpus"] == hashlib.sha256(b"corpus 7").hexdigest()
    assert x["data"]["vocab"] == hashlib.sha256(b"a").hexdigest()
    assert re.fullmatch("[0-9a-f]{64}", x["data"]["valid"])
    assert x["config"]["d_model"] == 16 and x["config"]["vocab_size"] == 64
    assert x["settings"]["clip"] == 2 and x["settings"]["warmup"] == 20
    assert x["batches"] == {"tokens": 25}
    assert x["made"][-1]["prog"] == "tf-train" and x["version"].startswith(x["made"][-1]["version"])
    assert x["save_every"] == x["valid_every"] == 4 and x["patience"] == 0 and x["keep"] >= 5
    assert x["command"][0].endswith("tf-train") and x["command"][-3:] == ["-o", "run", "c.tfs"]
assert one["steps"] == 4 and two["steps"] == 8
assert {k: one[k] for k in ("config", "settings", "data", "made")} == {k: two[k] for k in ("config", "settings", "data", "made")}
assert one["data"]["valid"] != one["data"]["corpus"]
PY
    t 0 "$TF_PYTHON" look.py
    # The lines of an attempt that left no checkpoint are not those of the next.
    tr_t 3 --schedule constant --lr 1e30 --warmup 0 --steps 40 -o new b.tfs
    train --steps 3 --seed 5 -o new b.tfs
    [ "$(grep -c '"event":"start"' new/log.jsonl)" -eq 1 ]
    grep '"event":"start"' new/log.jsonl | grep -q '"seed":5'
}

# A learning rate at which the small model keeps to one prediction.
collapse=(--schedule constant --lr 0.3 --warmup 0 --valid v.tfs --valid-every 100 --save-every 100)

@test "a collapse: a warning at the second validation, status 0; not in a run that learns" {
    batches n=300 >long.tfs
    batches n=5 seed=9 >v.tfs
    tr_t 0 "${collapse[@]}" --steps 300 -o run long.tfs
    [ "$(grep -c 'has collapsed' <<<"$stderr")" -eq 1 ]
    warning=$(grep 'has collapsed' <<<"$stderr")
    expect_contains "$warning" "tf-train: warning: step 200: the model has collapsed: perplexity "
    expect_contains "$warning" "; run/best.tfm is of step "
    expect_contains "$warning" "; the learning rate peaks at 0.3 in update 1; try a peak of 0.00"
    expect_contains "$warning" "(--lr 0.00"
    # The rate that it names is one that learns.
    lower=$(sed -n 's/.*(--lr \([0-9.]*\)).*/\1/p' <<<"$warning")
    tr_t 0 "${collapse[@]}" --lr "$lower" --steps 300 -o other long.tfs
    [[ $stderr != *collapsed* ]]
    # A run that was stopped in between knows its validations.
    train "${collapse[@]}" --steps 100 -o two long.tfs
    tr_t 0 "${collapse[@]}" --steps 200 -o two long.tfs
    expect_contains "$stderr" "warning: step 200: the model has collapsed"
    same two/ckpt-00000200.tfm run/ckpt-00000200.tfm
    t 2 tf-train --on-collapse stop -o x b.tfs
    expect_error "tf-train: --on-collapse requires --valid"
}

@test "--on-collapse stop: 3, nothing of the collapse saved, and a run that can be used" {
    batches n=300 >long.tfs
    batches n=5 seed=9 >v.tfs
    # With this seed the second validation is the better one; it is not saved.
    stop=("${collapse[@]}" --seed 2 --on-collapse stop --steps 300 -o run)
    for _ in 1 2; do
        tr_t 3 "${stop[@]}" long.tfs
        expect_contains "${stderr_lines[-1]}" "tf-train: step 200: the model has collapsed: "
        [[ $stderr =~ "step 200: validation perplexity "[^$'\n']*"the best so far" ]]
        expect_contains "${stderr_lines[-1]}" "; run/best.tfm is of step 100; "
        [ "$(ls run)" = $'best.tfm\nckpt-00000100.tfm\nlock\nlog.jsonl' ]
        tail -n 1 run/log.jsonl | grep -q '"event":"end","step":200,"reason":"collapse"'
    done
    tf-cbor check run/best.tfm
    at_step run/best.tfm 100
    # On with another rate, and from the best in a new directory.
    tr_t 0 "${stop[@]}" --lr 0.001 --force --steps 200 long.tfs
    [ -e run/ckpt-00000200.tfm ]
    tr_t 0 --steps 10 --init run/best.tfm -o new b.tfs
}

@test "one line for each validation, and a last one with the best and the next command" {
    batches n=5 seed=9 >v.tfs
    args=(--steps 30 --save-every 10 --valid v.tfs)
    tr_t 0 "${args[@]}" -o 'a run' b.tfs
    [ "${#stderr_lines[@]}" -eq 4 ]
    result='validation perplexity [0-9.]+, accuracy [0-9.]+ %; '
    result+='(the best so far|best: perplexity [0-9.]+ at step [0-9]+)'
    for i in 0 1 2; do
        [[ ${stderr_lines[i]} =~ ^"tf-train: step $((i + 1))0: "$result$ ]]
    done
    best=$(grep '"best":true' 'a run/log.jsonl' | tail -n 1 | grep -o '"step":[0-9]*' | cut -d: -f2)
    expect_contains "${stderr_lines[3]}" \
        "tf-train: finished at step 30; best: a run/best.tfm of step $best, perplexity "
    next=$(sed 's/.*; next: //' <<<"${stderr_lines[3]}")
    [ "$next" = "tf-avgckpt -n 3 'a run' -o model.tfm" ]
    bash -c "$next"
    tf-cbor check model.tfm
    tr_t 0 "${args[@]}" --best-by acc -o acc b.tfs
    [[ ${stderr_lines[3]} =~ "best: acc/best.tfm of step "[0-9]+", accuracy "[0-9.]+" %; next: " ]]
    tr_t 0 "${args[@]}" -q -o quiet b.tfs
    [ -z "$stderr" ]
    # Without validation, and with a stream that ends between two checkpoints.
    tr_t 0 --steps 5 --ema 0.9 -o plain b.tfs
    expect_error "tf-train: finished at step 5; last: plain/ckpt-00000005.tfm; next: tf-avgckpt --ema -n 1 plain -o model-2.tfm"
    tr_t 0 --steps 50 -o ends b.tfs
    expect_contains "${stderr_lines[1]}" "tf-train: finished at step 40; last: ends/resume.tfm; next: tf-avgckpt ends/resume.tfm -o model-2.tfm"
}

@test "on a terminal of 80 columns: step, loss, tokens/s and ETA fit, and validations stay" {
    batches n=5 seed=9 >v.tfs
    batches n=400 >long.tfs
    cat >terminal.py <<'PY'
import fcntl, os, pty, re, struct, subprocess, sys, termios
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
p = subprocess.Popen(sys.argv[1:], stderr=slave)
os.close(slave)
text = b""
try:
    while block := os.read(master, 65536):
        text += block
except OSError:
    pass
assert p.wait() == 0
text = text.decode()
kept = [x.split("\x1b[K")[-1] for x in text.replace("\r\n", "\n").split("\n") if x]
shown = [x for x in re.split(r"\r\x1b\[K|\r\n", text) if "tok/s" in x]
assert shown and all(len(x) < 80 for x in shown), shown
# The last update has no time left.
assert re.fullmatch(r"tf-train: step \d+/1000000  loss \d+\.\d{3}  \d+ tok/s  ETA \d+:\d\d:\d\d", shown[0]), shown[0]
valid = [x for x in kept if re.match(r"tf-train: step \d+00: validation perplexity [\d.]+, accuracy [\d.]+ %; ", x)]
assert len(valid) == 4, kept
assert "tok/s" not in "".join(kept), kept
PY
    t 0 "$TF_PYTHON" terminal.py tf-train "${small[@]}" --steps 1000000 --valid v.tfs \
        --save-every 100 -o run long.tfs
}

@test "validation data that can't be used are refused before the first update" {
    args=(--steps 20 --valid v.tfs --valid-every 10 -o run)
    batches n=5 end=0 >v.tfs
    tr_t 1 "${args[@]}" b.tfs
    expect_error "tf-train: v.tfs: truncated after record 5"
    batches n=5 poison=4 >v.tfs
    tr_t 1 "${args[@]}" b.tfs
    expect_error "tf-train: v.tfs"
    batches n=5 >v.tfs
    batches n=5 longest=30 >>v.tfs
    tr_t 1 "${args[@]}" --positions learned --max-positions 20 b.tfs
    expect_error "tokens with its end, the model has 20 learned positions"
    batches n=0 >v.tfs
    tr_t 1 "${args[@]}" b.tfs
    expect_error "tf-train: v.tfs: contains no sentence"
    printf a >va; printf b >vb
    batches n=40 vocab=va >c.tfs
    batches n=2 vocab=va >v.tfs
    batches n=2 vocab=vb >>v.tfs
    tr_t 1 "${args[@]}" c.tfs
    expect_error "v.tfs: vocabulary $(short vb) differs from the training stream: $(short va) (use"
    [ "$(ls run)" = lock ]
    mkfifo pipe
    tr_t 1 "${args[@]/v.tfs/pipe}" b.tfs
    expect_error "tf-train: pipe: validation data must be a regular file: it is read several times"
    sh_t 1 'tf-train "$@" <b.tfs' "${small[@]}" "${args[@]/v.tfs/-}" b.tfs
    expect_error "tf-train: -: validation data must be a regular file: it is read several times"
}

@test "validation that fails: the work is saved, and the same command resumes to the same bytes" {
    batches n=5 seed=9 >v.tfs
    args=(--steps 20 --save-every 10 --valid v.tfs --valid-every 5)
    train "${args[@]}" -o whole b.tfs
    mkfifo pipe
    tf-train "${small[@]}" "${args[@]}" --log-every 1 -o run - <pipe 2>err &
    pid=$!
    exec 7>pipe
    batches n=9 end=0 >nine.tfs
    cat nine.tfs >&7
    wait_step run 9
    mv v.tfs away
    batches n=10 end=0 | tail -c +$(($(stat -c %s nine.tfs) + 1)) >&7
    ends 1
    grep -qx "tf-train: v.tfs: No such file or directory; last good checkpoint is run/resume.tfm" \
        err
    at_step run/resume.tfm 10
    mv away v.tfs
    train "${args[@]}" -o run b.tfs
    same whole/ckpt-00000020.tfm run/ckpt-00000020.tfm
    same whole/best.tfm run/best.tfm
}

@test "validation data that are replaced during the run: 1, and the work is saved" {
    batches n=5 seed=9 >v.tfs
    batches n=5 seed=8 >other.tfs
    args=(--steps 20 --save-every 10 --valid v.tfs --valid-every 5)
    train "${args[@]}" -o whole b.tfs
    cp v.tfs same.tfs
    mkfifo pipe
    batches n=9 end=0 >nine.tfs
    for new in same other; do
        rm -rf run
        tf-train "${small[@]}" "${args[@]}" --log-every 1 -o run - <pipe 2>err &
        pid=$!
        exec 7>pipe
        cat nine.tfs >&7
        wait_step run 9
        cp v.tfs old.tfs
        mv $new.tfs v.tfs
        batches n=20 | tail -c +$(($(stat -c %s nine.tfs) + 1)) >&7
        exec 7>&-
        if [ $new = same ]; then
            ends 0
        else
            ends 1
            grep -qx "tf-train: v.tfs: its sentences changed during the run; last good checkpoint is run/resume.tfm" err
            at_step run/resume.tfm 10
            cp old.tfs v.tfs
            train "${args[@]}" -o run b.tfs
        fi
        same whole/ckpt-00000020.tfm run/ckpt-00000020.tfm
        same whole/best.tfm run/best.tfm
    done
}

@test "no memory for a batch: the updates before it are saved" {
    [ -z "${TF_SAN:-}" ] || skip "the sanitizer needs the address space"
    [ -z "${TF_EMULATOR:-}" ] || skip "the emulator needs the address space"
    batches n=9 >x.tfs
    batches n=1 pairs=6000 longest=380 seed=4 >>x.tfs
    sh_t 1 'ulimit -v 400000; exec tf-train "$@"' "${small[@]}" --threads 1 -o run x.tfs
    expect_contains "$stderr" "tf-train: step 10: "
    [[ $stderr =~ "no memory for "[0-9.e+]+" MB; last good checkpoint is run/resume.tfm; smaller batches" ]]
    at_step run/resume.tfm 9
    # And before the first update.
    sh_t 1 'ulimit -v 400000; exec tf-train "$@"' --preset base --vocab-size 37000 --steps 1 \
        --device cpu --threads 1 -o big b.tfs
    [[ $stderr =~ "no memory for "[0-9.e+]+" MB; "(no checkpoint.*; )?"smaller batches (tf-batch --tokens) and fewer --threads take less" ]]
}

@test "killed before it deletes, and again: what is left over does not grow" {
    [ -z "${TF_SAN:-}" ] || skip "the sanitizer does not run under strace"
    need strace
    for _ in 1 2; do
        run strace -f -qq -o /dev/null -P ckpt-00000005.tfm -e trace=unlinkat -e \
            inject=unlinkat:signal=KILL tf-train "${small[@]}" --save-every 5 --keep 2 --steps 20 -o \
            run b.tfs
        [ "$status" -eq 137 ]
        [ "$(cd run && echo ckpt*)" = "ckpt-00000005.tfm ckpt-00000010.tfm ckpt-00000015.tfm" ]
    done
    train --save-every 5 --keep 2 --steps 20 -o run b.tfs
    [ "$(cd run && echo ckpt*)" = "ckpt-00000015.tfm ckpt-00000020.tfm" ]
}

@test "signals while a resumed run with --force waits for its first batch" {
    [ -z "${TF_EMULATOR:-}" ] || skip "the emulator catches all signals"
    train --save-every 5 --steps 5 -o run b.tfs
    mkfifo pipe
    env --default-signal=USR2 tf-train "${small[@]}" --save-every 100 --steps 20 --force -o run - \
        <pipe 2>err &
    pid=$!
    exec 7>pipe
    batches n=5 end=0 >&7
    catches_usr2() {
        (($((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' /proc/$pid/status))) & 0x800))
    }
    wait_for catches_usr2
    kill -USR2 "$pid"
    ends 75
}

@test "a file system without hard links: best.tfm is a copy, and the run ends as elsewhere" {
    [ -z "${TF_SAN:-}" ] || skip "the sanitizer does not run under strace"
    need strace
    batches n=5 seed=9 >v.tfs
    args=(--save-every 5 --valid v.tfs)
    unlinked() { strace -f -qq -o /dev/null -e inject=link,linkat:error=EPERM tf-train \
        "${small[@]}" "${args[@]}" "$@"; }
    train "${args[@]}" --steps 10 -o whole b.tfs
    unlinked --steps 5 -o run b.tfs 2>/dev/null
    [ "$(stat -c %h run/best.tfm)" -eq 1 ]
    same run/ckpt-00000005.tfm run/best.tfm
    # Also where a killed run had no time to make it.
    rm run/best.tfm
    for steps in 5 10 10; do unlinked --steps $steps -o run b.tfs 2>/dev/null; done
    same whole/ckpt-00000010.tfm run/ckpt-00000010.tfm
    same whole/best.tfm run/best.tfm
}

@test "other validation data: the best is chosen again" {
    # Random targets are harder than those of the task.
    batches n=5 seed=9 >easy.tfs
    batches n=5 seed=9 v=20 size=64 >hard.tfs
    args=(--schedule constant --lr 0.01 --warmup 0 --save-every 5 -o run)
    # A run may begin to validate when it is under way.
    train "${args[@]}" --steps 5 b.tfs
    tr_t 0 "${args[@]}" --steps 10 --valid hard.tfs b.tfs
    [[ $stderr != *validated* ]]
    # And leave it out for a while: no less is known afterwards.
    train "${args[@]}" --steps 15 b.tfs
    tr_t 0 "${args[@]}" --steps 20 --valid hard.tfs b.tfs
    [[ $stderr != *validated* ]]
    for stream in easy hard; do
        steps=$((${steps:-20} + 5))
        tr_t 0 "${args[@]}" --steps $steps --valid $stream.tfs b.tfs
        expect_contains "$stderr" "tf-train: $stream.tfs: not the validation data of the checkpoint: earlier results do not count for best.tfm"
        at_step run/best.tfm $steps
    done
    tr_t 1 "${args[@]}" --steps 35 --valid hard.tfs --best-by acc b.tfs
    expect_error "best_by: 'ppl' in the checkpoint, 'acc' in this run"
    train "${args[@]}" --steps 35 --valid hard.tfs --best-by acc --force b.tfs
    at_step run/best.tfm 35
}

@test "a run that resumes from its best checkpoint leaves best.tfm a link to it" {
    batches n=5 seed=9 >v.tfs
    batches n=5 >five.tfs
    args=(--steps 20 --save-every 5 --valid v.tfs -o run)
    for i in 1 2; do
        tr_t 0 "${args[@]}" five.tfs
        expect_contains "$stderr" "the stream ended at step 5 of 20"
        [ run/best.tfm -ef run/ckpt-00000005.tfm ]
    done
    [ "$(grep -o '"file":"[^"]*"' run/log.jsonl)" = '"file":"ckpt-00000005.tfm"' ]
    # Validated for the first time there, it is the best, too.
    train --steps 5 --save-every 5 -o later five.tfs
    tr_t 0 "${args[@]}" -o later five.tfs
    at_step later/best.tfm 5
}

@test "retention keeps the best, and deletes no more than asked" {
    batches n=5 seed=9 >v.tfs
    train --steps 20 --save-every 2 --keep 2 --valid v.tfs --schedule constant --lr 0.02 --warmup \
        0 -o run b.tfs
    [ "$(ls run/ckpt-*)" = $'run/ckpt-00000018.tfm\nrun/ckpt-00000020.tfm' ]
    tf-cbor check run/best.tfm
    train --steps 20 --save-every 2 --keep 0 -o all b.tfs
    [ "$(ls all/ckpt-* | wc -l)" -eq 10 ]
}

@test "a disk that is full: 1, the last good checkpoint named, nothing half left" {
    train --steps 5 --save-every 5 -o run b.tfs
    before=$(sum run/ckpt-00000005.tfm)
    sh_t 1 'ulimit -f 40; tf-train "$@"' "${small[@]}" --steps 20 --save-every 5 -o run b.tfs
    expect_contains "$stderr" "run/ckpt-00000010.tfm: write: File too large; last good checkpoint is run/ckpt-00000005.tfm"
    [ "$before" = "$(sum run/ckpt-00000005.tfm)" ]
    [ "$(ls -A run)" = $'ckpt-00000005.tfm\nlock\nlog.jsonl' ]
    # The log names what was saved, no more.
    [ "$(grep -o '"file":"[^"]*"' run/log.jsonl)" = '"file":"ckpt-00000005.tfm"' ]
    tr_t 1 --log /dev/full --log-every 1 -o run b.tfs
    expect_contains "$stderr" "/dev/full: write: No space left on device"
}

@test "a reader of the log that leaves: the run continues" {
    sh_t 0 'tf-train "$@" --log - --log-every 1 -o run b.tfs | head -c 1 >/dev/null' "${small[@]}" \
        --steps 40 --quiet
    [ -z "$stderr" ]
    train --steps 40 -o whole b.tfs
    same whole/ckpt-00000040.tfm run/ckpt-00000040.tfm
}

@test "a log into a pipe that is full and does not block waits for its reader" {
    cat >slow.py <<'END'
import fcntl, os, subprocess, sys, time
r, w = os.pipe()
fcntl.fcntl(w, fcntl.F_SETFL, fcntl.fcntl(w, fcntl.F_GETFL) | os.O_NONBLOCK)
fill = 0
try:
    while True:
        fill += os.write(w, b"x" * 4096)
except BlockingIOError:
    pass
p = subprocess.Popen(sys.argv[1:], stdout=w)
os.close(w)
# The run's own log is written first: a moment later the pipe has been met full.
while p.poll() is None and not (os.path.exists("run/log.jsonl") and os.path.getsize("run/log.jsonl")):
    time.sleep(0.01)
time.sleep(0.1)
text = b""
while block := os.read(r, 65536):
    text += block
assert p.wait() == 0 and text[fill:] == open("run/log.jsonl", "rb").read()
END
    t 0 "$TF_PYTHON" slow.py tf-train "${small[@]}" --log - --log-every 1 --steps 5 -o run b.tfs
}

@test "saves by the clock are resume.tfm, and change nothing" {
    train --steps 40 --save-every 20 -o whole b.tfs
    train --steps 40 --save-every 20 --save-minutes 0.00001 --log log -o run b.tfs
    same whole/ckpt-00000040.tfm run/ckpt-00000040.tfm
    grep -q '"file":"resume.tfm"' log
    [ ! -e run/resume.tfm ]
}

@test "without --save-every, saves by the clock are the regular checkpoints" {
    # A time that has passed at every step.
    now='--save-minutes 1e-9'
    train --steps 12 --save-every 1 --keep 0 -o whole b.tfs
    # shellcheck disable=SC2086
    train --steps 12 $now --keep 0 --log log -o run b.tfs
    diff <(cd whole && sha256sum ./*.tfm) <(cd run && sha256sum ./*.tfm)
    [ "$(head -n 1 log | jq -c '[.save_every, .save_minutes]')" = '[0,1e-09]' ]
    # As many as are kept, extended too, and averaged.
    # shellcheck disable=SC2086
    train --steps 7 $now --keep 3 -o few b.tfs
    [ "$(cd few && echo ./*.tfm)" = './ckpt-00000005.tfm ./ckpt-00000006.tfm ./ckpt-00000007.tfm' ]
    # shellcheck disable=SC2086
    train --steps 12 $now --keep 4 -o few b.tfs
    [ "$(cd few && echo ./*.tfm)" = "$(cd whole && echo ./ckpt-000000{09,10,11,12}.tfm)" ]
    t 0 tf-avgckpt few -n 4 -o mean.tfm
    tf-avgckpt -o want.tfm whole/ckpt-000000{09,10,11,12}.tfm
    weights() { tf-info "$1" | grep '^model '; }
    [ "$(weights mean.tfm)" = "$(weights want.tfm)" ]
    # Validation is as often as the preset saves, and its best is no regular checkpoint.
    batches n=2 seed=3 >v.tfs
    batches n=110 >long.tfs
    train --steps 110 --save-minutes 1000 --valid v.tfs -o valid long.tfs
    [ "$(jq -c 'select(.event == "valid").step' valid/log.jsonl)" = 100 ]
    [ "$(cd valid && echo ./*.tfm)" = './best.tfm ./ckpt-00000110.tfm' ]
}

@test "--init begins with the weights of a model" {
    train --steps 10 -o one b.tfs
    train --steps 1 --init one/ckpt-00000010.tfm --schedule constant --lr 0 --warmup 0 -o two b.tfs
    "$TF_PYTHON" - <<'PY'
import json, subprocess
def tensors(path):
    info = json.loads(subprocess.check_output(["tf-info", "--json", path]))
    return info, {t["name"]: t["crc32c"] for t in info["tensors"] if t["name"].startswith("p/")}
a, ta = tensors("one/ckpt-00000010.tfm")
b, tb = tensors("two/ckpt-00000001.tfm")
assert ta == tb
assert b["made"][-1]["in"]["init"] == a["model"]
PY
    tr_t 1 --init one/ckpt-00000010.tfm --d-ff 64 -o three b.tfs
    expect_error "one/ckpt-00000010.tfm: d_ff: 32 in the model, 64 in this run (the weights have other shapes)"
    # A run that is under way has weights of its own.
    train --steps 2 --init one/ckpt-00000010.tfm -o whole b.tfs
    train --steps 1 --init one/ckpt-00000010.tfm -o run b.tfs
    train --steps 3 -o other b.tfs
    for more in "" --force; do
        # shellcheck disable=SC2086
        tr_t 1 --steps 2 $more --init other/ckpt-00000003.tfm -o run b.tfs
        expect_error "run/ckpt-00000001.tfm: started from another model than other/ckpt-00000003.tfm (repeat the command with that model)"
    done
    cp -r run run2
    train --steps 2 -o run b.tfs
    train --steps 2 --init one/ckpt-00000010.tfm -o run2 b.tfs
    same whole/ckpt-00000002.tfm run/ckpt-00000002.tfm
    same whole/ckpt-00000002.tfm run2/ckpt-00000002.tfm
    tr_t 0 --steps 11 --init two/ckpt-00000001.tfm -o one b.tfs
    expect_contains "$stderr" \
        "tf-train: two/ckpt-00000001.tfm: ignored: the run resumes with its own weights"
}

# init OPTIONS: one step from the model `one`, with nothing but these options.
init() {
    tf-train -q --device cpu --init one/ckpt-00000004.tfm "$@"
}

@test "--init: architecture and vocabulary are the model's, with no other option" {
    printf a >va
    batches vocab=va >v.tfs
    train --as t2t --positions learned --max-positions 20 --norm-eps 1e-5 --steps 4 --vocab va \
        -o one v.tfs
    init --steps 2 -o two v.tfs
    "$TF_PYTHON" - <<'PY'
import json, subprocess
def info(path):
    return json.loads(subprocess.check_output(["tf-info", "--json", path]))
a, b = info("one/ckpt-00000004.tfm"), info("two/ckpt-00000002.tfm")
for key in "config", "special", "vocab", "vocab_bytes", "vocab_size":
    assert a[key] == b[key], key
assert b["vocab_bytes"] == 1
assert b["settings"]["schedule"] == "constant" and b["settings"]["warmup"] == 100
assert abs(b["settings"]["lr"] - (16 * 100000) ** -0.5) < 1e-12
with open("two/log.jsonl") as log:
    assert json.loads(log.readline())["save_every"] == 100
PY
    # A preset gives the recipe, and may repeat the model.
    t 0 tf-train -q "${small[@]}" --as t2t --positions learned --max-positions 20 --norm-eps 1e-5 \
        --init one/ckpt-00000004.tfm --steps 1 -o preset v.tfs
    t 0 tf-train --init one/ckpt-00000004.tfm --plan
    expect_contains "$output" "learned positions"
    # What only training uses is free.
    init --dropout 0.3 --attention-dropout 0.2 --relu-dropout 0.1 --label-smoothing 0 \
        --smoothing V --seed 2 --schedule inverse-sqrt --lr 0.001 --warmup 3 --steps 1 -o free v.tfs
    # A stream that names no vocabulary has that of the model, here from a pipe.
    batches size=0 >unnamed.tfs
    init --init <(cat one/ckpt-00000004.tfm) --steps 1 -o unnamed unnamed.tfs
    [ "$(tf-info --json unnamed/ckpt-00000001.tfm | "$TF_PYTHON" -c \
        'import json, sys; print(json.load(sys.stdin)["vocab"])')" = "$(sum va)" ]
    # Resumed, it makes the bytes of an uninterrupted run.
    init --steps 1 -o part v.tfs
    t 1 tf-train -q --device cpu --steps 2 -o part v.tfs
    expect_error "tf-train: part/ckpt-00000001.tfm: "
    expect_contains "$stderr" " (it started from a model: repeat its --init; "
    init --steps 2 -o part v.tfs
    same two/ckpt-00000002.tfm part/ckpt-00000002.tfm
}

@test "--init: a contradicting option is refused by field, and --force suggested where it helps" {
    train --steps 4 -o one b.tfs
    local row option field force="--force continues with the new value" \
        shapes="the weights have other shapes"
    while IFS=: read -r option field model run row; do
        # shellcheck disable=SC2086
        t 1 tf-train --device cpu --init one/ckpt-00000004.tfm $option --steps 1 -o two b.tfs
        expect_error "tf-train: one/ckpt-00000004.tfm: "
        expect_contains "$stderr" "$field: $model in the model, $run in this run"
        expect_contains "$stderr" " (${!row})"
    done <<'END'
--heads 4:heads:2:4:force
--d-k 4 --d-v 4:d_k:8:4:shapes
--start zero:start:'bos':'zero':force
--norm-eps 0.1:norm_eps:1e-06:0.1:force
--attention-window 1:attention_window:0:1:force
--as t2t:dialect:'paper':'t2t':force
--pre-norm:pre_norm:false:true:shapes
--attention-bias:attention_bias:false:true:shapes
--d-ff 64:d_ff:32:64:shapes
--layers 2:encoder_layers:1:2:shapes
--vocab-size 100:vocab_size:64:100:shapes
--tie none:tie:'all':'none':shapes
--positions learned:positions:'sin':'learned':shapes
--preset base:encoder_layers:1:6:shapes
--start zero --d-ff 64:d_ff:32:64:shapes
END
    t 1 tf-train --init one/ckpt-00000004.tfm --heads 4 --plan
    expect_error "heads: 2 in the model, 4 in this run"
    batches bos=5 >other.tfs
    t 1 tf-train --device cpu --init one/ckpt-00000004.tfm --steps 1 -o two other.tfs
    expect_error "bos: 2 in the model, 5 in this run (--force"
    [ ! -e two/ckpt-00000001.tfm ]
    t 0 tf-train --device cpu --init one/ckpt-00000004.tfm --heads 4 --start zero --force \
        --steps 1 -o two b.tfs
    expect_contains "$stderr" "heads: 2 in the model, 4 in this run; continuing with the new value"
    expect_contains "$stderr" "start: 'bos' in the model, 'zero' in this run; continuing"
    t 1 tf-train --device cpu --init one/ckpt-00000004.tfm --d-ff 64 --force -o three b.tfs
    expect_error "d_ff: 32 in the model, 64 in this run (the weights have other shapes)"
}

@test "a log that cannot be opened, or written again on resumption, ends the run before it trains" {
    tr_t 1 --log nowhere/log.jsonl --steps 2 -o run b.tfs
    expect_error "tf-train: nowhere/log.jsonl: No such file or directory"
    [ ! -e run/ckpt-00000002.tfm ]
    train --steps 4 --log-every 1 -o run b.tfs
    { yes "$(grep '"event":"step","step":1,' run/log.jsonl)" || true; } | head -n 20000 >>run/log.jsonl
    before=$(sum run/log.jsonl)
    sh_t 1 'ulimit -f 1000; tf-train "$@"' "${small[@]}" --steps 8 -o run b.tfs
    expect_contains "$stderr" "File too large"
    [ "$(sum run/log.jsonl)" = "$before" ]
    tr_t 0 --steps 8 -o run b.tfs
}

@test "--init: a missing model, another vocabulary and a larger one are refused" {
    printf a >va
    printf b >vb
    batches vocab=va >v.tfs
    train --steps 1 --vocab va -o one v.tfs
    m=one/ckpt-00000001.tfm
    t 1 tf-train --device cpu --init none.tfm --steps 1 -o two v.tfs
    expect_error "tf-train: none.tfm: No such file or directory"
    batches vocab=vb >w.tfs
    t 1 tf-train --device cpu --init $m --steps 1 -o two w.tfs
    expect_error "tf-train: $m: vocabulary $(short va) differs from the stream: $(short vb)"
    batches size=65 >larger.tfs
    t 1 tf-train --device cpu --init $m --steps 1 -o two larger.tfs
    expect_error "tf-train: $m: vocabulary of 64, the stream's has 65"
    t 1 tf-train --device cpu --init $m --steps 1 -o two none.tfs
    expect_error "tf-train: none.tfs: No such file or directory"
    [ ! -e two ] || [ -z "$(ls two/*.tfm 2>/dev/null)" ]
    # Parts of one stream, and the validation data, have its vocabulary.
    cat v.tfs w.tfs >parts.tfs
    tr_t 1 --steps 100 --vocab va -o parts parts.tfs
    expect_contains "$stderr" "parts.tfs: part 1: vocabulary "
    tr_t 1 --steps 4 --vocab va --valid w.tfs --valid-every 1 -o valid v.tfs
    expect_contains "$stderr" "w.tfs: vocabulary "
}

@test "no vocabulary is lost: --vocab takes a model, and models without one gain it" {
    seq 300 >text
    tf-tokenize --train --vocab-size 20 -o vocab text 2>/dev/null
    tf-tokenize --train --vocab-size 18 -o fewer text 2>/dev/null
    batches vocab=vocab >v.tfs
    batches >n.tfs
    carried() { tf-info --json "$1" | grep -q "\"vocab_bytes\":$(stat -c %s vocab),"; }
    train --steps 2 --vocab vocab -o one v.tfs
    # a model as --vocab, also through a pipe
    train --steps 2 --vocab one/ckpt-00000002.tfm -o two v.tfs
    same one/ckpt-00000002.tfm two/ckpt-00000002.tfm
    train --steps 2 --vocab <(cat one/ckpt-00000002.tfm) -o three v.tfs
    same one/ckpt-00000002.tfm three/ckpt-00000002.tfm
    # a model that only names its vocabulary, or has none, with --vocab
    train --steps 2 -o named v.tfs
    train --steps 2 -o none n.tfs
    t 1 tf-train --device cpu --vocab named/ckpt-00000002.tfm -o x v.tfs
    expect_error "named/ckpt-00000002.tfm: carries no vocabulary"
    for m in named none; do
        tf-train -q --device cpu --init $m/ckpt-00000002.tfm --vocab vocab --steps 1 \
            -o from-$m n.tfs
        carried from-$m/ckpt-00000001.tfm
    done
    t 1 tf-train --device cpu --init named/ckpt-00000002.tfm --vocab fewer -o y n.tfs
    expect_error "fewer: vocabulary $(short fewer) differs from that of"
    seq 3000 7 99999 | tr 0-9 a-j >letters
    tf-tokenize --train --vocab-size 90 -o more letters 2>/dev/null
    t 1 tf-train --device cpu --init none/ckpt-00000002.tfm --vocab more -o y n.tfs
    expect_error "more: a vocabulary of 90 pieces for a model of 64"
    # an average has it if one of the models does
    tf-avgckpt named/ckpt-00000002.tfm one/ckpt-00000002.tfm -o mean.tfm
    carried mean.tfm
    tf-convert one/ckpt-00000002.tfm -o m.safetensors
    tf-convert m.safetensors -o back.tfm
    carried back.tfm
    tf-tokenize -m back.tfm <<<"1 2 3" >out.tfs
}

@test "a limit on processes: training without threads, with the same bytes and signals" {
    [ -z "${TF_SAN:-}" ] || skip "LeakSanitizer needs a thread"
    [ -z "${TF_EMULATOR:-}" ] || skip "the emulator has a thread of its own"
    [ "$(id -u)" -eq 0 ] || skip "the limit counts all processes of a user"
    need setpriv prlimit
    chmod 755 "$T"
    setpriv --reuid=65533 --regid=65533 --clear-groups tf-train --version ||
        skip "another user cannot reach the tools"
    train --steps 12 --save-every 6 -o run b.tfs
    mkdir -m 777 free
    alone=(setpriv --reuid=65533 --regid=65533 --clear-groups prlimit --nproc=1 tf-train
        "${small[@]}" --steps 12 --save-every 6 --threads 2 -o free/run)
    batches n=9 end=0 >nine.tfs
    mkfifo pipe
    "${alone[@]}" --log-every 1 - <pipe 2>err &
    pid=$!
    exec 7>pipe
    cat nine.tfs >&7
    wait_step free/run 9
    kill -USR2 "$pid"
    ends 75
    t 0 "${alone[@]}" b.tfs
    same run/ckpt-00000006.tfm free/run/ckpt-00000006.tfm
    same run/ckpt-00000012.tfm free/run/ckpt-00000012.tfm
}

@test "the log goes to no file that is read, and to none of the run's own" {
    batches n=5 seed=9 >v.tfs
    cp b.tfs before
    tr_t 2 --steps 6 --log b.tfs -o run b.tfs
    expect_error "tf-train: b.tfs: is both input and output"
    tr_t 2 --steps 6 --log b.tfs -o run ./b.tfs
    sh_t 2 'tf-train "$@" <b.tfs' "${small[@]}" --steps 6 --log b.tfs -o run
    expect_error "tf-train: b.tfs: is both input and output"
    tr_t 2 --steps 6 --valid v.tfs --log ./v.tfs -o run b.tfs
    tr_t 2 --tune b.tfs b.tfs
    expect_error "tf-train: b.tfs: is both input and output"
    train --steps 6 --save-every 3 -o run b.tfs
    tr_t 2 --steps 7 --init run/ckpt-00000006.tfm --log run/ckpt-00000006.tfm -o two b.tfs
    ln -s run/ckpt-00000006.tfm link
    for f in run/lock run/log.jsonl run/../run/best.tfm link run/ckpt-00000003.tfm; do
        tr_t 2 --steps 7 --log $f -o run b.tfs
        expect_error "tf-train: --log $f: a file of the run itself"
    done
    tf-cbor check run/ckpt-00000006.tfm
    same before b.tfs
    [ "$(grep -c '"event":"start"' run/log.jsonl)" -eq 1 ]
    train --steps 7 --log run/more.jsonl -o run b.tfs
}

@test "a model under a checkpoint's name is skipped" {
    train --steps 4 --save-every 2 -o run b.tfs
    tf-avgckpt -n 2 run >mean.tfm
    mv mean.tfm run/ckpt-00000006.tfm
    tr_t 0 --steps 8 --save-every 2 -o run b.tfs
    expect_contains "$stderr" \
        "warning: run/ckpt-00000006.tfm: a model, not a checkpoint; trying the checkpoint before it"
    expect_contains "$stderr" "resuming from run/ckpt-00000004.tfm"
    at_step run/ckpt-00000006.tfm 6
}

@test "a last checkpoint at no regular step is deleted when the run continues" {
    train --steps 5 --save-every 2 --keep 0 -o run b.tfs
    [ "$(cd run && echo ckpt*)" = "ckpt-00000002.tfm ckpt-00000004.tfm ckpt-00000005.tfm" ]
    train --steps 6 --save-every 2 --keep 0 -o run b.tfs
    [ "$(cd run && echo ckpt*)" = "ckpt-00000002.tfm ckpt-00000004.tfm ckpt-00000006.tfm" ]
    # It is not one of those that are kept.
    train --steps 5 --save-every 2 --keep 2 -o two b.tfs
    train --steps 6 --save-every 2 --keep 2 -o two b.tfs
    [ "$(cd two && echo ckpt*)" = "ckpt-00000004.tfm ckpt-00000006.tfm" ]
}

@test "the epoch of the log is that of the last batch used" {
    train --steps 10 --log-every 1 --valid b.tfs --valid-every 8 -o run b.tfs
    grep '"event":"step"' run/log.jsonl | grep -o '"epoch":[0-9]*' | cut -d: -f2 | tr '\n' ' ' >got
    [ "$(cat got)" = "0 0 0 0 0 0 0 0 1 1 " ]
    grep -q '"event":"valid","step":8,"epoch":0,' run/log.jsonl
}

@test "the log has the updates after the last multiple of --log-every, and losses of all updates" {
    need jq
    train --steps 10 --log-every 1 -o each b.tfs
    train --steps 10 --log-every 4 -o run b.tfs
    [ "$(jq -c 'select(.event == "step").step' run/log.jsonl | xargs)" = "4 8 10" ]
    jq -s 'map(select(.event == "step")) | (.[8].loss + .[9].loss) / 2' each/log.jsonl >mean
    [ "$(jq --slurpfile mean mean 'select(.event == "step" and .step == 10)
        | (.loss - $mean[0]) | -0.01 < . and . < 0.01' run/log.jsonl)" = true ]
    # None is left at a multiple, and none when no update followed.
    train --steps 10 --log-every 5 -o five b.tfs
    [ "$(jq -c 'select(.event == "step").step' five/log.jsonl | xargs)" = "5 10" ]
    same run/ckpt-00000010.tfm five/ckpt-00000010.tfm
    # A run that is extended has the bytes of one that never ended there.
    train --steps 14 --log-every 4 -o run b.tfs
    train --steps 14 --log-every 4 -o whole b.tfs
    same run/ckpt-00000014.tfm whole/ckpt-00000014.tfm
    [ "$(jq -c 'select(.event == "step").step' run/log.jsonl | xargs)" = "4 8 10 12 14" ]
}

@test "--layers is for the side without an option of its own" {
    layers() {
        rm -rf run
        train --steps 1 "$@" -o run b.tfs
        tf-info run/ckpt-00000001.tfm | awk '/coder_layers/ { printf "%s %s ", $1, $2 }'
    }
    [ "$(layers --layers 2 --encoder-layers 3)" = "decoder_layers 2 encoder_layers 3 " ]
    [ "$(layers --decoder-layers 3 --layers 2)" = "decoder_layers 3 encoder_layers 2 " ]
}

@test "temporaries that a killed run left are swept, other files are not" {
    mkdir run
    touch run/.tf-ckpt-00000005.tfm.tmp.123 run/.tf-avg.tfm.tmp.123 run/.tf-mine run/notes
    train --steps 2 -o run b.tfs
    [ "$(ls -A run)" = $'.tf-avg.tfm.tmp.123\n.tf-mine\nckpt-00000002.tfm\nlock\nlog.jsonl\nnotes' ]
}

@test "--plan counts the parameters of the paper's rows" {
    total() {
        tf-train --plan --vocab-size 37000 "$@" | awk '$1 == "total" { print $2; exit }'
    }
    [ "$(total)" = 63045632 ]
    # With biases on attention, in millions: what the paper's architecture has at 37,000 embeddings.
    for row in base:63.08 B-dk16:55.99 B-dk32:58.35 C-n2:33.66 C-n4:48.37 C-n8:77.80 C-d256:26.83 \
        C-d1024:163.89 C-ff1024:50.49 C-ff4096:88.27 big:214.25; do
        got=$(total --preset "${row%:*}" --attention-bias | awk '{ printf "%.2f", $1 / 1e6 }')
        [ "$got" = "${row#*:}" ] || { echo "$row: $got" >&2; return 1; }
    done
    t 2 tf-train --plan
    expect_error "--plan: needs --vocab-size or --init"
}

@test "--plan counts all that a pass keeps, also the last norm of a pre-norm model" {
    plan=(tf-train --plan --vocab-size 37000 --threads 8 --plan-tokens 25000)
    { "${plan[@]}" --pre-norm && "${plan[@]}" --no-pre-norm; } >plans
    # Its output, sum, mean and deviation on both sides: 2 x 25000 x 4 x (2 x 512 + 2) bytes.
    [ "$(awk '/activations/ { mb[++n] = $3 } END { printf "%.1f", mb[1] - mb[2] }' plans)" = 205.2 ]
}

@test "--plan prints what a preset sets, and what options change" {
    # has OPTIONS ROW=VALUE ...
    has() {
        local row options=$1
        # shellcheck disable=SC2086
        t 0 tf-train --plan --vocab-size 37000 $options
        shift
        for row; do
            grep -qE "^  ${row%=*} +${row#*=}$" <<<"$output" ||
                { echo "$options: not $row in: $output" >&2; return 1; }
        done
    }
    has '' encoder_layers=6 d_model=512 d_ff=2048 heads=8 d_k=64 d_v=64 dropout=0.1 \
        attention_dropout=0 relu_dropout=0 label_smoothing=0.1 smoothing=V positions=sin tie=all \
        tokens=25000 steps=100000 schedule=paper lr_scale=1 warmup=4000 beta1=0.9 beta2=0.98 \
        adam_eps=1e-09 save_every=1000 'checkpoints averaged=5' initializer=scaled
    has '--preset big' heads=16 d_ff=4096 dropout=0.3 steps=300000 'checkpoints averaged=20' keep=20
    has '--preset big --as t2t' steps=250000 eps_hat=yes smoothing=V-1 initializer=fused start=zero
    has '--preset A-h4' heads=4 d_k=128 d_v=128 'checkpoints averaged=1'
    has '--preset B-dk16' d_k=16 d_v=64
    has '--preset C-n2' encoder_layers=2 decoder_layers=2
    has '--preset D-p0.2' dropout=0.2
    has '--preset D-ls0.2' label_smoothing=0.2
    has '--preset E' positions=learned max_positions=1024
    has '--preset parse-wsj --as t2t' dropout=0.2 attention_dropout=0.2 warmup=16000 lr_scale=5
    has '--preset tiny --accumulate 3 --clip 1 --heads 2' tokens=2000 accumulate=3 clip=1 d_k=64
    has '--schedule inverse-sqrt --lr 0.002' schedule=inverse-sqrt lr=0.002
    [[ $output != *lr_scale* ]]
}

@test "--plan: the columns of Table 1 for full and restricted self-attention" {
    table() {
        t 0 tf-train --plan --vocab-size 100 "$@"
        output=$(sed -n '/Table 1/,/^learning/p' <<<"$output" | tr -s ' ' | sed '1,2d;$d')
    }
    table
    expect_output ' full: n^2 d, 1, 1 4.608e+05 1 1'
    # Of 1,000 positions each reaches 10 on both sides in a layer: 999 need 100 layers.
    table --plan-length 1000 --attention-window 10 --preset C-d256
    expect_output $' full: n^2 d, 1, 1 2.560e+08 1 1\n r = 21 r n d, 1, n/r 5.376e+06 1 100'
    # A window that holds the sentence restricts nothing.
    table --plan-length 5 --attention-window 10
    expect_output $' full: n^2 d, 1, 1 1.280e+04 1 1\n r = 5 r n d, 1, n/r 1.280e+04 1 1'
    table --plan-length 1 --attention-window 1
    expect_output $' full: n^2 d, 1, 1 5.120e+02 1 1\n r = 1 r n d, 1, n/r 5.120e+02 1 1'
}

@test "--plan: the batches are the preset's" {
    plan=(t 0 tf-train --plan --vocab-size 100)
    for row in tiny:2000 base:25000; do
        "${plan[@]}" --preset "${row%:*}" --plan-tokens "${row#*:}"
        want=$output
        "${plan[@]}" --preset "${row%:*}"
        expect_output "$want"
        "${plan[@]}" --preset "${row%:*}" --plan-tokens 1000
        [ "$output" != "$want" ]
    done
}

@test "--plan: the counts of Table 3, with the vocabulary that they assume" {
    # In millions, as the paper rounds them, except C-ff1024 and big: 53 and 213 in the paper.
    for row in base:65 B-dk16:58 B-dk32:60 C-n2:36 C-n4:50 C-n8:80 C-d256:28 C-d1024:168 \
        C-ff4096:90 C-ff1024:52 big:218; do
        got=$(tf-train --plan --vocab-size 100 --preset "${row%:*}" |
            awk '/^  total with 40960 pieces/ { printf "%.0f", $5 / 1e6 }')
        [ "$got" = "${row#*:}" ] || { echo "$row: $got" >&2; return 1; }
    done
}

@test "--plan --hours: the paper's own estimate of Table 2" {
    estimate() {
        tf-train --plan --vocab-size 37000 "$@" | sed -n "s/^  FLOP, the paper's estimate *//p"
    }
    [ "$(estimate --hours 12)" = "3.283e+18  (12 hours, 8 devices, 9.5 TFLOPS)" ]
    [ "$(estimate --preset big --hours 84 --tflops P100)" = \
        "2.298e+19  (84 hours, 8 devices, 9.5 TFLOPS)" ]
    [ "$(estimate --hours 1 --devices 1 --tflops 2)" = "7.200e+15  (1 hours, 1 devices, 2 TFLOPS)" ]
    for card in K80:2.8 K40:3.7 M40:6 P100:9.5; do
        expect_contains "$(estimate --hours 1 --tflops "${card%:*}")" ", ${card#*:} TFLOPS"
    done
    [ -z "$(estimate)" ]
    t 2 tf-train --plan --vocab-size 37000 --hours 1 --tflops V100
    expect_error "--tflops 'V100': a number, or one of K80, K40, M40, P100"
    t 2 tf-train --plan --vocab-size 37000 --tflops K80
    expect_error "--tflops requires --hours"
}

@test "--plan prints the peak of the learning rate, and warns of one that is much higher" {
    plan() { t 0 tf-train --plan --vocab-size 37000 "$@"; }
    rows() { printf '%s\n' "$output" | sed -n '/^learning rate/,$p' | tr -s ' ' | tr '\n' '|'; }
    for preset in base:6.988e-04 C-d256:9.882e-04 big:4.941e-04; do
        plan --preset ${preset%:*}
        [ "$(rows)" = "learning rate, schedule paper| peak ${preset#*:}| update of the peak 4000| peak of the preset ${preset#*:}|" ]
        [ -z "$stderr" ]
    done
    plan --preset base --lr-scale 2.9
    [ -z "$stderr" ]
    plan --preset base --warmup 400 --lr-scale 2 --steps 100
    [ "$(rows)" = "learning rate, schedule paper| peak 4.419e-03| update of the peak 400| highest, in the last update 1.105e-03| peak of the preset 6.988e-04|" ]
    expect_error "tf-train: warning: the learning rate peaks at 0.00442 in update 400, 6.32 times the preset's 0.000699 in update 4000: the model may collapse"
    plan --preset base --schedule inverse-sqrt --lr 0.002 --warmup 100
    expect_contains "$(rows)" "learning rate, schedule inverse-sqrt| peak 2.000e-03| update of the peak 100|"
    [ -z "$stderr" ]
}

@test "--weight-decay: smaller weights, recorded, and 0 in a checkpoint of the time before it" {
    for x in 0 20; do train --weight-decay $x --steps 8 -o "run$x" b.tfs; done
    for x in 0 20; do tf-convert "run$x/ckpt-00000008.tfm" -o "$x.safetensors"; done
    "$TF_PYTHON" - <<'PY'
import array
def squares(name):
    data = open(name, "rb").read()
    return sum(x * x for x in array.array("f", data[8 + int.from_bytes(data[:8], "little"):]))
assert squares("20.safetensors") < 0.9 * squares("0.safetensors")
PY
    tr_t 1 --weight-decay 1 --steps 9 -o run20 b.tfs
    expect_error "weight_decay: 20 in the checkpoint, 1 in this run"
    tf-cbor json run0/ckpt-00000008.tfm >new.jsonl
    sed '/"settings"/ s/,"weight_decay":[^,}]*//' new.jsonl >old.jsonl
    [ "$(wc -c <new.jsonl)" -gt "$(wc -c <old.jsonl)" ]
    tf-cbor unjson old.jsonl >run0/ckpt-00000008.tfm
    tr_t 1 --weight-decay 1 --steps 9 -o run0 b.tfs
    expect_error "weight_decay: 0 in the checkpoint, 1 in this run"
    tr_t 0 --steps 9 -o run0 b.tfs
}

@test "options that can't be" {
    tr_t 2 b.tfs
    expect_error "-o DIR is required"
    t 2 tf-train --preset huge -o x b.tfs
    expect_error "preset 'huge': unknown; one of base big"
    tr_t 2 -o '' b.tfs
    expect_error "tf-train: --output '': empty"
    for o in --plan-tokens --plan-length; do
        tr_t 2 $o 10 -o x b.tfs
        expect_error "tf-train: $o is only for --plan"
    done
    for o in vocab init tuning valid; do
        sh_t 2 'tf-train "$@" <b.tfs' "${small[@]}" --$o - -o x
        expect_error "tf-train: only one file can be stdin"
    done
    batches bos=-1 >nobos.tfs
    tr_t 2 --start bos -o x nobos.tfs
    expect_error "tf-train: --start bos: the stream's vocabulary has no bos"
    rm -r x
    train --steps 1 -o nobos nobos.tfs
    tr_t 2 --lr 1 -o x b.tfs
    expect_error "--lr: the paper's schedule has no peak"
    tr_t 2 --schedule constant -o x b.tfs
    expect_error "--schedule constant: needs --lr"
    tr_t 2 --adam-eps 0 -o x b.tfs
    expect_error "--adam-eps 0: too small, minimum 1e-30"
    tr_t 2 --heads 3 -o x b.tfs
    expect_error "3 heads do not divide d_model 16: --d-k and --d-v are required"
    tr_t 0 --heads 3 --d-k 5 --d-v 7 --steps 2 -o odd b.tfs
    t 0 tf-train --plan --preset B-dk16 --d-model 32 --layers 1 --vocab-size 100
    expect_contains "$output" "encoder self-attention             10240"
    cp b.tfs file
    tr_t 1 -o file b.tfs
    expect_error "tf-train: file: not a directory"
    [ ! -e x ]
}

@test "every variant of the model trains and comes back" {
    i=0
    for v in "--pre-norm" "--as t2t" "--positions learned --max-positions 40" "--tie none" \
        "--tie decoder" "--attention-window 2" "--start zero" \
        "--label-smoothing 0" "--initializer glorot" "--schedule inverse-sqrt --lr 0.01" \
            "--relu-dropout 0.2 --accumulate 2"; do
        i=$((i + 1))
        # shellcheck disable=SC2086
        train --steps 6 --save-every 100 $v -o whole$i b.tfs
        # shellcheck disable=SC2086
        train --steps 3 --save-every 100 $v -o run$i b.tfs
        # shellcheck disable=SC2086
        train --steps 6 --save-every 100 $v -o run$i b.tfs
        same whole$i/ckpt-00000006.tfm run$i/ckpt-00000006.tfm
    done
}

@test "--beta1, --beta2; --no-pre-norm, --no-attention-bias and --no-eps-hat take back the option" {
    parameters() { tf-convert --to npz "$1/ckpt-00000003.tfm" -o - >"$1.npz"; }
    args=(--steps 3 --adam-eps 0.01 b.tfs)
    train -o plain "${args[@]}"
    parameters plain
    for o in beta1 beta2; do
        train --$o 0.8 -o $o "${args[@]}"
        parameters $o
        run -1 cmp -s plain.npz $o.npz
        t 0 tf-info --json $o/ckpt-00000003.tfm
        grep -q "\"$o\":0.8" <<<"$output"
    done
    for o in pre-norm attention-bias eps-hat; do
        train --$o -o $o "${args[@]}"
        train --$o --no-$o -o no-$o "${args[@]}"
        parameters $o
        parameters no-$o
        same plain.npz no-$o.npz
        run -1 cmp -s plain.npz $o.npz
    done
}
