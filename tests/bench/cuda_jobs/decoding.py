"""decoding.py - jobs that decode: tokens a second, and milliseconds of a sentence alone."""
import os
import statistics

from .inputs import lengths, model, stream
from .rig import Failed, must, run


def take(b, options, sizes, name):
    """Median seconds for one and for four copies of the sentences: the difference between the two
    contains neither the start of the program nor the loading of the model."""
    model(b)
    for part, n in ((".tfs", sizes), (".4.tfs", 4 * sizes)):
        if not os.path.exists(name + part):
            stream(name + part, b.vocab, n, 6)
    took = []
    for part in (".tfs", ".4.tfs"):
        once = b.emulate or not b.time_for(60) or name.startswith("lone")
        times = 1 if once else 2 if b.short else 3
        command = f"tf-decode -m model.tfm --max-extra 0 --device cuda -o out.tfs {options}"
        found = [run(b, f"{command} {name}{part}", timeout=90)[0] for _ in range(times)]
        if None in found:
            raise Failed("tf-decode failed")
        took.append(min(found) if b.short else statistics.median(found))
    return took[0], max(1e-9, took[1] - took[0])


def decode_row(b, label, options, sizes, name):
    once, seconds = take(b, options, sizes, name)
    b.row(f"tf-decode {b.model}, {label}", f"{3 * sum(sizes) / seconds:,.0f} tokens/s",
          f"{seconds / len(sizes) / 3 * 1e3:.2f} ms a sentence; start and loading"
          f" {max(0, once - seconds / 3):.2f} s")


def decode(b):
    """The output of random weights is as long as the input: they end no sentence."""
    sizes = [s for s, _ in lengths(b, 6 if b.emulate else 3003, 5)]
    ways = (("beam 4", "--beam 4"), ("greedy", "--beam 1"),
            ("beam 4, 128 together", "--beam 4 --batch 128"))
    for label, options in ways[:2 if b.short else 3]:
        if b.time_for(40):
            decode_row(b, label, options, sizes, "in")


def one(b):
    sizes = [s for s, _ in lengths(b, 2 if b.emulate else 150, 7)]
    decode_row(b, "beam 4, one at a time", "--beam 4 --batch 1", sizes, "few")
    if not b.short:
        decode_row(b, "greedy, one at a time", "--beam 1 --batch 1", sizes, "few")
    command = "tf-decode -m model.tfm --max-extra 0 --device cuda few.tfs -o "
    must(b, f"{command} together.tfs && {command} alone.tfs --batch 1")
    if run(b, "cmp together.tfs alone.tfs")[0] is None:
        raise Failed("one at a time gives other bytes than all together")
    b.row("one at a time and all together", "the same bytes")


def decode_probe(b):
    model(b)
    sizes = [s for s, _ in lengths(b, 2 if b.emulate else 20, 7)]
    stream("probe.tfs", b.vocab, sizes, 6)
    command = "tf-decode -m model.tfm --max-extra 0 --device cuda probe.tfs -o "
    must(b, f"{command} together.tfs && {command} alone.tfs --batch 1"
            " && cmp together.tfs alone.tfs")
