#!/usr/bin/env bats
# Each operation is stated once: tests/lint/signatures.
load ../cli/helper

prepare() { cd "$TOP" || return 1; }

lint=$BATS_TEST_DIRNAME/signatures

@test "the signature of an operation is written once as a type and once in each implementation" {
    t 0 "$lint" "$TOP"
    [[ $output =~ ^[0-9]+" operations, "[0-9]+" signatures"$ ]]
}

@test "a second prototype and a missing body are found" {
    cd "$T"
    mkdir lib
    cp -r "$TOP/lib/ops" lib/
    echo 'void TF_REF(ema)(struct tf_ctx *c, tf_mem_param *e);' >>lib/ops/ref/ref_private.h
    sed -i 's/^void TF_CPU(add)(struct/void TF_CPU(plus)(struct/' lib/ops/cpu/update.c
    t 1 "$lint" .
    expect_contains "$output" 'add: 0 signatures in cpu, not 1'
    expect_contains "$output" 'ema: 2 signatures in ref, not 1'
}
