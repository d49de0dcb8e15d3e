#!/usr/bin/python3
"""Golden numbers of two small models from an independent implementation (PyTorch, float64).

Needs Debian's python3-torch. Writes paper.txt.gz and t2t.txt.gz beside itself: lines `name count
values...`: weights (of two decimals, as float32 has them), pairs, logits, sums, gradients of the
summed smoothed loss, and weights after three Adam updates on the mean. The attention is written
sentence by sentence and head by head, without any of the library's tricks."""
import gzip
import math
import os
import torch

torch.set_default_dtype(torch.float64)

PAIRS = [([4, 7, 5], [6, 8]), ([9], [10, 4, 5, 7, 6]), ([], [5]), ([5, 6, 7, 8, 9, 10], [])]


class Model:
    def __init__(self, t2t):
        self.t2t, self.pre, self.learned, self.bias = t2t, t2t, t2t, t2t
        self.V, self.D, self.F, self.H, self.dk, self.dv = 11, 6, 10, 2, 3, 5
        self.N = 2
        self.p = {}
        gen = torch.Generator().manual_seed(17)

        def add(name, *dims, mean=0.0, sd=0.4):
            x = torch.round(mean + sd * torch.randn(*dims, generator=gen), decimals=2)
            self.p[name] = x.float().double().requires_grad_(True)

        V, D, F, hk, hv = self.V, self.D, self.F, self.H * self.dk, self.H * self.dv

        def norm(name):
            add(name + ".norm.g", D, mean=1.0, sd=0.2)
            add(name + ".norm.b", D, sd=0.2)

        def linear(name, i, o):
            add(name + ".w", i, o)
            if self.bias or ".ff." in name:
                add(name + ".b", o, sd=0.2)

        if t2t:
            for name in ("enc.embed", "dec.embed", "dec.project"):
                add(name, V, D)
            for name in ("enc.pos", "dec.pos"):
                add(name, 8, D)
        else:
            add("embed", V, D)
        for side in ("enc", "dec"):
            for n in range(self.N):
                linear(f"{side}.{n}.self.qkv", D, 2 * hk + hv)
                linear(f"{side}.{n}.self.o", hv, D)
                norm(f"{side}.{n}.self")
                if side == "dec":
                    linear(f"{side}.{n}.cross.q", D, hk)
                    linear(f"{side}.{n}.cross.o", hv, D)
                    norm(f"{side}.{n}.cross")
                linear(f"{side}.{n}.ff.1", D, F)
                linear(f"{side}.{n}.ff.2", F, D)
                norm(f"{side}.{n}.ff")
            if self.pre:
                norm(side)
        linear("dec.cross.kv", D, self.N * (hk + hv))

    def embed(self, side, ids, rows):
        e = self.p[f"{side}.embed" if self.t2t else "embed"]
        x = torch.stack([torch.zeros(self.D) if i is None else e[i]
                         for i in ids]) * math.sqrt(self.D)
        if self.learned:
            return x + self.p[side + ".pos"][:rows]
        pe = torch.zeros(rows, self.D)
        for t in range(rows):
            for i in range(self.D // 2):
                a = t / 10000 ** (2 * i / self.D)
                pe[t, 2 * i], pe[t, 2 * i + 1] = math.sin(a), math.cos(a)
        return x + pe

    def linear(self, x, name):
        y = x @ self.p[name + ".w"]
        return y + self.p[name + ".b"] if name + ".b" in self.p else y

    def norm(self, x, name):
        g, b = self.p[name + ".norm.g"], self.p[name + ".norm.b"]
        m = x.mean(-1, keepdim=True)
        v = ((x - m) ** 2).mean(-1, keepdim=True)
        return (x - m) / torch.sqrt(v + 1e-6) * g + b

    def attend(self, q, k, v, causal):
        out = []
        for h in range(self.H):
            a = q[:, h * self.dk:(h + 1) * self.dk] @ k[:, h * self.dk:(h + 1) *
                                                        self.dk].T / math.sqrt(self.dk)
            if causal:
                a = a.masked_fill(torch.ones_like(a).triu(1).bool(), -math.inf)
            out.append(torch.softmax(a, -1) @ v[:, h * self.dv:(h + 1) * self.dv])
        return torch.cat(out, -1)

    def around(self, x, name, f):
        return x + f(self.norm(x, name)) if self.pre else self.norm(x + f(x), name)

    def self_attention(self, x, name, causal):
        hk = self.H * self.dk
        qkv = self.linear(x, name + ".qkv")
        return self.linear(self.attend(qkv[:, :hk], qkv[:, hk:2 * hk], qkv[:, 2 * hk:], causal),
                           name + ".o")

    def feed_forward(self, x, name):
        return self.linear(torch.relu(self.linear(x, name + ".1")), name + ".2")

    def logits(self, src, tgt):
        x = self.embed("enc", src + [3], len(src) + 1)
        for n in range(self.N):
            x = self.around(x, f"enc.{n}.self",
                            lambda y: self.self_attention(y, f"enc.{n}.self", False))
            x = self.around(x, f"enc.{n}.ff", lambda y: self.feed_forward(y, f"enc.{n}.ff"))
        if self.pre:
            x = self.norm(x, "enc")
        kv, hk, w = self.linear(x, "dec.cross.kv"), self.H * self.dk, self.H * (self.dk + self.dv)
        y = self.embed("dec", [None if self.t2t else 2] + tgt, len(tgt) + 1)
        for n in range(self.N):
            name = f"dec.{n}.cross"

            def cross(z):
                q, own = self.linear(z, name + ".q"), kv[:, n * w:(n + 1) * w]
                return self.linear(self.attend(q, own[:, :hk], own[:, hk:], False), name + ".o")

            y = self.around(y, f"dec.{n}.self",
                            lambda z: self.self_attention(z, f"dec.{n}.self", True))
            y = self.around(y, name, cross)
            y = self.around(y, f"dec.{n}.ff", lambda z: self.feed_forward(z, f"dec.{n}.ff"))
        if self.pre:
            y = self.norm(y, "dec")
        return y @ self.p["dec.project" if self.t2t else "embed"].T

    def pass_over(self, pairs):
        eps, V = 0.1, self.V
        loss = nll = 0
        all_logits = []
        for src, tgt in pairs:
            z = self.logits(src, tgt)
            lp = torch.log_softmax(z, -1)
            out = torch.tensor(tgt + [3])
            q = torch.full_like(lp, eps / (V - 1) if self.t2t else eps / V)
            q[torch.arange(len(out)), out] = 1 - eps if self.t2t else 1 - eps + eps / V
            loss = loss - (q * lp).sum()
            nll = nll - lp[torch.arange(len(out)), out].sum()
            all_logits.append(z)
        return loss, nll, torch.cat(all_logits)


def main():
    for dialect in ("paper", "t2t"):
        m = Model(dialect == "t2t")
        lines = []

        def put(name, x, form="%.8g"):
            x = x.detach().reshape(-1).tolist()
            lines.append(" ".join([name, str(len(x))] + [form % v for v in x]))

        for name, p in m.p.items():
            put("w/" + name, p, "%.2f")
        tokens = sum(len(t) + 1 for _, t in PAIRS)
        moments = {n: (torch.zeros_like(p), torch.zeros_like(p)) for n, p in m.p.items()}
        for step in (1, 2, 3):
            loss, nll, z = m.pass_over(PAIRS)
            for p in m.p.values():
                p.grad = None
            loss.backward()
            if step == 1:
                put("logits", z)
                put("loss", loss)
                put("nll", nll)
                for name, p in m.p.items():
                    put("g/" + name, p.grad)
            lr = 2.0 * m.D ** -0.5 * min(step ** -0.5, step * 4 ** -1.5)
            b1, b2, eps = 0.9, 0.98, 1e-9
            with torch.no_grad():
                for name, p in m.p.items():
                    a, v = moments[name]
                    g = p.grad / tokens
                    a.mul_(b1).add_((1 - b1) * g)
                    v.mul_(b2).add_((1 - b2) * g * g)
                    if m.t2t:
                        p -= lr * math.sqrt(1 - b2**step) / (1 - b1**step) * a / (v.sqrt() + eps)
                    else:
                        p -= lr * (a / (1 - b1 ** step)) / ((v / (1 - b2 ** step)).sqrt() + eps)
        for name, p in m.p.items():
            put("u/" + name, p, "%.6g")
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), dialect + ".txt.gz"),
                  "wb") as f:
            f.write(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))


main()
