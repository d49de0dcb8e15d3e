#!/usr/bin/env bats
# The Makefiles of pipelines/ and the demo, run small: every stage for real, the scores mean
# nothing.
bats_require_minimum_version 1.5.0
load helper

# Real text when a folder shared/data lies beside the tree, else numbers from the demo's generator
# in the same files.
prepare() {
    SHARED=$TOP/../shared/data
    export TF_TIMEOUT=600
    # What make prints is looked at, and the directory has a random name.
    export GNUMAKEFLAGS=--no-print-directory V=1
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
    t 0 make -f "$TOP/pipelines/multi30k.mk" attention DATA="$data" WORK=w-small LAYER=1 \
        SENTENCE=2 -o w-small/source.settings -o w-small/trained -o w-small/model.tfm \
        -o w-small/test.out
    [[ $output != *tf-train* ]]
    grep -q 'encoder attention, layer 1' w-small/sentence-2.encoder-1.svg
    grep -q 'cross attention, layer 1' w-small/sentence-2.cross-1.svg
    # The last layer but one of each stack, and a layer that the model does not have.
    tf-batch -q --tokens 2000 w-small/dev.en.tfs w-small/dev.de.tfs | tf-train -q --preset tiny \
        --d-model 16 --d-ff 16 --heads 2 --encoder-layers 1 --decoder-layers 3 --steps 1 \
        --vocab w-small/vocab.model -o other
    cp other/ckpt-00000001.tfm w-small/model.tfm
    args=(attention DATA="$data" WORK=w-small -o w-small/source.settings -o w-small/trained \
        -o w-small/model.tfm -o w-small/test.out)
    t 0 make -s -f "$TOP/pipelines/multi30k.mk" "${args[@]}"
    expect_output $'w-small/sentence-1.encoder-1.svg\nw-small/sentence-1.cross-2.svg'
    grep -q 'cross attention, layer 2' w-small/sentence-1.cross-2.svg
    t 2 make -s -f "$TOP/pipelines/multi30k.mk" "${args[@]}" LAYER=2
    expect_contains "$stderr" "LAYER=2: the model's encoder has layers 1 to 1"
}

@test "recipes are quiet: the files that are made; V=1 shows commands" {
    corpus data a dev test
    args=(-f "$TOP/pipelines/text.mk" TRAIN=data/a DEV=data/dev TEST=data/test WORK=w STEPS=2 \
        VOCAB_SIZE=200 SAVE_EVERY=1 AVERAGE=2 DECODE_FLAGS='--max-extra 2' BEAM=1)
    t 0 env -u V make "${args[@]}" w/score.json
    expect_output "$(printf '%s\n' 'train: 600 pairs' 'dev: 100 pairs' 'test: 100 pairs' \
        w/{vocab.model,train.{en,de}.tfs,dev.{en,de}.tfs,dev.tfs} \
        w/{trained,model.tfm,test.out,score.json})"
    touch w/test.out
    t 0 make "${args[@]}" w/score.json V=1
    expect_contains "${lines[0]}" "tf-bleu "
    t 0 env -u V make -n "${args[@]}" w/perplexity.json
    expect_contains "$output" "tf-score "
}

@test "multi30k.mk without its data says where they are" {
    t 2 make -s -f "$TOP/pipelines/multi30k.mk" DATA=none WORK=w w/paired
    expect_contains "$stderr" "train.en.gz not found: set DATA=DIR to the folder data/task1/raw of https://github.com/multi30k/dataset"
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
    expect_contains "$stderr" "TRAIN=data/c: neither data/c.en nor data/c.en.gz exists"
    t 2 make "${args[@]}" WORK=x TRAIN='data/a data/b' DEV=data/d
    expect_error "DEV=data/d: neither data/d.en nor data/d.en.gz exists"
    t 2 make "${args[@]}" WORK=x TRAIN=data/a PAIR=en-fr
    expect_error "TRAIN=data/a: neither data/a.fr nor data/a.fr.gz exists"
    for pair in ende en-de-fr; do
        t 2 make "${args[@]}" WORK=x TRAIN=data/a PAIR=$pair
        expect_error "PAIR=$pair: two languages such as en-de are required"
    done
    [ ! -e x ]
    [ ! -e x-small ]
    sed -i 1d data/b.en
    t 2 make "${args[@]}" WORK=x TRAIN=data/b
    expect_contains "$stderr" "TRAIN=data/b: 599 lines of en, 600 of de"
}

@test "text.mk: each file is compared with its partner, though their sums agree" {
    for l in en de; do
        for s in a b c; do seq 3 >$s.$l; done
    done
    sed -i 1d a.de
    sed -i 1d b.en
    gzip b.en
    args=(-f "$TOP/pipelines/text.mk" WORK=w w/paired TRAIN=c DEV=c TEST=c)
    for v in TRAIN DEV TEST; do
        t 2 make "${args[@]}" $v='c a b'
        expect_contains "$stderr" "$v=a: 3 lines of en, 2 of de"
        t 2 make "${args[@]}" $v='b a'
        expect_contains "$stderr" "$v=b: 2 lines of en, 3 of de"
        [ ! -e w/paired ]
    done
    # A file may lack the end of its last line, and be empty.
    printf 'x\ny' >a.de
    printf 'x\ny\n' >a.en
    touch d.en d.de
    t 0 make -s "${args[@]}" TRAIN='c a d c'
    expect_output $'train: 8 pairs\ndev: 3 pairs\ntest: 3 pairs'
}

@test "every pipeline compares both sides, and reads the reference, before it trains" {
    corpus data train val test_2016_flickr
    corpus data train.en-de dev.en-de test.en-de
    numbers 800 1 >mine.en
    numbers 800 2 >mine.de
    # short FILE: the file without its first line
    short() {
        case $1 in
            *.gz) gzip -dc "$1" | sed 1d | gzip >rest && mv rest "$1" ;;
            *) sed -i 1d "$1" ;;
        esac
    }
    for p in "multi30k train data/train.en.gz 599 600" "multi30k dev data/val.de.gz 100 99" \
        "multi30k test data/test_2016_flickr.en.gz 99 100" \
        "debian train data/train.en-de.en.gz 599 600" "debian test data/test.en-de.de.gz 100 99" \
        "wmt14-ende train mine.en 599 600"; do
        read -r name part file s t <<<"$p"
        case $name in wmt14*) input=SMALL=mine ;; *) input=DATA=data ;; esac
        cp "$file" saved
        short "$file"
        t 2 make -f "$TOP/pipelines/$name.mk" $input WORK=w w/vocab.model
        expect_contains "$stderr" "$part: $s lines of en, $t of de"
        [ ! -e w/vocab.model ]
        mv saved "$file"
        rm -r w
    done
    # A reference that cannot be scored after the training.
    sed -i $'120s/^/\xff/' mine.de
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" SMALL=mine WORK=w w/vocab.model
    expect_contains "$stderr" "w/test.de: line 20: invalid UTF-8 at byte 1"
    [ ! -e w/vocab.model ]
}

@test "text.mk: a file without the end of its last line keeps its pairs apart" {
    mkdir data
    printf 'one\ntwo' >data/a.en
    printf 'eins\nzwei\n' >data/a.de
    printf 'three\nfour\n' >data/b.en
    printf 'drei\nvier' >data/b.de
    t 0 make -f "$TOP/pipelines/text.mk" TRAIN='data/a data/b' DEV=data/a TEST=data/b WORK=w \
        w/paired
    expect_contains "$output" "train: 4 pairs"
    [ "$(paste w/train.en w/train.de)" = $'one\teins\ntwo\tzwei\nthree\tdrei\nfour\tvier' ]
}

@test "text.mk: files with both sides in fields, alone and beside pairs of files" {
    printf 'one\teins\nt w o\t\tnote\n\tdrei' >a.tsv
    printf '1\tdeux\t2\ttwo\n' | gzip >b.txt.gz
    printf 'x\n' >c.en
    printf 'y\n' >c.de
    mkdir dir
    args=(-f "$TOP/pipelines/text.mk" WORK=w w/paired DEV=a.tsv TEST=c)
    t 0 make "${args[@]}" TRAIN='c a.tsv c dir/../a.*'
    expect_contains "$output" $'train: 8 pairs\ndev: 3 pairs\ntest: 1 pairs'
    diff <(printf '%s\n' x one 't w o' '' x one 't w o' '') w/train.en
    diff <(printf '%s\n' y eins '' drei y eins '' drei) w/train.de
    # Other fields are other texts.
    t 0 make "${args[@]}" TRAIN=b.txt.gz DEV=c FIELDS='4 2'
    [ "$(cat w/train.en w/train.de)" = $'two\ndeux' ]
    t 0 make "${args[@]}" TRAIN=b.txt.gz DEV=c
    [ "$(cat w/train.en w/train.de)" = $'1\ndeux' ]
    t 2 make "${args[@]}" DEV=c TRAIN='c a.tsv' FIELDS='1 3'
    expect_contains "$stderr" "TRAIN=a.tsv: line 1 has 2 of the fields 1 and 3"
    t 2 make "${args[@]}" TRAIN=dir
    expect_error "TRAIN=dir: neither dir.en nor dir.en.gz exists"
    for fields in 1 '1 2 3' '0 1' '1 x' ''; do
        t 2 make "${args[@]}" TRAIN=a.tsv FIELDS="$fields"
        expect_error "FIELDS=$fields: two numbers from 1 are required"
    done
    printf 'one\teins\n' >train.en
    t 2 make "${args[@]}" TRAIN=train.en WORK=.
    expect_error "train.en: WORK=. would overwrite this file"
}

@test "text.mk: a pattern in TRAIN stands for all stems that it matches" {
    mkdir news
    for i in 1 2 3; do
        echo "en $i" >news/$i.en
        echo "de $i" >news/$i.de
    done
    gzip news/2.en news/3.de
    args=(-f "$TOP/pipelines/text.mk" DEV=news/1 TEST=news/1 WORK=w w/paired)
    t 0 make "${args[@]}" TRAIN='news/*'
    expect_contains "$output" "train: 3 pairs"
    [ "$(cat w/train.en)" = $'en 1\nen 2\nen 3' ]
    # Another file that it matches is another training text.
    for l in en de; do
        echo "$l 4" >news/4.$l
        touch -d '-1 hour' news/4.$l
    done
    t 0 make "${args[@]}" TRAIN='news/*'
    expect_contains "$output" "train: 4 pairs"
    rm news/2.de
    t 2 make "${args[@]}" TRAIN='news/*'
    expect_error "TRAIN=news/2: neither news/2.de nor news/2.de.gz exists"
    t 2 make "${args[@]}" TRAIN='old/*'
    expect_error "TRAIN=old/*: neither old/*.en nor old/*.en.gz exists"
}

@test "a pipeline never overwrites its input" {
    for l in en de; do
        for s in train extra dev test; do echo "$s $l" >$s.$l; done
    done
    before=$(cat ./*.en ./*.de)
    ln -s . link
    for work in . link "$PWD"; do
        t 2 make -f "$TOP/pipelines/text.mk" TRAIN='train extra' DEV=dev TEST=test WORK=$work
        expect_error "train.en: WORK=$work would overwrite this file; use another WORK"
    done
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" SMALL=./test WORK=.
    expect_error "./test.en: WORK=. would overwrite this file"
    echo '(S (A a))' >dev.trees
    t 2 make -f "$TOP/pipelines/parsing.mk" TRAIN=dev.trees DEV=dev.trees TEST=dev.trees WORK=.
    expect_error "dev.trees: WORK=. would overwrite this file"
    [ "$(cat ./*.en ./*.de)" = "$before" ]
    t 0 make -n -f "$TOP/pipelines/text.mk" TRAIN='train extra' DEV=dev TEST=test WORK=w
}

@test "WORK, DATA and RESULTS are not taken from the environment" {
    touch t.en t.de
    args=(make -n -f "$TOP/pipelines/text.mk" TRAIN=t DEV=t TEST=t)
    clean=(env -u MAKELEVEL -u MAKEFLAGS)
    for v in WORK DATA RESULTS; do
        t 2 "${clean[@]}" $v=elsewhere "${args[@]}"
        expect_error "$v is set in the environment: give it on the command line, or unset it"
        t 0 "${clean[@]}" $v=elsewhere make -s -f "$TOP/pipelines/text.mk" help
    done
    t 2 "${clean[@]}" DATA=elsewhere make -n -f "$TOP/pipelines/debian.mk"
    t 0 "${clean[@]}" WORK=elsewhere THREADS=1 "${args[@]}" WORK=w
    [[ $output != *elsewhere* ]]
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

@test "table3.mk small: a line for every requested row" {
    corpus data train dev test
    args=(-f "$TOP/pipelines/table3.mk" small TRAIN=data/train DEV=data/dev WORK=w)
    t 0 make -s "${args[@]}" ROWS='base A-h1 E big'
    [ "$(awk 'NR > 1 { print $1 }' w-trial/table.txt | xargs)" = "base A-h1 E big" ]
    expect_contains "$output" "PPL and the paper: Spearman's rho"
    expect_contains "$output" "over 4 rows"
    grep -q '>A-h1</text>' w-trial/table.svg
    # Every row keeps what it is about, at an eighth of the widths.
    is_model() {
        local fields='d_k|d_v|d_ff|heads|d_model|encoder_layers'
        [ "$(tf-info "w-trial/$1/model.tfm" | sed -nE "s/^  ($fields) +//p" | xargs)" = "$2" ]
    }
    is_model base '8 8 256 8 64 6'
    is_model A-h1 '64 64 256 1 64 6'
    is_model big '8 8 512 16 128 6'
    # Perplexity and BLEU of the development set, the parameters, and the paper's.
    grep -Eq '^E +[0-9]+\.[0-9]{2} +[0-9.]+ +[0-9]+\.[0-9]{2}   4\.92 25\.7 -$' w-trial/table.txt
    [ "$(tf-info w-trial/E/model.tfm | sed -n 's/^  positions *//p')" = learned ]
    [ "$(tf-info w-trial/A-h1/model.tfm | sed -n 's/^  heads *//p')" = 1 ]
    cmp w-trial/data/test.de <(gzip -dc data/dev.de.gz)
    # One row more trains only that, from the same vocabulary.
    t 0 env -u MAKELEVEL -u MAKEFLAGS make -s -j2 "${args[@]}" \
        ROWS='base A-h1 E big D-p0.2 B-dk16'
    # Its makes share the two jobs.
    [[ $stderr != *jobserver* ]]
    [ "$(wc -l <w-trial/table.txt)" -eq 7 ]
    is_model B-dk16 '2 8 256 8 64 6'
    [ "$(grep -c 'pairs in' <<<"$stderr")" -eq 2 ]
    [ "$(tf-info w-trial/D-p0.2/model.tfm | sed -n 's/^  dropout *//p')" = 0.2 ]
    t 0 make -s "${args[@]}" paper-score WORK=w-trial ROWS='base E' -o w-trial/base/row.txt \
        -o w-trial/E/row.txt -o small
    [ "$(cut -d = -f 1 <<<"$output")" = $'base       BLEU \nE          BLEU ' ]
    # Another development set is not taken for that one.
    t 0 make -s "${args[@]}" ROWS=E DEV=data/test
    cmp w-trial/data/test.de <(gzip -dc data/test.de.gz)
    [ w-trial/E/test.out -nt w-trial/data/test.de ]
}

@test "table3.mk: make small never writes where SCALE=small does" {
    folder() { sed -n "s/.* WORK='\([^']*\)\/data' .*/\1/p" <<<"$output" | sort -u; }
    touch t.en t.de
    args=(-n -f "$TOP/pipelines/table3.mk" TRAIN=t DEV=t ROWS=base)
    t 0 make "${args[@]}" SCALE=small
    scaled=$(folder)
    t 0 make "${args[@]}" small
    [ "$(folder)" != "$scaled" ]
}

@test "table3.mk: what SCALE=small changes of each row" {
    t 0 make -n -f "$TOP/pipelines/table3.mk" SCALE=small TRAIN=t DEV=d WORK=w
    while read -r row want; do
        expect_contains "$output" "PRESET=$row STEPS=3000 TRAIN_FLAGS='$want --warmup 500' "
    done <<'X'
base --d-model 64 --d-ff 256
A-h32 --d-model 64 --d-ff 256
B-dk16 --d-model 64 --d-ff 256 --d-k 2
B-dk32 --d-model 64 --d-ff 256 --d-k 4
C-n2 --d-model 64 --d-ff 256
C-d256 --d-model 32 --d-ff 256
C-d1024 --d-model 128 --d-ff 256
C-ff1024 --d-model 64 --d-ff 128
C-ff4096 --d-model 64 --d-ff 512
E --d-model 64 --d-ff 256
big --d-model 128 --d-ff 512
X
    t 2 make -n -f "$TOP/pipelines/table3.mk" SCALE=tiny TRAIN=t DEV=d
    expect_contains "$stderr" "SCALE=tiny: paper or small"
}

@test "rank-agreement: equal values share their rank; undecided pairs do not count" {
    agreement() { printf '%s\n' "$@" | "$TOP/pipelines/rank-agreement"; }
    is() { [ "$(agreement "${@:2}")" = "Spearman's rho $1 in the same order" ]; }
    is '1.00 over 3 rows, 3 of 3 pairs' '1 2' '2 4' '30 6'
    # Ranks 1, 2.5, 4, 2.5 and 2.5, 2.5, 1, 4.
    is '-0.50 over 4 rows, 1 of 5 pairs' '1 2' '2 2' '3 1' '2 9'
    is 'undefined over 2 rows, 0 of 0 pairs' '9 5' '10 5'
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

@test "parsing.mk small: treebanks as they are distributed, to trees over the same words and their score" {
    treebank 300 1 >a.mrg
    treebank 300 2 | gzip >b.mrg.gz
    treebank 60 3 >dev.mrg
    treebank 60 4 >test.mrg
    args=(-f "$TOP/pipelines/parsing.mk" DEV=dev.mrg TEST=test.mrg WORK=w VOCAB_SIZE=60)
    t 0 make "${args[@]}" small TRAIN='a.mrg b.mrg.gz'
    [ "$(wc -l <w-small/train.trees)" -eq 600 ]
    run -1 grep -e -NONE- -e SBJ w-small/train.trees
    # Whatever the model wrote, the trees stand over the words of the test set, and all of them are
    # counted.
    tf-tree -l -b words -w words -o tags w-small/test.parsed
    cmp words w-small/test.words
    [ "$(jq '.rows | length' w-small/f1.json)" -eq 60 ]
    grep -q '<svg' w-small/curve.svg
    t 0 make "${args[@]}" small TRAIN='a.mrg b.mrg.gz'
    [[ $output != *tf-train* ]]
    expect_contains "$output" "Number of sentence        =     60"
    # Under the constraint the output has the letters of the input, in order.
    t 0 make "${args[@]}" small TRAIN='a.mrg b.mrg.gz' CONSTRAIN=1
    "$TF_PYTHON" - <<'PY'
for words, out in zip(open("w-small/test.words"), open("w-small/test.out")):
    letters = iter(out)
    assert all(c in letters for c in words.replace(" ", "").strip()), (words, out)
PY
    # The gold trees for what was parsed: the score is 100.
    cp w-small/test.tags w-small/test.out
    t 0 make "${args[@]}" small TRAIN='a.mrg b.mrg.gz' CONSTRAIN=1 -o w-small/model.tfm
    expect_contains "$output" "Bracketing FMeasure       = 100.00"
    t 2 make "${args[@]}"
    expect_contains "$stderr" "TRAIN= is needed"
}

@test "parsing.mk: other brackets are other sequences, and another training" {
    treebank 5 1 >t.mrg
    args=(-f "$TOP/pipelines/parsing.mk" TRAIN=t.mrg DEV=t.mrg TEST=t.mrg WORK=w w/test.tags)
    t 0 make "${args[@]}"
    grep -q DT w/test.tags
    t 0 make "${args[@]}" BRACKETS=words
    run -1 grep DT w/test.tags
    t 0 make "${args[@]}" w/training.settings
    mkdir w/run
    touch w/run/ckpt-00000001.tfm
    t 2 make "${args[@]}" BRACKETS=words
    expect_contains "$stderr" "different settings (--brackets slash, not --brackets words)"
    grep -q DT w/test.tags
}

@test "parsing.mk: a treebank whose file is cut off is an error" {
    treebank 300 1 | gzip | head -c 1000 >cut.gz
    t 2 make -f "$TOP/pipelines/parsing.mk" w/train.trees TRAIN=cut.gz DEV=cut.gz TEST=cut.gz WORK=w
    expect_contains "$stderr" "gzip: the file is truncated"
    [ ! -e w/train.trees ]
}

@test "pipelines read and write numbers with a point, whatever the locale" {
    printf 'SHELL := bash\nall:\n\t@echo $$LC_ALL\ninclude %s/pipelines/common.mk\n' "$TOP" >m.mk
    LC_ALL=de_DE.UTF-8 t 0 make -s -f m.mk all
    [ "$output" = C.UTF-8 ]
}

@test "table3.mk passes on how to train: threads, ranks, launcher" {
    t 0 make -n -f "$TOP/pipelines/table3.mk" SCALE=small TRAIN=t DEV=d WORK=w ROWS=base RANKS=2 \
        LAUNCH='srun -n 2' THREADS=3
    expect_contains "$output" "RANKS='2' LAUNCH='srun -n 2'"
    expect_contains "$output" "THREADS='3'"
}

@test "parsing.mk sweep: dropouts, rate and beam on the development set" {
    treebank 200 1 >train.mrg
    treebank 10 2 >dev.mrg
    args=(-f "$TOP/pipelines/parsing.mk" TRAIN=train.mrg DEV=dev.mrg SMALL=1 WORK=w VOCAB_SIZE=60 \
        STEPS=4 SAVE_EVERY=2 AVERAGE=2 TOKENS=500 DECODE_FLAGS='--max-extra 5' BEAMS='1 2')
    t 0 env -u MAKELEVEL -u MAKEFLAGS make -j2 "${args[@]}" sweep DROPOUTS=0.1 \
        ATTENTION_DROPOUTS='0 0.2' RATES='0.5 2'
    [[ $stderr != *jobserver* ]]
    [ "$(grep -cE '^0\.1 ' <<<"$output")" -eq 8 ]
    for rate in 0.5 2; do
        for a in 0 0.2; do
            grep -q "\"dropout\":0.1," "w/sweep/0.1-$a-$rate/run/log.jsonl"
            grep -q "\"attention_dropout\":$a}" "w/sweep/0.1-$a-$rate/run/log.jsonl"
            grep -q "\"lr_scale\":$rate," "w/sweep/0.1-$a-$rate/run/log.jsonl"
            for beam in 1 2; do
                grep -qE "^0\.1 +$a +$rate +$beam +([0-9.]+|null)$" <<<"$output"
            done
        done
    done
    # Beams and alphas of one model; F1 counts sentences that EVALB does not score as missed.
    t 0 make -s "${args[@]}" search TEST=dev.mrg CONSTRAIN=1 ALPHAS='0 0.3'
    [ "$(grep -cE '^[12] +0(\.3)? +([0-9.]+|null)$' <<<"$output")" -eq 4 ]
    f1=$(tf-evalb --json --max-error 100000 --bad ok w/dev.trees w/search/2-0.3.out.trees |
        jq '.failures_as_misses.f1')
    grep -qE "^2 +0\.3 +$f1$" <<<"$output"
}

@test "search: BLEU of the development set for each beam and alpha, the best first" {
    corpus data a dev test
    args=(-f "$TOP/pipelines/text.mk" TRAIN=data/a DEV=data/dev TEST=data/test WORK=w \
        VOCAB_SIZE=200 STEPS=4 SAVE_EVERY=2 AVERAGE=2 DECODE_FLAGS='--max-extra 2' BEAMS='2 1')
    t 0 make -s "${args[@]}" search ALPHAS='0 1'
    [ "$(cat w/search/2-1.txt)" = "2 1 $(tf-bleu -b -w 2 w/dev.de -i w/search/2-1.out)" ]
    # A model of four updates is never right: set scores to compare.
    for row in '2 1 9.90' '1 0 10.10' '1 1 30.00' '2 0 30.00'; do
        read -r b a _ <<<"$row"
        echo "$row" >w/search/$b-$a.txt
    done
    t 0 make -s "${args[@]}" search ALPHAS='0 1'
    [ "${lines[0]}" = "beam  alpha  BLEU" ]
    [ "$(sed '1d;$d' <<<"$output" | tr -s ' ' | cut -d ' ' -f 1,2 | tr '\n' ,)" = "1 1,2 0,1 0,2 1," ]
    expect_contains "$output" "best: BEAM=1 ALPHA=1"
    # Other options decode again; one more alpha is decoded alone.
    t 0 make "${args[@]}" search ALPHAS='0 0.5 1'
    [ "$(grep -c 'tf-decode' <<<"$output")" -eq 2 ]
    t 0 make "${args[@]}" search ALPHAS=0 DECODE_FLAGS='--max-extra 3'
    [ "$(grep -c 'tf-decode' <<<"$output")" -eq 2 ]
}

@test "wmt14-ende.mk small, on a text of one's own" {
    numbers 800 1 >mine.en
    numbers 800 2 >mine.de
    # Lines that are not UTF-8, two to train on and one to translate: counted, then it continues.
    sed -i -e $'301s/^/\xff/' -e $'302s/^/\xff/' -e $'110s/^/\xff/' mine.en
    t 0 make -f "$TOP/pipelines/wmt14-ende.mk" small SMALL=mine WORK=w
    expect_contains "$stderr" "tf-tokenize: w-small/train.en: 2 of 600 lines bad"
    expect_contains "$stderr" "tf-decode: stdin: 1 of 100 records bad"
    check_results w-small
    [ "$(tf-cbor count w-small/train.en.tfs | sed -n 's/^tokens.//p')" = 598 ]
    # BLEU as in the paper, of plain references.
    cp w-small/test.de w-small/test.out
    t 0 make -s -f "$TOP/pipelines/wmt14-ende.mk" paper-score WORK=w-small RESULTS=w-small \
        -o w-small/test.out -o w-small/test.de
    expect_contains "$output" "100.0/0.0/0.0/0.0 (BP=1.000, ratio=1.000, hyp_len=100, ref_len=100)"
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" small SMALL=mine WORK=v BAD=fail
    expect_contains "$stderr" "v-small/train.en.tfs] Error 4"
    [ ! -e v-small/train.en.tfs ]
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" small WORK=w
    expect_contains "$stderr" "small SMALL=PREFIX: PREFIX.en and PREFIX.de are required"
    # Other text is not taken for this.
    for l in en de; do tail -n +101 mine.$l >other.$l; done
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" small SMALL=other WORK=w
    expect_contains "$stderr" "w-small: run/ was trained with different settings (mine, not other)"
}

# archives DIR: what wmt14-enfr.mk downloads, a pair or two in each.
archives() {
    local f
    mkdir -p "$1" x/training x/un x/dev x/test-full
    for f in training/europarl-v7 commoncrawl un/undoc.2000 training/news-commentary-v9; do
        printf '%s\n' "of $f" '' >"x/$f.fr-en.en"
        printf '%s\r\n' "de	$f" 'alone' >"x/$f.fr-en.fr"
    done
    for f in en fr; do
        echo "giga $f" | gzip >"x/giga-fren.release2.fixed.$f.gz"
        echo "dev $f" >"x/dev/newstest2013.$f"
    done
    echo '<seg id="1">test en</seg>' >x/test-full/newstest2014-fren-src.en.sgm
    echo '<seg id="1">test fr</seg>' >x/test-full/newstest2014-fren-ref.fr.sgm
    tar -C x -czf "$1/training-parallel-europarl-v7.tgz" training/europarl-v7.fr-en.{en,fr}
    tar -C x -czf "$1/training-parallel-commoncrawl.tgz" commoncrawl.fr-en.{en,fr}
    tar -C x -czf "$1/training-parallel-un.tgz" un
    tar -C x -czf "$1/training-parallel-nc-v9.tgz" training/news-commentary-v9.fr-en.{en,fr}
    tar -C x -cf "$1/training-giga-fren.tar" giga-fren.release2.fixed.{en,fr}.gz
    tar -C x -czf "$1/dev.tgz" dev
    tar -C x -czf "$1/test-full.tgz" test-full
}

@test "wmt14-enfr.mk: archives to text; a side that is missing or short is named" {
    archives data
    args=(-f "$TOP/pipelines/wmt14-enfr.mk" DATA=data WORK=w CURL=false w/train.fr w/dev.en \
        w/dev.fr w/test.en w/test.fr)
    t 0 make -j2 "${args[@]}"
    is() { diff <(printf '%s\n' "${@:2}") "$1"; }
    is w/train.en 'of training/europarl-v7' 'of commoncrawl' 'of un/undoc.2000' \
        'of training/news-commentary-v9' 'giga en'
    is w/train.fr 'de training/europarl-v7' 'de commoncrawl' 'de un/undoc.2000' \
        'de training/news-commentary-v9' 'giga fr'
    is w/dev.fr 'dev fr'
    is w/test.en 'test en'
    t 0 make "${args[@]}"
    [[ $output != *tar* ]]
    # Killed between the files of an archive: once more, and nothing else.
    rm data/giga-fren.release2.fixed.fr
    t 0 make "${args[@]}"
    [ "$(grep -c '^tar ' <<<"$output")" -eq 1 ]
    run ! compgen -G 'data/*.part'
    for side in en fr; do
        rm w/train.*
        cp data/commoncrawl.fr-en.$side saved
        sed -i 1d data/commoncrawl.fr-en.$side
        t 2 make "${args[@]}"
        expect_contains "$stderr" "commoncrawl.fr-en: en and fr have different numbers of lines"
        [ ! -e w/train.en ]
        mv saved data/commoncrawl.fr-en.$side
    done
    t 0 make "${args[@]}"
    rm data/commoncrawl.fr-en.*
    tar -C x -czf data/training-parallel-commoncrawl.tgz commoncrawl.fr-en.en
    t 2 make "${args[@]}"
    expect_contains "$stderr" "commoncrawl.fr-en.fr"
    expect_contains "$stderr" "Not found in archive"
    rm data/training-parallel-commoncrawl.tgz
    t 2 make "${args[@]}"
    expect_contains "$stderr" "data/training-parallel-commoncrawl.tgz"
}

@test "wmt14: files that are unpacked need no archive; CORPORA chooses the corpora" {
    archives archives
    mkdir data
    tar -C data -xzf archives/dev.tgz
    tar -C data -xzf archives/test-full.tgz
    tar -C data -xzf archives/training-parallel-nc-v9.tgz
    args=(-f "$TOP/pipelines/wmt14-enfr.mk" DATA=data WORK=w CURL=false)
    t 0 make "${args[@]}" w/paired CORPORA=news
    expect_contains "$output" "train: 1 pairs"
    [ "$(ls data)" = $'dev\ntest-full\ntraining' ]
    [ "$(cat w/train.en)" = 'of training/news-commentary-v9' ]
    # A second corpus is another text: only its archive is read.
    cp archives/training-parallel-europarl-v7.tgz archives/training-giga-fren.tar data
    t 0 make "${args[@]}" w/paired CORPORA='giga news'
    [ "$(cat w/train.en)" = $'giga en\nof training/news-commentary-v9' ]
    [ "$(grep -c '^tar ' <<<"$output")" -eq 1 ]
    [[ $output != *dev.en* && $output != *sgml-pairs* ]]
    # By default all corpora: the first that is missing is fetched.
    t 2 make "${args[@]}" w/paired
    expect_contains "$stderr" "training-parallel-commoncrawl.tgz] Error 1"
    for wrong in news2000 'news un2' ''; do
        t 2 make "${args[@]}" w/paired CORPORA="$wrong"
        expect_error "CORPORA=$wrong: one or more of europarl commoncrawl un news giga are required"
    done
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" DATA=data WORK=v CURL=false v/paired CORPORA=giga
    expect_error "CORPORA=giga: one or more of europarl commoncrawl news are required"
}

# segments ID TEXT ...: a document of these segments
segments() {
    echo '<srcset setid="s" srclang="any">'
    echo '<doc sysid="ref" docid="d" genre="news" origlang="de">'
    echo '<p>'
    printf '<seg id="%s">%s</seg>\n' "$@"
    printf '%s\n' '</p>' '</doc>' '</srcset>'
}

@test "sgml-pairs: every segment is a line, however it is written" {
    cat >src.sgm <<'X'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE mteval SYSTEM "mteval.dtd">
<!-- <seg id="0">not one</seg> -->
<SRCSET setid="s" srclang="any"><DOC docid="a" genre='1 > 0'>
<hl><seg id="1">one</seg></hl> <seg id="2">two</seg>
<seg n="x>y" id='3' >AT&amp;T &lt;b&gt; &quot;&#8222;&#x201C;&apos; R&D &copy2 &nix;</seg>
<SEG
  id=4>
four
  of	them
</SEG>
<seg id="5"></seg>
</DOC><doc docid="b"><seg id="1">a < b, é \1</seg></doc></SRCSET>
X
    sed 's/é/\xe9/' src.sgm >ref.sgm
    t 0 "$TOP/pipelines/sgml-pairs" src.sgm ref.sgm src ref
    expect_error "ref.sgm: 1 invalid UTF-8 sequences became U+FFFD"
    printf '%s\n' one two $'AT&T <b> "„“\' R&D &copy2 &nix;' 'four of them' '' 'a < b, é \1' >want
    diff want src
    diff <(sed $'s/é/\ufffd/' want) ref
}

@test "sgml-pairs: what does not pair or is no test set is named, and nothing is written" {
    pairs() {
        t 1 "$TOP/pipelines/sgml-pairs" src.sgm ref.sgm src ref
        expect_error "$1"
        [ ! -e src ] && [ ! -e ref ]
    }
    segments 1 one 2 two 3 three >src.sgm
    segments 1 one 3 three >ref.sgm
    pairs "segment 2: src.sgm: document 'd', id '2'; ref.sgm: document 'd', id '3'"
    segments 1 one 2 two >ref.sgm
    pairs "src.sgm has 3 segments, ref.sgm 2"
    segments 1 one 2 two 3 three | sed 's/docid="d"/docid="e"/' >ref.sgm
    pairs "segment 1: src.sgm: document 'd', id '1'; ref.sgm: document 'e', id '1'"
    segments 1 one 2 two 3 three | sed 's/two<.seg>/two/' >ref.sgm
    pairs 'ref.sgm: line 6: <seg id="3"> out of place'
    segments 1 one 2 two 3 three | sed 's/id="2/id="2" "/' >ref.sgm
    pairs 'ref.sgm: line 5: tag that cannot be read'
    echo '<seg id="1">one' >ref.sgm
    pairs 'ref.sgm: the file ends in a segment'
    echo 'one' >ref.sgm
    pairs 'ref.sgm: no segment'
    rm ref.sgm
    pairs 'ref.sgm: No such file or directory'
}

@test "wmt14: no segment of the test set is lost, and sides that differ stop before the training" {
    archives data
    tar -C x -xzf data/test-full.tgz
    segments 1 one 2 $'two\nlines' 3 $'a\xff' 4 four >x/test-full/newstest2014-fren-src.en.sgm
    segments 1 un 2 deux 3 trois 4 quatre >x/test-full/newstest2014-fren-ref.fr.sgm
    tar -C x -czf data/test-full.tgz test-full
    args=(-f "$TOP/pipelines/wmt14-enfr.mk" DATA=data WORK=w CURL=false)
    t 0 make "${args[@]}" w/paired
    expect_contains "$output" "test: 4 pairs"
    diff <(printf '%s\n' one 'two lines' $'a\ufffd' four) w/test.en
    diff <(printf '%s\n' un deux trois quatre) w/test.fr
    segments 1 un 2 deux 4 quatre >x/test-full/newstest2014-fren-ref.fr.sgm
    tar -C x -czf data/test-full.tgz test-full
    t 2 make "${args[@]}" w/vocab.model
    expect_contains "$stderr" "segment 3: data/test-full/newstest2014-fren-src.en.sgm: document 'd'"
    [ ! -e w/vocab.model ]
    # The development set is plain text.
    segments 1 un 2 deux 3 trois 4 quatre >x/test-full/newstest2014-fren-ref.fr.sgm
    echo 'one more' >>x/dev/newstest2013.en
    tar -C x -czf data/test-full.tgz test-full
    tar -C x -czf data/dev.tgz dev
    t 2 make "${args[@]}" w/vocab.model
    expect_contains "$stderr" "dev: 2 lines of en, 1 of fr"
    [ ! -e w/vocab.model ]
}

@test "wmt14: the texts of a trial are not those of the archives" {
    archives data
    printf '%s\n' {1..300} | tee mine.en >mine.fr
    args=(-f "$TOP/pipelines/wmt14-enfr.mk" DATA=data WORK=w CURL=false w/train.en)
    t 0 make "${args[@]}"
    t 0 make "${args[@]}" SMALL=mine
    [ "$(wc -l <w/train.en)" -eq 100 ]
    t 0 make "${args[@]}"
    [ "$(wc -l <w/train.en)" -eq 5 ]
}

@test "wmt14: a whole .part is an archive, another one is fetched on" {
    archives data
    mv data/dev.tgz data/dev.tgz.part
    t 0 make -f "$TOP/pipelines/wmt14-enfr.mk" download DATA=data CURL=false
    tar -tf data/dev.tgz >/dev/null
    head -c 100 data/dev.tgz >data/dev.tgz.part
    rm data/dev.tgz
    t 2 make -f "$TOP/pipelines/wmt14-enfr.mk" download DATA=data CURL=false
    [ ! -e data/dev.tgz ]
}

@test "what a killed recipe leaves never looks finished" {
    corpus data train val test_2016_flickr
    corpus data train.en-de dev.en-de test.en-de
    treebank 300 1 | gzip >trees.gz
    mkdir fake
    # As in a power failure: make and all that it started are gone at once.
    printf '#!/bin/sh\n%s "$@" | head -c 500\nkill -9 0\n' "$(command -v gzip)" >fake/gzip
    printf '#!/bin/sh\n%s "$@" | head -c 500\nkill -9 0\n' "$(command -v tf-tree)" >fake/tf-tree
    chmod +x fake/gzip fake/tf-tree
    stems='TRAIN=data/train DEV=data/val TEST=data/val'
    for p in "multi30k train.en" "multi30k dev.de" "debian train.en" "text train.en $stems" \
        "parsing train.trees TRAIN=trees.gz DEV=trees.gz TEST=trees.gz BIN="; do
        data=DATA=data
        [[ $p != *TRAIN=* ]] || data=
        read -r name file more <<<"$p"
        # shellcheck disable=SC2086
        PATH=$PWD/fake:$PATH run -137 timeout "$TF_TIMEOUT" make -f "$TOP/pipelines/$name.mk" \
            "w/$file" $data WORK=w $more
        [ ! -e "w/$file" ]
        # shellcheck disable=SC2086
        t 0 make -f "$TOP/pipelines/$name.mk" "w/$file" $data WORK=w $more
        [ "$(wc -l <"w/$file")" -ge 100 ]
        rm -r w
    done
    # Nor does any recipe write under the final name.
    run -1 grep -nE '>>? *\$+(@|\(@\))( |;|$)' "$TOP"/pipelines/*.mk
}

@test "RANKS=2: training on two processes, the same model" {
    [ -e "$(dirname "$(command -v tf-train)")/tf-comm-openmpi.so" ] ||
        skip "no Open MPI: training on many processes is not tested"
    need mpirun.openmpi
    corpus data train val test_2016_flickr
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    args=(-f "$TOP/pipelines/multi30k.mk" DATA=data WORK=w VOCAB_SIZE=200 SAVE_EVERY=2 AVERAGE=2 \
        TOKENS=1000 TRAIN_FLAGS='--warmup 30' MAX_LENGTH=60 STEPS=3)
    launch='mpirun.openmpi -n $(RANKS) --oversubscribe --bind-to none'
    t 0 make "${args[@]}" RESULTS=one one/trained
    t 0 make "${args[@]}" RESULTS=two RANKS=2 LAUNCH="$launch" two/trained
    cmp one/run/ckpt-00000003.tfm two/run/ckpt-00000003.tfm
    [ ! -e two/batches.fifo ]
    # A trainer that fails leaves no batcher that waits for it.
    t 2 make "${args[@]}" RESULTS="$PWD/three" RANKS=3 LAUNCH="$launch" "$PWD/three/trained"
    [ ! -e three/batches.fifo ]
    none_left() { ! pgrep -f "$PWD/three/" >/dev/null; }
    wait_for none_left
}

@test "PARTS=3: the training text in parts, tokenised at the same time" {
    corpus data train val test_2016_flickr
    args=(-f "$TOP/pipelines/multi30k.mk" DATA=data WORK=w VOCAB_SIZE=200 SAVE_EVERY=2 AVERAGE=2 \
        TOKENS=1000 TRAIN_FLAGS='--warmup 30' MAX_LENGTH=60 STEPS=3 RESULTS=r r/trained)
    t 0 make -j2 "${args[@]}" PARTS=3
    expect_contains "$output" "w/parts-3/0002.de.tfs w/parts-3/0002.de --threads 1"
    expect_contains "$stderr" "of 600 records 0 dropped"
    [ ! -e w/train.en.tfs ]
    # Each line is in one part, at the same place on both sides.
    for l in en de; do
        paste -d '\n' w/parts-3/000[012].$l | cmp - w/train.$l
        [ "$(cat w/parts-3/000[012].$l.tfs | tf-cbor count | grep tokens)" = $'tokens\t600' ]
    done
    t 0 make "${args[@]}" PARTS=3
    [[ $output != *tf-* ]]
    # A lost stream is made again, a run in other parts is another one.
    rm w/parts-3/0001.en.tfs
    t 0 make "${args[@]}" PARTS=3 w/parts-3/train.list -o w/vocab.model
    [ "$(grep -c tf-tokenize <<<"$output")" -eq 1 ]
    t 2 make "${args[@]}" PARTS=2
    expect_contains "$stderr" "trained with different settings (--parts 3, not --parts 2)"
    t 2 make "${args[@]}"
    expect_contains "$stderr" "trained with different settings (--parts 3)"
    [ ! -e w/parts-2 ]
    for p in 0 x '1 2' 10000; do
        t 2 make "${args[@]}" PARTS="$p"
        expect_contains "$stderr" "PARTS=$p: a number from 1 to 9999 is required"
    done
}

@test "PARTS=2: a part whose first lines are all bad" {
    corpus data a dev test
    gzip -d data/a.*.gz
    # Every other line, so that they are the first of one part and a small share of the text.
    sed -i '1~2{1,40s/^/\xff/}' data/a.en
    args=(-f "$TOP/pipelines/text.mk" TRAIN=data/a DEV=data/dev TEST=data/test VOCAB_SIZE=200 \
        PARTS=2)
    t 0 make "${args[@]}" WORK=w w/parts-2/train.list
    [ "$(cat w/parts-2/000[01].en.tfs | tf-cbor count | sed -n 's/^tokens.//p')" = 580 ]
    t 2 make "${args[@]}" WORK=w BAD=fail w/parts-2/train.list -B
}

@test "other languages: texts and vocabulary are made again, and scored by their tokenizer" {
    for l in en de fr ja zh; do
        numbers 300 2 >t.$l
    done
    sed -i 's/e/é/g' t.fr
    args=(-f "$TOP/pipelines/text.mk" TRAIN=t DEV=t TEST=t VOCAB_SIZE=100)
    t 0 make "${args[@]}" WORK=w w/vocab.model
    cp w/vocab.model german
    t 0 make "${args[@]}" WORK=w w/vocab.model PAIR=en-fr
    run -1 cmp german w/vocab.model
    t 0 make "${args[@]}" WORK=w w/vocab.model
    cmp german w/vocab.model
    t 0 make -n "${args[@]}" WORK=v PAIR=en-zh
    expect_contains "$output" "tf-bleu --language-pair en-zh v/test.zh"
    t 0 make -n "${args[@]}" WORK=v PAIR=en-ja
    expect_contains "$output" "tf-bleu --tokenize char v/test.ja"
    # debian.mk: the index of each language is fetched.
    mkdir bin
    printf '#!/bin/sh\necho fetched >&2\nexit 1\n' >bin/apt-get
    chmod +x bin/apt-get
    debian() { PATH=$PWD/bin:$PATH t "$1" make -f "$TOP/pipelines/debian.mk" WORK=d "${@:2}"; }
    debian 0 d/source.settings
    touch d/indices
    debian 0 d/indices
    debian 2 d/indices PAIR=en-fr
    expect_contains "$stderr" fetched
}

@test "devices decodes with all DECODE_FLAGS" {
    t 0 make -n -f "$TOP/pipelines/multi30k.mk" devices DATA=t WORK=w DECODE_FLAGS='--max-extra 5'
    [ "$(grep -c -e '--max-extra 5 --device cpu' -e '--max-extra 5 --device cuda' <<<"$output")" -eq 4 ]
}

@test "settings: what they change is made again, nothing else is" {
    corpus data train val test_2016_flickr
    args=(-f "$TOP/pipelines/multi30k.mk" DATA=data WORK=w VOCAB_SIZE=200 SAVE_EVERY=2 AVERAGE=2 \
        TOKENS=1000 TRAIN_FLAGS='--warmup 30' MAX_LENGTH=60 BEAM=1)
    # As many checkpoints as are averaged, said before anything is trained.
    t 2 make "${args[@]}" STEPS=2
    expect_contains "$stderr" "AVERAGE=2: STEPS=2 and SAVE_EVERY=2 give only 1 checkpoints"
    [ ! -e w/run ]
    t 0 make "${args[@]}" STEPS=3
    [ -e w/dev.en ]
    [ -e w/dev.de ]
    made=$(stat -c '%n %y' w/*)
    t 0 make "${args[@]}" STEPS=3 THREADS=1
    [ "$(stat -c '%n %y' w/*)" = "$made" ]
    # More steps, then another search.
    t 0 make "${args[@]}" STEPS=5
    [[ $output = *tf-train* && $output != *--vocab-size* ]]
    [ -e w/run/ckpt-00000005.tfm ]
    t 0 make "${args[@]}" STEPS=5 BEAM=2
    [[ $output = *tf-decode* && $output != *tf-train* ]]
    # A training that is done is not another one.
    is_refused() {
        cp w/vocab.model "$T/vocab.before"
        t 2 make -j4 "${args[@]}" STEPS=5 BEAM=2 "$1"
        expect_contains "$stderr" "w: run/ was trained with different settings ($2); use another WORK"
        cmp w/vocab.model "$T/vocab.before"
    }
    is_refused SEED=2 '--seed 1, not --seed 2'
    is_refused VOCAB_SIZE=190 '--vocab-size 200, not --vocab-size 190'
    is_refused TRAIN_FLAGS= '--warmup 30'
    is_refused TRAIN_FLAGS='--warmup 30 --dropout 0.2' 'without --dropout 0.2'
    t 2 make "${args[@]}" STEPS=4 BEAM=2
    expect_contains "$stderr" "STEPS=4: w/run has already done 5"
    t 0 make "${args[@]}" STEPS=5 BEAM=2
    [[ $output != *tf-[td]* ]]
    # Interrupted, it is not another one either, and continues where it was.
    rm w/trained w/run/ckpt-00000005.tfm
    is_refused VOCAB_SIZE=190 '--vocab-size 200, not --vocab-size 190'
    t 0 make "${args[@]}" STEPS=5 BEAM=2
    [ -e w/run/ckpt-00000005.tfm ]
    [ "$(jq 'select(.event == "start").step' w/run/log.jsonl | tail -n 1)" -eq 4 ]
    t 2 make "${args[@]}" attention SENTENCE=999 STEPS=5 BEAM=2
    expect_contains "$stderr" "SENTENCE=999: the test set has sentences 1 to 100"
    run -1 compgen -G 'w/sentence-*'
    # Without its checkpoints there is no run to keep.
    rm -r w/run
    t 0 make "${args[@]}" STEPS=2 SAVE_EVERY=1 VOCAB_SIZE=190
    [ -e w/run/ckpt-00000002.tfm ]
}

@test "a setting that no pipeline knows is refused, on the user's own command line" {
    touch t.en t.de
    args=(make -n -f "$TOP/pipelines/text.mk" TRAIN=t DEV=t TEST=t WORK=w)
    own() { t "$1" env -u MAKELEVEL -u MAKEFLAGS "${args[@]}" "${@:2}"; }
    own 2 VOCABSIZE=100 STEP=3
    expect_error "STEP VOCABSIZE: no such setting; \`make -f $TOP/pipelines/text.mk help\` lists them"
    own 2 vocab_size=100
    expect_error "vocab_size: no such setting"
    own 0 VOCAB_SIZE=100 STEPS=3 BAD=fail BIN= V=1 SHELL=/bin/bash TRAIN_FLAGS='--warmup 3 --x=y'
    # Variables of the environment, and of a make that runs this one, are not settings.
    t 0 env -u MAKELEVEL -u MAKEFLAGS STEP=3 "${args[@]}"
    printf 'all:\n\t$(MAKE) %s\n' "${args[*]:1}" >Makefile
    t 0 env -u MAKELEVEL -u MAKEFLAGS make CC=other STEP=3
    for setting in STEPS=100k SAVE_EVERY=0 AVERAGE=05 STEPS=-1; do
        own 2 $setting
        expect_error "$setting: a number from 1, written in digits, is required"
    done
    # Each pipeline accepts each setting that its help lists.
    for p in "$TOP"/pipelines/*.mk; do
        case $(basename "$p" .mk) in common | experiment | wmt14) continue ;; esac
        settings=$(make -s -f "$p" help | sed -n 's/^  \([A-Z_][A-Z_]*\) .*/\1=t/p' |
            sed -E 's/^(PARTS|STEPS|SAVE_EVERY|AVERAGE)=t/\1=2/; s/PAIR=t/PAIR=en-de/; s/SCALE=t/SCALE=small/; s/CORPORA=t/CORPORA=news/; /FIELDS=t/d')
        # shellcheck disable=SC2086
        run env -u MAKELEVEL -u MAKEFLAGS make -n -f "$p" $settings none
        expect_contains "$output" "No rule to make target 'none'"
    done
}

@test "DIALECT=t2t: batches, updates, rows and checkpoints as in tensor2tensor" {
    touch t.en t.de t.fr
    # commands PIPELINE SETTING...: what would batch, train and average.
    commands() {
        make -n -f "$TOP/pipelines/$1.mk" WORK=w THREADS=1 "${@:2}" | tr -d '\\\n' | tr -s ' ' |
            sed 's/touch/\n/; s/.*tf-batch --epochs/tf-batch --epochs/'
    }
    # is ARGUMENTS BATCHES MODEL MORE: what trains, and its options.
    is() {
        # shellcheck disable=SC2086
        output=$(commands $1)
        echo "$1: $output"
        expect_contains "$output" "tf-batch --epochs 0 $2 "
        expect_contains "$output" " $3 --seed 1$4 -o w/"
    }
    is 'wmt14-ende SMALL=t' '--tokens 25000 --max-length 256' \
        '--steps 100000 --keep 5 --preset base --as paper --save-every 1400' ''
    is 'wmt14-ende SMALL=t PRESET=big' '--tokens 25000 --max-length 256' \
        '--steps 300000 --keep 20 --preset big --as paper --save-every 600' ''
    is 'wmt14-ende SMALL=t DIALECT=t2t' '--tokens 4096 --as t2t --max-length 255' \
        '--steps 250000 --keep 20 --preset base --as t2t --save-every 1400' \
        ' --accumulate 8 --vocab-size 40960'
    is 'wmt14-enfr SMALL=t DIALECT=t2t PRESET=big-enfr' '--tokens 4096 --as t2t --max-length 255' \
        '--steps 250000 --keep 20 --preset big-enfr --as t2t --save-every 600' ' --accumulate 8'
    is 'wmt14-ende SMALL=t DIALECT=t2t TOKENS=25000' '--tokens 25000 --as t2t --max-length 255' \
        '--steps 250000 --keep 20 --preset base --as t2t --save-every 1400' ' --vocab-size 40960'
    is 'text TRAIN=t DEV=t TEST=t DIALECT=t2t PRESET=base' \
        '--tokens 4096 --as t2t --max-length 255' '--keep 20 --preset base --as t2t' ' --accumulate 8'
    is 'multi30k DATA=t DIALECT=t2t' '--tokens 4000 --max-length 256' \
        '--steps 5800 --keep 8 --preset tiny --as t2t --save-every 200' \
        ' --warmup 2000 --lr-scale 2.5 --dropout 0.3'
    trees='TRAIN=t.en DEV=t.en TEST=t.en'
    is "parsing $trees" '--tokens 25000 --max-length 512' \
        '--steps 100000 --keep 5 --preset parse-wsj --as paper --save-every 1000' ''
    is "parsing $trees DIALECT=t2t" '--tokens 4096 --as t2t --max-length 511' \
        '--steps 250000 --keep 20 --preset parse-wsj --as t2t --save-every 1000' ' --accumulate 8'
    is "parsing $trees DIALECT=t2t SMALL=1" '--tokens 4000 --max-length 512' \
        '--steps 8000 --keep 8 --preset tiny --as t2t --save-every 200' \
        ' --warmup 1000 --lr-scale 2 --dropout 0.2'
    t 0 make -n -f "$TOP/pipelines/table3.mk" TRAIN=t DEV=t DIALECT=t2t ROWS='base big'
    expect_contains "$output" " TOKENS='4096' "
    expect_contains "$output" " PRESET=big STEPS=250000 "
}

@test "a vocabulary is trained on a sample above some number of lines, or with VOCAB_FLAGS" {
    corpus data a dev test
    args=(-f "$TOP/pipelines/text.mk" TRAIN=data/a DEV=data/dev TEST=data/test VOCAB_SIZE=200)
    t 0 make "${args[@]}" WORK=w w/vocab.model
    t 0 make "${args[@]}" WORK=v v/vocab.model many=1000
    run -1 cmp w/vocab.model v/vocab.model
    train=(tf-tokenize --train --type unigram --vocab-size 200)
    "${train[@]}" --max-sentences 1000 -o want w/train.en w/train.de
    cmp want v/vocab.model
    t 0 make "${args[@]}" WORK=v v/vocab.model many=1000 \
        VOCAB_FLAGS='--max-sentences 900 --split-digits'
    "${train[@]}" --max-sentences 900 --split-digits -o want w/train.en w/train.de
    cmp want v/vocab.model
}

@test "runs with their own RESULTS share the text, the vocabulary and the streams" {
    numbers 800 1 >mine.en
    numbers 800 2 >mine.de
    args=(-f "$TOP/pipelines/wmt14-ende.mk" SMALL=mine WORK=w VOCAB_SIZE=200 VOCAB_TYPE=unigram \
        TOKENS=500 STEPS=2 SAVE_EVERY=1 AVERAGE=2 DECODE_FLAGS='--max-extra 5' BEAM=1)
    t 0 make "${args[@]}" TRAIN_FLAGS='--layers 1 --d-model 16 --d-ff 16 --warmup 30'
    made=$(stat -c '%n %y' w/*.*)
    t 0 make "${args[@]}" PRESET=big TRAIN_FLAGS='--layers 1 --d-model 32 --d-ff 16 --warmup 30'
    [[ $output = *tf-train* && $output != *"tf-tokenize --train"* ]]
    [ "$(stat -c '%n %y' w/*.*)" = "$made" ]
    for preset in base big; do
        for f in score.json perplexity.json curve.svg model.tfm test.out; do
            [ -s "w/$preset/$f" ]
        done
    done
    [ "$(tf-info w/big/model.tfm | sed -n 's/^  heads *//p')" = 16 ]
    # Neither run repeats the other.
    t 0 make "${args[@]}" TRAIN_FLAGS='--layers 1 --d-model 16 --d-ff 16 --warmup 30'
    [[ $output != *tf-train* ]]
}

@test "other files in a setting make that part again" {
    corpus data a dev test
    args=(-f "$TOP/pipelines/text.mk" DEV=data/dev TEST=data/test WORK=w w/paired)
    t 0 make "${args[@]}" TRAIN='data/a data/dev'
    t 0 make "${args[@]}" TRAIN=data/a
    expect_contains "$output" "train: 600 pairs"
    [[ $output != *data/dev* ]]
    corpus more train val test_2016_flickr
    corpus data train val test_2016_flickr
    printf x | gzip >>more/val.en.gz
    touch -d '-1 minute' data/* more/*
    t 0 make -f "$TOP/pipelines/multi30k.mk" WORK=v v/dev.en DATA=data
    t 0 make -f "$TOP/pipelines/multi30k.mk" WORK=v v/dev.en DATA=more
    cmp v/dev.en <(gzip -dc more/val.en.gz)
    # The same for debian.mk, whose DATA may also be absent.
    corpus data train.en-de dev.en-de test.en-de
    touch -d '-1 minute' data/*
    args=(-f "$TOP/pipelines/debian.mk" WORK=d d/dev.en)
    t 0 make "${args[@]}" DATA=data
    cp d/dev.en want
    t 0 make "${args[@]}" d/source.settings -o d/dev.en
    echo other >d/dev.en
    t 0 make "${args[@]}" DATA=data
    cmp want d/dev.en
}

@test "debian.mk: a part of the corpus that changes is unpacked again, and no other" {
    corpus data train.en-de dev.en-de test.en-de
    args=(-f "$TOP/pipelines/debian.mk" DATA=data WORK=w w/train.en w/dev.en w/test.en)
    t 0 make "${args[@]}"
    touch -d '+1 minute' data/dev.en-de.en.gz
    t 0 make "${args[@]}"
    expect_contains "$output" data/dev.en-de.en.gz
    [[ $output != *data/train* ]]
}

@test "help of every pipeline: each setting once, with its value; a folder with a space is refused" {
    for p in "$TOP"/pipelines/*.mk; do
        name=$(basename "$p" .mk)
        case $name in common | experiment | wmt14) continue ;; esac
        t 0 make -s -f "$p" help TOKENS=1234 TRAIN_FLAGS="--it's 1"
        [ -z "$(sed -n 's/^  \([A-Z_][A-Z_]*\) .*/\1/p' <<<"$output" | sort | uniq -d)" ]
        grep -qx '  TOKENS        1234' <<<"$output"
        grep -qx "  TRAIN_FLAGS   --it's 1" <<<"$output"
        [[ $output != *'$('* ]]
        # Each setting is explained in the line after it.
        explained=$(awk '/^  [A-Z_]+ / { if (name) print name; name = $1; next }
            /^                    [^ ]/ { name = "" } END { if (name) print name }' <<<"$output")
        [ -z "$explained" ] || { echo "$p: not explained: $explained" >&2; return 1; }
        t 2 make -s -f "$p" WORK='my dir'
        expect_error 'WORK=my dir: a name without spaces is required'
        t 2 make -s -f "$p" RESULTS='my dir'
        expect_error 'RESULTS=my dir: a name without spaces is required'
    done
    t 0 make -s -f "$TOP/pipelines/text.mk" help
    expect_contains "$output" '  TRAIN         (needed: a stem; STEM.en and STEM.de, plain or .gz, or a file'
    expect_contains "$output" "text.mk PAIR=en-de TRAIN='news/2011 subtitles/all' DEV="
    # The paper's parser by default, a trial on request.
    t 0 make -s -f "$TOP/pipelines/parsing.mk" help
    grep -qx '  LAYER         (the last but one)' <<<"$output"
    grep -qx '  PRESET        parse-wsj' <<<"$output"
    grep -qx '  VOCAB_SIZE    16000' <<<"$output"
    t 0 make -s -f "$TOP/pipelines/parsing.mk" help PRESET=parse-semi
    grep -qx '  VOCAB_SIZE    32000' <<<"$output"
    t 0 make -s -f "$TOP/pipelines/parsing.mk" help SMALL=1
    grep -qx '  PRESET        tiny' <<<"$output"
    [[ $output != *PAIR* ]]
}

@test "a path with a blank: from within it works, from elsewhere one line says why not" {
    mkdir 'a b'
    cp -r "$TOP/pipelines" 'a b'
    for l in en de; do echo x >"a b/t.$l"; done
    for p in 'a b'/pipelines/*.mk; do
        case $(basename "$p" .mk) in common | experiment | wmt14) continue ;; esac
        for name in "$p" "$PWD/$p"; do
            t 2 make -f "$name" help
            expect_error "$name: make reads no path with a blank; cd into that folder"
        done
        (cd 'a b' && t 0 make -s -f "${p#*/}" help)
    done
    cd 'a b'
    t 0 make -f pipelines/text.mk WORK=w w/paired TRAIN=t DEV=t TEST=t
    t 0 make -n -f pipelines/debian.mk w/indices WORK=w
    expect_contains "$output" "-o Dir::State='$PWD/w/apt'"
}

@test "paper-score: listed and accepted only where it can work" {
    touch t.en t.de t.cs
    listed() { [[ $output == *$'\npaper-score '* ]]; }
    for p in "text TRAIN=t DEV=t TEST=t" "table3 TRAIN=t DEV=t" "multi30k DATA=t" "debian DATA=t"; do
        read -r -a args <<<"-f $TOP/pipelines/${p/ /.mk }"
        t 0 make -s "${args[@]}" help
        listed
        t 0 make -s "${args[@]}" help PAIR=en-cs
        run ! listed
        t 2 make "${args[@]}" WORK=w paper-score PAIR=en-cs
        expect_error "paper-score: only for German, English and French, not cs"
    done
    args=(-f "$TOP/pipelines/parsing.mk" TRAIN=t.en DEV=t.en TEST=t.en)
    t 0 make -s "${args[@]}" help
    run ! listed
    t 2 make "${args[@]}" WORK=w paper-score
    expect_error "paper-score: only for German, English and French, not tags"
    [ ! -e w ]
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
    [ "$(cut -f 1 pairs | sort -n | head -n 1)" -ge 1000 ]
    awk -f "$TOP/examples/demo/numbers" -v below=1000 >small
    [ "$(cut -f 1 small)" = "$(seq 0 999)" ]
    cat small >>pairs
    for want in '0 null' '1 eins' '16 sechzehn' '21 einundzwanzig' '30 dreißig' '71 einundsiebzig' \
        '101 einhunderteins' \
        '1001 eintausendeins' '345 dreihundertfünfundvierzig'; do
        grep -qxP "${want% *}\t${want#* }" pairs
    done
}
