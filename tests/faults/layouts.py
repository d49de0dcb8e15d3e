"""E: what a sentence is decoded to does not depend on its neighbours, on the order, on threads or
on how fast the lines come."""
import os
import random
import subprocess
import threading
import time

import cbor2

from resume import records, token_stream
from rig import ENV, run, slurp


def answers(data):
    """{idx: [records as bytes without the idx]}, in the order of the stream."""
    out = {}
    for rec in records(data)[2:]:
        x = cbor2.loads(rec)
        if x[0] not in (13, 15):
            out.setdefault(x[1], []).append(repr([x[0]] + x[2:]))
    return out


def drip(argv, data, r):
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=ENV)

    def feed():
        at = 0
        while at < len(data):
            n = r.randint(1, 400)
            p.stdin.write(data[at:at + n])
            p.stdin.flush()
            at += n
            if r.random() < 0.3:
                time.sleep(0.005)
        p.stdin.close()
    t = threading.Thread(target=feed)
    t.start()
    out = p.stdout.read()
    p.wait()
    t.join()
    return out


def e(rig, row):
    """3,000 lines decoded in batches of 1, 7 and 64, shuffled, in small pieces, with 1, 2 and 5 threads,
    in fp32 and int8: no line differs"""
    n = rig.count(3000, short=150, scaled=False)
    r = random.Random(rig.seed)
    lines = [[r.randint(4, 63)
              for _ in range(r.choice([0, 1, 2, 5, 9, r.randint(10, 40)]))] for _ in range(n)]
    s = rig.path("e.tfs")
    token_stream(s, lines)
    out = rig.path("e-run")
    if not os.path.isdir(out):
        d = rig.train(out, rig.batches("b200.tfs", n=200), "--steps", "200", "--save-every", "200")
        if d.rc != 0:
            row.fail("no model: %s", d.err)
            return
    model = os.path.join(out, "ckpt-00000200.tfm")
    for name, more in (("beam", ["-k", "4", "-n", "2"]), ("greedy", ["-k", "1"]),
                       ("int8", ["-d", "cpu", "--precision", "int8"]),
                       ("sampled", ["--sample", "--seed", "3", "--top-k", "9", "--top-p", "0.8"])):
        base = ["tf-decode", "-m", model, "--max-extra", "8"] + more
        want = answers(run(base + ["-t", "1", s], timeout=600).out)
        if len(want) != n:
            row.fail("%s: %d answers for %d lines", name, len(want), n)
        ways = [(["-b", "1", "-t", "1"], s), (["-b", "7", "-t", "2"], s),
                (["-b", "64", "-w", "64", "-t", "5"], s), (["-b", "33", "-w", "1000", "-t",
                                                            "2"], s)]
        for opts, path in ways:
            got = answers(run(base + opts + [path], timeout=600).out)
            tell(row, "%s %s" % (name, " ".join(opts)), want, got)
        tell(row, name + " in small pieces", want, answers(drip(base + ["-t", "2", "-"], slurp(s), r)))
        if name == "sampled":
            continue  # a line's draws depend on its number
        order = list(range(n))
        r.shuffle(order)
        token_stream(rig.path("e-shuffled.tfs"), [lines[i] for i in order])
        got = answers(run(base + ["-t", "2", rig.path("e-shuffled.tfs")], timeout=600).out)
        tell(row, name + " shuffled", want, {order[i]: x for i, x in got.items()})


def tell(row, what, want, got):
    bad = [i for i in want if got.get(i) != want[i]]
    row.add("lines", len(want))
    row.add("layouts")
    if bad or len(got) != len(want):
        row.fail("%s: %d of %d lines differ, the first is line %s", what, len(bad), len(want),
                 bad[:1])


ROWS = [("E", e)]
