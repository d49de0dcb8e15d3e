#!/usr/bin/env python3
"""Write the files beside this one anew: `text`, made of random syllables; codes learned from a part
of it, as subword-nmt has them (codes.2), as its version 0.1 had them (codes.1) and as fastBPE has
them (codes.fast: the merges of codes.2); and what subword-nmt's apply_bpe makes of the text with
codes.2 and codes.1 (split.2, split.1). Needs the package subword-nmt; run it in this directory."""
import collections
import random

from subword_nmt.apply_bpe import BPE

MERGES = 160
rng = random.Random(3)
SYLLABLES = "ka to mi ren sch ein wal k ed s ing er haus st a o 12 7 ä ö ß 日本 é".split()
ODD = ["", " ", "  two  spaces  ", "@@", "a@@ b@@", "</w>", "a</w> </w></w>", "▁ ▁a", "kakakakaka",
       "aaaaaaa", "tab\tin a word", "\u00a0 x\u00a0y", "<unk> </s>", "\U0001f600\U0001f600", "\r a \r"]


def word():
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randrange(1, 5)))


def learn(words, alone):
    """Merges of the most frequent pairs, as many as MERGES."""
    words = {tuple(w) + ("</w>",) if alone else tuple(w[:-1]) + (w[-1] + "</w>",): n
             for w, n in words.items()}
    merges = []
    for _ in range(MERGES):
        pairs = collections.Counter()
        for w, n in words.items():
            for pair in zip(w, w[1:]):
                pairs[pair] += n
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append((*best, pairs[best]))
        joined = {}
        for w, n in words.items():
            out, i = [], 0
            while i < len(w):
                two = w[i:i + 2] == best
                out.append("".join(w[i:i + 1 + two]))
                i += 1 + two
            joined[tuple(out)] = n
        words = joined
    return merges


def write(name, lines):
    with open(name, "w", encoding="utf-8", newline="\n") as f:
        f.writelines(line + "\n" for line in lines)


text = [" ".join(word() for _ in range(rng.randrange(1, 9))) for _ in range(90)] + ODD
write("text", text)
counts = collections.Counter(w for line in text[:70] for w in line.split(" "))
for version in 2, 1:
    merges = learn(counts, version == 1)
    write(f"codes.{version}",
          ["#version: 0.2"] * (version == 2) + [f"{a} {b}" for a, b, _ in merges])
    if version == 2:
        write("codes.fast", [f"{a} {b} {n}" for a, b, n in merges])
    with open(f"codes.{version}", encoding="utf-8", newline="\n") as f:
        bpe = BPE(f)
    write(f"split.{version}", [bpe.segment(line) for line in text])
