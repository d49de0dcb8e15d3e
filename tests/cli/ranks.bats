#!/usr/bin/env bats
# tf-train on many processes: the bytes of one, and a clear end for all of them.
# bats file_tags=first
load helper
load ranks

prepare() {
    find_mpis
    need "$TF_PYTHON" jq
    batches n=40 weights=1 >b.tfs
}

# The weights take several chunks, so that each rank has some.
small=(--preset tiny --layers 1 --d-model 24 --d-ff 32 --heads 2 --dropout 0.1 --attention-dropout \
    0.1 --warmup 20 --device cpu -q --vocab-size 20000)

# ranks NUMBER ARGUMENT...: under the first MPI, or under $mpi.
ranks() {
    local n=$1
    shift
    mpi_run "$n" tf-train "${small[@]}" "$@"
}

ranks_t() {
    local want=$1
    shift
    run --separate-stderr ranks "$@"
    unless_hung
    expect_status "$want"
}

@test "any number of ranks and threads, and either MPI: the bytes of one process" {
    batches n=3 seed=9 first=0 >v.tfs
    args=(--steps 6 --save-every 3 --valid v.tfs --ema 0.9 --clip 1)
    tf-train "${small[@]}" --threads 1 "${args[@]}" -o one b.tfs
    ranks 2 --threads 2 "${args[@]}" -o two b.tfs
    ranks 8 --threads 1 "${args[@]}" -o eight b.tfs
    for m in "${mpis[@]}"; do mpi=$m ranks 4 --threads 1 "${args[@]}" -o "$m" b.tfs; done
    for other in two eight "${mpis[@]}"; do
        for f in ckpt-00000003.tfm ckpt-00000006.tfm best.tfm; do same "one/$f" "$other/$f"; done
        diff <(jq -c 'select(.event == "valid") | del(.took, .seconds)' one/log.jsonl) \
            <(jq -c 'select(.event == "valid") | del(.took, .seconds)' "$other/log.jsonl")
    done
    [ "$(jq -c 'select(.event == "start") | [.ranks, (.hosts | length)]' eight/log.jsonl)" = '[8,8]' ]
}

@test "--valid-command: rank 0 alone runs it, while the others wait" {
    batches n=3 seed=9 first=0 >v.tfs
    # shellcheck disable=SC2016
    args=(--threads 1 --steps 6 --save-every 3 --valid v.tfs --rank-timeout 1.5 --valid-command
        'echo $TF_STEP >>steps; [ $TF_STEP = 3 ] && sleep 2; tf-info $TF_MODEL >info; wc -c <info')
    tf-train "${small[@]}" "${args[@]}" -o one b.tfs
    rm steps
    ranks 2 "${args[@]}" -o two b.tfs
    [ "$(cat steps)" = $'3\n6' ]
    for f in ckpt-00000003.tfm ckpt-00000006.tfm best.tfm; do same "one/$f" "two/$f"; done
    [ "$(jq -c 'select(.event == "valid").metric' two/log.jsonl)" = \
        "$(jq -c 'select(.event == "valid").metric' one/log.jsonl)" ]
}

@test "ranks with accumulation, of batches with fewer sentences than shards" {
    batches n=40 pairs=1 >single.tfs
    for what in "3 8 b" "4 2 b" "5 4 single" "2 16 b"; do
        read -r a n from <<<"$what"
        args=(--threads 1 --steps 3 --save-every 3 --accumulate "$a")
        tf-train "${small[@]}" "${args[@]}" -o "one$a" "$from.tfs"
        ranks "$n" "${args[@]}" -o "ranks$a" "$from.tfs"
        same "one$a/ckpt-00000003.tfm" "ranks$a/ckpt-00000003.tfm"
    done
}

@test "guided alignment: ranks get the links of their pairs" {
    batches n=2 links=1 weights=1 >l.tfs
    args=(--threads 1 --steps 2 --save-every 2 --guided-alignment 0.5)
    tf-train "${small[@]}" "${args[@]}" -o one l.tfs
    ranks 2 "${args[@]}" -o two l.tfs
    same one/ckpt-00000002.tfm two/ckpt-00000002.tfm
}

@test "--shards: other sums, any number of ranks up to it, and what a run began with" {
    args=(--threads 1 --save-every 2)
    tf-train "${small[@]}" "${args[@]}" --steps 4 -o eight b.tfs
    tf-train "${small[@]}" "${args[@]}" --steps 4 --shards 8 -o given b.tfs
    tf-train "${small[@]}" "${args[@]}" --steps 4 --shards 16 -o one b.tfs
    ranks 16 "${args[@]}" --shards 16 --steps 2 -o run b.tfs
    ranks 4 "${args[@]}" --steps 4 -o run b.tfs
    same one/ckpt-00000004.tfm run/ckpt-00000004.tfm
    for what in eight:null given:null one:16; do
        [ "$(tf-info --json "${what%:*}/ckpt-00000004.tfm" | jq .settings.shards)" = "${what#*:}" ]
    done
    run -1 cmp -s <(tf-convert --to npz eight/ckpt-00000004.tfm -o -) \
        <(tf-convert --to npz one/ckpt-00000004.tfm -o -)
    same <(tf-convert --to npz eight/ckpt-00000004.tfm -o -) \
        <(tf-convert --to npz given/ckpt-00000004.tfm -o -)
    for steps in 4 6; do # finished or not
        t 1 tf-train "${small[@]}" "${args[@]}" --steps $steps --shards 4 -o one b.tfs
        expect_error "shards: 16 in the checkpoint, 4 in this run (another -o starts a new run; --force continues with the new value)"
    done
    t 1 tf-train "${small[@]}" "${args[@]}" --steps 6 --shards 4 -o eight b.tfs
    expect_error "shards: 8 in the checkpoint, 4 in this run"
    t 0 tf-train "${small[@]}" "${args[@]}" --steps 4 -o eight b.tfs
    expect_contains "$stderr" "nothing left to do"
    t 0 tf-train "${small[@]}" "${args[@]}" --steps 6 --shards 4 --force -o eight b.tfs
    t 0 tf-train "${small[@]}" "${args[@]}" --steps 8 -o eight b.tfs
    t 2 tf-train "${small[@]}" --shards 6 -o new b.tfs
    expect_error "--shards 6: must be a power of two"
}

@test "batches of many tokens are cut into more shards, as the checkpoint says" {
    for tokens in 8192:null 8193:16 25000:32; do
        batches n=40 setting="${tokens%:*}" >large.tfs
        tf-train "${small[@]}" --steps 2 --save-every 2 -o "run$tokens" large.tfs
        [ "$(tf-info --json "run$tokens/ckpt-00000002.tfm" | jq .settings.shards)" = "${tokens#*:}" ]
    done
    # It keeps them, whatever the size of later batches, and ranks have the same.
    ranks 4 --steps 2 --save-every 2 -o ranks large.tfs
    same run25000:32/ckpt-00000002.tfm ranks/ckpt-00000002.tfm
}

@test "a run resumes with another number of ranks, from a FIFO, and after a kill" {
    args=(--threads 1 --save-every 4 --ema 0.9)
    tf-train "${small[@]}" "${args[@]}" --steps 12 -o one b.tfs
    ranks 4 "${args[@]}" --steps 4 -o run b.tfs
    tf-train "${small[@]}" "${args[@]}" --steps 8 -o run b.tfs
    mkfifo fifo
    cat b.tfs >fifo &
    ranks 2 "${args[@]}" --steps 12 -o run fifo
    wait "$!" || true
    same one/ckpt-00000012.tfm run/ckpt-00000012.tfm
}

@test "a signal to any rank stops all with 75, and the run resumes" {
    batches n=4000 >long.tfs
    args=(--threads 1 --steps 4000 --save-every 4000)
    for who in first last; do
        ranks 2 "${args[@]}" -o "$who" long.tfs 2>err &
        wait_for grep -qs '"event":"step"' "$who/log.jsonl"
        first=$(cat "$who/lock")
        last=$(other_ranks "$who")
        kill -USR2 "${!who}"
        launcher_ends
        [ "$status" -eq 75 ]
        grep -q 'stopped at step .*repeat the command to resume' err
        step=$(jq 'select(.event == "end") | .step' "$who/log.jsonl")
        tf-train "${small[@]}" "${args[@]}" --steps "$step" -o "one$who" long.tfs
        ranks 4 "${args[@]}" --steps $((step + 3)) -o "$who" long.tfs
        tf-train "${small[@]}" "${args[@]}" --steps $((step + 3)) -o "one$who" long.tfs
        same "$who/ckpt-$(printf %08d $((step + 3))).tfm" \
            "one$who/ckpt-$(printf %08d $((step + 3))).tfm"
    done
}

@test "a signal to another rank also counts while rank 0 waits for its input" {
    mkfifo fifo
    batches n=30 end=0 >b.tfs
    { cat b.tfs; exec sleep 600; } >fifo 2>/dev/null 3>&- &
    writer=$!
    ranks 2 --threads 1 --rank-timeout 5 --steps 4000 --log-every 1 -o run fifo 2>err &
    wait_for grep -qs '"event":"step","step":30,' run/log.jsonl
    sleep 6 # longer than the limit: the ranks know that all are alive
    kill -USR1 "$(other_ranks run)"
    wait_for test -e run/resume.tfm
    kill -USR2 "$(other_ranks run)"
    launcher_ends
    kill "$writer" || true
    [ "$status" -eq 75 ]
    [ "$(jq -c 'select(.event == "end") | [.step, .reason]' run/log.jsonl)" = '[30,"signal"]' ]
}

@test "a signal to another rank during validation: USR1 saves after it, USR2 interrupts it" {
    batches n=2000 >v.tfs # 3 ms more for each takes 6 seconds, in which the signal arrives
    begin() {
        mpi_run 2 env "LD_PRELOAD=$TF_BUILD/tests/faults/shim.so" TF_FAULT_SLOW=3 \
            tf-train "${small[@]}" --threads 1 --steps 3 --save-every 3 --log-every 1 \
            --valid v.tfs --valid-every 2 -o "$1" b.tfs 2>err &
        wait_for grep -qs '"event":"step","step":2,' "$1/log.jsonl" # validation follows
        other=$(other_ranks "$1")
    }
    begin usr1
    kill -USR1 "$other"
    wait "$!"
    grep -q '"event":"save","step":2,"file":"resume.tfm"' usr1/log.jsonl
    cat v.tfs v.tfs v.tfs v.tfs >long.tfs
    mv long.tfs v.tfs
    begin usr2
    kill -USR2 "$other"
    launcher_ends
    [ "$status" -eq 75 ]
    [ "$(jq -c 'select(.event == "end" or .event == "valid") | [.event, .step, .reason]' \
        usr2/log.jsonl)" = '["end",2,"signal"]' ]
}

@test "a rank that is killed ends all; the next start continues" {
    batches n=4000 >long.tfs
    args=(--threads 1 --save-every 5)
    ranks 2 "${args[@]}" --steps 4000 -o run long.tfs 2>err &
    wait_for test -e run/ckpt-00000005.tfm
    kill -9 "$(other_ranks run)"
    launcher_ends
    [ "$status" -ne 0 ]
    steps=$(jq -s 'map(.step) | max + 5 - max % 5 + 5' run/log.jsonl)
    ranks 2 "${args[@]}" --steps "$steps" -o run long.tfs
    tf-train "${small[@]}" "${args[@]}" --steps "$steps" -o one long.tfs
    same "run/ckpt-$(printf %08d "$steps").tfm" "one/ckpt-$(printf %08d "$steps").tfm"
}

@test "rank 0 alone reads and writes files: another has an empty directory, which stays empty" {
    [ "${mpis[0]}" = openmpi ] || skip "no Open MPI: a rank in a directory of its own is not tested"
    mkdir empty
    batches n=3 seed=9 first=0 >v.tfs
    args=(--threads 1 --steps 4 --save-every 2 --valid v.tfs)
    program=(tf-train "${small[@]}" "${args[@]}" -o run b.tfs)
    run --separate-stderr launch mpirun.openmpi --oversubscribe --bind-to none \
        -n 1 "${program[@]}" : -n 1 env -C "$PWD/empty" "${program[@]}"
    expect_status 0
    [ -z "$(ls -A empty)" ]
    tf-train "${small[@]}" "${args[@]}" -o one b.tfs
    for f in ckpt-00000004.tfm best.tfm; do same "one/$f" "run/$f"; done
}

@test "a rank without memory: the others learn of it, and rank 0 names it" {
    need prlimit
    [ "${mpis[0]}" = openmpi ] || skip "no Open MPI: a rank with a limit of its own is not tested"
    large=(tf-train "${small[@]}" --vocab-size 1000000 --threads 1 --steps 3 -o run b.tfs)
    run --separate-stderr launch mpirun.openmpi --oversubscribe --bind-to none \
        -n 1 "${large[@]}" : -n 1 prlimit --as=400000000 "${large[@]}"
    unless_hung
    expect_status 1
    [ "$(grep -c '^tf-train: ' <<<"$stderr")" -eq 1 ]
    grep -q '^tf-train: rank 1 (.*): no memory for ' <<<"$stderr"
}

@test "a rank that hangs ends all after --rank-timeout" {
    batches n=4000 >long.tfs
    ranks 4 --threads 1 --rank-timeout 5 --steps 4000 -o run long.tfs 2>err &
    wait_for grep -qs '"event":"step"' run/log.jsonl
    kill -STOP "$(other_ranks run | head -n 1)"
    launcher_ends
    [ "$status" -ne 0 ]
    [ "$status" -ne 124 ]
    grep -q 'no answer for 5 s from ' err
    jq -e 'select(.event == "step") | .comm_s >= 0 and .slowest >= 0 and .slowest < 4' run/log.jsonl
}

@test "a rank that hangs while rank 0 waits for a save: the save is completed, and named" {
    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    preload=("LD_PRELOAD=$TF_BUILD/tests/faults/shim.so" TF_FAULT_CALLS=rename TF_FAULT_OF=ckpt-*
        TF_FAULT_AT=1 TF_FAULT_DO=wait)
    mpi_run 2 env "${preload[@]}" tf-train "${small[@]}" --threads 1 --rank-timeout 5 --steps 40 \
        --save-every 3 --log-every 1 -o run b.tfs 2>err &
    wait_for grep -qs '"event":"step","step":6,' run/log.jsonl # the save of step 6 waits for that of 3
    kill -STOP "$(other_ranks run)"
    launcher_ends
    [ "$status" -ne 0 ]
    grep -q 'no answer for 5 s from rank 1 .*; last good checkpoint is run/ckpt-00000003.tfm' err
    grep -q '"event":"save","step":3,' run/log.jsonl
}

@test "ranks train on while rank 0 writes a checkpoint, for longer than their patience" {
    [ -z "${TF_SAN:-}" ] || skip "the preloaded library and the sanitizer's do not go together"
    [ -z "${TF_EMULATOR:-}" ] || skip "the library would be loaded into the emulator"
    preload=("LD_PRELOAD=$TF_BUILD/tests/faults/shim.so" TF_FAULT_CALLS=open TF_FAULT_OF=.tf-*
        TF_FAULT_AT=1 TF_FAULT_DO=wait) # 5 seconds
    mpi_run 2 env "${preload[@]}" tf-train "${small[@]}" --threads 1 --rank-timeout 2 --steps 4 \
        --save-every 3 -o run b.tfs
    [ -e run/ckpt-00000003.tfm ]
}

@test "a rank that ends before it connects, which MPICH does not notice" {
    [[ " ${mpis[*]} " == *" mpich "* ]] || skip "no MPICH"
    run --separate-stderr launch mpirun.mpich -n 1 tf-train "${small[@]}" --rank-timeout 1 -o run \
        b.tfs : -n 1 true
    [ "$status" -ne 0 ]
    [ "$status" -ne 124 ]
    expect_contains "$stderr" "tf-train: at the start, no answer for 11 s from one of 2 ranks"
}

@test "all ranks end with the status of rank 0, which alone says why" {
    ranks_t 2 3 -o run b.tfs
    [ "$(grep -c '^tf-train: ' <<<"$stderr")" -eq 1 ]
    expect_contains "$stderr" "tf-train: 3 ranks: must be a power of two"
    ranks_t 2 16 -o run b.tfs
    [ "$(grep -c '^tf-train: ' <<<"$stderr")" -eq 1 ]
    expect_contains "$stderr" "tf-train: 16 ranks: at most 8 for 8 shards of 1 batches"
    ranks_t 2 2 -o run -
    [ "$(grep -c '^tf-train: ' <<<"$stderr")" -eq 1 ]
    expect_contains "$stderr" "tf-train: ranks need the batch stream as a file or FIFO"
    ranks_t 1 2 -o run none.tfs
    [ "$(grep -c '^tf-train: ' <<<"$stderr")" -eq 1 ]
    expect_contains "$stderr" "tf-train: none.tfs: No such file or directory"
    ranks_t 3 2 --steps 50 --schedule constant --lr 1e30 --warmup 1 -o run b.tfs
    [ "$(grep -c '^tf-train: ' <<<"$stderr")" -eq 1 ]
    expect_contains "$stderr" "tf-train: diverged at step"
}

@test "without the plugin, or with the launcher of another MPI" {
    mkdir alone
    cp "$(command -v tf-train)" alone/
    OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 t 2 alone/tf-train "${small[@]}" -o run b.tfs
    expect_error "started as one of 4 ranks: tf-comm-openmpi.so is not installed (make MPI=yes)"
    OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=1 t 2 alone/tf-train "${small[@]}" -o run b.tfs
    [ -z "$stderr" ]
    OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 t 0 alone/tf-train "${small[@]}" --ranks none \
        --steps 1 -o run b.tfs
    if [ "${mpis[0]}" = openmpi ]; then
        OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 t 1 tf-train "${small[@]}" -o new b.tfs
        expect_contains "$stderr" "started as one of 4 ranks, but Open MPI"
    fi
}

@test "examples/slurm: the job trains, is queued again after 75, and no FIFO is left" {
    mkdir -p fake tmp
    "$TF_PYTHON" - <<'EOF' >text
import random
r = random.Random(1)
for _ in range(300):
    print(" ".join(r.choice(["one", "two", "three", "four"]) for _ in range(r.randint(1, 9))))
EOF
    tf-tokenize --train --vocab-size 30 -o v.model text 2>/dev/null
    tf-tokenize -m v.model <text >text.tfs
    cat >fake/srun <<EOF
#!/bin/bash
[ "\$1 \$2 \$3 \$4 \$5 \$6 \$7" = "-c 1 -K --mpi=pmix tf-train --preset base" ] || exit 9
shift 7
. "$TOP/tests/cli/ranks.bash"
TF_TIMEOUT=$((TF_TIMEOUT / 2)) \
    launch mpirun.openmpi -n 2 --oversubscribe --bind-to none tf-train ${small[*]} \$OPTIONS "\$@"
exit "\${STATUS:-\$?}"
EOF
    printf '#!/bin/bash\necho "$*" >>requeued\n' >fake/scontrol
    chmod +x fake/*
    command -v mpirun.openmpi >/dev/null || skip "no Open MPI: the example is not tested"
    job() {
        PATH=$PWD/fake:$PATH TMPDIR=$PWD/tmp SLURM_JOB_ID=7 timeout "$TF_TIMEOUT" \
            "$TOP/examples/slurm/train.sbatch" text.tfs text.tfs v.model run </dev/null
    }
    OPTIONS='--threads 1 --steps 3' run --separate-stderr job
    unless_hung
    expect_status 0
    [ -e run/ckpt-00000003.tfm ]
    [ ! -e requeued ]
    # With -K, srun may kill the other ranks of a run that stops, and return their status.
    for STATUS in "" 137; do
        rm -f requeued
        steps=$(grep -c '"event":"step"' run/log.jsonl)
        STATUS=$STATUS OPTIONS='--threads 1 --steps 100000 --log-every 10' job 2>/dev/null &
        more() { [ "$(grep -c '"event":"step"' run/log.jsonl)" -gt "$steps" ]; }
        wait_for more
        kill -USR2 "$(cat run/lock)"
        launcher_ends
        [ "$status" -eq 75 ]
        [ "$(cat requeued)" = "requeue 7" ]
    done
    # A job that fails is not queued again because an earlier one was stopped.
    rm requeued
    OPTIONS='--threads 1 --steps 100000 --heads 3' run --separate-stderr job
    unless_hung
    expect_status 1
    [ ! -e requeued ]
    [ -z "$(find tmp -mindepth 1 -maxdepth 1 ! -name 'ompi.*')" ] # which is the launcher's
}
