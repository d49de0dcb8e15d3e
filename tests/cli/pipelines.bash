# Texts, treebanks and results, for the tests pipelines*.bats.
# shellcheck shell=bash

prepare() {
    export TF_TIMEOUT=600
    # What make prints is looked at, and the directory has a random name.
    export GNUMAKEFLAGS=--no-print-directory V=1
}

# real_text NAME DIR: when a folder shared/data lies beside the tree, the first lines of each of
# its files; else false.
real_text() {
    local from=$TOP/../shared/data/$1 f n
    [ -d "$from" ] || return 1
    mkdir "$2"
    for f in "$from"/*.gz; do
        [[ $f == */train.* ]] && n=300 || n=40
        gzip -dc "$f" | sed -n "1,${n}p" | gzip >"$2/${f##*/}"
    done
}

# Numbers from the demo's generator.
numbers() {
    awk -f "$TOP/examples/demo/numbers" -v n="$1" -v seed=5 | cut -f "$2"
}

# corpus DIR TRAIN DEV TEST: gzipped files of those stems in en and de
corpus() {
    mkdir -p "$1"
    local n=0 stem
    for stem in "$2" "$3" "$4"; do
        local size=40
        [ "$stem" = "$2" ] && size=300
        numbers 380 1 | sed -n "$((n + 1)),$((n + size))p" | gzip >"$1/$stem.en.gz"
        numbers 380 2 | sed -n "$((n + 1)),$((n + size))p" | gzip >"$1/$stem.de.gz"
        n=$((n + size))
    done
}

check_results() {
    for f in score.json perplexity.json curve.svg model.tfm; do
        [ -s "$1/$f" ]
    done
    [ "$(wc -l <"$1/test.out")" -eq "$(wc -l <"$1/test.${2:-de}")" ]
    grep -q . "$1/test.out"
    grep -q '"score"' "$1/score.json"
    t 0 tf-cbor check "$1/model.tfm"
}

# treebank TREES SEED: sentences of a small grammar, with a trace, a function tag and no root label,
# as treebanks are distributed.
treebank() {
    "$TF_PYTHON" - "$1" "$2" <<'PY'
import random, sys
r = random.Random(int(sys.argv[2]))
words = dict(DT=["the", "a"], NN="dog cat man house tree bird".split(), JJ="old big red".split(), VBZ="sees likes finds".split(), IN="in near under".split())
leaf = lambda tag: f"({tag} {r.choice(words[tag])})"
def np(depth):
    if depth and r.random() < 0.4:
        return f"(NP {np(0)} (PP {leaf('IN')} {np(depth - 1)}))"
    return f"(NP {leaf('DT')} {leaf('JJ') + ' ' if r.random() < 0.4 else ''}{leaf('NN')})"
for _ in range(int(sys.argv[1])):
    print(f"( (S (NP-SBJ {np(2)})\n     (VP {leaf('VBZ')} {np(2)} (NP (-NONE- *T*-1))) (. .)) )")
PY
}
