#!/usr/bin/env bats
# tf-train --init with models of other programs: it starts from what they compute, and improves it.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    golden tune
    export GOLDEN=$G
}

# [TAG TAG]: both sides of the golden text as tokens of m.tfm, x.tfs and y.tfs.
tokens() {
    cut -f 1 "$GOLDEN/text" | tf-tokenize -m m.tfm ${1:+--begin "$1"} -o x.tfs
    cut -f 2 "$GOLDEN/text" | tf-tokenize -m m.tfm --target ${2:+--begin "$2"} -o y.tfs
    tf-batch -q --tokens 4096 -o valid.tfs x.tfs y.tfs
}

options=(--device cpu --init m.tfm --valid valid.tfs --valid-every 10 --steps 20 --save-every 10
    --warmup 0 --schedule constant --lr 0.01 --dropout 0 --attention-dropout 0)
tune() { tf-train "${options[@]}" "$@"; }

# The perplexity before the first update is that of tf-score, and of the other program where its sum
# of negative log-probabilities over so many tokens is given; the validations after it are better.
# The decoders of the model and of the tuned one begin alike.
tunes() {
    tf-batch -q --epochs 100 --tokens 4096 x.tfs y.tfs | tune -q -o run -
    tf-score -q -m m.tfm x.tfs y.tfs | tf-cbor json >scores
    tf-score -q -m run/ckpt-00000020.tfm x.tfs y.tfs | tf-cbor json >tuned
    tf-info --json m.tfm >before
    tf-info --json run/ckpt-00000020.tfm >after
    "$TF_PYTHON" - "$@" <<'PY'
import json, math, sys
log = [json.loads(line) for line in open("run/log.jsonl")]
valid = [e for e in log if e["event"] == "valid"]
assert [e["step"] for e in valid] == [0, 10, 20], valid
def ppl(name):
    nll = -sum(r["logp"] for r in map(json.loads, open(name)) if r["type"] == "score")
    return math.exp(nll / valid[0]["tgt_tokens"])
near = lambda a, b: abs(a / b - 1) < 2e-5 or sys.exit(f"{a} {b}")
near(valid[0]["ppl"], ppl("scores"))
near(valid[2]["ppl"], ppl("tuned"))
if len(sys.argv) > 1:
    assert int(sys.argv[2]) == valid[0]["tgt_tokens"]
    near(valid[0]["ppl"], math.exp(float(sys.argv[1]) / int(sys.argv[2])))
assert valid[0]["ppl"] > valid[1]["ppl"] > valid[2]["ppl"], valid
before, after = (json.load(open(name)) for name in ("before", "after"))
for key in "start", "bos", "eos", "pad":
    assert before["config"].get(key) == after["config"].get(key), key
PY
    rm -r run
}

@test "models of transformers: untuned, the loss that transformers trains with" {
    need jq
    while read -r kind source target more; do
        # shellcheck disable=SC2086
        tf-convert ${more//-/--} "$GOLDEN/$kind" -o m.tfm 2>log || cat log
        tokens "${source#.}" "${target#.}"
        jq -c "select(.kind == \"$kind\") | .ids[] | .[0][:-1], .[1][:-1]" "$GOLDEN/expected" >want
        paste -d '\n' <(tf-cbor json x.tfs | jq -c '.ids // empty') \
            <(tf-cbor json y.tfs | jq -c '.ids // empty') | cmp - want
        # shellcheck disable=SC2046
        tunes $(jq -r "select(.kind == \"$kind\") | .nll, .tokens" "$GOLDEN/expected")
    done <<'END'
nllb eng_Latn fra_Latn
m2m __en__ __fr__
marian . . -positions=halves
END
}

# PREFIX SIZE: lines of 5 words of a dictionary.
words() {
    for i in {1..12}; do
        for k in 1 2 3 4 5; do printf '%s%d ' "$1" $((i * k * k % $2)); done
        echo
    done | sed 's/ $//'
}

# From the texts x and y.
tunes_text() {
    tf-tokenize -m m.tfm -o x.tfs x
    tf-tokenize -m m.tfm --target -o y.tfs y
    tf-batch -q --tokens 4096 -o valid.tfs x.tfs y.tfs
    tunes
}

@test "models of FSMT, fairseq, CTranslate2 and Marian: untuned, what tf-score has" {
    need jq
    natively
    golden fsmt
    tf-convert "$G/m" -o m.tfm 2>/dev/null
    jq -r .text "$G/expected" | tee x >y
    tunes_text
    # Those that the programs themselves made.
    local golden=$TOP/tests/golden v
    for side in x:en y:de; do head -24 "$golden/marian/${side#*:}" >"${side%:*}"; done
    for name in default before two; do
        rm -rf d
        cp -r "$golden/fairseq/$name" d
        tf-convert d -o m.tfm 2>/dev/null
        tunes_text
    done
    for name in relu before ssru two; do
        v=("$golden"/marian/vocab.spm{,})
        [ $name != two ] || v=("$golden"/marian/{en,de}.spm)
        tf-convert "$golden/marian/$name.npz.gz" --vocab "${v[0]}" --vocab-target "${v[1]}" -o m.tfm 2>/dev/null
        tunes_text
    done
    cut -f 1 "$GOLDEN/text" >x
    cut -f 2 "$GOLDEN/text" >y
    tf-convert "$golden/hf/ct2" -o m.tfm 2>/dev/null
    tunes_text
    # CTranslate2's that start and end sentences otherwise.
    words w 40 | tee x >y
    printf '%s\n' '<pad>' '<unk>' '<s>' '</s>' w{0..39} >pieces
    for variant in source_eos=false start=zero 'source=30 source_eos=false tie=none'; do
        rm -rf d
        mkdir d
        # shellcheck disable=SC2086
        "$TF_PYTHON" "$TOP/tests/cli/ct2.py" make d m.npz pieces $variant
        tf-convert d -o m.tfm 2>/dev/null
        tunes_text
    done
}

@test "batches name both sizes where sources have ids of their own" {
    natively
    need jq
    for source in 60 20; do
        rm -rf d
        "$TF_PYTHON" "$TOP/tests/cli/torch_file.py" fairseq d m.npz source=$source tie=none
        tf-convert d -o m.tfm 2>/dev/null
        words s $source | tf-tokenize -m m.tfm -o x.tfs
        words w 40 | tf-tokenize -m m.tfm --target -o y.tfs
        sizes=$(for side in x y; do tf-cbor json $side.tfs | jq -c '.header.size // empty'; done)
        read -r n m <<<"${sizes//$'\n'/ }"
        [ "$n" -ne "$m" ]
        cat x.tfs x.tfs >xx.tfs
        cat y.tfs y.tfs >yy.tfs
        tf-batch -q --tokens 400 xx.tfs yy.tfs >b.tfs
        tf-cbor json b.tfs >b.jsonl
        [ "$(head -n 1 b.jsonl | jq -c '.header | [.source_size, .size]')" = \
            "[$n,$((n > m ? n : m))]" ]
        tf-cbor unjson <b.jsonl | cmp - b.tfs
        tf-info b.tfs | grep -Eq "^source_size +$n$"
        cat b.tfs b.tfs | tf-cbor check
        diff <(tf-score -q -m m.tfm b.tfs | tf-cbor json | grep -o '"logp":[^,}]*' | sort) \
            <(tf-score -q -m m.tfm xx.tfs yy.tfs | tf-cbor json | grep -o '"logp":[^,}]*' | sort)
    done
}

@test "resumed without its model too, the decoder starts as the model's" {
    tf-convert "$GOLDEN/nllb" -o m.tfm 2>/dev/null
    tokens eng_Latn fra_Latn
    once() { tf-batch -q --epochs 100 --tokens 4096 x.tfs y.tfs; }
    once | tune -q -o whole -
    once | tune -q --steps 10 -o run -
    cp -r run again
    once | tune -q -o run -
    same whole/ckpt-00000020.tfm run/ckpt-00000020.tfm
    # --force without --init continues with what the options say, but the start is no option
    once >other.tfs
    t 1 tf-train "${options[@]:4}" --device cpu -q -o again other.tfs
    expect_error "it started from a model: repeat its --init"
    t 0 tf-train "${options[@]:4}" --device cpu -q --force --layers 1 --d-model 8 --d-ff 8 --heads 2 \
        --d-k 4 --d-v 4 --pre-norm --attention-bias -o again other.tfs
    [[ $stderr != *bos* ]]
    tf-info again/ckpt-00000020.tfm | grep -Eq '^  bos +2$'
    # a stream that does not name its vocabulary
    once | tf-cbor json | jq -c 'if .header then .header |= del(.vocab) else . end' |
        tf-cbor unjson >bare.tfs
    t 0 tf-train "${options[@]}" -q -o bare bare.tfs
    tf-info bare/ckpt-00000020.tfm | grep -Eq '^  bos +2$'
}

@test "--weights-only: checkpoints of a third of the size, for all but resuming" {
    tf-convert "$GOLDEN/nllb" -o m.tfm 2>/dev/null
    tokens eng_Latn fra_Latn
    tf-batch -q --epochs 100 --tokens 4096 x.tfs y.tfs >b.tfs
    tune -q -o whole b.tfs
    tune -q --weights-only -o run b.tfs
    for name in ckpt-00000010 ckpt-00000020 best; do
        [ "$(stat -c %s run/$name.tfm)" -lt $(($(stat -c %s whole/$name.tfm) / 2)) ]
        tf-cbor check run/$name.tfm
        # the same model
        [ "$(tf-info run/$name.tfm | grep ^model)" = "$(tf-info whole/$name.tfm | grep ^model)" ]
    done
    tf-avgckpt -n 2 run -o run.tfm
    tf-avgckpt -n 2 whole -o whole.tfm
    [ "$(tf-info run.tfm | grep ^model)" = "$(tf-info whole.tfm | grep ^model)" ]
    t 0 tf-decode -q -m run/best.tfm x.tfs -o out.tfs
    t 0 tf-train "${options[@]}" --weights-only -o run b.tfs
    expect_contains "$stderr" "step 20 of 20 is done: nothing left to do"
    for more in --weights-only --quiet; do
        t 1 tf-train "${options[@]}" $more --steps 30 -o run b.tfs
        expect_error "run/ckpt-00000020.tfm: has the weights alone (--weights-only), from which no run resumes; a new one with another -o starts from them with --init"
    done
    t 0 tf-train "${options[@]:4}" --device cpu -q --init run/ckpt-00000020.tfm -o next b.tfs
}

@test "before the first update: what the model has, which is the best until a better one" {
    tf-convert "$GOLDEN/nllb" -o m.tfm 2>/dev/null
    tokens eng_Latn fra_Latn
    tf-batch -q --epochs 100 --tokens 4096 x.tfs y.tfs >b.tfs
    # A measure that training makes worse.
    t 0 tf-train "${options[@]}" --valid-command 'echo "BLEU = $((50 - TF_STEP))"' -o worse b.tfs
    expect_contains "$stderr" "tf-train: before the first update: validation perplexity "
    expect_contains "$stderr" ", command 50"
    expect_contains "$stderr" ", command 40 (50 before the first update); best: command 50 before the first update"
    expect_contains "$stderr" "finished at step 20; no validation was better than that before the first update, command 50: worse/best.tfm is the model that the run began with"
    diff <(tf-info worse/best.tfm | grep '^  p/') <(tf-info m.tfm | grep '^  p/')
    # By perplexity it is better; the number of the command is printed, too.
    t 0 tf-train "${options[@]}" --best-by ppl --valid-command 'echo $((50 - TF_STEP))' -o ppl b.tfs
    expect_contains "$stderr" ", command 30 (50 before the first update); the best so far"
    expect_contains "$stderr" "best: ppl/best.tfm of step 20"
    # Stopped by patience, with the model that it began with.
    t 0 tf-train "${options[@]}" --patience 1 --valid-command 'echo $((-TF_STEP))' -o stale b.tfs
    expect_contains "$stderr" "stopping at step 10: no improvement since step 0"
    # A new run without --init has nothing to measure.
    tf-train --device cpu -q --preset tiny --layers 1 --d-model 8 --d-ff 8 --heads 2 --steps 2 \
        --valid valid.tfs --valid-every 1 -o new b.tfs
    [ "$(grep -c '"event":"valid"' new/log.jsonl)" -eq 2 ]
}

@test "ended before the first update: repeated, the run is that which was never stopped" {
    tf-convert "$GOLDEN/nllb" -o m.tfm 2>/dev/null
    tokens eng_Latn fra_Latn
    # The stream begins at a later batch.
    tf-batch -q --epochs 100 --tokens 4096 --from 3:0 x.tfs y.tfs >b.tfs
    for more in --quiet --weights-only; do
        tune -q $more -o whole b.tfs
        head -c 3000 b.tfs >torn.tfs
        t 1 tf-train "${options[@]}" -q $more -o run torn.tfs
        expect_contains "$stderr" "torn.tfs: truncated after record 0"
        [ "$(echo run/*.tfm)" = run/best.tfm ]
        t 0 tf-train "${options[@]}" $more -o run b.tfs
        for name in ckpt-00000010 ckpt-00000020 best; do same whole/$name.tfm run/$name.tfm; done
        rm -r whole run
    done
}

@test "a recurrent decoder: which programs can use it, before it is trained" {
    printf 'a b c\nb c a\n' >text
    tf-tokenize --train --vocab-size 8 --character-coverage 1 -o vocab text 2>/dev/null
    "$TF_PYTHON" "$TOP/tests/cli/marian.py" make m.npz 8 transformer-decoder-autoreg=rnn dec-cell=ssru
    tf-convert m.npz --vocab vocab -o m.tfm 2>/dev/null
    tf-info m.tfm | grep -Eq '^converts_to +marian$'
    # Students were trained without them.
    tf-info m.tfm | grep -Eq '^  dropout +0$'
    tf-info m.tfm | grep -Eq '^  label_smoothing +0$'
    tf-tokenize -m m.tfm text >x.tfs
    tf-batch -q --tokens 100 --epochs 3 x.tfs x.tfs >b.tfs
    t 0 tf-train --device cpu --init m.tfm --steps 2 --save-every 2 -o run b.tfs
    expect_contains "$stderr" "m.tfm: its decoder is recurrent: of other programs only Marian can use what is trained here (tf-convert --to marian)"
    t 0 tf-train --device cpu -q --init m.tfm --steps 1 --save-every 2 -o quiet b.tfs
    [ -z "$stderr" ]
    for to in hf ctranslate2; do
        t 1 tf-convert --to $to run/ckpt-00000002.tfm -o out
        expect_error "a recurrent decoder (but --to marian)"
    done
    tf-convert --to marian run/ckpt-00000002.tfm -o out.npz
}
