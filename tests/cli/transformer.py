"""The Transformer in plain array code and float64, for what tests compare with: the paper's
sections 3.1 to 3.5, sentence by sentence and head by head, and what Marian adds; and the names that
other programs have for its parameters. None of our code.

Arrays are numpy's or, where gradients are needed, torch's. Parameters have names such as
enc.0.self.q.w (x w + b): parts self, cross, ff and ssru, with norm.g and norm.b of each; enc.norm.g
where a stack ends in a norm. Those are our tools' names, too, but that they have matrices side by
side: enc.0.self.qkv.w, and dec.cross.kv.w with k and v of each layer in turn."""
import math
import re

import numpy as np


def sinusoids(rows, D, halves=False, less=0):
    """PE(t, 2i) = sin(t / 10000^(i / (D/2 - less))), PE(t, 2i + 1) its cosine; halves: all sines,
    then all cosines."""
    a = np.arange(rows)[:, None] / 10000.0 ** (np.arange(D // 2) / (D // 2 - less))
    return (np.hstack if halves else np.dstack)([np.sin(a), np.cos(a)]).reshape(rows, D)


def columns(x, *widths):
    """x cut into parts of so many columns."""
    ends = np.cumsum(widths)
    return [x[..., end - n:end] for n, end in zip(widths, ends)]


def apart(w, whole=()):
    """The parameters w of our tools as layers have them, whose matrices are cut but for those in
    `whole`: qkv, or kv of a layer."""
    def shape(leaf, axis):
        return w[f"dec.0.cross.{leaf}.w"].shape[axis]

    out = {}
    for name, x in w.items():
        parts = {name: x}
        if name.startswith("dec.cross.kv."):
            width = shape("q", 1) + shape("o", 0)
            layers = columns(x, *[width] * (x.shape[-1] // width))
            parts = {f"dec.{n}.cross{name[9:]}": y for n, y in enumerate(layers)}
        for part, y in parts.items():
            start, _, end = part.rpartition(".")
            at, _, letters = start.rpartition(".")
            if letters in whole or letters not in ("qkv", "kv"):
                out[part] = y
                continue
            widths = [shape("o", 0) if c == "v" else shape("q", 1) for c in letters]
            out.update((f"{at}.{c}.{end}", z) for c, z in zip(letters, columns(y, *widths)))
    return out


STACKS = {"enc": "encoder", "dec": "decoder"}


def fairseq_name(name):
    """Of a parameter in fairseq; in transformers "model." stands before it."""
    side, *at, kind = name.split(".")
    stack, end = STACKS[side], "bias" if kind == "b" else "weight"
    if not at:
        return f"{stack}.{'embed_tokens' if kind == 'embed' else 'output_projection'}.{end}"
    if at == ["norm"]:
        return f"{stack}.layer_norm.{end}"
    n, part, leaf = at
    of = {"self": "self_attn", "cross": "encoder_attn", "ff": "final"}[part]
    leaf = (of + "_layer_norm" if leaf == "norm" else "fc" + leaf if part == "ff" else
            f"{of}.{'out' if leaf == 'o' else leaf}_proj")
    return f"{stack}.layers.{n}.{leaf}.{end}"


def ct2_name(name):
    """Of a parameter in CTranslate2, which has qkv and kv of a layer in one."""
    side, *at, kind = ("dec." * (name == "embed") + name).split(".")
    stack, norm = STACKS[side], {"g": "gamma", "b": "beta"}
    if kind == "embed":
        return stack + "/embeddings" + ("_0" if side == "enc" else "") + "/weight"
    if "project" in name:
        return f"{stack}/projection/{'bias' if kind == 'b' else 'weight'}"
    if at == ["norm"]:
        return f"{stack}/layer_norm/{norm[kind]}"
    n, part, leaf = at
    of = {"self": "self_attention", "cross": "attention", "ff": "ffn"}[part]
    if leaf == "norm":
        return f"{stack}/layer_{n}/{of}/layer_norm/{norm[kind]}"
    i = {"self": "qkv o", "cross": "q kv o", "ff": "1 2"}[part].split().index(leaf)
    return f"{stack}/layer_{n}/{of}/linear_{i}/{'bias' if kind == 'b' else 'weight'}"


def in_ct2(w):
    """Parameters of our tools by CTranslate2's names and in its layout; views of w."""
    return {ct2_name(name): x if "embed" in name or "project" in name else x.T
            for name, x in apart(w, ("qkv", "kv")).items()}


def marian_names(layers):
    """Of the parameters in that many layers of each stack."""
    attention = "Wq bq Wk bk Wv bv Wo bo Wo_ln_scale Wo_ln_bias"
    for part, leaves in (("self", attention), ("context", attention),
                         ("ffn", "W1 b1 W2 b2 ffn_ln_scale ffn_ln_bias")):
        for leaf in leaves.split():
            for side in "encoder", "decoder":
                yield from (f"{side}_l{n + 1}_{part}_{leaf}" for n in range(layers))


def plain_name(name):
    """Of a parameter that Marian has in a layer or above a stack."""
    m = re.fullmatch(r"(enc|dec)oder_(?:l(\d+)_(self|context|ffn|rnn)|top)(?:_(?:Wo|ffn))?_"
                     r"(?:(W|b)([qkvof12]?)|ln_(scale|bias)(?:_pre)?)", name)
    if m is None:
        return name
    side, n, part, kind, letter, norm = m.groups()
    parts = {"self": "self", "context": "cross", "ffn": "ff", "rnn": "ssru"}
    of = [side] + ([str(int(n) - 1), parts[part]] if n else [])
    return ".".join(of + (["norm", "g" if norm == "scale" else "b"] if norm else
                          [letter] * (letter != "") + [kind.lower()]))


class Transformer:
    def __init__(self, xp, p, heads, enc, dec, pre=False, eps=1e-6, swish=False):
        """xp: numpy or torch; heads: of each stack, or a pair; enc, dec: the numbers of the layers
        that a stack has, in turn; pre: norms come before sublayers."""
        self.xp, self.p, self.layers = xp, p, {"enc": enc, "dec": dec}
        self.heads = dict(zip(STACKS, heads if isinstance(heads, tuple) else (heads, heads)))
        self.pre, self.eps, self.swish = pre, eps, swish
        self.weights = {}  # of attention: by the sublayer's name, a list of [T, S] by head

    def embed(self, table, ids, positions):
        """None stands for a vector of zeros."""
        D = table.shape[1]
        rows = self.xp.stack([table[0] * 0 if i is None else table[i] for i in ids])
        return rows * math.sqrt(D) + positions[:len(ids)]

    def linear(self, x, name):
        y = x @ self.p[name + ".w"]
        return y + self.p[name + ".b"] if name + ".b" in self.p else y

    def norm(self, x, name):
        d = x - x.mean(-1, keepdims=True)
        return (d / self.xp.sqrt((d * d).mean(-1, keepdims=True) + self.eps) *
                self.p[name + ".norm.g"] + self.p[name + ".norm.b"])

    def attention(self, name, x, memory, causal):
        xp, out, self.weights[name] = self.xp, [], []
        qkv = self.linear(x, name + ".q"), self.linear(memory, name + ".k"), self.linear(
            memory, name + ".v")
        heads = self.heads[name[:3]]
        for h in range(heads):
            q, k, v = (columns(y, *[y.shape[1] // heads] * heads)[h] for y in qkv)
            z = q @ k.T / math.sqrt(k.shape[1])
            if causal:
                z = z + xp.triu(xp.full(z.shape, -math.inf), 1)
            e = xp.exp(z - xp.amax(z, -1, keepdims=True))
            self.weights[name].append(e / e.sum(-1, keepdims=True))
            out.append(self.weights[name][h] @ v)
        return self.linear(xp.hstack(out), name + ".o")

    def ssru(self, name, x):
        """Kim et al., 2019: c_t = f_t c_(t-1) + (1 - f_t) (x w)_t."""
        f = 1 / (1 + self.xp.exp(-self.linear(x, name + ".f")))
        x, c, out = self.linear(x, name), 0, []
        for t in range(len(x)):
            c = f[t] * c + (1 - f[t]) * x[t]
            out.append(c * (c > 0))
        return self.xp.stack(out)

    def feed_forward(self, name, x):
        h = self.linear(x, name + ".1")
        return self.linear(h / (1 + self.xp.exp(-h)) if self.swish else h * (h > 0), name + ".2")

    def around(self, x, name, f):
        return x + f(self.norm(x, name)) if self.pre else self.norm(x + f(x), name)

    def stack(self, side, x, memory=None):
        for n in self.layers[side]:
            own, cross, ff, ssru = (f"{side}.{n}.{part}" for part in "self cross ff ssru".split())
            if ssru + ".w" in self.p:
                x = self.around(x, ssru, lambda y: self.ssru(ssru, y))
            else:
                x = self.around(x, own, lambda y: self.attention(own, y, y, side == "dec"))
            if side == "dec":
                x = self.around(x, cross, lambda y: self.attention(cross, y, memory, False))
            x = self.around(x, ff, lambda y: self.feed_forward(ff, y))
        return self.norm(x, side) if side + ".norm.g" in self.p else x
