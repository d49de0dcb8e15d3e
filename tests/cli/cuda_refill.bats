#!/usr/bin/env bats
# Sentences that enter a batch while it is decoded, on a GPU or in the emulation where none can be
# used.
# bats file_tags=no-asan,no-emulator
load helper
load translate

setup_file() {
    cuda_or_emulation || return 0
    make_model
}

@test "sentences enter a batch where others are done: the bytes of all together" {
    # Of some the prefix makes the limit longer than a place is made for.
    for n in 9 1 4 2 7 2 11 3 5 1 8 6 2 10 3 4; do
        head -n $n < <(yes abc) | paste -sd ' ' >>in
        head -n $((n % 4 * n / 2)) < <(yes ba) | paste -sd ' ' >>given
    done
    for f in in given; do
        tf-tokenize -m "$BATS_FILE_TMPDIR/vocab" $f >$f.tfs
    done
    decode=(tf-decode --device cuda -m "$MODEL" --token-scores --max-extra 1 in.tfs)
    for args in "--beam 3 --nbest 2" "--beam 1 --prefix given.tfs" "--sample --nbest 2 --seed 3"; do
        # shellcheck disable=SC2206
        ways=("${decode[@]}" $args)
        "${ways[@]}" >whole.tfs
        TF_CUDA_TIMES=1 "${ways[@]}" --batch 5 >some.tfs 2>account
        same whole.tfs some.tfs
        # There would be four groups, of which each is encoded once.
        [ "$(awk '$5 == "attention_fwd" { print $4 }' account)" -gt 4 ]
    done
}
