#!/usr/bin/env bats
# Training with products in bf16 on the CPU: close to fp32, and the same bytes for any number of
# threads and for kernel sets that differ in these products only.
load helper
load train

bf16() {
    train --precision bf16 --steps 8 --save-every 4 --log-every 1 "$@" b.tfs
}

@test "training: near fp32, the same bytes for any number of threads, resumed, never mixed" {
    train --steps 8 --log-every 1 -o fp32 b.tfs
    bf16 --threads 1 -o one
    bf16 --threads 3 -o three
    cmp one/ckpt-00000008.tfm three/ckpt-00000008.tfm
    bf16 -o again
    rm again/ckpt-00000008.tfm
    tr_t 1 --steps 8 -o again b.tfs
    expect_contains "$stderr" "precision"
    bf16 -o again
    cmp one/ckpt-00000008.tfm again/ckpt-00000008.tfm
    loss() { sed -n 's/.*"event":"step".*"loss":\([^,]*\),.*/\1/p' "$1/log.jsonl" | tail -n 1; }
    awk -v a="$(loss fp32)" -v b="$(loss one)" '
        BEGIN { d = (a - b) / a; exit !(a > 0 && a != b && d * d < 1e-4) }'
}

@test "the bytes of avx512bf16 are those of avx512" {
    for set in avx512 avx512bf16; do
        TF_CPU_ISA=$set bf16 -o $set 2>log || {
            grep -qE 'does not have it|not one of' log
            skip "no $set here"
        }
    done
    cmp avx512/ckpt-00000008.tfm avx512bf16/ckpt-00000008.tfm
}
