#!/usr/bin/env bats
# tf-score as a stage of a pipeline.
load helper
load translate

setup_file() {
    make_model
}

score() {
    tf-score -m "$MODEL" "$@"
}

@test "text: one number per line, the same for every layout" {
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

@test "tf-score gives outputs of tf-decode the score that tf-decode gave them" {
    tf-decode -m "$MODEL" --nbest 1 "$LINES_TFS" >nbest
    tf-decode -m "$MODEL" "$LINES_TFS" >out
    score -q --text "$LINES_TFS" out >logp
    "$TF_PYTHON" - <<'PY'
import os
from streams import records
got = [float(x) for x in open("logp")]
lines = [x.rstrip("\n") for x in open(os.environ["LINES_TXT"])]
n = 0
for r in records("nbest"):
    if r[0] == 4 and lines[r[1]]:
        assert abs(r[2][0][2] - got[r[1]]) < 1e-3, (r, got[r[1]])
        n += 1
assert n == 58, n
PY
}

@test "a perplexity above the largest double is null" {
    sharp_model sharp.tfm 1000
    tac "$LINES_TXT" | tf-tokenize -m "$MODEL" >others
    t 0 tf-score -m sharp.tfm --summary "$LINES_TFS" others
    expect_contains "$output" '"perplexity":null'
    [[ $output != *'"tokens":0'* && $output != *'"logp":null'* ]]
}

@test "outputs of tf-decode at the limit of both tools fit" {
    [[ $(tf-decode --help) == *"N tokens more than its input (default 50)"* ]]
    ids() {
        seq -s , "$1" | sed 's/[0-9]*/5/g'
    }
    {
        echo '{"type":"header","header":{"v":1,"kind":"tokens"}}'
        printf '{"type":"tokens","idx":%s,"ids":[%s]}\n' 0 "$(ids 1024)" 1 "$(ids 1024)" 2 \
            "$(ids 1025)"
        echo '{"type":"end"}'
    } | tf-cbor unjson >sources
    {
        echo '{"type":"header","header":{"v":1,"kind":"tokens"}}'
        printf '{"type":"tokens","idx":%s,"ids":[%s]}\n' 0 "$(ids 1074)" 1 "$(ids 1075)" 2 5
        echo '{"type":"end"}'
    } | tf-cbor unjson >targets
    t 4 tf-score -q -m "$MODEL" --force-vocab sources targets -o out
    [ "$(tf-cbor json out | jq -r 'select(.idx).type' | xargs)" = "score bad bad" ]
    t 4 tf-attn -q -m "$MODEL" --force-vocab -k encoder sources targets -o out
    [ "$(tf-cbor json out | jq -r 'select(.idx).type' | xargs)" = "attention bad bad" ]
}

@test "totals go to stderr" {
    t 0 tf-score -m "$MODEL" -o scores "$LINES_TFS" "$LINES_TFS"
    expect_error "59 pairs, "
    expect_contains "$stderr" perplexity
    [ "$(tf-cbor json scores | grep -c '"type":"score"')" -eq "$LINES" ]
}

@test "the perplexity of nothing is null" {
    tf-tokenize -m "$MODEL" /dev/null >none
    t 0 tf-score -m "$MODEL" --summary none none
    expect_output '{"pairs":0,"bad":0,"tokens":0,"logp":0,"perplexity":null,"accuracy":null}'
    t 0 tf-score -m "$MODEL" --text none none
    expect_error "nothing was scored"
    t 4 tf-score -m "$MODEL" --max-length 1 --summary <(head -n 1 "$LINES_TXT" | tf-tokenize -m \
        "$MODEL") <(head -n 1 "$LINES_TXT" | tf-tokenize -m "$MODEL")
    expect_output '{"pairs":0,"bad":1,"tokens":0,"logp":0,"perplexity":null,"accuracy":null}'
}

# Print the n-best records of a stream, one line of JSON each.
lists() {
    tf-cbor json "$@" | jq -c 'select(.type == "nbest")'
}

@test "n-best lists: tf-score gives those of tf-decode the same scores, in any order" {
    natively
    tf-decode -m "$MODEL" --nbest 4 --token-scores "$LINES_TFS" >nbest
    score -q --token "$LINES_TFS" nbest >again
    "$TF_PYTHON" - <(lists nbest) <(lists again) <<'PY'
import json, sys
n = 0
for a, b in zip(*(map(json.loads, open(f)) for f in sys.argv[1:]), strict=True):
    assert a["idx"] == b["idx"] and len(a["hyps"]) == len(b["hyps"]), (a, b)
    was = {tuple(h["ids"]): h for h in a["hyps"]}
    for h in b["hyps"] if len(a["hyps"]) == 4 else ():
        w = was.pop(tuple(h["ids"]))
        assert abs(h["logp"] - w["logp"]) < 2e-3 and abs(h["score"] - w["score"]) < 2e-3, (h, w)
        assert all(abs(x - y) < 2e-3 for x, y in zip(h["token_logp"], w["token_logp"], strict=True)), (h, w)
        n += 1
    assert b["hyps"] == sorted(b["hyps"], key=lambda h: -h["score"]), b
assert n == 4 * 58, n
PY
    tf-cbor json nbest | jq -c 'if .type == "nbest" then .hyps |= reverse else . end' |
        tf-cbor unjson >back
    score -q "$LINES_TFS" nbest | lists >want
    score -q "$LINES_TFS" back | lists | cmp want -
    [ "$(grep -c token_logp want)" -eq 0 ]
    for b in 1 7 64; do
        score -q --threads 2 --batch $b --window $((b * 3)) "$LINES_TFS" nbest | lists | cmp want -
    done
    # A source is encoded once for the hypotheses that share a batch.
    for more in --device=ref --device=ref64 "--model=$MODEL"; do
        score -q --batch 1 "$more" "$LINES_TFS" nbest | lists >apart
        score -q "$more" "$LINES_TFS" nbest | lists | cmp apart -
    done
    # tf-tokenize -d detokenizes the best hypothesis of each list.
    [ "$(score -q "$LINES_TFS" back | tf-tokenize -d -m "$MODEL" | wc -l)" -eq "$LINES" ]
    [ "$(score -q -a 0 "$LINES_TFS" back | lists | jq -c '.hyps[] | select(.score != .logp)' | wc \
        -l)" -eq 0 ]
    score -q "$LINES_TFS" nbest | tf-cbor json |
        jq -r 'select(.type == "header") | .header | .kind, .made[].prog' | xargs >kind
    [ "$(cat kind)" = 'nbest tf-tokenize tf-decode tf-score' ]
}

@test "n-best lists as text: one line per hypothesis, in input order" {
    tf-decode -m "$MODEL" --nbest 3 "$LINES_TFS" | tf-cbor json |
        jq -c 'if .type == "nbest" then .hyps |= reverse else . end' | tf-cbor unjson >back
    score -q --text "$LINES_TFS" back >got
    [ "$(wc -l <got)" -eq "$(tf-tokenize -d --nbest -m "$MODEL" back | wc -l)" ]
    tf-cbor json "$LINES_TFS" | jq -c 'select(.type == "tokens") | .ids' >ids
    tf-cbor json back | jq -c --slurpfile src ids 'if .type == "nbest" then . as $r | .hyps[] | {type: "pair", idx: $r.idx, src: $src[$r.idx], tgt: .ids}
        elif .type == "header" then {type, header: (.header | .kind = "pairs")} else {type} end' | grep -v check | tf-cbor unjson >pairs
    score -q --text pairs | cmp - got
    score --summary pairs >want
    score --summary "$LINES_TFS" back | cmp want -
}

@test "a list is bad if its source or one hypothesis is bad, or if it is empty" {
    {
        echo '{"type":"header","header":{"v":1,"kind":"nbest"}}'
        for ids in '[5,6],[6]' "[5],[$(seq -s , 54)],[6]" '' '[5],[6]'; do
            echo "{\"type\":\"nbest\",\"idx\":$((n++)),\"hyps\":[$(sed 's/\[[^]]*\]/{"ids":&,"score":0,"logp":0}/g' <<<"$ids")]}"
        done
        echo '{"type":"bad","idx":4,"code":1,"text":"x"}'
        echo '{"type":"nbest","idx":5,"hyps":[]}' # of a bad source
        echo '{"type":"end"}'
    } | tf-cbor unjson >odd
    for i in {1..6}; do case $i in 4 | 6) printf '\xff\n' ;; *) echo a ;; esac; done |
        tf-tokenize --bad ok -m "$MODEL" >six
    t 4 tf-score -q -m "$MODEL" --max-length 3 six odd -o out
    expect_bad "six: 5 of 6 records bad; the first is record 1: too many tokens: target of 54 tokens, --max-length allows 53"
    [ "$(tf-cbor json out | jq -r \
        'select(.type != "header" and .type != "end") | "\(.type) \(.code // "-")"' |
        xargs)" = 'nbest - bad 3 bad 15 bad 1 bad 1 bad 1' ]
    t 4 tf-score -q -m "$MODEL" --max-length 3 --text six odd
    [ "$(grep -c -- - <<<"$output")" -eq 2 ]
    [ "$(tf-score -q --bad ok -m "$MODEL" --max-length 3 --text six odd | wc -l)" -eq 10 ]
    [ "$(tf-tokenize -d --nbest --bad ok -m "$MODEL" odd | wc -l)" -eq 10 ]
    t 1 tf-score -m "$MODEL" odd six
    expect_error "odd: "
    t 2 tf-score -m "$MODEL" --alpha 1 "$LINES_TFS" "$LINES_TFS"
    expect_error "--alpha is for n-best lists"
    t 2 tf-score -m "$MODEL" --normalize 0 "$LINES_TFS" "$LINES_TFS"
    expect_error "--normalize is for n-best lists"
    t 2 tf-score -m "$MODEL" --alpha 1 --text six odd
    expect_error "--alpha and --text cannot be used together"
}

@test "provenance has the options that affect the stream, and they reproduce it" {
    options() { tf-info "$1" | sed -n 's/^  [| ]*tf-'"$2"'\>//p' | tail -1; }
    score -q "$LINES_TFS" "$LINES_TFS" >scores
    [[ $(options scores score) != *--alpha* ]]
    # shellcheck disable=SC2046
    score -q $(options scores score) "$LINES_TFS" "$LINES_TFS" | cmp - scores
    tf-decode -m "$MODEL" --nbest 3 "$LINES_TFS" >nbest
    score -q --alpha 1 "$LINES_TFS" nbest >lists
    [[ $(options lists score) == *--alpha\ 1* ]]
    # shellcheck disable=SC2046
    score -q $(options lists score) "$LINES_TFS" nbest | cmp - lists
    for how in '--beam 2' '--sample --seed 3 --top-k 5'; do
        # shellcheck disable=SC2086
        tf-decode -m "$MODEL" --max-extra 5 $how "$LINES_TFS" >out
        # shellcheck disable=SC2046
        tf-decode -m "$MODEL" $(options out decode) "$LINES_TFS" | cmp - out
    done
    [[ $(options out decode) != *--beam* ]]
}

@test "pairs from a pipe, and batches" {
    tf-batch -q --no-shuffle --min-length 0 "$LINES_TFS" "$LINES_TFS" >batches
    score --summary "$LINES_TFS" "$LINES_TFS" >a
    score --summary <batches >b
    [ "$(sed 's/.*"tokens":\([0-9]*\).*/\1/' b)" -gt 100 ]
    cmp a b
}

@test "usage errors and inputs that do not match" {
    t 2 tf-score -m "$MODEL" --text --summary a b
    expect_error "cannot be used together"
    t 2 tf-score -m "$MODEL" --token --summary a b
    expect_error "--token and --summary cannot be used together"
    t 2 tf-score -m - a -
    expect_error "only one file can be stdin"
    t 2 tf-score a b
    expect_error "-m FILE is required"
    t 1 tf-score -m "$MODEL" "$LINES_TFS"
    expect_error tokens
    head -n 5 "$LINES_TXT" | tf-tokenize -m "$MODEL" >short
    t 1 tf-score -m "$MODEL" -o out "$LINES_TFS" short
    expect_error "ends before"
    [ ! -e out ]
    t 4 tf-score -q -m "$MODEL" --max-length 3 --text "$LINES_TFS" "$LINES_TFS"
    expect_contains "$stderr" "records bad"
    [ "$(tf-score -q --bad ok -m "$MODEL" --max-length 3 --text "$LINES_TFS" "$LINES_TFS" | wc \
        -l)" -eq "$LINES" ]
}

# As in decoding: one bad record, status 4.
@test "a result that is not finite is a bad record" {
    overflowing_model m.tfm
    printf 'a b\na c\nb\n' | tf-tokenize -m "$BATS_FILE_TMPDIR/vocab" >x.tfs
    t 4 tf-score -m m.tfm --text x.tfs x.tfs
    [ "$(grep -cE '^-[0-9]+\.[0-9]{4}$' <<<"$output")" -eq 2 ]
    [ "$(sed -n 2p <<<"$output")" = "" ]
    expect_contains "$stderr" "2 pairs, "
    expect_contains "$stderr" "1 of 3 records bad; the first is record 1: other: a log-probability that is not finite"
    t 4 tf-score -m m.tfm --text --token x.tfs x.tfs
    [[ ${output,,} != *nan* && ${output,,} != *inf* ]]
    sh_t 4 'tf-score -m m.tfm x.tfs x.tfs | tf-cbor json | jq -r .type | tr "\n" " "'
    expect_output "header score bad score end "
    t 4 tf-score -m m.tfm --summary x.tfs x.tfs
    expect_contains "$output" '"bad":1'
    expect_contains "$output" '"accuracy":null'
    sh_t 4 'tf-decode -m m.tfm x.tfs | tf-cbor json | jq -r .type | tr "\n" " "'
    expect_output "header tokens bad tokens end "
    sh_t 4 'tf-attn -m m.tfm --kind encoder x.tfs x.tfs | tf-cbor json | jq -r .type | tr "\n" " "'
    expect_output "header attention bad attention end "
    tf-decode -m "$MODEL" --nbest 2 x.tfs >lists
    sh_t 4 'tf-score -m m.tfm x.tfs lists | tf-cbor json | jq -r .type | tr "\n" " "'
    expect_output "header nbest bad nbest end "
    t 0 tf-score -m m.tfm --bad ok --text x.tfs x.tfs
}
