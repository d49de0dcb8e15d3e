#!/usr/bin/env python3
"""refill.py SOURCES.tfs OUTPUTS.tfs [--beam 4] [--ms-step 0.22] [--us-row 0.92] - what it would gain
to refill a batch while it is decoded, by arithmetic: steps, rows and time of the outputs that
tf-decode wrote, if the rows of a finished sentence leave (as they do), and if a waiting sentence
enters in its place.

A GPU is looked at each fourth step, and computes beam rows for each sentence that is not done,
rounded up to 32. The time of a step is that of a row times the rows, and some more. "sorted" is the
longest source first, as in a file; "as it comes" is a service, whose batches are whatever waits.
tf-cbor in PATH."""
import argparse
import json
import subprocess


def lengths(path):
    text = subprocess.run(["tf-cbor", "json", path], capture_output=True, check=True).stdout
    return [len(r["ids"]) for r in map(json.loads, text.splitlines()) if r["type"] == "tokens"]


def rows_of(n, beam, batch):
    return min(-(-n * beam // 32) * 32, batch * beam)


def grouped(todo, batch, beam):
    """(steps, rows) of one batch after the other."""
    steps = rows = 0
    for i in range(0, len(todo), batch):
        left = todo[i:i + batch]
        while left:
            steps += 4
            rows += 4 * rows_of(len(left), beam, batch)
            left = [n - 4 for n in left if n > 4]
    return steps, rows


def refilled(todo, batch, beam):
    steps = rows = at = 0
    left = []
    while left or at < len(todo):
        more = todo[at:at + batch - len(left)]
        at += len(more)
        left += more
        steps += 4
        rows += 4 * rows_of(len(left), beam, batch)
        left = [n - 4 for n in left if n > 4]
    return steps, rows


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("sources")
    p.add_argument("outputs")
    p.add_argument("--beam", type=int, default=4)
    p.add_argument("--ms-step", type=float, default=0.22)
    p.add_argument("--us-row", type=float, default=0.92)
    o = p.parse_args()
    pairs = list(zip(lengths(o.sources), lengths(o.outputs)))
    came = [n + 1 for _, n in pairs]
    by_source = [n + 1 for _, n in sorted(pairs, key=lambda pair: -pair[0])]
    for name, todo in (("sorted", by_source), ("as it comes", came)):
        for batch in (16, 64, 256, 1024, 4096):
            a, b = grouped(todo, batch, o.beam), refilled(todo, batch, o.beam)
            ms = [o.ms_step * steps + o.us_row / 1000 * rows for steps, rows in (a, b)]
            print(f"{name:11s} {batch:5,d} {a[0]:6,d} {a[1] / a[0]:7,.0f} "
                  f"{b[0]:6,d} {b[1] / b[0]:7,.0f} {100 * (ms[1] / ms[0] - 1):+4.0f} %")


main()
