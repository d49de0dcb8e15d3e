#!/usr/bin/python3
"""Models in CTranslate2's layout, without any of our code.

    ct2.py make DIR FILE.npz VOCAB [KEY=VALUE...]   a random model, as a directory of CTranslate2
                                    and as an npz of tf-tools; VOCAB: lines of pieces
    ct2.py check DIR FILE.npz       the weights of the two are equal, and what is in the directory
                                    besides them is what CTranslate2 needs

Names and the file are those of CTranslate2 (python/ctranslate2/specs/transformer_spec.py,
model_spec.py, src/models/model.cc). Keys: version, quant (none, int8, int16, f16), tie, pre_norm,
activation, start, positions (t2t, halves, paper, learned, absent), offset, source (pieces of a
vocabulary of its own), source_eos, bias, heads (of the decoder), ff (width of the decoder's inner
layers, if it is less than the encoder's)."""
import json
import os
import struct
import sys

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from transformer import in_ct2, sinusoids  # noqa: E402

D, F, H, L, ROWS = 16, 24, 4, 2, 40
KEYS = {"version": "6", "quant": "none", "tie": "all", "pre_norm": "false", "activation": "relu",
        "start": "bos", "positions": "t2t", "offset": "0", "source": "0", "source_eos": "true",
        "bias": "true", "heads": str(H), "ff": "0"}


def table(kind, offset):
    if kind == "learned":
        return np.random.default_rng(3).standard_normal((ROWS, D)).astype("<f4")
    return sinusoids(ROWS + offset, D, kind != "paper", kind == "t2t")[offset:].astype("<f4")


def random_weights(k, V, source):
    """Ours, by our names."""
    rng, w = np.random.default_rng(7), {}

    def add(name, *shape):
        w[name] = (0.4 * rng.standard_normal(shape)).astype("<f4")

    for name, rows in {"all": [("embed", V)], "decoder": [("enc.embed", source), ("dec.embed", V)],
                       "none": [("enc.embed", source), ("dec.embed", V), ("dec.project", V)],
                       }[k["tie"]]:
        add(name, rows, D)
    for side in "enc", "dec":
        for n in range(L):
            parts = [("self", "qkv", 3)] + ([("cross", "q", 1)] if side == "dec" else [])
            for part, name, n_in in parts:
                for leaf, cols in (name, n_in * D), ("o", D):
                    add(f"{side}.{n}.{part}.{leaf}.w", D, cols)
                    add(f"{side}.{n}.{part}.{leaf}.b", cols)
            add(f"{side}.{n}.ff.1.w", D, F), add(f"{side}.{n}.ff.1.b", F)
            add(f"{side}.{n}.ff.2.w", F, D), add(f"{side}.{n}.ff.2.b", D)
            for part in [p[0] for p in parts] + ["ff"]:
                add(f"{side}.{n}.{part}.norm.g", D), add(f"{side}.{n}.{part}.norm.b", D)
        if k["pre_norm"] == "true":
            add(side + ".norm.g", D), add(side + ".norm.b", D)
    add("dec.cross.kv.w", D, 2 * L * D), add("dec.cross.kv.b", 2 * L * D)
    if k["bias"] == "true":
        add("dec.project.b", V)
    return w


def quantise(x, kind):
    if kind == "int16":
        s = np.float32(1023 / np.abs(x).max())
        return np.rint(x * s).astype("<i2"), s
    s = (127 / np.abs(x).max(1)).astype("<f4")
    return np.rint(x * s[:, None]).astype("i1"), s


def string(s):
    return struct.pack("<H", len(s) + 1) + s.encode() + b"\0"


CODES = {"<f4": 0, "|i1": 1, "<i2": 2, "<i4": 3, "<f2": 4}


def write_bin(path, version, variables, aliases):
    b = struct.pack("<I", version) + string("TransformerSpec") + struct.pack("<II", 7,
                                                                             len(variables))
    for name, x in variables.items():
        x = np.asarray(x)
        b += string(name) + struct.pack("<B", x.ndim) + struct.pack(f"<{x.ndim}I", *x.shape)
        b += (struct.pack("<BI", CODES[x.dtype.str], x.nbytes) if version >= 4 else
              struct.pack("<BI", x.itemsize, x.size)) + x.tobytes()
    if version >= 3:
        b += struct.pack("<I", len(aliases))
        b += b"".join(string(a) + string(n) for a, n in aliases.items())
    with open(path + "/model.bin", "wb") as f:
        f.write(b)


def read_bin(path):
    b, at = open(path + "/model.bin", "rb").read(), 0

    def take(form):
        nonlocal at
        x = struct.unpack_from("<" + form, b, at)
        at += struct.calcsize("<" + form)
        return x if len(x) > 1 else x[0]

    def text():
        nonlocal at
        n = take("H")
        at += n
        return b[at - n:at - 1].decode()

    version, kind, _, n, out = take("I"), text(), take("I"), take("I"), {}
    assert (version, kind) == (6, "TransformerSpec")
    kinds = {code: name for name, code in CODES.items()}
    for _ in range(n):
        name, dims = text(), [take("I") for _ in range(take("B"))]
        code, size = take("BI")
        out[name] = np.frombuffer(b, kinds[code], size // np.dtype(kinds[code]).itemsize,
                                  at).reshape(dims)
        at += size
    for _ in range(take("I")):
        alias = text()
        out[alias] = out[text()]
    assert at == len(b)
    return out


def config_of(k, V, source):
    c = {"dialect": "t2t", "encoder_layers": L, "decoder_layers": L, "d_model": D, "d_ff": F,
         "heads": H, "d_k": D // H, "d_v": D // H, "vocab_size": V, "positions": "sin",
         "max_positions": 0, "tie": k["tie"], "start": k["start"],
         "pre_norm": k["pre_norm"] == "true", "attention_bias": True, "attention_window": 0,
         "norm_eps": 1e-5, "dropout": 0.1, "attention_dropout": 0.0, "relu_dropout": 0.0,
         "label_smoothing": 0.0, "smoothing": "V", "bos": 2, "eos": 3, "pad": 0, "unk": 1,
         "initializer": "scaled", "activation": k["activation"], "output_bias": k["bias"] == "true",
         "position_offset": int(k["offset"]), "source_eos": k["source_eos"] == "true"}
    if k["positions"] == "learned":
        c.update(positions="learned", max_positions=ROWS)
    elif k["positions"] == "halves" and k["start"] == "zero":
        c.update(norm_eps=1e-6)  # Marian's, from which such a model comes
    elif k["positions"] == "paper":
        c.update(position_table="paper")
    elif k["positions"] == "absent":
        c.update(position_offset=1)
    if int(k["source"]):
        c.update(source_vocab_size=source)
    return c


def widen(w, enc, dec):
    """Parameters of stacks that have so many heads each, as heads of one number and width."""
    heads, width, out = max(enc, dec), D // min(enc, dec), dict(w)
    for name, x in w.items():
        own = enc if name.startswith("enc") else dec
        *_, leaf, kind = ("." + name).split(".")
        if leaf in ("qkv", "q", "kv"):
            y = np.zeros((*x.shape[:-1], x.shape[-1] // D, heads, width), x.dtype)
            y[..., :own, :D // own] = x.reshape(*x.shape[:-1], -1, own, D // own)
            if leaf != "kv" and width > D // own:
                y = y.astype("<f4")
                y[..., 0, :, :] *= np.float32(np.sqrt(width * own / D))
            out[name] = y.reshape(*x.shape[:-1], -1)
        elif (leaf, kind) == ("o", "w"):
            y = np.zeros((heads, width, D), x.dtype)
            y[:own, :D // own] = x.reshape(own, D // own, D)
            out[name] = y.reshape(-1, D)
    return out, {"heads": heads, "d_k": width, "d_v": width}


def save_ours(npz, k, w, V, source, **changes):
    c = config_of(k, V, source)
    c.update(changes)
    if int(k["heads"]) != H:
        w, sizes = widen(w, H, int(k["heads"]))
        c.update(sizes)
    np.savez(npz, config=np.frombuffer(json.dumps(c).encode(), "u1"),
             **{name: np.ascontiguousarray(x) for name, x in w.items()})


def make(path, npz, vocab, words):
    k = dict(KEYS)
    k.update(x.split("=", 1) for x in words)
    version, pieces = int(k["version"]), [x.rstrip("\n") for x in open(vocab, encoding="utf8")]
    V, source = len(pieces), int(k["source"]) or len(pieces)
    w = random_weights(k, V, source)
    theirs, variables = in_ct2(w), {}
    for name, x in theirs.items() if int(k["ff"]) else ():
        inner = x if "linear_0" in name else x.T
        if name.startswith("decoder/") and "/ffn/" in name and len(inner) == F:
            inner[int(k["ff"]):] = 0
            theirs[name] = inner[:int(k["ff"])] if "linear_0" in name else x[:, :int(k["ff"])]
    for name, x in theirs.items():
        if k["quant"] in ("int8", "int16") and name.endswith("/weight"):
            q, s = quantise(x, k["quant"])
            variables[name], variables[name + "_scale"] = q, s
            x[:] = q.astype("f4") / (s[:, None] if np.ndim(s) else s)
        elif k["quant"] == "f16":
            variables[name] = x.astype("<f2")
        else:
            variables[name] = x
    aliases = {"decoder/projection/weight": "decoder/embeddings/weight"}
    if k["tie"] == "none":
        aliases = {}
    if k["tie"] == "all":
        aliases["encoder/embeddings_0/weight"] = "decoder/embeddings/weight"
    if k["positions"] != "absent":
        variables["decoder/position_encodings/encodings"] = table(k["positions"], int(k["offset"]))
        aliases["encoder/position_encodings/encodings"] = "decoder/position_encodings/encodings"
    if version < 3:
        variables.update((a, variables[n]) for a, n in aliases.items())
        variables.update((a + "_scale", variables[n + "_scale"]) for a, n in aliases.items()
                         if n + "_scale" in variables)
    for side in "encoder", "decoder":
        variables[side + "/num_heads"] = np.int16(H if side == "encoder" else k["heads"])
        variables[side + "/pre_norm"] = np.int8(k["pre_norm"] == "true")
        variables[side + "/activation"] = np.int8(2 if k["activation"] == "swish" else 0)
        variables[side + "/alibi"] = np.int8(0)
        # a flag, or the factor
        variables[side + "/scale_embeddings"] = np.int8(1) if k["tie"] == "all" else np.float32(
            np.sqrt(D))
    variables["decoder/start_from_zero_embedding"] = np.int8(k["start"] == "zero")
    variables["decoder/alignment_layer"] = np.int16(-1)
    write_bin(path, version, variables, aliases)
    with open(path + "/config.json", "w", encoding="utf8") as f:
        json.dump({"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>",
                   "decoder_start_token": "<s>", "add_source_bos": False,
                   "add_source_eos": k["source_eos"] == "true", "layer_norm_epsilon": None}, f)
    if int(k["source"]):
        for side, n in ("source", source), ("target", V):
            with open(f"{path}/{side}_vocabulary.txt", "w", encoding="utf8") as f:
                f.writelines(x + "\n" for x in pieces[:n])
    else:
        with open(path + "/shared_vocabulary.json", "w", encoding="utf8") as f:
            json.dump(pieces, f)
    if k["positions"] == "learned":
        w["enc.pos"] = w["dec.pos"] = table("learned", 0)
    if k["quant"] == "f16":
        w = {name: x.astype("<f2") for name, x in w.items()}
    save_ours(npz, k, w, V, source)


def check(path, npz):
    got, ours = read_bin(path), dict(np.load(npz))
    config = json.loads(ours.pop("config").tobytes())
    ours.pop("vocab", None), ours.pop("vocab_target", None)
    want = in_ct2({n: x for n, x in ours.items() if not n.endswith(".pos")})
    for name, x in want.items():
        assert got[name].dtype == x.dtype and np.array_equal(got[name], x), name
    assert np.array_equal(got["decoder/projection/weight"],
                          ours.get("dec.project", ours.get("dec.embed", ours.get("embed"))))
    assert got["encoder/embeddings_0/weight"].shape[1] == D
    assert got["encoder/num_heads"] == config["heads"] and got["decoder/num_heads"].dtype == "<i2"
    assert np.float32(got["encoder/scale_embeddings"]) == np.float32(np.sqrt(D))
    assert got["decoder/pre_norm"] == config["pre_norm"]
    assert got["encoder/activation"] == (2 if config.get("activation") == "swish" else 0)
    assert got["decoder/start_from_zero_embedding"] == (config["start"] == "zero")
    kind = config.get("position_table", config["dialect"])
    if config["positions"] == "sin":
        rows = got["decoder/position_encodings/encodings"]
        assert rows.shape == (512, D)
        assert np.abs(rows[:ROWS] - table(kind, config.get("position_offset", 0))).max() < 1e-6
    said = json.load(open(path + "/config.json", encoding="utf8"))
    assert said["layer_norm_epsilon"] == config["norm_eps"]
    assert said["add_source_eos"] == config.get("source_eos", True)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(*sys.argv[2:5], sys.argv[5:])
    else:
        check(*sys.argv[2:])
