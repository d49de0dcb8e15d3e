#!/usr/bin/env bats
# tf-convert: models to safetensors and npz as other programs read them, and back to the same model.
load helper
load translate

setup_file() {
    make_model
}

@test "safetensors: as the format says, and back to the same model" {
    tf-convert "$MODEL" -o m.safetensors
    "$TF_PYTHON" - <<'PY'
import json, os
from streams import array, records
from tensor_file import read
meta, t = read("m.safetensors", ordered=True)
c = json.loads(meta["config"])
assert c["d_model"] == 32 and c["heads"] == 2 and c["positions"] == "sin" and c["unk"] == 1, c
seen = 0
for r in records(os.environ["MODEL"]):
    if r[0] == 7 and r[1] == "vocab":
        assert t["vocab"].tobytes() == r[2]
    if r[0] == 6 and r[1].startswith("p/"):
        x = array(r[4])
        assert t[r[1][2:]].shape == x.shape and t[r[1][2:]].tobytes() == x.tobytes(), r[1]
        seen += 1
assert seen == len(t) - 1 > 15, (seen, len(t))
PY
    tf-convert m.safetensors -o back.tfm
    [ "$(fingerprint back.tfm)" = "$(fingerprint "$MODEL")" ]
    tf-decode -m "$MODEL" "$LINES_TFS" | tf-tokenize -d -m "$MODEL" >want
    tf-tokenize -m back.tfm <"$LINES_TXT" | tf-decode -m back.tfm | tf-tokenize -d -m back.tfm |
        cmp - want
    # The same bytes again, through pipes.
    tf-convert <"$MODEL" | cmp - m.safetensors
    tf-convert - <m.safetensors | cmp - back.tfm
    tf-info back.tfm | grep -q tf-convert
}

@test "without --to the name of the output says what it is" {
    tf-convert --to npz "$MODEL" -o other
    for input in "$MODEL" other; do
        for to in tfm safetensors npz; do
            tf-convert --to $to "$input" -o want
            tf-convert "$input" -o m.$to
            cmp m.$to want
        done
    done
    tf-convert --new-vocab "$MODEL" "$MODEL" -o new.npz
    tf-convert other -o other.model
    tf-cbor check other.model
    t 1 tf-cbor check new.npz
}

@test "npz: numpy reads it, and what numpy writes comes back" {
    tf-convert --to npz "$MODEL" -o m.npz
    "$TF_PYTHON" - <<'PY'
import json
import numpy as np
m = dict(np.load("m.npz"))
c = json.loads(m["config"].tobytes())
assert c["vocab_size"] == 11 and m["embed"].shape == (11, 32) and m["embed"].dtype == np.float32
np.savez("again.npz", **m)
np.savez("wide.npz", **{k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in m.items()})
np.savez_compressed("small.npz", **m)
m["enc.0.ff.1.w"] = np.asfortranarray(m["enc.0.ff.1.w"])
np.savez("fortran.npz", **m)
PY
    for f in m again wide; do
        tf-convert $f.npz -o $f.tfm
        [ "$(fingerprint $f.tfm)" = "$(fingerprint "$MODEL")" ]
    done
    t 1 tf-convert small.npz
    expect_error "small.npz: "
    expect_contains "$stderr" savez
    t 1 tf-convert fortran.npz
    expect_error "Fortran order"
}

@test "half precision: rounded as numpy rounds, and read by the other tools" {
    natively
    tf-convert --to npz "$MODEL" -o m.npz
    tf-convert --dtype f16 "$MODEL" -o f16.safetensors
    tf-convert --dtype bf16 "$MODEL" -o bf16.safetensors
    for d in f16 bf16; do
        "$TF_PYTHON" - <<PY
import numpy as np
from tensor_file import read
m, (_, t) = np.load("m.npz"), read("$d.safetensors", ordered=True)
for k in t:
    if k == "vocab":
        continue
    if "$d" == "f16":
        assert (t[k] == m[k].astype(np.float16)).all(), k
    else:
        u = m[k].view(np.uint32).astype(np.uint64)
        assert (t[k] == (u + 0x7fff + (u >> 16 & 1) >> 16)).all(), k
PY
        tf-convert $d.safetensors -o $d.tfm
        tf-convert --to tfm --dtype $d "$MODEL" -o direct.tfm
        [ "$(fingerprint direct.tfm)" = "$(fingerprint $d.tfm)" ]
        [ "$(fingerprint direct.tfm)" != "$(fingerprint "$MODEL")" ]
        tf-decode -m $d.tfm "$LINES_TFS" | tf-tokenize -d -m $d.tfm |
            diff - <(tf-decode -m "$MODEL" "$LINES_TFS" | tf-tokenize -d -m "$MODEL") >lines || true
        [ "$(grep -c '^<' lines)" -le 6 ]
    done
    # numpy has no bf16: its values go as f32.
    tf-convert --to npz bf16.safetensors -o bf16.npz
    tf-convert --dtype bf16 bf16.npz -o twice.tfm
    [ "$(fingerprint twice.tfm)" = "$(fingerprint bf16.tfm)" ]
}

records() {
    tf-cbor json "$1" | grep -v -e '^{"type":"header"' -e '^{"type":"end"'
}

@test "a model in 16 bits decodes as its values in fp32 do, scores included" {
    natively
    tf-convert --to tfm --dtype f16 "$MODEL" -o f16.tfm
    tf-convert --to tfm --dtype f32 f16.tfm -o f32.tfm
    # The same with one matrix, a table of embeddings or another, in 32 bits.
    tf-convert --to npz f16.tfm -o f16.npz
    "$TF_PYTHON" - <<PY
import numpy as np
m = dict(np.load("f16.npz"))
matrices = [k for k in m if m[k].ndim == 2 and m[k].dtype == np.float16]
for i, k in enumerate(matrices[:3] + matrices[-1:]):
    np.savez("mixed.%d.npz" % i, **{**m, k: m[k].astype(np.float32)})
PY
    for m in mixed.*.npz; do
        tf-convert --to tfm "$m" -o "${m%.npz}.tfm"
        [ "$(tf-cbor json "${m%.npz}.tfm" | grep -c '"dtype":"f32"')" -eq 1 ]
    done
    tf-decode --nbest 3 --precision fp32 -m f32.tfm "$LINES_TFS" -o want
    n=0
    for m in f16.tfm mixed.*.tfm; do
        for batch in 1 64; do
            tf-decode --nbest 3 --precision fp32 --batch $batch -m "$m" "$LINES_TFS" -o got
            cmp <(records want) <(records got)
        done
        n=$((n + 1))
    done
    [ $n -eq 5 ]
}

@test "a model in 8 bits decodes as its floats do in int8, scores included" {
    for d in f32 f16; do
        tf-convert --to tfm --dtype $d "$MODEL" -o $d.tfm
        tf-convert --to tfm --dtype i8 $d.tfm -o $d.i8.tfm
        tf-decode -m $d.tfm --precision int8 --nbest 3 "$LINES_TFS" -o want.tfs
        tf-decode -m $d.i8.tfm --precision int8 --nbest 3 "$LINES_TFS" -o got.tfs
        records want.tfs >want
        records got.tfs | cmp - want
        # int8 is the default for such a model on the CPU.
        tf-decode -m $d.i8.tfm --device cpu --nbest 3 "$LINES_TFS" -o auto.tfs
        cmp auto.tfs got.tfs
    done
    tf-info f32.i8.tfm >info
    grep -q 'enc.0.ff.1.w.*i8' info
    grep -q 'enc.0.ff.1.w.amax.*f32' info
    grep -q 'p/embed .*i8' info
    [ "$(stat -c %s f32.i8.tfm)" -lt "$(stat -c %s f32.tfm)" ]
}

@test "8 bits are the nearest multiples of the largest magnitude, and a round trip keeps them" {
    tf-convert --to npz "$MODEL" -o m.npz
    tf-convert --to tfm --dtype i8 "$MODEL" -o i8.tfm
    tf-convert --to npz i8.tfm -o floats.npz
    "$TF_PYTHON" - <<'PY'
import numpy as np
m, f = np.load("m.npz"), np.load("floats.npz")
changed = 0
for k in m.files:
    w = m[k]
    if w.ndim < 2 or k in ("config", "vocab"):
        assert (f[k] == w).all(), k
        continue
    amax = abs(w).max(1, keepdims=True) if k == "embed" else abs(w).max(0)
    q = np.rint(w * (np.float32(127) / np.maximum(amax, np.float32(1e-30))))
    assert (f[k] == q.astype("f4") / np.float32(127) * amax).all(), k
    changed += 1
assert changed > 5
PY
    tf-convert --dtype i8 floats.npz -o again.tfm
    [ "$(fingerprint again.tfm)" = "$(fingerprint i8.tfm)" ]
    tf-convert --to tfm i8.tfm -o same.tfm
    [ "$(fingerprint same.tfm)" = "$(fingerprint i8.tfm)" ]
    # Everything else computes with the floats that the file stands for.
    tf-convert --to tfm --dtype f32 i8.tfm -o f32.tfm
    tf-decode -m f32.tfm --nbest 3 "$LINES_TFS" -o want.tfs
    tf-decode -m i8.tfm --precision fp32 --nbest 3 "$LINES_TFS" -o got.tfs
    records want.tfs >want
    records got.tfs | cmp - want
    tf-avgckpt i8.tfm i8.tfm -o mean.tfm
    [ "$(fingerprint mean.tfm)" = "$(fingerprint f32.tfm)" ]
    t 2 tf-convert --to npz --dtype i8 "$MODEL"
    expect_error "--dtype i8: only with --to tfm"
}

@test "damaged and contradictory models in 8 bits are refused" {
    tf-convert --to tfm --dtype i8 "$MODEL" -o i8.tfm
    tf-cbor json i8.tfm >i8.json
    "$TF_PYTHON" - <<'PY'
import json
name = "p/enc.0.ff.1.w"
rows = [json.loads(line) for line in open("i8.json")]
for r in rows:
    r.pop("crc", None)
rows[0]["header"].pop("model")
def tensor(rows, name):
    return next(r for r in rows if r.get("name") == name)
def save(file, change):
    new = json.loads(json.dumps(rows))
    change(new)
    open(file, "w").writelines(json.dumps(r) + "\n" for r in new)
def edit(tensor_name, **more):
    return lambda rows: tensor(rows, tensor_name).update(more)
def data(name, i, x):
    def change(rows):
        tensor(rows, name)["data"][i] = x
    return change
a = tensor(rows, name + ".amax")
n = a["dims"][0]
save("fine.json", lambda rows: None)
save("low.json", data(name, 0, -128))
save("negative.json", data(name + ".amax", 1, -1))
save("shape.json", edit(name + ".amax", dims=[n // 2], data=a["data"][:n // 2]))
save("rank.json", edit(name + ".amax", dims=[1, n]))
save("missing.json", edit(name + ".amax", name="p/other"))
b = tensor(rows, "p/enc.0.ff.1.b")
save("vector.json", edit("p/enc.0.ff.1.b", dtype="i8", data=[0] * len(b["data"])))
save("left.json", edit(name, dtype="f32"))
PY
    for f in fine low negative shape rank missing vector left; do
        tf-cbor unjson $f.json >$f.tfm
    done
    decode='tf-decode "$LINES_TFS" -o out -m'
    sh_t 0 "$decode fine.tfm"
    for tool in "$decode" 'tf-convert --to tfm --dtype f32 -o out'; do
        sh_t 1 "$tool low.tfm"
        expect_error "low.tfm: tensor 'p/enc.0.ff.1.w': a value of -128: i8 has -127 to 127"
        sh_t 1 "$tool negative.tfm"
        expect_error "tensor 'p/enc.0.ff.1.w.amax': -1 is no largest magnitude"
        for f in shape rank; do
            sh_t 1 "$tool $f.tfm"
            expect_error "tensor 'p/enc.0.ff.1.w.amax': want "
        done
        sh_t 1 "$tool missing.tfm"
        expect_error "tensor 'p/enc.0.ff.1.w' is i8, and 'p/enc.0.ff.1.w.amax' is missing"
        sh_t 1 "$tool vector.tfm"
        expect_error "tensor 'p/enc.0.ff.1.b': dtype i8, want f32, f16 or bf16"
    done
    t 1 tf-convert --to tfm left.tfm -o out
    expect_error "tensor 'p/enc.0.ff.1.w.amax' is not a parameter of this configuration"
    head -c $(($(stat -c %s i8.tfm) / 2)) i8.tfm >cut.tfm
    sh_t 1 "$decode cut.tfm"
    expect_error "cut.tfm: "
}

@test "tensors in any order, of a file or a pipe, decode alike" {
    natively
    lists() { tf-cbor json "$1" | grep '"type":"nbest"'; } # the header has the model, by the order
    cp "$MODEL" f32.tfm
    tf-convert --to tfm --dtype i8 "$MODEL" -o i8.tfm
    tf-convert --to tfm --dtype f16 "$MODEL" -o f16.tfm
    for d in f32 i8 f16; do
        tf-cbor json $d.tfm >$d.json
        "$TF_PYTHON" - $d <<'PY'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1] + ".json")]
rows[0]["header"].pop("model")
at = [i for i, r in enumerate(rows) if "dims" in r]
tensors = [rows[i] for i in at]
orders = {"same": tensors, "backward": tensors[::-1],
          "sorted": sorted(tensors, key=lambda r: r["name"])}
assert len(at) > 20 and at == list(range(at[0], at[-1] + 1))
for name, order in orders.items():
    new = rows[:at[0]] + order + rows[at[-1] + 1:]
    open(f"{sys.argv[1]}.{name}.json", "w").writelines(json.dumps(r) + "\n" for r in new)
PY
        for order in same backward sorted; do
            tf-cbor unjson $d.$order.json >$order.tfm
            for p in auto int8 bf16; do
                to=$order.$p.tfs
                tf-decode --device cpu --precision $p --nbest 2 -m $order.tfm "$LINES_TFS" -o $to
                cmp <(lists $to) <(lists same.$p.tfs)
                cat $order.tfm | tf-decode --device cpu --precision $p --nbest 2 -m - "$LINES_TFS" \
                    -o $to
                cmp <(lists $to) <(lists same.$p.tfs)
            done
        done
    done
}

@test "tensors of 16 and of 32 bits in one file decode as their values" {
    natively
    need jq
    outputs() {
        tf-decode --device cpu --nbest 2 "$@" "$LINES_TFS" | tf-cbor json | jq -c '.hyps // empty'
    }
    text=$BATS_FILE_TMPDIR/text.tfs
    tf-batch -q --tokens 400 --batches 5 "$text" "$text" | tf-train -q --preset tiny --layers 1 \
        --d-model 32 --d-ff 64 --heads 2 --device cpu --tie none --steps 5 --save-every 5 -o untied
    for m in "$MODEL" untied/ckpt-00000005.tfm; do
        tf-convert --to tfm --dtype f16 "$m" -o f16.tfm
        tf-convert --to tfm --dtype f32 f16.tfm -o f32.tfm
        for d in f16 f32; do tf-cbor json $d.tfm >$d.json; done
        for p in fp32 int8; do
            outputs -m f32.tfm --precision $p >want.$p
            [ "$(wc -l <want.$p)" -eq 59 ]
        done
        for halves in src_embed tgt_embed embed 'dec.*w' '[13579][.]' 'w$' 'b$'; do
            "$TF_PYTHON" - "$halves" >mixed.json <<'PY'
import json, re, sys
for a, b in zip(open("f32.json"), open("f16.json")):
    row = json.loads(a)
    if "dims" in row and re.search(sys.argv[1], row["name"]):
        row = json.loads(b)
    row.get("header", {}).pop("model", 0)
    print(json.dumps(row))
PY
            tf-cbor unjson mixed.json >mixed.tfm
            for p in fp32 int8; do
                outputs -m mixed.tfm --precision $p | cmp - want.$p
            done
        done
    done
}

@test "damage in the last tensor of a model is found before there is output" {
    tf-convert --to tfm --dtype i8 "$MODEL" -o i8.tfm
    for m in "$MODEL" i8.tfm; do
        "$TF_PYTHON" - "$m" <<'PY'
import sys
b = bytearray(open(sys.argv[1], "rb").read())
b[-60] ^= 16
open("bad.tfm", "wb").write(b)
open("cut.tfm", "wb").write(b[:-1])
PY
        for p in auto int8 fp32; do
            t 1 tf-decode --device cpu --precision $p -m bad.tfm "$LINES_TFS"
            expect_error "bad.tfm: tensor "
            expect_contains "$stderr" "is damaged: crc32c is "
            [ -z "$output" ]
            t 1 tf-decode --device cpu --precision $p -m cut.tfm "$LINES_TFS" -o out.tfs
            [ ! -e out.tfs ]
        done
    done
}

@test "every rounding to f16, subnormal ones and the edge of the range among them" {
    "$TF_PYTHON" - "$MODEL" <<'PY'
import numpy as np, subprocess, sys
subprocess.run(["tf-convert", "--to", "npz", sys.argv[1], "-o", "m.npz"], check=True)
m = dict(np.load("m.npz"))
r = np.random.default_rng(1)
w = m["enc.0.ff.1.w"]
x = (r.integers(0, 2 ** 32, w.size, dtype=np.uint64).astype(np.uint32)).view(np.float32)
small = r.standard_normal(w.size).astype(np.float32) * 2.0 ** r.integers(-26, 5, w.size)
x = np.where(np.isfinite(x) & (abs(x) < 65519), x, small).astype(np.float32)
x[:8] = [65519, -65519, 2 ** -25, 2 ** -24 * 1.5, 2 ** -14, 2 ** -14 - 2 ** -26, 0, -0.0]
m["enc.0.ff.1.w"] = x.reshape(w.shape).copy()
np.savez("x.npz", **m)
m["enc.0.ff.1.w"][0, 0] = 65520
np.savez("large.npz", **m)
m["enc.0.ff.1.w"][0, 0] = np.nan
np.savez("nan.npz", **m)
subprocess.run(["tf-convert", "--to", "npz", "--dtype", "f16", "x.npz", "-o", "h.npz"], check=True)
h = np.load("h.npz")["enc.0.ff.1.w"]
want = x.reshape(w.shape).astype(np.float16)
assert h.dtype == np.float16 and (h.view(np.uint16) == want.view(np.uint16)).all()
PY
    t 1 tf-convert --to tfm --dtype f16 large.npz
    expect_error "enc.0.ff.1.w: 65520 is beyond the range of f16"
    for to in tfm npz safetensors; do
        t 1 tf-convert --to $to nan.npz
        expect_error "nan.npz: enc.0.ff.1.w: contains values that are not finite"
    done
}

@test "a configuration and a vocabulary of one's own" {
    tf-convert --to npz "$MODEL" -o m.npz
    "$TF_PYTHON" - <<'PY'
import numpy as np
m = dict(np.load("m.npz"))
open("config.json", "wb").write(m.pop("config").tobytes())
open("vocab.model", "wb").write(m.pop("vocab").tobytes())
np.savez("bare.npz", **m)
PY
    t 1 tf-convert bare.npz
    expect_error "bare.npz: contains no configuration; use --config"
    tf-convert --config config.json --vocab vocab.model bare.npz -o full.tfm
    [ "$(fingerprint full.tfm)" = "$(fingerprint "$MODEL")" ]
    tf-convert --config config.json bare.npz -o dumb.tfm
    [ "$(fingerprint dumb.tfm)" != "$(fingerprint "$MODEL")" ]
    t 2 tf-convert --config config.json "$MODEL"
    expect_error "has its own"
    : >empty
    t 1 tf-convert --config config.json empty
    expect_error "tf-convert: empty: truncated"
    sed 's/"heads":2/"heads":4/; s/"d_k":16/"d_k":8/; s/"d_v":16/"d_v":8/' config.json >heads.json
    tf-convert --config heads.json bare.npz -o heads.tfm # the same shapes
    sed 's/"d_ff":64/"d_ff":65/' config.json >wide.json
    t 1 tf-convert --config wide.json bare.npz
    expect_error "tensor 'enc.0.ff.1.w': 32 x 64, want 32 x 65"
    sed 's/"encoder_layers":1/"encoder_layers":2/' config.json >deep.json
    t 1 tf-convert --config deep.json bare.npz
    expect_error "tensor 'enc.1.self.qkv.w' is missing"
    sed 's/"tie":"all"/"tie":"decoder"/' config.json >apart.json
    t 1 tf-convert --config apart.json bare.npz
    expect_error "missing"
    for bad in '[]' '{' '{"heads":[1]}' '{"heads":2}' 'x' ''; do
        echo "$bad" >bad.json
        t 1 tf-convert --config bad.json bare.npz
        expect_error "bad.json: "
    done
    { printf '{'; printf '"k%d":0,' {1..1001}; printf '"z":0}'; } >keys.json
    t 1 tf-convert --config keys.json bare.npz
    expect_error "keys.json: config: more than 1000 keys"
    "$TF_PYTHON" - <<'PY'
import numpy as np
m = dict(np.load("bare.npz"))
np.savez("long.npz", config=np.frombuffer(b" " * (1 << 20) + b"{}", "u1"), **m)
PY
    t 1 tf-convert long.npz
    expect_error "long.npz: a configuration of 1048578 bytes: at most 1048576"
    tf-tokenize --train --vocab-size 10 --type bpe -o other.model "$BATS_FILE_TMPDIR/text" 2>log ||
        cat log >&2
    t 1 tf-convert --vocab other.model "$MODEL"
    expect_error "differs from"
}

@test "a checkpoint gives its parameters; one more tensor, or one less, is refused" {
    tf-convert "$BATS_FILE_TMPDIR/run/ckpt-00000400.tfm" -o c.safetensors
    tf-avgckpt -n 1 "$BATS_FILE_TMPDIR/run" >one.tfm
    tf-convert one.tfm | cmp - c.safetensors
    tf-convert --to npz "$MODEL" -o m.npz
    "$TF_PYTHON" - <<'PY'
import numpy as np
m = dict(np.load("m.npz"))
np.savez("more.npz", **m, extra=np.zeros(3, np.float32))
del m["dec.cross.kv.w"]
np.savez("less.npz", **m)
PY
    t 1 tf-convert more.npz
    expect_error "more.npz: tensor 'extra' is not a parameter of this configuration"
    t 1 tf-convert less.npz
    expect_error "less.npz: tensor 'dec.cross.kv.w' is missing"
}

@test "what no tool could load is not written" {
    tf-convert --to npz "$MODEL" -o m.npz
    "$TF_PYTHON" - <<'PY'
import json
import numpy as np
m = dict(np.load("m.npz"))
c = json.loads(m["config"].tobytes())
def save(name, **more):
    np.savez(name, **{**m, **more})
text = lambda d: np.frombuffer((json.dumps(d) if isinstance(d, dict) else d).encode(), np.uint8)
save("int.npz", embed=m["embed"].astype(np.int32))
save("unk.npz", config=text({**c, "unk": 11}))
save("twice.npz", config=text(json.dumps(c)[:-1] + ', "unk": 1}'))
save("hash.npz", config=text({**c, "vocab": "00"}))
save("cut.npz", vocab=m["vocab"][:-3])
save("few.npz", config=text({**c, "vocab_size": 10}), embed=m["embed"][:10])
wide = np.vstack([m["embed"]] * 13) # 143 rows
save("padded.npz", config=text({**c, "vocab_size": 138}), embed=wide[:138])
save("wide.npz", config=text({**c, "vocab_size": 139}), embed=wide[:139])
save("eos.npz", config=text({**c, "eos": 4}))
save("large.npz", embed=m["embed"].astype(np.float64) * 1e300)
PY
    t 1 tf-convert int.npz
    expect_error "tensor 'embed': dtype i32, want f32, f16, bf16 or f64"
    t 1 tf-convert unk.npz
    expect_error "unk: 11 in a vocabulary of 11"
    tf-cbor json "$MODEL" | sed -E '1s/"unk":1\b/"unk":4000000000/; 1s/"(size":11|model":"[0-9a-f]*")[,}]//g' |
        tf-cbor unjson -o unk.tfm
    for to in safetensors ctranslate2; do
        t 1 tf-convert --to $to -o x unk.tfm
        expect_error "unk.tfm: header: unk: 4000000000 in a vocabulary of 11"
    done
    # A choice for models that began as Marian's.
    t 2 tf-convert --positions halves m.npz -o x
    expect_error "--positions: m.npz is not a model in a directory of transformers or CTranslate2"
    t 2 tf-convert --positions t2t "$MODEL" -o x
    expect_error "--positions"
    t 1 tf-convert twice.npz
    expect_error "config: unk: twice"
    t 1 tf-convert hash.npz
    expect_error "vocab: not a SHA-256 in hex"
    t 1 tf-convert large.npz
    expect_error "is beyond the range of f32"
    t 1 tf-convert --vocab /dev/null m.npz
    expect_error "/dev/null: not a vocabulary: empty"
    t 1 tf-convert cut.npz
    expect_error "cut.npz: vocabulary: not a SentencePiece model, or a damaged one"
    t 1 tf-convert few.npz
    expect_error "few.npz: a vocabulary of 11 pieces for a model of 10"
    # A wrong one that has fewer; programs pad the embeddings to a multiple of up to 128.
    t 0 tf-convert padded.npz -o padded.tfm
    [ -z "$stderr" ]
    t 0 tf-convert wide.npz -o wide.tfm
    expect_error "warning: wide.npz: a vocabulary of 11 pieces for a model of 139: is it the model's own?"
    t 1 tf-convert eos.npz
    expect_error "eos.npz: vocabulary: </s> is 3, and 4 in the configuration"
    t 1 tf-convert --vocab "$LINES_TXT" m.npz
    expect_error "tf-convert: $LINES_TXT: text, not a vocabulary: not a SentencePiece model"
    t 2 tf-convert --to npz --dtype bf16 "$MODEL"
    expect_error "numpy has none"
}

# A model of one's own, as its readers see it: check says what tf-decode would.
@test "check: a model that no reader takes is not valid" {
    natively
    need "$TF_PYTHON"
    tf-convert --to tfm --dtype i8 "$MODEL" -o i8.tfm
    tf-cbor json "$MODEL" >right.jsonl
    tf-cbor json i8.tfm >i8.jsonl
    "$TF_PYTHON" - >names <<'PY'
import json

def write(name, edit, of="right.jsonl"):
    out = []
    for line in open(of):
        x = json.loads(line)
        if x["type"] == "header":
            x["header"].pop("model")
        out += edit(x) or []
    open(name + ".jsonl", "w").writelines(json.dumps(x) + "\n" for x in out)
    print(name)

def config(**more):
    def edit(x):
        if x["type"] == "header":
            c = x["header"]["config"]
            c.update(more)
            x["header"]["config"] = {k: v for k, v in c.items() if v is not None}
        return [x]
    return edit

def tensor(change):
    return lambda x: change(x) if x.get("name") == "p/embed" else [x]

def search(**s):
    return lambda x: [x] if x["type"] != "header" or x["header"].update(search=s) else [x]

write("missing_key", config(tie=None))
write("unknown_key", config(rotary=True))
write("layers", config(encoder_layers=2))
write("width", config(d_ff=63))
write("word", config(activation="silu"))
write("tensor", tensor(lambda x: []))
write("turned", tensor(lambda x: [{**x, "dims": x["dims"][::-1]}]))
write("type", tensor(lambda x: [{**x, "dtype": "i32", "data": [1] * len(x["data"])}]))
write("more", tensor(lambda x: [x, {**x, "name": "p/dec.project.b"}]))
write("amax", tensor(lambda x: [x, {**x, "name": "p/embed.amax"}]))
write("alone", lambda x: [x] if not x.get("name", "").endswith(".amax") else [], "i8.jsonl")
write("low", tensor(lambda x: [{**x, "data": [-128] + x["data"][1:]}]), "i8.jsonl")

def first_amax(x):
    return [{**x, "data": [-1.0] + x["data"][1:]}] if x.get("name") == "p/embed.amax" else [x]

write("negative", first_amax, "i8.jsonl")
write("setting", search(patience=2))
write("beam", search(beam=0))
PY
    while read -r name; do
        tf-cbor unjson $name.jsonl -o bad.tfm
        t 1 tf-cbor check bad.tfm
        said=${stderr#*: }
        expect_error "tf-cbor: bad.tfm: "
        t 1 tf-decode --device cpu -m bad.tfm "$LINES_TFS"
        expect_error "tf-decode: $said"
    done <names
    [ "$(wc -l <names)" = 15 ]
    t 0 tf-cbor check "$MODEL" i8.tfm
    tf-cbor unjson missing_key.jsonl -o bad.tfm
    t 1 tf-avgckpt bad.tfm
    expect_error "tf-avgckpt: bad.tfm: config: tie is missing"
}

@test "a model that only names its vocabulary comes back the same" {
    tf-tokenize --train --vocab-size 10 --type bpe -o other "$BATS_FILE_TMPDIR/text" 2>log ||
        cat log >&2
    tf-cbor json "$MODEL" | grep -v '"name":"vocab"' |
        jq -c 'if .type == "header" then del(.header.model) else . end' | tf-cbor unjson >bare.tfm
    for to in safetensors npz; do
        tf-convert --to $to bare.tfm | tf-convert >back.tfm
        tf-convert --to tfm bare.tfm >same.tfm
        [ "$(fingerprint back.tfm)" = "$(fingerprint same.tfm)" ]
        [ "$(tf-info back.tfm | sed -n 's/^vocab  *//p')" = "$(tf-info "$MODEL" | sed -n \
            's/^vocab  *//p')" ]
        # Another vocabulary than the named one is refused, whatever the format.
        tf-convert --to $to bare.tfm -o bare.$to
        tf-convert --vocab "$BATS_FILE_TMPDIR/vocab" bare.$to -o full.tfm
        [ "$(fingerprint full.tfm)" = "$(fingerprint "$MODEL")" ]
        t 1 tf-convert --vocab other bare.$to -o wrong.tfm
        expect_error "other: vocabulary $(sha256sum <other | head -c 12) differs from bare.$to: "
    done
    # So is a named one that is not the one in the file.
    tf-convert "$MODEL" -o m.safetensors
    tf-info --json "$MODEL" | jq -c '.config + {unk: 1, vocab: .vocab}' >config.json
    tf-convert --config config.json m.safetensors -o same.tfm
    sed 's/"vocab":"....../"vocab":"000000/' config.json >other.json
    t 1 tf-convert --config other.json m.safetensors -o wrong.tfm
    expect_error "differs from other.json: 000000"
    [ ! -e wrong.tfm ]
    # Nor does it name itself: what was made of it says the fingerprint that it would have.
    tf-cbor json "$MODEL" | sed '1s/"model":"[0-9a-f]*",//' | tf-cbor unjson | tf-convert --to tfm |
        tf-cbor json | sed -n 1p | jq -r '.header.made[-1].in.model' >named
    expect_contains "$(fingerprint "$MODEL")" " $(cat named)"
}

@test "damage, and mistakes" {
    tf-convert "$MODEL" -o m.safetensors
    size=$(stat -c %s m.safetensors)
    for n in 0 7 8 100 $((size / 2)) $((size - 1)); do
        head -c "$n" m.safetensors >part
        t 1 tf-convert part
        expect_error "part: "
    done
    expect_contains "$stderr" "truncated: "
    { cat m.safetensors; echo; } >long
    t 1 tf-convert long
    expect_error "1 bytes after the last tensor"
    # An impossible length is refused before anything else is read.
    sh_t 1 "{ printf '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00{'; yes 2>/dev/null; } | tf-convert"
    expect_error "stdin: not a model of tf-tools, safetensors, npz, Marian, CTranslate2 or PyTorch"
    # 123 items are Marian's, though "{" is where that of safetensors begins.
    sh_t 1 "printf '\\1\\0\\0\\0\\0\\0\\0\\0{\\0\\0\\0\\0\\0\\0\\0' | tf-convert"
    expect_error "stdin: the file ends in its table of 123 items"
    t 1 tf-convert "$LINES_TXT"
    expect_error "not a model of tf-tools, safetensors, npz, Marian, CTranslate2 or PyTorch"
    t 1 tf-convert "$LINES_TFS"
    t 2 tf-convert --to onnx "$MODEL"
    t 2 tf-convert --config - -
    expect_error "only one file can be stdin"
    t 1 tf-convert part -o out
    [ ! -e out ]
}

# Convert a model to a pipe, which fills up, and overwrite the model in place before the rest is
# read.
overwritten() { # ARGUMENT...
    local pid size
    cp big.tfm victim.tfm
    size=$(stat -c %s victim.tfm)
    mkfifo pipe
    timeout "$TF_TIMEOUT" tf-convert victim.tfm "$@" >pipe &
    pid=$!
    exec 7<pipe
    head -c 1000 <&7 >got
    head -c $((size / 2)) /dev/zero | tr '\0' '\1' |
        dd of=victim.tfm bs=64k oflag=seek_bytes seek=$((size / 2)) conv=notrunc iflag=fullblock \
        status=none
    cat <&7 >>got
    exec 7<&-
    rm pipe
    wait "$pid"
}

@test "a model that is overwritten while it is converted gives what it had" {
    tf-batch -q --tokens 400 --batches 1 "$BATS_FILE_TMPDIR/text.tfs" "$BATS_FILE_TMPDIR/text.tfs" |
        tf-train -q --preset tiny --layers 1 --d-model 256 --d-ff 1024 --device cpu --vocab \
            "$BATS_FILE_TMPDIR/vocab" --steps 1 -o big
    tf-convert big/ckpt-00000001.tfm -o big.safetensors
    tf-convert big.safetensors -o big.tfm
    for to in safetensors npz tfm; do
        tf-convert big.tfm --to "$to" >want
        overwritten --to "$to"
        cmp want got
    done
}

@test "each file of a directory may be compressed: NAME.gz for NAME" {
    local golden=$TOP/tests/golden d
    mkdir plain
    cp -r "$golden"/hf/{marian,nllb,ct2} "$golden/search/m" "$golden/marian_tokenizer/two" plain
    cp -r "$golden/fsmt/m" plain/fsmt
    cp -r "$golden/fairseq/two" plain/fairseq
    cp -r plain/nllb plain/bin
    cp "$golden"/hf/bin/* plain/bin
    rm plain/bin/model*.safetensors*
    mkdir -p plain/firefox plain/opus plain/argos
    cp -r plain/ct2 plain/argos/model
    mv plain/argos/model/sentencepiece.bpe.model.gz plain/argos/sentencepiece.model.gz
    echo '{"from_code": "en", "to_code": "fr", "target_prefix": "fra_Latn"}' >plain/argos/metadata.json
    cp "$golden/marian/two-intgemm8.bin.gz" plain/firefox/model.ende.intgemm.alphas.bin.gz
    cp "$golden/marian/en.spm" plain/firefox/srcvocab.ende.spm
    cp "$golden/marian/de.spm" plain/firefox/trgvocab.ende.spm
    cp "$golden/marian/relu.npz.gz" plain/opus/opus.npz.gz
    for d in source target; do cp "$golden/marian/vocab.spm" plain/opus/$d.spm; done
    tf-tokenize --export-vocab -m plain/opus/source.spm |
        awk -F '\t' '{ gsub(/["\\]/, "\\\\&", $1); print "\"" $1 "\": " NR - 1 }' >plain/opus/opus.vocab.yml
    printf '%s\n' 'models: [/models/opus.npz]' 'vocabs: [opus.vocab.yml, opus.vocab.yml]' \
        'beam-size: 3' >plain/opus/decoder.yml
    chmod -R u+w plain
    gunzip -r plain
    cp -r plain packed
    gzip -r packed
    [ -z "$(find packed -type f ! -name '*.gz')" ]
    for d in plain/*; do
        tf-convert "$d" -o plain.tfm 2>plain.notes
        tf-convert "packed/${d#*/}" -o packed.tfm 2>packed.notes
        cmp plain.tfm packed.tfm
        sed 's/plain/packed/g' plain.notes | diff - <(sed 's/\.gz\b//g' packed.notes)
    done
    # Both are there: it is the plain one.
    echo '{' | gzip >plain/marian/config.json.gz
    tf-convert plain/marian -o packed.tfm
    # Damaged, or of too many bytes
    head -c 100 packed/marian/vocab.json.gz >short
    mv short packed/marian/vocab.json.gz
    t 1 tf-convert packed/marian -o x.tfm
    expect_error "packed/marian/vocab.json.gz: gzip: the file is truncated"
    head -c 2000000 /dev/zero | gzip >packed/marian/config.json.gz
    t 1 tf-convert packed/marian -o x.tfm
    expect_error "packed/marian/config.json.gz: larger than 1048576 bytes"
    # The options take such files, too.
    tf-convert packed/opus/opus.npz.gz --vocab packed/opus/source.spm.gz \
        --pieces packed/opus/opus.vocab.yml.gz -o packed.tfm
    tf-convert plain/opus/opus.npz --vocab plain/opus/source.spm -o plain.tfm
    [ "$(tf-info packed.tfm | grep ^model)" = "$(tf-info plain.tfm | grep ^model)" ]
    mv packed/opus/decoder.yml.gz packed/opus/opus.npz.decoder.yml
    gunzip <packed/opus/opus.npz.decoder.yml >packed/opus/x
    mv packed/opus/x packed/opus/opus.npz.decoder.yml
    tf-convert packed/opus/opus.npz.gz --vocab packed/opus/source.spm.gz -o packed.tfm
    tf-info packed.tfm | grep -Eq '^  beam +3$'
    tf-convert packed/fairseq/model.pt.gz -o packed.tfm
    tf-convert plain/fairseq -o plain.tfm
    cmp packed.tfm plain.tfm
}

@test "--lang and --target-lang label a model, by which tf-translate splits lines" {
    natively
    tf-convert --to tfm --lang en --target-lang pt-BR "$MODEL" -o labelled.tfm
    tf-info labelled.tfm >info
    grep -Eq '^lang +en$' info
    grep -Eq '^target_lang +pt-BR$' info
    printf 'One. Two.\n' | tf-translate -m labelled.tfm >out 2>messages
    [ ! -s messages ] || ! grep -q 'several sentences' messages
    printf 'One. Two.\n' | tf-translate -m "$MODEL" 2>messages >out
    grep -q 'several sentences' messages
    t 2 tf-convert --to tfm --lang 'e n' "$MODEL"
    expect_error "--lang 'e n': a label has 1 to 35 letters, digits, - and _"
}
