#!/usr/bin/env bats
# tf-avgckpt: means in double precision of the right checkpoints, and no mean of what does not
# belong together.
load helper

prepare() {
    need "$TF_PYTHON"
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" n=40 >b.tfs
    train --steps 30 --save-every 5 --keep 0 --ema 0.9 -o run b.tfs
}

train() {
    tf-train --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --warmup 20 --device cpu \
        "$@" 2>err
}

@test "the mean is that of float64, rounded once" {
    t 0 tf-avgckpt -n 3 -o mean.tfm run/
    [ -z "$output$stderr" ]
    t 0 tf-avgckpt --ema -n 3 -o ema.tfm run/
    "$TF_PYTHON" - <<'PY'
import numpy as np
from streams import tensors
files = [tensors("run/ckpt-%08d.tfm" % s) for s in (20, 25, 30)]
for name, prefix in (("mean.tfm", "p/"), ("ema.tfm", "e/")):
    mean = tensors(name)
    assert len(mean) > 20 and all(k.startswith("p/") for k in mean)
    for key, got in mean.items():
        want = sum(f[prefix + key[2:]].astype("f8") for f in files) / 3
        assert np.array_equal(got, want.astype("f4")), (name, key)
PY
}

@test "a directory's last by step, files as they are given; to a file or a pipe" {
    mv run/ckpt-00000030.tfm x
    # Without the checkpoint of its own step, too: a copy under another name counts for nothing.
    for name in 00000001 00000099; do
        cp x run/ckpt-$name.tfm
        t 1 tf-avgckpt -n 9 run
        expect_error "tf-avgckpt: run/ckpt-$name.tfm: the name is that of step $((10#$name)), but it contains step 30; move it away"
        [ -z "$output" ]
        rm run/ckpt-$name.tfm
    done
    # An older one that is damaged does not matter unless it is needed.
    : >run/ckpt-00000001.tfm
    tf-avgckpt -n 2 -o y run
    t 1 tf-avgckpt -n 9 run
    expect_error "run/ckpt-00000001.tfm: "
    rm run/ckpt-00000001.tfm y
    # What is not written as the names of checkpoints are is none of them.
    cp x run/ckpt-30.tfm
    cp x run/ckpt-000000030.tfm
    cp x run/ckpt-99999999999999999999.tfm
    cp x run/ckpt-00000030.tfm
    tf-avgckpt -n 2 run >a.tfm
    tf-avgckpt run/ckpt-00000025.tfm x >b.tfm
    cmp a.tfm b.tfm
    tf-avgckpt -o c.tfm run/ckpt-00000025.tfm - <x
    cmp a.tfm c.tfm
    tf-avgckpt run/ckpt-00000025.tfm x | cat >d.tfm
    cmp a.tfm d.tfm
    tf-avgckpt x >one.tfm
    "$TF_PYTHON" - <<'PY'
import json, subprocess
info = lambda p: json.loads(subprocess.check_output(["tf-info", "--json", p]))
x, one, mean = info("x"), info("one.tfm"), info("a.tfm")
assert one["kind"] == "model" and "step" not in one
assert one["model"] == x["model"], "the mean of one is itself"
assert mean["model"] != x["model"]
assert mean["made"][-1]["prog"] == "tf-avgckpt" and mean["made"][:-1] == x["made"]
assert mean["made"][-1]["in"] == {"1": info("run/ckpt-00000025.tfm")["model"], "2": x["model"]}
PY
}

@test "resume.tfm and best.tfm do not count" {
    train --steps 1000 --save-every 5 --keep 0 --ema 0.9 -o run b.tfs
    t 1 tf-avgckpt -n 9 run
    expect_error "tf-avgckpt: run: 8 regular checkpoints (of step 5, 10, 15, 20, 25, 30, 35, 40), 9 requested; try: tf-avgckpt -n 8 run -o model.tfm"
    [ -z "$output" ]
    rm run/ckpt-00000040.tfm
    cp run/ckpt-00000030.tfm run/best.tfm
    t 1 tf-avgckpt -n 8 run
    expect_contains "$stderr" "; try: tf-avgckpt -n 7 run -o model.tfm"
}

@test "too few checkpoints: what there is, and a command that works" {
    next() { sed -n 's/.*; try: //p' <<<"$stderr"; }
    train --steps 1000 --save-every 100 -o 'a run' b.tfs
    for more in "" "resume.tfm" "best.tfm" "ckpt-00000040.tfm"; do
        [ -z "$more" ] || [ -e "a run/$more" ] || cp 'a run/resume.tfm' "a run/$more"
        t 1 tf-avgckpt 'a run' -n 5
        expect_contains "$stderr" "tf-avgckpt: a run: "
        expect_contains "$(next)" "${more%%-*}"
        bash -c "$(next)"
        tf-cbor check model.tfm
        rm model.tfm
    done
    expect_contains "$stderr" "a run: 1 regular checkpoint (of step 40), 5 requested; try: "
    mkdir none
    none='tf-avgckpt: none: 0 regular checkpoints (files such as ckpt-00000100.tfm)'
    t 1 tf-avgckpt none
    expect_error "$none"
    cp 'a run/best.tfm' none
    t 1 tf-avgckpt none
    expect_error "$none; try: tf-avgckpt none/best.tfm -o model.tfm"
    mv none ./-none
    t 1 tf-avgckpt -- -none
    expect_contains "$stderr" "; try: tf-avgckpt ./-none/best.tfm -o model.tfm"
    bash -c "$(next)"
}

@test "fewer checkpoints than the default: all of them, with a note" {
    rm run/ckpt-000000{05,10,15}.tfm
    t 0 tf-avgckpt run -o three.tfm
    expect_error "tf-avgckpt: run: only 3 of the usual 5 checkpoints; averaging these"
    t 0 tf-avgckpt --quiet run -o quiet.tfm
    [ -z "$stderr" ]
    cmp three.tfm quiet.tfm
    t 1 tf-avgckpt --quiet none -o quiet.tfm
    expect_error "tf-avgckpt: none: No such file or directory"
    tf-avgckpt -n 3 run -o want.tfm
    t 0 tf-avgckpt --at-most 4 run -o four.tfm
    expect_error "tf-avgckpt: run: only 3 of 4 checkpoints; averaging these"
    [ "$(tf-info four.tfm | grep ^model)" = "$(tf-info want.tfm | grep ^model)" ]
    t 0 tf-avgckpt --at-most 2 run -o two.tfm
    [ -z "$stderr" ]
    tf-avgckpt -n 2 run -o want.two.tfm
    [ "$(tf-info two.tfm | grep ^model)" = "$(tf-info want.two.tfm | grep ^model)" ]
    t 2 tf-avgckpt --at-most 2 -n 2 run
    expect_error "tf-avgckpt: give either --last or --at-most"
    t 2 tf-avgckpt --at-most 2 run/ckpt-00000030.tfm
    expect_error "tf-avgckpt: --last and --at-most are only for a directory"
    [ "$(tf-info three.tfm | grep ^model)" = "$(tf-info want.tfm | grep ^model)" ]
    rm run/ckpt-000000{20,25}.tfm
    t 0 tf-avgckpt run -o one.tfm
    expect_error "tf-avgckpt: run: only 1 of the usual 5 checkpoints; averaging this one"
    # A command that is suggested overwrites nothing, and works as it is.
    cp one.tfm model.tfm
    cp one.tfm model-2.tfm
    t 1 tf-avgckpt run -n 2
    expect_contains "$stderr" "; try: tf-avgckpt -n 1 run -o model-3.tfm"
    bash -c "${stderr#*; try: }"
    cmp one.tfm model-3.tfm || [ "$(tf-info one.tfm | grep ^model)" = "$(tf-info model-3.tfm | grep ^model)" ]
}

@test "without -n: as many as the preset of the run averages" {
    natively
    train --steps 25 --save-every 1 --keep 0 -o t2t --as t2t --preset base b.tfs
    train --steps 25 --save-every 1 --keep 0 -o big --preset big b.tfs
    train --steps 3 --save-every 1 --keep 0 -o row --preset A-h1 b.tfs
    for run in run:5 t2t:20 big:20 row:1; do
        tf-avgckpt -o default.tfm "${run%:*}"
        tf-avgckpt -n "${run#*:}" -o n.tfm "${run%:*}"
        cmp default.tfm n.tfm
    done
    # A checkpoint that says nothing of its preset.
    tf-cbor json run/ckpt-00000030.tfm | sed '1s/"made":.*,"size"/"size"/' | tf-cbor unjson -o x
    [ "$(tf-info --json x | jq .made)" = null ]
    cp x run/ckpt-00000030.tfm
    t 0 tf-avgckpt -o default.tfm run
    tf-avgckpt -n 5 run | cmp - default.tfm
}

@test "no output under a name of the run; a model under one is skipped" {
    before=$(sha256sum run/*)
    for f in run/ckpt-00000030.tfm run/ckpt-00000031.tfm run/best.tfm run/../run/resume.tfm \
        run/lock; do
        t 2 tf-avgckpt -n 2 run -o "$f"
        expect_error "tf-avgckpt: $f: a file of the run itself"
    done
    [ "$before" = "$(sha256sum run/*)" ]
    tf-avgckpt -n 2 run -o run/mean.tfm
    cp run/mean.tfm run/ckpt-00000035.tfm
    t 0 tf-avgckpt -n 2 run -o again.tfm
    expect_error "tf-avgckpt: warning: run/ckpt-00000035.tfm: not a checkpoint; skipped"
    mkdir run/ckpt-00000042.tfm
    t 0 tf-avgckpt -n 2 run -o beside.tfm
    expect_contains "$stderr" "tf-avgckpt: warning: run/ckpt-00000042.tfm: not a checkpoint; skipped"
    cmp again.tfm beside.tfm
    rmdir run/ckpt-00000042.tfm
    cmp run/mean.tfm again.tfm
    t 1 tf-avgckpt -n 7 run
    expect_contains "$stderr" "6 regular checkpoints (of step 5, 10, 15, 20, 25, 30), 7 requested; "
}

@test "what does not belong together is refused by name" {
    train --steps 5 --d-ff 64 -o other b.tfs
    t 1 tf-avgckpt run/ckpt-00000005.tfm other/ckpt-00000005.tfm -o x
    expect_error \
        "not the same model: d_ff: 64 in other/ckpt-00000005.tfm, 32 in run/ckpt-00000005.tfm"
    printf a >va
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" vocab=va >c.tfs
    train --steps 5 --ema 0.9 -o named c.tfs
    t 1 tf-avgckpt run/ckpt-00000005.tfm named/ckpt-00000005.tfm -o x
    expect_error "named/ckpt-00000005.tfm: names a vocabulary, unlike run/ckpt-00000005.tfm"
    printf b >vb
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" vocab=vb >c.tfs
    train --steps 5 --ema 0.9 -o third c.tfs
    t 1 tf-avgckpt named/ckpt-00000005.tfm third/ckpt-00000005.tfm -o x
    expect_error "vocabulary $(sha256sum <vb | cut \
        -c1-12) differs from named/ckpt-00000005.tfm: $(sha256sum <va | cut -c1-12) "
    # Without hashes.
    "$TF_PYTHON" "$TOP/tests/cli/batches.py" v=50 >c.tfs
    train --steps 5 --vocab-size 64 -o fewer c.tfs
    t 1 tf-avgckpt run/ckpt-00000005.tfm fewer/ckpt-00000005.tfm -o x
    expect_error "fewer/ckpt-00000005.tfm: vocabulary of 50 ids, but 64 in an earlier header"
    # The languages of one model, the other way round.
    for l in en:de de:en; do
        labels="\"lang\":\"${l%:*}\",\"target_lang\":\"${l#*:}\","
        tf-cbor json run/ckpt-00000005.tfm | sed "1s/\"kind\":/$labels&/" |
            tf-cbor unjson -o $l.tfm
    done
    tf-avgckpt run/ckpt-00000010.tfm en:de.tfm -o one.tfm
    t 1 tf-avgckpt run/ckpt-00000010.tfm en:de.tfm de:en.tfm -o x
    expect_error "de:en.tfm: the source is 'de', but 'en' in an earlier header"
    train --steps 5 -o plain b.tfs
    t 1 tf-avgckpt --ema plain/ckpt-00000005.tfm -o x
    expect_error "no moving average (--ema)"
    t 1 tf-avgckpt b.tfs -o x
    expect_error "b.tfs"
    head -c 5000 run/ckpt-00000005.tfm >cut.tfm
    t 1 tf-avgckpt run/ckpt-00000010.tfm cut.tfm -o x
    expect_error "cut.tfm: "
    t 1 tf-avgckpt nowhere.tfm -o x
    expect_error "nowhere.tfm: No such file or directory"
    [ ! -e x ]
}

@test "more inputs than the soft limit on open files, and more than the hard one" {
    train --steps 40 --save-every 1 --keep 0 -o many b.tfs
    tf-avgckpt -n 40 -o want.tfm many
    sh_t 0 'ulimit -Sn 20; tf-avgckpt -n 40 -o got.tfm many'
    cmp want.tfm got.tfm
    sh_t 1 'ulimit -n 20; tf-avgckpt -n 40 -o x many'
    expect_error "Too many open files"
}

@test "an impossible output is reported before the inputs are read" {
    t 1 tf-avgckpt -n 3 -o nowhere/x run
    expect_error "tf-avgckpt: nowhere/x: "
    # Also of inputs that can't be averaged.
    t 1 tf-avgckpt -o nowhere/x b.tfs
    expect_error "tf-avgckpt: nowhere/x: "
    t 1 tf-avgckpt -o run run/ckpt-00000005.tfm
    expect_error "tf-avgckpt: run: is a directory"
    mkfifo pipe
    cat pipe >out.tfm &
    tf-avgckpt -n 3 -o pipe run
    wait $!
    tf-avgckpt -n 3 -o want.tfm run
    cmp want.tfm out.tfm
}

@test "usage" {
    t 2 tf-avgckpt
    t 2 tf-avgckpt - -
    t 2 tf-avgckpt run run
    t 2 tf-avgckpt -n 2 run/ckpt-00000005.tfm
    expect_error "--last and --at-most are only for a directory"
}
