#!/usr/bin/env bats
# Weights of pairs in the loss: tf-batch --weights, and what tf-train makes of them.
load helper
load train

# 200 pairs, and as the weight of pair i the number (i % 9) / 4.
make_text() {
    for side in 1 2; do
        { echo '{"type":"header","header":{"v":1,"kind":"tokens","size":60,"special":{"eos":3}}}'
          seq 0 199 | jq -c --argjson side $side '{type: "tokens", idx: .,
              ids: [range(. * $side % 23) as $k | 4 + (. * 7 + $k * $k) % 56]}'
          echo '{"type":"end"}'; } | tf-cbor unjson -o "text$side.tfs"
    done
    seq 0 199 | jq '. % 9 / 4' >weights
}

# Of each pair of a stream its number and its weight.
pairs() {
    tf-cbor json "$1" | jq -c 'select(.type == "batch") | [.idx, .weights] | transpose[]'
}

batch() {
    tf-batch -q --tokens 200 "$@" text1.tfs text2.tfs
}

# Of checkpoints whose corpora differ.
same_parameters() {
    cmp <(tf-cbor json "$1" | grep '"name":"p/') <(tf-cbor json "$2" | grep '"name":"p/')
}

@test "weights travel with their pairs through shuffled batches, windows and JSON" {
    make_text
    batch --epochs 2 --max-length 20 --weights weights -o weighted
    tf-cbor check weighted
    pairs weighted | jq -s 'length > 300 and all(.[1] == .[0] % 9 / 4)' | grep -qx true
    tf-cbor json weighted | tf-cbor unjson -o back
    cmp weighted back
    pairs weighted | head -40 >want
    sed 's/^/ /; s/$/ \r/' weights | gzip | batch --max-length 20 --weights - -o crlf
    pairs crlf | head -40 | cmp - want
    # shellcheck disable=SC2002
    cat text1.tfs |
        tf-batch -q --tokens 200 --window 50 --weights weights - text2.tfs -o piped 2>/dev/null
    pairs piped | jq -s 'length > 180 and all(.[1] == .[0] % 9 / 4)' | grep -qx true
    seq 200 | sed 's/.*//' >links
    batch --links links --weights weights -o both
    pairs both | jq -s 'all(.[1] == .[0] % 9 / 4)' | grep -qx true
    # They are part of the corpus and of the settings.
    batch -o plain
    sed '7s/.*/1e0/' weights >other
    batch --weights other -o other.tfs
    batch --weights weights -o weighted
    [ "$(for f in plain weighted other.tfs both; do
        tf-cbor json $f | jq -r 'select(.type == "batch").corpus'; done | sort -u | wc -l)" = 4 ]
    [ "$(tf-cbor json weighted | jq -c 'select(.type == "header").header.config.weights')" = true ]
}

@test "a line that is no weight is refused by its number, another number of lines too" {
    make_text
    fails() {
        t 1 tf-batch -q --weights "$1" text1.tfs text2.tfs -o none
        expect_error "$2"
        [ ! -e none ]
    }
    for x in "-0.5:-0.5: too small, minimum 0" "nan:'nan': not a number" "inf:'inf': not a number" \
        "1001:1001: too large, maximum 1000" ":'': not a number" "1 2:'1 2': not a number" \
        "0x1:'0x1': not a number" "1e400:1e400: too large, maximum 1000" \
        "1\\x00:'1...': not a number" "1\\x00x:'1...': not a number" \
        "1.$(printf %061d 0)x:'1.$(printf %061d 0)...': not a number"; do
        sed "3s/.*/${x%%:*}/" weights >wrong
        fails wrong "tf-batch: wrong: line 3: weight: ${x#*:}"
    done
    head -199 weights >short
    fails short "tf-batch: short ends after 199 lines, text1.tfs continues"
    echo 1 >>weights
    fails weights "tf-batch: text1.tfs ends after 200 records, weights continues"
    t 2 tf-batch --list x --weights weights
    expect_contains "$stderr" "--weights"
}

@test "the loss is the weighted sum of what tf-score says, over all target tokens" {
    make_text
    batch --no-shuffle --batches 1 --weights weights -o weighted
    batch --no-shuffle --batches 1 -o plain
    # An update that moves nothing.
    still=(--steps 1 --log-every 1 --dropout 0 --attention-dropout 0 --label-smoothing 0
        --schedule constant --lr 1e-30)
    train -q "${still[@]}" --valid weighted --valid-every 1 -o run weighted
    train -q "${still[@]}" -o other plain
    tf-score -q -m run/ckpt-00000001.tfm text1.tfs text2.tfs |
        tf-cbor json | jq -c 'select(.type == "score") | -.logp' >scores
    pairs weighted >used
    jq -c 'select(.event == "step" or .event == "valid")' run/log.jsonl >log
    jq -ne --slurpfile score scores --slurpfile used used --slurpfile log log '
        def near($x): . / $x - 1 | fabs < 1e-5;
        [$log[] | select(.event == "step")][0] as $step |
        [$log[] | select(.event == "valid")][-1] as $valid |
        ($used | map($score[.[0]]) | add) as $nll |
        ($used | map($score[.[0]] * .[1]) | add) as $loss |
        ($step.tgt_tokens * $step.nll | near($nll)) and
        ($step.tgt_tokens * $step.loss | near($loss)) and ($step.loss != $step.nll) and
        $valid.loss == $valid.nll and ($valid.nll | near($step.nll))'
    # Weights are no reason to measure the model otherwise.
    nll() { jq -c 'select(.event == "step") | [.nll, .ppl, .acc]' "$1/log.jsonl"; }
    [ "$(nll run)" = "$(nll other)" ]
}

@test "weights of 1 change no byte of the model; other weights do, on any number of threads" {
    make_text
    sed 's/.*/1.0/' weights >ones
    args=(--save-every 6 --accumulate 2 --clip 0.5)
    for w in none ones weights; do
        with=()
        [ $w = none ] || with=(--weights "$w")
        batch --epochs 2 "${with[@]}" -o $w.tfs
        train -q "${args[@]}" --steps 6 --threads 1 -o run-$w $w.tfs
    done
    same_parameters run-none/ckpt-00000006.tfm run-ones/ckpt-00000006.tfm
    run -1 same_parameters run-none/ckpt-00000006.tfm run-weights/ckpt-00000006.tfm
    train -q "${args[@]}" --steps 6 --threads 3 -o three weights.tfs
    cmp run-weights/ckpt-00000006.tfm three/ckpt-00000006.tfm
    # Another corpus, by its weights alone.
    tr_t 1 "${args[@]}" --steps 8 -o run-weights ones.tfs
    expect_contains "$stderr" "corpus: "
    # A pipe has no hash, but its settings say so.
    for w in weights none; do
        with=()
        [ $w = none ] || with=(--weights "$w")
        # shellcheck disable=SC2002
        cat text1.tfs |
            tf-batch -q --tokens 200 --window 50 "${with[@]}" - text2.tfs 2>/dev/null >$w.tfs
    done
    train -q --steps 3 -o piped weights.tfs
    tr_t 1 --steps 5 -o piped none.tfs
    expect_contains "$stderr" "weights: true in the checkpoint"
}

@test "a guided run with weights that is killed continues to the same bytes" {
    batches n=40 weights=1 links=1 >b.tfs
    args=(--save-every 4 --guided-alignment 0.5 --log-every 1)
    train -q "${args[@]}" --steps 12 -o whole b.tfs
    mkfifo pipe
    batches n=9 end=0 weights=1 links=1 >nine.tfs
    tf-train "${small[@]}" "${args[@]}" --steps 12 -o run - <pipe 2>err &
    pid=$!
    exec 7>pipe
    cat nine.tfs >&7
    wait_step run 9
    wait_for test -e run/ckpt-00000008.tfm
    kill -KILL "$pid"
    ends 137
    [ ! -e run/ckpt-00000012.tfm ]
    train -q "${args[@]}" --steps 12 --threads 2 -o run b.tfs
    cmp whole/ckpt-00000012.tfm run/ckpt-00000012.tfm
    # The weights are those of the guided loss, too.
    batches n=40 links=1 >plain.tfs
    train -q "${args[@]}" --steps 1 -o plain plain.tfs
    loss() { jq 'select(.event == "step" and .step == 1).loss' "$1/log.jsonl"; }
    [ "$(loss plain)" != "$(loss whole)" ]
}

@test "batches of others: weights that are none are refused in one line" {
    # Replaces those of the first batch, which has $n pairs, by what Python makes of $1.
    changed() {
        "$TF_PYTHON" - "$1" b.tfs >changed.tfs <<'PY'
import sys
import cbor2
from streams import records
out = sys.stdout.buffer
out.write(open(sys.argv[2], "rb").read()[:12]) # the label
for r in records(sys.argv[2]):
    if r[0] == 3 and r[1] == 0:
        n = len(r[2]["idx"])
        r[2]["weights"] = eval(sys.argv[1])
    out.write(cbor2.dumps(r))
PY
    }
    batches n=3 pairs=6 large=0 times=1 seed=3 >b.tfs
    while IFS='|' read -r weights message; do
        changed "$weights"
        t 1 tf-cbor check changed.tfs
        expect_error "changed.tfs: batch record 0 at byte 82: weights: $message"
        tr_t 1 -q --steps 3 -o run changed.tfs
        expect_error "weights: $message; no checkpoint was saved before"
        rm -rf run
    done <<'END'
[float("nan")] * n|0: nan is not from 0 to 1000
[1] * (n - 1) + [-0.25]|5: -0.25 is not from 0 to 1000
[0, 1000, 1000.5] + [1] * (n - 3)|2: 1000.5 is not from 0 to 1000
[float("inf")] * n|0: inf is not from 0 to 1000
END
    for weights in '[1.0] * (n - 1)' '[1.0] * (n + 1)' '[]' '1.0'; do
        changed "$weights"
        tr_t 1 -q --steps 3 -o run changed.tfs
        expect_contains "$stderr" "weights: "
        [ "$(wc -l <<<"$stderr")" = 1 ]
    done
    changed '[0, 1000] + [1] * (n - 2)' # integers are numbers
    train -q --steps 3 -o good changed.tfs
}
