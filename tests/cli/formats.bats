#!/usr/bin/env bats
# The formats seen from outside: by an independent CBOR library, by a CDDL validator, by file(1),
# through cat and pipes.
bats_require_minimum_version 1.5.0
load helper

vectors=("$BATS_TEST_DIRNAME"/../../formats/vectors/*.cbor)

# A python that has module $1: TF_PYTHON, or the one that TF_CDDL_PYTHON names.
python_with() {
    local p
    for p in "$TF_PYTHON" ${TF_CDDL_PYTHON:+"$TF_CDDL_PYTHON"}; do
        "$p" -c "import $1" 2>/dev/null && { echo "$p"; return; }
    done
}

@test "python's cbor2 reads every vector and agrees with our JSON" {
    need "$TF_PYTHON"
    for v in "${vectors[@]}"; do
        case $v in *error.cbor) t 1 tf-cbor json "$v" ;; *) t 0 tf-cbor json "$v" ;; esac
        tf-cbor json "$v" >v.json 2>/dev/null || true
        "$TF_PYTHON" - "$v" v.json <<'PY'
import array, cbor2, io, json, struct, sys
items, f = [], io.BytesIO(open(sys.argv[1], "rb").read())
while f.tell() < len(f.getvalue()):
    items.append(cbor2.load(f))
lines = [json.loads(x) for x in open(sys.argv[2])]
def plain(x):
    if isinstance(x, cbor2.CBORTag):
        if x.tag == 40:
            return plain(x.value[1])
        if x.tag == 18540:
            return x.value.hex()
        a = array.array({64: "B", 69: "H", 70: "I", 72: "b", 85: "f"}[x.tag]); a.frombytes(x.value)
        return a.tolist()
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return [plain(v) for v in x] if isinstance(x, list) else x
near = lambda a, b: len(a) == len(b) and all(abs(x - y) <= 1e-6 * abs(x) for x, y in zip(a, b))
records = [x for x in items if isinstance(x, list)]
assert len(records) == len(lines), (len(records), len(lines))
labels = [x for x in items if isinstance(x, cbor2.CBORTag) and x.tag == 55800]
assert all(x.value.value == b"BOR" for x in labels)
assert len(labels) == sum(l["type"] == "header" for l in lines)
for r, l in zip(records, lines):
    t = l["type"]
    if t == "header":
        assert plain(r[1]) == l["header"], (r, l)
    elif t == "tokens":
        assert r[:2] == [1, l["idx"]] and plain(r[2]) == l["ids"]
    elif t == "stats":
        assert r[:2] == [11, l["idx"]] and plain(r[2]) == l["counts"]
    elif t == "pair":
        assert r[:2] == [2, l["idx"]] and plain(r[2]) == l["src"] and plain(r[3]) == l["tgt"]
    elif t == "batch":
        m = plain(r[2])
        assert sum(l["src"], []) == m["src"] and sum(l["tgt"], []) == m["tgt"] and l["idx"] == m["idx"] and l.get("corpus") == m.get("corpus")
        assert [len(s) for s in l["src"]] == [b - a for a, b in zip(m["src_off"], m["src_off"][1:])]
        assert (l["ordinal"], l["epoch"], l["record"]) == (r[1], m["epoch"], m["record"])
    elif t == "nbest":
        for h, k in zip(r[2], l["hyps"], strict=True):
            assert plain(h[0]) == k["ids"] and near(h[1:3], [k["score"], k["logp"]])
            assert near(plain(h[3]) if len(h) > 3 else [], k.get("token_logp", []))
    elif t == "attention":
        assert r[:4] == [5, l["idx"], l["kind"], l["layer"]] and plain(r[4]) == l["heads"] and r[5:7] == [l["rows"], l["columns"]]
        assert near(plain(r[7]), l["weights"]) and len(l["weights"]) == len(l["heads"]) * len(l["rows"]) * len(l["columns"]) > 0
    elif t == "score":
        assert near([r[2]] + (plain(r[3]) if len(r) > 3 else []), [l["logp"]] + l.get("token_logp", []))
    elif t == "tensor":
        got = plain(r[4])
        if r[2] == "bf16":
            got = [struct.unpack("<f", struct.pack("<I", x << 16))[0] for x in got]
        assert r[1] == l["name"] and r[2] == l["dtype"] and r[4].value[0] == l["dims"] and near(got, l["data"])
    elif t in ("check", "end"):
        assert r[1:] == [l["count"], l["crc"]]
    elif t in ("bad", "error"):
        assert r[-2:] == [l["code"], l["text"]]
    elif t == "ancillary":
        assert r[0] == l["record"][0] >= 64 and cbor2.dumps(r).hex() == l["hex"]
    else:
        assert t == "state" and r[1] == l["name"]
PY
    done
}

@test "the vectors are deterministic encodings by cbor2's measure" {
    need "$TF_PYTHON"
    for v in "${vectors[@]}"; do
        "$TF_PYTHON" - "$v" <<'PY'
import cbor2, io, sys
data = open(sys.argv[1], "rb").read()
f, out = io.BytesIO(data), b""
while f.tell() < len(data):
    out += cbor2.dumps(cbor2.load(f), canonical=True)
kind = sys.argv[1].rsplit("/", 1)[1]
# Scores are binary32 by rule, where canonical encoding takes the shortest.
assert out == data or kind in ("nbest.cbor", "scores.cbor"), kind
PY
    done
}

@test "python writes streams that we take: plain ids, no CRCs, floats of any width" {
    need "$TF_PYTHON"
    "$TF_PYTHON" - >own.tfs <<'PY'
import cbor2, sys
out = sys.stdout.buffer
def stream(kind, *records, **header):
    out.write(bytes.fromhex("d9d9f8da5446535443424f52"))
    cbor2.dump([0, {"v": 1, "kind": kind, **header}], out)
    for r in records:
        cbor2.dump(list(r), out)
    cbor2.dump([15, len(records), None], out)
stream("tokens", [1, 0, [5, 6, 300]], [9, 1, 15, "no"], [1, 2, []], [70, "ancillary"])
stream("tokens", [1, 0, [1]])
PY
    t 0 tf-cbor check own.tfs
    sh_t 0 'tf-cbor json own.tfs | grep -c tokens.,.idx'
    expect_output 3
    sh_t 0 'tf-cbor seal own.tfs | tf-cbor diag | grep -c null'  || true
    [ "$output" = 0 ]
    tf-cbor seal own.tfs | tf-cbor check
    "$TF_PYTHON" -c '
import cbor2, sys
out = sys.stdout.buffer
out.write(bytes.fromhex("d9d9f8da5446535443424f52"))
cbor2.dump([0, {"v": 1, "kind": "nbest"}], out)
cbor2.dump([4, 0, [[[7], -0.5, -1.0], [[], -3, -1.1, [-1.1]]]], out)
cbor2.dump([15, 1, None], out)' >nbest.tfs
    sh_t 0 'tf-cbor json nbest.tfs | sed -n 2p'
    expect_output '{"type":"nbest","idx":0,"hyps":[{"ids":[7],"score":-0.5,"logp":-1},{"ids":[],"score":-3,"logp":-1.1,"token_logp":[-1.1]}]}'
    "$TF_PYTHON" -c '
import cbor2, sys
out = sys.stdout.buffer
out.write(bytes.fromhex("d9d9f8da5446535443424f52"))
cbor2.dump([0, {"v": 1, "kind": "attention"}], out)
cbor2.dump([5, 0, "cross", 2, [1, 300], ["a", "\u00fc"], [""], [1, 0.5, 0.1, 0], "newer"], out)
cbor2.dump([15, 1, None], out)' >attention.tfs
    sh_t 0 'tf-cbor json attention.tfs | sed -n 2p'
    expect_output '{"type":"attention","idx":0,"kind":"cross","layer":2,"heads":[1,300],"rows":["a","ü"],"columns":[""],"weights":[1,0.5,0.1,0]}'
}

@test "python computes our CRCs" {
    need "$TF_PYTHON"
    for v in tokens pairs parts batch checkpoint; do
        "$TF_PYTHON" - "$TOP/formats/vectors/$v.cbor" <<'PY'
import cbor2, io, sys
table = []
for i in range(256):
    c = i
    for _ in range(8):
        c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    table.append(c)
def crc32c(data, c=0):
    c ^= 0xffffffff
    for b in data:
        c = c >> 8 ^ table[(c ^ b) & 255]
    return c ^ 0xffffffff
data = open(sys.argv[1], "rb").read()
f, crc, count, checked = io.BytesIO(data), 0, 0, 0
while f.tell() < len(data):
    start = f.tell()
    item = cbor2.load(f)
    raw = data[start:f.tell()]
    if isinstance(item, cbor2.CBORTag):
        crc, count = 0, 0
    elif item[0] in (13, 15):
        assert item[1:] == [count, crc], (item, count, crc)
        checked += 1
        continue
    elif item[0] in (3, 7):
        body = raw[:len(raw) - len(cbor2.dumps(item[3]))]
        assert item[3] == crc32c(body)
    elif item[0] == 6:
        assert item[5] == crc32c(item[4].value[1].value)
    crc = crc32c(raw, crc)
    count += isinstance(item, list) and item[0] != 0
assert checked
PY
    done
}

@test "a CDDL validator takes every vector, and refuses what is cut or has no label" {
    p=$(python_with zcbor || true)
    [ -n "$p" ] || lacks zcbor "no python with the CDDL validator zcbor (TF_CDDL_PYTHON names one): formats/tf.cddl is not validated"
    "$p" - "$TOP/formats/tf.cddl" "${vectors[@]}" <<'PY'
import io, subprocess, sys
import cbor2
LABEL = bytes.fromhex("d9d9f8da5446535443424f52")
def valid(part):
    r = subprocess.run([sys.executable, "-c", "import zcbor; zcbor.main()", "validate", "-c", sys.argv[1], "-t", "stream", "-i", "-"],
                       input=b"\x9f" + part + b"\xff", capture_output=True)
    return r.returncode == 0, r.stderr.decode()[-300:]
for path in sys.argv[2:]:
    for part in open(path, "rb").read().split(LABEL)[1:]:
        good, said = valid(LABEL + part)
        assert good, (path, said)
data = open(sys.argv[2].rsplit("/", 1)[0] + "/pairs.cbor", "rb").read()
items, f = [], io.BytesIO(data)
while f.tell() < len(data):
    start = f.tell(); cbor2.load(f); items.append(data[start:f.tell()])
for bad in (b"".join(items[:-1]), b"".join(items[1:]), b"".join(items[:1] + items[2:]),
            b"".join(items + [b"\x01"]),
            b"".join(items[:2] + [b"\x83\x0c\x00\x80"] + items[2:])):
    assert not valid(bad)[0], bad.hex()
PY
}

@test "a CDDL validator takes the JSON Lines of every vector, and refuses others" {
    p=$(python_with zcbor || true)
    [ -n "$p" ] || lacks zcbor "no python with the CDDL validator zcbor (TF_CDDL_PYTHON names one): formats/jsonl.cddl is not validated"
    "$p" - "$TOP/formats/jsonl.cddl" "${vectors[@]/%.cbor/.jsonl}" <<'PY'
import json, subprocess, sys
import cbor2
def valid(part):
    r = subprocess.run([sys.executable, "-c", "import zcbor; zcbor.main()", "validate", "-c", sys.argv[1], "-t", "stream", "-i", "-"],
                       input=cbor2.dumps(part), capture_output=True)
    return r.returncode == 0, r.stderr.decode()[-300:]
for path in sys.argv[2:]:
    parts = []
    for line in map(json.loads, open(path, encoding="utf-8")):
        if line["type"] == "header":
            parts.append([])
        parts[-1].append(line)
    for part in parts:
        good, said = valid(part)
        assert good, (path, said)
h, end = {"type": "header", "header": {"v": 1, "kind": "tokens"}}, {"type": "end"}
assert valid([h, end])[0]
for bad in ([end], [h], [h, {"type": "tokens", "idx": 0}, end],
            [h, {"type": "tokens", "idx": 0, "ids": "5"}, end], [h, {"type": "other"}, end],
            [{"type": "header", "header": {"v": 1}}, end], [h, {"type": "end", "more": 1}]):
    assert not valid(bad)[0], bad
PY
}

@test "the example in jsonl.md is a stream, and its lines are those of tf-cbor" {
    sed -n 's/^    {/{/p' "$TOP/formats/jsonl.md" >lines
    t 0 tf-cbor unjson -o x.tfs lines
    t 0 tf-cbor check x.tfs
    tf-cbor json x.tfs | diff lines -
}

@test "file(1) names every golden file, and what our tools write" {
    need file
    names() { file -m "$TOP/formats/magic" -b "$@"; }
    local v want
    for v in "${vectors[@]}"; do
        case $(basename "$v" .cbor) in
            tokens | tokens-wide | bad | parts | error | ancillary) want="token stream" ;;
            pairs) want="stream of pairs" ;;
            batch) want="batch stream" ;;
            nbest) want="stream of n-best lists" ;;
            scores) want="stream of scores" ;;
            stats) want="stream of statistics" ;;
            attention) want="attention stream" ;;
            model) want=model ;;
            checkpoint) want=checkpoint ;;
            *) want="(add a line to this test)" ;;
        esac
        [ "$(names "$v")" = "tf-tools $want" ] || { echo "$v: $(names "$v")" >&2; return 1; }
        [ "$(names --mime-type "$v")" = application/cbor-seq ]
    done
    tf-batch -q -o x.batches "$TOP/formats/vectors/"{tokens,tokens}.cbor
    [ "$(names x.batches)" = "tf-tools batch stream" ]
    [ "$(names "$TOP/formats/vectors/tokens.jsonl")" != "tf-tools token stream" ]
}

@test "the documents state the limits that the headers define" {
    while IFS='|' read -r what most; do
        [ "$(grep -c "^| $what.* | $most |$" "$TOP/formats/limits.md")" -eq 1 ] ||
            { echo "limits.md does not say: $what, $most" >&2; return 1; }
    done <<'X'
nesting of arrays, maps and tags|8
bytes of a record other than a tensor|64 MiB
bytes between two checks|1 MiB, plus one record
ids in one record, per side|2^20
hypotheses in an n-best record|65536
rows, and columns, of an attention record|65536
values in a header or a state|65536
bytes of a vocabulary|48 MiB
tensors in a file|65536
states in a file|256
bytes of the name of a tensor or state|128
dims of a tensor|8; their product times the element size 2^62
bytes of a tensor|the rest of the file; from a pipe 4 GiB, or `--max-tensor`
bytes of a pad|255
X
    cat >limits.c <<'C'
#include "cbor/scan.h"
#include "stream/model.h"
_Static_assert(TF_MAX_RECORD == 64 << 20 && TF_MAX_IDS == 1 << 20 && TF_MAX_HYPS == 65536 &&
    TF_MAX_TEXTS == 65536 && TF_MAX_VALUES == 65536 && TF_MAX_VOCAB == 48 << 20 &&
    TF_MAX_TENSORS == 65536 && TF_MAX_STATES == 256 && TF_MAX_NAME == 128 && TF_MAX_PAD == 255 &&
    TF_CBOR_DEPTH == 8 && TF_MAX_RANK == 8 &&
    TF_MAX_CHECK == 1 << 20 && TF_MAX_TENSOR == 4294967296ull && TF_MAX_DIMS == 1ull << 62, "formats/limits.md");
C
    need gcc
    gcc -std=c11 -D_GNU_SOURCE -I"$TOP/lib" -fsyntax-only limits.c
}

@test "model.md has every key of a configuration" {
    tf-train --plan --vocab-size 100 |
        sed -n '/^model$/,/^training$/s/^  \([a-z_]*\) .*/\1/p' >keys
    grep -qx source_vocab_size keys
    while read -r key; do
        grep -q "^| .*\`$key\`.* |" "$TOP/formats/model.md" ||
            { echo "model.md lacks $key" >&2; return 1; }
    done <keys
}

@test "the stream of ten lines in stream.md is one" {
    need "$TF_PYTHON"
    awk '/in ten lines of Python/ { on = 1 } on && /^    / { print substr($0, 5) }' \
        "$TOP/formats/stream.md" >ten.py
    printf 'a bb\n\nd\n' | "$TF_PYTHON" ten.py >ten.tfs
    tf-cbor check ten.tfs
    sh_t 0 'tf-cbor json ten.tfs | grep -o "ids.*"'
    expect_output $'ids":[101,36,102,102]}\nids":[]}\nids":[104]}'
    tf-batch -q -o ten.batches ten.tfs ten.tfs
    t 0 tf-train --preset tiny --layers 1 --d-model 16 --d-ff 32 --heads 2 --device cpu --steps 1 \
        -o run ten.batches
}

@test "the reader of models in tf-model(5) reads one" {
    need "$TF_PYTHON"
    awk '/^import cbor2, numpy/ { on = 1 } /^\.Ed/ { on = 0 } on' "$TOP/man/tf-model.5" >reader.py
    echo 'print(tensors["p/enc.0.w"].tolist(), tensors["p/scale"].shape, len(tensors))' >>reader.py
    cp "$TOP/formats/vectors/checkpoint.cbor" model.tfm
    t 0 "$TF_PYTHON" reader.py
    expect_output '[[0.5, -1.0, 2.25], [0.0, 0.0010000000474974513, 3.0]] () 5'
}

@test "the writer of streams in tf-stream(5) writes one" {
    need "$TF_PYTHON"
    awk '/^import cbor2, sys/ { on = 1 } /^\.Ed/ { on = 0 } on' "$TOP/man/tf-stream.5" |
        sed 's/\\e/\\/g' >writer.py
    printf 'a bb\n' | "$TF_PYTHON" writer.py >own.tfs
    sh_t 0 'tf-cbor json own.tfs | grep -o "ids.*"'
    expect_output 'ids":[101,36,102,102]}'
}

# What every released format's files contained when they were written: the row T of tests/faults.
@test "old files are read as ever" {
    for d in "$TOP"/tests/golden/files/*/; do
        "$TOP/tests/golden/files/run" "$d" >got
        diff -a "$d/expected" got >&2
    done
}
