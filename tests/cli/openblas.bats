#!/usr/bin/env bats
# The kernel set openblas: what holds for our own kernels holds for it.
load helper
load translate

setup_file() {
    make_model
}

prepare() {
    need "$TF_PYTHON"
    local found
    found=$(tf-info --devices | grep '^openblas ')
    if [[ $found == *"No such file"* && " ${TF_TEST_REQUIRE:-} " != *" openblas "* ]]; then
        skip "no OpenBLAS: $found"
    fi
    export TF_CPU_ISA=openblas
}

small=(-q --preset tiny --layers 1 --d-model 48 --d-ff 80 --heads 2 --dropout 0.1 --warmup 20 \
    --device cpu)

train() {
    tf-train "${small[@]}" "$@"
}

@test "tf-info names it, its version and its core" {
    t 0 tf-info --devices
    [[ $output =~ "  cpu  "[[:space:]]+"OpenBLAS "[0-9.]+", core "[[:alnum:]]+"; else own kernels, " ]]
    TF_CPU_ISA='' t 0 tf-info --devices
    [[ $output =~ "openblas "[[:space:]]+"OpenBLAS "[0-9.]+", core "[[:alnum:]] ]]
}

@test "training: other bytes than our kernels, the same for any number of threads" {
    natively
    batches n=24 pairs=90 >b.tfs
    for n in 1 2 3; do
        train --threads $n --steps 12 --save-every 6 --ema 0.9 --clip 1 -o run$n b.tfs
    done
    for n in 2 3; do
        cmp run1/ckpt-00000006.tfm run$n/ckpt-00000006.tfm
        cmp run1/ckpt-00000012.tfm run$n/ckpt-00000012.tfm
    done
    TF_CPU_ISA=generic train --steps 12 --save-every 6 --ema 0.9 --clip 1 -o own b.tfs
    run -1 cmp -s run1/ckpt-00000012.tfm own/ckpt-00000012.tfm
}

@test "a run that stopped resumes to the same bytes" {
    natively
    batches n=24 pairs=30 >b.tfs
    train --steps 12 --save-every 5 --valid b.tfs --valid-every 4 -o whole b.tfs
    for k in 1 4 5 9; do
        batches n=$k end=0 pairs=30 >part.tfs
        rm -rf run
        t 1 tf-train "${small[@]}" --steps 12 --save-every 5 --valid b.tfs --valid-every 4 \
            -o run part.tfs
        train --steps 12 --save-every 5 --valid b.tfs --valid-every 4 -o run b.tfs
        cmp whole/ckpt-00000012.tfm run/ckpt-00000012.tfm
        cmp whole/best.tfm run/best.tfm
    done
}

@test "decoding and scoring: the same bytes for every layout" {
    for precision in fp32 int8; do
        tf-decode --precision $precision --threads 1 --max-extra 5 -m "$MODEL" "$LINES_TFS" >want
        for b in 1 7 64; do
            for w in 1 10 1000; do
                tf-decode --precision $precision --threads 2 --max-extra 5 --batch $b --window $w \
                    -m "$MODEL" "$LINES_TFS" >got
                cmp want got
            done
        done
    done
    tf-score --threads 1 -m "$MODEL" "$LINES_TFS" "$LINES_TFS" >want
    for w in 1 7 1000; do
        tf-score --threads 2 --window $w -m "$MODEL" "$LINES_TFS" "$LINES_TFS" >got
        cmp want got
    done
}

@test "the text is that of our own kernels" {
    tf-decode --max-extra 5 -m "$MODEL" "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >got
    TF_CPU_ISA=generic tf-decode --max-extra 5 -m "$MODEL" "$LINES_TFS" |
        tf-tokenize -d -m "$MODEL" >want
    [ "$(paste -d = want got | awk -F = '$1 == $2' | wc -l)" -gt $((LINES * 9 / 10)) ]
}

@test "a library that cannot be loaded is one clear error; the default does not need it" {
    mkdir lib
    echo "not a library" >lib/libopenblas.so.0
    export LD_LIBRARY_PATH=$T/lib
    t 1 tf-decode -m "$MODEL" "$LINES_TFS"
    expect_error "tf-decode: cpu: TF_CPU_ISA=openblas: $T/lib/libopenblas.so.0: "
    TF_CPU_ISA='' t 0 tf-decode -m "$MODEL" "$LINES_TFS" -o out
    TF_CPU_ISA=mmx t 1 tf-decode -m "$MODEL" "$LINES_TFS"
    expect_error "TF_CPU_ISA=mmx: not one of generic, "
    [[ $stderr == *", openblas" ]]
}
