#!/usr/bin/env bats
# Shortlists on a GPU, or in the emulation where none can be used.
# bats file_tags=no-asan,no-emulator
load helper
load translate

setup_file() {
    cuda_or_emulation || return 0
    make_model
}

prepare() {
    need "$TF_PYTHON"
    need jq
}

# A few lines, so that the emulation is done in seconds.
few() {
    head -7 "$LINES_TXT" | tf-tokenize -m "$BATS_FILE_TMPDIR/vocab"
}

@test "a shortlist: the CPU's text, whatever sentences are decoded together" {
    few >few.tfs
    listed
    scores() { tf-cbor json | grep -o '"token_logp":[^]]*' | tr -d ']' | tr '[,:' '\n' | grep '^-'; }
    for args in "--beam 1" "--beam 4 --nbest 3 --token-scores" \
        "--beam 3 --min-length 4 --no-repeat-ngram 2 --repetition-penalty 1.5" \
        "--sample --seed 5 --top-k 4" "-m listed.tfm --beam 2 --token-scores"; do
        for p in fp32 fp16; do
            [ $p = fp32 ] || [[ $args == *scores* ]] || continue
            # shellcheck disable=SC2206
            ways=(-m listed.tfm --precision $p $args few.tfs)
            tf-decode --device cuda "${ways[@]}" -o cuda.tfs
            tf-decode --device cuda "${ways[@]}" --batch 2 -o two.tfs
            same cuda.tfs two.tfs
            [ $p = fp32 ] || continue
            tf-decode --device cpu "${ways[@]}" -o cpu.tfs
            for d in cpu cuda; do
                tf-tokenize -d -m "$MODEL" $d.tfs >$d.txt
            done
            same cpu.txt cuda.txt
            [[ $args == *scores* ]] || continue
            paste <(scores <cpu.tfs) <(scores <cuda.tfs) | awk '
                { d = ($1 - $2) / $1; if (NF != 2 || d * d > 1e-10) { print; bad = 1 } }
                END { exit bad || NR < 20 }' >&2
            # Without a list there are others to share the probability with.
            tf-decode --device cuda "${ways[@]}" --shortlist none | scores |
                cmp -s - <(scores <cuda.tfs) && return 1
        done
    done
    tf-info --json cuda.tfs | jq -e '.made[-1].in.shortlist' >shown
    head -3 "$LINES_TXT" | tf-translate -q --device cuda -m listed.tfm >cuda.txt
    head -3 "$LINES_TXT" | tf-translate -q --device cpu -m listed.tfm | cmp - cuda.txt >&2
}

@test "a shortlist of any length, one sentence at a time: the same steps are replayed" {
    few >few.tfs
    listed
    tf-decode --device cuda -m listed.tfm few.tfs >whole.tfs
    TF_EMULATE_TELL=1 tf-decode --device cuda -m listed.tfm --batch 1 few.tfs >ones.tfs 2>notes
    same whole.tfs ones.tfs
    [ -z "${EMULATED:-}" ] || grep -q '^emulate: [1-9][0-9]* graphs launched' notes
}
