#!/usr/bin/env python3
"""refill.py SOURCES.tfs OUTPUTS.tfs [--beam 4] [--every 1] [--ms-step 0.22] [--us-row 0.92] - what it
gains that waiting sentences enter a batch while it is decoded, by arithmetic: steps, rows and time
of the outputs that tf-decode wrote, of every so many sentences, with and without, and what it may
cost each time that sentences enter, which is not counted, until nothing is gained.

A GPU is looked at each fourth step, and computes beam rows for each sentence that is not done,
rounded up to 32. Sentences enter when a quarter of the batch is done; two steps follow before it is
looked at as always. The time of a step is that of a row times the rows, and some more. "sorted" is
the longest source first, as in a file; "as it comes" is a service whose batches are whatever waits,
if sentences could enter them (they cannot)."""
import argparse
import json
import subprocess


def lengths(path):
    text = subprocess.run(["tf-cbor", "json", path], capture_output=True, check=True).stdout
    return [len(r["ids"]) for r in map(json.loads, text.splitlines()) if r["type"] == "tokens"]


def rows_of(n, beam, batch):
    return min(-(-n * beam // 32) * 32, batch * beam)


def decoded(todo, batch, beam, refills):
    """(steps, rows, groups and entries)"""
    steps = rows = begun = at = 0
    while at < len(todo):
        left = todo[at:at + batch]
        at += len(left)
        places = len(left)
        steps, rows, begun = steps + 1, rows + places, begun + 1
        left = [n - 1 for n in left if n > 1]
        while left:
            steps += 4
            rows += 4 * rows_of(len(left), beam, places)
            left = [n - 4 for n in left if n > 4]
            if refills and at < len(todo) and 4 * (places - len(left)) >= places:
                more = todo[at:at + places - len(left)]
                at += len(more)
                steps, begun = steps + 2, begun + 1
                rows += beam * len(left) + len(more) + rows_of(len(left + more), beam, places)
                left = [n - 2 for n in left + more if n > 2]
    return steps, rows, begun


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("sources")
    p.add_argument("outputs")
    p.add_argument("--beam", type=int, default=4)
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--ms-step", type=float, default=0.22)
    p.add_argument("--us-row", type=float, default=0.92)
    o = p.parse_args()
    pairs = list(zip(lengths(o.sources), lengths(o.outputs)))[::o.every]
    came = [n + 1 for _, n in pairs]
    by_source = [n + 1 for _, n in sorted(pairs, key=lambda pair: -pair[0])]
    for name, todo in (("sorted", by_source), ("as it comes", came)):
        for batch in (16, 64, 256, 1024, 4096):
            a, b = (decoded(todo, batch, o.beam, refills) for refills in (False, True))
            ms = [o.ms_step * steps + o.us_row / 1000 * rows for steps, rows, _ in (a, b)]
            more = f"{(ms[0] - ms[1]) / (b[2] - a[2]):6.1f} ms" if b[2] > a[2] else ""
            print(f"{name:11s} {batch:5,d} {a[0]:6,d} {a[1] / a[0]:7,.0f} "
                  f"{b[0]:6,d} {b[1] / b[0]:7,.0f} {100 * (ms[1] / ms[0] - 1):+4.0f} % {more}")


main()
