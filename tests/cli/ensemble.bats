#!/usr/bin/env bats
# Several models that decode and score together.
load helper
load translate

setup_file() {
    make_model
}

@test "weights of an ensemble: the weighted mean of probabilities, token by token" {
    natively
    local n
    sharp_model half.tfm 0.5
    sharp_model double.tfm 2
    # Outputs of the ensemble; then each model alone scores them.
    t 0 tf-decode -m "$MODEL":0.2 -m half.tfm:3 -m double.tfm:0.8 --nbest 3 --token-scores -o both \
        "$LINES_TFS"
    tf-cbor json both | jq -c 'select(.type == "nbest" and .hyps != []) | .hyps[]' >hyps
    for n in "$MODEL" half.tfm double.tfm; do
        tf-score -q --text --token -m "$n" "$LINES_TFS" both | cut -f 2 >"$(basename "$n").p"
    done
    t 0 tf-score -q --text --token -m "$MODEL":0.2 -m half.tfm:3 -m double.tfm:0.8 "$LINES_TFS" both
    cut -f 2 <<<"$output" >scored.p
    "$TF_PYTHON" - "$(basename "$MODEL").p" half.tfm.p double.tfm.p scored.p <<'PY'
import json, sys
import numpy as np
p = [[np.array(line.split(), float) for line in open(name)] for name in sys.argv[1:]]
w = np.array([0.2, 3, 0.8]) / 4
hyps = [json.loads(line) for line in open("hyps")]
assert len(hyps) > 100 and len(hyps) == len(p[0]) == len(p[3])
moved = 0
for h, a, b, c, scored in zip(hyps, *p):
    if not h["ids"] and len(h["token_logp"]) == 0:
        continue
    want = np.log(w[0] * np.exp(a) + w[1] * np.exp(b) + w[2] * np.exp(c))
    near = 1e-3 * np.abs(want) + 2e-4  # text has four places
    got = np.array(h["token_logp"], float)
    if h["logp"] != 0:
        assert (np.abs(got - want) < near).all(), (got, want)
    assert (np.abs(scored - want) < near).all(), (scored, want)
    moved += np.abs(want - np.log((np.exp(a) + np.exp(b) + np.exp(c)) / 3)).max() > 0.01
assert moved > 50, moved
PY
    # Only their ratio counts; equal weights are none.
    tf-decode -m "$MODEL":1 -m half.tfm:15 -m double.tfm:4 --nbest 3 --token-scores "$LINES_TFS" |
        tf-cbor json | jq -c '.hyps' >alike
    tf-cbor json both | jq -c '.hyps' | cmp - alike
    tf-decode -m "$MODEL":2 -m half.tfm:2 "$LINES_TFS" >two
    tf-decode -m "$MODEL" -m half.tfm "$LINES_TFS" | cmp - two
    # Provenance has them, and so has the fingerprint.
    header() { tf-cbor json "$1" | sed -n 1p | jq .header; }
    header both | jq -e '.made[-1].weights == [0.2, 3, 0.8]'
    header two | jq -e '.made[-1] | has("weights") | not'
    tf-decode -m "$MODEL":3 -m half.tfm "$LINES_TFS" >three
    [ "$(header two | jq .model)" != "$(header three | jq .model)" ]
    # tf-translate hands them on; names with colons.
    cp half.tfm a:2
    cp half.tfm a:b
    tf-translate -m "$MODEL":3 -m a:2:1 "$LINES_TXT" >out
    tf-tokenize -d -m "$MODEL" three | cmp - out
    t 0 tf-translate -m a:b -o out "$LINES_TXT"
    t 1 tf-decode -m a:2 "$LINES_TFS"
    expect_error "a: No such file or directory"
    t 2 tf-decode -m half.tfm:0 "$LINES_TFS"
    expect_error "half.tfm:0: weight 0: too small, minimum 1e-06"
}
