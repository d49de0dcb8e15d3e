#!/usr/bin/env bats
# The Makefiles of pipelines/ and the demo, run small: every stage for real, the scores mean nothing.
bats_require_minimum_version 1.5.0
load helper

# Real text when a folder shared/data lies beside the tree, else numbers from the demo's generator in the same files.
prepare() {
    SHARED=$TOP/../shared/data
    export TF_TIMEOUT=600
}

numbers() {
    awk -f "$TOP/examples/demo/numbers" -v n="$1" -v seed=5 | cut -f "$2"
}

# corpus DIR TRAIN DEV TEST: gzipped files of those stems in en and de
corpus() {
    mkdir -p "$1"
    local n=0 stem
    for stem in "$2" "$3" "$4"; do
        local size=100
        [ "$stem" = "$2" ] && size=600
        numbers 800 1 | sed -n "$((n + 1)),$((n + size))p" | gzip >"$1/$stem.en.gz"
        numbers 800 2 | sed -n "$((n + 1)),$((n + size))p" | gzip >"$1/$stem.de.gz"
        n=$((n + size))
    done
}

check_results() {
    for f in score.json perplexity.json curve.svg model.tfm; do
        [ -s "$1/$f" ]
    done
    [ "$(wc -l <"$1/test.out")" -eq "$(wc -l <"$1/test.${2:-de}")" ]
    grep -q '"score"' "$1/score.json"
    t 0 tf-cbor check "$1/model.tfm"
}

@test "multi30k.mk small" {
    data=$SHARED/multi30k
    if [ ! -d "$data" ]; then
        data=$T/data
        corpus "$data" train val test_2016_flickr
    fi
    t 0 make -f "$TOP/pipelines/multi30k.mk" small DATA="$data" WORK=w SHELL=/bin/bash
    check_results w-small
    # A second run finds everything done.
    t 0 make -f "$TOP/pipelines/multi30k.mk" small DATA="$data" WORK=w
    [[ $output != *tf-train* ]]
    # And pictures of where it looks, of which nothing is made again.
    t 0 make -f "$TOP/pipelines/multi30k.mk" attention DATA="$data" WORK=w-small LAYER=1 SENTENCE=2 -o w-small/trained -o w-small/model.tfm -o w-small/test.out
    [[ $output != *tf-train* ]]
    grep -q 'encoder attention, layer 1' w-small/sentence-2.encoder-1.svg
    grep -q 'cross attention, layer 1' w-small/sentence-2.cross-1.svg
}

@test "text.mk small: files plain and gzipped; what is missing or does not pair is named" {
    corpus data a dev test
    corpus data b dev test
    gzip -d data/b.en.gz data/dev.de.gz
    args=(-f "$TOP/pipelines/text.mk" small DEV=data/dev TEST=data/test WORK=w)
    t 0 make "${args[@]}" TRAIN='data/a data/b'
    check_results w-small
    [ "$(wc -l <w-small/train.en)" -eq 1200 ]
    cmp w-small/train.de <(gzip -dc data/a.de.gz data/b.de.gz)
    t 2 make "${args[@]}" WORK=x
    expect_contains "$stderr" "TRAIN= is needed"
    t 2 make "${args[@]}" WORK=x TRAIN=data/c
    expect_contains "$stderr" "data/c.en"
    sed -i 1d data/b.en
    t 2 make "${args[@]}" WORK=x TRAIN=data/b
    expect_contains "$stderr" "train: 599 lines of en, 600 of de"
}

@test "debian.mk small, from a corpus made before" {
    data=$SHARED/ddtp
    if [ ! -d "$data" ]; then
        data=$T/data
        corpus "$data" train.en-de dev.en-de test.en-de
    fi
    t 0 make -f "$TOP/pipelines/debian.mk" small DATA="$data" WORK=w
    check_results w-small
}

@test "table3.mk small: a line for every row that is asked for" {
    corpus data train dev test
    args=(-f "$TOP/pipelines/table3.mk" small TRAIN=data/train DEV=data/dev WORK=w)
    t 0 make -s "${args[@]}" ROWS='base A-h1 E big'
    [ "$(awk 'NR > 1 { print $1 }' w-small/table.txt | xargs)" = "base A-h1 E big" ]
    # Perplexity and BLEU of the development set, the parameters, and the paper's.
    grep -Eq '^E +[0-9]+\.[0-9]{2} +[0-9.]+ +[0-9]+\.[0-9]{2}   4\.92 25\.7 -$' w-small/table.txt
    [ "$(tf-info w-small/E/model.tfm | sed -n 's/^  positions *//p')" = learned ]
    [ "$(tf-info w-small/A-h1/model.tfm | sed -n 's/^  heads *//p')" = 1 ]
    cmp w-small/E/test.de <(gzip -dc data/dev.de.gz)
    # One row more trains only that, from the same vocabulary.
    t 0 make -s "${args[@]}" ROWS='base A-h1 E big D-p0.2'
    [ "$(wc -l <w-small/table.txt)" -eq 6 ]
    [ "$(grep -c 'pairs in' <<<"$stderr")" -eq 1 ]
    [ "$(tf-info w-small/D-p0.2/model.tfm | sed -n 's/^  dropout *//p')" = 0.2 ]
}

# treebank TREES SEED: sentences of a small grammar, with a trace, a function tag and no root label, as treebanks are distributed.
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

@test "parsing.mk small: treebanks as they are distributed, to trees over the same words and their score" {
    treebank 300 1 >a.mrg
    treebank 300 2 | gzip >b.mrg.gz
    treebank 60 3 >dev.mrg
    treebank 60 4 >test.mrg
    args=(-f "$TOP/pipelines/parsing.mk" DEV=dev.mrg TEST=test.mrg WORK=w VOCAB_SIZE=60)
    t 0 make "${args[@]}" small TRAIN='a.mrg b.mrg.gz'
    [ "$(wc -l <w-small/train.trees)" -eq 600 ]
    run ! grep -e -NONE- -e SBJ w-small/train.trees
    # Whatever the model wrote, the trees stand over the words of the test set, and all of them are counted.
    tf-tree -l -w words -o tags w-small/test.parsed
    cmp words w-small/test.words
    [ "$(jq '.rows | length' w-small/f1.json)" -eq 60 ]
    grep -q '<svg' w-small/curve.svg
    t 0 make "${args[@]}" small TRAIN='a.mrg b.mrg.gz'
    [[ $output != *tf-train* ]]
    expect_contains "$output" "Number of sentence        =     60"
    # The gold trees for what was parsed: the score is 100.
    cp w-small/test.tags w-small/test.out
    t 0 make "${args[@]}" small TRAIN='a.mrg b.mrg.gz' -o w-small/model.tfm
    expect_contains "$output" "Bracketing FMeasure       = 100.00"
    t 2 make "${args[@]}"
    expect_contains "$stderr" "TRAIN= is needed"
}

@test "wmt14-ende.mk small, on a text of one's own" {
    numbers 800 1 >mine.en
    numbers 800 2 >mine.de
    t 0 make -f "$TOP/pipelines/wmt14-ende.mk" small SMALL=mine WORK=w
    check_results w-small
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" small WORK=w
}

@test "debian-pairs joins, aligns and cleans descriptions" {
    cat >Packages <<'X'
Package: alpha
Source: alpha-src (1.0)

Package: beta
X
    cat >en <<'X'
Package: alpha
Description-md5: 1
Description-en: small tool for letters
 It reads letters from a file. Then it writes 3 of them.
 .
 Features:
  * fast and quite small
    verbatim line

Package: beta
Description-md5: 2
Description-en: another tool for numbers
X
    cat >xx <<'X'
Package: alpha
Description-md5: 1
Description-de: kleines Werkzeug für Buchstaben
 Es liest Buchstaben aus einer Datei. Dann schreibt es 3 davon.
 .
 Merkmale:
  * schnell und ziemlich klein
    verbatim line

Package: beta
Description-md5: 2
Description-de: another tool for numbers
X
    t 0 "$TOP/pipelines/debian-pairs" Packages en xx de .
    cat train.en dev.en test.en >all.en
    cat train.de dev.de test.de >all.de
    paste all.en all.de >got
    printf '%s\t%s\n' 'small tool for letters' 'kleines Werkzeug für Buchstaben' \
        'It reads letters from a file.' 'Es liest Buchstaben aus einer Datei.' \
        'Then it writes 3 of them.' 'Dann schreibt es 3 davon.' \
        'fast and quite small verbatim line' 'schnell und ziemlich klein verbatim line' >want
    diff want got
}

@test "the demo's numbers are spelt as German spells them" {
    awk -f "$TOP/examples/demo/numbers" -v n=41000 -v seed=1 >pairs
    [ "$(cut -f 1 pairs | sort -u | wc -l)" -eq 41000 ]
    for want in '0 null' '1 eins' '16 sechzehn' '21 einundzwanzig' '30 dreißig' '71 einundsiebzig' '101 einhunderteins' \
        '1001 eintausendeins' '345 dreihundertfünfundvierzig'; do
        grep -qxP "${want% *}\t${want#* }" pairs
    done
}
