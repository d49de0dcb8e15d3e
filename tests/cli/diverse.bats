#!/usr/bin/env bats
# tf-decode --diverse: groups that are beam searches, outputs that differ, and the same bytes for
# any layout. tests/unit/infer_diverse.c compares it with a search over whole hypotheses.
load helper
load translate

setup_file() {
    make_model
}

hyps() {
    tf-cbor json "$1" | jq -c 'select(.type == "nbest") | [.idx, .hyps]'
}

@test "without strength each group is a beam search of its size" {
    natively
    local search
    for search in paper fairseq transformers marian ctranslate2; do
        tf-decode -m "$MODEL" --search $search -k 3 -n 3 --token-scores "$LINES_TFS" -o want
        tf-decode -m "$MODEL" --search $search -k 6 -n 6 --token-scores --diverse 2 --diversity 0 \
            "$LINES_TFS" -o got
        hyps want >want.json
        hyps got | cmp - want.json
    done
}

@test "outputs differ more, have their own log-probabilities, and do not depend on neighbours" {
    natively
    t 0 tf-decode -m "$MODEL" -k 6 -n 6 --diverse 6 --diversity 3 "$LINES_TFS" -o list
    tf-decode -m "$MODEL" -k 6 -n 6 "$LINES_TFS" -o plain
    # First tokens of each list.
    firsts() { hyps "$1" | jq -s 'map([.[1][].ids[0]] | unique | length) | add'; }
    [ "$(firsts list)" -gt $((2 * $(firsts plain))) ]
    # No output comes twice; scores are those of tf-score, best first.
    hyps list | jq -es 'all(.[]; [.[1][].ids] | length == (unique | length))'
    tf-score -q -m "$MODEL" "$LINES_TFS" list -o scored
    "$TF_PYTHON" - <(hyps list) <(hyps scored) <<'PY'
import json, sys
a, b = ([json.loads(line) for line in open(n)] for n in sys.argv[1:])
assert len(a) == len(b) == 59
for (_, x), (_, y) in zip(a, b):
    assert [h["ids"] for h in x] == [h["ids"] for h in y]
    for h, g in zip(x, y):
        if h["logp"] == 0:  # of an empty line
            continue
        assert abs(h["logp"] - g["logp"]) < 1e-3 and abs(h["score"] - g["score"]) < 1e-3, (h, g)
PY
    local layout
    for layout in "-b 1 -w 1" "-b 7 -t 2" "-w 10 -t 3"; do
        # shellcheck disable=SC2086
        tf-decode -m "$MODEL" -k 6 -n 6 --diverse 6 --diversity 3 $layout "$LINES_TFS" | cmp - list
    done
    tf-translate --json -k 6 -n 6 --diverse 6 --diversity 3 -m "$MODEL" "$LINES_TXT" |
        jq -r .text >out
    tf-tokenize -d -m "$MODEL" list | cmp - out
}

@test "what --diverse does not go with" {
    t 2 tf-decode -m "$MODEL" -k 6 --diverse 4 "$LINES_TFS"
    expect_error "--diverse 4: does not divide --beam 6"
    t 2 tf-decode -m "$MODEL" --diverse 2 --sample "$LINES_TFS"
    expect_contains "$stderr" "--diverse"
    t 2 tf-decode -m "$MODEL" --diverse 2 --insert x "$LINES_TFS"
    expect_error "--insert and --diverse cannot be used together"
    t 2 tf-decode -m "$MODEL" --diversity 2 "$LINES_TFS"
    expect_contains "$stderr" "--diverse"
}
