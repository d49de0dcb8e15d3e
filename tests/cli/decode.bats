#!/usr/bin/env bats
# tf-decode as a stage of a pipeline: one output line per input line, written at once when the input
# pauses, and a clear status whatever fails upstream or downstream.
load helper
load translate

setup_file() {
    make_model
}

@test "text to text: one output line per input line" {
    printf 'a b\n\nb b a c\n\xff\nc\n' >in
    sh_t 4 'tf-tokenize -m "$MODEL" in | tf-decode -m "$MODEL" --max-extra 5 | tf-tokenize -d -m "$MODEL" >out'
    [ "$(wc -l <out)" -eq 5 ]
    [ -z "$(sed -n 2p out)" ]
    [ -z "$(sed -n 4p out)" ]
    [ "$(sed -n 1p out)" = 'a b' ]
}

@test "a model trained to copy copies" {
    decode "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >out
    [ "$(paste -d = out "$LINES_TXT" | awk -F = '$1 == $2' | wc -l)" -gt 40 ]
}

@test "the same bytes for every layout, from a file and from a slow pipe" {
    decode --threads 1 "$LINES_TFS" >want
    for b in 1 7 64; do
        for w in 1 10 1000; do
            decode --threads 2 --batch $b --window $w "$LINES_TFS" -o got
            cmp want got
        done
    done
    "$TF_PYTHON" - "$LINES_TFS" <<'PY' | decode >pipe
import sys, time
data = open(sys.argv[1], "rb").read()
at, k = 0, 1
while at < len(data):
    sys.stdout.buffer.write(data[at:at + k])
    sys.stdout.flush()
    at += k
    k = k * 3 % 977 + 1
    time.sleep(0.001)
PY
    tf-tokenize -d -m "$MODEL" want >want.txt
    tf-tokenize -d -m "$MODEL" pipe >pipe.txt
    cmp want.txt pipe.txt
}

@test "int8: nearly the same text, the same bytes for every layout and similar kernel set, and provenance records it" {
    decode --device cpu "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >fp32.txt
    decode --precision int8 --threads 1 "$LINES_TFS" >want
    tf-tokenize -d -m "$MODEL" want >int8.txt
    [ "$(paste -d = fp32.txt int8.txt | awk -F = '$1 == $2' | wc -l)" -gt $((LINES * 9 / 10)) ]
    for b in 1 7 64; do
        decode --precision int8 --threads 2 --batch $b --window 10 "$LINES_TFS" -o got
        cmp want got
    done
    for pair in avx2:avxvnni avx512:avx512vnni neon:neondot; do
        TF_CPU_ISA=${pair%:*} decode --precision int8 "$LINES_TFS" >plain 2>log ||
            { grep -qE 'does not have it|not one of' log && continue; }
        TF_CPU_ISA=${pair#*:} decode --precision int8 "$LINES_TFS" >vnni 2>log ||
            { grep -qE 'does not have it|not one of' log && continue; }
        cmp plain vnni
    done
    tf-cbor json want | head -n 1 | grep -q '"prog":"tf-decode".*"precision":"int8"'
    decode --device cpu "$LINES_TFS" >fp32
    [[ $(tf-cbor json fp32 | head -n 1) != *precision* ]]
}

@test "bf16: nearly the same text and scores, the same bytes for every layout, and provenance records it" {
    decode --device cpu "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >fp32.txt
    decode --device cpu --precision bf16 --threads 1 "$LINES_TFS" >want
    tf-tokenize -d -m "$MODEL" want >bf16.txt
    [ "$(paste -d = fp32.txt bf16.txt | awk -F = '$1 == $2' | wc -l)" -gt $((LINES * 9 / 10)) ]
    for b in 1 7 64; do
        decode --device cpu --precision bf16 --threads 2 --batch $b --window 10 "$LINES_TFS" -o got
        cmp want got
    done
    tf-cbor json want | head -n 1 | grep -q '"prog":"tf-decode".*"precision":"bf16"'
    for p in fp32 bf16; do
        tf-score --device cpu --precision $p --text -m "$MODEL" "$LINES_TFS" "$LINES_TFS" >$p
    done
    paste fp32 bf16 | awk -v lines=$LINES '
        $1 != $2 { differ++ }
        ($1 - $2) ^ 2 > (0.02 * $1) ^ 2 + 0.01 ^ 2 { print; bad = 1 }
        END { exit bad || NR != lines || !differ }' >&2
}

@test "int8 is for decoding on the CPU" {
    t 2 tf-score --device cpu --precision int8 -m "$MODEL" "$LINES_TFS" "$LINES_TFS"
    expect_contains "$stderr" "int8"
    t 2 tf-train --precision int8 -o run "$LINES_TFS"
    expect_contains "$stderr" "int8"
    t 2 tf-decode --device ref --precision int8 -m "$MODEL" "$LINES_TFS"
    expect_error "the ref backend has no precision 'int8' for decoding, only fp32"
}

@test "a line is translated before the next one is sent" {
    "$TF_PYTHON" - "$MODEL" <<'PY'
import sys
from tools import talk
model, limit = ["-m", sys.argv[1]], ["--max-extra", "3"]
assert not talk([["tf-tokenize", *model], ["tf-decode", *model, *limit], ["tf-tokenize", "-d", *model]],
                [(b"a b c\n", None)] * 12)
PY
}

@test "where the input pauses, a line that is done does not wait for those read with it" {
    cat >early.py <<'PY'
import json, subprocess, sys
model, PIPE = sys.argv[1], subprocess.PIPE
tokenize = subprocess.Popen(["tf-tokenize", "-m", model], stdin=PIPE, stdout=PIPE)
decode = subprocess.Popen(["tf-decode", "-m", model, "-t", "1"], stdin=tokenize.stdout, stdout=PIPE)
show = subprocess.Popen(["tf-cbor", "json"], stdin=decode.stdout, stdout=PIPE)
tokenize.stdin.write(b"a\na b c a b c a b c\n")
tokenize.stdin.flush()
kinds = [json.loads(show.stdout.readline())["type"] for _ in range(4)]
assert kinds == ["header", "tokens", "check", "tokens"], kinds  # a check where it is flushed
tokenize.stdin.close()
assert not decode.wait()
PY
    t 0 "$TF_PYTHON" early.py "$MODEL"
}

@test "prefixes from a pipe: a line is translated when its prefix arrives, before the next one is sent" {
    cat >talk.py <<'PY'
import subprocess, sys
model, lines, n = sys.argv[1], sys.argv[2], 6
PIPE = subprocess.PIPE
prefix = subprocess.Popen(["tf-tokenize", "-m", model], stdin=PIPE, stdout=PIPE)
fd = prefix.stdout.fileno()
decode = subprocess.Popen(["tf-decode", "-m", model, "--max-extra", "3", "--prefix", "/dev/fd/%d" % fd, lines], stdout=PIPE, pass_fds=[fd])
text = subprocess.Popen(["tf-tokenize", "-d", "-m", model], stdin=decode.stdout, stdout=PIPE)
for i in range(n):
    prefix.stdin.write(b"c c\n")
    prefix.stdin.flush()
    if not text.stdout.readline().startswith(b"c c"):
        sys.exit("no answer to line %d" % i)
prefix.stdin.close()
sys.exit("unexpected output" if text.stdout.read() else decode.wait())
PY
    head -n 6 "$LINES_TXT" | tf-tokenize -m "$MODEL" >six
    t 0 "$TF_PYTHON" talk.py "$MODEL" six
}

@test "a model with more rows than pieces: the others are never produced, and bad in inputs" {
    tf-batch -q --tokens 400 --batches 1 "$BATS_FILE_TMPDIR"/text.tfs{,} |
        tf-train -q --preset tiny --layers 1 --d-model 32 --d-ff 64 --heads 2 --device cpu \
            --vocab "$BATS_FILE_TMPDIR/vocab" --vocab-size 40 --steps 1 --save-every 1 -o padded
    for s in '--sample --nbest 20' '--beam 30 --nbest 30' '--beam 1'; do
        # shellcheck disable=SC2086
        t 0 tf-decode -m padded/ckpt-00000001.tfm $s --max-extra 5 -o out "$LINES_TFS"
        t 0 tf-cbor check out
    done
    printf '{"type":"%s"%s}\n' header ',"header":{"v":1,"kind":"tokens"}' tokens ',"idx":0,"ids":[35]' \
        end '' | tf-cbor unjson >wide
    t 4 tf-decode -m padded/ckpt-00000001.tfm -o out wide
    expect_contains "$stderr" "source id 35, the vocabulary has 11"
}

@test "learned positions limit what a model runs on, and not the tokens of --insert" {
    tf-batch -q --tokens 400 --batches 1 "$BATS_FILE_TMPDIR"/text.tfs{,} |
        tf-train -q --preset tiny --layers 1 --d-model 32 --d-ff 64 --heads 2 --device cpu \
            --positions learned --max-positions 20 --steps 1 --save-every 1 -o learned
    printf '{"type":"%s"%s}\n' header ',"header":{"v":1,"kind":"tokens"}' tokens \
        ',"idx":0,"ids":[5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,5,6]' end '' | tf-cbor unjson >long
    t 4 tf-decode -m learned/ckpt-00000001.tfm -o out long
    expect_contains "$stderr" "source of 20 tokens, the model has learned positions for 19"
    t 0 tf-decode -m learned/ckpt-00000001.tfm --insert long --max-extra 5 -o out "$LINES_TFS"
}

@test "prefixes that end early or are truncated: complete lines are translated" {
    head -n 20 "$LINES_TXT" | tf-tokenize -m "$MODEL" >twenty
    sh_t 1 'tf-decode -m "$MODEL" --prefix twenty "$LINES_TFS" | tf-tokenize -d -m "$MODEL"'
    expect_contains "$stderr" "twenty: ends before $LINES_TFS does, at record 20"
    [ "$(wc -l <<<"$output")" -eq 20 ]
    tf-cbor json twenty | sed '/"idx":7,/a {"type":"check"}' | tf-cbor unjson | head -c -1 >torn
    sh_t 1 'tf-decode -m "$MODEL" --prefix torn twenty | tf-tokenize -d -m "$MODEL"'
    expect_contains "$stderr" "torn: truncated after record"
    [ "$(wc -l <<<"$output")" -eq 8 ]
    sh_t 1 'tf-decode -m "$MODEL" --prefix "$LINES_TFS" twenty | tf-tokenize -d -m "$MODEL"'
    expect_contains "$stderr" "$LINES_TFS: continues after the end of twenty"
    [ "$(wc -l <<<"$output")" -eq 20 ]
    cat "$LINES_TFS" "$LINES_TFS" >parts
    t 1 tf-decode -m "$MODEL" --prefix "$LINES_TFS" parts -o out
    expect_contains "$stderr" "parts: continues after the end of $LINES_TFS"
}

@test "n-best, greedy and sampled output" {
    decode --nbest 3 "$LINES_TFS" >nbest
    tf-tokenize -d --nbest -m "$MODEL" nbest >text
    [ "$(wc -l <text)" -eq $((3 * (LINES - 1) + 1)) ]
    decode --nbest 3 --token-scores "$LINES_TFS" >scores
    [ "$(wc -c <scores)" -gt "$(wc -c <nbest)" ]
    decode --beam 1 "$LINES_TFS" >greedy
    [ "$(tf-tokenize -d -m "$MODEL" greedy | wc -l)" -eq "$LINES" ]
    decode --sample --seed 5 "$LINES_TFS" >one
    decode --sample --seed 5 --batch 3 "$LINES_TFS" >two
    decode --sample --seed 6 "$LINES_TFS" >three
    # Sampling from a pool of one token is greedy search, whichever option limits the pool.
    decode --beam 1 "$LINES_TFS" | tf-cbor json - | grep '"ids"' >greedy
    for pool in '--top-k 1' '--top-p 1e-9' '--top-k 7 --top-p 1e-9 --temperature 5'; do
        # shellcheck disable=SC2086
        decode --sample $pool "$LINES_TFS" | tf-cbor json - | grep '"ids"' | cmp - greedy
    done
    decode --sample --seed 5 --top-k 3 --top-p 0.9 "$LINES_TFS" >pool
    decode --sample --seed 5 --top-k 3 --top-p 0.9 --batch 3 --threads 2 "$LINES_TFS" | cmp - pool
    run -1 cmp -s one pool
    cmp one two
    run -1 cmp -s one three
}

@test "the model can be a pipe" {
    decode "$LINES_TFS" >want
    cat "$MODEL" | tf-decode -m - --max-extra 5 "$LINES_TFS" >got
    cmp want got
    tf-decode -m /dev/fd/3 --max-extra 5 "$LINES_TFS" 3< <(cat "$MODEL") >got
    cmp want got
    # tf-tokenize needs only the vocabulary, and reads on so that the writer is not killed.
    cat "$MODEL" | tf-tokenize -m - "$LINES_TXT" | cmp - "$LINES_TFS"
}

@test "conflicting options are a usage error" {
    d_t 2 -m - -
    expect_error "only one file can be stdin"
    d_t 2 --nbest 5
    expect_error "--nbest 5: larger than --beam 4"
    d_t 2 --beam 0
    expect_error "too small"
    d_t 2 --sample --beam 3
    expect_error "--beam is only for search"
    d_t 2 --sample --early-stopping
    expect_error "--early-stopping is only for search"
    d_t 2 --seed 3
    expect_error "is only for --sample"
    t 2 tf-decode
    expect_error "-m FILE is required"
    d_t 2 a b
}

@test "inputs that are missing, empty or of another kind" {
    t 1 tf-decode -m nothing.tfm "$LINES_TFS"
    expect_error "nothing.tfm: "
    t 1 tf-decode -m "$LINES_TFS" "$LINES_TFS"
    expect_error "tokens"
    sh_t 1 'tf-decode -m "$MODEL" </dev/null | cat'
    expect_error "truncated"
    d_t 1 "$MODEL"
    expect_error "tokens"
    printf 'not a stream' >junk
    d_t 1 junk
    [ "${#stderr_lines[@]}" -eq 1 ]
    tf-tokenize -m "$MODEL" /dev/null | decode >empty
    [ -z "$(tf-tokenize -d -m "$MODEL" empty)" ]
}

@test "a truncated stream fails here and downstream" {
    head -c 1000 "$LINES_TFS" >torn
    sh_t 1 'tf-decode -m "$MODEL" torn | tf-tokenize -d -m "$MODEL"'
    expect_contains "$stderr" "tf-decode: torn: truncated after record"
    expect_contains "$stderr" "upstream failed"
    d_t 1 -o out torn
    [ ! -e out ]
}

@test "a reader that exits" {
    (cat "$LINES_TFS"; sleep 1; cat "$LINES_TFS") |
        bash -c 'tf-decode -m "$MODEL" --max-extra 5; echo $? >status' | head -c 1 >/dev/null ||
        true
    [ "$(cat status)" -eq 0 ]
}

@test "a sentence that is too long is a bad record, and --bad decides the exit status" {
    d_t 4 --max-length 3 -o out "$LINES_TFS"
    expect_contains "$stderr" "records bad; the first is record"
    d_t 0 --max-length 3 --bad ok -o out "$LINES_TFS"
    d_t 1 --max-length 3 --bad fail -o none "$LINES_TFS"
    [ ! -e none ]
    [ "$(tf-tokenize -d --bad ok -m "$MODEL" out | wc -l)" -eq "$LINES" ]
}

@test "--truncate: the output is that of the beginning of the input, and its record says how much was cut" {
    d_t 0 --max-length 3 --truncate -o got "$LINES_TFS"
    expect_contains "$stderr" "source of"
    expect_contains "$stderr" "cut to 3"
    tf-cbor json "$LINES_TFS" | jq -c 'if .type == "tokens" then .ids |= .[:3] else . end' |
        tf-cbor unjson >short.tfs
    decode --max-length 3 short.tfs >want
    tf-cbor json got | jq -c 'select(.type == "tokens") | del(.cut)' >got.ids
    tf-cbor json want | jq -c 'select(.type == "tokens")' >want.ids
    cmp got.ids want.ids
    # Only what was cut has the field, and unjson keeps it.
    [ "$(tf-cbor json got | jq -c 'select(.type == "tokens") | .cut')" = \
        "$(tf-cbor json "$LINES_TFS" | jq -c 'select(.type == "tokens") | (.ids | length) - 3 |
            if . > 0 then . else null end')" ]
    tf-cbor json got | tf-cbor unjson | cmp - got
    d_t 0 --max-length 3 --truncate --nbest 2 -o got "$LINES_TFS"
    [ "$(tf-cbor json got | jq -c 'select(.type == "nbest" and .cut == 4)' | wc -l)" -gt 2 ]
    # An input that fits gives the same bytes but for the options in the provenance.
    decode --truncate "$LINES_TFS" | tf-cbor json | sed 1d >with
    decode "$LINES_TFS" | tf-cbor json | sed 1d | head -n -1 | cmp - <(head -n -1 with)
}

@test "--min-length: no output ends before, but for the limit of --max-extra" {
    d_t 0 --min-length 9 -o got "$LINES_TFS"
    decode "$LINES_TFS" >plain
    "$TF_PYTHON" - <<PY
from tools import lines
def records(path):
    return [len(r["ids"]) for r in lines(path) if r["type"] == "tokens"]
source, plain, got = (records(p) for p in ("$LINES_TFS", "plain", "got"))
assert min(n for n, s in zip(plain, source) if s) < 9
for n, s in zip(got, source):
    assert n >= min(9, s + 5) if s else n == 0, (n, s)
PY
}

@test "--no-repeat-ngram: no N tokens twice in an output, prefix included" {
    natively
    cat >repeats.py <<'PY'
import sys
from tools import lines
n, count = int(sys.argv[2]), 0
for r in lines(sys.argv[1]):
    for h in r.get("hyps", []):
        grams = [tuple(h["ids"][i:i + n]) for i in range(len(h["ids"]) - n + 1)]
        count += len(grams) - len(set(grams))
print(count)
PY
    tf-cbor json "$LINES_TFS" | jq -c 'if .type == "tokens" then .ids |= .[:2] else . end' |
        tf-cbor unjson >prefix.tfs
    for n in 1 2 3; do
        for more in "" "--prefix prefix.tfs" "--sample --temperature 2"; do
            # shellcheck disable=SC2086
            decode --nbest 3 $more "$LINES_TFS" >plain
            [ "$("$TF_PYTHON" repeats.py plain $n)" -gt 0 ]
            # shellcheck disable=SC2086
            d_t 0 --nbest 3 --no-repeat-ngram $n $more -o got "$LINES_TFS"
            # What the prefix repeats is forced.
            [ "$more" = "--prefix prefix.tfs" ] && [ $n = 1 ] ||
                [ "$("$TF_PYTHON" repeats.py got $n)" = 0 ]
        done
    done
}

@test "--repetition-penalty: log P of a token that the output has is multiplied, that of others is tf-score's" {
    d_t 0 --repetition-penalty 1.5 --token-scores -o got "$LINES_TFS"
    tf-score -m "$MODEL" --token "$LINES_TFS" got >scores
    tf-cbor json got >got.jsonl
    tf-cbor json scores >scores.jsonl
    "$TF_PYTHON" - <<'PY'
import json
def best(path):
    return [r["hyps"][0] for r in map(json.loads, open(path)) if r["type"] == "nbest"]
both, again = 0, 0
for hyp, score in zip(best("got.jsonl"), best("scores.jsonl")):
    assert hyp["ids"] == score["ids"]
    if not hyp["ids"]: # that of an empty input is not searched
        continue
    for i, (mine, plain) in enumerate(zip(hyp["token_logp"], score["token_logp"])):
        repeated = hyp["ids"][i:i + 1] and hyp["ids"][i] in hyp["ids"][:i]
        want = plain * (1.5 if repeated else 1)
        assert abs(mine - want) < 1e-4 * (1 + abs(want)), (i, mine, plain, repeated)
        both, again = both + 1, again + bool(repeated)
assert again > 30 and both - again > 100, (both, again)
PY
}

# The hypotheses of a stream, without its provenance.
hyps() {
    tf-cbor json "$1" | jq -c 'select(.type == "nbest") | .hyps'
}

@test "--early-stopping: some of the hypotheses, the same for every layout, on the reference, greedy" {
    decode --nbest 4 -o plain "$LINES_TFS"
    d_t 0 --nbest 4 --early-stopping --threads 1 -o got "$LINES_TFS"
    for b in 1 7 64; do
        decode --nbest 4 --early-stopping --threads 2 --batch $b --window 10 "$LINES_TFS" | cmp - got
    done
    decode --nbest 4 --early-stopping --device ref "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >ref.txt
    tf-tokenize -d -m "$MODEL" got | cmp - ref.txt
    # What ends is what ends without it, or less of that.
    paste <(hyps plain) <(hyps got) | jq -s '
        [range(0; length; 2) as $i | [.[$i], .[$i + 1]] | select(.[0] != .[1])] as $differ |
        ($differ | length) > 5 and
            all($differ[] | transpose[]; .[0].score >= .[1].score)' | grep -qx true
    cmp <(decode -k 1 --nbest 1 "$LINES_TFS" | tf-cbor json | jq .hyps) \
        <(decode -k 1 --nbest 1 --early-stopping "$LINES_TFS" | tf-cbor json | jq .hyps)
}

@test "--early-stopping: the n-best lists of CTranslate2" {
    natively
    need_peer ctranslate2 numpy
    tf-convert "$MODEL" --to npz -o m.npz
    "$TF_PYTHON" "$TOP/tests/cli/ct2_search.py" flat m.npz 0.3 flat.npz
    tf-convert flat.npz -o flat.tfm
    tf-convert flat.tfm --to ctranslate2 -o ct2
    for k in 2 4 5; do
        for power in 0 0.5 1; do
            t 0 tf-decode -m flat.tfm --early-stopping -k $k --nbest $k --normalize $power \
                --allow-unk --max-extra 200 -o nbest "$LINES_TFS"
            t 0 "$PEER_PYTHON" "$TOP/tests/cli/ct2_search.py" compare ct2 "$LINES_TFS" nbest $k $power
            expect_output "$LINES of $LINES"
        done
    done
    # Which its other search has not.
    tf-decode -m flat.tfm -k 4 --nbest 4 --normalize 1 --allow-unk -o nbest "$LINES_TFS"
    "$PEER_PYTHON" "$TOP/tests/cli/ct2_search.py" compare ct2 "$LINES_TFS" nbest 4 1 >equal
    [ "$(cut -d ' ' -f 1 equal)" -lt 20 ]
}

@test "a free prefix: scores without its log P, log P with it, the lists of the rest" {
    sed 's/.*/c c/' "$LINES_TXT" | tf-tokenize -m "$MODEL" >prefix.tfs
    decode --prefix prefix.tfs --nbest 4 --token-scores --normalize 1 -o counted "$LINES_TFS"
    decode --prefix prefix.tfs --nbest 4 --token-scores --normalize 1 --free-prefix -o free "$LINES_TFS"
    n=$(tf-tokenize -m "$MODEL" <<<"c c" | tf-cbor json | jq -s 'map(.ids // empty)[0] | length')
    for rule in counted free; do
        hyps $rule | jq -s --argjson n "$n" --arg rule $rule '
            [.[][] | select(.ids | length > 0) |
                (.token_logp | add) as $all | (.token_logp[:$n] | add) as $prefix |
                (if $rule == "free" then $all - $prefix else $all end) as $rest |
                (.logp - $all | fabs) < 1e-4 and
                (.score - $rest / (.token_logp | length) | fabs) < 1e-4] |
            length > 100 and all' | grep -qx true
    done
    # Without a prefix it is nothing.
    cmp <(decode --normalize 1 --free-prefix "$LINES_TFS" | tf-cbor json | jq .ids) \
        <(decode --normalize 1 "$LINES_TFS" | tf-cbor json | jq .ids)
}

@test "--search: the same bytes for every layout, the same text on the reference, --early-stopping" {
    for rule in fairseq ctranslate2 transformers marian; do
        decode --nbest 3 --search $rule --threads 1 -o $rule "$LINES_TFS"
        decode --nbest 3 --search $rule --threads 2 --batch 7 --window 10 "$LINES_TFS" | cmp - $rule
        decode --nbest 3 --search $rule --device ref "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >ref.txt
        tf-tokenize -d -m "$MODEL" $rule | cmp - ref.txt
        cmp <(decode -k 1 --search $rule "$LINES_TFS" | tf-cbor json | jq .ids) \
            <(decode -k 1 "$LINES_TFS" | tf-cbor json | jq .ids)
    done
    decode --nbest 3 --early-stopping "$LINES_TFS" >early
    cmp <(hyps early) <(hyps ctranslate2)
    decode --nbest 3 "$LINES_TFS" >plain
    for rule in ctranslate2 transformers marian; do
        cmp -s <(hyps plain) <(hyps $rule) && { echo "$rule changes nothing" >&2; return 1; }
    done
    decode --nbest 3 --search paper "$LINES_TFS" >paper
    cmp <(hyps plain) <(hyps paper)
    d_t 2 --search paper --early-stopping "$LINES_TFS"
    expect_error "--early-stopping and --search cannot be used together"
}

@test "the rules of outputs: the same bytes for every layout, the same text on the reference" {
    rules=(--min-length 4 --no-repeat-ngram 2 --repetition-penalty 1.2 --max-length 6 --truncate)
    decode "${rules[@]}" --threads 1 "$LINES_TFS" >want
    for b in 1 7 64; do
        decode "${rules[@]}" --threads 2 --batch $b --window 10 "$LINES_TFS" 2>log | cmp - want
    done
    decode "${rules[@]}" --device ref "$LINES_TFS" 2>log | tf-tokenize -d -m "$MODEL" >ref.txt
    tf-tokenize -d -m "$MODEL" want | cmp - ref.txt
    for rule in --min-length --no-repeat-ngram --repetition-penalty; do
        d_t 2 $rule 2 --insert "$LINES_TFS" "$LINES_TFS"
        expect_error "$rule"
    done
}

@test "an ensemble keeps hypotheses whose tokens have probabilities below the range of fp32" {
    natively
    sharp_model sharp.tfm 150
    tac "$LINES_TXT" | tf-tokenize -m "$MODEL" >others
    logp() {
        tf-cbor json "$1" | jq -c 'select(.type == "nbest") | .hyps[].logp'
    }
    t 0 tf-decode -m sharp.tfm --nbest 1 --prefix others -o one "$LINES_TFS"
    t 0 tf-decode -m sharp.tfm -m sharp.tfm --nbest 1 --prefix others -o two "$LINES_TFS"
    tf-decode -m sharp.tfm -m sharp.tfm -m sharp.tfm --nbest 1 --prefix others -o three "$LINES_TFS"
    logp one >want
    [ "$(sort -g want | head -n 1 | cut -d . -f 1)" -lt -300 ]
    for n in two three; do
        paste want <(logp $n) | awk '{ d = $1 - $2; if (d * d > 1e-9 * $1 * $1 + 1e-9) exit 1 }'
    done
    # tf-score adds them up in the same way, below the range of doubles, too.
    sharp_model sharper.tfm 1500
    score=(tf-score -q --text -m sharper.tfm)
    "${score[@]}" "$LINES_TFS" others >score.1
    "${score[@]}" -m sharper.tfm "$LINES_TFS" others >score.2
    [ "$(sort -g score.1 | head -n 1 | cut -d . -f 1)" -lt -3000 ]
    paste score.1 score.2 | awk '{ d = $1 - $2; if (d * d > 1e-9 * $1 * $1 + 1e-9) exit 1 }'
    tf-decode -m sharp.tfm --nbest 4 "$LINES_TFS" -o one
    tf-decode -m sharp.tfm -m sharp.tfm --nbest 4 "$LINES_TFS" -o two
    [ "$(logp one | wc -l)" -eq "$(logp two | wc -l)" ]
}

@test "--forbid: no output has these words, whatever batch, threads and search" {
    printf 'b\n  c   a \n\n' >words
    for way in '--beam 4' '--beam 1' '--sample --nbest 1' '--search fairseq'; do
        decode $way --forbid words "$LINES_TFS" -o out
        tf-tokenize -d -m "$MODEL" out >text
        [ "$(wc -l <text)" -eq "$LINES" ]
        grep -q 'a a' text
        [ "$(grep -cw 'b\|c a' text)" -eq 0 ]
        decode $way --forbid words --threads 1 --batch 1 --window 3 "$LINES_TFS" | cmp - out
    done
    tf-cbor json out | grep -q '"forbid":'
    # A line alone gets what it gets among others.
    sed -n 5p "$LINES_TXT" | tf-tokenize -m "$MODEL" | decode --forbid words --search fairseq |
        tf-tokenize -d -m "$MODEL" | cmp - <(sed -n 5p text)
    # As it is written, where a letter is upper case: the model has lower case only.
    echo B >upper
    decode --forbid upper "$LINES_TFS" | tf-tokenize -d -m "$MODEL" | grep -q b
    # A prefix may have them.
    echo b >words
    d_t 0 --forbid words --prefix "$LINES_TFS" "$LINES_TFS" -o forced
    tf-tokenize -d -m "$MODEL" forced | grep -q b
    printf '\n \n' >none
    d_t 1 --forbid none "$LINES_TFS"
    expect_error "none: no words to forbid"
    printf 'a\n\xff\n' >bad
    d_t 1 --forbid bad "$LINES_TFS"
    expect_error "bad: line 2: not UTF-8"
    head -c 70000 /dev/zero | tr '\0' a >long
    d_t 1 --forbid long "$LINES_TFS"
    expect_error "long: line 1: longer than 65536 bytes"
    d_t 2 --forbid words --insert "$LINES_TFS" "$LINES_TFS"
    # Beside the unknown token, whose text has spaces around it.
    decode --forbid words --allow-unk --sample --nbest 50 --temperature 100 "$LINES_TFS" |
        tf-tokenize -d --nbest -m "$MODEL" | cut -f 4 >text
    grep -q '⁇ a' text
    [ "$(grep -cE '(^| )b( |$)' text)" -eq 0 ]
    # A whole pipe.
    tf-translate -q -m "$MODEL" --max-extra 5 --forbid words "$LINES_TXT" >text
    [ "$(grep -cw b text)" -eq 0 ]
}

@test "--forbid: a word in any case, though its last sigma is a token of its own" {
    printf 'ΟΔΟ Σ ΟΔΟ\nΟΔΟ Σ οδος\n' >text
    tf-tokenize --train --type bpe --vocab-size 17 -o vocab text
    tf-tokenize -m vocab -o text.tfs text
    tf-batch -q --tokens 400 --batches 1 text.tfs text.tfs |
        tf-train -q --vocab vocab --preset tiny --layers 1 --d-model 16 --d-ff 16 --heads 2 \
            --device cpu --steps 1 --save-every 1 -o run
    echo ΟΔΟ | tf-tokenize -m vocab -o prefix
    local model=run/ckpt-00000001.tfm options=(--max-factor 0 --max-extra 2 --prefix prefix prefix)
    drawn() {
        tf-decode -m $model --sample --nbest 500 --temperature 100 "$@" "${options[@]}" |
            tf-tokenize -d --nbest -m vocab | cut -f 4 >drawn
    }
    drawn
    grep -qx ΟΔΟΣ drawn
    for word in οδος οδοσ; do
        echo $word >words
        drawn --forbid words
        [ "$(grep -cx ΟΔΟΣ drawn)" -eq 0 ]
    done
}

@test "--terms: a source cut within a character of bytes has its terms, signs of bytes end no word" {
    printf 'ab ba\nab ba a b\n' >text
    tf-tokenize --train --type bpe --byte-fallback --vocab-size 269 -o vocab text
    tf-tokenize -m vocab -o text.tfs text
    tf-batch -q --tokens 400 --batches 1 text.tfs text.tfs |
        tf-train -q --vocab vocab --preset tiny --layers 1 --d-model 16 --d-ff 16 --heads 2 \
            --device cpu --steps 1 --save-every 1 -o run
    echo 'ab É' | tf-tokenize -m vocab -o source
    printf 'ab\tba\n' | tf-tokenize -m vocab --pieces --phrases 2 -o terms
    for n in 4 3 2; do
        tf-decode -q -m run/ckpt-00000001.tfm --truncate --max-length $n --terms terms source |
            tf-tokenize -d -m vocab | grep -qw ba
    done
    # A sign of bytes is one before any token, as one of a piece is; a letter is not.
    printf 'ab\t€\nba\té\n' | tf-tokenize -m vocab --pieces --phrases 2 -o terms
    printf 'ab\nba\n' | tf-tokenize -m vocab -o source
    printf '€ab\néab\n' | tf-tokenize -m vocab -o prefix
    tf-decode -q -m run/ckpt-00000001.tfm --max-factor 0 --max-extra 0 --prefix prefix \
        --terms terms source | tf-tokenize -d -m vocab | diff <(printf '€ab\néab é\n') -
}

@test "--forbid: a phrase of thousands of tokens" {
    awk 'BEGIN { for (i = 0; i < 2060; i++) print "a" }' | paste -sd ' ' |
        tf-tokenize -m "$MODEL" >a.tfs
    local options=(--max-length 4096 --min-length 2080 --prefix a.tfs a.tfs)
    decode "${options[@]}" | tf-tokenize -d -m "$MODEL" >phrase
    [ "$(wc -w <phrase)" -gt 2060 ]
    decode --forbid phrase "${options[@]}" | tf-tokenize -d -m "$MODEL" >text
    [ "$(wc -w <text)" -gt 2060 ]
    [ "$(grep -cwf phrase text)" -eq 0 ]
}

# has_words FILE: each line of the file "text" has the words of its line in FILE, tab-separated.
has_words() {
    [ "$(wc -l <text)" -eq "$(wc -l <"$1")" ]
    paste -d '|' text "$1" | awk -F '|' '{ n = split($2, want, "\t")
        for (i = 1; i <= n; i++) if (index(" " $1 " ", " " want[i] " ") == 0) { print; bad = 1 } }
        END { exit bad }'
}

@test "--constraints: each output has the phrases of its line, whatever batch, threads and beam" {
    # Phrases of up to three words; the empty input, the seventh, has an empty output.
    awk 'NR == 7 { print ""; next } NR % 3 == 0 { print "c c b"; next } NR % 3 == 1 { print ""; next }
        { print "b a\tc" }' "$LINES_TXT" >words
    tf-tokenize -m "$MODEL" --pieces --phrases 1 words >phrases
    grep -q '^▁b ▁a	▁c$' phrases
    for k in 1 2 4 9; do
        decode --beam $k --constraints phrases "$LINES_TFS" -o out
        tf-tokenize -d -m "$MODEL" out >text
        has_words words
        decode --beam $k --constraints phrases --threads 1 --batch 1 --window 4 "$LINES_TFS" |
            cmp - out
        # A line without phrases is searched as ever.
        decode --beam $k "$LINES_TFS" | tf-tokenize -d -m "$MODEL" | awk 'NR % 3 == 1' >plain
        awk 'NR % 3 == 1' text | cmp - plain
    done
    tf-cbor json out | grep -q '"constraints":'
    # The limit makes room for them.
    decode --max-extra 0 --max-factor 0 --constraints phrases "$LINES_TFS" |
        tf-tokenize -d -m "$MODEL" >text
    has_words words
    # As the best one of all lists.
    decode --nbest 4 --constraints phrases "$LINES_TFS" | tf-tokenize -d --nbest -m "$MODEL" |
        awk -F '\t' '$2 == 1 { print $4 }' >best
    decode --constraints phrases "$LINES_TFS" | tf-tokenize -d -m "$MODEL" | cmp - best
    # After a prefix, and with words that must not come.
    printf 'a\n%.0s' {1..59} | tf-tokenize -m "$MODEL" >prefix
    decode --prefix prefix --constraints phrases "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >text
    has_words words
    grep -v '^$' text >lines
    [ "$(grep -cv '^a' lines)" -eq 0 ]
    printf 'a a\n' >never
    decode --forbid never --constraints phrases "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >text
    has_words words
    [ "$(grep -cw 'a a' text)" -eq 0 ]
}

@test "--constraints: bad files are named" {
    printf '▁a\n▁a x\n' >piece
    d_t 1 --constraints piece "$LINES_TFS"
    expect_contains "$stderr" "piece: line 2: 'x' is no piece of the vocabulary"
    printf '\n</s>\n' >end
    d_t 1 --constraints end "$LINES_TFS"
    expect_error "end: line 2: no output has the piece '</s>'"
    printf '▁a\n' >few
    d_t 1 --constraints few "$LINES_TFS"
    expect_contains "$stderr" "few: 1 lines, fewer than the records of"
    : >none
    d_t 1 --constraints none "$LINES_TFS"
    expect_contains "$stderr" "none: 0 lines, fewer than the records of"
    printf '\n%.0s' {1..60} >many
    d_t 1 --constraints many "$LINES_TFS" -o out
    expect_contains "$stderr" "many: 60 lines for 59 records"
    decode --constraints many "$LINES_TFS" >torn 2>log || t 1 tf-tokenize -d -m "$MODEL" torn
    expect_contains "$stderr" "upstream failed: many: 60 lines for 59 records"
    printf '\xff\n' >bytes
    d_t 1 --constraints bytes "$LINES_TFS"
    expect_error "bytes: line 1: not UTF-8"
    for i in {1..1025}; do printf '▁a '; done >long
    d_t 1 --constraints long "$LINES_TFS"
    expect_error "long: line 1: phrases of 1025 pieces, at most 1024"
    d_t 2 --constraints many --sample "$LINES_TFS"
    d_t 2 --constraints many --search fairseq "$LINES_TFS"
}

@test "--terms: outputs have a target of each term of their source, and others are as ever" {
    printf 'b c\tc c c\ta b a\n A \tb b b b\n\nc\ta a a a\n' >words
    tf-tokenize -m "$MODEL" --pieces --phrases 2 words >terms
    grep -q '^b c	▁c ▁c ▁c	▁a ▁b ▁a$' terms
    decode --terms terms "$LINES_TFS" -o out
    tf-tokenize -d -m "$MODEL" out >text
    decode "$LINES_TFS" | tf-tokenize -d -m "$MODEL" | paste -d '|' "$LINES_TXT" text - |
        awk -F '|' '{ s = " " $1 " "; gsub(/ /, "  ", s); two = index(s, " b  c ")
            gsub(/ b  c /, "  ", s)
            one = index(s, " c ")
            if (two && $2 !~ /c c c|a b a/) { print "b c: " $0; bad = 1 }
            if (one && $2 !~ /a a a a/) { print "c: " $0; bad = 1 }
            if (!two && !one && $2 != $3) { print "none: " $0; bad = 1 }
            seen += two > 0; alone += !two && !one }
            END { exit bad || seen < 10 || alone < 3 }'
    decode --terms terms --threads 1 --batch 1 "$LINES_TFS" | cmp - out
    # Inputs with terms have a larger beam than others, unless one is given.
    for k in 4 20; do decode -k $k --terms terms "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >at$k; done
    paste -d '|' "$LINES_TXT" text at4 at20 |
        awk -F '|' '{ c = (" " $1 " ") ~ / c /; if ($2 != (c ? $4 : $3)) { print; bad = 1 }
            differ += c && $3 != $4 } END { exit bad || !differ }'
    # They have no length penalty, unless one is given.
    for a in 0 3; do
        decode -k 20 -a $a --terms terms "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >penalty$a
    done
    paste -d '|' "$LINES_TXT" text penalty0 penalty3 |
        awk -F '|' '(" " $1 " ") ~ / c / { bad += $2 != $3; differ += $2 != $4 }
            END { exit bad || !differ }'
    beams() { tf-cbor json "$@" | jq -c 'select(.type == "header") |
        .header.made[-1] | [.opts.beam, ."terms-beam", ."terms-alpha"]'; }
    [ "$(beams out)" = '[4,20,0]' ]
    [ "$(decode -k 20 --alpha 0.6 --terms terms "$LINES_TFS" | beams)" = '[20,null,null]' ]
    [ "$(decode "$LINES_TFS" | beams)" = '[4,null,null]' ]
    # As another program wrote it: lines end with CR LF after a mark, and gzip has packed them.
    sed '1s/^/\xef\xbb\xbf/; s/$/\r/' terms | gzip >packed
    decode --terms packed "$LINES_TFS" | tf-tokenize -d -m "$MODEL" | cmp - text
    # Its sources are normalised, as inputs are: these are fullwidth. The first of two counts.
    sed 's/^c/ｃ/; $a c\t▁b ▁b ▁b' terms | sed 's/^b c/ｂ ｃ/' >fullwidth
    decode --terms fullwidth "$LINES_TFS" | tf-tokenize -d -m "$MODEL" | cmp - text
    iconv -t UTF-16 <terms >wide
    d_t 1 --terms wide "$LINES_TFS"
    expect_contains "$stderr" "wide: UTF-16, not UTF-8 text"
    tf-cbor json out | grep -q '"terms":'
    printf 'a\t▁a\nb\t▁b\na\t▁c\n' >twice
    d_t 1 --terms twice "$LINES_TFS"
    expect_contains "$stderr" "twice: line 3: line 1 has this source term, too"
    printf 'a\t▁a\nb\t\n' >bare
    d_t 1 --terms bare "$LINES_TFS"
    expect_error "bare: line 2: no source term, a tab and its target"
    echo >none
    d_t 1 --terms none "$LINES_TFS"
    expect_error "none: no terms"
}

@test "the text of a bad record passes through whole, and messages cut it between characters" {
    text=$(printf 'é%.0s' {1..400})
    printf '%s\n' '{"type":"header","header":{"v":1,"kind":"tokens"}}' \
        "{\"type\":\"bad\",\"idx\":0,\"code\":15,\"text\":\"x$text\"}" '{"type":"end"}' |
        tf-cbor unjson >bad.tfs
    d_t 4 --force-vocab bad.tfs -o out
    [ "$(tf-cbor json out | jq -r 'select(.type == "bad").text')" = "x$text" ]
    [[ $stderr == *éé* && $stderr != *\\x* && $stderr != *�* ]]
    iconv -f utf-8 -t utf-8 <<<"$stderr" >/dev/null
}

@test "forced prefixes" {
    sed 's/.*/c c/' "$LINES_TXT" | tf-tokenize -m "$MODEL" >prefix.tfs
    decode --prefix prefix.tfs "$LINES_TFS" >out
    [ "$(tf-tokenize -d -m "$MODEL" out | grep -vc '^c c')" -eq "$(grep -c '^$' "$LINES_TXT")" ]
    # Outputs may have the piece even where their limit would be 0.
    printf 'c\n%.0s' {1..64} | tf-tokenize -m "$MODEL" >ones.tfs
    decode --begin ▁b --max-extra 0 --max-factor 0.3 ones.tfs >out
    [ "$(tf-tokenize -d -m "$MODEL" out | sort | uniq -c | xargs)" = "64 b" ]
    for piece in '<s>' '</s>' '<pad>'; do
        t 2 tf-decode -q --begin "$piece" -m "$MODEL" "$LINES_TFS"
        expect_error "--begin $piece: never part of a text"
    done
}

# Write a token stream as JSON Lines with these ids, one argument per line: ids 5,6 7
ids() {
    local idx=0 line
    echo '{"type":"header","header":{"v":1,"kind":"tokens"}}'
    for line; do
        echo "{\"type\":\"tokens\",\"idx\":$((idx++)),\"ids\":[$line]}"
    done
    echo '{"type":"end"}'
}

# Print "type code" of each record of a stream.
types() {
    tf-cbor json "$1" | jq -r \
        'select(.type != "header" and .type != "end") | "\(.type) \(.code // "-")"' | xargs
}

@test "ids that only the model adds make a bad record on either side, in every tool" {
    read -r pad eos < <(tf-cbor json "$LINES_TFS" | jq -r \
        'select(.type == "header") | .header.special | "\(.pad) \(.eos)"')
    ids 5,6 "5,$eos" "$pad,5" 6,5 '' | tf-cbor unjson >odd
    ids 5,6 5,6 5,6 5,6 5,6 | tf-cbor unjson >good
    d_t 4 odd -o out
    expect_bad "odd: 2 of 5 records bad; the first is record 1: other: source with id $eos, which is the end of a sentence"
    [ "$(types out)" = "tokens - bad 15 bad 15 tokens - tokens -" ]
    d_t 4 --prefix odd good -o out
    expect_bad "the first is record 1: other: prefix with id $eos, which is the end of a sentence"
    t 4 tf-score -q -m "$MODEL" good odd -o out
    expect_bad "the first is record 1: other: target with id $eos, which is the end of a sentence"
    [ "$(types out)" = "score - bad 15 bad 15 score - score -" ]
    t 4 tf-attn -m "$MODEL" odd -o out
    [ "$(types out)" = "attention - bad 15 bad 15 attention - attention -" ]
    ids "5,$pad" | tf-cbor unjson >padded
    d_t 4 padded -o out
    expect_bad "source with id $pad, which is padding"
}

@test "an output that is also an input is refused" {
    cp "$MODEL" model
    cp "$LINES_TFS" lines
    for c in 'tf-decode -m model -o model lines' 'tf-decode -m model --prefix lines -o lines' \
        'tf-decode -m model -o lines lines' \
        'tf-score -m model -o model lines lines' 'tf-score -m model -o lines in lines' \
            'tf-attn -m model -o model lines' 'tf-attn -m model -o lines lines'; do
        # shellcheck disable=SC2086
        t 2 $c
        expect_contains "$stderr" ": is both input and output"
    done
    cmp model "$MODEL"
    cmp lines "$LINES_TFS"
}

@test "provenance names the pipeline, without threads, batches and paths" {
    decode --beam 3 --threads 2 --batch 5 "$LINES_TFS" >out
    tf-info --json out >info
    expect_contains "$(cat info)" tf-decode
    expect_contains "$(cat info)" '"beam":3'
    [[ $(cat info) != *threads* ]]
    [[ $(cat info) != *window* ]]
}

# Print the stages in the header of a stream.
made() {
    tf-cbor json "$@" | jq -c \
        'select(.type == "header") | [.header.made[] | .prog + " " + (.prefix // "-" | tostring)]'
}

@test "provenance names the pipelines of both inputs, what they share once, and marks prefixes" {
    decode "$LINES_TFS" >plain
    [ "$(made plain)" = '["tf-tokenize -","tf-decode -"]' ]
    decode --prefix "$LINES_TFS" "$LINES_TFS" >out
    [ "$(made out)" = '["tf-tokenize -","tf-decode true"]' ]
    decode --prefix plain "$LINES_TFS" >out
    [ "$(made out)" = '["tf-tokenize -","tf-decode -","tf-decode true"]' ]
    tf-score -q -m "$MODEL" "$LINES_TFS" plain >out
    [ "$(made out)" = '["tf-tokenize -","tf-decode -","tf-score -"]' ]
    tf-attn -m "$MODEL" "$LINES_TFS" plain >out
    [ "$(made out)" = '["tf-tokenize -","tf-decode -","tf-attn -"]' ]
    tf-score -q -m "$MODEL" "$LINES_TFS" "$LINES_TFS" >out
    [ "$(made out)" = '["tf-tokenize -","tf-score -"]' ]
}

@test "with a progress line, a note says why the GPU is not used" {
    mkdir broken
    : >broken/tf-backend-cuda.so
    TF_BACKEND_DIR=broken t 0 tf-decode --progress -m "$MODEL" -o out.tfs "$LINES_TFS"
    expect_contains "$stderr" "tf-decode: on the CPU: broken/tf-backend-cuda.so: "
    for quiet in '' '-q --progress'; do
        # shellcheck disable=SC2086
        TF_BACKEND_DIR=broken t 0 tf-decode $quiet -m "$MODEL" -o out.tfs "$LINES_TFS"
        [ -z "$stderr" ]
    done
    TF_BACKEND_DIR=broken t 0 tf-score --progress -m "$MODEL" -o out.tfs "$LINES_TFS" "$LINES_TFS"
    expect_contains "$stderr" "tf-score: on the CPU: broken/tf-backend-cuda.so: "
}

@test "a plugin without NVIDIA's driver: tf-train notes it, tf-decode does not" {
    "$TF_PYTHON" -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' 2>/dev/null && skip "there is a driver"
    [ -z "${TF_EMULATOR:-}" ] || skip "a copy of a program in QEMU"
    mkdir bin
    echo 'not a plugin' >bin/tf-backend-cuda.so
    cp "$TF_BUILD"/bin/tf-{decode,train} bin/
    t 0 bin/tf-decode --progress -m "$MODEL" -o out.tfs "$LINES_TFS"
    [[ $stderr != *"on the CPU"* ]]
    batches n=1 >b.tfs
    t 0 bin/tf-train --preset tiny --layers 1 --steps 1 -o run b.tfs
    [ "$(grep -c 'on the CPU: cuda: no NVIDIA driver' <<<"$stderr")" -eq 1 ]
}

@test "a later part with another vocabulary: earlier parts are written, and the output is marked as failed" {
    printf 'a b\n' >in
    printf 'one two three\nfour five six\n' >other
    tf-tokenize --train --vocab-size 20 --type bpe -o other.model other 2>/dev/null
    { tf-tokenize -m "$MODEL" in; tf-tokenize -m other.model in; } >both.tfs
    for tool in "tf-decode -m $MODEL" "tf-attn -m $MODEL"; do
        sh_t 1 "$tool both.tfs >out.tfs"
        expect_contains "$stderr" "vocabulary"
        t 1 tf-cbor check out.tfs
        expect_contains "$stderr" "upstream failed"
    done
}

@test "--allow-unk: the unknown token is among the outputs of a wide beam, else in none" {
    unknown() {
        head -n 3 "$LINES_TXT" | tf-tokenize -m "$MODEL" | decode --beam 12 --nbest 12 "$@" |
            tf-cbor json | jq -s '[.[] | .. | .ids? // empty | select(index(1))] | length'
    }
    need jq
    [ "$(unknown)" -eq 0 ]
    [ "$(unknown --allow-unk)" -gt 0 ]
}

@test "a wide beam over a large vocabulary: the logits count in the memory of a group" {
    [ -z "${TF_SAN:-}${TF_EMULATOR:-}" ] || skip "they need memory themselves"
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=1 v=30000 >b.tfs
    "$TF_PYTHON" "$TOP/tests/bench/random_tokens.py" 30000 16 6 >s.tfs
    tf-train --device cpu --preset tiny --layers 1 --heads 2 --d-model 16 --d-ff 16 --steps 1 -q \
        -o run b.tfs
    t 0 "$TF_PYTHON" -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' tf-decode --device cpu --threads 1 \
        --force-vocab -k 200 --max-extra 2 -m run/ckpt-00000001.tfm -o out.tfs s.tfs
    [ "$output" -lt 200000 ] # kB; of all 16 sentences at once they would be 384 MB
}

@test "TF_CPU_ISA=list says which kernels run here" {
    echo >nothing
    export TF_CPU_ISA=list
    tf-decode --device cpu -m "$MODEL" nothing 2>said && return 1
    grep -q 'the best here; ' said
    grep -q 'generic: runs' said
    grep -q '; openblas: ' said
    [ "$(wc -l <said)" = 1 ]
}
