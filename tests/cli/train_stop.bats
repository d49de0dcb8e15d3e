#!/usr/bin/env bats
# tf-train: what stops a run, by signals, kills and full disks, loses and changes nothing.
load helper
load train

@test "a stream that breaks off: saved, status 1; the same command with the whole stream resumes to the same bytes" {
    natively
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
    natively
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
    natively
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

@test "a signal wins over the end of the pipe that comes with it" {
    begin
    kill -STOP "$pid"
    kill -TERM "$pid"
    exec 7>&-
    kill -CONT "$pid"
    ends 143
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
    # best.tfm is one, and the same command would resume from it.
    tr_t 3 -q --schedule constant --lr 1e10 --warmup 400 --steps 40 --valid b.tfs --valid-every 1 \
        --save-every 500 -o best b.tfs
    expect_contains "$stderr" "last good checkpoint is best/best.tfm"
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
    # Half a line would spoil the first one of the next start.
    printf '{"event":"other"}\n%.0s' {1..200} >all.jsonl
    sh_t 1 'ulimit -f 4; tf-train "$@"' "${small[@]}" --log all.jsonl -o two b.tfs
    expect_contains "$stderr" "all.jsonl: write: File too large"
    train --steps 6 --log all.jsonl -o two b.tfs
    [ "$(jq -r .event all.jsonl | uniq | head -n 2 | xargs)" = "other start" ]
}

@test "saves by the clock are resume.tfm, and change nothing" {
    train --steps 40 --save-every 20 -o whole b.tfs
    train --steps 40 --save-every 20 --save-minutes 0.00001 --log log -o run b.tfs
    same whole/ckpt-00000040.tfm run/ckpt-00000040.tfm
    grep -q '"file":"resume.tfm"' log
    [ ! -e run/resume.tfm ]
}

@test "without --save-every, saves by the clock are the regular checkpoints" {
    natively
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
