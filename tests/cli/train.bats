#!/usr/bin/env bats
# tf-train: the same bytes however it runs; streams, options, the log.
# bats file_tags=first
load helper
load train

@test "any number of threads gives the same bytes" {
    for n in 1 2 5; do
        train --threads $n --steps 24 --save-every 12 --ema 0.9 --clip 1 -o run$n b.tfs
    done
    for n in 2 5; do
        same run1/ckpt-00000012.tfm run$n/ckpt-00000012.tfm
        same run1/ckpt-00000024.tfm run$n/ckpt-00000024.tfm
    done
    run -1 cmp -s run1/ckpt-00000012.tfm run1/ckpt-00000024.tfm
}

@test "neither directory, time zone, locale nor chunks of a pipe are in the bytes" {
    train --steps 10 -o a b.tfs
    mkdir -p deep/er
    (cd deep/er && TZ=Asia/Tokyo LC_ALL=C HOME=/ train --steps 10 -o b - < <(dd if=../../b.tfs \
        bs=7 status=none))
    same a/ckpt-00000010.tfm deep/er/b/ckpt-00000010.tfm
    batches n=40 seed=2 >c.tfs
    train --steps 10 -o c c.tfs
    train --steps 10 --seed 2 -o d b.tfs
    run -1 cmp -s a/ckpt-00000010.tfm c/ckpt-00000010.tfm
    run -1 cmp -s a/ckpt-00000010.tfm d/ckpt-00000010.tfm
}

@test "many shards on few threads: no thread waits for memory that others hold for ever" {
    natively
    local last steps=60
    [ -z "${TF_EMULATOR:-}" ] || steps=6 # 8 seconds each
    last=$(printf 'ckpt-%08d.tfm' $steps)
    batches n=60 pairs=80 >wide.tfs
    for threads in 1 2 3; do
        t 0 tf-train -q --preset tiny --layers 2 --d-model 64 --d-ff 128 --heads 2 --device cpu \
            --shards 32 --threads $threads --steps $steps -o run$threads wide.tfs
        same "run1/$last" "run$threads/$last"
    done
}

@test "a run that does not record its initial weights has glorot's, or fused as t2t" {
    train --steps 5 --initializer glorot -o run b.tfs
    tf-info --json run/ckpt-00000005.tfm |
        "$TF_PYTHON" -c 'import json, sys; assert "initializer" not in json.load(sys.stdin)["config"]'
    tr_t 1 --steps 8 -o run b.tfs
    expect_error "initializer: 'glorot' in the checkpoint, 'scaled' in this run"
    tr_t 0 --steps 8 --initializer glorot -o run b.tfs
    train --steps 5 --as t2t -o t2t b.tfs
    tr_t 1 --steps 8 --as t2t --initializer scaled -o t2t b.tfs
    expect_error "initializer: 'fused' in the checkpoint, 'scaled' in this run"
}

@test "batches that do not fit the learning rate of the preset: a warning when a run begins" {
    natively
    model=(--preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --device cpu -q)
    t 0 tf-train "${model[@]}" --steps 2 -o run b.tfs
    expect_error "warning: updates of up to 25 tokens: the learning rate of preset tiny is for 2000 (tf-batch --preset tiny, or --accumulate 80)"
    t 0 tf-train "${model[@]}" --steps 4 -o run b.tfs
    expect_error "resuming from run/ckpt-00000002.tfm"
    batches setting=30000 >w.tfs
    t 0 tf-train "${model[@]}" --steps 2 -o much w.tfs
    expect_error "updates of up to 30000 tokens: the learning rate of preset tiny is for 2000 (tf-batch --preset tiny)"
    # Within a factor of two, and with a learning rate of one's own, there is nothing to say.
    batches setting=4000 >most.tfs
    batches setting=100 >parts.tfs
    for o in "--clip 1 most.tfs" "--accumulate 10 parts.tfs" "--lr-scale 1 b.tfs" "--warmup 9 b.tfs" \
        "--schedule constant --lr 0.1 b.tfs"; do
        # shellcheck disable=SC2086
        t 0 tf-train "${model[@]}" --steps 1 -o "other${o// /}" $o
        [ -z "$stderr" ]
    done
}

@test "a stream without batches trains nothing: status 1" {
    batches n=0 >none.tfs
    tr_t 1 --steps 10 -o run none.tfs
    expect_error "tf-train: the stream ended before the first update; no checkpoint was saved before"
    batches n=2 >few.tfs
    tr_t 1 --steps 10 --accumulate 3 -o few few.tfs
    expect_contains "$stderr" "2 of 3 batches were not used"
    expect_contains "$stderr" "the stream ended before the first update"
    # The same directory serves the next attempt; a run that has begun may end again where it was.
    train --steps 10 -o run b.tfs
    tr_t 0 --steps 1000 -o run b.tfs
    tr_t 0 --steps 1000 -o run b.tfs
}

@test "streams that cannot be trained on" {
    batches poison=3 >x.tfs
    tr_t 1 -o run x.tfs
    expect_error "x.tfs"
    batches gap=3 >x.tfs
    tr_t 1 -o run2 x.tfs
    expect_error "x.tfs: batch 4, expected batch 3; last good checkpoint is run2/resume.tfm"
    batches bad=1 >x.tfs
    tr_t 1 -o run3 x.tfs
    expect_error "x.tfs: record 1 at byte 245: bad in a stream of kind batch; last good"
    t 1 tf-cbor check x.tfs # it agrees
    expect_error "x.tfs: record 1 at byte 245: bad in a stream of kind batch"
    tr_t 1 --positions learned --max-positions 6 -o run4 b.tfs
    expect_error "the model has 6 learned positions"
    : >x.tfs
    tr_t 1 -o run5 x.tfs
    expect_error "x.tfs: truncated: no stream"
    batches size=0 >x.tfs
    tr_t 2 -o run6 x.tfs
    expect_error "--vocab-size is required"
    tr_t 0 --vocab-size 64 --steps 3 -o run6 x.tfs
    tr_t 2 --vocab-size 63 -o run7 b.tfs
    expect_error "--vocab-size 63: the stream's vocabulary has 64"
    echo text >x.tfs
    tr_t 1 -o run8 x.tfs
    expect_error "x.tfs"
    cat run/ckpt-* run6/ckpt-* >x.tfs 2>/dev/null || true
    tr_t 1 -o run9 x.tfs
    expect_error "checkpoint"
}

@test "the log begins with all that is needed to repeat the run, at each start" {
    printf a >va
    batches n=40 vocab=va >c.tfs
    batches n=5 vocab=va seed=9 >v.tfs
    args=(--vocab va --valid v.tfs --valid-every 4 --save-every 4)
    train --steps 4 --clip 2 "${args[@]}" -o run c.tfs
    train --steps 8 --clip 2 "${args[@]}" -o run c.tfs
    cat >look.py <<'PY'
import hashlib, json, re, sys, time, datetime
lines = [json.loads(x) for x in open("run/log.jsonl")]
one, two = [x for x in lines if x["event"] == "start"]
assert lines[0] is one and one["step"] == 0 and two["step"] == 4
assert "from" not in one and two["from"] == "run/ckpt-00000004.tfm"
for x in one, two:
    then = datetime.datetime.strptime(x["time"] + "+0000", "%Y-%m-%dT%H:%M:%SZ%z").timestamp()
    assert abs(time.time() - then) < 600, x["time"]
    assert x["data"]["corpus"] == hashlib.sha256(b"corpus 7").hexdigest()
    assert x["data"]["vocab"] == hashlib.sha256(b"a").hexdigest()
    assert re.fullmatch("[0-9a-f]{64}", x["data"]["valid"])
    assert x["config"]["d_model"] == 16 and x["config"]["vocab_size"] == 64
    assert x["settings"]["clip"] == 2 and x["settings"]["warmup"] == 20
    assert x["batches"] == {"tokens": 25}
    assert x["made"][-1]["prog"] == "tf-train" and x["version"].startswith(x["made"][-1]["version"])
    assert x["save_every"] == x["valid_every"] == 4 and x["patience"] == 0 and x["keep"] >= 5
    assert x["command"][0].endswith("tf-train") and x["command"][-3:] == ["-o", "run", "c.tfs"]
assert one["steps"] == 4 and two["steps"] == 8
assert {k: one[k] for k in ("config", "settings", "data", "made")} == {k: two[k] for k in ("config", "settings", "data", "made")}
assert one["data"]["valid"] != one["data"]["corpus"]
PY
    t 0 "$TF_PYTHON" look.py
    # The lines of an attempt that left no checkpoint are not those of the next.
    tr_t 3 --schedule constant --lr 1e30 --warmup 0 --steps 40 -o new b.tfs
    train --steps 3 --seed 5 -o new b.tfs
    [ "$(grep -c '"event":"start"' new/log.jsonl)" -eq 1 ]
    grep '"event":"start"' new/log.jsonl | grep -q '"seed":5'
}

@test "on a terminal of 80 columns: step, loss, tokens/s and ETA fit, and validations stay" {
    batches n=5 seed=9 >v.tfs
    batches n=400 >long.tfs
    cat >terminal.py <<'PY'
import fcntl, os, pty, re, struct, subprocess, sys, termios
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
p = subprocess.Popen(sys.argv[1:], stderr=slave)
os.close(slave)
text = b""
try:
    while block := os.read(master, 65536):
        text += block
except OSError:
    pass
assert p.wait() == 0
text = text.decode()
kept = [x.split("\x1b[K")[-1] for x in text.replace("\r\n", "\n").split("\n") if x]
shown = [x for x in re.split(r"\r\x1b\[K|\r\n", text) if "tok/s" in x]
assert shown and all(len(x) < 80 for x in shown), shown
# The last update has no time left.
assert re.fullmatch(r"tf-train: step \d+/1000000  loss \d+\.\d{3}  \d+ tok/s  ETA \d+:\d\d:\d\d", shown[0]), shown[0]
valid = [x for x in kept if re.match(r"tf-train: step \d+00: validation perplexity [\d.]+, accuracy [\d.]+ %; ", x)]
assert len(valid) == 4, kept
assert "tok/s" not in "".join(kept), kept
PY
    t 0 "$TF_PYTHON" terminal.py tf-train "${small[@]}" --steps 1000000 --valid v.tfs \
        --save-every 100 -o run long.tfs
}

@test "a reader of the log that leaves: the run continues" {
    sh_t 0 'tf-train "$@" --log - --log-every 1 -o run b.tfs | head -c 1 >/dev/null' "${small[@]}" \
        --steps 40 --quiet
    [ -z "$stderr" ]
    train --steps 40 -o whole b.tfs
    same whole/ckpt-00000040.tfm run/ckpt-00000040.tfm
}

@test "a log into a pipe that is full and does not block waits for its reader" {
    cat >slow.py <<'END'
import fcntl, os, subprocess, sys, time
r, w = os.pipe()
fcntl.fcntl(w, fcntl.F_SETFL, fcntl.fcntl(w, fcntl.F_GETFL) | os.O_NONBLOCK)
fill = 0
try:
    while True:
        fill += os.write(w, b"x" * 4096)
except BlockingIOError:
    pass
p = subprocess.Popen(sys.argv[1:], stdout=w)
os.close(w)
# The run's own log is written first: a moment later the pipe has been met full.
while p.poll() is None and not (os.path.exists("run/log.jsonl") and os.path.getsize("run/log.jsonl")):
    time.sleep(0.01)
time.sleep(0.1)
text = b""
while block := os.read(r, 65536):
    text += block
assert p.wait() == 0 and text[fill:] == open("run/log.jsonl", "rb").read()
END
    t 0 "$TF_PYTHON" slow.py tf-train "${small[@]}" --log - --log-every 1 --steps 5 -o run b.tfs
}

@test "a log that cannot be opened, or written again on resumption, ends the run before it trains" {
    tr_t 1 --log nowhere/log.jsonl --steps 2 -o run b.tfs
    expect_error "tf-train: nowhere/log.jsonl: No such file or directory"
    [ ! -e run/ckpt-00000002.tfm ]
    train --steps 4 --log-every 1 -o run b.tfs
    { yes "$(grep '"event":"step","step":1,' run/log.jsonl)" || true; } | head -n 20000 >>run/log.jsonl
    before=$(sum run/log.jsonl)
    sh_t 1 'ulimit -f 1000; tf-train "$@"' "${small[@]}" --steps 8 -o run b.tfs
    expect_contains "$stderr" "File too large"
    [ "$(sum run/log.jsonl)" = "$before" ]
    tr_t 0 --steps 8 -o run b.tfs
}

@test "a limit on processes: training without threads, with the same bytes and signals" {
    [ -z "${TF_SAN:-}" ] || skip "LeakSanitizer needs a thread"
    [ -z "${TF_EMULATOR:-}" ] || skip "the emulator has a thread of its own"
    [ "$(id -u)" -eq 0 ] || skip "the limit counts all processes of a user"
    need setpriv prlimit
    chmod 755 "$T"
    setpriv --reuid=65533 --regid=65533 --clear-groups tf-train --version ||
        skip "another user cannot reach the tools"
    train --steps 12 --save-every 6 -o run b.tfs
    mkdir -m 777 free
    alone=(setpriv --reuid=65533 --regid=65533 --clear-groups prlimit --nproc=1 tf-train
        "${small[@]}" --steps 12 --save-every 6 --threads 2 -o free/run)
    batches n=9 end=0 >nine.tfs
    mkfifo pipe
    "${alone[@]}" --log-every 1 - <pipe 2>err &
    pid=$!
    exec 7>pipe
    cat nine.tfs >&7
    wait_step free/run 9
    kill -USR2 "$pid"
    ends 75
    t 0 "${alone[@]}" b.tfs
    same run/ckpt-00000006.tfm free/run/ckpt-00000006.tfm
    same run/ckpt-00000012.tfm free/run/ckpt-00000012.tfm
}

@test "the log goes to no file that is read, and to none of the run's own" {
    batches n=5 seed=9 >v.tfs
    cp b.tfs before
    tr_t 2 --steps 6 --log b.tfs -o run b.tfs
    expect_error "tf-train: b.tfs: is both input and output"
    tr_t 2 --steps 6 --log b.tfs -o run ./b.tfs
    sh_t 2 'tf-train "$@" <b.tfs' "${small[@]}" --steps 6 --log b.tfs -o run
    expect_error "tf-train: b.tfs: is both input and output"
    tr_t 2 --steps 6 --valid v.tfs --log ./v.tfs -o run b.tfs
    tr_t 2 --tune b.tfs b.tfs
    expect_error "tf-train: b.tfs: is both input and output"
    train --steps 6 --save-every 3 -o run b.tfs
    tr_t 2 --steps 7 --init run/ckpt-00000006.tfm --log run/ckpt-00000006.tfm -o two b.tfs
    ln -s run/ckpt-00000006.tfm link
    for f in run/lock run/log.jsonl run/../run/best.tfm link run/ckpt-00000003.tfm; do
        tr_t 2 --steps 7 --log $f -o run b.tfs
        expect_error "tf-train: --log $f: a file of the run itself"
    done
    tf-cbor check run/ckpt-00000006.tfm
    same before b.tfs
    [ "$(grep -c '"event":"start"' run/log.jsonl)" -eq 1 ]
    train --steps 7 --log run/more.jsonl -o run b.tfs
    # Through a link to what the run is yet to write, too.
    ln -s new/log.jsonl ahead
    tr_t 2 --steps 7 --log ahead -o new b.tfs
    expect_error "tf-train: --log ahead: a file of the run itself"
}

@test "the epoch of the log is that of the last batch used" {
    train --steps 10 --log-every 1 --valid b.tfs --valid-every 8 -o run b.tfs
    grep '"event":"step"' run/log.jsonl | grep -o '"epoch":[0-9]*' | cut -d: -f2 | tr '\n' ' ' >got
    [ "$(cat got)" = "0 0 0 0 0 0 0 0 1 1 " ]
    grep -q '"event":"valid","step":8,"epoch":0,' run/log.jsonl
}

@test "the log has the updates after the last multiple of --log-every, and losses of all updates" {
    need jq
    train --steps 10 --log-every 1 -o each b.tfs
    train --steps 10 --log-every 4 -o run b.tfs
    [ "$(jq -c 'select(.event == "step").step' run/log.jsonl | xargs)" = "4 8 10" ]
    jq -s 'map(select(.event == "step")) | (.[8].loss + .[9].loss) / 2' each/log.jsonl >mean
    [ "$(jq --slurpfile mean mean 'select(.event == "step" and .step == 10)
        | (.loss - $mean[0]) | -0.01 < . and . < 0.01' run/log.jsonl)" = true ]
    # None is left at a multiple, and none when no update followed.
    train --steps 10 --log-every 5 -o five b.tfs
    [ "$(jq -c 'select(.event == "step").step' five/log.jsonl | xargs)" = "5 10" ]
    same run/ckpt-00000010.tfm five/ckpt-00000010.tfm
    # A run that is extended has the bytes of one that never ended there.
    train --steps 14 --log-every 4 -o run b.tfs
    train --steps 14 --log-every 4 -o whole b.tfs
    same run/ckpt-00000014.tfm whole/ckpt-00000014.tfm
    [ "$(jq -c 'select(.event == "step").step' run/log.jsonl | xargs)" = "4 8 10 12 14" ]
}

@test "--layers is for the side without an option of its own" {
    layers() {
        rm -rf run
        train --steps 1 "$@" -o run b.tfs
        tf-info run/ckpt-00000001.tfm | awk '/coder_layers/ { printf "%s %s ", $1, $2 }'
    }
    [ "$(layers --layers 2 --encoder-layers 3)" = "decoder_layers 2 encoder_layers 3 " ]
    [ "$(layers --decoder-layers 3 --layers 2)" = "decoder_layers 3 encoder_layers 2 " ]
}

@test "--weight-decay: smaller weights, recorded, and 0 in a checkpoint of the time before it" {
    for x in 0 20; do train --weight-decay $x --steps 8 -o "run$x" b.tfs; done
    for x in 0 20; do tf-convert "run$x/ckpt-00000008.tfm" -o "$x.safetensors"; done
    "$TF_PYTHON" - <<'PY'
import array
def squares(name):
    data = open(name, "rb").read()
    return sum(x * x for x in array.array("f", data[8 + int.from_bytes(data[:8], "little"):]))
assert squares("20.safetensors") < 0.9 * squares("0.safetensors")
PY
    tr_t 1 --weight-decay 1 --steps 9 -o run20 b.tfs
    expect_error "weight_decay: 20 in the checkpoint, 1 in this run"
    tf-cbor json run0/ckpt-00000008.tfm >new.jsonl
    sed '/"settings"/ s/,"weight_decay":[^,}]*//' new.jsonl >old.jsonl
    [ "$(wc -c <new.jsonl)" -gt "$(wc -c <old.jsonl)" ]
    tf-cbor unjson old.jsonl >run0/ckpt-00000008.tfm
    tr_t 1 --weight-decay 1 --steps 9 -o run0 b.tfs
    expect_error "weight_decay: 0 in the checkpoint, 1 in this run"
    tr_t 0 --steps 9 -o run0 b.tfs
}

@test "options that can't be" {
    tr_t 2 b.tfs
    expect_error "-o DIR is required"
    t 2 tf-train --preset huge -o x b.tfs
    expect_error "preset 'huge': unknown; one of base big"
    tr_t 2 -o '' b.tfs
    expect_error "tf-train: -o '': empty file name"
    for o in --plan-tokens --plan-length; do
        tr_t 2 $o 10 -o x b.tfs
        expect_error "tf-train: $o is only for --plan"
    done
    for o in vocab init tuning valid; do
        sh_t 2 'tf-train "$@" <b.tfs' "${small[@]}" --$o - -o x
        expect_error "tf-train: only one file can be stdin"
    done
    batches bos=-1 >nobos.tfs
    tr_t 2 --start bos -o x nobos.tfs
    expect_error "tf-train: --start bos: the stream's vocabulary has no bos"
    rm -r x
    train --steps 1 -o nobos nobos.tfs
    tr_t 2 --lr 1 -o x b.tfs
    expect_error "--lr: the paper's schedule has no peak"
    tr_t 2 --schedule constant -o x b.tfs
    expect_error "--schedule constant: needs --lr"
    tr_t 2 --adam-eps 0 -o x b.tfs
    expect_error "--adam-eps 0: too small, minimum 1e-30"
    tr_t 2 --heads 3 -o x b.tfs
    expect_error "3 heads do not divide d_model 16: --d-k and --d-v are required"
    tr_t 0 --heads 3 --d-k 5 --d-v 7 --steps 2 -o odd b.tfs
    t 0 tf-train --plan --preset B-dk16 --d-model 32 --layers 1 --vocab-size 100
    expect_contains "$output" "encoder self-attention             10240"
    on_disk() {
        tf-train --plan --preset tiny --vocab-size 100 "$@" |
            awk '/^memory/ { all = 1 } all && $1 == "weights" { w = $2 }
                 /a checkpoint on disk/ { printf "%.0f\n", $NF / w }'
    }
    [ "$(on_disk) $(on_disk --ema 0.9) $(on_disk --weights-only) $(on_disk --weights-only --ema 0.9)" = \
        "3 4 1 2" ]
    cp b.tfs file
    tr_t 1 -o file b.tfs
    expect_error "tf-train: file: not a directory"
    [ ! -e x ]
}

@test "every variant of the model trains and comes back" {
    natively
    i=0
    for v in "--pre-norm" "--as t2t" "--positions learned --max-positions 40" "--tie none" \
        "--tie decoder" "--attention-window 2" "--start zero" \
        "--label-smoothing 0" "--initializer glorot" "--schedule inverse-sqrt --lr 0.01" \
            "--relu-dropout 0.2 --accumulate 2" "--embedding-norm --unscaled-embeddings" "--decoder-norms before-top"; do
        i=$((i + 1))
        # shellcheck disable=SC2086
        train --steps 6 --save-every 100 $v -o whole$i b.tfs
        # shellcheck disable=SC2086
        train --steps 3 --save-every 100 $v -o run$i b.tfs
        # shellcheck disable=SC2086
        train --steps 6 --save-every 100 $v -o run$i b.tfs
        same whole$i/ckpt-00000006.tfm run$i/ckpt-00000006.tfm
    done
}

@test "--beta1, --beta2; --no-pre-norm and others of its kind take back the option" {
    parameters() { tf-convert --to npz "$1/ckpt-00000003.tfm" -o - >"$1.npz"; }
    args=(--steps 3 --adam-eps 0.01 b.tfs)
    train -o plain "${args[@]}"
    parameters plain
    for o in beta1 beta2; do
        train --$o 0.8 -o $o "${args[@]}"
        parameters $o
        run -1 cmp -s plain.npz $o.npz
        t 0 tf-info --json $o/ckpt-00000003.tfm
        grep -q "\"$o\":0.8" <<<"$output"
    done
    for o in pre-norm attention-bias eps-hat embedding-norm unscaled-embeddings; do
        train --$o -o $o "${args[@]}"
        train --$o --no-$o -o no-$o "${args[@]}"
        parameters $o
        parameters no-$o
        same plain.npz no-$o.npz
        run -1 cmp -s plain.npz $o.npz
    done
}

@test "variants of other programs' models train: any threads, killed or not, the same bytes" {
    local variants=('--activation swish --output-bias --relu-dropout 0.2'
        '--final-norm --position-table halves --position-offset 2'
        '--no-source-eos --pre-norm --activation gelu'
        '--decoder-self ssru --d-model 24 --attention-window 1')
    for i in "${!variants[@]}"; do
        read -ra more <<<"${variants[i]}"
        train -q "${more[@]}" --steps 20 --threads 1 -o "one$i" b.tfs
        train -q "${more[@]}" --steps 9 --threads 3 -o "two$i" b.tfs
        train -q "${more[@]}" --steps 20 --threads 3 -o "two$i" b.tfs
        cmp "one$i/ckpt-00000020.tfm" "two$i/ckpt-00000020.tfm"
        tr_t 1 --steps 25 -o "one$i" b.tfs
        expect_contains "$stderr" " in the checkpoint, "
    done
    [ "$(for i in 0 1 2 3; do sum "one$i/ckpt-00000020.tfm"; done | sort -u | wc -l)" -eq 4 ]
    tr_t 2 --positions learned --position-offset 1 --steps 1 -o run b.tfs
    expect_contains "$stderr" "position_offset 1: a learned table begins with the first position"
}

# shellcheck disable=SC2154
@test "a wrong device names those that train, half a launcher is reported, a run is no model" {
    tr_t 2 --device foo --steps 1 -o x b.tfs
    expect_error "no backend 'foo': cpu, ref, cuda, cuda:N or auto"
    PMI_SIZE=4 tr_t 0 -q --steps 1 -o run b.tfs
    expect_contains "$stderr" "warning: PMI_SIZE=4 without PMI_RANK: this process trains alone"
    PMI_SIZE=1 tr_t 0 -q --steps 2 -o run b.tfs
    [[ $stderr != *PMI_SIZE* ]]
    train -q --steps 40 --save-every 20 -o run b.tfs
    t 1 tf-convert run -o m.tfm
    expect_error "run: the directory of a run; name a model in it: run/ckpt-00000040.tfm, or the average"
}
