#!/usr/bin/python3
"""Golden numbers of two small models from an independent implementation (PyTorch, float64).

Needs Debian's python3-torch. Writes paper.txt.gz and t2t.txt.gz beside itself: lines `name count
values...`: weights (of two decimals, as float32 has them), pairs, logits, sums, gradients of the
summed smoothed loss, and weights after three Adam updates on the mean. The model is that of
../../cli/transformer.py."""
import gzip
import math
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../../cli")
sys.dont_write_bytecode = True
from transformer import Transformer, apart, sinusoids  # noqa: E402

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

    def transformer(self):
        """With the matrices that ours have side by side cut apart."""
        return Transformer(torch, apart(self.p), self.H, range(self.N), range(self.N), pre=self.pre)

    def logits(self, t, src, tgt):
        def embed(side, ids):
            positions = t.p[side + ".pos"] if self.learned else torch.asarray(
                sinusoids(len(ids), self.D))
            return t.embed(t.p[side + ".embed" if self.t2t else "embed"], ids, positions)

        memory = t.stack("enc", embed("enc", src + [3]))
        y = t.stack("dec", embed("dec", [None if self.t2t else 2] + tgt), memory)
        return y @ t.p["dec.project" if self.t2t else "embed"].T

    def pass_over(self, pairs):
        eps, V = 0.1, self.V
        loss = nll = 0
        t, all_logits = self.transformer(), []
        for src, tgt in pairs:
            z = self.logits(t, src, tgt)
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
        with open(os.path.join(HERE, dialect + ".txt.gz"), "wb") as f:
            f.write(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))


main()
