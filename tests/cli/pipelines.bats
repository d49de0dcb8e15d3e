#!/usr/bin/env bats
# The Makefiles of pipelines/ and the demo, run small: every stage for real, the scores mean
# nothing.
# bats file_tags=first,plain
load helper
load pipelines

@test "multi30k.mk small" {
    data=$T/data
    real_text multi30k "$data" || corpus "$data" train val test_2016_flickr
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
    expect_output "$(printf '%s\n' 'train: 300 pairs' 'dev: 40 pairs' 'test: 40 pairs' \
        w/{vocab.model,train.{en,de}.tfs,dev.{en,de}.tfs,dev.tfs} \
        w/{trained,model.tfm,test.out,score.json})"
    touch w/test.out
    t 0 make "${args[@]}" w/score.json V=1
    expect_contains "${lines[0]}" "tf-bleu "
    t 0 env -u V make -n "${args[@]}" w/perplexity.json
    expect_contains "$output" "tf-score "
    # Another text of the same names is another training.
    gzip -dc data/a.de.gz | tac | gzip >data/b.gz
    mv data/b.gz data/a.de.gz
    t 2 make "${args[@]}" w/trained
    expect_contains "$stderr" "w/run was trained on another text; use another WORK, or remove w/run"
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
    [ "$(wc -l <w-small/train.en)" -eq 600 ]
    cmp w-small/train.de <(gzip -dc data/a.de.gz data/b.de.gz)
    t 2 make "${args[@]}" WORK=x
    expect_contains "$stderr" "TRAIN= is needed"
    t 2 make "${args[@]}" WORK=x TRAIN=data/c
    expect_contains "$stderr" "TRAIN=data/c: neither data/c.en nor data/c.en.gz exists"
    t 2 make "${args[@]}" WORK=x TRAIN='data/a data/b' DEV=data/d
    expect_error "DEV=data/d: neither data/d.en nor data/d.en.gz exists"
    t 2 make "${args[@]}" WORK=x TRAIN=data/a PAIR=en-fr
    expect_error "TRAIN=data/a: neither data/a.fr nor data/a.fr.gz exists"
    for pair in ende en-de-fr en-en; do
        t 2 make "${args[@]}" WORK=x TRAIN=data/a PAIR=$pair
        expect_error "PAIR=$pair: two languages such as en-de are required"
    done
    [ ! -e x ]
    [ ! -e x-small ]
    sed -i 1d data/b.en
    t 2 make "${args[@]}" WORK=x TRAIN=data/b
    expect_contains "$stderr" "TRAIN=data/b: 299 lines of en, 300 of de"
    gzip -dc data/a.de.gz >data/b.de.gz
    t 2 make "${args[@]}" WORK=x TRAIN='data/a data/b'
    expect_contains "$stderr" "gzip: data/b.de.gz: not in gzip format"
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
    for p in "multi30k train data/train.en.gz 299 300" "multi30k dev data/val.de.gz 40 39" \
        "multi30k test data/test_2016_flickr.en.gz 39 40" \
        "debian train data/train.en-de.en.gz 299 300" "debian test data/test.en-de.de.gz 40 39" \
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

@test "text.mk: a file without the end of its last line keeps its pairs apart, whatever its name" {
    mkdir data
    printf 'one\ntwo' >data/a.en
    printf 'eins\nzwei\n' >data/a.de
    printf 'three\nfour\n' >"data/b(1)&it's.en"
    printf 'drei\nvier' >"data/b(1)&it's.de"
    t 0 make -f "$TOP/pipelines/text.mk" TRAIN="data/a data/b(1)&it's" DEV=data/a \
        TEST=data/a WORK=w w/paired
    expect_contains "$output" "train: 4 pairs"
    [ "$(paste w/train.en w/train.de)" = $'one\teins\ntwo\tzwei\nthree\tdrei\nfour\tvier' ]
}

@test "a file whose name make cannot read is named, also when a pattern matches it" {
    for l in en de; do echo $l >t.$l; done
    args=(-f "$TOP/pipelines/text.mk" DEV=t TEST=t WORK=w w/paired)
    for c in : = ';' '|' '#' '$' "\\"; do
        for l in en de; do echo $l | tee "a${c}b.$l" >"1.$l"; done
        for pattern in "a${c/\$/\$\$}b" '*'; do
            t 2 make "${args[@]}" TRAIN="$pattern"
            expect_error "TRAIN=a${c}b: make reads no file name with '$c'"
        done
        rm "a${c}b".*
    done
    for l in en de; do echo $l >"a[b].$l"; done
    for pattern in 'a[b]' 'a*'; do
        t 2 make "${args[@]}" TRAIN="$pattern"
        expect_error "TRAIN=a[b]: make reads no file name with '['"
    done
    t 2 make "${args[@]}" TRAIN='a[1-9]'
    expect_error "TRAIN=a[1-9]: neither a[1-9].en nor a[1-9].en.gz exists"
    t 2 make -f "$TOP/pipelines/parsing.mk" TRAIN=t=t DEV=t TEST=t WORK=w
    expect_error "TRAIN=t=t: make reads no file name with '='"
    t 2 make -f "$TOP/pipelines/recipes.mk" TRAIN=t DEV=t TEST=t MONO='t|t' WORK=w back-translation
    expect_error "MONO=t|t: make reads no file name with '|'"
    t 2 make -f "$TOP/pipelines/wmt14-ende.mk" SMALL='t;t' WORK=w
    expect_error "SMALL=t;t: make reads no file name with ';'"
    [ ! -e w ]
    for l in en de; do cp t.$l ./-t.$l; cp t.$l '~@,%!.'$l; done
    t 0 make -s "${args[@]}" TRAIN='-t ~@,%!'
    expect_contains "$output" 'train: 2 pairs'
    # What another program reads from the environment is no setting here.
    MODEL=org:m DOMAIN=http://localhost t 0 make -s "${args[@]}" TRAIN=t
    # Not all settings are put into the text of a rule.
    for c in = '#' "\\"; do
        for l in en de; do cp t.$l "a${c}b.$l"; done
        local b="a${c}b" recipes=(-f "$TOP/pipelines/recipes.mk" TEST=t)
        t 0 make -s "${recipes[@]}" TRAIN=t DEV=t MONO="$b.de" WORK=v v/mono.de
        t 0 make -s "${recipes[@]}" MODEL="$b.de" DOMAIN="$b" DOMAIN_DEV="$b" DOMAIN_TEST="$b" WORK=v \
            v/domain/copied v/plain/model.tfm
        t 0 make -s -f "$TOP/pipelines/wmt14-ende.mk" SMALL="$b" WORK=v v/test.en
        cmp t.de v/mono.de
        cmp t.de v/plain/model.tfm
        rm -r v
    done
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
    # Their names may be longer than what one command takes.
    long=$(printf '%0250d' 0)
    mkdir many
    for i in {1..180}; do
        echo "$i"$'\t'"$i" >"many/$long$i"
    done
    t 0 make "${args[@]}" TRAIN='many/*' w/train.de
    [ "$(wc -l <w/train.de)" = 180 ]
    # Once a training has begun, its text stays as it is.
    mkdir w/run
    : >w/run/ckpt-00000001.tfm
    make -s "${args[@]}" TRAIN='many/*' w/training.settings
    echo $'a\tb' >many/more
    for text in 'many/*' news/1; do
        t 2 make -j2 "${args[@]}" TRAIN="$text" DEV=news/3 w/train.de
        expect_contains "$stderr" "w/run was trained with different settings ("
        expect_contains "$stderr" "texts:180"
    done
    [ "$(wc -l <w/train.de)" = 180 ]
    [ "$(<w/files.DEV.settings)" = "news/1 news/1.en news/1.de" ]
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

@test "debian.mk small, from a corpus made before" {
    data=$T/data
    real_text ddtp "$data" || corpus "$data" train.en-de dev.en-de test.en-de
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
        [ "$(tf-info "w-trial/$1/1/model.tfm" | sed -nE "s/^  ($fields) +//p" | xargs)" = "$2" ]
    }
    is_model base '8 8 256 8 64 6'
    is_model A-h1 '64 64 256 1 64 6'
    is_model big '8 8 512 16 128 6'
    # Perplexity and BLEU of the development set, the parameters, and the paper's.
    grep -Eq '^E +[0-9]+\.[0-9]{2} +[0-9.]+ +[0-9]+\.[0-9]{2}   4\.92 25\.7 -$' w-trial/table.txt
    [ "$(tf-info w-trial/E/1/model.tfm | sed -n 's/^  positions *//p')" = learned ]
    [ "$(tf-info w-trial/A-h1/1/model.tfm | sed -n 's/^  heads *//p')" = 1 ]
    cmp w-trial/data/test.de <(gzip -dc data/dev.de.gz)
    # A row without a finite perplexity is named, and no row of the table.
    t 2 make -s -f "$TOP/pipelines/table3.mk" SCALE=small TRAIN=data/train DEV=data/dev WORK=d \
        VOCAB_SIZE=200 STEPS=8 SAVE_EVERY=8 AVERAGE=1 TOKENS=1000 DECODE_FLAGS='--max-extra 2' \
        TRAIN_FLAGS='--warmup 1 --lr-scale 300' ROWS=C-n2
    expect_contains "$stderr" "row C-n2: no finite perplexity: its training diverged"
    [ ! -e d/rows.txt ]
    # One row more trains only that, from the same vocabulary.
    t 0 env -u MAKELEVEL -u MAKEFLAGS make -s -j2 "${args[@]}" \
        ROWS='base A-h1 E big D-p0.2 B-dk16'
    # Its makes share the two jobs.
    [[ $stderr != *jobserver* ]]
    [ "$(wc -l <w-trial/table.txt)" -eq 7 ]
    is_model B-dk16 '2 8 256 8 64 6'
    [ "$(grep -c 'pairs in' <<<"$stderr")" -eq 2 ]
    [ "$(tf-info w-trial/D-p0.2/1/model.tfm | sed -n 's/^  dropout *//p')" = 0.14 ]
    t 0 make -s "${args[@]}" paper-score WORK=w-trial ROWS='base E' -o w-trial/base/1/row.txt \
        -o w-trial/E/1/row.txt -o small
    [ "$(cut -d = -f 1 <<<"$output")" = $'base/1       BLEU \nE/1          BLEU ' ]
    # Another development set is not taken for that one.
    t 0 make -s "${args[@]}" ROWS=E DEV=data/test
    cmp w-trial/data/test.de <(gzip -dc data/test.de.gz)
    [ w-trial/E/1/test.out -nt w-trial/data/test.de ]
}

@test "recipes.mk small: four recipes, each beside the plain model" {
    # Text of so many letters that the blank is the most frequent piece.
    mkdir data
    "$TF_PYTHON" - <<'PY'
import gzip, random
random.seed(5)
word = lambda: "".join(chr(random.randrange(0x400, 0x480)) for _ in range(2))
for name, n in ("train", 300), ("dev", 40), ("test", 40):
    lines = [[word() for _ in range(random.randrange(3, 8))] for _ in range(n)]
    for side, step in ("en", 1), ("de", -1):
        with gzip.open(f"data/{name}.{side}.gz", "wt", encoding="utf-8") as f:
            f.writelines(" ".join(x[::step]) + "\n" for x in lines)
PY
    flags='--max-extra 2 --min-length 3 --no-repeat-ngram 1' # those of small
    zcat data/dev.de.gz | head -n 30 >mono.de
    zcat data/dev.de.gz | tail -n 10 | gzip >more.gz
    args=(-s -f "$TOP/pipelines/recipes.mk" TRAIN=data/train DEV=data/dev TEST=data/test)
    t 0 env -u MAKELEVEL -u MAKEFLAGS make -j2 "${args[@]}" small MONO='mono.de more.gz' \
        DOMAIN=data/test DOMAIN_DEV=data/dev DOMAIN_TEST=data/dev WORK=w
    [[ $stderr != *jobserver* ]]
    # A table for each, in which the plain model is the baseline; tuning has two.
    [ "$(grep -c 'Baseline: plain/' <<<"$output")" -eq 5 ]
    for m in back student small tuned seed-2 ensemble; do
        expect_contains "$output" " $m/test.out "
    done
    expect_contains "$output" " tuned/domain.out "
    grep -Eq '^student: [0-9.]+ s for the test set on one thread' <<<"$stderr"
    # What each trained on.
    [ "$(wc -l <w-small/back/train.en)" -eq 340 ]
    cmp <(tail -n 40 w-small/back/train.de) <(zcat data/dev.de.gz)
    cmp <(tail -n 40 w-small/back/train.en) w-small/mono.en
    cmp w-small/student/train.en w-small/plain/train.en
    cmp w-small/student/train.de w-small/taught.de
    run -1 grep -q '^ *$' w-small/taught.de
    [ "$(tf-info w-small/student/model.tfm | sed -n 's/^  encoder_layers *//p')" = 1 ]
    m=w-small/plain/model.tfm
    # shellcheck disable=SC2086
    tf-tokenize -m $m w-small/plain/test.en |
        tf-decode -q -m $m -m w-small/seed-2/model.tfm $flags |
        tf-tokenize -d -m $m | cmp - w-small/ensemble/test.out
    # Again: nothing is trained, whatever blanks are between names.
    t 0 make "${args[@]}" small MONO='mono.de  more.gz' DOMAIN=data/test DOMAIN_DEV=data/dev \
        DOMAIN_TEST=data/dev WORK=w
    [[ $stderr != *"finished at"* ]]
    # What is missing is named before anything is trained.
    t 2 make "${args[@]}" WORK=w tuning DOMAIN=data/test
    expect_contains "$stderr" "DOMAIN_DEV= is needed"
    t 2 make "${args[@]}" WORK=w back-translation
    expect_contains "$stderr" "MONO= is needed"
    t 2 make -s -f "$TOP/pipelines/debian.mk" tuning MODEL=theirs.tfm
    expect_contains "$stderr" "OTHER= is needed"
    # Without a target, a list of them.
    t 0 make "${args[@]}" WORK=w
    expect_contains "$output" "models of several SEEDS"
    t 2 make "${args[@]}" WORK=w back-translation MONO=none.de
    expect_contains "$stderr" "No rule to make target 'none.de'"
    # So are options that do not exist.
    t 2 make "${args[@]}" WORK=w back-translation MONO=mono.de SAMPLE_FLAGS='--beam 2'
    expect_contains "$stderr" "tf-decode: --beam is only for search"
    t 2 make "${args[@]}" WORK=w distillation STUDENT=--encodr-layers
    expect_contains "$stderr" "tf-train: unknown option --encodr-layers"
    t 2 make "${args[@]}" WORK=w tuning DOMAIN=data/test DOMAIN_DEV=data/dev DOMAIN_TEST=data/dev \
        TUNE_FLAGS='--stps 2'
    expect_contains "$stderr" "tf-train: unknown option --stps"
    [ ! -e w/plain ]
    # A model of somebody else's in place of the plain one, without TRAIN and DEV.
    mkdir corpus
    for d in train:dev dev:test test:dev; do
        for l in en de; do cp data/${d#*:}.$l.gz corpus/${d%:*}.en-de.$l.gz; done
    done
    tf-convert --to tfm -o theirs.tfm w-small/back/model.tfm
    args=(-s -f "$TOP/pipelines/debian.mk" DATA=corpus WORK=d OTHER=data/test DECODE_FLAGS="$flags")
    t 0 make "${args[@]}" MODEL=theirs.tfm TUNE_FLAGS='--steps 2 --save-every 1' tuning
    expect_contains "$stderr" "d/tuning/tuned/best.tfm"
    [[ $stderr != *../tuned* ]]
    [ "$(grep -c 'Baseline: plain/' <<<"$output")" -eq 2 ]
    cmp d/tuning/plain/test.out w-small/back/test.out
    cmp d/tuning/domain/train.de <(gzip -dc data/dev.de.gz)
    # A run that was interrupted continues.
    rm d/tuning/tuned/trained
    t 0 make "${args[@]}" MODEL=theirs.tfm TUNE_FLAGS='--steps 2 --save-every 1' tuning
    expect_contains "$stderr" "step 2 of 2 is done: nothing left to do"
    # Another text of the same names, a second model and other options, of which those tables would
    # not be, are refused.
    gzip -dc corpus/train.en-de.de.gz | tac | gzip >corpus/train.en-de.new
    mv corpus/train.en-de.new corpus/train.en-de.de.gz
    t 2 make "${args[@]}" MODEL=theirs.tfm TUNE_FLAGS='--steps 2 --save-every 1' tuning
    expect_contains "$stderr" "d/tuning/tuned was trained on another text; use another WORK, or remove"
    t 2 make "${args[@]}" MODEL=theirs.tfm TUNE_FLAGS='--steps 3 --save-every 1' tuning
    expect_contains "$stderr" "d/tuning/tuned was trained with different settings (--steps 2, not --steps 3)"
    cp -p theirs.tfm other.tfm
    t 2 make "${args[@]}" MODEL=other.tfm TUNE_FLAGS='--steps 2 --save-every 1' tuning
    expect_contains "$stderr" "(theirs.tfm, not other.tfm); use another WORK, or remove d/tuning/tuned"
    args=(-f "$TOP/pipelines/recipes.mk" TRAIN=data/train DEV=data/dev TEST=data/test \
        DOMAIN=data/test DOMAIN_DEV=data/dev DOMAIN_TEST=data/dev)
    t 2 make "${args[@]}" WORK=w-small MONO=data/dev.de.gz DECODE_FLAGS="$flags" \
        SAMPLE_FLAGS="$flags" back-translation
    expect_contains "$stderr" "w-small/back/run was trained with different settings (mono.de more.gz, not data/dev.de.gz)"
    # It never takes the place of a model that was trained, nor of itself.
    t 2 make "${args[@]}" WORK=w-small MODEL=theirs.tfm w-small/plain/model.tfm
    expect_contains "$stderr" "WORK=w-small has a plain model of its own: MODEL=theirs.tfm needs another"
    rm -r d/tuning/tuned
    t 0 make "${args[@]}" WORK=d/tuning MODEL=d/tuning/plain/model.tfm d/tuning/plain/model.tfm
    cmp theirs.tfm d/tuning/plain/model.tfm
}

@test "table3.mk: make small never writes where SCALE=small does" {
    folder() { sed -n "s/.* WORK='*\([^' ]*\)\/data'* .*/\1/p" <<<"$output" | sort -u; }
    touch t.en t.de
    args=(-n -f "$TOP/pipelines/table3.mk" TRAIN=t DEV=t ROWS=base)
    t 0 make "${args[@]}" SCALE=small
    scaled=$(folder)
    [ -n "$scaled" ]
    t 0 make "${args[@]}" small
    [ "$(folder)" != "$scaled" ]
}

@test "table3.mk: what SCALE=small changes of each row" {
    t 0 make -n -f "$TOP/pipelines/table3.mk" SCALE=small TRAIN=t DEV=d WORK=w
    while read -r row want; do
        expect_contains "$output" "PRESET=$row STEPS=3000 SEED=1 TRAIN_FLAGS='$want --warmup 500' "
    done <<'X'
base --d-model 64 --d-ff 256 --dropout 0.07
A-h32 --d-model 64 --d-ff 256 --dropout 0.07
B-dk16 --d-model 64 --d-ff 256 --d-k 2 --dropout 0.07
B-dk32 --d-model 64 --d-ff 256 --d-k 4 --dropout 0.07
C-n2 --d-model 64 --d-ff 256 --dropout 0.07
C-d256 --d-model 32 --d-ff 256 --dropout 0.07
C-d1024 --d-model 128 --d-ff 256 --dropout 0.07
C-ff1024 --d-model 64 --d-ff 128 --dropout 0.07
C-ff4096 --d-model 64 --d-ff 512 --dropout 0.07
E --d-model 64 --d-ff 256 --dropout 0.07
big --d-model 128 --d-ff 512 --dropout 0.21
X
    # A factor on each row's dropout.
    t 0 make -n -f "$TOP/pipelines/table3.mk" TRAIN=t DEV=d WORK=w DROPOUT=0.5
    for want in base:0.05 D-p0.0:0 D-p0.2:0.1 big:0.15; do
        grep -qE "PRESET=${want%:*} .* TRAIN_FLAGS='--dropout ${want#*:}' " <<<"$output"
    done
    # The mean of seeds: of log-perplexity, and of BLEU.
    mkdir -p w/base/1 w/base/2
    echo base 2 10 5 >w/base/1/row.txt
    echo base 8 11 5 >w/base/2/row.txt
    t 0 make -s -f "$TOP/pipelines/table3.mk" SCALE=small TRAIN=t DEV=d WORK=w ROWS=base \
        SEEDS='1 2' w/rows.txt -o w/base/1/row.txt -o w/base/2/row.txt
    [ "$(<w/rows.txt)" = 'base 4 10.5 5 4.92 25.8 65' ]
    for wrong in DROPOUT=x DROPOUT= SEEDS=x SEEDS='1 1' SEEDS=; do
        t 2 make -n -f "$TOP/pipelines/table3.mk" TRAIN=t DEV=d "$wrong"
        expect_contains "$stderr" "$wrong: "
    done
    t 2 make -n -f "$TOP/pipelines/table3.mk" TRAIN=t DEV=d ROWS=
    expect_error "ROWS=: at least one is required"
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

@test "parsing.mk small: treebanks as they are distributed, to trees over the same words and their score" {
    treebank 150 1 >a.mrg
    treebank 150 2 | gzip >b.mrg.gz
    treebank 20 3 >dev.mrg
    treebank 20 4 >test.mrg
    args=(-f "$TOP/pipelines/parsing.mk" DEV=dev.mrg TEST=test.mrg WORK=w VOCAB_SIZE=60)
    t 0 make "${args[@]}" small TRAIN='a.mrg b.mrg.gz'
    [ "$(wc -l <w-small/train.trees)" -eq 300 ]
    run -1 grep -e -NONE- -e SBJ w-small/train.trees
    # Whatever the model wrote, the trees stand over the words of the test set, and all of them are
    # counted.
    tf-tree -l -b words -w words -o tags w-small/test.parsed
    cmp words w-small/test.words
    [ "$(jq '.rows | length' w-small/f1.json)" -eq 20 ]
    grep -q '<svg' w-small/curve.svg
    t 0 make "${args[@]}" small TRAIN='a.mrg b.mrg.gz'
    [[ $output != *tf-train* ]]
    expect_contains "$output" "Number of sentence        =     20"
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
    # Another file that a pattern matches is another treebank.
    mkdir wsj
    cp t.mrg wsj/1.mrg
    t 0 make "${args[@]}" TEST='wsj/*.mrg'
    cp t.mrg "wsj/it's(2).mrg"
    touch -d '-1 hour' wsj/it*
    t 0 make "${args[@]}" TEST='wsj/*.mrg'
    [ "$(wc -l <w/test.trees)" -eq 10 ]
    # Thousands of files are no command that is too long.
    mkdir many
    touch many/{1..600}-"$(printf '%0240d' 0)"
    t 0 make -n "${args[@]}" TRAIN='many/*' w/train.trees
    [ "${#output}" -lt 20000 ]
    t 0 make "${args[@]}" BRACKETS=words
    run -1 grep DT w/test.tags
    t 0 make "${args[@]}" w/training.settings w/train.trees
    mkdir w/run
    touch w/run/ckpt-00000001.tfm
    t 2 make "${args[@]}" BRACKETS=words
    expect_contains "$stderr" "different settings (--brackets slash, not --brackets words)"
    grep -q DT w/test.tags
    # Nor are other treebanks read for it.
    t 2 make "${args[@]/test.tags/train.trees}" TRAIN='wsj/*.mrg'
    expect_contains "$stderr" "different settings (t.mrg, not wsj/*.mrg)"
    [ "$(wc -l <w/train.trees)" -eq 5 ]
    [ "$(<w/files.TRAIN.settings)" = t.mrg ]
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

@test "parsing.mk sweep: dropouts, rate and beam on the development set" {
    treebank 100 1 >train.mrg
    treebank 10 2 >dev.mrg
    flags='--schedule linear --lr-end 0 --warmup 2'
    args=(-f "$TOP/pipelines/parsing.mk" TRAIN=train.mrg DEV=dev.mrg SMALL=1 WORK=w VOCAB_SIZE=60 \
        TRAIN_FLAGS="$flags" STEPS=4 SAVE_EVERY=2 AVERAGE=2 TOKENS=500 BEAMS='1 2' \
        DECODE_FLAGS='--max-extra 5')
    sweep=(sweep DROPOUTS=0.1 ATTENTION_DROPOUTS='0 0.2' RATES='1e-3 0.01')
    t 0 env -u MAKELEVEL -u MAKEFLAGS make -j2 "${args[@]}" "${sweep[@]}"
    [[ $stderr != *jobserver* ]]
    [ "$(grep -cE '^0\.1 ' <<<"$output")" -eq 8 ]
    for rate in 1e-3 0.01; do
        for a in 0 0.2; do
            grep -q "\"dropout\":0.1," "w/sweep/0.1-$a-$rate/run/log.jsonl"
            grep -q "\"attention_dropout\":$a}" "w/sweep/0.1-$a-$rate/run/log.jsonl"
            grep -q "\"lr\":${rate/1e-3/0.001}," "w/sweep/0.1-$a-$rate/run/log.jsonl"
            for beam in 1 2; do
                grep -qE "^0\.1 +$a +$rate +$beam +([0-9.]+|null)$" <<<"$output"
            done
        done
    done
    # What is parsed as a test set, and its score.
    model=w/sweep/0.1-0.2-0.01
    flags+=' --dropout 0.1 --attention-dropout 0.2 --lr 0.01'
    t 0 make "${args[@]}" TEST=dev.mrg BEAM=2 TRAIN_FLAGS="$flags" WORK=w/sweep/data \
        RESULTS=$model $model/f1.json
    [[ $output != *tf-train* ]]
    cmp $model/test.out $model/search/2-1.out
    [ "2 1 $(jq .failures_as_misses.f1 $model/f1.json)" = "$(cat $model/search/2-1.txt)" ]
    # Once more: the same table, and nothing to train or to decode.
    outputs() { find w -regex '.*\.\(tfs\|out\)' -printf '%p %T@\n' | sort; }
    made=$(outputs)
    t 0 make "${args[@]}" "${sweep[@]}"
    [[ $stderr != *tf-train* && $stderr != *tf-decode* ]]
    [ "$(outputs)" = "$made" ]
    # Beams and alphas of one model; F1 counts sentences that EVALB does not score as missed.
    t 0 make -s "${args[@]}" TRAIN_FLAGS="$flags" search TEST=dev.mrg CONSTRAIN=1 ALPHAS='0 0.3'
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
    # From now on these are the defaults, of these results alone.
    t 0 make "${args[@]}" w/test.out
    expect_contains "$output" "--beam 1 --alpha 1 "
    t 0 make -n "${args[@]}" BEAM=2 w/test.out
    expect_contains "$output" "--beam 2 --alpha 1 "
    t 0 make -n "${args[@]}" RESULTS=other other/test.out
    expect_contains "$output" "--beam 4 --alpha 0.6 "
    # A value that begins with a dash is that value.
    t 2 make "${args[@]}" search BEAMS=1 ALPHAS=-0.2
    expect_contains "$stderr" "--alpha"
    # Other options decode again; one more alpha is decoded alone.
    t 0 make "${args[@]}" search ALPHAS='0 0.5 1'
    [ "$(grep -c 'tf-decode' <<<"$output")" -eq 2 ]
    t 0 make "${args[@]}" search ALPHAS=0 DECODE_FLAGS='--max-extra 3'
    [ "$(grep -c 'tf-decode' <<<"$output")" -eq 2 ]
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
        [ "$(wc -l <"w/$file")" -ge 40 ]
        rm -r w
    done
    # Nor does any recipe write under the final name.
    run -1 grep -nE '>>? *\$+(@|\(@\))( |;|$)' "$TOP"/pipelines/*.mk
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

@test "a path with a blank: from within it works, from elsewhere one line says why not" {
    mkdir 'a b'
    cp -r "$TOP/pipelines" 'a b'
    mkdir 'a b/build'
    ln -s "$(dirname "$(type -P tf-train)")" 'a b/build/bin'
    for l in en de; do echo x >"a b/t.$l"; done
    for p in 'a b'/pipelines/*.mk; do
        case $(basename "$p" .mk) in best | common | experiment | wmt14) continue ;; esac
        for name in "$p" "$PWD/$p"; do
            t 2 make -f "$name" help
            expect_error "$name: make reads no path with a blank; cd into that folder"
        done
        (cd 'a b' && t 0 make -s -f "${p#*/}" help)
    done
    cd 'a b'
    for _ in 1 2; do # the second time there is the folder
        t 0 make -f pipelines/text.mk WORK=w w/paired TRAIN=t DEV=t TEST=t
    done
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
