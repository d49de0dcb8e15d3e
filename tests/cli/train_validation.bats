#!/usr/bin/env bats
# tf-train: validation, the best checkpoint, collapse and retention.
load helper
load train

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

# A learning rate at which the small model keeps to one prediction.
collapse=(--schedule constant --lr 0.3 --warmup 0 --valid v.tfs --valid-every 100 --save-every 100)

@test "a collapse: a warning at the second validation, status 0; not in a run that learns" {
    natively
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
        expect_contains "${stderr_lines[-1]}" "; last good checkpoint is run/ckpt-00000100.tfm"
    done
    # No best, because the user's command fails: repeated, it knows its validations all the same.
    for _ in 1 2; do
        tr_t 3 "${stop[@]/run/none}" --valid-command 'exit 1' long.tfs
        expect_contains "${stderr_lines[-1]}" "tf-train: step 200: the model has collapsed: "
        [[ ${stderr_lines[-1]} != *best.tfm* ]]
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
    batches n=5 gap=2 >v.tfs
    tr_t 1 "${args[@]}" b.tfs
    expect_error "tf-train: v.tfs: batch 3, expected batch 2"
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
