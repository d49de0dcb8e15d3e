#!/usr/bin/env bats
# The first hour with one's own text, in short form: what README.md leads to, in its order, with the
# defaults of the preset tiny but for the number of updates. The text is numbers and their German
# names. Installing and uninstalling: tests/lint/make.bats; `make demo`: tests/cli/pipelines.bats.
# bats file_tags=plain
load helper

setup_file() {
    export TF_TIMEOUT=600 HOUR=$BATS_FILE_TMPDIR/hour
    mkdir -p "$HOUR"
    cd "$HOUR" || return 1
    text train 1 400 1
    text dev 401 20 1
    text test 421 20 1
    text second 1 100 7
    readme_block 10 >block
    t 0 bash block
    echo "$output" >block.out
    echo "$stderr" >block.err
    cp model.tfm first.tfm
}

teardown() {
    [ -z "${group:-}" ] || kill -KILL -- "-$group" 2>/dev/null || :
}

# text STEM FIRST COUNT SEED: STEM.en and STEM.de
text() {
    awk -f "$TOP/examples/demo/numbers" -v n=500 -v seed="$4" | sed -n "$2,$(($2 + $3 - 1))p" >pairs
    cut -f 1 pairs >"$1.en"
    cut -f 2 pairs >"$1.de"
}

# Block $1 of shell in README.md.
block() {
    awk -v k="$1" '/^```sh/ { on = ++n == k; next } /^```/ { on = 0 } on' "$TOP/README.md"
}

# The first, with few updates and a vocabulary for so little text.
readme_block() {
    block 1 |
        sed "s/--train -o/--train --vocab-size 100 -o/; s/ -o run/ --steps $1 --save-every 2 -o run/"
}

@test "the block of README.md on text that is not prepared; the same command resumes" {
    cd "$HOUR"
    tr -d '\\\n' <block >flat
    grep -q 'tf-batch --preset tiny --epochs 0' flat
    grep -q 'tf-train --preset tiny --vocab ende.model .*--steps 10 --save-every 2 -o run' flat
    grep -q '"score"' block.out
    # Without a terminal: a line per validation; at last the best checkpoint and the next command.
    [ "$(grep -c '^tf-train: step .* perplexity' block.err)" -eq 5 ]
    grep -q '^tf-train: finished at step 10; best: .*; next: tf-avgckpt' block.err

    # Ctrl-C in the middle, then the same command: the bytes of the run above. In the middle because
    # this tf-batch gives a training run four of its batches and then nothing.
    mkdir slow
    cat >slow/tf-batch <<END
#!/bin/bash
[[ " \$* " == *" --epochs 0 "* ]] || exec "$(command -v tf-batch)" "\$@"
"$(command -v tf-batch)" "\$@" | { head -c \$("$(command -v tf-batch)" -q --batches 4 "\$@" | wc -c)
    sleep 600; }
END
    chmod +x slow/tf-batch
    mv run whole
    set -m # a process group, which the signal of a terminal goes to
    PATH=$PWD/slow:$PATH env --default-signal=INT bash block >/dev/null 2>&1 3>&- &
    set +m
    group=$!
    wait_for test -e run/ckpt-00000002.tfm
    kill -INT -- "-$group"
    status=0
    wait "$group" || status=$?
    [ "$status" -eq 130 ]
    [ -e run/resume.tfm ]
    [ ! -e run/ckpt-00000010.tfm ]
    sh_t 0 "$(cat block)"
    expect_contains "$stderr" "resuming from run/resume.tfm"
    cmp run/ckpt-00000010.tfm whole/ckpt-00000010.tfm
    cmp model.tfm first.tfm

    # Fewer checkpoints than the average takes: all are taken, or the message has the command that
    # works, and overwrites nothing.
    rm run/ckpt-00000010.tfm
    t 0 tf-avgckpt run -o less.tfm
    t 1 tf-avgckpt -n 5 run
    next=${stderr##*; try: }
    [ "$next" = "tf-avgckpt -n 4 run -o model-2.tfm" ]
    sh_t 0 "$next"
    cmp model.tfm first.tfm
    rm -r whole model-2.tfm less.tfm
}

@test "one's own text by text.mk" {
    cd "$HOUR"
    t 0 make -f "$TOP/pipelines/text.mk" PAIR=en-de TRAIN=train DEV=dev TEST=test WORK=w \
        VOCAB_SIZE=100 STEPS=8 SAVE_EVERY=2 AVERAGE=3
    grep -q '"score"' w/score.json
    # The end of the output has the numbers, of the averaged model.
    ppl() { tf-score -m w/model.tfm --summary "w/$1.en.tfs" "w/$1.de.tfs" | jq .perplexity; }
    made=$output
    expect_contains "$made" "perplexity: test set $(ppl test), development set $(ppl dev)"
    [ "$(wc -l <w/test.out)" -eq 20 ]
    # It ends with the path of the translations and the command that makes more of them.
    expect_contains "$made" "translations of the test set: w/test.out"
    command=$(sed -n '/^to translate other text:/,$p' <<<"$made" | sed '1d; /^make/d')
    sh_t 0 "${command/FILE/test.en}"
    expect_output "$(cat w/test.out)"
    [ -s w/curve.svg ]
    # Fewer updates than give as many checkpoints as are averaged: those that there are.
    t 0 make -f "$TOP/pipelines/text.mk" PAIR=en-de TRAIN=train DEV=dev TEST=test WORK=w \
        VOCAB_SIZE=100 STEPS=4 RESULTS=short
    expect_contains "$stderr" "only 1 of 5 checkpoints; averaging this one"
    grep -q '"score"' short/score.json
}

@test "fine-tuning on a second text needs the model and nothing else" {
    cd "$HOUR"
    block 2 | sed 's/news/second/g; s/model\.tfm/first.tfm/g; s/tuned/ft/g;
        /tf-train/ s/ -o/ --steps 4 --save-every 2 -o/' >block
    grep -q '^ *tf-train --init first.tfm --seed 2 --steps 4 --save-every 2 -o ft' block
    cp first.tfm model.tfm
    sh_t 0 "$(cat block)"
    expect_contains "$stderr" "next: tf-avgckpt -n 2 ft -o model-2.tfm"
    expect_contains "$stderr" "ft: only 2 of the usual 5 checkpoints; averaging these"
    cmp first.tfm model.tfm
    t 0 tf-info ft/ckpt-00000004.tfm
    tuned=$output
    t 0 tf-info first.tfm
    for field in 'd_model' 'layers' 'vocabulary'; do
        [ "$(grep -i "$field" <<<"$tuned")" = "$(grep -i "$field" <<<"$output")" ]
    done
    sh_t 0 'tf-avgckpt -n 1 ft >ft.tfm'
    sh_t 0 'tf-tokenize -m ft.tfm <test.en | tf-decode -m ft.tfm | tf-tokenize -d -m ft.tfm >out'
    [ "$(wc -l <out)" -eq 20 ]
}

@test "a file, and lines typed one after the other, are translated to the same" {
    cd "$HOUR"
    sh_t 0 'tf-tokenize -m first.tfm test.en | tf-decode -m first.tfm | tf-tokenize -d -m first.tfm'
    file=$output
    # Each answer comes before the next line is sent.
    translate() { tf-tokenize -m first.tfm | tf-decode -m first.tfm | tf-tokenize -d -m first.tfm; }
    coproc answers { translate; }
    while IFS= read -r line; do
        echo "$line" >&"${answers[1]}"
        IFS= read -t "$TF_TIMEOUT" -r reply <&"${answers[0]}"
        echo "$reply"
    done <test.en >typed
    eval "exec ${answers[1]}>&-"
    wait "$answers_PID" || :
    [ "$(cat typed)" = "$file" ]
}

@test "scores and pictures" {
    cd "$HOUR"
    t 0 tf-score -m first.tfm --summary dev.en.tfs dev.de.tfs
    grep -q perplexity <<<"$output"
    sh_t 0 'tf-plot curve run/log.jsonl >curve.svg'
    grep -q '</svg>' curve.svg
    sh_t 0 'tf-tokenize -m first.tfm test.en >test.en.tfs; tf-tokenize -m first.tfm test.de >test.de.tfs
        tf-attn -m first.tfm -k cross -l 4 test.en.tfs test.de.tfs |
            tf-plot attention - >attention.svg'
    grep -q '</svg>' attention.svg
}
