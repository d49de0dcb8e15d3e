#!/usr/bin/env bats
# What nvcc made of the CUDA kernels, on the CPU: its PTX, translated to C++, runs in the emulation.
# Here the kernels of decoding; with TF_TEST_LONG=1 all.
load helper
load translate

setup_file() {
    make_model
}

prepare() {
    need "$TF_PYTHON"
    build=${TF_BUILD:-$TOP/build}
}

# The plugin with nvcc's code.
take_ptx() {
    local dir=$build/ptx${TF_TEST_LONG:+-long}
    [ -e "$dir/tf-backend-cuda.so" ] || skip "the CUDA backend was not built"
    export TF_BACKEND_DIR=$dir TF_EMULATE_KERNELS=$BATS_FILE_TMPDIR/kernels
}

# A test program, on this backend alone, with at most so many problems of each operation.
program() {
    TF_TEST_REQUIRE=cuda TF_TEST_BACKENDS=cuda TF_TEST_CASES=${2:-} \
        TF_TIMEOUT=$((30 * TF_TIMEOUT)) t 0 "$build/tests/$1.t"
}

# All kernels of these names that were launched were nvcc's.
expect_ptx() {
    for name in "$@"; do
        grep -q "^ptx .*$name" "$TF_EMULATE_KERNELS"
        run -1 grep "^host .*$name" "$TF_EMULATE_KERNELS"
    done
}

@test "an instruction or modifier that the translator does not know is an error" {
    translate() { # LINE
        printf '%s\n' '.version 9.0' '.target sm_90' '.address_size 64' '.entry f(.param .u64 x)' \
            '{' '.reg .pred %p<2>;' '.reg .b32 %r<4>;' '.reg .b64 %rd<3>;' '.reg .f32 %f<4>;' "$1" \
            'L: ret;' '}' >f.ptx
        run --separate-stderr "$TF_PYTHON" "$TOP/tests/emulate/ptx/translate.py" f.ptx
    }
    local wgmma='wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f1},'
    for line in 'add.s32 %r1, %r2, 3;' '@!%p1 bra L;' 'mov.u32 %r1, %tid.x;' \
        'rcp.approx.ftz.f32 %f1, %f2;' 'cvt.rzi.f32.f32 %f1, %f2;' 'copysign.f32 %f1, %f2, %f3;' \
        'ld.param.u64 %rd1, [x];' "$wgmma {%r1, %r2, %r1, %r2}, %rd1, %p1, 1, 1, 0;" \
        'ld.global.v2.u32 {%r1, %r2}, [%rd1+8];' '{ .reg .b32 %r9; }'; do
        translate "$line"
        expect_status 0
    done
    for line in 'add.sat.s32 %r1, %r2, 3;' 'add.rp.f32 %f1, %f2, %f3;' 'add.s32 %r1, %r2;' \
        'mov.u32 %r1, %clock;' 'mov.u32 %r1, %r2, %r3;' 'add.s32 %rx, %r1, 1;' \
        'ld.global.nc.u32 %r1, [%rd1];' 'ld.global.v2.u32 %r1, [%rd1];' 'bar.sync 1;' \
        'fence.acq_rel.gpu;' "$wgmma {%r1, %r2, %r1, %r2}, %rd1, %p1, 1, -1, 0;" \
        "$wgmma %rd1, %rd1, %p1, 1, 1, 0, 0;" \
        '.maxnreg 32;' '.pragma "new";' 'st.global.u32 [y], %r1;' '$'; do
        translate "$line"
        expect_status 1
        # shellcheck disable=SC2154 # of `run`
        expect_contains "$stderr" "f.ptx: unknown: f: "
    done
    translate 'exit;'
    expect_status 0
    sed -i 's/[.]entry/.func/' f.ptx
    run --separate-stderr "$TF_PYTHON" "$TOP/tests/emulate/ptx/translate.py" f.ptx
    expect_status 1
    translate 'ret;'
    sed -i 's/^[.]target .*/&, texmode_independent/' f.ptx
    run --separate-stderr "$TF_PYTHON" "$TOP/tests/emulate/ptx/translate.py" f.ptx
    expect_status 1
}

@test "nvcc's attention over cached keys and packed products agree with the reference" {
    take_ptx
    for sms in 132 1; do # kernels for few rows, and for many
        TF_CUDA_SMS=$sms TF_TEST_OPS=cached_attention program ops/agreement 14
        TF_CUDA_SMS=$sms TF_TEST_OPS=linear_packed program ops/agreement 20
    done
    TF_TEST_OPS=linear_listed program ops/agreement 10
    for name in agreement same_bytes; do
        TF_CUDA_WITH=wgmma TF_CUDA_SMS=1 TF_TEST_OPS=linear_packed program ops/$name 20
    done
    grep -q '^ptx .*many_kernel.*Lb1' "$TF_EMULATE_KERNELS" # by wgmma
    expect_ptx cached_attention_kernel few_kernel many_kernel listed_kernel
}

@test "decoding with nvcc's kernels gives the CPU's text" {
    take_ptx
    head -9 "$LINES_TXT" | tf-tokenize -m "$BATS_FILE_TMPDIR/vocab" >few.tfs
    for args in "--beam 1" "--beam 4 --nbest 3" "--beam 4 --no-repeat-ngram 2" \
        "--sample --seed 5 --top-k 9"; do
        # shellcheck disable=SC2086
        for p in fp32 fp16; do
            tf-decode --device cpu -m "$MODEL" $args few.tfs | tf-tokenize -d -m "$MODEL" >cpu.txt
            tf-decode --device cuda --precision $p -m "$MODEL" $args few.tfs |
                tf-tokenize -d -m "$MODEL" >cuda.txt
            # A draw may fall on the other side.
            [ $p = fp16 ] && [[ $args == *sample* ]] || same cpu.txt cuda.txt
        done
    done
    listed
    tf-decode --device cpu -m listed.tfm few.tfs | tf-tokenize -d -m "$MODEL" >cpu.txt
    tf-decode --device cuda --precision fp32 -m listed.tfm few.tfs |
        tf-tokenize -d -m "$MODEL" >cuda.txt
    same cpu.txt cuda.txt
    # Halves as they are in a file, and weights for forward passes in either type.
    for p in fp16 bf16; do
        tf-convert --to tfm --dtype ${p/p/} "$MODEL" -o $p.tfm
        tf-decode --device cpu -m $p.tfm few.tfs | tf-tokenize -d -m "$MODEL" >cpu.txt
        tf-decode --device cuda --precision $p -m $p.tfm few.tfs | tf-tokenize -d -m "$MODEL" >cuda.txt
        same cpu.txt cuda.txt
        tf-score -q --device cuda --precision $p -m $p.tfm few.tfs few.tfs >scored.tfs
    done
    expect_ptx grow_kernel rules_kernel draw_kernel take_kernel place_kernel
}

@test "nvcc's wgmma multiplies the tile that mma.sync does" {
    [ -x "$build/ptx/wgmma" ] || skip "the CUDA backend was not built"
    TF_EMULATE_KERNELS=kernels t 0 "$build/ptx/wgmma"
    grep -q '^ptx .*tile' kernels
    # Sums of 512 products of numbers up to 8; a wrong element would count whole.
    [[ $output =~ "off by "(.*)" and "(.*)" at most" ]]
    awk -v a="${BASH_REMATCH[1]}" -v b="${BASH_REMATCH[2]}" \
        'BEGIN { exit !(a < 1e-3 && b < 1e-3) }'
}

@test "all of nvcc's kernels (TF_TEST_LONG=1)" {
    [ -n "${TF_TEST_LONG:-}" ] || skip "for TF_TEST_LONG=1"
    take_ptx
    program ops/agreement
    for sms in 132 1; do
        for op in cached_attention linear_packed attention; do
            TF_CUDA_SMS=$sms TF_TEST_OPS=$op program ops/agreement
        done
    done
    for epilogues in all none; do
        for op in linear feed_forward; do
            TF_CUDA_EPILOGUES=$epilogues TF_TEST_OPS=$op program ops/agreement
        done
    done
    TF_CUDA_XENT_ROOM=1 TF_TEST_OPS=xent program ops/agreement
    # A device with less shared memory; products that the library does not take.
    TF_EMULATE_SHARED=65536 TF_CUDA_SMS=1 TF_TEST_OPS=linear_packed program ops/agreement
    TF_CUDA_WITHOUT=library TF_TEST_OPS=linear program ops/agreement
    program ops/same_bytes 3
    TF_CUDA_SMS=1 TF_TEST_OPS=linear_packed program ops/same_bytes
    for name in meaning updates table logits graphs link; do
        program ops/$name
    done
    program unit/ops_search 40
    run -1 grep '^host' "$TF_EMULATE_KERNELS"
}

@test "every kernel was launched by one of these tests (TF_TEST_LONG=1)" {
    [ -n "${TF_TEST_LONG:-}" ] || skip "for TF_TEST_LONG=1"
    take_ptx
    sed -n 's/^known //p' "$TF_EMULATE_KERNELS" | sort -u >known
    [ "$(wc -l <known)" -gt 200 ]
    # plugin.cu's, which is there to be asked about
    { sed -n 's/^ptx //p' "$TF_EMULATE_KERNELS"; echo _Z7nothingv; } | sort -u |
        comm -23 known - >never
    [ ! -s never ] || { c++filt <never >&2; return 1; }
}
