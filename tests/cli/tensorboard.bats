#!/usr/bin/env bats
# examples/tensorboard: the log of tf-train as event files, read back by TensorBoard itself if
# TENSORBOARD_PYTHON names a Python that has it.
# bats file_tags=no-asan
load helper

events() {
    "$TF_PYTHON" "$TOP/examples/tensorboard/log_to_events.py" "$@"
}

log() {
    cat "$TOP/tests/golden/tensorboard/log.jsonl"
}

@test "the same event files every time" {
    log | events out
    [ "$(ls out out/*)" = "$(printf 'out:\ntrain\nvalid\n\nout/train:\nevents.out.tfevents.tf-train\n\nout/valid:\nevents.out.tfevents.tf-train')" ]
    expect_golden out/train/events.out.tfevents.tf-train tensorboard/train
    expect_golden out/valid/events.out.tfevents.tf-train tensorboard/valid
    # Lines are converted as they come.
    mkfifo pipe
    events live <pipe &
    pid=$!
    exec 9>pipe
    log | head -n 6 >&9
    wait_for cmp -s {live,out}/train/events.out.tfevents.tf-train
    exec 9>&-
    wait "$pid"
}

@test "the log of a run, one that was killed, and what is no log" {
    printf 'a b\n' >text
    tf-tokenize --train --vocab-size 8 --type bpe -o v text 2>/dev/null
    tf-tokenize -m v text >t.tfs
    tf-batch -q t.tfs t.tfs >v.tfs
    sh_t 0 "tf-batch -q -e 0 t.tfs t.tfs | tf-train -q --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --device cpu --steps 4 --log-every 2 --valid v.tfs --valid-every 4 --log - -o run | '$TF_PYTHON' '$TOP/examples/tensorboard/log_to_events.py' out"
    for key in loss ppl lr tok_s --preset; do
        grep -qaF -- "$key" out/train/events.* || { echo "no $key: $(cat -v out/train/events.*)" >&2; return 1; }
    done
    grep -q ppl out/valid/events.*
    # A run that diverges: numbers beyond those of 32 bits.
    for x in 5.6e+300 -5.6e+300; do
        echo '{"event":"step","step":1,"ppl":'$x',"loss":2,"seconds":1}'
    done | events far
    [ "$(LC_ALL=C grep -oaP '\x15\x00\x00\x80[\x7f\xff]' far/train/events.* | wc -l)" -eq 2 ]
    # A second log without validation: no curve of the first is left.
    log | events again
    log | grep -v '"event":"valid"' | events again
    [ "$(find again -type f)" = again/train/events.out.tfevents.tf-train ]
    log | head -c 400 | events cut
    [ -s cut/train/events.out.tfevents.tf-train ]
    run --separate-stderr events no <text
    expect_status 1
    expect_error "line 1: not a line of tf-train's log"
    run --separate-stderr events
    expect_status 2
}

@test "TensorBoard reads what the log has" {
    [ -n "${TENSORBOARD_PYTHON:-}" ] || skip "no TENSORBOARD_PYTHON: names a Python with tensorboard"
    log | events out
    "$TENSORBOARD_PYTHON" - "$TOP/tests/golden/tensorboard/log.jsonl" out <<'PY'
import calendar, json, struct, sys, time
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
single = lambda x: struct.unpack("f", struct.pack("f", x))[0]
lines = [json.loads(l) for l in open(sys.argv[1])]
for event, run in (("step", "train"), ("valid", "valid")):
    a = EventAccumulator(sys.argv[2] + "/" + run, {"scalars": 0, "tensors": 0})
    a.Reload()
    want, started = {}, 0
    for l in lines:
        if l["event"] == "start":
            started = calendar.timegm(time.strptime(l["time"], "%Y-%m-%dT%H:%M:%SZ"))
        elif l["event"] == event:
            for k, x in l.items():
                if isinstance(x, (int, float)) and not isinstance(x, bool) and k not in ("step", "seconds"):
                    want.setdefault(k, []).append((started + l["seconds"], l["step"], single(x)))
    assert set(a.Tags()["scalars"]) == set(want), (a.Tags(), want)
    for k in want:
        got = [(e.wall_time, e.step, e.value) for e in a.Scalars(k)]
        assert got == want[k], (k, got, want[k])
    if run == "train":
        texts = a.Tensors("start")
        assert [e.step for e in texts] == [0, 50]
        assert a.SummaryMetadata("start").plugin_data.plugin_name == "text"
        shown = texts[0].tensor_proto.string_val[0].decode()
        assert json.loads(shown.strip("`\n")) == lines[0], shown
PY
}
