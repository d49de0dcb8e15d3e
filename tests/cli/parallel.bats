#!/usr/bin/env bats
# examples/parallel: the bytes of one piece.
# bats file_tags=no-asan
load helper

prepare() {
    need make seq awk
    for i in $(seq 60); do echo "line $((i * 7919 % 1000)) and $((i % 7))"; done >text
    rev text >ref
    if [ ! -e "$BATS_FILE_TMPDIR/model.tfm" ]; then
        tf-tokenize --train --vocab-size 40 -o v.model text ref 2>/dev/null
        for f in text ref; do tf-tokenize -m v.model <$f >$f.tfs; done
        tf-batch -q --tokens 400 --epochs 0 text.tfs ref.tfs |
            tf-train --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --warmup 20 \
                --device cpu --vocab v.model --steps 20 --save-every 20 -q -o run
        tf-avgckpt -n 1 -o "$BATS_FILE_TMPDIR/model.tfm" run
    fi
    MODEL=$BATS_FILE_TMPDIR/model.tfm
    in_parts=(make -s -j2 -f "$TOP/examples/parallel/Makefile" MODEL="$MODEL" TEXT=text REF=ref)
}

whole() {
    tf-tokenize -m "$MODEL" <text | tf-decode -q -m "$MODEL" | tf-tokenize -d -m "$MODEL" >whole
}

@test "a text in parts: translation and score as in one piece" {
    whole
    tf-bleu ref -i whole >score.json
    for parts in 1 7 100; do
        t 0 "${in_parts[@]}" PARTS=$parts
        cmp whole parts/translation >&2
        cmp score.json parts/score.json >&2
        rm parts/translation
    done
    # A number of parts that was there before: their translations are joined again.
    mkdir sampled
    sample() {
        t 0 "${in_parts[@]}" OUT=sampled DECODE_FLAGS='--sample' PARTS="$1"
        cat "sampled/$1"/*.out | cmp - sampled/translation >&2
    }
    sample 2
    sample 3
    sample 2
    # It continues with what is missing.
    rm parts/7/00003.out
    t 0 make -f "$TOP/examples/parallel/Makefile" MODEL="$MODEL" TEXT=text REF=ref PARTS=7
    [ "$(grep -c 'tf-decode' <<<"$output")" -eq 1 ]
    t 2 make -f "$TOP/examples/parallel/Makefile" MODEL="$MODEL" TEXT=text
    expect_contains "$stderr" "REF= is needed"
}

@test "a text in parts: a last line without a line feed, files of different lengths" {
    printf 'line 1 and 1' >>text
    printf '1 dna 1 enil' >>ref
    whole
    t 0 "${in_parts[@]}" PARTS=2
    cmp whole parts/translation >&2
    printf '\nmore\n' >>ref
    t 2 "${in_parts[@]}" PARTS=2
    expect_contains "$stderr" "text has 61 lines, ref has 62"
}

@test "a text in parts: another number of parts after a stop, and a part that was killed" {
    whole
    t 0 "${in_parts[@]}" PARTS=4 parts/4/00001.out
    t 0 "${in_parts[@]}" PARTS=2
    cmp whole parts/translation >&2
    # As kill -9 leaves it: the translation of a part is not there until it is whole.
    rm -r parts
    mkdir bin
    printf '#!/bin/sh\n[ "$1" != -d ] || kill -9 $$\nexec %s "$@"\n' "$(command -v tf-tokenize)" \
        >bin/tf-tokenize
    chmod +x bin/tf-tokenize
    PATH=$PWD/bin:$PATH t 2 "${in_parts[@]}" PARTS=2
    [ ! -e parts/2/00001.out ]
    t 0 "${in_parts[@]}" PARTS=2
    cmp whole parts/translation >&2
}

@test "a text in parts: a bad line is an empty line, and the rest is translated" {
    printf '\xff\n' | cat - text >longer
    mv longer text
    echo >>ref
    tf-tokenize -m "$MODEL" <text 2>/dev/null | tf-decode -q -m "$MODEL" 2>/dev/null |
        tf-tokenize -d -m "$MODEL" >whole 2>/dev/null || [ $? = 4 ]
    t 0 "${in_parts[@]}" PARTS=3
    cmp whole parts/translation >&2
}

@test "a text in parts: a part of which the first 16 lines are bad" {
    { cat text && for _ in {1..20}; do printf '\xff\n'; done && cat text; } >longer
    mv longer text
    { cat ref && for _ in {1..20}; do echo; done && cat ref; } >longer
    mv longer ref
    t 4 tf-tokenize -m "$MODEL" -o whole.tfs text
    tf-decode -q -m "$MODEL" whole.tfs 2>/dev/null | tf-tokenize -d -m "$MODEL" >whole 2>/dev/null ||
        [ $? = 4 ]
    t 0 "${in_parts[@]}" PARTS=7
    cmp whole parts/translation >&2
    expect_contains "$stderr" "records bad"
}

@test "a text in parts: another model, text, reference or option makes everything again" {
    t 0 "${in_parts[@]}" PARTS=2
    t 0 make -f "$TOP/examples/parallel/Makefile" MODEL="$MODEL" TEXT=text REF=ref PARTS=2
    [[ $output != *tf-decode* ]]
    sed 's/line/one/' text >other
    tac ref >turned
    cp "$MODEL" same.tfm
    touch -d '-1 hour' other turned same.tfm
    translate() { # TEXT FLAG...
        tf-tokenize -m "$MODEL" <"$1" | tf-decode -q -m "$MODEL" "${@:2}" |
            tf-tokenize -d -m "$MODEL"
    }
    t 0 "${in_parts[@]}" PARTS=2 TEXT=other
    cmp <(translate other) parts/translation >&2
    t 0 "${in_parts[@]}" PARTS=2 REF=turned
    cmp <(translate text) parts/translation >&2
    cmp <(tf-bleu turned -i parts/translation) parts/score.json >&2
    t 0 "${in_parts[@]}" PARTS=2 DECODE_FLAGS='--beam 1 --max-extra 3'
    cmp <(translate text --beam 1 --max-extra 3) parts/translation >&2
    t 0 make -f "$TOP/examples/parallel/Makefile" MODEL=same.tfm TEXT=text REF=ref PARTS=2
    expect_contains "$output" 'tf-decode -m same.tfm'
}
