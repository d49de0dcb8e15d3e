#!/usr/bin/env bats
# tf-train --plan: counts, settings and estimates without a run.
load helper
load train

@test "--plan counts the parameters of the paper's rows" {
    total() {
        tf-train --plan --vocab-size 37000 "$@" | awk '$1 == "total" { print $2; exit }'
    }
    [ "$(total)" = 63045632 ]
    # With biases on attention, in millions: what the paper's architecture has at 37,000 embeddings.
    for row in base:63.08 B-dk16:55.99 B-dk32:58.35 C-n2:33.66 C-n4:48.37 C-n8:77.80 C-d256:26.83 \
        C-d1024:163.89 C-ff1024:50.49 C-ff4096:88.27 big:214.25; do
        got=$(total --preset "${row%:*}" --attention-bias | awk '{ printf "%.2f", $1 / 1e6 }')
        [ "$got" = "${row#*:}" ] || { echo "$row: $got" >&2; return 1; }
    done
}

@test "--plan: without the size of a vocabulary it prints all but the counts" {
    t 0 tf-train --plan --preset tiny
    expect_error "warning: without --vocab-size, --vocab or --init, no parameters, memory and FLOP are printed"
    printed=$output
    t 0 tf-train --plan --preset tiny --vocab-size 100
    want=$(sed '/^  vocab_size /d; /^parameters$/,/^a layer of/{/^a layer of/!d}' <<<"$output")
    [ "$(sed '/^  vocab_size /d' <<<"$printed")" = "$want" ]
}

@test "--plan has the size of the vocabulary from the file of --vocab" {
    tf-tokenize --train --vocab-size 30 -o v.model <(seq 200)
    want=$(tf-train --plan --preset tiny --vocab-size 30)
    t 0 tf-train --plan --preset tiny --vocab v.model
    expect_output "$want"
    [ -z "$stderr" ]
    t 0 tf-train --plan --preset tiny --vocab v.model --vocab-size 48
    expect_output "$(tf-train --plan --preset tiny --vocab-size 48)"
    echo 'of another tokenizer' >other
    t 0 tf-train --plan --preset tiny --vocab other
    expect_error "warning: without --vocab-size, --vocab or --init, no parameters"
    t 1 tf-train --plan --vocab none
    expect_error "tf-train: none: No such file or directory"
}

@test "--plan counts all that a pass keeps, also the last norm of a pre-norm model" {
    plan=(tf-train --plan --vocab-size 37000 --threads 8 --shards 8 --plan-tokens 25000)
    { "${plan[@]}" --pre-norm && "${plan[@]}" --no-pre-norm; } >plans
    # Its output, sum, mean and deviation on both sides: 2 x 25000 x 4 x (2 x 512 + 2) bytes.
    [ "$(awk '/activations/ { mb[++n] = $3 } END { printf "%.1f", mb[1] - mb[2] }' plans)" = 205.2 ]
}

@test "--plan: large batches are cut into more shards, which take less memory" {
    memory() { tf-train --plan --vocab-size 37000 --threads 2 "$@" | grep -A 9 '^memory'; }
    cmp <(memory --plan-tokens 25000) <(memory --plan-tokens 25000 --shards 32)
    cmp <(memory --plan-tokens 8193) <(memory --plan-tokens 8193 --shards 16)
    cmp <(memory --plan-tokens 8192) <(memory --plan-tokens 8192 --shards 8)
    cmp <(memory --plan-tokens 200000) <(memory --plan-tokens 200000 --shards 64)
    run -1 cmp -s <(memory --plan-tokens 25000) <(memory --plan-tokens 25000 --shards 8)
}

@test "--plan prints what a preset sets, and what options change" {
    # has OPTIONS ROW=VALUE ...
    has() {
        local row options=$1
        # shellcheck disable=SC2086
        t 0 tf-train --plan --vocab-size 37000 $options
        shift
        for row; do
            grep -qE "^  ${row%=*} +${row#*=}$" <<<"$output" ||
                { echo "$options: not $row in: $output" >&2; return 1; }
        done
    }
    has '' encoder_layers=6 d_model=512 d_ff=2048 heads=8 d_k=64 d_v=64 dropout=0.1 \
        attention_dropout=0 relu_dropout=0 label_smoothing=0.1 smoothing=V positions=sin tie=all \
        tokens=25000 steps=100000 schedule=paper lr_scale=1 warmup=4000 beta1=0.9 beta2=0.98 \
        adam_eps=1e-09 save_every=1000 'checkpoints averaged=5' initializer=scaled
    has '--preset big' heads=16 d_ff=4096 dropout=0.3 steps=300000 'checkpoints averaged=20' keep=20
    has '--preset big --as t2t' steps=250000 eps_hat=yes smoothing=V-1 initializer=fused start=zero
    has '--preset A-h4' heads=4 d_k=128 d_v=128 'checkpoints averaged=1'
    has '--preset B-dk16' d_k=16 d_v=64
    has '--preset C-n2' encoder_layers=2 decoder_layers=2
    has '--preset D-p0.2' dropout=0.2
    has '--preset D-ls0.2' label_smoothing=0.2
    has '--preset E' positions=learned max_positions=1024
    has '--preset parse-wsj --as t2t' dropout=0.2 attention_dropout=0.2 warmup=16000 lr_scale=5
    has '--preset tiny --accumulate 3 --clip 1 --heads 2' tokens=2000 accumulate=3 clip=1 d_k=64
    has '--schedule inverse-sqrt --lr 0.002' schedule=inverse-sqrt lr=0.002
    [[ $output != *lr_scale* ]]
}

@test "--plan accepts all options of training and checks them, also those of a file" {
    plan=(tf-train --plan --vocab-size 100 --preset tiny)
    t 0 "${plan[@]}"
    want=$(sed '/^  eps_hat /i\  best_by                          command' <<<"$output")
    training=(-o new --vocab none --valid none --valid-command 'touch ran' --log none/log
        --ranks none --rank-timeout 3 none.tfs)
    t 0 "${plan[@]}" "${training[@]}"
    expect_output "$want"
    printf '%s\n' preset=tiny vocab_size=100 valid=none 'valid_command: touch ran' ranks=mpi >file
    t 0 tf-train --plan --settings file
    expect_output "$want"
    for f in new none ran; do
        [ ! -e $f ]
    done
    wrong() {
        t 2 "${plan[@]}" "${training[@]}" "${@:2}"
        expect_error "$1"
    }
    wrong "unknown option --warmpu" --warmpu 3
    wrong "preset 'tinny': unknown" --preset tinny
    wrong "--ranks two: not one of" --ranks two
    wrong "--rank-timeout 0: too small" --rank-timeout 0
    wrong "--schedule linear: ends in update 5, within --warmup 10" --schedule linear --lr 1 \
        --steps 5 --warmup 10
    t 2 tf-train --plan --valid-command ls
    expect_error "--valid-command requires --valid"
    for line in stps=3 warmup=x 'ranks two'; do
        echo "$line" >file
        t 2 "${plan[@]}" --settings file
        expect_error "tf-train: --settings: file: line 1: "
    done
    t 1 "${plan[@]}" --settings none
    expect_error "tf-train: --settings: none: No such file or directory"
}

@test "--tune refuses what only training uses" {
    for o in '--ranks none' '--rank-timeout 3' '--valid-command ls'; do
        # shellcheck disable=SC2086
        t 2 tf-train --tune f $o
        expect_error "tf-train: ${o% *} is only for training or --plan"
    done
}

@test "--plan: the columns of Table 1 for full and restricted self-attention" {
    table() {
        t 0 tf-train --plan --vocab-size 100 "$@"
        output=$(sed -n '/Table 1/,/^learning/p' <<<"$output" | tr -s ' ' | sed '1,2d;$d')
    }
    table
    expect_output ' full: n^2 d, 1, 1 4.608e+05 1 1'
    # Of 1,000 positions each reaches 10 on both sides in a layer: 999 need 100 layers.
    table --plan-length 1000 --attention-window 10 --preset C-d256
    expect_output $' full: n^2 d, 1, 1 2.560e+08 1 1\n r = 21 r n d, 1, n/r 5.376e+06 1 100'
    # A window that holds the sentence restricts nothing.
    table --plan-length 5 --attention-window 10
    expect_output $' full: n^2 d, 1, 1 1.280e+04 1 1\n r = 5 r n d, 1, n/r 1.280e+04 1 1'
    # A recurrent unit takes n steps one after the other: 30 x 512^2.
    table --plan-length 30 --decoder-self ssru
    expect_output $' full: n^2 d, 1, 1 4.608e+05 1 1\n recurrent: n d^2, n, n 7.864e+06 30 30'
    table --plan-length 1 --attention-window 1
    expect_output $' full: n^2 d, 1, 1 5.120e+02 1 1\n r = 1 r n d, 1, n/r 5.120e+02 1 1'
}

@test "--plan: the batches are the preset's" {
    plan=(t 0 tf-train --plan --vocab-size 100)
    for row in tiny:2000 base:25000; do
        "${plan[@]}" --preset "${row%:*}" --plan-tokens "${row#*:}"
        want=$output
        "${plan[@]}" --preset "${row%:*}"
        expect_output "$want"
        "${plan[@]}" --preset "${row%:*}" --plan-tokens 1000
        [ "$output" != "$want" ]
    done
}

@test "--plan: the counts of Table 3, with the vocabulary that they assume" {
    # In millions, as the paper rounds them, except C-ff1024 and big: 53 and 213 in the paper.
    for row in base:65 B-dk16:58 B-dk32:60 C-n2:36 C-n4:50 C-n8:80 C-d256:28 C-d1024:168 \
        C-ff4096:90 C-ff1024:52 big:218; do
        got=$(tf-train --plan --vocab-size 100 --preset "${row%:*}" |
            awk '/^  total with 40960 pieces/ { printf "%.0f", $5 / 1e6 }')
        [ "$got" = "${row#*:}" ] || { echo "$row: $got" >&2; return 1; }
    done
}

@test "--plan --hours: the paper's own estimate of Table 2" {
    estimate() {
        tf-train --plan --vocab-size 37000 "$@" | sed -n "s/^  FLOP, the paper's estimate *//p"
    }
    [ "$(estimate --hours 12)" = "3.283e+18  (12 hours, 8 devices, 9.5 TFLOPS)" ]
    [ "$(estimate --preset big --hours 84 --tflops P100)" = \
        "2.298e+19  (84 hours, 8 devices, 9.5 TFLOPS)" ]
    [ "$(estimate --hours 1 --devices 1 --tflops 2)" = "7.200e+15  (1 hours, 1 devices, 2 TFLOPS)" ]
    for card in K80:2.8 K40:3.7 M40:6 P100:9.5; do
        expect_contains "$(estimate --hours 1 --tflops "${card%:*}")" ", ${card#*:} TFLOPS"
    done
    [ -z "$(estimate)" ]
    t 2 tf-train --plan --vocab-size 37000 --hours 1 --tflops V100
    expect_error "--tflops 'V100': a number, or one of K80, K40, M40, P100"
    t 2 tf-train --plan --vocab-size 37000 --tflops K80
    expect_error "--tflops requires --hours"
}

@test "--plan prints the peak of the learning rate, and warns of one that is much higher" {
    plan() { t 0 tf-train --plan --vocab-size 37000 "$@"; }
    rows() { printf '%s\n' "$output" | sed -n '/^learning rate/,$p' | tr -s ' ' | tr '\n' '|'; }
    for preset in base:6.988e-04 C-d256:9.882e-04 big:4.941e-04; do
        plan --preset ${preset%:*}
        [ "$(rows)" = "learning rate, schedule paper| peak ${preset#*:}| update of the peak 4000| peak of the preset ${preset#*:}|" ]
        [ -z "$stderr" ]
    done
    plan --preset base --lr-scale 2.9
    [ -z "$stderr" ]
    plan --preset base --warmup 400 --lr-scale 2 --steps 100
    [ "$(rows)" = "learning rate, schedule paper| peak 4.419e-03| update of the peak 400| highest, in the last update 1.105e-03| peak of the preset 6.988e-04|" ]
    expect_error "tf-train: warning: the learning rate peaks at 0.00442 in update 400, 6.32 times the preset's 0.000699 in update 4000: the model may collapse"
    plan --preset base --schedule inverse-sqrt --lr 0.002 --warmup 100
    expect_contains "$(rows)" "learning rate, schedule inverse-sqrt| peak 2.000e-03| update of the peak 100|"
    [ -z "$stderr" ]
}
