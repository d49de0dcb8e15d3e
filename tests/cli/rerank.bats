#!/usr/bin/env bats
# tf-rerank: choices equal to those of a naive program, its forms of input, and its messages.
load helper
load translate

setup_file() {
    make_model
}

# 500 random lists as columns and as JSON, among them empty and equal texts, and all pairs of each
# list for tf-bleu.
random_lists() {
    "$TF_PYTHON" - <<'PY'
import json, random
random.seed(5)
words = "a dog der Hund läuft , . the-cat 12,5 U.S. 'x' (no) 東京 😀 x y zz ein é ... !".split()
files = {n: open(n, "w") for n in ("lists.tsv", "lists.json", "hyp", "ref")}
for i in range(500):
    base = random.choices(words, k=random.choice([0, 1, 2, 3, 5, 9, 14]))
    list = []
    for _ in range(random.choice([1, 2, 3, 5])):
        text = base[:]
        for _ in range(random.randrange(4)):
            at = random.randrange(len(text) + 1)
            text[at:at + random.randrange(2)] = random.choices(words, k=random.randrange(2))
        list.append((f"{-3 * random.random():.6f}", " ".join(text)))
    for k, (score, text) in enumerate(list):
        print(i, k + 1, score, text, sep="\t", file=files["lists.tsv"])
        for _, other in list:
            print(text, file=files["hyp"])
            print(other, file=files["ref"])
    all = [{"status": "ok", "score": float(s), "text": t} for s, t in list]
    if len(all) > 1:
        all[0]["alternatives"] = all[1:]
    print(json.dumps({"line": i + 1} | all[0], ensure_ascii=i % 2 == 0), file=files["lists.json"])
PY
}

# naive SCALE LENGTH <SCORES OF PAIRS: whole lists by expected utility.
naive() {
    "$TF_PYTHON" - "$@" <<'PY'
import itertools, math, sys
scale, length = map(float, sys.argv[1:])
pairs = (float(line) for line in open("scores"))
rows = [line.rstrip("\n").split("\t") for line in open("lists.tsv")]
for idx, list in itertools.groupby(rows, key=lambda r: r[0]):
    list = [(float(s) + length * len(t.split()), t) for _, _, s, t in list]
    w = [math.exp(scale * total) for total, _ in list]
    u = [sum(x / sum(w) * next(pairs) for x in w) for _ in list]
    for rank, k in enumerate(sorted(range(len(u)), key=lambda k: -u[k])):
        print(idx, rank + 1, f"{u[k]:.6f}", list[k][1], sep="\t")
PY
}

# Are two files of lists equal, but for the order of hypotheses whose scores differ by rounding?
alike() {
    "$TF_PYTHON" - "$@" <<'PY'
import sys
a, b = ([line.rstrip("\n").split("\t") for line in open(n)] for n in sys.argv[1:])
assert len(a) == len(b) > 1000
values = {(r[0], r[3]): float(r[2]) for r in b}
for x, y in zip(a, b):
    assert x[:2] == y[:2] and abs(float(x[2]) - float(y[2])) < 2e-6, (x, y)
    assert abs(values[x[0], x[3]] - float(x[2])) < 2e-6, (x, y)
PY
}

@test "minimum Bayes risk: the choices of a naive program with the sentence scores of tf-bleu" {
    natively
    local name options
    random_lists
    while read -r name options; do
        # shellcheck disable=SC2086
        t 0 tf-bleu ref -sl -b -w 12 $options -i hyp
        printf '%s\n' "$output" >scores
        [ "$(wc -l <scores)" -eq "$(wc -l <hyp)" ]
        naive 0 0 >want
        t 0 tf-rerank --mbr "$name" --nbest lists.tsv -o got
        alike got want
        naive 2.5 0.25 >want
        t 0 tf-rerank --mbr "$name" --scale 2.5 --length 0.25 --nbest lists.tsv -o got
        alike got want
    done <<'X'
bleu -m bleu
chrf -m chrf
chrf++ -m chrf -cw 2
X
    # The text that is first, from both forms.
    awk -F '\t' '$2 == 1 { print $4 }' got >want
    tf-rerank --mbr chrf++ --scale 2.5 --length 0.25 lists.tsv | cmp - want
    tf-rerank --mbr chrf++ --scale 2.5 --length 0.25 lists.json | cmp - want
    # The members of an object have no order.
    jq -cS . lists.json | tf-rerank --mbr chrf++ --scale 2.5 --length 0.25 | cmp - want
    tf-bleu -sl -b -w 12 -tok char ref -i hyp >scores
    naive 0 0 >want
    tf-rerank --mbr bleu --tokenize char --nbest lists.tsv >got
    alike got want
}

@test "totals of weighted scores and words" {
    printf '0\t1\t-1\ta\t-9\t-2\n0\t2\t-2\ta b c\t-1\t-2\n7\t1\t-3\t\t0\tx\n' >in
    t 0 tf-rerank in
    expect_output a
    t 0 tf-rerank --weights 0.5,0.5 --nbest in
    expect_output $'0\t1\t-1.500000\ta b c\n0\t2\t-5.000000\ta\n7\t1\t-1.500000\t'
    t 0 tf-rerank -l 1 --nbest in
    expect_output $'0\t1\t1.000000\ta b c\n0\t2\t0.000000\ta\n7\t1\t-3.000000\t'
    t 0 tf-rerank -w -1 -l -3 in # ties: the first
    expect_output a
    t 1 tf-rerank --weights 1,1,1 in
    expect_error "in: line 3: --weights has more weights than there are scores"
    printf '0\t1\t1e308\ta\n0\t2\t-1e308\tb\n' >far
    t 0 tf-rerank --mbr chrf --nbest far
    expect_output $'0\t1\t50.000000\ta\n0\t2\t50.000000\tb'
    # Its own output is a list.
    tf-rerank --weights 0.5,0.5 --nbest in | tf-rerank --nbest >out
    tf-rerank --weights 0.5,0.5 --nbest in | cmp - out
}

@test "from tf-decode, tf-score and tf-translate: a line for a line" {
    natively
    cp "$LINES_TFS" in.tfs
    tf-decode -k 6 -n 6 -m "$MODEL" in.tfs >best.tfs
    tf-tokenize -d --nbest -m "$MODEL" best.tfs >best.tsv
    tf-tokenize -d -m "$MODEL" best.tfs >first
    tf-rerank best.tsv | cmp - first
    tf-score -q --text -m "$MODEL" in.tfs best.tfs | paste best.tsv - | tf-rerank -w 0,1 >by-logp
    tf-decode -k 6 -n 6 -a 0 -m "$MODEL" in.tfs >plain.tfs
    [ "$(wc -l <by-logp)" -eq "$LINES" ]
    tf-translate -q --json -k 6 -n 6 -m "$MODEL" "$LINES_TXT" | tf-rerank --mbr chrf >a
    tf-rerank --mbr chrf best.tsv | cmp - a
    tf-decode -q --sample -n 9 -m "$MODEL" in.tfs | tf-tokenize -d --nbest -m "$MODEL" >samples
    tf-rerank --mbr chrf samples >b
    # Of samples of a model that copies, the middle one is its input mostly.
    [ "$(paste -d = b "$LINES_TXT" | awk -F = '$1 == $2' | wc -l)" -gt 30 ]
    [ "$(wc -l <b)" -eq "$LINES" ]
}

@test "lists without a hypothesis are empty lines" {
    printf 'a b\n\xff\nc\n' | tf-tokenize --bad ok -m "$MODEL" |
        tf-decode --bad ok -q -n 2 -m "$MODEL" | tf-tokenize -d --bad ok --nbest -m "$MODEL" >in
    t 4 tf-rerank in
    expect_bad "in: 1 of 3 lists bad; the first is list 2: no hypothesis"
    [ "$(sed -n 2p <<<"$output")" = "" ]
    [ "${#lines[@]}" -eq 2 ]
    t 1 tf-rerank --bad fail in
    expect_error "in: list 2: no hypothesis"
    t 0 tf-rerank --bad ok --nbest in
    expect_contains "$output" $'\n1\t0\t\t\n'
    sh_t 4 'printf "a\n\xff\n" | tf-translate --json --bad ok -m "$MODEL" | tf-rerank'
    expect_bad "stdin: 1 of 2 lists bad; the first is list 2: invalid UTF-8"
    printf '0\t1\t-1\ta\t-1\n0\t2\t-1\tb\t\n1\t1\t-1\tc\t-1\n' >in
    t 4 tf-rerank -w 1,1 in
    expect_bad "the first is list 1: a hypothesis without a score"
    expect_output $'\nc'
}

@test "what is no list" {
    while IFS='|' read -r line why; do
        printf -- "$line\n" >in
        t 1 tf-rerank in
        expect_contains "$stderr" "$why"
        [ "${#stderr_lines[@]}" -eq 1 ]
    done <<'X'
a b c|in: line 1: no number of an input
0\tb|in: line 1: no rank
0\t1\tx\tt|in: line 1: no score
0\t1\t-1|in: line 1: no text
0\t1\t1e999\tt|in: line 1: no score
-1\t1\t-1\tt|in: line 1: no number of an input
{"line":1|in: line 1: json: byte
{"line":1,"text":7}|in: line 1: text or score: of another type
{"text":"a","score":1,"alternatives":[{"text":"b"}]}|in: line 1: no score
{"text":"a","alternatives":[{"text":"b","score":1}]}|in: line 1: no score
{"text":"a","score":1,"alternatives":3}|in: line 1: alternatives: no array
{"text":"a"} x|in: line 1: json: byte
1\t1\t-2\ta\n{"text":"b","score":-1}|in: line 2: columns and JSON in one input
{"text":"b","score":-1}\n0\t1\t-2\ta|in: line 2: columns and JSON in one input
X
    echo '{"line":1' >json
    t 1 tf-rerank json
    expect_error "json: line 1: json: byte 10: the text ends within a value"
    t 1 tf-rerank --weights 1,2 <(echo '{"text":"a"}')
    expect_contains "$stderr" "JSON has one score, --weights has 2"
    t 2 tf-rerank --mbr rouge in
    expect_error "--mbr rouge: not one of chrf, chrf++, bleu"
    t 2 tf-rerank --weights 1,x in
    expect_error "--weights: 'x': not a number"
    t 2 tf-rerank --weights '' in
    expect_error "--weights: '': not a number"
    awk 'BEGIN { for (i = 0; i < 300000; i++) printf "a%d ", i }' >long
    { printf '0\t1\t-1\t'; cat long; } >in
    t 1 tf-rerank --mbr chrf in
    expect_error "in: list 1: a list of 2288890 bytes of text, maximum 2097152"
    printf '\n1\t1\t-1\ta\n' >>in
    t 1 tf-rerank --mbr chrf in
    expect_error "in: list 1: a list of 2288890 bytes of text, maximum 2097152"
    t 0 tf-rerank in
    awk -v OFS='\t' 'BEGIN { for (i = 0; i < 65537; i++) print 0, i + 1, -1, "a" }' >in
    t 1 tf-rerank in
    expect_error "in: line 65537: a list of more than 65536 hypotheses"
}
