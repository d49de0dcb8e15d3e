#!/usr/bin/python3
"""decode_numpy.py - replaces tf-decode and tf-score: a model computed in numpy as formats/model.md
describes it. Small models only: every step of the search computes the whole output again.

    decode_numpy.py model.tfm <source.tfs >output.tfs    the most probable token at each position
    decode_numpy.py model.tfm source.tfs target.tfs      a log-probability for each pair
"""
import math
import sys

import numpy as np

import tfs

DTYPES = {"f32": "<f4", "f16": "<f2", "bf16": "<u2", "f64": "<f8", "i8": "i1"}
IMPLIED = {"activation": "relu", "decoder_norms": "same", "decoder_self": "attention",
           "embedding_norm": False, "output_bias": False, "position_table": "dialect",
           "position_offset": 0, "source_eos": True, "source_vocab_size": 0,
           "unscaled_embeddings": False}
KEYS = set(IMPLIED) | set("""dialect encoder_layers decoder_layers d_model d_ff heads d_k d_v
    vocab_size positions max_positions tie start pre_norm final_norm attention_bias attention_window
    norm_eps dropout attention_dropout relu_dropout label_smoothing smoothing initializer bos eos
    pad""".split())


def load(path):
    """The header, the configuration with the keys that are missing, and the parameters."""
    c, p = {}, {}
    for header, r in tfs.read(open(path, "rb"), "model", "checkpoint"):
        c = header["config"]
        if r[0] == tfs.TENSOR and r[1].startswith("p/"):
            dims, data = r[4].value
            x = np.frombuffer(data.value, DTYPES[r[2]])
            if r[2] == "bf16":
                x = (x.astype("<u4") << 16).view("<f4")
            p[r[1][2:]] = x.astype(float).reshape(dims)
    for name in [x[:-5] for x in p if x.endswith(".amax")]:
        amax = p.pop(name + ".amax")
        p[name] *= (amax[:, None] if name.endswith(("embed", "project")) else amax) / 127
    if not KEYS.issuperset(c):
        tfs.fail(f"{path}: unknown: {', '.join(set(c) - KEYS)}")
    return header, {**IMPLIED, "final_norm": c["pre_norm"], **c}, p


model, c, p = load(sys.argv[1])
special = {"bos": c["bos"], "pad": c["pad"], **model.get("special", {})}
never = [special[k] for k in ("bos", "pad", "unk") if special.get(k, -1) not in (-1, c["eos"])]
never += range(model.get("size", c["vocab_size"]), c["vocab_size"])
D, H, K, V = c["d_model"], c["heads"], c["d_k"], c["d_v"]


def positions(side, n):
    if c["positions"] == "learned":
        return p[side + ".pos"][:n]
    kind = c["dialect"] if c["position_table"] == "dialect" else c["position_table"]
    t, j, h = c["position_offset"] + np.arange(n)[:, None], np.arange(D), D // 2
    if kind == "paper":
        return np.where(j % 2 == 0, np.sin(t / 10000 ** (j / D)),
                        np.cos(t / 10000 ** ((j - 1) / D)))
    angle = t / 10000 ** (np.arange(h) / max(h - (kind == "t2t"), 1))
    return np.hstack([np.sin(angle), np.cos(angle), np.zeros((n, D % 2))])


def embed(side, ids):
    """[n, D]; the id None is the zero vector."""
    e = p["embed" if c["tie"] == "all" else side + ".embed"]
    rows = [np.zeros(D) if i is None else e[i] for i in ids]
    scale = 1 if c["unscaled_embeddings"] else np.sqrt(D)
    x = np.reshape(rows, (-1, D)) * scale + positions(side, len(ids))
    return norm(x, side + ".input") if c["embedding_norm"] else x


def affine(x, name):
    return x @ p[name + ".w"] + p.get(name + ".b", 0)


def norm(x, name):
    x = x - x.mean(1, keepdims=True)
    return x / np.sqrt((x * x).mean(1, keepdims=True) + c["norm_eps"]) * p[
        name + ".norm.g"] + p[name + ".norm.b"]


def attend(q, k, v, hidden):
    z = np.einsum("thd,shd->hts", q.reshape(-1, H, K), k.reshape(-1, H, K)) / np.sqrt(K)
    z = np.exp(z + np.where(hidden, -np.inf, 0) - z.max(2, keepdims=True, initial=-1e9))
    w = z / np.maximum(z.sum(2, keepdims=True), 1e-300)
    return np.einsum("hts,shd->thd", w, v.reshape(-1, H, V)).reshape(len(q), H * V)


def self_attention(x, name, layer):
    ahead = np.arange(len(x)) - np.arange(len(x))[:, None]  # of the query: column - row
    far = np.abs(ahead) > (c["attention_window"] or len(x))
    q, k, v = np.split(affine(x, name + ".qkv"), [H * K, 2 * H * K], axis=1)
    return affine(attend(q, k, v, far | (name.startswith("dec") & (ahead > 0))), name + ".o")


def ssru(x, name, layer):
    x, z = np.split(x @ p[name + ".ssru.w"], 2, axis=1)
    f, cell = 1 / (1 + np.exp(-(z + p[name + ".ssru.b"]))), np.zeros(D)
    for i, g in enumerate(f):
        x[i] = cell = g * cell + (1 - g) * x[i]
    return np.maximum(0, x)


ACTIVATIONS = {"relu": lambda x: np.maximum(0, x), "swish": lambda x: x / (1 + np.exp(-x)),
               "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / np.sqrt(2))) / 2}


def feed_forward(x, name, layer):
    return affine(ACTIVATIONS[c["activation"]](affine(x, name + ".1")), name + ".2")


def cross_attention(memory):
    def f(x, name, layer):
        kv = np.split(affine(memory, "dec.cross.kv"), c["decoder_layers"], axis=1)[layer]
        k, v = np.split(kv, [H * K], axis=1)
        return affine(attend(affine(x, name + ".q"), k, v, False), name + ".o")
    return f


def stack(side, layers, x, **sublayers):
    pre, final = c["pre_norm"], c["final_norm"]
    if side == "dec" and c["decoder_norms"] != "same":
        pre, final = c["decoder_norms"].startswith("before"), c["decoder_norms"].endswith("-top")
    for layer in range(layers):
        for part, f in sublayers.items():
            name = f"{side}.{layer}.{part}"
            if pre:
                x = x + f(norm(x, name), name, layer)
            else:
                x = norm(x + f(x, name, layer), name)
    return norm(x, side) if final else x


def encode(source):
    return stack("enc", c["encoder_layers"], embed("enc", source + [c["eos"]] * c["source_eos"]),
                 self=self_attention, ff=feed_forward)


def log_probs(memory, target):
    """Row i: of every token after target[:i]."""
    start = c["bos"] if c["start"] == "bos" else None
    y = stack("dec", c["decoder_layers"], embed("dec", [start] + target),
              self=ssru if c["decoder_self"] == "ssru" else self_attention,
              cross=cross_attention(memory), ff=feed_forward)
    e = p[{"all": "embed", "decoder": "dec.embed", "none": "dec.project"}[c["tie"]]]
    z = y @ e.T + p.get("dec.project.b", 0)
    z -= z.max(1, keepdims=True)
    return z - np.log(np.exp(z).sum(1, keepdims=True))


def search(source):
    memory, target = encode(source), []
    while source and len(target) < len(source) + 50:
        z = log_probs(memory, target)[-1]
        z[never] = -np.inf
        target.append(int(z.argmax()))
        if target[-1] == c["eos"]:
            return target[:-1]
    return target


def score(source, target):
    return sum(log_probs(encode(source), target)[range(len(target) + 1), target + [c["eos"]]])


def sentences(f):
    return ((header, r, tfs.ids(r[2]) if r[0] == tfs.TOKENS else None)
            for header, r in tfs.read(f, "tokens"))


if len(sys.argv) == 4:
    for (_, _, x), (_, _, y) in zip(*(sentences(open(f, "rb")) for f in sys.argv[2:]), strict=True):
        print("nan" if x is None or y is None else f"{score(x, y):.6f}")
else:
    out = part = None
    for header, r, x in sentences(sys.stdin.buffer):
        if header is not part:  # a stream may have several parts
            if out is not None:
                out.end()
            out, part = tfs.Writer(tfs.stage(header, "decode_numpy.py")), header
        if x is not None:
            r = [tfs.TOKENS, r[1], tfs.typed(search(x), header.get("size", 0))]
        out.put(*r)
    out = out or tfs.Writer({"v": 1, "kind": "tokens"})
    out.end()
