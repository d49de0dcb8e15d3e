#!/usr/bin/env bats
# How the weights of a file come to a GPU: their memory there, and their values. In the emulation
# where no GPU can be used.
# bats file_tags=no-asan,no-emulator
load helper
load translate

setup_file() {
    cuda_or_emulation || return 0
    make_model
    batches n=12 >b.tfs
}

prepare() {
    need "$TF_PYTHON"
}

# A few lines, so that the emulation is done in seconds.
few() {
    head -4 "$LINES_TXT" | tf-tokenize -m "$BATS_FILE_TMPDIR/vocab"
}

@test "weights are on the device once, in 16 bits" {
    need jq
    [ -n "${EMULATED:-}" ] || skip "only in the emulation"
    sed -n 3p "$LINES_TXT" | tf-tokenize -m "$BATS_FILE_TMPDIR/vocab" >one.tfs
    tf-train -q --device cpu --preset tiny --layers 1 --d-model 256 --d-ff 1024 --heads 4 \
        --vocab-size 2000 --steps 1 --save-every 1 -o wide "$BATS_FILE_TMPDIR/b.tfs" 2>notes
    tf-convert --to tfm --dtype f16 wide/ckpt-00000001.tfm -o f16.tfm
    tf-convert --to tfm --dtype f32 f16.tfm -o f32.tfm
    n=$(tf-info --json f16.tfm | jq .parameters) table=$((2000 * 256))
    [ "$n" -eq 2352128 ]
    # Beside the weights: the largest matrix in fp32 on its way, and activations; of tf-score also
    # logits. A table of the file in fp32 stays so, beside that of the projection; that a product of
    # the library takes its bias in 16 bits copies no table.
    export TF_EMULATE_TELL=1 TF_CUDA_WITHOUT
    for d in f16:0 f32:$((4 * table)); do
        for tool in tf-decode:$((3 << 19)): tf-decode:$((3 << 19)):product \
            tf-score:$((4 << 20)):; do
            TF_CUDA_WITHOUT=${tool##*:} tool=${tool%:*}
            inputs=(one.tfs one.tfs)
            [ ${tool%:*} = tf-score ] || inputs=(--max-extra 2 --beam 1 one.tfs)
            "${tool%:*}" --device cuda --force-vocab -m "${d%:*}.tfm" "${inputs[@]}" 2>account \
                >/dev/null
            on_device=$(sed -n 's/^emulate: at most \([0-9]*\) bytes on the device.*/\1/p' account)
            [ "$on_device" -gt $((2 * n)) ]
            [ "$on_device" -le $((2 * n + ${d#*:} + ${tool#*:})) ]
        done
    done
}

@test "a file in 8 or 16 bits decodes and scores as its values in fp32 do" {
    few >few.tfs
    # What is left of streams whose headers name different models.
    records() {
        tf-cbor json - | grep -v '"type":"\(header\|check\|end\)"'
    }
    for d in f16 bf16 i8; do
        tf-convert --to tfm --dtype $d "$MODEL" -o $d.tfm
        tf-convert --to tfm --dtype f32 $d.tfm -o f32.tfm
        for p in fp32 fp16 bf16; do
            for m in $d f32; do
                args=(--device cuda --precision "$p" -m "$m.tfm")
                tf-decode "${args[@]}" --beam 2 --nbest 2 few.tfs | records >$m.decoded
                tf-score -q "${args[@]}" few.tfs few.tfs | records >$m.scored
            done
            [ "$(wc -l <$d.decoded)" -ge 4 ]
            same $d.decoded f32.decoded
            same $d.scored f32.scored
        done
    done
}

@test "a weight beyond fp16: tf-score says which" {
    few >few.tfs
    tf-convert --to npz "$MODEL" -o plain.npz
    "$TF_PYTHON" - <<'PY'
import numpy as np
z = dict(np.load("plain.npz"))
z["dec.0.cross.q.w"] = np.full_like(z["dec.0.cross.q.w"], 1e5)
np.savez("large.npz", **z)
PY
    tf-convert large.npz -o large.tfm
    t 1 tf-score -q --device cuda --precision fp16 -m large.tfm few.tfs few.tfs
    expect_error "large.tfm: tensor 'p/dec.0.cross.q.w': 100000 is beyond the range of f16"
}
