#!/usr/bin/env bats
# tf-train: the directory of a run, its checkpoints, and what may resume from them.
load helper
load train

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
    tr_t 1 --steps 10 --shards 16 -o run nowhere.tfs
    expect_error "shards: 8 in the checkpoint, 16 in this run"
    train --steps 10 --shards 8 -o run nowhere.tfs
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
    natively
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

@test "another size shows another vocabulary, where no hash does" {
    batches v=50 >fewer.tfs
    train --steps 2 --vocab-size 64 -o run fewer.tfs
    tr_t 1 --steps 4 --vocab-size 64 -o run b.tfs
    expect_error "run/ckpt-00000002.tfm: vocabulary of 50 ids, that of the stream has 64"
    batches v=50 size=0 >unknown.tfs
    train --steps 4 --vocab-size 64 -o run unknown.tfs
    train --steps 6 --vocab-size 64 -o run fewer.tfs
}

@test "-0 is 0" {
    train --steps 2 --relu-dropout -0 -o run b.tfs
    train --steps 4 --relu-dropout 0 -o run b.tfs
    train --steps 6 --relu-dropout -0 -o run b.tfs
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
    # Another part after it does not make up for it.
    cat p1 p0 p2 >x.tfs
    tr_t 1 --steps 12 -o run x.tfs
    expect_contains "$stderr" \
        "x.tfs: another part follows at part 1, batch 0, before the checkpoint's position, part 1, batch 2"
}

@test "another corpus that is too short: part, batch, and how to start over" {
    train --steps 5 -o run b.tfs
    batches n=3 corpus=8 >c.tfs
    tr_t 1 --force --steps 8 -o run c.tfs
    expect_contains "$stderr" "c.tfs: ends at part 0, batch 3, before the checkpoint's position, part 0, batch 5 (to start over, use --init in a new directory)"
}

@test "--force leaves a trace of what it overrode, once" {
    natively
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
    sh_t 0 'tf-train "$@" <c.tfs' "${small[@]}" --force --steps 6 -o as_it_was
    expect_contains "$stderr" \
        "warning: stdin: the corpus differs from the checkpoint's; continuing with the new one"
}

# Sets that this machine has, other than that of its checkpoint; the first is always there.
@test "--force with another head to guide: later checkpoints state that one" {
    batches links=1 >linked.tfs
    states() { tf-info "run/ckpt-0000000$1.tfm" | grep -q "alignment-head *$2"; }
    train --steps 2 --decoder-layers 2 -o run linked.tfs
    train --steps 4 --decoder-layers 2 --guided-alignment 1 --guided-layer 1 --force -o run \
        linked.tfs
    states 4 1,1
    train --steps 6 --decoder-layers 2 --guided-alignment 1 --force -o run linked.tfs
    states 6 2,1
    # Without guidance from here on, that head is still the one that was guided.
    train --steps 8 --decoder-layers 2 --force -o run linked.tfs
    states 8 2,1
}

@test "other kernels on resumption: refused by name; with --force in the log and the provenance" {
    need jq
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
    expect_contains "$(tf-info --json run/ckpt-00000008.tfm |
        jq -c '[.made[] | select(.prog == "tf-train").kernels]')" '[null,"ref"]'
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
    # Also after a stop between the two, and after a kill before it was deleted.
    train --steps 5 --save-every 3 --keep 0 -o stop b.tfs
    batches n=5 end=0 >part.tfs
    tr_t 1 --steps 9 --save-every 3 --keep 0 -o stop part.tfs
    train --steps 9 --save-every 3 --keep 0 -o stop b.tfs
    [ "$(cd stop && echo ckpt*)" = "ckpt-00000003.tfm ckpt-00000006.tfm ckpt-00000009.tfm" ]
    train --steps 5 --save-every 3 --keep 0 -o kill b.tfs
    cp kill/ckpt-00000005.tfm .
    train --steps 6 --save-every 3 --keep 0 -o kill b.tfs
    cp ckpt-00000005.tfm kill
    train --steps 9 --save-every 3 --keep 0 -o kill b.tfs
    [ "$(cd kill && echo ckpt*)" = "ckpt-00000003.tfm ckpt-00000006.tfm ckpt-00000009.tfm" ]
    # Also where the killed run had its last update; another --keep deletes nothing then.
    train --steps 5 --save-every 3 --keep 0 -o end b.tfs
    train --steps 6 --save-every 3 --keep 0 -o end b.tfs
    cp ckpt-00000005.tfm end
    cp ckpt-00000005.tfm end/resume.tfm
    train --steps 6 --save-every 3 --keep 1 -o end b.tfs
    [ "$(cd end && echo *.tfm)" = "ckpt-00000003.tfm ckpt-00000006.tfm" ]
    rm end/log.jsonl # then nothing is known
    cp ckpt-00000005.tfm end
    train --steps 6 --save-every 3 --keep 1 -o end b.tfs
    [ "$(cd end && echo ckpt*)" = "ckpt-00000003.tfm ckpt-00000005.tfm ckpt-00000006.tfm" ]
}

@test "another --save-every deletes no checkpoint that was regular when it was written" {
    left() { (cd run && echo ckpt*) | sed 's/ckpt-0*//g; s/\.tfm//g'; }
    train --steps 4 --save-every 2 --keep 0 -o run b.tfs
    train --steps 10 --save-every 3 --keep 0 -o run b.tfs
    [ "$(left)" = "2 4 6 9 10" ]
    train --steps 16 --save-every 5 --keep 0 -o run b.tfs # 10 was none: its --save-every was 3
    [ "$(left)" = "2 4 6 9 15 16" ]
    # Saved by time; and without the log nothing is known.
    train --steps 3 --save-minutes 100 --keep 0 -o time b.tfs
    train --steps 4 --save-every 2 --keep 0 -o time b.tfs
    [ "$(cd time && echo ckpt*)" = "ckpt-00000003.tfm ckpt-00000004.tfm" ]
    train --steps 7 --save-every 2 --keep 0 -o none b.tfs
    rm none/log.jsonl
    train --steps 8 --save-every 2 --keep 0 -o none b.tfs
    [ -e none/ckpt-00000007.tfm ]
}

@test "temporaries that a killed run left are swept, other files are not" {
    mkdir run
    touch run/.tf-ckpt-00000005.tfm.tmp.123 run/.tf-avg.tfm.tmp.123 run/.tf-mine run/notes \
        run/valid.tfm # of a command for validation
    train --steps 2 -o run b.tfs
    [ "$(ls -A run)" = $'.tf-avg.tfm.tmp.123\n.tf-mine\nckpt-00000002.tfm\nlock\nlog.jsonl\nnotes' ]
}
