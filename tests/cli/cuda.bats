#!/usr/bin/env bats
# The CUDA backend: every operation against the references, and training and decoding with it. On
# the GPU where there is a plugin and a device that it can use; else the same kernels compiled
# for the host (tests/emulate), which shows that they are right, not that they are fast.
# bats file_tags=first,no-asan,no-emulator
load helper
load translate
load ranks

setup_file() {
    cuda_or_emulation || return 0
    if [ -n "${EMULATED:-}" ]; then
        echo "# no usable GPU: its kernels run in the emulation" >&3
    else
        echo "# on $(tf-info --devices --json | sed 's/.*"cuda":"\([^"]*\)".*/\1/')" >&3
    fi
    make_model
    batches n=12 weights=1 >b.tfs
}

prepare() {
    need "$TF_PYTHON"
    build=${TF_BUILD:-$TOP/build}
    B=$BATS_FILE_TMPDIR/b.tfs
}

# A model of 1+1 layers and width 16, on the GPU unless said otherwise.
small=(--preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --dropout 0.1 --attention-dropout \
    0.1 --warmup 20)

train() {
    tf-train -q --device cuda "${small[@]}" "$@" "$B"
}

# Of checkpoints whose settings differ.
same_weights() {
    tf-cbor json "$1" | grep '"type":"tensor"' >first.weights &&
        tf-cbor json "$2" | grep '"type":"tensor"' >second.weights &&
        same first.weights second.weights
}

# A few lines, so that the emulation is done in seconds.
few() {
    head -9 "$LINES_TXT" | tf-tokenize -m "$BATS_FILE_TMPDIR/vocab"
}

# The last loss in a run's log.
losses() {
    sed -n 's/.*"event":"step".*"loss":\([0-9.]*\).*/\1/p' "$1/log.jsonl"
}

# losses_near A B MOST N: the losses of two runs of N updates, each within MOST of its size.
losses_near() {
    paste <(losses "$1") <(losses "$2") | awk -v most="$3" -v want="$4" '
        { d = $1 - $2; if (d < 0) d = -d; if (d > worst) worst = d; n++ }
        END { if (n != want || worst > most * $1) { print n " losses, off by up to " worst > "/dev/stderr"; exit 1 } }'
}

# A test program, on this backend alone; in the emulation with so many problems of each operation.
program() {
    [ -x "$build/tests/$1.t" ] || skip "$1 was not built"
    TF_TEST_REQUIRE=cuda TF_TEST_BACKENDS=cuda TF_TEST_CASES=${EMULATED:+${2:-}} \
        TF_TIMEOUT=$((10 * TF_TIMEOUT)) t 0 "$build/tests/$1.t"
    expect_contains "$output" "cuda bf16"
}

# By hand with AddressSanitizer, too, which saw the code of this test in the others.
plain_only() {
    [[ ${TF_SAN:-} != *address* ]] || skip "only without AddressSanitizer"
}

@test "operations agree with the reference in fp32, bf16 and fp16" {
    # Sanitizers need most of their time for the cases from 9 to 31, of hundreds of rows.
    cases=${TF_SAN:+9}
    TF_CUDA_SMS=132 program ops/agreement "${cases:-12}" # an H200's: how work is cut depends on it
    # Kernels for many rows, which a device of that size takes for larger problems.
    TF_CUDA_SMS=1 TF_TEST_OPS=cached_attention program ops/agreement 12
    for op in linear feed_forward; do
        TF_CUDA_EPILOGUES=all TF_TEST_OPS=$op program ops/agreement "${cases:-40}"
    done
    TF_CUDA_EPILOGUES=none TF_TEST_OPS=linear program ops/agreement 12 # fp16's kernels in their place
    # Among them heads of 128.
    TF_TEST_FIRST=$((${TF_SAN:+16} + 16)) TF_TEST_OPS=attention program ops/agreement 40
}

@test "a device that nothing was compiled for is refused, and auto takes the CPU" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    export TF_EMULATE_NO_CODE=1
    few >in.tfs
    t 1 tf-decode --device cuda -m "$MODEL" -o out.tfs in.tfs
    expect_error "compute capability 9.0: no kernel image is available for execution on the device; build with CUDA_ARCH=90"
    tf-decode --device cpu -m "$MODEL" -o cpu.tfs in.tfs
    tf-decode --device auto -m "$MODEL" -o auto.tfs in.tfs
    same cpu.tfs auto.tfs
}

@test "the projection in several chunks agrees with the reference, too" {
    cases=${TF_SAN:+12}
    TF_CUDA_XENT_ROOM=1 TF_TEST_OPS=xent program ops/agreement "${cases:-80}" # chunks of 128 rows
}

@test "without scratch memory: slower paths where there are some, else an error" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    batches n=3 pairs=90 v=200 >wide.tfs
    B=wide.tfs
    train --steps 2 --save-every 2 -o roomy # which takes a quarter more than 205,824 bytes
    TF_EMULATE_MOST=210000 train --steps 2 --save-every 2 -o narrow
    same roomy/ckpt-00000002.tfm narrow/ckpt-00000002.tfm
    TF_EMULATE_MOST=200000 t 1 tf-train -q --device cuda "${small[@]}" --steps 2 -o none "$B"
    expect_error "205824 bytes of scratch memory on the device: out of memory"
}

@test "no memory in the middle of a run: its last state is saved, and training resumes from there" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    batches n=8 v=200 large=5 times=4 >large.tfs
    B=large.tfs
    args=(--steps 8 --save-every 8 --log-every 1)
    train "${args[@]}" -o whole
    saved=0
    [ -z "${TF_SAN:-}" ] && step=10 least=5 || step=30 least=2
    for n in $(seq 2 $step 400); do
        rm -rf run
        TF_EMULATE_ALLOCATIONS=$n run tf-train -q --device cuda "${small[@]}" "${args[@]}" -o run "$B"
        [ "$status" -ne 0 ] || break
        [ "$status" -eq 1 ]
        expect_contains "$output" "out of memory"
        [[ $output == *'tf-train: step 6: '* ]] || continue # which makes all buffers again
        expect_contains "$output" "; last good checkpoint is run/resume.tfm"
        [ "$(losses run)" = "$(losses whole | head -5)" ]
        train "${args[@]}" -o run
        same whole/ckpt-00000008.tfm run/ckpt-00000008.tfm
        saved=$((saved + 1))
    done
    [ "$saved" -ge $least ]
    same whole/ckpt-00000008.tfm run/ckpt-00000008.tfm
}

@test "no kernel leaves its memory at the full size of base; TF_TEST_LONG=1: of big, and each precision" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    plain_only
    batches n=2 v=37000 pairs=1500 longest=60 >full.tfs # 33,000 tokens a side
    kinds=("base bf16")
    [ -z "${TF_TEST_LONG:-}" ] || kinds+=("base fp32" "base fp16" "big bf16" "big fp32")
    for kind in "${kinds[@]}"; do
        read -r preset precision <<<"$kind"
        # Blocks that did not run leave no gradient, so the run ends as diverged.
        TF_CUDA_SMS=132 TF_EMULATE_SAMPLE=6 TF_TIMEOUT=$((4 * TF_TIMEOUT)) t 3 tf-train -q \
            --no-save --preset "$preset" --precision "$precision" --steps 2 --device cuda \
            -o "$preset" full.tfs
        expect_contains "$stderr" "diverged at step 1"
    done
}

@test "graphs: the ones used least recently are evicted; gradients of weights beside a pass" {
    program ops/graphs
    program ops/beside # the same bytes, and no wait is missing
    [ -z "${EMULATED:-}" ] || TF_EMULATE_ORDER=reverse program ops/beside
}

@test "operations mean what the contract says" {
    program ops/meaning
    program ops/updates
    program ops/table
    logits=${TF_SAN:+4}
    program ops/logits "${logits:-20}"
    program ops/link
}

@test "the same bytes twice, on another lane, and alone or among others" {
    # AddressSanitizer saw these kernels with the same shapes in the first test.
    [[ -z ${TF_SAN:-} || $TF_SAN == *thread* ]] || skip "only without sanitizers, or by hand with SAN=thread"
    program ops/same_bytes 3 # the third has hundreds of rows
    # 33 rows are many then: each alone is few.
    export TF_CUDA_WITH
    for TF_CUDA_WITH in '' ${EMULATED:+wgmma}; do # whose order of sums only a GPU shows
        TF_CUDA_SMS=1 TF_CUDA_TIMES=1 TF_TEST_OPS=linear_packed program ops/same_bytes
        expect_contains "$stderr" "product: many rows"
        expect_contains "$stderr" "product: few rows"
    done
}

@test "a count of multiprocessors, or a room for logits, that is none" {
    for n in 0 -1 x 2x '' 1025; do
        TF_CUDA_SMS=$n t 1 tf-train -q --device cuda "${small[@]}" --steps 1 -o x "$B"
        expect_error "TF_CUDA_SMS: '$n': a number from 1 to 1024"
    done
    for n in 600M 0 -1 '' x 99999999999999999999; do
        TF_CUDA_XENT_ROOM=$n t 1 tf-train -q --device cuda "${small[@]}" --steps 1 -o x "$B"
        expect_error "TF_CUDA_XENT_ROOM: '$n': a number from 1 to 1099511627776"
    done
}

@test "training in fp32 gives the CPU's losses, in bf16 and fp16 nearly" {
    steps=${TF_SAN:+3}
    args=(--steps "${steps:=10}" --log-every 1)
    tf-train -q --device cpu "${small[@]}" "${args[@]}" -o cpu "$B"
    for p in fp32:1e-5 bf16:2e-2 fp16:2e-3; do
        train --precision "${p%:*}" "${args[@]}" -o "${p%:*}"
        losses_near cpu "${p%:*}" "${p#*:}" "$steps"
    done
}

@test "--freeze: what is frozen keeps its bytes, and the losses are the CPU's" {
    args=(--steps 3 --save-every 1 --keep 0 --log-every 1 --freeze 'enc.*,embed,dec.0.ff.*')
    tf-train -q --device cpu "${small[@]}" "${args[@]}" -o cpu "$B"
    train --precision fp32 "${args[@]}" -o gpu
    losses_near cpu gpu 1e-5 3
    "$TF_PYTHON" - <<'PY'
from streams import parameters
one, three = (parameters(f"gpu/ckpt-0000000{n}.tfm") for n in (1, 3))
frozen = [k for k in one if (one[k] == three[k]).all()]
assert frozen == [k for k in one if k.startswith(("enc.", "embed", "dec.0.ff."))], frozen
assert 10 < len(frozen) < len(one)
PY
}

@test "epilogues of products and kernels in their place give the same losses" {
    steps=${TF_SAN:+2}
    args=(--steps "${steps:=10}" --log-every 1)
    for p in fp32:1e-5 bf16:2e-3; do
        TF_CUDA_EPILOGUES=none train --precision "${p%:*}" "${args[@]}" -o "${p%:*}.none"
        for kind in mask sums all; do
            TF_CUDA_EPILOGUES=$kind train --precision "${p%:*}" "${args[@]}" -o "${p%:*}.$kind"
            losses_near "${p%:*}.none" "${p%:*}.$kind" "${p#*:}" "$steps"
        done
    done
}

@test "which epilogues products end in: in bf16 on Hopper none, unless set" {
    for p in bf16: bf16:none bf16:mask bf16:sums bf16:all fp32: fp32:none; do
        want=${p#*:}
        # shellcheck disable=SC2086
        env TF_CUDA_TIMES=1 ${want:+TF_CUDA_EPILOGUES=$want} tf-train -q --device cuda \
            --precision "${p%:*}" "${small[@]}" --steps 1 -o run "$B" 2>account
        rm -r run
        [ "$p" != fp32: ] || want=all
        [ "$p" != bf16: ] || [ -z "${EMULATED:-}" ] || want=none
        [ -n "$want" ] || continue
        [[ $want == @(mask|all) ]] && masks=yes || masks=no
        [[ $want == @(sums|all) ]] && sums=yes || sums=no
        [ "$(grep -q '^cuda: .* product .* +mask$' account && echo yes || echo no)" = $masks ]
        [ "$(grep -q '^cuda: .* weights .* +sums$' account && echo yes || echo no)" = $sums ]
    done
    TF_CUDA_EPILOGUES=some t 1 tf-train -q --device cuda "${small[@]}" --steps 1 -o x "$B"
    expect_error "TF_CUDA_EPILOGUES: 'some': one of none, mask, sums, all"
}

@test "after 150 updates the mean loss in bf16 is still the CPU's, within 1e-3" {
    [ -z "${TF_SAN:-}" ] || skip "the shorter runs show sanitizers the same code"
    batches n=200 >long.tfs
    B=long.tfs
    # At a high rate a change of the last bit is another run by then.
    calm=(--steps 200 --log-every 1 --warmup 100 --lr-scale 0.2)
    tf-train -q --device cpu "${small[@]}" "${calm[@]}" -o cpu "$B"
    train "${calm[@]}" -o bf16
    paste <(losses cpu) <(losses bf16) | tail -50 | awk '
        { a += $1; b += $2 }
        END { d = (a - b) / a
              if (NR != 50 || d > 1e-3 || d < -1e-3) {
                  print NR " losses, of means " a / NR " and " b / NR > "/dev/stderr"; exit 1 } }'
}

@test "a run gives the same bytes if it is interrupted, and in any order of blocks" {
    args=(--save-every 3 --accumulate 2 --ema 0.9 --clip 1)
    train "${args[@]}" --steps 6 -o whole
    train "${args[@]}" --steps 3 -o parts
    train "${args[@]}" --steps 6 -o parts
    same whole/ckpt-00000006.tfm parts/ckpt-00000006.tfm
    [ -z "${EMULATED:-}" ] || TF_EMULATE_ORDER=reverse train "${args[@]}" --steps 6 -o reverse
    [ -z "${EMULATED:-}" ] || same whole/ckpt-00000006.tfm reverse/ckpt-00000006.tfm
}

@test "any number of ranks with as many shards, and either MPI: the bytes of one process" {
    need jq
    find_mpis
    batches n=3 seed=9 first=0 >v.tfs
    batches n=12 pairs=1 >single.tfs
    # The weights take several chunks of the norm in the emulation, so that each rank has some.
    args=(--vocab-size 1500 --steps 4 --save-every 2 --valid v.tfs --ema 0.9 --clip 1 --shards 4)
    train "${args[@]}" -o one
    for what in openmpi:1 openmpi:2 openmpi:4 mpich:2 mpich:4; do
        mpi=${what%:*}
        [[ " ${mpis[*]} " == *" $mpi "* ]] || continue
        mpi_run "${what#*:}" tf-train -q --device cuda "${small[@]}" "${args[@]}" -o "$what" "$B"
        for f in ckpt-00000002.tfm ckpt-00000004.tfm best.tfm; do same "one/$f" "$what/$f"; done
    done
    unset mpi
    [ "$(jq -c 'select(.event == "start") | [.ranks, .shards]' "${mpis[0]}:4/log.jsonl")" = \
        '[4,4]' ]
    # Several batches; fewer sentences than shards; another precision.
    B=single.tfs
    args=(--steps 3 --save-every 3 --accumulate 3 --shards 2 --precision fp32)
    train "${args[@]}" -o one3
    mpi_run 8 tf-train -q --device cuda "${small[@]}" "${args[@]}" -o eight3 "$B"
    same one3/ckpt-00000003.tfm eight3/ckpt-00000003.tfm
}

@test "ranks with a GPU each exchange by NCCL: the bytes of one process; without it, by the host" {
    need jq
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    find_mpis
    export TF_EMULATE_DEVICES=4 TF_EMULATE_ALIKE=1 NCCL_COMM_BLOCKING=0 # which is overruled
    args=(--vocab-size 1500 --steps 4 --save-every 2 --ema 0.9 --clip 1 --shards 4)
    train "${args[@]}" -o one
    command=(tf-train --device cuda "${small[@]}" "${args[@]}")
    for n in 2 4; do
        TF_CUDA_TIMES=1 TF_EMULATE_TELL=1 run --separate-stderr mpi_run $n "${command[@]}" \
            -o "by-nccl.$n" "$B"
        expect_status 0
        [ "$(grep -c '^cuda: .* exchange$' <<<"$stderr")" -eq $n ]
        [[ $stderr != *'host memory'* ]]
        [ "$(grep -c '^emulate: [1-9][0-9]\{3,\} bytes from other ranks$' <<<"$stderr")" -eq $n ]
        [ "$(jq -r 'select(.event == "start").link' by-nccl.$n/log.jsonl)" = 'NCCL 2.23.4' ]
        for f in ckpt-00000002.tfm ckpt-00000004.tfm; do same "one/$f" "by-nccl.$n/$f"; done
    done
    # What keeps ranks from a link, and who says so.
    by_host() ( # WHY VARIABLE=VALUE
        export "${2?}"
        dir=by-host.${2%%=*}
        run --separate-stderr mpi_run 2 "${command[@]}" --steps 2 -o "$dir" "$B"
        expect_status 0
        grep "^tf-train: GPUs exchange through host memory: $1$" <<<"$stderr"
        [ "$(grep -c 'host memory' <<<"$stderr")" -eq 1 ]
        [ "$(jq -r 'select(.event == "start").link' "$dir/log.jsonl")" = null ]
        same one/ckpt-00000002.tfm "$dir/ckpt-00000002.tfm"
    )
    by_host 'rank 0 (.*): TF_CUDA_WITHOUT has nccl' TF_CUDA_WITHOUT=nccl
    by_host 'rank 0 (.*): NCCL is not installed (libnccl.so.2)' TF_EMULATE_NO_NCCL=1
    by_host 'ranks 0 and 1 (.*) use the same GPU' TF_EMULATE_DEVICES=1
}

@test "an exchange of GPUs that never ends: an error after --rank-timeout, and the run resumes" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    find_mpis
    [ "${mpis[0]}" = openmpi ] || skip "no Open MPI: a rank with a setting of its own is not tested"
    export TF_EMULATE_DEVICES=2 TF_EMULATE_ALIKE=1
    args=(--vocab-size 1500 --steps 4 --save-every 1 --shards 2)
    train "${args[@]}" -o whole
    program=(tf-train -q --device cuda "${small[@]}" "${args[@]}" --rank-timeout 2)
    # GPUs that don't find each other.
    TF_EMULATE_STALL=1 run --separate-stderr mpi_run 2 "${program[@]}" -o never "$B"
    unless_hung
    expect_status 1
    expect_contains "$stderr" "tf-train: GPUs: no answer for 3 s from one of 2 ranks"
    program+=(--rank-timeout 5) # a machine may stand still for two seconds
    for rank in 0 1; do # whose part of the eighth exchange is missing; two or more an update
        alone=(env TF_EMULATE_STALL=8)
        [ $rank = 0 ] && first=("${alone[@]}") second=() || first=() second=("${alone[@]}")
        run --separate-stderr launch mpirun.openmpi --oversubscribe --bind-to none \
            -n 1 "${first[@]}" "${program[@]}" -o run$rank "$B" : \
            -n 1 "${second[@]}" "${program[@]}" -o run$rank "$B"
        unless_hung
        expect_status 1
        grep -E "^tf-train: .*NCCL, after [0-9]+ s: (no answer from another rank's GPU|remote)" \
            <<<"$stderr" || { echo "$stderr" >&2; return 1; }
        [ -e run$rank/ckpt-00000001.tfm ]
        mpi_run 2 "${program[@]}" --rank-timeout 60 -o run$rank "$B"
        same whole/ckpt-00000004.tfm run$rank/ckpt-00000004.tfm
    done
}

@test "ranks: a shard for each by default, kept by a run that resumes; algorithms are rank 0's" {
    need jq
    find_mpis
    train --tune choices
    args=(-q --device cuda "${small[@]}" --tuning choices --save-every 2 -o run "$B")
    mpi_run 4 tf-train --steps 2 "${args[@]}"
    [ "$(tf-info --json run/ckpt-00000002.tfm | jq .settings.shards)" = 4 ]
    cp -r run whole
    mpi_run 2 tf-train --steps 4 "${args[@]}"
    tf-train --steps 6 "${args[@]}"
    args=(-q --device cuda "${small[@]}" --tuning choices --save-every 2 -o whole "$B")
    mpi_run 4 tf-train --steps 6 "${args[@]}"
    same run/ckpt-00000006.tfm whole/ckpt-00000006.tfm
    run --separate-stderr mpi_run 8 tf-train --steps 8 "${args[@]}"
    unless_hung
    expect_status 2
    expect_contains "$stderr" "tf-train: 8 ranks: at most 4 for 4 shards of 1 batches"
}

@test "ranks take the GPUs in turn; GPUs of other models are refused" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    find_mpis
    export TF_EMULATE_DEVICES=2 # of different names
    run --separate-stderr mpi_run 4 tf-train -q --device cuda "${small[@]}" --steps 1 -o x "$B"
    unless_hung
    expect_status 1
    [ "$(grep -c '^tf-train: ' <<<"$stderr")" -eq 1 ]
    grep -q '^tf-train: rank 1 (.*) and rank 0 (.*) differ in kernels: .* emulation 1, .* emulation, ' \
        <<<"$stderr"
    mpi_run 2 tf-train -q --device cuda:1 "${small[@]}" --steps 1 -o run "$B"
    grep -q '"device":"emulation 1,' run/log.jsonl
    run --separate-stderr mpi_run 2 tf-train -q --device cuda:2 "${small[@]}" --steps 1 -o x "$B"
    unless_hung
    expect_status 1
    [ "$(grep -c '^tf-train: ' <<<"$stderr")" -eq 1 ]
    expect_contains "$stderr" "tf-train: cuda: there is no device 2; the last one is cuda:1"
}

@test "a rank whose GPU has no memory left: all stop at the last boundary, which is saved" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    find_mpis
    [ "${mpis[0]}" = openmpi ] || skip "no Open MPI: a rank with a limit of its own is not tested"
    export TF_EMULATE_DEVICES=2 TF_EMULATE_ALIKE=1
    batches n=8 v=200 large=5 >large.tfs
    B=large.tfs
    args=(--steps 8 --save-every 8 --shards 2)
    train "${args[@]}" -o whole
    program=(tf-train -q --device cuda "${small[@]}" "${args[@]}")
    saved=0
    for n in $(seq 60 40 300); do
        rm -rf run
        run --separate-stderr launch mpirun.openmpi --oversubscribe --bind-to none \
            -n 1 "${program[@]}" -o run "$B" : -n 1 env "TF_EMULATE_ALLOCATIONS=$n" \
            "${program[@]}" -o run "$B"
        unless_hung
        [ "$status" -ne 0 ] || break
        expect_status 1
        [ "$(grep -c '^tf-train: ' <<<"$stderr")" -eq 1 ]
        [[ $stderr == *'tf-train: step 6: rank 1 ('*'out of memory; last good checkpoint is run/resume.tfm'* ]] ||
            continue
        mpi_run 2 "${program[@]}" -o run "$B" 2>/dev/null
        same whole/ckpt-00000008.tfm run/ckpt-00000008.tfm
        saved=$((saved + 1))
    done
    [ "$saved" -ge 1 ]
}

@test "measured choices: a file that a run reads, names and keeps using" {
    t 0 tf-train -q --device cuda "${small[@]}" --tune choices "$B"
    [ "$(head -n 1 choices)" = 'tf-tuning 1' ]
    [ "$(wc -l <choices)" -gt 20 ]
    grep -q '^[0-9]*x[0-9]*x128 tn bf16 fp32 over-rows ' choices # a gradient of weights
    gzip -k choices
    train --tuning choices.gz --steps 4 -o whole
    train --tuning choices --steps 2 -o parts
    train --tuning choices --steps 4 -o parts
    same whole/ckpt-00000004.tfm parts/ckpt-00000004.tfm
    tf-info --json whole/ckpt-00000004.tfm | grep -q "\"tuning\":\"$(sha256sum choices | cut \
        -c1-64)\""
    t 1 tf-train -q --device cuda "${small[@]}" --steps 5 -o parts "$B"
    expect_error "tuning: '"
    # What they can't be taken from.
    sed '2s/.*/device another/' choices >bad
    t 1 tf-train -q --device cuda "${small[@]}" --tuning bad --steps 1 -o x "$B"
    expect_error "bad: made for another, this is "
    for change in '1s/1/2/' '3s/.*/library none/' '5s/ : 0*/ : g/' '6s/ [0-9.]*$//' '7s/$/ 1/'; do
        sed "$change" choices >bad
        t 1 tf-train -q --device cuda "${small[@]}" --tuning bad --steps 1 -o x "$B"
        expect_error "bad: "
    done
    head -c 500 choices >bad
    t 1 tf-train -q --device cuda "${small[@]}" --tuning bad --steps 1 -o x "$B"
    expect_error "cut short"
    : >bad
    t 1 tf-train -q --device cuda "${small[@]}" --tuning bad --steps 1 -o x "$B"
    expect_error "bad: not a tuning file"
}

@test "a run resumes with its own precision only" {
    train --steps 1 -o run
    t 1 tf-train -q --device cuda --precision fp16 "${small[@]}" --steps 2 -o run "$B"
    expect_error "precision: 'bf16' in the checkpoint, 'fp16' in this run (another -o starts a new run; --force continues with the new value)"
    t 1 tf-train -q --device cpu "${small[@]}" --steps 2 -o run "$B"
    expect_error "kernels: 'cuda, "
    t 0 tf-train -q --device cpu --force "${small[@]}" --steps 2 -o run "$B"
    t 2 tf-train -q --device cpu --precision fp16 "${small[@]}" --steps 2 -o other "$B"
    expect_error "the cpu backend has no precision 'fp16' for training, only fp32, bf16"
}

@test "a run resumes only where the bytes are the same: GPU, library, epilogues, parts" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    need jq
    export TF_EMULATE_DEVICES=2 # of different names
    train --steps 1 --save-every 1 -o run
    is='cuda, emulation, cuBLASLt 13.0.0'
    [ "$(tf-info --json run/ckpt-00000001.tfm | jq -r .settings.kernels)" = "$is" ]
    resume() { # VARIABLE=VALUE... OPTION...
        run --separate-stderr env "${@:2}" tf-train -q --device "$1" "${small[@]}" --steps 2 \
            --save-every 1 -o run "$B"
    }
    refused() { # KERNELS DEVICE VARIABLE=VALUE
        resume "${@:2}"
        expect_status 1
        expect_contains "$stderr" "kernels: '$is' in the checkpoint, '$1' in this run"
        expect_contains "$stderr" "--force continues with the new value"
        [ ! -e run/ckpt-00000002.tfm ]
    }
    refused "${is/emulation/emulation 1}" cuda:1
    refused "${is/13.0.0/13.1.2}" cuda TF_EMULATE_LT_VERSION=130102
    refused "$is, epilogues all" cuda TF_CUDA_EPILOGUES=all
    refused "$is, logits in 600000000" cuda TF_CUDA_XENT_ROOM=600000000
    refused "$is, no product, no mma, no library" cuda TF_CUDA_WITHOUT=library,mma,pdl,product
    refused "$is, wgmma" cuda TF_CUDA_WITH=wgmma
    # With the same bytes from other means it resumes.
    resume cuda TF_CUDA_WITHOUT=graphs,pdl,nccl TF_CUDA_SMS=9
    expect_status 0
    train --steps 2 --save-every 2 -o whole
    same whole/ckpt-00000002.tfm run/ckpt-00000002.tfm
    # --force resumes elsewhere, and the model says so.
    t 0 tf-train -q --device cuda:1 --force "${small[@]}" --steps 3 --save-every 1 -o run "$B"
    [ "$(tf-info --json run/ckpt-00000003.tfm | jq -r .settings.kernels)" = \
        "${is/emulation/emulation 1}" ]
}

@test "decoding in fp32 and fp16 gives the CPU's text" {
    few >few.tfs
    for args in "--beam 1" "--beam 4" "--beam 4 --nbest 3" "--beam 4 --nbest 3 --early-stopping" \
        "--beam 4 --nbest 3 --search transformers" "--beam 4 --nbest 3 --search marian" \
        "--sample --seed 5" "--sample --seed 5 --top-k 9 --top-p 0.8"; do
        # shellcheck disable=SC2086
        for p in fp32 fp16; do
            tf-decode --device cpu -m "$MODEL" $args few.tfs | tf-tokenize -d -m "$MODEL" >cpu.txt
            tf-decode --device cuda --precision $p -m "$MODEL" $args few.tfs |
                tf-tokenize -d -m "$MODEL" >cuda.txt
            # A draw may fall on the other side.
            [ $p = fp16 ] && [[ $args == *sample* ]] || same cpu.txt cuda.txt
        done
    done
    tf-decode --device cuda -m "$MODEL" few.tfs >one.tfs
    tf-decode --device cuda -m "$MODEL" --batch 2 few.tfs >two.tfs
    same one.tfs two.tfs
    [ -z "${EMULATED:-}" ] || TF_EMULATE_ORDER=reverse tf-decode --device cuda -m "$MODEL" few.tfs |
        cmp - one.tfs >&2
}

@test "a recurrent model: the CPU's scores of tokens" {
    tf-train -q --device cpu "${small[@]}" --decoder-self ssru --output-bias --steps 2 -o recurrent \
        "$B"
    tf-avgckpt -n 1 recurrent -o recurrent.tfm
    few >few.tfs
    # Its text hardly depends on the cells: a model of random weights repeats tokens.
    decode=(tf-decode --beam 1 --token-scores -m recurrent.tfm few.tfs)
    scores() { tf-cbor json "$1" | grep -o '"token_logp":[^]]*' | tr -d ']' | tr '[,:' '\n' |
        grep '^-'; }
    "${decode[@]}" --device cpu -o cpu.tfs
    scores cpu.tfs >want
    [ "$(wc -l <want)" -gt 20 ]
    for way in "fp32 1e-5" "fp16 1e-2"; do
        t 0 "${decode[@]}" --device cuda --precision "${way% *}" -o cuda.tfs
        scores cuda.tfs | paste want - | awk -v most="${way#* }" '
            { d = ($1 - $2) / $1; if (NF != 2 || d * d > most * most) { print; bad = 1 } }
            END { exit bad }' >&2
    done
}

@test "a GPU without free memory is not taken for the CPU" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    few >few.tfs
    tf-decode --device cuda -m "$MODEL" few.tfs >some.tfs
    export TF_EMULATE_FREE=0 # what is needed is allocated all the same
    tf-decode --device cuda -m "$MODEL" few.tfs | cmp - some.tfs >&2
    echo a | tf-tokenize -m "$MODEL" >set.tfs
    rules=(--min-length 4 --no-repeat-ngram 2 --repetition-penalty 1.5 --precision fp32)
    tf-decode --device cpu -m "$MODEL" "${rules[@]}" few.tfs | tf-tokenize -d -m "$MODEL" >cpu.txt
    tf-decode --device cuda -m "$MODEL" "${rules[@]}" few.tfs >rules.tfs
    tf-tokenize -d -m "$MODEL" rules.tfs | cmp - cpu.txt >&2
    tf-decode --device cuda -m "$MODEL" "${rules[@]}" --batch 2 few.tfs | cmp - rules.tfs >&2
    early=(--early-stopping --nbest 4 --precision fp32)
    tf-decode --device cuda -m "$MODEL" "${early[@]}" few.tfs >early.tfs
    tf-decode --device cuda -m "$MODEL" "${early[@]}" --batch 2 few.tfs | cmp - early.tfs >&2
    t 2 tf-decode --device cuda -m "$MODEL" --insert set.tfs few.tfs
    expect_error "--insert: runs on the CPU only"
    echo a >words
    t 2 tf-decode --device cuda -m "$MODEL" --forbid words few.tfs
    expect_error "--forbid: runs on the CPU only"
    t 2 tf-decode --device cuda -m "$MODEL" --terms words few.tfs
    expect_error "--terms: runs on the CPU only"
    t 2 tf-decode --device cuda -m "$MODEL" --constraints words few.tfs
    expect_error "--constraints: runs on the CPU only"
    t 2 tf-decode --device cuda -m "$MODEL" --diverse 2 few.tfs
    expect_error "--diverse: runs on the CPU only"
}

@test "steps that come again are replayed, with the same result" {
    plain_only
    few >few.tfs
    tf-decode --device cuda -m "$MODEL" few.tfs >whole.tfs
    TF_EMULATE_TELL=1 t 0 tf-decode --device cuda -m "$MODEL" --batch 1 few.tfs
    printf '%s\n' "$stderr" >notes
    tf-decode --device cuda -m "$MODEL" --batch 1 few.tfs >ones.tfs
    # Which replays nothing.
    TF_CUDA_TIMES=1 tf-decode --device cuda -m "$MODEL" --batch 1 few.tfs >plain.tfs 2>account
    [ -z "${EMULATED:-}" ] || grep -q '^emulate: [1-9][0-9]* graphs launched' notes
    [ -z "${EMULATED:-}" ] || TF_EMULATE_NO_GRAPHS=1 tf-decode --device cuda -m "$MODEL" --batch 1 \
        few.tfs | cmp - ones.tfs >&2
    same ones.tfs plain.tfs
    same ones.tfs whole.tfs
    grep -q '^cuda: .* product' account
}

@test "sentences of any length, one at a time, replay the same steps" {
    plain_only
    line=
    for word in a b c b a c a b c c b a b c; do
        line="$line$word "
        echo "$line"
    done | tac | tf-tokenize -m "$BATS_FILE_TMPDIR/vocab" >all.tfs
    tf-decode --device cuda -m "$MODEL" --max-extra 0 all.tfs >whole.tfs
    # Two: a search begins with its buffers this way round or that. One: others enter it.
    for way in "--window 1:2" "--batch 1:1"; do
        # shellcheck disable=SC2086
        TF_EMULATE_TELL=1 tf-decode --device cuda -m "$MODEL" --max-extra 0 ${way%:*} all.tfs \
            >ones.tfs 2>notes
        same whole.tfs ones.tfs
        [ -z "${EMULATED:-}" ] || grep -q "^emulate: [1-9].* graphs launched of ${way#*:}\$" notes
    done
}

@test "updates of a shape that was seen before are replayed, with the same result" {
    plain_only
    args=(--steps 6 --save-every 6 --accumulate 2 --positions learned)
    TF_EMULATE_TELL=1 t 0 tf-train -q --device cuda "${small[@]}" "${args[@]}" -o replayed "$B"
    [ -z "${EMULATED:-}" ] || grep -q '^emulate: [1-9][0-9]* graphs launched' <<<"$stderr"
    [ -z "${EMULATED:-}" ] || TF_EMULATE_NO_GRAPHS=1 train "${args[@]}" -o plain
    [ -n "${EMULATED:-}" ] || TF_CUDA_TIMES=1 train "${args[@]}" -o plain 2>account
    same plain/ckpt-00000006.tfm replayed/ckpt-00000006.tfm
}

@test "validation keeps the graphs of training, and both their results" {
    plain_only
    need jq
    batches n=2 seed=9 >v.tfs
    batches n=12 >alike.tfs # weights would make two graphs of a shape
    B=alike.tfs
    for form in '' --pre-norm; do
        # shellcheck disable=SC2206
        args=($form --steps 12 --save-every 12 --log-every 1)
        TF_EMULATE_TELL=1 t 0 tf-train -q --device cuda "${small[@]}" "${args[@]}" -o "kept$form" \
            --valid v.tfs --valid-every 1 "$B"
        # Ten of twelve updates: of each shape the first two are not replayed.
        [ -z "${EMULATED:-}" ] || [ "$(sed -n 's/^emulate: \([0-9]*\) graphs launched.*/\1/p' \
            <<<"$stderr")" -ge 9 ]
        train "${args[@]}" -o "bare$form"
        same_weights "bare$form/ckpt-00000012.tfm" "kept$form/ckpt-00000012.tfm"
        TF_CUDA_WITHOUT=graphs train "${args[@]}" -o "plain$form" --valid v.tfs --valid-every 1
        for dir in kept plain; do
            jq -c 'select(.event == "valid") | [.step, .loss]' "$dir$form/log.jsonl" >"$dir.losses"
        done
        [ "$(wc -l <kept.losses)" -eq 12 ]
        same plain.losses kept.losses
    done
}

@test "a pass of as many rows in more sentences is not the one that was recorded" {
    plain_only
    # All of 390 tokens. A graph has room for 128 sentences, or for 256.
    for n in 130 78 78 78 130 130; do
        seq $n | sed "s/.*/$([ $n = 78 ] && echo a b c a || echo a b)/"
    done | tf-tokenize -m "$BATS_FILE_TMPDIR/vocab" >some.tfs
    tf-batch -q --no-shuffle --tokens 390 some.tfs some.tfs >some.batches.tfs
    [ "$(tf-cbor json some.batches.tfs | grep -c '"type":"batch"')" -eq 6 ]
    B=some.batches.tfs
    TF_EMULATE_TELL=1 t 0 tf-train -q --device cuda "${small[@]}" --steps 6 --save-every 6 -o \
        replayed "$B"
    [ -z "${EMULATED:-}" ] || grep -q '^emulate: [1-9][0-9]* graphs launched of 2$' <<<"$stderr"
    [ -z "${EMULATED:-}" ] || TF_EMULATE_NO_GRAPHS=1 train --steps 6 --save-every 6 -o plain
    [ -n "${EMULATED:-}" ] || TF_CUDA_TIMES=1 train --steps 6 --save-every 6 -o plain 2>account
    same plain/ckpt-00000006.tfm replayed/ckpt-00000006.tfm
}

@test "the account of times: a line for each weight's gradient, and what products end in" {
    TF_CUDA_TIMES=1 TF_CUDA_EPILOGUES=all train --steps 4 -o run 2>account
    for what in 'weights 16 x 32 +sums' 'weights 32 x 16 +sums' 'product nn by 16 x 32 +mask' \
        'product nt by 16 x 32 +mask' 'product nt by 32 x 16'; do
        [ "$(grep -cE "^cuda: +[0-9.]+ ms +[0-9]+  ${what//+/[+]}\$" account)" -eq 1 ]
    done
}

@test "what is replayed is a whole stretch of steps, not the end of one" {
    plain_only
    line=
    for word in a b c b a c a b; do # among them lengths whose last stretch is half of one
        line="$line$word "
        for _ in 1 2 3 4 5 6; do echo "$line"; done |
            tf-tokenize -m "$BATS_FILE_TMPDIR/vocab" >same.tfs
        tf-decode --device cuda -m "$MODEL" --max-extra 0 same.tfs >whole.tfs
        tf-decode --device cuda -m "$MODEL" --max-extra 0 --batch 1 same.tfs >ones.tfs
        same whole.tfs ones.tfs
    done
}

@test "a pipeline's devices: lines as on the CPU, and the score of each precision" {
    mkdir w
    cp "$MODEL" w/model.tfm
    few >w/test.en.tfs
    head -9 "$LINES_TXT" >w/test.de
    # What an experiment would have made before is there, and old.
    t 0 make -s -f "$TOP/pipelines/multi30k.mk" -o w/model.tfm -o w/test.en.tfs devices WORK=w \
        BIN= PAIR=en-de
    for d in cpu fp32 fp16; do
        grep -qE "^$d +100.00 % of the lines equal those of the CPU  BLEU [0-9.]+$" <<<"$output"
    done
    grep -qE "^bf16 +[0-9.]+ % of the lines" <<<"$output"
    [ "$(wc -l <<<"$output")" -eq 4 ]
}

@test "scores are the CPU's within rounding" {
    few >few.tfs
    for p in fp32:1e-4 fp16:2e-2; do
        tf-score -q --device cpu -m "$MODEL" --text few.tfs few.tfs >cpu.txt
        tf-score -q --device cuda --precision "${p%:*}" -m "$MODEL" --text few.tfs few.tfs >cuda.txt
        paste cpu.txt cuda.txt | awk -v most="${p#*:}" '{ h = NF / 2; d = $1 - $(1 + h); if (d < 0) d = -d; if (d > most * (1 + ($1 < 0 ? -$1 : $1))) { print > "/dev/stderr"; bad = 1 } } END { exit bad || NR != 9 }'
    done
}

@test "attention weights are those of a forward pass in numpy" {
    few >few.tfs
    tac "$LINES_TXT" | tail -9 | tf-tokenize -m "$MODEL" >back.tfs
    tf-attn --device cuda --precision fp32 -m "$MODEL" few.tfs back.tfs -o all.tfs
    t 0 "$TF_PYTHON" "$TOP/tests/cli/attention.py" "$MODEL" few.tfs back.tfs all.tfs
    expect_contains "$output" "27 records"
}

@test "auto takes what works, and says why not the GPU" {
    t 0 tf-train --device auto "${small[@]}" --steps 1 -o run "$B"
    mkdir none
    : >none/tf-backend-cuda.so
    TF_BACKEND_DIR=none t 0 tf-train --device auto "${small[@]}" --steps 1 -o cpu "$B"
    expect_contains "$stderr" "tf-backend-cuda.so"
    TF_BACKEND_DIR=none t 1 tf-train --device cuda "${small[@]}" --steps 1 -o no "$B"
    expect_error "tf-backend-cuda.so"
}

@test "TF_CUDA_WITHOUT: each part left out gives the same results; unknown words are errors" {
    plain_only
    few >few.tfs
    train --steps 3 -o all
    tf-decode --device cuda --precision fp32 -m "$MODEL" few.tfs >all.tfs
    local every=graphs,product,mma,library,pdl,nccl,relu,scatter,beside
    for part in ${every//,/ } $every; do
        TF_CUDA_WITHOUT=$part train --steps 3 -o "$part"
        TF_CUDA_WITHOUT=$part tf-decode --device cuda --precision fp32 -m "$MODEL" few.tfs >part.tfs
        [ -z "${EMULATED:-}" ] || same_weights all/ckpt-00000003.tfm "$part/ckpt-00000003.tfm"
        same all.tfs part.tfs
    done
    TF_CUDA_WITHOUT=library TF_CUDA_TIMES=1 train --steps 1 -o account 2>account.txt
    grep -q 'product: plain$' account.txt
    # What is done on the way has no launch of its own.
    for part in relu scatter; do
        TF_CUDA_WITHOUT=$part TF_CUDA_EPILOGUES=none TF_CUDA_TIMES=1 train --steps 1 -o $part.1 \
            2>$part.train
        TF_CUDA_WITHOUT=$part TF_CUDA_TIMES=1 tf-decode --device cuda -m "$MODEL" --batch 1 few.tfs \
            2>$part.decode >$part.tfs
    done
    same relu.tfs scatter.tfs
    same_weights relu.1/ckpt-00000001.tfm scatter.1/ckpt-00000001.tfm
    launches() { awk -v what="$2" '$NF == what { n = $(NF - 1) } END { print n + 0 }' "$1"; }
    [ "$(launches relu.train linear)" -gt "$(launches scatter.train linear)" ]
    [ "$(launches relu.decode scatter_rows)" -lt 9 ] # sources in the place of others
    [ "$(launches scatter.decode scatter_rows)" -gt 18 ]
    TF_CUDA_WITHOUT=graphs TF_EMULATE_TELL=1 tf-decode --device cuda -m "$MODEL" --batch 1 few.tfs \
        2>notes >/dev/null
    [ -z "${EMULATED:-}" ] || grep -q '^emulate: 0 graphs launched' notes
    for set in OUT=some OUT=graphs,some OUT=graphs,,mma OUT=GRAPHS =some; do
        t 1 env "TF_CUDA_WITH$set" tf-train -q --device cuda "${small[@]}" --steps 1 -o x "$B"
        [[ $set == =* ]] && expect_error "not wgmma" || expect_error "not one of ${every//,/, }"
    done
}

@test "an algorithm of the library that refuses to run: the next one, or no epilogue, or a kernel" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    few >few.tfs
    export TF_CUDA_EPILOGUES=none # their sums have another order than the kernels in their place
    train --precision fp32 --steps 3 -o all
    tf-decode --device cuda --precision fp32 -m "$MODEL" few.tfs >all.tfs
    for how in first run none epilogues rows; do
        TF_EMULATE_LT=$how train --precision fp32 --steps 3 -o $how
        same all/ckpt-00000003.tfm $how/ckpt-00000003.tfm
        TF_EMULATE_LT=$how tf-decode --device cuda --precision fp32 -m "$MODEL" few.tfs >$how.tfs
        same all.tfs $how.tfs
    done
    TF_EMULATE_LT=epilogues TF_CUDA_TIMES=1 train --steps 1 -o account 2>account.txt
    grep -q 'product: bias and ReLU$' account.txt
    run -1 grep -q 'product: plain$' account.txt
}

@test "an algorithm that refuses some number of rows is not used for later ones, and reported" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    few >few.tfs
    for beam in 1 4; do
        decode=(tf-decode --device cuda --precision fp32 -m "$MODEL" --beam "$beam" --batch 2)
        "${decode[@]}" few.tfs >all.tfs
        for how in workspace few; do
            TF_EMULATE_LT=$how "${decode[@]}" few.tfs >other.tfs 2>notes
            same all.tfs other.tfs
            # A line for each shape, whatever the number of rows.
            grep -q 'refuses [0-9]* rows: .*; results may depend on the number of rows$' notes
            sed 's/^cuda: [0-9]*x//; s/: an .*//' notes >shapes
            [ -z "$(sort shapes | uniq -d)" ]
        done
    done
}

@test "a model wider than the kernels or the device's shared memory: an error" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    wide=(tf-train -q --device cuda --preset tiny --layers 1 --d-ff 2 --heads 1 --steps 1 -o run)
    batches n=1 v=8 pairs=1 longest=2 >one.tfs
    B=one.tfs
    t 1 "${wide[@]}" --d-model 16388 --d-k 2 --d-v 2 "$B"
    expect_contains "$stderr" "add_norm_fwd: rows of 16388 elements; a GPU takes 16384 at most"
    # Of the backward pass, which needs more.
    t 0 "${wide[@]}" --d-model 2 --d-k 1000 --d-v 1000 "$B"
    rm -r run
    TF_EMULATE_SHARED=65536 t 1 "${wide[@]}" --d-model 2 --d-k 1000 --d-v 1000 "$B"
    expect_contains "$stderr" "attention_bwd: 73344 bytes of shared memory for these widths, the device has 65536"
    t 1 "${wide[@]}" --d-model 2 --d-k 9000 --d-v 9000 "$B"
    expect_contains "$stderr" "attention_fwd: 296832 bytes of shared memory for these widths, the device has 232448"
}

@test "graphs give way where they leave no memory, and the result is the same" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    few >few.tfs
    tf-decode --device cuda -m "$MODEL" --batch 1 few.tfs >plain.tfs
    for n in 0 1; do
        TF_EMULATE_GRAPHS=$n TF_EMULATE_TELL=1 tf-decode --device cuda -m "$MODEL" --batch 1 \
            few.tfs 2>notes >$n.tfs
        same plain.tfs $n.tfs
        run -1 grep 'capturing' notes
        [ $n = 0 ] && want='0 graphs launched of 0' || want='[1-9][0-9]* graphs launched'
        grep -q "^emulate: $want" notes
    done
}

@test "a graph that can't be captured is reported once" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    few >few.tfs
    TF_EMULATE_NO_GRAPHS=1 t 0 tf-decode --device cuda -m "$MODEL" --batch 1 few.tfs
    [ "$(grep -c '^cuda: capturing a graph: .*; kernels are launched one by one$' <<<"$stderr")" \
        -eq 1 ]
}

@test "cuda:N is GPU N, and one that is not there is an error" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    few >few.tfs
    export TF_EMULATE_DEVICES=2
    tf-decode --device cuda -m "$MODEL" few.tfs >first.tfs
    tf-decode --device cuda:0 -m "$MODEL" few.tfs | cmp - first.tfs >&2
    tf-decode --device cuda:1 -m "$MODEL" few.tfs | cmp - first.tfs >&2
    tf-score -q --device cuda:1 -m "$MODEL" few.tfs few.tfs >/dev/null
    tf-attn --device cuda:1 -m "$MODEL" few.tfs few.tfs >/dev/null
    t 0 tf-train --device cuda:1 "${small[@]}" --steps 1 -o run "$B"
    grep -q '"device":"emulation 1,' run/log.jsonl
    for tool in "tf-decode -m $MODEL few.tfs" "tf-train -q ${small[*]} --steps 1 -o x $B"; do
        # shellcheck disable=SC2086
        t 1 $tool --device cuda:2
        expect_error "there is no device 2; the last one is cuda:1"
        for name in cuda:x cuda: cuda:-1 cuda:1x gpu; do
            # shellcheck disable=SC2086
            t 2 $tool --device $name
            expect_error "no backend '$name': cpu, ref, "
        done
    done
    t 2 tf-train -q --device ref64 "${small[@]}" --steps 1 -o x "$B"
    expect_error "--device: 'ref64' is not for training"
}

@test "--no-save trains without writing a checkpoint" {
    train --steps 4 --save-every 2 --log-every 1 -o saved
    train --steps 4 --save-every 2 --log-every 1 --no-save -o bare
    [ "$(losses saved)" = "$(losses bare)" ]
    [ -n "$(losses bare)" ]
    [ -z "$(find bare -name '*.tfm*')" ]
}

@test "the bench: a broken part is found and switched off, and its job starts again" {
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    [ -z "${TF_SAN:-}" ] || skip "the tests above show sanitizers the same kernels"
    bench=("$TF_PYTHON" "$TOP/tests/bench/cuda" --emulate --no-build --build "$build" --keep kept)
    t 0 env TF_EMULATE_FAULT="product: few" "${bench[@]}" smoke one ncu
    expect_contains "$output" "switched off"
    expect_contains "$output" "ncu is missing here"
    grep -q '^bench: without product: works$\|^switched off  *product ' kept/log.txt
    grep -q '^== one, .*without product$' kept/log.txt
    grep -q '"without": \["product"\]' kept/state.json
    # A call with an empty DIR takes the state from a file, if it is of the same device.
    t 0 "${bench[@]}" --keep new --state kept/state.json ncu
    grep -q '^== ncu, .*without product$' new/log.txt
    grep -q '"without": \["product"\]' new/state.json
    sed 's/"device": "[^"]*"/"device": "another"/' kept/state.json >old.json
    t 0 "${bench[@]}" --keep newer --state old.json ncu
    expect_contains "$output" "old.json is of another device: another"
    grep -q '"without": \[\]' newer/state.json
    # Small batches whose updates are replayed.
    t 0 "${bench[@]}" --keep small graphs candidates
    grep -q '^tf-train tiny, without both ' small/log.txt
    [ "$(grep -c '^candidate ' small/log.txt)" -eq 4 ]
    # Translations as on the CPU, of three kinds of models.
    t 0 "${bench[@]}" --keep small translate
    [ "$(grep -c '^translations, ' small/log.txt)" -eq 9 ]
    [ "$(find small | wc -l)" -eq 3 ]
    t 1 env TF_EMULATE_FAULT="linear" "${bench[@]}" --without '' smoke
    grep -q 'no part of TF_CUDA_WITHOUT is to blame' kept/log.txt
    t 1 "${bench[@]}" all
    expect_error "unknown job"
    t 1 "$TOP/tests/bench/cuda_call" 1 --emulate "$build"
    expect_error "cuda_call: no model demo in"
}
