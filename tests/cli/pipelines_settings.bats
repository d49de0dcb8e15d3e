#!/usr/bin/env bats
# The settings of the pipelines: what each changes, and what is made again.
# bats file_tags=plain
load helper
load pipelines

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

@test "table3.mk passes on what to read and how to train: fields, threads, ranks, launcher" {
    t 0 env -u MAKELEVEL -u MAKEFLAGS make -n -f "$TOP/pipelines/table3.mk" SCALE=small TRAIN=t \
        DEV=d WORK=w ROWS=base RANKS=2 LAUNCH='srun -n 2' THREADS=3 FIELDS='3 1' \
        TRAIN_FLAGS="--valid-command 'score \$\$TF_MODEL'"
    expect_contains "$output" "RANKS='2' LAUNCH='srun -n 2'"
    expect_contains "$output" "THREADS='3'"
    expect_contains "$output" "FIELDS='3 1'"
    # Quotes, and the dollar for the shell.
    expect_contains "$output" "TRAIN_FLAGS='--d-model 64 --d-ff 256 --dropout 0.07 --valid-command '\\''score \$\$TF_MODEL'\\''' "
    touch t.en t.de
    t 0 make -n -f "$TOP/pipelines/text.mk" TRAIN=t DEV=t TEST=t WORK=w RANKS=2 THREADS=3
    expect_contains "$(tr -s ' ' <<<"$output")" " tf-train --vocab w/vocab.model --valid w/dev.tfs --threads 3 "
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

@test "SAMPLE: each epoch of training has a segmentation of its own" {
    corpus data train val test_2016_flickr
    args=(-f "$TOP/pipelines/multi30k.mk" DATA=data WORK=w VOCAB_TYPE=bpe VOCAB_SIZE=200 SEED=3 \
        TOKENS=4500 TRAIN_FLAGS='--layers 1 --warmup 30' STEPS=4 SAVE_EVERY=4 AVERAGE=1 w/trained)
    t 0 make "${args[@]}" SAMPLE=0.1
    [ ! -e w/batches.fifo ]
    for e in 0 1 2; do
        tf-batch -q --tokens 4500 --max-length 256 --seed 3 --first-epoch $e \
            <(tf-tokenize -m w/vocab.model --sample --alpha 0.1 --seed 31$e w/train.en) \
            <(tf-tokenize -m w/vocab.model --sample --alpha 0.1 --seed 32$e w/train.de)
    done | tf-train -q --vocab w/vocab.model --preset tiny --layers 1 --warmup 30 --steps 4 \
        --save-every 4 --seed 3 --valid w/dev.tfs -o own
    grep -q '"epoch":1' own/log.jsonl
    cmp own/ckpt-00000004.tfm w/run/ckpt-00000004.tfm
    t 2 make "${args[@]}"
    expect_contains "$stderr" "different settings (--epochs 1 --sample 0.1, not --epochs 0)"
    # The text is in one piece, whatever PARTS says.
    t 0 make "${args[@]}" SAMPLE=0.1 PARTS=2
    [[ $output != *tf-* ]]
    # Nothing is trained where the batches end early because they failed.
    mkdir bin
    printf '#!/bin/sh\ncase "$*" in *--first-epoch\ 1*) exit 3 ;; esac; exec "%s" "$@"\n' \
        "$(command -v tf-batch)" >bin/tf-batch
    chmod +x bin/tf-batch
    PATH=$PWD/bin:$PATH t 2 make "${args[@]}" SAMPLE=0.1 WORK=w RESULTS=r r/trained
    [ -e r/run/log.jsonl ] && [ ! -e r/trained ]
    # When its shell is killed, nothing is left that makes batches.
    rm bin/tf-batch
    printf '#!/bin/sh\ncase $* in *--plan*) exit ;; esac; for f; do :; done; exec cat "$f" >/dev/null\n' >bin/tf-train
    chmod +x bin/tf-train
    PATH=$PWD/bin:$PATH make "${args[@]}" SAMPLE=0.1 RESULTS="$PWD/k" "$PWD/k/trained" &
    wait_for pgrep -f "^cat $PWD/k/batches.fifo"
    kill -9 "$(pgrep -o -f "^/bin/bash .*$PWD/k/batches.fifo")"
    run ! wait $!
    none_left() { ! pgrep -f "$PWD/k/batches" >/dev/null; }
    TF_TIMEOUT=30 wait_for none_left
}

@test "multi30k.mk RECIPE=best: lower case, words of Moses, scored as they are" {
    mkdir data
    # shellcheck disable=SC1112 # the quotation marks are of the text
    line='Ein ÄLTERER Mann’s „Zug“, Nr. 5 – (x-y) sagt "A & B".'
    printf '%s\n' "$line" Zwei. | gzip >data/train.de.gz
    args=(-f "$TOP/pipelines/multi30k.mk" DATA=data WORK=w)
    t 0 make "${args[@]}" RECIPE=best w/train.de
    expected="ein älterer mann ' s \" zug \" , nr . 5 - ( x-y ) sagt \" a & b \" ."
    [ "$(<w/train.de)" = "$expected"$'\nzwei .' ]
    # A full stop beside a quotation mark is inside in English only.
    echo $'A dog’s "home". I\'m.' | gzip >data/train.en.gz
    t 0 make "${args[@]}" RECIPE=best w/train.en
    [ "$(<w/train.en)" = "a dog 's \" home . \" i 'm ." ]
    printf '#!/bin/sh\nsed "s/$/ $1/"\n' >mine
    chmod +x mine
    t 0 make "${args[@]}" RECIPE=best MOSES=./mine w/train.de
    [ "$(tail -n 1 w/train.de)" = "Zwei. de" ]
    t 0 make "${args[@]}" w/train.de
    cmp w/train.de <(gzip -dc data/train.de.gz)
    t 0 make -n "${args[@]}" RECIPE=best RESULTS=r SEED=6 TRAIN_FLAGS='--dropout 0.1' r/trained
    expect_contains "$output" "--seed 41\$e w/train.en"
    expect_contains "$output" " --seed 5  w/train.en.tfs w/train.de.tfs |"
    expect_contains "$output" " --seed 6  -w 1 w/train.en.tfs r/own.de.tfs -w 1 "
    expect_contains "$output" " --seed 6 --init r/annealed/model.tfm --dropout 0.1 "
    t 0 make -n "${args[@]}" RECIPE=best RESULTS=r PRECISION=bf16 r/trained
    [ "$(grep -c -- ' --dropout 0[.0-9]* --precision bf16 -o r/' <<<"$output")" = 3 ]
    expect_contains "$output" "--type bpe --vocab-size 10000 "
    # What make search chose holds here, too.
    mkdir -p r/search
    echo '1 0.2' >r/search/best
    t 0 make -n "${args[@]}" RECIPE=best RESULTS=r r/test.out
    expect_contains "$output" "--beam 1 --alpha 0.2 "
    t 0 make -n "${args[@]}" RECIPE=best small
    [[ $output != *sampled* ]]
    t 2 make "${args[@]}" RECIPE=best SEED=2 w/train.de
    expect_error "SEED=2: at least 3, for each of three trainings has its own"
    t 2 make "${args[@]}" RECIPE=best SAMPLE=0.1 w/train.de
    expect_error "SAMPLE=0.1: RECIPE=best has its own, in the first of three trainings"
    t 2 make "${args[@]}" RECIPE=good w/train.de
    expect_error "RECIPE=good: default or best is required"
}

@test "multi30k.mk RECIPE=best: three trainings, the last on the choice of the second, too" {
    corpus all train val test_2016_flickr
    mkdir data
    for f in all/*; do gzip -dc "$f" | head -n 40 | gzip >"data/${f#*/}"; done
    # Each of two updates in place of thousands, with a checkpoint after both, of a small model.
    mkdir bin
    cat >bin/tf-train <<X
#!/bin/bash
args=\$(sed -E 's/--save-every [0-9]+/--save-every 1/; s/--steps ([0-9]+)(.* linear)/--decay-steps \1\2/
    s/--steps [0-9]+//' <<<"\$*")
exec $(type -P tf-train) \$args --steps 2 --layers 1 --d-model 16 --d-ff 16
X
    chmod +x bin/tf-train
    args=(-f "$TOP/pipelines/multi30k.mk" DATA=data WORK=w RESULTS=r RECIPE=best VOCAB_SIZE=100 \
        TOKENS=200 r/model.tfm)
    PATH=$PWD/bin:$PATH t 0 make -j2 "${args[@]}"
    expect_contains "$output" "tf-rerank --mbr bleu --tokenize none "
    train() {
        bin/tf-train -q --vocab w/vocab.model --valid w/dev.tfs --preset tiny --save-every 9 "$@"
    }
    batch() { tf-batch -q --tokens 200 --max-length 256 "$@"; }
    sample() { tf-tokenize -m w/vocab.model --sample --alpha 0.05 --seed "$@"; }
    linear=(--schedule linear --lr 0.003 --lr-end 0 --dropout 0.25)
    batch --seed 1 --first-epoch 0 <(sample 110 w/train.en) <(sample 120 w/train.de) |
        train --steps 4250 --seed 1 --warmup 1000 --lr-scale 1.6 --dropout 0.3 -o one
    tf-avgckpt -o one.tfm one/ckpt-00000002.tfm
    batch --epochs 0 --seed 2 w/train.en.tfs w/train.de.tfs |
        train --steps 7500 --seed 2 --init one.tfm "${linear[@]}" --warmup 200 -o two
    tf-avgckpt -o two.tfm two/ckpt-0000000[12].tfm
    tf-decode -q -m two.tfm --beam 12 --nbest 12 w/train.en.tfs |
        tf-tokenize -d --nbest -m two.tfm | tf-rerank --mbr bleu --tokenize none | tee own.de |
        tf-tokenize -m w/vocab.model -o own.tfs
    cmp own.de r/own.de
    batch --epochs 0 --seed 3 -w 1 w/train.en.tfs own.tfs -w 1 w/train.{en,de}.tfs |
        train --steps 3000 --seed 3 --init two.tfm "${linear[@]}" --warmup 100 -o three
    cmp three/ckpt-00000002.tfm r/run/ckpt-00000002.tfm
    # Again: nothing is done.
    PATH=$PWD/bin:$PATH t 0 make "${args[@]}"
    [[ $output != *-o\ r/* ]]
    # A teacher of another seed: the same trainings, and what both models write.
    PATH=$PWD/bin:$PATH t 0 make "${args[@]/r\/model.tfm/r2/own.de}" RESULTS=r2 TEACHERS='3 6'
    for f in annealed seed-6/sampled seed-6/annealed; do
        alone+=("$(jq -c 'select(.event == "start").settings.seed' "r2/$f/run/log.jsonl")")
    done
    [ "${alone[*]}" = "2 4 5" ]
    cmp r/annealed/model.tfm r2/annealed/model.tfm
    tf-decode -q -m two.tfm -m r2/seed-6/annealed/model.tfm --beam 12 --nbest 12 w/train.en.tfs |
        tf-tokenize -d --nbest -m two.tfm | tf-rerank --mbr bleu --tokenize none | cmp - r2/own.de
    PATH=$PWD/bin:$PATH t 0 make "${args[@]/r\/model.tfm/r2/own.de}" RESULTS=r2
    cmp own.de r2/own.de
    # The mean with the third training of another seed, of the same model on the same text.
    cp r/model.tfm alone.tfm
    PATH=$PWD/bin:$PATH t 0 make "${args[@]}" MEAN='3 4'
    batch --epochs 0 --seed 4 -w 1 w/train.en.tfs own.tfs -w 1 w/train.{en,de}.tfs |
        train --steps 3000 --seed 4 --init two.tfm "${linear[@]}" --warmup 100 -o four
    cmp four/ckpt-00000002.tfm r/third-4/run/ckpt-00000002.tfm
    tf-avgckpt -o four.tfm four/ckpt-0000000[12].tfm
    tf-avgckpt -o mean.tfm alone.tfm four.tfm
    cmp mean.tfm r/model.tfm
    PATH=$PWD/bin:$PATH t 0 make "${args[@]}" MEAN=4
    [[ $output != *-o\ r/* ]]
    PATH=$PWD/bin:$PATH t 0 make "${args[@]}"
    cmp alone.tfm r/model.tfm
    PATH=$PWD/bin:$PATH t 2 make "${args[@]}" TEACHERS=6
    expect_contains "$stderr" "r/run was trained with different settings ("
    expect_contains "$stderr" "--teachers 6"
}

@test "PARTS=3: the training text in parts, tokenised at the same time" {
    corpus data train val test_2016_flickr
    args=(-f "$TOP/pipelines/multi30k.mk" DATA=data WORK=w VOCAB_SIZE=200 SAVE_EVERY=2 AVERAGE=2 \
        TOKENS=1000 TRAIN_FLAGS='--warmup 30' MAX_LENGTH=60 STEPS=3 RESULTS=r r/trained)
    t 0 make -j2 "${args[@]}" PARTS=3
    expect_contains "$output" "w/parts-3/0002.de.tfs w/parts-3/0002.de --threads 1"
    expect_contains "$stderr" "of 300 records 0 dropped"
    [ ! -e w/train.en.tfs ]
    # Each line is in one part, at the same place on both sides.
    for l in en de; do
        paste -d '\n' w/parts-3/000[012].$l | cmp - w/train.$l
        [ "$(cat w/parts-3/000[012].$l.tfs | tf-cbor count | grep tokens)" = $'tokens\t300' ]
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
    [ "$(cat w/parts-2/000[01].en.tfs | tf-cbor count | sed -n 's/^tokens.//p')" = 280 ]
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
    debian 2 d/indices PAIR=de-en
    expect_error "PAIR=de-en: the descriptions are translated from English (en)"
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
    expect_contains "$stderr" "AVERAGE=2: STEPS=2 and SAVE_EVERY=2 give only 1 checkpoints; use AVERAGE=1"
    [ ! -e w/run ]
    t 2 make -j8 "${args[@]}" STEPS=3 PRESET=tinny
    expect_contains "$stderr" "tf-train: preset 'tinny': unknown"
    t 2 make -j8 "${args[@]}" STEPS=3 RECIPE=best TRAIN_FLAGS='--warmpu 3'
    expect_contains "$stderr" "tf-train: unknown option --warmpu"
    t 2 make -f "$TOP/pipelines/text.mk" TRAIN=data/val DEV=data/val TEST=data/val WORK=w \
        TRAIN_FLAGS='--initializer fuse' w/train.en
    expect_contains "$stderr" "tf-train: --initializer fuse: not one of"
    for size in '' 20000000; do
        t 2 make "${args[@]}" STEPS=3 VOCAB_SIZE="$size"
        expect_contains "$stderr" "tf-train: --vocab-size"
    done
    # Also beside options that only training uses, and in a file of options.
    t 2 make "${args[@]}" STEPS=3 TRAIN_FLAGS="--valid-command 'ls' --ranks none --warmpu 3"
    expect_contains "$stderr" "tf-train: unknown option --warmpu"
    # And those of the search.
    t 2 make "${args[@]}" STEPS=3 BEAM='1 2'
    expect_contains "$stderr" "tf-decode: unexpected operand '2'"
    t 2 make "${args[@]}" STEPS=3 ALPHA=-1
    expect_contains "$stderr" "tf-decode: --alpha -1: too small"
    t 2 make "${args[@]}" STEPS=3 DECODE_FLAGS=--max-extar
    expect_contains "$stderr" "tf-decode: unknown option --max-extar"
    [ ! -e w/run ]
    echo stps=3 >options
    t 2 make "${args[@]}" STEPS=3 TRAIN_FLAGS='--settings options'
    expect_contains "$stderr" "tf-train: --settings: options: line 1: no option 'stps'"
    t 2 make "${args[@]}" STEPS=3 RECIPE=best SEEDS='1 6'
    expect_error "SEED=1: at least 3, for each of three trainings has its own"
    [ ! -e w ]
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
        expect_contains "$stderr" "w/run was trained with different settings ($2); use another WORK, or remove w/run"
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
    expect_contains "$stderr" "SENTENCE=999: the test set has sentences 1 to 40"
    run -1 compgen -G 'w/sentence-*'
    # Without its checkpoints there is no run to keep.
    rm -r w/run
    t 0 make "${args[@]}" STEPS=2 SAVE_EVERY=1 VOCAB_SIZE=190
    [ -e w/run/ckpt-00000002.tfm ]
}

@test "a .settings file has its text, whatever that is, and changes only with it" {
    printf '%s\n' 'out: w/x.settings' $'\techo made; touch out' 'x := $(file <text)' \
        "include $TOP/pipelines/common.mk" >m.mk
    for text in '' a "it's \$HOME \$(X) \"a\` #,)*[m]? \\ (b" '  two  blanks ' \
        "$(seq -s ' ' 40000)" a; do
        echo "$text" >text
        before=$(cat w/* 2>&1) || :
        t 0 make -s -n -f m.mk out
        [ "$(cat w/* 2>&1)" = "$before" ] # make -n writes nothing
        t 0 make -s -f m.mk out
        expect_output made
        cmp text w/x.settings
        t 0 make -s -f m.mk out
        expect_output ''
    done
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
    for setting in STEPS=100k SAVE_EVERY=0 AVERAGE=05 STEPS=-1 'RANKS=1 2' THREADS=0; do
        own 2 "$setting"
        expect_error "$setting: a number from 1, written in digits, is required"
    done
    for setting in BAD=skip 'BAD=warn fail' BAD=; do
        own 2 "$setting"
        expect_error "$setting: warn or fail is required"
    done
    # Each pipeline accepts each setting that its help lists.
    for p in "$TOP"/pipelines/*.mk; do
        case $(basename "$p" .mk) in best | common | experiment | wmt14) continue ;; esac
        settings=$(make -s -f "$p" help | sed -n 's/^  \([A-Z_][A-Z_]*\) .*/\1=t/p' |
            sed -E 's/^(PARTS|STEPS|SAVE_EVERY|AVERAGE|RANKS|THREADS|SEEDS?|TEACHERS|MEAN|DROPOUT)=t/\1=2/; s/BAD=t/BAD=fail/; s/PAIR=t/PAIR=en-de/; s/SCALE=t/SCALE=small/; s/CORPORA=t/CORPORA=news/; s/RECIPE=t/RECIPE=default/; /FIELDS=t/d')
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
        '--steps 7000 --keep 4 --preset tiny --as t2t --save-every 250' \
        ' --schedule linear --lr 0.005 --lr-end 0 --warmup 1000 --dropout 0.1'
    t 0 make -n -f "$TOP/pipelines/table3.mk" TRAIN=t DEV=t DIALECT=t2t ROWS='base big'
    expect_contains "$output" " TOKENS='4096' "
    expect_contains "$output" " PRESET=big STEPS=250000 "
}

@test "a vocabulary is trained on a sample above some number of lines, or with VOCAB_FLAGS" {
    corpus data a dev test
    args=(-f "$TOP/pipelines/text.mk" TRAIN=data/a DEV=data/dev TEST=data/test VOCAB_SIZE=200)
    t 0 make "${args[@]}" WORK=w w/vocab.model
    t 0 make "${args[@]}" WORK=v v/vocab.model many=500
    run -1 cmp w/vocab.model v/vocab.model
    train=(tf-tokenize --train --type unigram --vocab-size 200)
    "${train[@]}" --max-sentences 500 -o want w/train.en w/train.de
    cmp want v/vocab.model
    t 0 make "${args[@]}" WORK=v v/vocab.model many=500 \
        VOCAB_FLAGS='--max-sentences 450 --split-digits'
    "${train[@]}" --max-sentences 450 --split-digits -o want w/train.en w/train.de
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

# What is decoded is the options of tf-decode.
fake_decoder() {
    mkdir bin
    printf '#!/bin/sh\ncat >/dev/null; echo "$*"\n' >bin/tf-decode
    printf '#!/bin/sh\nfor f; do :; done; case $* in *-o*) cat >"$f" ;; *) cat "$f" ;; esac\n' >bin/tf-tokenize
    chmod +x bin/*
}

@test "recipes.mk: other SEEDS are another ensemble, and a domain is one stem" {
    args=(-f "$TOP/pipelines/recipes.mk" TRAIN=t DEV=t TEST=t WORK=w)
    for m in plain seed-2 seed-3; do
        mkdir -p w/$m
        touch w/$m/{model.tfm,test.out,test.en}
        args+=(-o "w/$m/model.tfm" -o "w/$m/test.out")
    done
    fake_decoder
    for seeds in '2 3' 2 '2 3' 3; do
        PATH=$PWD/bin:$PATH t 0 make "${args[@]}" SEEDS="$seeds" w/ensemble/test.out
        expect_contains "$output" "| tf-decode "
        [ "$(xargs <w/ensemble/test.out)" = "-m w/plain/model.tfm$(printf ' -m w/seed-%s/model.tfm' $seeds)" ]
        PATH=$PWD/bin:$PATH t 0 make "${args[@]}" SEEDS="$seeds" w/ensemble/test.out
        [[ $output != *'| tf-decode '* ]]
    done
    for v in DOMAIN DOMAIN_DEV DOMAIN_TEST; do
        t 2 make "${args[@]}" DOMAIN=t DOMAIN_DEV=t DOMAIN_TEST=t $v='t u' w/domain/copied
        expect_contains "$stderr" "$v=t u: one stem is required"
    done
    t 2 make "${args[@]}" DOMAIN=t DOMAIN_DEV=t DOMAIN_TEST=t TEST='t u' MODEL=m w/domain/copied
    expect_contains "$stderr" "TEST=t u: one stem is required"
}

@test "recipes.mk: other DECODE_FLAGS are another text to train on, another PAIR another domain" {
    args=(-f "$TOP/pipelines/recipes.mk" TRAIN=t DEV=t TEST=t WORK=w MONO=mono)
    for m in plain reverse; do
        mkdir -p w/$m
        touch w/$m/{model.tfm,train.en}
        args+=(-o "w/$m/model.tfm")
    done
    echo x >mono
    fake_decoder
    # A search has other options than sampling, which refuses those of its beam.
    for flags in '--beam 2' '--beam 3 --alpha 1' ''; do
        drawn=${flags:+--temperature 0.${flags:7:1}}
        flagged=(DECODE_FLAGS="$flags" SAMPLE_FLAGS="$drawn" w/taught.en w/mono.en)
        PATH=$PWD/bin:$PATH t 0 make "${args[@]}" "${flagged[@]}"
        [ "$(xargs <w/taught.de)" = "$(xargs <<<"-m w/plain/model.tfm $flags")" ]
        [ "$(xargs <w/mono.en)" = "$(xargs <<<"-m w/reverse/model.tfm --sample $drawn")" ]
        PATH=$PWD/bin:$PATH t 0 make "${args[@]}" "${flagged[@]}"
        [[ $output != *'| tf-decode '* ]]
    done
    mkdir -p w/student/run w/back/run
    touch w/{student,back}/run/ckpt-1.tfm
    t 0 make "${args[@]}" w/taught.en w/mono.en
    for f in 'taught.en student DECODE --beam' 'mono.en back SAMPLE --top-k'; do
        read -r file run kind option <<<"$f"
        PATH=$PWD/bin:$PATH t 2 make "${args[@]}" "${kind}_FLAGS=$option 2" "w/$file"
        expect_contains "$stderr" "w/$run/run was trained with different settings (without $option 2)"
    done
    # A domain of the same name in another language.
    echo x | tee t.en t.de t.fr >m
    touch -d '-1 hour' t.*
    args=(-f "$TOP/pipelines/recipes.mk" TEST=t DOMAIN=t DOMAIN_DEV=t DOMAIN_TEST=t MODEL=m WORK=v v/domain/copied)
    t 0 make "${args[@]}"
    t 0 make "${args[@]}" PAIR=en-fr
    [ -s v/domain/train.fr ]
    mkdir -p v/tuned
    touch v/tuned/ckpt-1.tfm
    t 2 make "${args[@]}"
    expect_contains "$stderr" "v/tuned was trained with different settings (en-fr, not en-de)"
}

@test "two makes in one WORK: the second waits until the text is made, not until the training ends" {
    corpus data a dev test
    gzip -dc data/a.en.gz | head -n 100 >b.en
    gzip -dc data/a.de.gz | head -n 100 >b.de
    cp b.de slow.de
    mkfifo slow.en
    make=(make -s -f "$TOP/pipelines/text.mk" DEV=data/dev TEST=data/test WORK=w VOCAB_SIZE=200
        VOCAB_TYPE=bpe TOKENS=1000 TRAIN_FLAGS='--layers 1 --warmup 30')
    waits() { grep -sqx 'waiting for the make that is at work in w' second; }
    "${make[@]}" TRAIN=slow w/paired &
    local first=$!
    wait_for [ -e w/train.en.part ]
    "${make[@]}" TRAIN=b w/paired 2>second &
    local second=$!
    wait_for waits
    grep -q slow w/files.TRAIN.settings
    tac b.en >slow.en
    wait $first
    wait $second
    cmp b.en w/train.en
    # What one that is killed has left still works, and then there is no lock.
    "${make[@]}" TRAIN=slow w/paired &
    first=$!
    wait_for [ -e w/train.en.part ]
    kill -9 $first
    "${make[@]}" TRAIN=b w/paired 2>second &
    second=$!
    wait_for waits
    tac b.en >slow.en
    wait $second
    cmp b.en w/train.en
    wait_for [ ! -e w.lock ]
    # Training and what follows needs none.
    "${make[@]}" TRAIN=b RESULTS="$PWD/one" STEPS=100000 SAVE_EVERY=100000 AVERAGE=1 "$PWD/one/trained" &
    first=$!
    wait_for [ -e one/run/log.jsonl ]
    t 0 "${make[@]}" TRAIN=b RESULTS=two STEPS=2 SAVE_EVERY=2 AVERAGE=1 two/model.tfm
    [[ $stderr != *waiting* ]]
    pkill -f -- "-o $PWD/one/run"
    wait $first || :
}

@test "where /proc is not mounted, a make does not wait for its own lock" {
    unshare -rm true 2>/dev/null || skip "no mounts of one's own"
    numbers 9 1 | tee t.en >t.de
    t 0 timeout 60 unshare -rm bash -c 'mount -t tmpfs none /proc && "$@"' - \
        make -s -f "$TOP/pipelines/text.mk" TRAIN=t DEV=t TEST=t WORK=w w/paired
    expect_contains "$output" "train: 9 pairs"
    wait_for [ ! -e w.lock ]
}

@test "SEEDS: the models of several seeds translate together" {
    numbers 60 1 >mine.en
    numbers 60 2 >mine.de
    args=(-f "$TOP/pipelines/text.mk" TRAIN=mine DEV=mine TEST=mine VOCAB_SIZE=100 TOKENS=200 STEPS=2 \
        SAVE_EVERY=1 AVERAGE=2 BEAM=2 DECODE_FLAGS='--max-extra 5' WORK=w \
        TRAIN_FLAGS='--layers 1 --d-model 16 --d-ff 16')
    t 0 make -j2 "${args[@]}" RESULTS=three SEEDS='3 1 0'
    expect_contains "$output" "tf-decode --beam 2 --alpha 0.6 -m three/model.tfm -m three/seed-3/model.tfm "
    for s in 1 3 0; do
        t 0 make "${args[@]}" RESULTS="r$s" SEED="$s" "r$s/model.tfm"
        alone+=(-m "r$s/model.tfm")
    done
    cmp r1/model.tfm three/model.tfm
    cmp r0/model.tfm three/seed-0/model.tfm
    cmp r3/model.tfm three/seed-3/model.tfm
    tf-decode -q "${alone[@]}" -k 2 -a 0.6 --max-extra 5 w/test.en.tfs |
        tf-tokenize -d -m w/vocab.model | cmp - three/test.out
    # Fewer of them only translate again.
    t 0 make "${args[@]}" RESULTS=three
    [[ $output != *tf-train* ]]
    tf-decode -q -m r1/model.tfm -k 2 -a 0.6 --max-extra 5 w/test.en.tfs |
        tf-tokenize -d -m w/vocab.model | cmp - three/test.out
    t 2 make "${args[@]}" SEEDS='2 2'
    expect_error "SEEDS=2 2: different numbers are required"
    t 2 make "${args[@]}" SEED=01 SEEDS=1
    expect_error "SEED=01: each has to be a number, written in digits"
    # Without the model that they began with they still translate.
    cp r1/model.tfm start.tfm
    args+=(TRAIN_FLAGS='--layers 1 --d-model 16 --d-ff 16 --init start.tfm' RESULTS=on)
    t 0 make "${args[@]}"
    rm start.tfm
    t 0 make "${args[@]}" BEAM=3
    [[ $output != *tf-train* ]]
    # A file may name the model, whose vocabulary has fewer pieces than VOCAB_SIZE.
    printf '%s\n' init=r1/model.tfm layers=1 d_model=16 d_ff=16 valid-command=ls >options
    t 0 make "${args[@]}" VOCAB_SIZE=120 WORK=v RESULTS=v TRAIN_FLAGS='--settings options' \
        v/train.en
}

@test "other files in a setting make that part again" {
    corpus data a dev test
    args=(-f "$TOP/pipelines/text.mk" DEV=data/dev TEST=data/test WORK=w w/paired)
    t 0 make "${args[@]}" TRAIN='data/a data/dev'
    t 0 make "${args[@]}" TRAIN=data/a
    expect_contains "$output" "train: 300 pairs"
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

@test "help of every pipeline: each setting once, with its value; a folder with a space is refused" {
    for p in "$TOP"/pipelines/*.mk; do
        name=$(basename "$p" .mk)
        case $name in best | common | experiment | wmt14) continue ;; esac
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
        expect_error 'WORK=my dir: a name of letters, digits and ._/+@~- is required'
        t 2 make -s -f "$p" RESULTS='my dir'
        expect_error 'RESULTS=my dir: a name of letters, digits and ._/+@~- is required'
    done
    # An empty name would be the root folder.
    for work in '' "it's" 'R&D' 'w(1)' '50%'; do
        t 2 make -s -f "$TOP/pipelines/text.mk" help WORK="$work"
        expect_error "WORK=$work: a name of letters, digits and ._/+@~- is required"
    done
    t 0 make -s -f "$TOP/pipelines/text.mk" help WORK=/a_b-c/ä.1+@~हिन्दी/$'e\u301\xe9'
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

@test "a stage of one's own that comes first in PATH is used, and said" {
    corpus data a dev test
    make=(env -u MAKELEVEL -u MAKEFLAGS make -f "$TOP/pipelines/text.mk" TRAIN=data/a DEV=data/dev \
        TEST=data/test WORK=w VOCAB_SIZE=200 w/dev.tfs)
    own=$(type -P tf-batch)
    mkdir own late
    printf '#!/bin/sh\ntouch mine\nexec %s "$@"\n' "$own" >own/tf-batch
    printf '#!/bin/sh\nexit 1\n' >late/tf-batch
    chmod +x own/tf-batch late/tf-batch
    plain=/usr/bin:/bin
    PATH=own:$plain t 0 "${make[@]}"
    expect_contains "$output" "own/tf-batch: the first in PATH"
    [ "$(grep -c 'the first in PATH' <<<"$output")" -eq 1 ]
    [ -e mine ]
    # The tree's come before those of the system and what PATH names after these.
    rm w/dev.tfs
    PATH=$plain:late t 0 "${make[@]}"
    PATH=${own%/*}:$plain t 0 "${make[@]}"
    [[ $output != *'in PATH'* ]]
}
