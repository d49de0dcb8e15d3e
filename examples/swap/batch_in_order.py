#!/usr/bin/python3
"""batch_in_order.py - replaces tf-batch: packs pairs in corpus order up to a number of tokens.

    batch_in_order.py TOKENS EPOCHS source.tfs target.tfs | tf-train ...
"""
import itertools
import os
import signal
import sys

import tfs

signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # handled as BrokenPipeError below


def pairs(a, b):
    source, target = (tfs.read(open(p, "rb"), "tokens") for p in (a, b))
    for record, both in enumerate(itertools.zip_longest(source, target)):
        if None in both:
            tfs.fail(f"{(a, b)[both.index(None)]}: has fewer lines than the other side")
        (h, x), (k, y) = both
        if h.get("vocab") != k.get("vocab"):
            tfs.fail(f"{b}: vocabulary differs from {a}")
        if x[1] != y[1]:
            tfs.fail(f"line {x[1]} of {a} is paired with line {y[1]} of {b}")
        if tfs.BAD not in (x[0], y[0]):
            yield h, record, tfs.ids(x[2]), tfs.ids(y[2])


def flat(lists):
    return [i for x in lists for i in x]


def offsets(lists):
    at = [0]
    for x in lists:
        at.append(at[-1] + len(x))
    return at


budget, epochs, files = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:5]
header = next(pairs(*files), [None])[0]
if header is None:
    tfs.fail(f"{files[0]}: no pairs")
size = header.get("size", 0)
out = tfs.Writer(tfs.stage(header, "batch_in_order.py", kind="batch", config={"tokens": budget}))


def put(group, epoch, record):
    if group:
        source, target = [g[1] for g in group], [g[2] for g in group]
        out.put(tfs.BATCH, out.count, {
            "src": tfs.typed(flat(source), size), "src_off": offsets(source),
            "tgt": tfs.typed(flat(target), size), "tgt_off": offsets(target),
            "idx": [g[0] for g in group], "epoch": epoch, "record": record,
        }, None)


def batches():
    for epoch in range(epochs):
        group, widest = [], [0, 0]
        for _, record, x, y in pairs(*files):
            n = [len(x) + 1, len(y) + 1]  # the model adds eos
            if max(n) > budget:
                continue
            if max(w + k for w, k in zip(widest, n)) > budget:
                put(group, epoch, record)
                group, widest = [], [0, 0]
            group.append((record, x, y))
            widest = [w + k for w, k in zip(widest, n)]
        put(group, epoch + 1, 0)
    out.end()


try:
    batches()
except BrokenPipeError:  # as with `tf-batch --epochs 0`, the reader decides when to stop
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
