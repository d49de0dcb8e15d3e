#!/usr/bin/env bats
# examples/parallel: the bytes of one piece.
bats_require_minimum_version 1.5.0
load helper

@test "a text in parts: translation and score as in one piece" {
    need make seq awk
    for i in $(seq 60); do echo "line $((i * 7919 % 1000)) and $((i % 7))"; done >text
    rev text >ref
    tf-tokenize --train --vocab-size 40 -o v.model text ref 2>/dev/null
    for f in text ref; do tf-tokenize -m v.model <$f >$f.tfs; done
    tf-batch -q --tokens 400 --epochs 0 text.tfs ref.tfs |
        tf-train --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --warmup 20 \
            --device cpu --vocab v.model --steps 20 --save-every 20 -q -o run
    tf-avgckpt -n 1 -o model.tfm run
    tf-tokenize -m model.tfm <text | tf-decode -q -m model.tfm | tf-tokenize -d -m model.tfm >whole
    tf-bleu ref -i whole >score.json
    for parts in 1 7 100; do
        t 0 make -s -j2 -f "$TOP/examples/parallel/Makefile" MODEL=model.tfm TEXT=text REF=ref \
            PARTS=$parts OUT=out$parts
        cmp whole out$parts/translation >&2
        cmp score.json out$parts/score.json >&2
    done
    # It continues with what is missing.
    rm out7/00003.out
    t 0 make -f "$TOP/examples/parallel/Makefile" MODEL=model.tfm TEXT=text REF=ref PARTS=7 OUT=out7
    [ "$(grep -c 'tf-decode' <<<"$output")" -eq 1 ]
    t 2 make -f "$TOP/examples/parallel/Makefile" MODEL=model.tfm TEXT=text
    expect_contains "$stderr" "REF= is needed"
}
