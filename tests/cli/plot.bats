#!/usr/bin/env bats
# tf-plot: pictures that are well-formed and the same every time, from logs and matrices as they
# come, and what it refuses.
load helper

prepare() {
    mkdir -p base big
    "$TF_PYTHON" - <<'PY'
import json, math
for name, rate in (("base", 1.0), ("big", 1.6)):
    with open(f"{name}/log.jsonl", "w") as f:
        for s in range(10, 5001, 10):
            loss = 1.3 + 8 * math.exp(-s * rate / 900)
            f.write(json.dumps({"event": "step", "step": s, "loss": loss, "lr": s / 1e7, "note": {"a": [1]}}) + "\n")
            if s % 1000 == 0:
                f.write(json.dumps({"event": "valid", "step": s, "loss": loss - 1, "valid_ppl": math.exp(loss)}) + "\n")
PY
}

# The picture on stdout is well-formed and self-contained; prints what a tag's text is.
svg() {
    "$TF_PYTHON" - "$@" <<'PY'
import re, sys
import xml.etree.ElementTree as E
text = open(sys.argv[1], encoding="utf-8").read()
root = E.fromstring(text.encode())
ns = "{http://www.w3.org/2000/svg}"
assert root.tag == ns + "svg" and root.find(ns + "title").text and root.find(ns + "desc").text
assert "href" not in text and "nan" not in text and "inf" not in re.sub("<text[^>]*>[^<]*", "", text)
w, h = float(root.get("width")), float(root.get("height"))
for t in root.iter(ns + "text"):
    x, y = float(t.get("x")), float(t.get("y"))
    assert 0 <= x <= w and 0 <= y <= h, t.attrib
    # All of the text is inside, at half an em a character.
    long = len(t.text or "") * float(t.get("font-size")) / 2
    begin = {"start": 0, "middle": long / 2, "end": long}[t.get("text-anchor")]
    at, most = (h - y, h) if t.get("transform") else (x, w)
    assert at - begin >= -1 and at - begin + long <= most + 1, (t.attrib, t.text)
print(*(t.text for t in root.iter(ns + "text")), sep="|")
PY
}

@test "a curve per log, named by its path" {
    t 0 tf-plot curve -t 'A & B' --where event=step base/log.jsonl big/log.jsonl -o out.svg
    [ -z "$output" ]
    expect_contains "$(svg out.svg)" 'A & B|base|big|'
    expect_contains "$(svg out.svg)" '1000|2000|3000|4000|5000|step|loss'
    cp base/log.jsonl base/../small.run.jsonl
    t 0 tf-plot curve --by '' small.run.jsonl big/log.jsonl -o out.svg
    expect_contains "$(svg out.svg)" 'small.run|big|'
}

@test "run: a chart for each thing that the logs have, and the last sample translations" {
    for d in one two; do
        mkdir $d
        for s in 10 20 30; do
            printf '{"event":"step","step":%d,"loss":%d.5,"lr":0.1,"grad_norm":2,"tok_s":900}\n' $s $s
            printf '{"event":"valid","step":%d,"loss":3,"metric":7,"output":"%s of %s\\nb < a"}\n' \
                $s $s $d
        done >$d/log.jsonl
    done
    t 0 tf-plot run one two/log.jsonl -o both.svg
    text=$(svg both.svg)
    for what in loss 'number of --valid-command' 'learning rate' 'norm of the gradient' \
        'target tokens/s' 'one (training)' 'two (validation)' 'one, step 30:' 'two, step 30:' \
        '30 of one' '30 of two' 'b < a'; do expect_contains "|$text|" "|$what|"; done
    [[ $text != *'20 of'* ]]
    # Each chart is cut at its own axes.
    [ "$(grep -o 'clipPath id="[^"]*"' both.svg | sort -u | wc -l)" -eq 5 ]
    [ "$(grep -o 'url(#[^)]*)' both.svg | sort -u | wc -l)" -eq 5 ]
    # The directory that tf-train's examples write is the usual one.
    mv one run
    t 0 tf-plot run -o alone.svg
    text=$(svg alone.svg)
    expect_contains "|$text|" '|step 30:|30 of one|'
    gzip <two/log.jsonl >packed.gz
    t 0 tf-plot run packed.gz -o packed.svg
    expect_contains "|$(svg packed.svg)|" '|step 30:|30 of two|'
    [[ $text != *metric* ]]
    # Logs of others: what they have.
    printf '{"num_updates":"%d","loss":"5.%d","gnorm":"1"}\n' 1 9 2 5 3 2 >fairseq.jsonl
    t 0 tf-plot -x num_updates run fairseq.jsonl -o other.svg
    [ "$(grep -c '<clipPath' other.svg)" -eq 2 ]
    text=$(svg other.svg)
    expect_contains "$text" num_updates
    expect_contains "$text" 'norm of the gradient'
    printf '{"step":%d,"loss":5,"learning_rate":0.%d,"grad_norm":%d}\n' 1 1 3 2 2 2 >hf.jsonl
    t 0 tf-plot run hf.jsonl two -o others.svg
    text=$(svg others.svg)
    expect_contains "|$text|" '|hf|two|0.10|0.15|0.20|'
    expect_contains "$text" 'norm of the gradient'
    t 1 tf-plot run fairseq.jsonl
    expect_error 'fairseq.jsonl: nothing to draw: no line has "step" and one of loss, metric, lr, '
    t 2 tf-plot run -
    expect_error "run: logs are read more than once: no stdin and no pipe"
    mkfifo pipe
    t 2 tf-plot run pipe
    expect_error "run: logs are read more than once: no stdin and no pipe"
    t 2 tf-plot -l a run run two
    expect_error "1 labels for 2 logs"
    t 1 tf-plot run none
    expect_error "none: No such file or directory"
}

@test "points with names in place of lines" {
    printf '{"row":"%s","kind":"%s","x":%s,"y":%s}\n' A-1 A 1 1 A-2 A 2 2 'B & C' B 3 3 D B 1.01 1 \
        >points.jsonl
    echo '{"kind":"A","x":1.5,"y":2.5}' >>points.jsonl
    t 0 tf-plot curve -x x -y y --by kind --points row points.jsonl -o out.svg
    expect_contains "$(svg out.svg)" 'y (A)|y (B)|'
    expect_contains "$(svg out.svg)" '|A-1|A-2|B & C|D'
    run -1 grep '<path' out.svg
    [ "$(grep -c '<circle' out.svg)" -eq 7 ] # five points, two groups in the legend
    # A-1 and D are at almost the same place; D is not written over A-1.
    "$TF_PYTHON" - <<'PY'
import xml.etree.ElementTree as E
texts = [t for t in E.parse("out.svg").iter() if t.tag.endswith("text")]
at = {t.text: (float(t.get("x")), float(t.get("y"))) for t in texts}
assert abs(at["A-1"][1] - at["D"][1]) >= 10 or abs(at["A-1"][0] - at["D"][0]) >= 25, at
assert at["B & C"][0] < 780, at  # left of the point at the right end
PY
    # Outside of the axes there is neither a point nor a name.
    t 0 tf-plot curve -x x -y y --by '' --points row --x-max 2.5 points.jsonl -o out.svg
    [[ $(svg out.svg) != *'B & C'* ]]
    [ "$(grep -c '<circle' out.svg)" -eq 4 ]
    t 2 tf-plot --points row heat points.jsonl
}

# A log of tf-train: name, and changes to its first line as a Python dictionary of parts.
run_log() {
    mkdir -p "$1"
    "$TF_PYTHON" - "$2" >"$1/log.jsonl" <<'PY'
import json, sys
start = {"event": "start", "step": 0, "time": "now", "command": ["tf-train"], "steps": 100,
         "settings": {"warmup": 400, "seed": 1, "deep": {"warmup": 7}, "list": [1]},
         "batches": {"tokens": 4000, "pairs": 10, "corpus": "0" * 64}, "version": "1",
         "config": {"d_model": 512, "pre_norm": False}, "data": {"corpus": "0" * 64}}
for part, change in eval(sys.argv[1]).items():
    start[part] = {**start[part], **change} if isinstance(change, dict) else change
print(json.dumps(start))
print(json.dumps({"event": "step", "step": 1, "loss": 3}))
print(json.dumps({"event": "start", "step": 1, "settings": {"warmup": 99}}))
PY
}

@test "several runs: the legend has the settings in which they differ" {
    legend() {
        t 0 tf-plot curve "$@" -o out.svg
        [ -z "$stderr" ]
        svg out.svg | sed 's/|1|step.*//'
    }
    run_log a '{}'
    run_log b '{"settings": {"warmup": 8000}, "config": {"pre_norm": True}}'
    run_log c '{"time": "later", "command": ["x"], "batches": {"tokens": 1, "pairs": 2, "corpus": "a" * 64}, "data": {"corpus": "a" * 64}}'
    expect_contains "$(legend {a,b}/log.jsonl)" 'a, warmup 400, pre_norm no|b, warmup 8000, pre_norm yes'
    expect_contains "$(legend {a,c}/log.jsonl)" 'a, batch tokens 4000, corpus 00000000|c, batch tokens 1, corpus aaaaaaaa'
    # Equal runs, one run, and labels.
    expect_contains "$(legend {a,a}/log.jsonl)" 'a|a|2'
    legend a/log.jsonl
    run -1 grep -q warmup out.svg
    expect_contains "$(legend -l x -l y {a,b}/log.jsonl)" 'x|y|2'
    # Equal names get as many directories as tell them apart.
    mkdir -p x/{en-de,en-fr}/run y/en-fr/run
    for d in x/{en-de,en-fr}/run y/en-fr/run; do
        printf '{"step":1,"loss":2}\n' | tee $d/log.jsonl >$d.jsonl
    done
    expect_contains "$(legend x/{en-de,en-fr}/run/log.jsonl)" 'en-de/run|en-fr/run|'
    expect_contains "$(legend {x/en-de,x/en-fr,y/en-fr}/run.jsonl)" 'en-de/run|x/en-fr/run|y/en-fr/run|'
    cp x/en-de/run.jsonl run.jsonl
    expect_contains "$(legend run.jsonl x/en-de/run.jsonl a/log.jsonl)" 'run|en-de/run|a|'
    expect_contains "$(legend x/en-de/run{/log,}.jsonl)" 'x/en-de/run/log.jsonl|x/en-de/run.jsonl|'
    # Numbers have three digits, if these differ.
    run_log e '{"settings": {"lr": 0.00027950849718747374, "beta2": 0.98, "eps": 1.00001}}'
    run_log f '{"settings": {"lr": 0.0005, "beta2": 0.9975, "eps": 1.00002}}'
    expect_contains "$(legend {e,f}/log.jsonl)" 'e, lr 0.00028, beta2 0.98, eps 1.00001|f, lr 0.0005, beta2 0.998, eps 1.00002|'
    for i in 1 2; do
        printf '{"event":"start","settings":{"":%d}}\n{"step":1,"loss":2}\n' $i >empty-$i.jsonl
    done
    expect_contains "$(legend empty-{1,2}.jsonl)" 'empty-1,  1|empty-2,  2|'
    # At most four; a setting that one version lacks; a log without settings.
    run_log d '{"settings": {"warmup": 1, "seed": 2, "new": 0.5}, "config": {"d_model": 1, "pre_norm": True}, "version": "2"}'
    expect_contains "$(legend {a,d}/log.jsonl)" 'a, warmup 400, seed 1, d_model 512, pre_norm no, 1 more|d, warmup 1, seed 2, new 0.5, d_model 1, 2 more'
    expect_contains "$(legend {a,b,base}/log.jsonl)" 'a, warmup 400, pre_norm no|b, warmup 8000, pre_norm yes|base (training)|base (validation)'
    printf '%s\n' '{"event":"start","settings":[{"warmup":3}],"config":4,"step":0,"data":null}' \
        '{"step":1,"loss":2}' >odd.jsonl
    expect_contains "$(legend odd.jsonl a/log.jsonl)" 'odd|a|'
}

@test "many short settings take no more memory than formats/limits.md says" {
    printf '{"event":"start","settings":{%s"a":2}}\n{"step":1,"loss":1}\n' \
        "$(printf '"a":1,%.0s' {1..666666})" >many.jsonl
    # 24 MiB and 40 bytes for each of the 4,000,000
    limit=
    [ -n "${TF_SAN:-}${TF_EMULATOR:-}" ] || limit='ulimit -v 180000;'
    sh_t 0 "$limit tf-plot curve many.jsonl -o out.svg"
}

# The svg function checks that all of a text is in the picture.
@test "names too long for the picture are cut, those in legends in the middle" {
    run_log a '{"steps": 99}'
    run_log b '{"settings": {"warmup": 8000, "seed": 2}, "config": {"d_model": 1024, "pre_norm": True}}'
    for f in a b; do
        echo '{"event": "valid", "step": 1, "loss": 4}' >>$f/log.jsonl
    done
    t 0 tf-plot -w 480 curve {a,b}/log.jsonl -o out.svg
    texts=$(svg out.svg)
    expect_contains "$texts" 'a, warmup 400, seed 1'
    expect_contains "$texts" '…'
    expect_contains "$texts" ' (training)|b, warmup 8000'
    expect_contains "$texts" ' (validation)|'
    expect_contains "$(<out.svg)" 'pre_norm no, 1 more (validation), b' # in the description
    long=$(printf 'Loss_%.0s' {1..60})
    t 0 tf-plot curve {a,b}/log.jsonl -o out.svg -l "Ä$long" -l short --x-label "$long" \
        --y-label "$long"
    expect_contains "$(svg out.svg)" 'ÄLoss_Loss_'
    expect_contains "$(svg out.svg)" 'Loss_ (validation)|short (training)|short (validation)|'
    echo 1,2 >m.csv
    for w in 300 840; do
        t 0 tf-plot -w $w heat m.csv --x-label "$long" --y-label "$long" -o out.svg
        expect_contains "$(svg out.svg)" 'Loss_'
    done
    # A small matrix gets room for the name of its columns.
    t 0 tf-plot heat m.csv --x-label 'Position of a word in the sentence' -o out.svg
    expect_contains "$(svg out.svg)" '|Position of a word in the sentence|'
}

@test "names of points are in the picture, wherever the points are" {
    printf '{"step":%s,"loss":%s,"name":"%s"}\n' 1 1 "first ${n:=of-twenty-four-letters}" \
        2 2 "second $n" >points.jsonl
    t 0 tf-plot -w 160 --points name curve points.jsonl -o out.svg
    expect_contains "$(svg out.svg)" '|fir'
    for i in {1..30}; do
        printf '{"step":%s,"loss":%s,"name":"run-%s"}\n' $((i % 3)) $((i % 2)) $i
    done >many.jsonl
    # y from 0 to 1: the points are on the axes, where no name is above or below.
    t 0 tf-plot --y-min 0 --y-max 1 --points name curve many.jsonl -o out.svg
    expect_contains "$(svg out.svg)" '|run-30'
    "$TF_PYTHON" - <<'PY'
import xml.etree.ElementTree as E
tree = list(E.parse("out.svg").iter())
dots = [float(t.get("cy")) for t in tree if t.tag.endswith("circle")]
names = [float(t.get("y")) for t in tree if (t.text or "").startswith("run-")]
assert len(names) == 30 and min(dots) - 6 <= min(names) and max(names) <= max(dots) + 6
PY
}

@test "training and validation are lines of their own" {
    t 0 tf-plot curve base/log.jsonl -o out.svg
    expect_contains "$(svg out.svg)" 'loss (training)|loss (validation)|'
    [ "$(grep -c '<circle' out.svg)" = 5 ]
    t 0 tf-plot curve base/log.jsonl big/log.jsonl -o out.svg
    expect_contains "$(svg out.svg)" 'base (training)|base (validation)|big (training)|big (validation)|'
    # A key that only one kind of event has needs no addition.
    t 0 tf-plot curve -y lr base/log.jsonl -o out.svg
    run -1 grep -F '(training)' out.svg
    printf '{"step":1,"loss":1,"by":"x"}\n{"step":2,"loss":2}\n{"step":3,"loss":3,"by":"x"}\n' >log
    t 0 tf-plot curve --by by log -o out.svg
    expect_contains "$(svg out.svg)" 'loss (x)|loss (other)|'
    for i in {1..65}; do echo "{\"step\":$i,\"loss\":1,\"event\":$i}"; done >many
    t 1 tf-plot curve many
    expect_error "many: line 65: \"event\" has more values than the 64 that can be drawn"
}

@test "logs of other programs: values that are not finite, and numbers as strings" {
    "$TF_PYTHON" - <<'PY' >python.jsonl
import json
nan, inf = float("nan"), float("inf")
for step, loss in enumerate([3, "2.5", nan, 2, inf, "1.5e0", "-inf", "1", "nan"]):
    print(json.dumps({"step": str(step) if step % 2 else step, "loss": loss, "other": [nan, {"x": -inf}]}))
print(json.dumps({"step": nan, "loss": 7}))
PY
    t 0 tf-plot curve python.jsonl -o out.svg
    [ -z "$stderr" ]
    expect_contains "$(<out.svg)" 'step from 0 to 7, loss from 1 to 3.'
    # 3 2.5 | 2 | 1.5 | 1: four pieces of line.
    [ "$(grep -o 'd="M[^"]*"' out.svg | tr -cd M | wc -c)" = 4 ]
    for value in '"3 "' '""' '"0x10"' '"3,5"' true '"NaNs"'; do
        printf '{"step":1,"loss":%s}\n' "$value" >odd
        t 1 tf-plot curve odd
        expect_error 'odd: line 1: "loss" is not a number'
    done
    for value in nan Inf -NaN Infinit 01; do
        printf '{"step":1,"loss":%s}\n' "$value" >odd
        t 1 tf-plot curve odd
        expect_contains "$stderr" 'odd: line 1'
    done
    # A matrix: NaN is missing, as in separated values; infinities cannot be drawn.
    echo '[[1, NaN], [2, 3]]' >m.json
    t 0 tf-plot heat m.json -o out.svg
    echo '[[1, null], [2, 3]]' >null.json
    tf-plot heat null.json | cmp - out.svg
    for x in Infinity -Infinity; do
        echo "[[1, $x]]" >m.json
        t 1 tf-plot heat m.json
        expect_error "numbers and null"
    done
}

@test "the same bytes to a file and to stdout, every time" {
    t 0 tf-plot curve base/log.jsonl --smooth 0.9 -o a.svg
    sh_t 0 'tf-plot curve --smooth 0.9 - <base/log.jsonl >b.svg'
    cmp a.svg b.svg
    mkdir other
    LC_ALL=de_DE.UTF-8 t 0 tf-plot curve base/log.jsonl --smooth 0.9 -o other/c.svg
    cmp a.svg other/c.svg
}

@test "several keys, a legend of both" {
    t 0 tf-plot curve -y loss,valid_ppl --log-x --log-y base/log.jsonl big/log.jsonl -o out.svg
    expect_contains "$(svg out.svg)" \
        'base: loss (training)|base: loss (validation)|base: valid_ppl|big: loss (training)|'
    t 0 tf-plot curve -y loss,valid_ppl base/log.jsonl -o out.svg
    expect_contains "$(svg out.svg)" 'loss (training)|loss (validation)|valid_ppl|'
    t 0 tf-plot curve --where event=step -l one -l '<two>' base/log.jsonl big/log.jsonl -o out.svg
    expect_contains "$(svg out.svg)" 'one|<two>|'
}

@test "--where takes only some objects" {
    t 0 tf-plot curve --where event=valid base/log.jsonl -o out.svg
    [ "$(grep -c '<circle' out.svg)" = 5 ]
    t 0 tf-plot curve --where event=valid --x-min 1500 --x-max 3500 --y-min 0 base/log.jsonl -o \
        out.svg
    svg out.svg >/dev/null
    t 1 tf-plot curve -y ppl --where event=no base/log.jsonl
    expect_contains "$stderr" "nothing to draw: no line with step and ppl matches --where event=no"
}

@test "errors in objects that are not plotted do not matter" {
    printf '%s\n' '{"event":"a","step":1,"loss":"hi"}' '{"step":2,"loss":[1],"event":"v"}' >log
    t 1 tf-plot curve --where event=v log
    expect_error 'log: line 2: "loss" is not a number'
    printf '%s\n' '{"event":"a","step":1,"loss":"hi"}' '{"loss":{},"step":"x","event":"b"}' \
        '{"step":2,"loss":1,"event":"v"}' '{"step":3,"loss":2,"event":"v"}' >log
    t 0 tf-plot curve --where event=v log -o out.svg
    [ -z "$stderr" ]
    t 1 tf-plot curve --where event=b log
    expect_error 'log: line 2: "loss" is not a number'
}

@test "a long log is thinned to the pixels" {
    awk 'BEGIN { for (i = 1; i <= 200000; i++) printf "{\"step\":%d,\"loss\":%.4f}\n", i, (i * 7919) % 1000 / 100 }' >long
    t 0 tf-plot curve long -o out.svg
    [ "$(stat -c %s out.svg)" -lt 150000 ]
    svg out.svg >/dev/null
}

@test "gaps, one point, equal values, tiny and huge numbers" {
    printf '{"step":1,"loss":2}\n{"step":2,"loss":null}\n{"step":3,"loss":1}\n\n{"other":1}\n' >gap
    t 0 tf-plot curve gap -o out.svg
    [ "$(grep -o 'd="M[^"]*"' out.svg | tr -cd M | wc -c)" = 2 ]
    printf '{"step":1,"loss":2}\n' | tee one >/dev/null
    t 0 tf-plot curve one -o out.svg
    svg out.svg >/dev/null
    printf '{"step":1,"loss":0}\n{"step":2,"loss":0}\n' >zero
    t 0 tf-plot curve zero -o out.svg
    svg out.svg >/dev/null
    printf '{"step":1,"loss":1e-300}\n{"step":2,"loss":1e300}\n' >wide
    t 0 tf-plot curve --log-y wide -o out.svg
    svg out.svg >/dev/null
    t 0 tf-plot curve wide -o out.svg
    svg out.svg >/dev/null
}

@test "numbers at the ends of what a double holds" {
    printf '{"step":5e-276,"loss":5e-324}\n{"step":98826,"loss":-1.7e308}\n{"step":3,"loss":1e300}\n' >odd
    for o in '' --log-x --log-y --smooth=0.5 '--y-min=-1 --y-max=5'; do
        # shellcheck disable=SC2086
        t 0 tf-plot curve $o odd -o out.svg
        svg out.svg >/dev/null
    done
    for m in 1e20,1e20 -5,-5 0,0 -1e-320,2 -1e300,1e300; do
        echo $m >m.csv
        t 0 tf-plot heat --values m.csv -o out.svg
        svg out.svg >/dev/null
    done
    echo 1.7e308,-1.7e308 >m.csv
    t 1 tf-plot heat m.csv
    expect_error "values beyond 1e300"
    t 2 tf-plot heat --min 2 --max 1 m.csv
}

@test "a log that is still being written" {
    printf '{"step":1,"loss":2}\n{"step":2,"loss":1}\n{"step":3,"lo' >cut.jsonl
    t 0 tf-plot curve cut.jsonl -o out.svg
    expect_error "cut.jsonl: line 3"
    svg out.svg >/dev/null
    printf '{"step":1,"loss":2}\n{"step":2,"loss":"x","lo' >cut.jsonl
    t 0 tf-plot curve cut.jsonl -o out.svg
    expect_error "dropped, since it is incomplete"
    # A line that is whole but for its LF is used, or refused, as every other.
    printf '{"step":1,"loss":2}\n{"step":2,"loss":1}' >whole.jsonl
    t 0 tf-plot curve whole.jsonl -o out.svg
    [ -z "$stderr" ]
    for last in '{"step":2,"loss":"x"}' '[1]' 7; do
        printf '{"step":1,"loss":2}\n%s' "$last" >whole.jsonl
        t 1 tf-plot curve whole.jsonl
        expect_error "whole.jsonl: line 2: "
    done
}

@test "names of the axes and the height" {
    t 0 tf-plot curve base/log.jsonl -o small.svg
    t 0 tf-plot curve --height 700 --x-label 'x & y' --y-label nats base/log.jsonl -o out.svg
    expect_contains "$(svg out.svg)" '|x & y|nats'
    grep -q '^<svg[^>]* height="700"' out.svg
    run -1 grep -q '^<svg[^>]* height="700"' small.svg
    echo 1,2 | tf-plot heat --x-label columns --y-label rows - -o out.svg
    expect_contains "$(svg out.svg)" '|columns|rows|'
}

@test "logs that are none" {
    printf '{"step":1,"loss":2}\nnot json\n{"step":3,"loss":1}\n' >bad
    t 1 tf-plot curve bad -o out.svg
    expect_error "tf-plot: bad: line 2"
    [ ! -e out.svg ]
    printf '{"step":1,"loss":"high"}\n' >bad
    t 1 tf-plot curve bad
    expect_error '"loss" is not a number'
    printf '[1]\n' >bad
    t 1 tf-plot curve bad
    expect_error "not a JSON object"
    : >empty
    t 1 tf-plot curve empty
    expect_contains "$stderr" "nothing to draw"
    printf '{"step":1,"loss":-2}\n' >neg
    t 1 tf-plot curve --log-y neg
    expect_contains "$stderr" "no positive values"
    t 1 tf-plot curve no-such-log
    expect_error "no-such-log"
    for range in '--x-min 5 --x-max 1' '--x-min 50 --x-max 20' '--y-min 3 --y-max 1'; do
        # shellcheck disable=SC2086
        t 2 tf-plot curve $range base/log.jsonl
        expect_error "empty range: the least value is above the greatest"
    done
    t 2 tf-plot curve --log-y --y-min -1 base/log.jsonl
    expect_error "a logarithmic axis can't begin at or below 0"
}

@test "heat maps" {
    printf ',a,"b, c",d\nr1,1,2,3\nr2,4,,6\n' >m.csv
    t 0 tf-plot heat --values -t Table m.csv -o out.svg
    output=$(svg out.svg)
    expect_contains "$output" 'Table|1|2|3|4|6|r1|r2|a|b, c|d'
    printf '{"rows":["x","y"],"cols":["p","q"],"data":[[-1,0.5],[null,1]]}' |
        tf-plot heat - -o out.svg
    output=$(svg out.svg)
    expect_contains "$output" 'x|y|p|q|'
    # Signed values have 0 in the middle: the ends of the bar are opposite.
    expect_contains "$output" '|-1|0|1'
    printf '1,2\n3\n' >ragged
    t 1 tf-plot heat ragged
    expect_error "ragged: line 2: 1 values, the first row has 2"
    echo '[[1,2],[3]]' >ragged
    t 1 tf-plot heat ragged
    expect_error "row 2 has 1 values, the first has 2"
    t 1 tf-plot heat empty-file-that-is-not-there
    "$TF_PYTHON" -c 'for i in range(300): print(*(i * j % 17 for j in range(300)), sep=",")' \
        >big.csv
    t 0 tf-plot heat big.csv -o out.svg
    svg out.svg >/dev/null
}

@test "heat: few rows of many columns are as high as a line, the bar as its labels need" {
    for name in '' 'r1,'; do
        seq -s, 1000 | sed "s/^/$name/" | tf-plot heat --no-header - --x-label x -o out.svg
        svg out.svg
        "$TF_PYTHON" - <<'PY'
import re
import xml.etree.ElementTree as E
text = open("out.svg").read()
map_, bar = (float(x) for x in re.findall(r"scale\([0-9.]+ ([0-9.]+)\)", text))
assert 12 <= map_ <= 14, map_
assert abs(101 * bar - 80) < 0.01, bar
height = float(E.fromstring(text).get("height"))
top = float(re.search(r"translate\([0-9.]+ ([0-9.]+)\)", text).group(1))
assert height >= top + 80 + 8, (height, top)
PY
    done
}

@test "heat: values are those of the data, whatever the colours" {
    values() { # DATA WANT [OPTION]...
        echo "$1" | tf-plot heat --values "${@:3}" - -o out.svg
        output=$(svg out.svg)
        expect_contains "|$output" "|$2|"
    }
    values 980,3,1 '980|3|1'
    values 25.31,1234.5 '25.31|1234.5'
    values 25.31,1234.5 '25.31|1234.5' --min 0 --max 1e6
    values 25.31,1234.5 '25.31|1234.5' --min 1 --max 1.001
    values 0.123456789,-1e-7,-0 '0.12346|-1e-07|0'
    values 123456789.6,0.5,1.25e20 '123456790|0.5|1.25e+20'
    # The widest fits into its cell.
    "$TF_PYTHON" - <<'PY'
import re
width = float(re.search("scale\(([0-9.]+)", open("out.svg").read()).group(1))
size = float(re.search('font-size="([0-9.]+)"[^>]*>123456790<', open("out.svg").read()).group(1))
assert 9 * 0.5 * size < width, (size, width)
PY
}

@test "heat: names that are numbers, and --header and --names" {
    printf ',2019,2020\nx,1,2\ny,3,4\n' >years.csv
    t 0 tf-plot heat --values years.csv -o out.svg
    expect_contains "$(svg out.svg)" '1|2|3|4|x|y|2019|2020|'
    printf '+1,-2\nNA,4\n' >data.csv
    t 0 tf-plot heat --values data.csv -o out.svg
    expect_contains "$(svg out.svg)" '1|-2|4|0|1|0|1|'
    printf '2019,2020\n1,2\n' >plain.csv
    t 0 tf-plot heat --values --header plain.csv -o out.svg
    expect_contains "$(svg out.svg)" '1|2|0|2019|2020|'
    t 0 tf-plot heat --values --names --no-header plain.csv -o out.svg
    expect_contains "$(svg out.svg)" '2020|2|2019|1|0|'
    sh_t 1 'echo "[[1]]" | tf-plot heat --names -'
    expect_error 'stdin: JSON has labels in "rows" and "cols"'
    t 2 tf-plot curve --names log
}

# The colours of the cells of a heat map of one row, from left to right.
cells() {
    "$TF_PYTHON" - "$1" <<'PY'
import re, sys
group = re.search('<g shape-rendering.*?</g>', open(sys.argv[1]).read(), re.S).group()
color = {}
for fill, d in re.findall('fill="(#[0-9a-f]+)" d="([^"]*)"', group):
    for c, n in re.findall(r'M(\d+) 0h(\d+)v1', d):
        color.update((int(c) + i, fill) for i in range(int(n)))
print(*(color[c] for c in sorted(color)))
PY
}

@test "colours: 0 is the pale middle of the two hues wherever the ends are" {
    echo -1,-0.5,0,1.5,3,9 >m.csv
    t 0 tf-plot heat --colors signed --min -1 --max 3 m.csv -o out.svg
    [ "$(cells out.svg)" = '#7a2f04 #e49c5c #f7f7f7 #74aed7 #084275 #084275' ]
    for ends in '--min -4' '--max 20' '--min -30 --max 1' '--min 0' ''; do
        # shellcheck disable=SC2086
        t 0 tf-plot heat --colors signed $ends m.csv -o out.svg
        [ "$(cells out.svg | cut -d ' ' -f 3)" = '#f7f7f7' ]
    done
    # The bar says the same: a fourth of it is below 0, and red rather than blue.
    t 0 tf-plot heat --colors signed --min -1 --max 3 m.csv -o out.svg
    "$TF_PYTHON" - <<'PY'
import re
bar = re.findall("<g shape-rendering.*?</g>", open("out.svg").read(), re.S)[1]
parts = [(int(r, 16) > int(b, 16), d.count("M")) for r, b, d in re.findall('fill="#(..)..(..)" d="([^"]*)"', bar)]
assert sum(n for red, n in parts if red) == 25 and sum(n for _, n in parts) == 101, parts
PY
    t 0 tf-plot heat --colors amount m.csv -o out.svg
    [ "$(cells out.svg | cut -d ' ' -f 1,6)" = '#f7fafc #062042' ]
    echo 1,2 >m.csv
    t 0 tf-plot heat --colors signed m.csv -o out.svg
    [ "$(cells out.svg)" = '#74aed7 #084275' ]
    t 2 tf-plot heat --colors pink m.csv
    expect_error "one of auto, amount, signed"
}

@test "positions" {
    t 0 tf-plot positions -o out.svg
    output=$(svg out.svg)
    expect_contains "$output" 'Positions: L = 512, d = 14, N = 10000|'
    [ "$(grep -c 'stroke-width="1.5"' out.svg)" = 14 ]
    for variant in paper t2t shifted; do
        t 0 tf-plot positions -L 40 -d 8 -N 100 --variant $variant -o $variant.svg
        svg $variant.svg >/dev/null
    done
    # Dimensions 1 to d: wavelengths from 2 pi 10000^(1/14) to 2 pi 10000.
    t 0 tf-plot positions --variant shifted -o out.svg
    output=$(svg out.svg)
    expect_contains "$output" "|1|λ = 12.1|2|λ = 23.4|"
    expect_contains "$output" "|13|λ = 32.5k|14|λ = 62.8k|"
    for variant in paper t2t; do
        t 0 tf-plot positions --show products -d 512 -L 100 --variant $variant -o out.svg
        expect_contains "$(svg out.svg)" 'distance k|PE(t) · PE(t + k)'
    done
    t 2 tf-plot positions --show products --variant shifted
    expect_error "--variant paper or t2t"
    t 2 tf-plot positions --show products -d 7
    expect_error "--dims even"
    run -1 cmp paper.svg t2t.svg
    run -1 cmp paper.svg shifted.svg
    t 0 tf-plot positions -L 100 -d 512 --show heat -o out.svg
    svg out.svg >/dev/null
    t 0 tf-plot positions -L 1 -d 1 -o out.svg
    svg out.svg >/dev/null
    t 2 tf-plot positions -d 512
    expect_error "too many for one curve each"
    t 2 tf-plot positions -d 7 --variant t2t
    expect_error "even number"
    t 2 tf-plot positions -L 1M -d 1000 --show heat
    expect_error "too many to draw"
}

@test "positions --csv: the numbers of the formula" {
    # table VARIANT: checks of 12 positions and 6 dimensions against Python's sine.
    table() {
        t 0 tf-plot positions --csv -L 12 -d 6 -N 100 --variant "$1"
        "$TF_PYTHON" - "$1" <<<"$output" 3<&0 <<'PY'
import csv, math, os, sys
form, d, N = sys.argv[1], 6, 100
def value(t, k):
    if form == "t2t":
        angle = t / N ** (k % 3 / (d / 2 - 1))
        return math.sin(angle) if k < 3 else math.cos(angle)
    angle = t / N ** ((k if form == "shifted" else k - k % 2) / d)
    return math.cos(angle) if k % 2 else math.sin(angle)
first = form == "shifted"
rows = list(csv.reader(os.fdopen(3)))
assert rows[0] == ["position"] + [str(k + first) for k in range(d)], rows[0]
assert len(rows) == 13
for t, row in enumerate(rows[1:], first):
    assert int(row[0]) == t, row
    for k, x in enumerate(row[1:], first):
        assert abs(float(x) - value(t, k)) < 1e-14, (t, k, x, value(t, k))
PY
    }
    for variant in paper t2t shifted; do table $variant; done
    t 0 tf-plot positions --csv -L 3 -d 4 --show products
    [ "${lines[0]}" = "distance,product" ]
    [ "${lines[1]}" = "0,2" ]
    [ "$(cut -c -8 <<<"${lines[2]}")" = "1,1.5402" ]
    # More dimensions than curves, and a picture of the same numbers.
    t 0 tf-plot positions --csv -L 20 -d 512 -o big.csv
    t 0 tf-plot heat big.csv -o big.svg
    [ "$(wc -l <big.csv)" -eq 21 ]
    t 2 tf-plot heat --csv big.csv
    expect_error "--csv is only for positions"
    t 2 tf-plot positions --csv -d 7 --variant t2t
    expect_error "even number"
    t 2 tf-plot positions --csv -L 1M -d 1000
    expect_error "too many"
    t 2 tf-plot positions --csv --show products --variant shifted
    expect_error "--variant paper or t2t"
}

# An attention stream of two sentences: encoder attention in layers 1 and 2, cross attention in
# layer 2, heads 1 and 3.
attention() {
    "$TF_PYTHON" - <<'PY' | tf-cbor unjson
import json
print(json.dumps({"type": "header", "header": {"v": 1, "kind": "attention"}}))
src, n = [["▁a", "b<", "</s>"], ["▁c", "</s>"]], 0
for idx, s in enumerate(src):
    for kind, layer in (("encoder", 1), ("encoder", 2), ("cross", 2)):
        rows = ["▁x", "</s>"] if kind == "cross" else s
        w = [1.0 if c == (r + head) % len(s) else 0.0
             for head in (0, 1) for r in range(len(rows)) for c in range(len(s))]
        print(json.dumps({"type": "attention", "idx": idx, "kind": kind, "layer": layer, "heads": [1, 3], "rows": rows, "columns": s, "weights": w}))
        n += 1
    print(json.dumps({"type": "bad", "idx": 9, "code": 15, "text": "x"}))
print(json.dumps({"type": "end"}))
PY
}

@test "attention: the first record that fits, its heads and tokens" {
    attention >a.tfs
    t 0 tf-plot attention a.tfs -o out.svg
    expect_contains "$(svg out.svg)" 'encoder attention, layer 1|head 1|head 3|a|b<|</s>|a|b<|</s>'
    tf-plot attention - <a.tfs | cmp - out.svg
    t 0 tf-plot -i 1 -k cross --layer 2 -t 'x & y' attention a.tfs -o out.svg
    expect_contains "$(svg out.svg)" 'x & y|head 1|head 3|x|</s>|c|</s>'
    t 0 tf-plot -H 3 --show lines attention a.tfs -o out.svg
    run -1 grep -F 'head 1' out.svg
    [ "$(grep -o 'stroke-opacity="1"[^>]*d="[^"]*"' out.svg | grep -o M | wc -l)" = 3 ]
    # One row's lines, by its piece with and without the mark of a space.
    for token in a ▁a; do
        t 0 tf-plot -H 3 --token $token attention a.tfs -o one.svg
        [ "$(grep -o 'stroke-opacity="1"[^>]*d="[^"]*"' one.svg | grep -o M | wc -l)" = 1 ]
    done
    t 0 tf-plot -H 3 --token a --token '</s>' attention a.tfs -o two.svg
    [ "$(grep -o 'stroke-opacity="1"[^>]*d="[^"]*"' two.svg | grep -o M | wc -l)" = 2 ]
    tf-cbor json a.tfs | sed 's/"weights":\[1,0,/"weights":[0.7,0.3,/' | tf-cbor unjson >soft.tfs
    for least in 0.3:4 0.31:3; do
        t 0 tf-plot -H 1 --least ${least%:*} attention soft.tfs -o least.svg
        [ "$(grep -o 'stroke-opacity="[^>]*d="[^"]*"' least.svg | grep -o M | wc -l)" = \
            "${least#*:}" ]
    done
    t 0 tf-plot --show heat attention a.tfs -o heat.svg
    expect_contains "$(svg heat.svg)" 'head 1'
    [ "$(grep -c 'crispEdges' heat.svg)" = 3 ] # two maps and the bar
}

@test "attention: what is not there, and streams that are none" {
    attention >a.tfs
    t 1 tf-plot -i 7 -k cross --layer 2 attention a.tfs
    expect_error "a.tfs: no attention of kind cross of layer 2 of sentence 7"
    t 1 tf-plot --layer 3 attention a.tfs
    expect_error "no attention of layer 3"
    for word in 'ab<' '▁ab<' ' ab<'; do
        t 1 tf-plot --token "$word" attention a.tfs
        expect_error "a.tfs: no row is '$word', which is split: --token '▁a' --token 'b<'"
    done
    t 1 tf-plot --token 'b<</s>' attention a.tfs
    expect_error "which is split: --token 'b<' --token '</s>'"
    for word in 'a b<' 'ab' 'ab<x' ''; do
        t 1 tf-plot --token "$word" attention a.tfs
        expect_error "a.tfs: no row is '$word'"
        [[ $stderr != *split* ]]
    done
    tf-cbor json a.tfs | sed 's/"b<"/"▁b<"/g' | tf-cbor unjson >spaced.tfs
    t 1 tf-plot --token 'a b<' attention spaced.tfs
    expect_error "which is split: --token '▁a' --token '▁b<'"
    t 1 tf-plot --token zebra attention a.tfs
    expect_error "a.tfs: no row is 'zebra'"
    for h in 4 2 1-3; do
        t 1 tf-plot -H $h attention a.tfs
        expect_error "a.tfs: no head "
    done
    t 2 tf-plot -H foo attention a.tfs
    expect_error "--head: 'foo': not a number"
    t 2 tf-plot --show heat --token a attention a.tfs
    expect_error "cannot be used together"
    head -c 500 a.tfs >cut.tfs
    t 1 tf-plot attention cut.tfs
    expect_error "truncated"
    t 1 tf-plot attention base/log.jsonl
    tf-cbor json a.tfs | sed 's/"weights":\[1/"weights":[7/' | tf-cbor unjson >seven.tfs
    t 1 tf-plot attention seven.tfs
    expect_error "7 is not a weight between 0 and 1"
    tf-cbor json a.tfs | sed 's/"heads":\[1,3\]/"heads":[1,70000]/' | tf-cbor unjson >large.tfs
    t 1 tf-plot attention large.tfs
    expect_error "head 70000: 1 to 65536 can be drawn"
}

@test "usage" {
    t 2 tf-plot
    t 2 tf-plot pie
    expect_error "one of curve, run, heat, attention, positions"
    t 2 tf-plot curve
    expect_error "no log given"
    t 2 tf-plot curve - -
    t 2 tf-plot heat
    t 2 tf-plot positions file
    t 2 tf-plot --show lines positions
    expect_error "positions: --show heat, curves, both or products, not lines"
    t 2 tf-plot attention
    expect_error "attention takes one stream (- is stdin), not 0"
    t 2 tf-plot attention a b
    t 2 tf-plot --show curves attention a
    expect_error "attention: --show lines or heat, not curves"
    t 2 tf-plot curve -y '' base/log.jsonl
    t 2 tf-plot curve -y a,,b base/log.jsonl
    t 2 tf-plot curve --where event base/log.jsonl
    expect_error "KEY=VALUE"
    t 2 tf-plot curve -l only-one base/log.jsonl big/log.jsonl
    t 2 tf-plot curve --smooth 1 base/log.jsonl
    t 2 tf-plot curve -w 1 base/log.jsonl
}

@test "an output that is also an input is refused" {
    cp base/log.jsonl log
    t 2 tf-plot curve log -o log
    expect_error "log: is both input and output"
    t 2 tf-plot curve log -o ./log base/log.jsonl
    expect_error "./log: is both input and output"
    cmp log base/log.jsonl
    # The word is no file.
    t 0 tf-plot curve log -o curve
}

@test "options of another picture are refused" {
    echo 1,2 >m.csv
    while read -r line; do
        # shellcheck disable=SC2086
        t 2 tf-plot $line
        expect_error "--$(sed 's/.* --\([a-z-]*\).*/\1/' <<<"$line") is only for "
    done <<'TXT'
heat m.csv --smooth 0.9
heat m.csv --where a=b
heat m.csv --token x
heat m.csv --height 300
heat m.csv --dims 3
heat m.csv --show heat
attention a.tfs --x-label x
attention a.tfs --colors signed
attention a.tfs --x-min 3
positions --y-label y
positions --height 300
positions --idx 3
curve base/log.jsonl --values
curve base/log.jsonl --layer 2
curve base/log.jsonl --show lines
TXT
}

@test "an output that is a directory, or in none" {
    t 1 tf-plot positions -o base
    t 1 tf-plot positions -o no/such/dir.svg
}

@test "a log needs no word before it, and the directory of a run names its log" {
    tf-plot curve base/log.jsonl big/log.jsonl >want
    tf-plot base/log.jsonl big/log.jsonl >got
    cmp want got
    t 2 tf-plot m.csv
    expect_error "'m.csv': one of curve, run, heat, attention, positions"
    t 1 tf-plot curve base
    expect_error "base: is a directory; the log in it is base/log.jsonl"
    mkdir other
    t 1 tf-plot curve other
    [ "$stderr" = "tf-plot: other: is a directory" ]
}
