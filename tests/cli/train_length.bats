#!/usr/bin/env bats
# tf-train: how long a run is (--steps, --epochs, --tokens), and schedules that have an end.
load helper
load train

# The log's key of each event of this kind.
logged() {
    sed -n "s/^{\"event\":\"$2\".*\"$3\":\"\{0,1\}\([^\",}]*\).*/\1/p" "$1/log.jsonl" | xargs
}

@test "cosine and linear: the rates of their formulas, in a run that is killed, too" {
    for kind in cosine linear; do
        args=(--warmup 4 --schedule "$kind" --lr 0.02 --lr-end 0.002 --steps 12 --save-every 5 \
            --log-every 1)
        train "${args[@]}" -o $kind b.tfs
        logged $kind step lr >rates
        "$TF_PYTHON" - $kind <<'PY'
import math, sys
rates = [float(x) for x in open("rates").read().split()]
x = lambda s: (s - 4) / (12 - 4)
left = {"cosine": lambda s: (1 + math.cos(math.pi * x(s))) / 2,
        "linear": lambda s: 1 - x(s)}[sys.argv[1]]
want = [0.02 * s / 4 if s < 4 else 0.002 + 0.018 * left(s) for s in range(1, 13)]
assert len(rates) == 12 and all(abs(a - b) < 1e-5 * b for a, b in zip(rates, want)), (rates, want)
PY
        # Stopped by the end of its stream, then whole.
        batches n=7 >cut.tfs
        train "${args[@]}" -o run cut.tfs
        train "${args[@]}" -o run b.tfs
        same $kind/ckpt-00000012.tfm run/ckpt-00000012.tfm
        rm -r run
    done
}

@test "a schedule with an end is recorded with it: another length needs to say so" {
    args=(--warmup 4 --schedule cosine --lr 0.02 -o run)
    train "${args[@]}" --steps 12 b.tfs
    tr_t 1 "${args[@]}" --steps 14 b.tfs
    expect_error "run/ckpt-00000012.tfm: decay_steps: 12 in the checkpoint, 14 in this run"
    tr_t 1 "${args[@]}" --steps 14 --decay-steps 12 --lr-end 0.001 b.tfs
    expect_error "lr_end: 0 in the checkpoint, 0.001 in this run"
    tr_t 0 "${args[@]}" --steps 14 --decay-steps 12 --log-every 1 b.tfs
    [ "$(logged run step lr | tr ' ' '\n' | tail -n 2 | xargs)" = "0 0" ]
    for o in "--decay-steps 20" "--lr-end 0.1"; do
        # shellcheck disable=SC2086
        tr_t 2 $o --steps 14 -o x b.tfs
        expect_error "tf-train: ${o% *}: only with --schedule cosine or linear"
    done
    tr_t 2 --schedule linear --lr 0.1 --steps 20 -o x b.tfs
    expect_error "--schedule linear: ends in update 20, within --warmup 20"
    tr_t 2 --schedule linear --lr 0.1 --lr-end 0.2 --steps 30 -o x b.tfs
    expect_error "--lr-end 0.2: above --lr 0.1"
    tr_t 2 --schedule linear --epochs 3 --lr 0.1 -o x b.tfs
    expect_error "--schedule linear: ends with --steps, so without them --decay-steps is needed"
}

@test "--epochs: the run ends with the last batch of that epoch" {
    # An epoch has 8 batches.
    train --epochs 2 --save-every 5 -o run b.tfs
    train --steps 16 --save-every 5 -o whole b.tfs
    same run/ckpt-00000016.tfm whole/ckpt-00000016.tfm
    [ "$(logged run end reason)" = epochs ]
    [ "$(logged run start epochs) $(logged run start steps)" = "2 " ]
    tr_t 0 --epochs 2 -o run nowhere.tfs
    expect_contains "$stderr" "run: epoch 2 of 2 is done: nothing left to do"
    # Stopped in the second, and made longer.
    batches n=12 >cut.tfs
    train --epochs 2 --save-every 5 -o cut cut.tfs
    train --epochs 2 --save-every 5 -o cut b.tfs
    same run/ckpt-00000016.tfm cut/ckpt-00000016.tfm
    train --epochs 3 --save-every 5 -o run b.tfs
    [ "$(ls run/*.tfm | tail -n 1)" = run/ckpt-00000024.tfm ]
    # An update is not cut: that of batches 15 to 17 is the last. With --steps, what comes first.
    train --accumulate 3 --epochs 2 -o three b.tfs
    [ -e three/ckpt-00000006.tfm ]
    train --epochs 2 --steps 9 -o nine b.tfs
    [ "$(logged nine end reason) $(ls nine/*.tfm)" = "steps nine/ckpt-00000009.tfm" ]
}

@test "--tokens: the run ends with the update that reaches them" {
    train --steps 20 --log-every 1 -o whole b.tfs
    read -r -a after <<<"$(logged whole step tgt_tokens)"
    for n in $((after[10])) $((after[9] + 1)); do
        rm -rf run
        train --tokens $n -o run b.tfs
        [ "$(ls run/*.tfm) $(logged run end reason)" = "run/ckpt-00000011.tfm tokens" ]
    done
    tr_t 0 --tokens $n -o run nowhere.tfs
    expect_contains "$stderr" "run: token ${after[10]} of $n is done: nothing left to do"
    tr_t 0 --tokens 1000000 -o run b.tfs
    expect_contains "$stderr" "the stream ended at step 40 (tf-batch --epochs 0 repeats the text)"
    tr_t 2 --tokens 25 -o x b.tfs
    expect_error "--tokens 25: the length of the run, not of a batch, which has up to 25"
    t 0 tf-train --plan --preset tiny --vocab-size 100 --tokens 1M
    expect_contains "$output" "updates                              500"
}

@test "a new segmentation in each epoch: killed anywhere, and made longer, to the same bytes" {
    natively
    need jq
    awk -f "$TOP/examples/demo/numbers" -v n=80 -v seed=3 >pairs
    cut -f 1 pairs >train.en
    cut -f 2 pairs >train.de
    tf-tokenize --train --type bpe --vocab-size 80 -o v.model train.en train.de 2>/dev/null
    sampled() { # EPOCHS DIR, as in tf-howto(7)
        for e in $(seq 0 $(($1 - 1))); do
            tf-batch -q --tokens 300 --first-epoch "$e" \
                <(tf-tokenize -m v.model --sample --seed "1$e" train.en) \
                <(tf-tokenize -m v.model --sample --seed "2$e" train.de)
        done | tee stream | tf-train "${small[@]}" -q --epochs "$1" --save-every 3 --vocab v.model \
            --log-every 1 -o "$2"
    }
    sampled 4 whole
    # Epochs have numbers of their own, their batches' pairs another order and other pieces.
    jq -sc 'map(select(.event == "step").epoch) | unique' whole/log.jsonl | grep -qx '\[0,1,2,3\]'
    tf-cbor json stream | jq -c 'select(.src).idx' >order
    [ "$(sort order | uniq -d | wc -l)" -eq 0 ]
    tf-cbor json stream | jq -sc '[.[] | select(.src)] | group_by(.epoch)
        | map(map(.src | length) | add) | unique | length > 1' | grep -qx true
    last=$(ls whole/ckpt-*.tfm | tail -n 1)
    # To the end of the second epoch, and then further; killed in each.
    sampled 2 run
    for step in 1 4 8 12; do
        rm -rf cut
        mkfifo pipe
        tf-train "${small[@]}" -q --epochs 4 --save-every 3 --vocab v.model --log-every 1 \
            -o cut pipe &
        pid=$!
        exec 7>pipe
        # So many batches, then nothing.
        "$TF_PYTHON" - "$step" <<'PY' >&7
import sys, cbor2, io
data = open("stream", "rb").read()
f = io.BytesIO(data)
n = 0
while n < int(sys.argv[1]):
    item = cbor2.load(f)
    n += isinstance(item, list) and item[0] == 3
sys.stdout.buffer.write(data[:f.tell()])
PY
        wait_step cut "$step"
        kill -KILL $pid
        exec 7>&-
        wait $pid || true
        rm pipe
        sampled 4 cut
        same "$last" "cut/${last##*/}"
    done
    sampled 4 run
    same "$last" "run/${last##*/}"
}
