"""attention.py MODEL SRC TGT STREAM - compare an attention stream over all kinds, layers and heads
with a forward pass in numpy (float64): a post-norm model of the paper's dialect with sinusoids and
one tied embedding. The paper, sections 3.1 to 3.5."""
import sys

import cbor2
import numpy as np


def records(path):
    decoder = cbor2.CBORDecoder(open(path, "rb"))
    while True:
        r = decoder.decode()
        if isinstance(r, list):
            yield r
            if r[0] == 15:
                return


def typed(item):
    kinds = {64: "u1", 69: "<u2", 70: "<u4", 85: "<f4"}
    return np.frombuffer(item.value, kinds[item.tag])


model_path, src_path, tgt_path, stream_path = sys.argv[1:]
p = {}
for r in records(model_path):
    if r[0] == 0:
        c = r[1]["config"]
    if r[0] == 6 and r[1].startswith("p/"):
        dims, data = r[4].value
        p[r[1][2:]] = typed(data).astype(float).reshape(dims)
D, H, K, V = c["d_model"], c["heads"], c["d_k"], c["d_v"]


def embed(ids):
    at, i = np.arange(len(ids))[:, None], np.arange(D)[None, :]
    angle = at / 10000 ** (2 * (i // 2) / D)
    return p["embed"][ids] * np.sqrt(D) + np.where(i % 2 == 0, np.sin(angle), np.cos(angle))


def norm(x, name):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + c["norm_eps"]) * p[
        name + ".norm.g"] + p[name + ".norm.b"]


def attend(q, k, v, name, causal=False):
    """Weights [H, T, S] and the sublayer's output."""
    z = np.einsum("thd,shd->hts", q.reshape(-1, H, K), k.reshape(-1, H, K)) / np.sqrt(K)
    if causal:
        z += np.triu(np.full(z.shape[1:], -np.inf), 1)
    w = np.exp(z - z.max(2, keepdims=True))
    w /= w.sum(2, keepdims=True)
    return w, np.einsum("hts,shd->thd", w, v.reshape(-1, H, V)).reshape(len(q),
                                                                        H * V) @ p[name + ".o.w"]


def self_attention(x, name, causal=False):
    qkv = x @ p[name + ".qkv.w"]
    return attend(qkv[:, :H * K], qkv[:, H * K:2 * H * K], qkv[:, 2 * H * K:], name, causal)


def feed_forward(x, name):
    return np.maximum(0, x @ p[name + ".1.w"] + p[name + ".1.b"]) @ p[name + ".2.w"] + p[name +
                                                                                         ".2.b"]


def weights(src, tgt):
    x = embed(src + [c["eos"]])
    for l in range(c["encoder_layers"]):
        w, u = self_attention(x, f"enc.{l}.self")
        yield "encoder", l + 1, w
        x = norm(x + u, f"enc.{l}.self")
        x = norm(x + feed_forward(x, f"enc.{l}.ff"), f"enc.{l}.ff")
    y, kv = embed([c["bos"]] + tgt), x @ p["dec.cross.kv.w"]
    for l in range(c["decoder_layers"]):
        w, u = self_attention(y, f"dec.{l}.self", True)
        yield "decoder", l + 1, w
        y = norm(y + u, f"dec.{l}.self")
        mine = kv[:, l * H * (K + V):(l + 1) * H * (K + V)]
        w, u = attend(y @ p[f"dec.{l}.cross.q.w"], mine[:, :H * K], mine[:, H * K:],
                      f"dec.{l}.cross")
        yield "cross", l + 1, w
        y = norm(y + u, f"dec.{l}.cross")
        y = norm(y + feed_forward(y, f"dec.{l}.ff"), f"dec.{l}.ff")


def sentences(path):
    return {r[1]: typed(r[2]).astype(int).tolist() for r in records(path) if r[0] == 1}


src, tgt = sentences(src_path), sentences(tgt_path)
got = {}
for r in records(stream_path):
    if r[0] == 5:
        _, idx, kind, layer, heads, rows, columns, w = r
        assert typed(heads).tolist() == list(range(1, H + 1)), heads
        got[idx, kind, layer] = typed(w).reshape(H, len(rows), len(columns))
assert list(got) == [(i, kind, l + 1) for i in src for kind in ("encoder", "decoder", "cross")
                     for l in range(c["decoder_layers"])], list(got)[:9]
worst = 0
for i in src:
    for kind, layer, want in weights(src[i], tgt[i]):
        have = got[i, kind, layer]
        assert have.shape == want.shape, (i, kind, layer, have.shape, want.shape)
        worst = max(worst, abs(have - want).max())
print(f"{len(got)} records, off by up to {worst:.1e}")
assert worst < 1e-5, worst
