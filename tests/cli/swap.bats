#!/usr/bin/env bats
# examples/swap: stages of one's own in place of ours, and a user's Makefile around a training.
# bats file_tags=no-asan
load helper

S=$BATS_TEST_DIRNAME/../../examples/swap

prepare() {
    need "$TF_PYTHON"
    # The scripts run by whichever python has cbor2.
    mkdir bin
    for f in "$S"/*_*.py; do
        printf '#!/bin/sh\nexec %s %s "$@"\n' "$TF_PYTHON" "$f" >"bin/$(basename "$f")"
    done
    chmod +x bin/*
    export PATH="$T/bin:$PATH"
    for i in $(seq 120); do echo "line $((i * 7919 % 1000)) é"; done >train.src
    rev train.src >train.tgt
    head -5 train.src >test.src
}

small=(--preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --warmup 4000 \
    --lr-scale 1 --device cpu)

@test "bytes as tokens: a round trip, and a valid stream" {
    printf 'one\n\n\xff\xfe not UTF-8\n\ttabs  and spaces \nlast without LF' >text
    tokenize_bytes.py <text >text.tfs
    tf-cbor check text.tfs
    tokenize_bytes.py -d <text.tfs >back
    { cat text; echo; } | cmp - back
    tf-cbor seal text.tfs | tf-cbor check
}

@test "a tokenizer of one's own in front of tf-batch, tf-train, tf-decode and tf-score" {
    tokenize_bytes.py <train.src >train.src.tfs
    tokenize_bytes.py <train.tgt >train.tgt.tfs
    tf-batch -q --tokens 400 --batches 8 train.src.tfs train.tgt.tfs |
        tf-train "${small[@]}" --steps 8 --save-every 8 -q -o run
    sh_t 0 'tokenize_bytes.py <test.src | tf-decode --device cpu -m run/ckpt-00000008.tfm | tokenize_bytes.py -d'
    [ "$(wc -l <<<"$output")" -eq 5 ]
    tf-info run/ckpt-00000008.tfm | grep tokenize_bytes.py >shown
    # Its vocabulary is its own: the stream of another is refused, with 12 digits of both.
    tf-cbor json train.src.tfs | sed '1s/"vocab":"../"vocab":"00/' | tf-cbor unjson >foreign.tfs
    t 1 tf-batch --tokens 400 foreign.tfs train.tgt.tfs
    expect_contains "$stderr" "differs from foreign.tfs: 00"
    sh_t 1 'tf-decode --device cpu -m run/ckpt-00000008.tfm foreign.tfs | cat'
    expect_contains "$stderr" " 0034b9"
    expect_contains "$stderr" " 9834b9"
}

@test "a custom batcher in front of tf-train: stopped, training resumes" {
    tokenize_bytes.py <train.src >train.src.tfs
    tokenize_bytes.py <train.tgt >train.tgt.tfs
    batch_in_order.py 400 4 train.src.tfs train.tgt.tfs >b.tfs
    tf-cbor check b.tfs
    tf-cbor seal b.tfs | tf-cbor check
    batch_in_order.py 400 4 train.src.tfs train.tgt.tfs |
        tf-train "${small[@]}" --steps 10 --save-every 10 -q -o whole
    tf-train "${small[@]}" --steps 4 --save-every 2 -q -o halves b.tfs
    batch_in_order.py 400 4 train.src.tfs train.tgt.tfs |
        tf-train "${small[@]}" --steps 10 --save-every 2 -q -o halves
    cmp whole/ckpt-00000010.tfm halves/ckpt-00000010.tfm
    # A trainer that has had enough is no failure.
    sh_t 0 'batch_in_order.py 400 1000000 train.src.tfs train.tgt.tfs | tf-train "$@" --steps 2 -q -o few' "${small[@]}"
    expect_error "warning: no --vocab: "
}

@test "no batch, no size, no hypothesis: an error, or not needed" {
    tokenize_bytes.py </dev/null >none.tfs
    t 1 batch_in_order.py 400 1 none.tfs none.tfs
    expect_error "batch_in_order.py: none.tfs: no pairs"
    tokenize_bytes.py <train.src >all.tfs
    head -n 3 train.src | tokenize_bytes.py >three.tfs
    t 1 batch_in_order.py 400 1 all.tfs three.tfs
    expect_error "batch_in_order.py: three.tfs: has fewer lines than the other side"
    tokenize_bytes.py <train.src | tf-cbor json | sed '1s/"size":260,//' | tf-cbor unjson >bare.tfs
    [[ $(tf-cbor json bare.tfs | sed 1q) != *size* ]]
    sh_t 0 'batch_in_order.py 400 1 bare.tfs bare.tfs | tf-cbor check'
    hash=$(tf-cbor json bare.tfs | jq -r 'select(.header) | .header.vocab')
    printf '%s\n' '{"type":"header","header":{"v":1,"kind":"nbest","vocab":"'"$hash"'"}}' \
        '{"type":"nbest","idx":0,"hyps":[]}' \
        '{"type":"nbest","idx":1,"hyps":[{"ids":[101],"score":-1,"logp":-1}]}' '{"type":"end"}' |
            tf-cbor unjson >n.tfs
    sh_t 0 'tokenize_bytes.py -d <n.tfs'
    expect_output $'\na'
}

@test "a batcher that dies leaves a truncated stream, which is no end of data" {
    tokenize_bytes.py <train.src >train.src.tfs
    tokenize_bytes.py <train.tgt >train.tgt.tfs
    sh_t 1 "batch_in_order.py 400 2 train.src.tfs train.tgt.tfs | head -c 3000 | tf-train ${small[*]} --steps 100 -q -o run"
    expect_contains "$stderr" "truncated after record"
    head -c 1500 train.tgt.tfs >short.tfs
    sh_t 1 "batch_in_order.py 400 2 train.src.tfs short.tfs | tf-cbor check"
    expect_contains "$stderr" "truncated after record"
}

@test "a decoder of one's own between ours: bad lines keep their places" {
    tf-tokenize --train --vocab-size 40 -o v.model train.src
    printf 'line 919 é\n\xff\nline 838 é\n' >in
    sh_t 4 'tf-tokenize -m v.model <in | decode_backwards.py | decode_backwards.py | tf-tokenize -d -m v.model'
    expect_output $'line 919 é\n\nline 838 é'
    sh_t 0 'head -1 in | tf-tokenize -m v.model | decode_backwards.py | tf-cbor check'
    sh_t 1 'tf-tokenize -m v.model <in | head -c 300 | decode_backwards.py | tf-tokenize -d -m v.model'
}

# What formats/model.md says is enough to compute with a model. All parameters get noise, so that
# none is without effect.

@test "a decoder in numpy: the numbers of tf-score, the tokens of tf-decode, for every variant" {
    tokenize_bytes.py <train.src >train.src.tfs
    { head -4 train.tgt; echo; } | tokenize_bytes.py >y.tfs
    { head -3 train.src; echo; echo x; } | tokenize_bytes.py >x.tfs
    tf-batch -q --tokens 400 --batches 1 train.src.tfs train.src.tfs >b.tfs
    variants=('' '--as t2t --d-model 15 --heads 3 --norm-eps 0.1 --activation gelu' \
        '--pre-norm --attention-window 2 --decoder-norms after' \
        '--pre-norm --no-final-norm --tie none --d-k 5 --d-v 3 --position-offset 2' \
        '--final-norm --tie decoder --positions learned --max-positions 99 --attention-bias' \
        '--decoder-self ssru --output-bias --vocab-size 900 --activation swish --no-source-eos --position-table t2t' \
        '--pre-norm --decoder-self ssru --position-table halves --position-offset 1 --start zero' \
        '--as t2t --position-table paper --no-source-eos --attention-window 3 --tie decoder
            --embedding-norm --unscaled-embeddings --decoder-norms before-top')
    for i in "${!variants[@]}"; do
        # shellcheck disable=SC2086
        tf-train "${small[@]}" --encoder-layers 2 ${variants[i]} --decoder-layers 3 --steps 1 -q \
            -o r$i b.tfs 2>log || { cat log; return 1; }
        tf-convert --to npz r$i/*.tfm -o $i.npz
    done
    "$TF_PYTHON" - [0-9].npz <<'PY'
import json, sys
import numpy as np
draw = np.random.default_rng(1)
for path in sys.argv[1:]:
    z = dict(np.load(path))
    for name, x in z.items():
        if x.dtype == np.float32:
            z[name] = x + draw.normal(0, 0.2, x.shape).astype("f4")
    np.savez(path, **z)
# The sources of the last one have ids of their own.
c = {**json.loads(z["config"].tobytes()), "source_vocab_size": 300}
z["config"] = np.frombuffer(json.dumps(c).encode(), "u1")
z["enc.embed"] = draw.normal(0, 0.2, (300, z["enc.embed"].shape[1])).astype("f4")
np.savez(path, **z)
PY
    for i in "${!variants[@]}"; do
        tf-convert $i.npz -o $i.tfm
    done
    for dtype in f16 bf16 i8; do
        tf-convert --to tfm --dtype $dtype 3.tfm -o $dtype.tfm
    done
    for m in [0-9].tfm f16.tfm bf16.tfm i8.tfm; do
        tf-score --device cpu -q --text -m $m x.tfs y.tfs >want
        decode_numpy.py $m x.tfs y.tfs >got
        paste want got | awk '{ d = $1 - $2; if (d * d > 1e-8) bad = 1 }
            END { exit bad || NR != 5 }' || { echo "$m"; paste want got; return 1; } >&2
        tf-decode --device cpu --precision fp32 --beam 1 -m $m x.tfs | tf-cbor json |
            grep ids >want
        decode_numpy.py $m <x.tfs | tf-cbor json | grep ids >got
        diff want got >&2
    done
}

# The user's Makefile with a small model, on a small task.

run_make() {
    local want=$1
    shift
    t "$want" env -u MAKEFLAGS -u MAKELEVEL make --no-print-directory -f "$S/Makefile" SRC=src \
        TGT=tgt VOCAB_SIZE=40 TOKENS=300 SAVE_EVERY=5 STEPS=10 AVERAGE=2 \
        MODEL="${small[*]} -q" "$@"
}

@test "the user's Makefile: from text to a score; status 4 is passed on" {
    for f in dev test; do head -20 train.src >$f.src; head -20 train.tgt >$f.tgt; done
    printf 'bad \xff line\n' >>test.src
    echo reference >>test.tgt
    run_make 0 test.bleu
    expect_contains "$stderr" "test.out: some lines were bad"
    [ "$(wc -l <test.out)" -eq 21 ]
    [ -z "$(tail -1 test.out)" ]
    [ -s test.bleu ]
    rm test.out
    run_make 2 BAD=fail test.out
    [ ! -e test.out ]
}

@test "the user's Makefile: status 75 stops it with a word, or is gone on from" {
    head -20 train.src >dev.src
    head -20 train.tgt >dev.tgt
    real=$(command -v tf-train)
    # Stopped on request: the first call ends at half the way.
    cat >bin/tf-train <<SH
#!/bin/sh
[ -e stopped ] && exec "$real" "\$@"
touch stopped
"$real" "\$@" --steps 5
exit 75
SH
    chmod +x bin/tf-train
    run_make 2 train
    expect_contains "$stderr" "stopped; repeat the same command to resume"
    run_make 0 train
    [ -e run/ckpt-00000010.tfm ]
    rm -r run stopped
    run_make 0 AGAIN=yes train
    [ -e run/ckpt-00000010.tfm ]
    # Another failure is one.
    rm -r run
    printf '#!/bin/sh\nexit 3\n' >bin/tf-train
    run_make 2 AGAIN=yes train
    expect_contains "$stderr" "Error 3"
}
