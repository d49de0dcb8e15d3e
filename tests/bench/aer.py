#!/usr/bin/env python3
"""aer.py MODEL.tfm DIR EN DE [LAYERS HEADS] - how near the links of a model, and of fast_align,
are to those of eflomal.

DIR has pairs of lines, words between spaces: train.EN, train.DE, dev.* and test.*. There are no
links by hand: the reference is eflomal's, over all these pairs in small letters; those that both
directions have are sure (S), those of either are possible (P). Of links A the alignment error rate
is 1 - (|A & S| + |A & P|) / (|A| + |S|) (Och and Ney 2003), over all lines together. It prints
rows of a table: which links, their number in a hundred words of DE, the rate of dev and of test.
First a second run of eflomal, which starts at random: one direction, and what both have; then
fast_align in the form of systran-align (both directions, joined by it), with its defaults and with
its options -d -o -v; then hard links of words by tf-attn --alignment: the head that the model
states, or, of a decoder of LAYERS layers of HEADS heads, the mean of the layer and the head that
are the best of dev.

Needs the packages eflomal and systran-align, and tf-attn and tf-tokenize in PATH. It writes to
DIR/links; links of eflomal that are there already are used again."""
import os
import subprocess
import sys

import eflomal
import systran_align

MODEL, DIR, EN, DE, *SHAPE = sys.argv[1:]
OUT = os.path.join(DIR, "links")


def lines(part, side):
    with open(os.path.join(DIR, f"{part}.{side}"), encoding="utf-8") as f:
        return [line.lower().split() for line in f]


def links(path):
    with open(path, encoding="ascii") as f:
        return [set(line.split()) for line in f]


# Lines of dev and test stand first, so that links[:N] are theirs.
SIZES = [len(lines(part, EN)) for part in ("dev", "test")]
PAIRS = [sum((lines(part, side) for part in ("dev", "test", "train")), []) for side in (EN, DE)]
N = sum(SIZES)


def by_eflomal(name):
    ends = [os.path.join(OUT, name + end) for end in (".forward", ".reverse")]
    if not all(map(os.path.exists, ends)):
        text = [[" ".join(words) + "\n" for words in side] for side in PAIRS]
        eflomal.Aligner().align(*text, links_filename_fwd=ends[0], links_filename_rev=ends[1])
    return [links(end)[:N] for end in ends]


def by_fast_align(diagonal):
    text, *probs = [os.path.join(OUT, "fast" + end) for end in (".text", ".forward", ".reverse")]
    with open(text, "w", encoding="utf-8") as f:
        f.writelines(f"{' '.join(s)} ||| {' '.join(t)}\n" for s, t in zip(*PAIRS) if s and t)
    systran_align.generate_alignment_probabilities(
        text, *probs, favor_diagonal=diagonal, optimize_tension=diagonal,
        variational_bayes=diagonal)
    found = systran_align.Aligner(*probs).align_batch(*[side[:N] for side in PAIRS])
    return [{f"{s}-{t}" for s, t in pair["alignments"]} for pair in found]


def by_model(head, part):
    at = os.path.join(OUT, part)
    for side, option in (EN, []), (DE, ["--target"]):
        subprocess.run(["tf-tokenize", "-m", MODEL, *option, "-o", f"{at}.{side}.tfs",
                        f"{DIR}/{part}.{side}"], check=True)
    subprocess.run(["tf-attn", "-q", "-m", MODEL, "--threads", "1", "--alignment",
                    *(["--alignment-head", head] if head else []), "-o", at + ".out",
                    f"{at}.{EN}.tfs", f"{at}.{DE}.tfs"], check=True)
    subprocess.run(["tf-tokenize", "-d", "-m", MODEL, "--alignment", "hard", "-o", at + ".text",
                    "--alignment-output", at + ".links", at + ".out"], check=True)
    return links(at + ".links")


def aer(found, first, last):
    both = list(zip(found, SURE, POSSIBLE))[first:last]
    hits = sum(len(a & s) + len(a & p) for a, s, p in both)
    return 100 * (1 - hits / sum(len(a) + len(s) for a, s, p in both))


def row(name, found):
    density = 100 * sum(map(len, found)) / sum(map(len, PAIRS[1][:N]))
    rates = aer(found, 0, SIZES[0]), aer(found, SIZES[0], N)
    print(f"| {name:28} | {density:5.1f} | {rates[0]:5.1f} | {rates[1]:5.1f} |", flush=True)


os.makedirs(OUT, exist_ok=True)
forward, reverse = by_eflomal("reference")
SURE = [f & r for f, r in zip(forward, reverse)]
POSSIBLE = [f | r for f, r in zip(forward, reverse)]
again = by_eflomal("again")
row("eflomal again, forward", again[0])
row("eflomal again, both", [f & r for f, r in zip(*again)])
row("fast_align", by_fast_align(False))
row("fast_align, diagonal", by_fast_align(True))
choices = [[None]]
if SHAPE:
    layers, heads = [[str(i + 1) for i in range(int(n))] for n in SHAPE]
    choices = [layers, [f"{layer},{head}" for layer in layers for head in heads]]
for choice in choices:
    dev = {head: by_model(head, "dev") for head in choice}
    best = min(dev, key=lambda head: aer(dev[head], 0, SIZES[0]))
    print({head: round(aer(found, 0, SIZES[0]), 1) for head, found in dev.items()}, file=sys.stderr)
    row(f"model, {best or 'its own head'}", dev[best] + by_model(best, "test"))
