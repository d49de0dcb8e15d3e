#!/usr/bin/env bats
# tf-score as a stage of a pipeline.
bats_require_minimum_version 1.5.0
load helper
load translate

setup_file() {
    make_model
}

score() {
    tf-score -m "$MODEL" "$@"
}

@test "text: a number a line, the same for every layout" {
    score -q --text "$LINES_TFS" "$LINES_TFS" >want
    [ "$(grep -cE '^-[0-9]+\.[0-9]{4}$' want)" -eq "$LINES" ]
    for b in 1 7 64; do
        score -q --text --threads 2 --batch $b --window $((b * 3)) "$LINES_TFS" "$LINES_TFS" >got
        cmp want got
    done
    score -q --text --token "$LINES_TFS" "$LINES_TFS" >tokens
    awk -F '\t' '{ n = split($2, x, " "); s = 0; for (i = 1; i <= n; i++) s += x[i]; if (s - $1 > 0.01 || $1 - s > 0.01) exit 1 }' tokens
}

@test "the summary agrees with the lines" {
    score -q --text "$LINES_TFS" "$LINES_TFS" >lines
    t 0 tf-score -m "$MODEL" --summary "$LINES_TFS" "$LINES_TFS"
    [ -z "$stderr" ]
    "$TF_PYTHON" - "$output" <<'PY'
import json, math, sys
s = json.loads(sys.argv[1])
total = sum(float(x) for x in open("lines"))
assert s["pairs"] == 59 and s["bad"] == 0, s
assert abs(s["logp"] - total) < 0.01, (s, total)
assert abs(s["perplexity"] - math.exp(-s["logp"] / s["tokens"])) < 1e-9, s
assert 0.9 < s["accuracy"] <= 1, s
PY
}

@test "outputs of tf-decode have the score that it gave them" {
    tf-decode -m "$MODEL" --nbest 1 "$LINES_TFS" >nbest
    tf-decode -m "$MODEL" "$LINES_TFS" >out
    score -q --text "$LINES_TFS" out >logp
    "$TF_PYTHON" - <<'PY'
import cbor2
f = open("nbest", "rb")
got = [float(x) for x in open("logp")]
lines = [x.rstrip("\n") for x in open(__import__("os").environ["LINES_TXT"])]
d, n = cbor2.CBORDecoder(f), 0
while True:
    r = d.decode()
    if not isinstance(r, list):
        continue
    if r[0] == 15:
        break
    if r[0] == 4 and lines[r[1]]:
        assert abs(r[2][0][2] - got[r[1]]) < 1e-3, (r, got[r[1]])
        n += 1
assert n == 58, n
PY
}

@test "totals go to stderr" {
    t 0 tf-score -m "$MODEL" -o scores "$LINES_TFS" "$LINES_TFS"
    expect_error "59 pairs, "
    expect_contains "$stderr" perplexity
    [ "$(tf-cbor json scores | grep -c '"type":"score"')" -eq "$LINES" ]
}

@test "over nothing there is no perplexity" {
    tf-tokenize -m "$MODEL" /dev/null >none
    t 0 tf-score -m "$MODEL" --summary none none
    expect_output '{"pairs":0,"bad":0,"tokens":0,"logp":0,"perplexity":null,"accuracy":null}'
    t 0 tf-score -m "$MODEL" --text none none
    expect_error "nothing was scored"
    t 4 tf-score -m "$MODEL" --max-length 1 --summary <(head -n 1 "$LINES_TXT" | tf-tokenize -m "$MODEL") <(head -n 1 "$LINES_TXT" | tf-tokenize -m "$MODEL")
    expect_output '{"pairs":0,"bad":1,"tokens":0,"logp":0,"perplexity":null,"accuracy":null}'
}

@test "pairs from a pipe, and batches" {
    tf-batch -q --no-shuffle --min-length 0 "$LINES_TFS" "$LINES_TFS" >batches
    score --summary "$LINES_TFS" "$LINES_TFS" >a
    score --summary <batches >b
    [ "$(sed 's/.*"tokens":\([0-9]*\).*/\1/' b)" -gt 100 ]
    cmp a b
}

@test "mistakes" {
    t 2 tf-score -m "$MODEL" --text --summary a b
    expect_error "do not go together"
    t 2 tf-score -m "$MODEL" --token --summary a b
    expect_error "--token and --summary do not go together"
    t 2 tf-score -m - a -
    expect_error "only one of model and inputs can be stdin"
    t 2 tf-score a b
    expect_error "no model"
    t 1 tf-score -m "$MODEL" "$LINES_TFS"
    expect_error tokens
    head -n 5 "$LINES_TXT" | tf-tokenize -m "$MODEL" >short
    t 1 tf-score -m "$MODEL" -o out "$LINES_TFS" short
    expect_error "ends before"
    [ ! -e out ]
    sh_t 1 'tf-score -q -m "$MODEL" --text "$LINES_TFS" "$LINES_TFS" >/dev/full'
    expect_error "No space left on device"
    t 4 tf-score -q -m "$MODEL" --max-length 3 --text "$LINES_TFS" "$LINES_TFS"
    expect_contains "$stderr" "records bad"
    [ "$(tf-score -q --bad ok -m "$MODEL" --max-length 3 --text "$LINES_TFS" "$LINES_TFS" | wc -l)" -eq "$LINES" ]
}
