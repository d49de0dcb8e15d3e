"""R, T: what the tools take for hostile input, and files of earlier releases."""
import functools
import glob
import hashlib
import io
import json
import os
import random
import re
import shutil
import string
import struct
import subprocess
import sys
import time
import zipfile

import cbor2
import numpy as np

import vocabularies
from resume import records
from rig import ENV, SMALL, TOP, run, slurp

# ---- R: cost ----

FLOOR = 24 << 20  # memory that a run may take besides: buffers, libraries
COUNTED = os.path.join(TOP, "build-count/bin")
# Where most of the time is a library's, which counts no blocks.
BY_TIME = ("tf-tokenize", )


def limits():
    """{tool: (seconds per MB, bytes per byte)} of formats/limits.md."""
    table = slurp(os.path.join(TOP, "formats/limits.md")).decode().split("## Cost")[1]
    return {
        m[1]: (float(m[2]), float(m[3]))
        for m in re.finditer(r"^\| (tf-[^|]+?) \| (\d+) \| (\d+) \|$", table, re.M)
    }


# A process counts what its parent had when it was started as memory of its own, and this one has
# the inputs: what is measured is started by a small one.
METER = """
import json, os, resource, subprocess, sys

for line in sys.stdin:
    argv, cwd, seconds = json.loads(line)
    limit = (int(seconds) + 1, int(seconds) + 2)
    with open(os.path.join(cwd, "out"), "wb") as out:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL,
                             cwd=cwd,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit))
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    print(json.dumps((used.ru_utime + used.ru_stime, used.ru_maxrss << 10, p.returncode)),
          flush=True)
"""


@functools.lru_cache(maxsize=None)
def meter():
    return subprocess.Popen([sys.executable, "-c", METER], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, env=dict(ENV, TF_COUNT="count"), text=True)


def measure(argv, cwd, seconds):
    """(CPU seconds, peak memory in bytes, status). A run is stopped after so many seconds of CPU."""
    p = meter()
    p.stdin.write(json.dumps((argv, cwd, seconds)) + "\n")
    p.stdin.flush()
    return json.loads(p.stdout.readline())


def words(r, n, vocabulary, per_line):
    """Lines of so many words, n bytes."""
    out, size = [], 0
    while size < n:
        line = " ".join(r.choices(vocabulary, k=per_line))[:n - size]
        out.append(line)
        size += len(line) + 1
    return "\n".join(out) + "\n"


def colliding(r, n):
    """Different words of 8 letters that share slots of tables whose hash function has no key: it
    multiplies by the golden ratio, and the first 512th of the slots is theirs."""
    letters = np.frombuffer(string.ascii_letters.encode(), np.uint8)
    draws, out = np.random.default_rng(r.getrandbits(64)), []
    while 9 * len(out) < n:
        w = letters[draws.integers(0, len(letters), (1 << 16, 8), np.uint8)]
        x = (w.view("<u8")[:, 0] ^ np.uint64(8 ^ 8 << 56)) * np.uint64(0x9E3779B97F4A7C15)
        slot = x ^ x >> np.uint64(29)
        out += [bytes(word).decode() for word in w[slot & np.uint64(0x1f800) == 0]]
    return " ".join(out[:-(-n // 9)]) + "\n"


def tree_line(leaf, n):
    return "(S " + leaf * (n // len(leaf)) + ")\n"


def texts(r, n):
    """Pairs of texts of n bytes by name."""
    few, letters = ["a", "b"], list("abcdefghijklmnopqrstuvwxyz")
    flood = colliding(r, n)
    one = words(r, n, letters, n)
    return {
        "words": (words(r, n, letters, 12), words(r, n, letters, 12)),
        "two words": (words(r, n, few, 100), words(r, n, few, 100)),
        "long lines": (words(r, n, few, 1000), words(r, n, letters, 1000)),
        "one line": (one, words(r, n, letters, n)),
        "ligatures": ("\ufdfa" * (n // 3) + "\n", "\ufdfa" * (n // 3) + "\n"),
        "one word": ("a" * n + "\n", "a" * (n - 1) + "b\n"),
        "colliding words": (flood, flood),
        "short lines": ("a\n" * (n // 2), "b\n" * (n // 2)),
    }


def trees(n):
    return {
        "brackets": ("(" * n + "\n", "(" * n + "\n"),
        "deep": ("(S " * (n // 4) + "(a b)" + ")" * (n // 4) + "\n", ) * 2,
        "quotes": (tree_line("(`` ')", n), tree_line("(NN ')", n)),
        "quotes of two tags": (tree_line("(POS ')", n // 2)[:-2] + tree_line("(`` ')", n // 2)[2:],
                               tree_line("(`` ')", n // 2)[:-2] + tree_line("(POS ')", n // 2)[2:]),
        "flat": (tree_line("(a b)", n), tree_line("(a b)", n)),
        "many": ("(S (a b) (a c))\n" * (n // 16), "(S (a b) (X (a c)))\n" * (n // 16)),
    }


def nested(rig):
    """A vocabulary of 100 pieces one within the other."""
    script = os.path.join(TOP, "tests/cli/nested_vocabulary.py")
    with open(rig.path("nested.model"), "wb") as f:
        subprocess.run([sys.executable, script, "100"], stdout=f, check=True)
    return rig.path("nested.model")


def commands(rig):
    """(limit's name, command, kind of its inputs, how many of them)."""
    m = rig.material()
    large = ("--by", "", "-w", "20000", "--height", "20000")
    # What a model computes is bounded by the lengths that it is given.
    short = ["-m", m["model"], "-t", "1", "--max-length", "64"]
    return [
        ("tf-tokenize", ["tf-tokenize", "--threads", "1", "-m", m["vocab"]], "text", 1),
        ("tf-tokenize",
         ["tf-tokenize", "--threads", "1", "--sample", "--alpha", "0.2", "-m", m["vocab"]], "text",
         1),
        ("tf-tokenize",
         ["tf-tokenize", "--threads", "1", "--sample", "--alpha", "0.2", "-m",
          nested(rig)], "text", 1),
        ("tf-tokenize", ["tf-tokenize", "--threads", "1", "-m", "REF"], "vocabularies", 2),
        ("tf-tokenize", ["tf-tokenize", "--export-vocab", "-m", "REF"], "vocabularies", 1),
        ("tf-tokenize --nbest-size", [
            "tf-tokenize", "--threads", "1", "--sample", "--nbest-size", "512", "-m", "REF"
        ], "segmentations", 2),
        ("tf-tokenize -d", ["tf-tokenize", "-d", "--threads", "1", "-m", "REF"], "ids", 2),
        ("tf-split", ["tf-split", "--lang", "en"], "text", 1),
        ("tf-split", ["tf-split", "--wrapped", "--max-chars", "1", "-l", "layout"], "text", 1),
        ("tf-split", ["tf-split", "--field", "2", "-l", "layout"], "fields", 1),
        ("tf-split -d", ["tf-split", "-d", "-l", "REF", "HYP"], "layouts", 2),
        ("tf-bleu", ["tf-bleu", "-tok", "none", "REF", "-i", "HYP"], "text", 2),
        ("tf-bleu", ["tf-bleu", "REF", "-i", "HYP"], "text", 2),
        ("tf-bleu", ["tf-bleu", "-sl", "-e", "latin1", "REF", "-i", "HYP"], "text", 2),
        ("tf-bleu -m chrf", ["tf-bleu", "-cw", "2", "REF", "-m", "chrf", "-i", "HYP"], "text", 2),
        ("tf-bleu -m ter", ["tf-bleu", "REF", "-m", "ter", "-i", "HYP"], "text", 2),
        ("tf-rerank", ["tf-rerank", "REF"], "lists", 1),
        ("tf-tree", ["tf-tree"], "trees", 1),
        ("tf-tree", ["tf-tree", "-l"], "trees", 1),
        ("tf-evalb", ["tf-evalb", "-e", "1000000", "-p", "new", "REF", "HYP"], "trees", 2),
        ("tf-evalb", ["tf-evalb", "-p", "REF", "HYP", "HYP"], "parameters", 2),
        ("tf-plot", ["tf-plot", "heat"], "matrix", 1),
        ("tf-plot", ["tf-plot", "curve", "-y", "loss", *large, "--by", "kind"],
         "logs", 2),
        ("tf-plot", ["tf-plot", "curve", "-y", "loss", "--points", "name", *large], "points", 1),
        ("tf-tokenize -d", ["tf-tokenize", "-d", "-m", m["vocab"]], "tokens", 1),
        ("tf-cbor", ["tf-cbor", "json"], "tokens", 1),
        ("tf-cbor", ["tf-cbor", "check"], "tokens", 1),
        ("tf-cbor", ["tf-cbor", "unjson"], "lines", 1),
        ("tf-info", ["tf-info"], "tokens", 1),
        ("tf-info", ["tf-info"], "models", 1),
        ("tf-batch", ["tf-batch", "-q", "--tokens", "1000"], "tokens", 2),
        ("tf-convert", ["tf-convert"], "bundle", 1),
        ("tf-convert", ["tf-convert"], "models", 1),
        ("tf-convert, a pickle", ["tf-convert"], "pickle", 1),
        ("tf-avgckpt", ["tf-avgckpt"], "models", 2),
        ("tf-decode", ["tf-decode", *short, "-k", "1", "--max-extra", "5"], "tokens", 1),
        ("tf-decode", ["tf-decode", "-t", "1", "-m", "REF", m["s"]], "models", 1),
        ("tf-translate", ["tf-translate", "-q", "-t", "1", "-m", "REF", m["src"]], "models", 1),
        ("tf-score", ["tf-score", *short], "tokens", 2),
        ("tf-attn", ["tf-attn", *short], "tokens", 2),
        ("tf-train", ["tf-train", *SMALL, "-q", "--steps", "1000000", "-o", "run"], "batches", 1),
    ]


def stream(head, body):
    """A stream of these records, numbered from 0, without checksums."""
    numbered = (1, 2, 3, 4, 5, 9, 10, 11)
    return b"".join(head) + b"".join(
        cbor2.dumps([x[0], i, *x[2:]] if x[0] in numbered else x)
        for i, x in enumerate(body)) + cbor2.dumps([15, len(body), None])


@functools.lru_cache(maxsize=64)
def parts(data):
    """The beginning of a stream as it stands, and its records. Not to be changed."""
    items = records(data)
    body = [cbor2.loads(x) for x in items[2:-1]]
    checked = {3: 3, 6: 5, 7: 3}  # where the CRC of a record is
    for x in body:
        if x[0] in checked:
            x[checked[x[0]]] = None
    return items[:2], [x for x in body if x[0] != 13]


def models(rig, n):
    """Checkpoints with as many tensors, states, stages and settings as n bytes hold, and more of
    what a byte or two make."""
    run_directory = rig.material()["run"]
    last = max(f for f in os.listdir(run_directory) if f.startswith("ckpt-"))
    head, body = parts(slurp(os.path.join(run_directory, last)))
    one = cbor2.CBORTag(40, [[1], cbor2.CBORTag(64, b"x")])

    def headed(**more):
        label, header = cbor2.loads(head[1])
        return [head[0], cbor2.dumps([label, {**header, **more}])]

    scalar = cbor2.CBORTag(40, [[], cbor2.CBORTag(64, b"x")])
    arrays = [[None] * 33] * (n // 600)  # 33: one more than a power of two

    made = {
        "short tensors": (head, body + [[6, "%x" % i, "u8", b"", scalar, None]
                                        for i in range(min(65000, n // 3))]),
        "arrays": (head, [[7, "%x" % i, arrays, None] for i in range(50)] + body),
        "tensors": (head, body + [[6, "%x" % i, "u8", b"", one, None] for i in range(n // 30)]),
        "states": (head, [[7, "%x" % i, {"%x" % j: 0 for j in range(n // 1500)}, None]
                          for i in range(200)] + body),
        "stages": (headed(made=[{"prog": "x"} for _ in range(n // 8)]), body),
        "settings": (headed(note={"%x" % i: 0 for i in range(n // 7)}), body),
        "as trained": (head, body),
    }
    return {name: (stream(*x), ) * 2 for name, x in made.items()}


def batches(rig, n):
    """Batches of one kind each: small and large ones, of short and long sentences."""
    shapes = {
        "small": dict(n=n // 120, pairs=1, longest=1),
        "empty": dict(n=n // 120, pairs=1, longest=0),
        "one batch": dict(n=1, large=0, pairs=1, times=n // 60, longest=20),
        "long sentences": dict(n=max(1, n // 2000), pairs=1, longest=1000),
    }
    out = {}
    for name, opts in shapes.items():
        d = run(["/usr/bin/python3", os.path.join(TOP, "tests/cli/batches.py")] +
                ["%s=%s" % x for x in opts.items()])
        out[name] = (d.out, )
    return out


def bundles(n):
    """Models of other programs with as many names as n bytes hold."""

    def safetensors(header, data=b""):
        text = json.dumps(header, separators=(",", ":")).encode()
        return (len(text).to_bytes(8, "little") + text + data, )

    def ct2(variables, aliases):
        names = [b"%x\0" % i for i in range(max(variables, 1))]
        b = struct.pack("<IH", 6, 16) + b"TransformerSpec\0" + struct.pack("<II", 7, variables)
        for name in names[:variables]:
            b += struct.pack("<H", len(name)) + name + struct.pack("<BBIb", 0, 1, 1, 0)
        b += struct.pack("<I", aliases)
        for i in range(aliases):
            name = b"%xa\0" % i
            b += struct.pack("<H", len(name)) + name + struct.pack("<H", 2) + b"0\0"
        return b

    many, npz = n // 60, io.BytesIO()
    with zipfile.ZipFile(npz, "w") as z:
        head = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }\n"
        for i in range(n // 180):
            z.writestr("%x.npy" % i, b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + b"x")
    return {
        "tensors": safetensors({
            "%x" % i: {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]}
            for i in range(many)
        }, bytes(many)),
        "metadata": safetensors({"__metadata__": {"%x" % i: "" for i in range(n // 8)}}),
        "configuration": safetensors({"__metadata__": {"config": "[" * (n - 60)}}),
        "settings": safetensors({
            "__metadata__": {"config": json.dumps({"%x" % i: 0 for i in range(n // 14)})}
        }),
        "members": (npz.getvalue(), ),
        "variables": (ct2(n // 12, 0), ),
        "aliases": (ct2(1, n // 10), ),
    }


def pickles(n):
    """Files of PyTorch in its older form whose object has as many parts as n bytes hold."""
    magic = b"\x80\2\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
    start, keys = magic + b"\x80\2M\xe9\3." + b"\x80\2}.", b"\x80\2]."
    memo = b"".join(b"]r" + struct.pack("<I", i) for i in range(n // 6))
    namespace = b"cargparse\nNamespace\n)\x81"

    def word(k):
        return b"X" + struct.pack("<I", k) + b"a" * k

    storage = b"(Nctorch\nFloatStorage\nh\0NK\0tq\1"
    return {
        "dicts": (start + b"\x80\2" + b"}" * n + b"." + keys, ),
        "a list": (start + b"\x80\2](" + b"N" * n + b"e." + keys, ),
        "nested": (start + b"\x80\2N" + b"\x85" * n + b"." + keys, ),
        "remembered": (start + b"\x80\2" + memo + b"." + keys, ),
        "names": (start + b"\x80\2" + b"c\n\n" * (n // 3) + b"." + keys, ),
        "itself": (start + b"\x80\2" + namespace + b"q\0NNsh\0b." + keys, ),
        "attributes": (start + b"\x80\2}(" + b"N" * (n // 2) + b"uq\0" +
                       (namespace + b"h\0b") * (n // 50) + b"." + keys, ),
        "each other": (start + b"\x80\2" + namespace + b"q\0NNs" + namespace + b"q\1NNs" +
                       b"h\0h\1b0h\1h\0b0" * (n // 12) + b"." + keys, ),
        "long names": (start + b"\x80\2" + word(n // 2) + b"q\0" + b"h\0h\0\x93" * (n // 10) +
                       b"." + keys, ),
        "one storage": (start + b"\x80\2" + word(255) + b"q\0" + storage + b"h\1Q" * (n // 6) + b"." +
                        b"\x80\2(" + word(255) + b"q\0" + b"h\0" * (n // 20) + b"t." +
                        bytes(8) * (n // 20), ),
    }


def json_lines(n):
    """Streams as JSON Lines: a record of many keys, in the order that a sorted table likes least, of
    many ids, and many records and tensors."""

    def stream(*lines, kind="tokens"):
        head = {"type": "header", "header": {"v": 1, "kind": kind, "size": 9}}
        return ("\n".join(json.dumps(x) for x in (head, *lines, {"type": "end"})).encode() + b"\n", )

    record = {"type": "tokens", "idx": 0, "ids": [5]}
    return {
        "keys": stream({**record, **{str(99999 - i): 0 for i in range(n // 12)}}),
        "ids": stream({**record, "ids": [5] * (n // 3)}),
        "digits": (b'{"type":"header","header":{"v":1,"kind":"tokens"}}\n{"type":"tokens","idx":0,'
                   b'"ids":[],"x":[0%s]}\n{"type":"end"}\n' % (b",0" * (3 * n)), ),
        "records": stream(*[record] * (n // 45)),
        "tensors": stream(*[{
            "type": "tensor",
            "name": str(99999 - i),
            "dtype": "u8",
            "dims": [1],
            "data": [0]
        } for i in range(n // 75)], kind="model"),
    }


def parameters(n):
    """Parameter files of tf-evalb and trees."""
    many = "".join("DELETE_LABEL %x\nEQ_LABEL S%x %xe\nEQ_WORD %x c\n" %
                   (i, i // 1000, i % 2000, i) for i in range(n // 50))

    def nested(labels, k):
        return ("".join("(%s " % x for x in labels) + "(b c)" + ")" * len(labels) + "\n") * k

    equal = ["S%x" % (i % 10) for i in range(n // 12)] + ["%xe" % (i % 2000) for i in range(n // 12)]
    return {
        "flat": (many, tree_line("(S0 (b c))", n)),
        "deep": (many, nested(["S0"] * (n // 6), 1)),
        "equal": (many, nested(equal, 1)),
        "nested": ("LABELED 1\n", nested(["%x" % i for i in range(120)], n // 600)),
        "one nested": ("LABELED 1\n", nested(["%x" % i for i in range(n // 7)], 1)),
    }


def fields(n):
    """Tables: of many columns, of long ones, and of ends and beginnings of sentences."""
    return {
        "tabs": ("\t" * n + "\n", ),
        "columns": ("a\t" * (n // 2) + "\n", ),
        "rows": ("a\tb. C\n" * (n // 7), ),
        "one column": ("a\t" + "B c. " * (n // 5) + "\n", ),
    }


def lists(n):
    """N-best lists in columns and in JSON: many, long ones, long lines, many scores."""
    row = "%d\t%d\t-1.5\ta b\n"
    object = '{"text":"a","score":-1,"alternatives":[{"text":"b","score":-2}]}\n'
    return {
        "lists of one": ("".join(row % (i, 1) for i in range(n // 18)), ),
        "one list": ("".join(row % (0, i) for i in range(1, min(n // 18, 65536))), ),
        "one text": ("0\t1\t-1.5\t" + "a " * (n // 2) + "\n", ),
        "scores": ("0\t1\t-1.5\ta" + "\t-1" * (n // 3) + "\n", ),
        "objects": (object * (n // len(object)), ),
    }


def layouts(n):
    """Layouts of tf-split, and the sentences."""
    def layout(*places, end='{"end":""}'):
        return "\n".join(('{"format":"tf-layout","version":1}', *places, end)) + "\n"

    def broken():
        k = n // 10
        breaks = ",".join('[%d,""]' % i for i in range(k))
        return layout('{"before":"","bytes":%d,"breaks":[%s]}' % (k, breaks))

    return {
        "sentences": (layout(*['{"before":null}'] * (n // 17)), "\n" * (n // 17)),
        "spaces": (broken(), " " * n + "\n"),
        "spaces at the end": (broken(), "a" * 9 * n + " " * n + "\n"),
        "spaces at the beginning": (broken(), " " * n + "a" * 9 * n + "\n"),
        "space at the end": (broken(), "a" * n + " \n"),
        "no space": (broken(), "a" * n + "\n"),
        "unknown keys": (layout('{%s"before":""}' % "".join('"%x":[[]],' % i
                                                           for i in range(n // 12))), "a\n"),
        "texts": (layout(*['{"before":"%s"}' % ("\\u0001" * 8)] * (n // 60)), "a\n" * (n // 60)),
        "the same key": (layout('{%s"end":""}' % ('"before":"a",' * (n // 13))), "a\n"),
        "one end": (layout(end='{"end":"%s"}' % ("a" * n)), ""),
    }


def logs(n):
    """Runs that differ in many settings, each with as many lines as a chart has."""
    out = []
    for value in (1, 2):
        start = {"event": "start", "settings": {"s%x" % i: value for i in range(n // 12)}}
        steps = [{"kind": i, "step": s, "loss": 1} for i in range(30) for s in (1, 2)]
        out.append("".join(json.dumps(x) + "\n" for x in (start, *steps)))
    return {"settings": tuple(out)}


def points(n):
    return {
        "grid": ("".join(
            json.dumps({
                "step": i % 100,
                "loss": i // 100,
                "name": "%x" % i
            }) + "\n" for i in range(n // 40)), )
    }


def ids_of_vocabularies(rig, n):
    """Vocabularies and streams of ids that use them."""
    out = {}
    for name, (model, texts) in vocabularies.for_ids(n).items():
        header = [0, {"v": 1, "kind": "tokens", "vocab": hashlib.sha256(model).digest()}]
        head = [records(slurp(rig.material()["s"]))[0], cbor2.dumps(header)]
        out[name] = (model, stream(head, [[1, 0, cbor2.CBORTag(64, bytes(x))] for x in texts]))
    return out


@functools.lru_cache(maxsize=32)  # several commands take one kind
def inputs(rig, kind, n):
    """{name: (contents, contents)}."""
    r = random.Random("%d %s %d" % (rig.seed, kind, n))
    if kind == "vocabularies":
        return vocabularies.for_text(n)
    if kind == "segmentations":
        return vocabularies.for_segmentations(n // 25)
    if kind == "ids":
        return ids_of_vocabularies(rig, n)
    if kind == "lines":
        return json_lines(n)
    if kind == "text":
        return {k: tuple(x.encode() for x in v) for k, v in texts(r, n).items()}
    made = {"trees": trees, "parameters": parameters, "logs": logs, "points": points,
            "fields": fields, "layouts": layouts, "lists": lists}
    if kind in made:
        return {k: tuple(x.encode() for x in v) for k, v in made[kind](n).items()}
    if kind == "bundle":
        return bundles(n)
    if kind == "pickle":
        return pickles(n)
    if kind == "models":
        return models(rig, n)
    if kind == "batches":
        return batches(rig, n)
    if kind == "matrix":
        return {
            "digits": (b"\n".join(b",".join(b"%d" % r.randrange(10) for _ in range(500))
                                  for _ in range(n // 1000)), ),
            "one row": (b",".join(b"%d" % r.randrange(10) for _ in range(n // 2)), ),
        }
    out = {}
    for name, pair in texts(r, n // 3).items():
        got = []
        for i, text in enumerate(pair):
            with open(rig.path("cost.txt"), "w") as f:
                f.write(text)
            d = run(["tf-tokenize", "-m", rig.material()["vocab"], rig.path("cost.txt")])
            got.append(d.out)
        out[name] = tuple(got)
    ids = bytes(r.randrange(4, 30) for _ in range(n))
    one = b"".join(records(out["words"][0])[:2]) + b"".join(
        cbor2.dumps(x) for x in ([1, 0, cbor2.CBORTag(64, ids)], [15, 1, None]))
    out["ids of one byte"] = (one, one)
    short = [[1, 0, cbor2.CBORTag(64, ids[i:i + 60])] for i in range(0, n, 60)]
    out["records of 60 ids"] = (stream(records(out["words"][0])[:2], short), ) * 2
    return out


def with_files(argv, n, where, pair):
    """The command with its inputs, which are written, and their size."""
    names = ["REF", "HYP"][:n]
    for name, data in zip(names, pair):
        with open(os.path.join(where, name), "wb") as f:
            f.write(data)
    size = sum(len(x) for x in pair[:n])
    return argv + [x for x in names if x not in argv], size


def allowed(most, size):
    """Seconds and bytes for inputs of that size."""
    return 0.2 + most[0] * size / 1e6, FLOOR + most[1] * size


def prepare(rig, argv, n, pair, most):
    """An empty place with the inputs. Returns it, the command, the size of its inputs, and the
    seconds and bytes that it may take."""
    where = rig.path("cost")
    shutil.rmtree(os.path.join(where, "run"), ignore_errors=True)
    argv, size = with_files(argv, n, where, pair)
    return (where, argv, size) + allowed(most, size)


def blocks(rig, argv, n, pair, most):
    """(basic blocks that the tool runs, CPU seconds, does it take more than the limits?)."""
    where, argv, _, seconds, bytes_ = prepare(rig, argv, n, pair, most)
    counted = [os.path.join(COUNTED, argv[0])] + argv[1:]
    cpu, memory, _ = measure(counted, where, 3 * seconds + 1)
    return struct.unpack("=Q", slurp(os.path.join(where, "count")))[0], cpu, (cpu > seconds or
                                                                             memory > bytes_)


def check(rig, row, name, what, argv, n, pair, most):
    """One measurement against the limits. Returns the seconds. Beside other work a CPU's seconds
    do less: the short form, which `make check` runs, allows four times as many (at 1 ns for each
    pair of its 200,000 bytes an input takes 40 seconds), and the full one counts the best of
    three."""
    where, argv, size, seconds, bytes_ = prepare(rig, argv, n, pair, most)
    decode = name == "tf-tokenize -d"  # the text that it writes counts, too
    slack = 4 if rig.short else 1
    stop = 60 if decode else slack * seconds + 1
    cpu, memory, rc = measure(argv, where, stop)
    if decode:
        size += os.path.getsize(os.path.join(where, "out"))
        seconds, bytes_ = allowed(most, size)
    for _ in range(2):
        if cpu > slack * seconds:
            cpu = min(cpu, measure(argv, where, stop)[0])
    row.add("inputs")
    tool = "%s, %s" % (" ".join(argv), what)
    usage = rc == 2 and name == "tf-convert"  # a file whose directory has to be named
    if rc not in (0, 1, 4) and not usage:
        row.fail("%s: %d bytes: status %d", tool, size, rc)
    if cpu > slack * seconds:
        row.fail("%s: %.1f s of CPU for %d bytes, limit %.1f", tool, cpu, size, slack * seconds)
    if memory > bytes_:
        row.fail("%s: %.1f MB for %d bytes, limit %.1f", tool, memory / 1e6, size, bytes_ / 1e6)
    key = "most of a limit, %"
    row.figures[key] = max(row.figures.get(key, 0), round(100 * cpu / seconds))
    return cpu


def mutate(r, data):
    """Another input of about that size: parts repeated, moved, exchanged, changed."""
    data = bytearray(data)
    for _ in range(r.randint(1, 4)):
        if len(data) < 8:
            break
        i, n = r.randrange(len(data)), r.choice((1, 2, 7, 50, 1000, len(data) // 3))
        part = bytes(data[i:i + n])
        at = r.randrange(len(data))
        how = r.randrange(5)
        if how == 0:
            data[at:at + n] = part
        elif how == 1:
            data[at:at] = part * r.randint(1, 5)
        elif how == 2:
            del data[at:at + n]
        elif how == 3:
            data[at] = r.choice(b" ()\n\tab'`,0")
        else:
            data = data.replace(part[:3], bytes(r.choice((b" ", b"\n", b"(", b")", b"a", b"a b"))))
    return bytes(data)


def changed(r, x):
    """A part of a record with other contents: ids changed, the pairs of a batch repeated."""
    if isinstance(x, cbor2.CBORTag) and isinstance(x.value, bytes):
        return cbor2.CBORTag(x.tag, mutate(r, x.value))
    if not isinstance(x, dict) or "src_off" not in x:
        return x
    k, x = r.randint(2, 5), dict(x, idx=[])
    for side in ("src", "tgt"):
        ends, size = x[side + "_off"], len(x[side])
        x[side] = x[side] * k
        x[side + "_off"] = [0] + [i * size + e for i in range(k) for e in ends[1:]]
    x["idx"] = list(range(len(x["src_off"]) - 1))
    return x


def renamed(r, x):
    """A copy of a record; of a tensor or state, which may be there only once, by another name."""
    return [x[0], "%s %x" % (x[1], r.getrandbits(32)), *x[2:]] if x[0] in (6, 7) else x


def mutate_stream(r, data):
    """Another stream of about that size: records repeated, left out, and with other contents."""
    head, body = parts(data)
    body = list(body)
    for _ in range(r.randint(1, 4)):
        if not body:
            break
        i, n = r.randrange(len(body)), r.choice((1, 2, 7, 50))
        how = r.randrange(3)
        if how == 0:
            body[i:i] = [renamed(r, x) for x in body[i:i + n] * r.randint(1, 5)]
        elif how == 1:
            del body[i:i + n]
        else:
            own = random.Random(r.random())  # what is drawn next does not depend on the contents
            body[i] = [changed(own, x) for x in body[i]]
    return stream(head, body)


STREAMS = ("tokens", "models", "batches")
# A change would mostly be refused: as made only.
MADE = ("vocabularies", "segmentations", "ids", "layouts")


def changed_pair(r, kind, pair):
    if kind not in STREAMS:
        return tuple(mutate(r, x) for x in pair)
    seed = r.random()  # the same to both: as many records on either side
    return tuple(mutate_stream(random.Random(seed), x) for x in pair)


def search(rig, row, name, argv, kind, n, pairs, most, minutes):
    """Keep the inputs that take most basic blocks (or seconds), and change those, for so many
    minutes of CPU, of the command and of the changes. Inputs that are kept, and those that might
    take more than the limits, are measured as the tool is without counting."""
    size = max(len(x) for p in pairs for x in p)
    by_time = argv[0] in BY_TIME
    used, start, best, tried = 0, time.process_time(), [], 0

    def score(pair, what):
        """None: it takes less than what is kept."""
        nonlocal used
        if by_time:  # once more where it seems worse: the least counts, since noise only adds
            got = check(rig, row, name, what, argv, n, pair, most)
            used += got
            if len(best) < 8 or got > best[-1][0]:
                again = check(rig, row, name, what, argv, n, pair, most)
                used += again
                got = min(got, again)
            return got
        got, seconds, much = blocks(rig, argv, n, pair, most)
        used += seconds
        worse = len(best) < 8 or got > best[-1][0]
        if worse or much:
            used += check(rig, row, name, what, argv, n, pair, most)
        return got if worse else None

    pending = [(p, "as made") for p in pairs]
    while pending or used + time.process_time() - start < 60 * minutes:
        pair, what = pending.pop() if pending else (changed_pair(
            row.r, kind, row.r.choice(best)[1]), "found")
        if max(len(x) for x in pair) > 2 * size:
            continue
        got = score(pair, what)
        tried += 1
        if row.failures:
            for x in ("REF", "HYP")[:n]:
                shutil.copy(rig.path("cost", x), rig.path("%s-%s" % (name.replace(" ", ""), x)))
            return
        if got is not None:
            best = sorted(best + [(got, pair)], key=lambda x: -x[0])[:8]
    row.add("inputs tried by the search", tried)
    said = " ".join(argv).replace(rig.tmp + "/", "")
    row.note("%s: the worst input found, of %d bytes, takes %s" %
             (said, sum(len(x) for x in best[0][1][:n]), "%.3f s of CPU" %
              best[0][0] if by_time else "{:,} basic blocks".format(best[0][0])))


def cost(tool):
    """The row of one tool."""
    def row_of_tool(rig, row):
        most = limits()
        rig.fresh("cost")
        # Large enough that quadratic cost exceeds the limits in the short form, too.
        size = 200000 if rig.short else 500000
        mine = [x for x in commands(rig) if x[0].split()[0] == tool]
        if not mine:
            row.fail("no command of it is tried")
        if not rig.short and not os.access(os.path.join(COUNTED, tool), os.X_OK):
            row.fail("make counted makes %s", COUNTED)
            return
        minutes = 10 * rig.scale if rig.minutes is None else rig.minutes
        searched = sum(kind not in MADE for _, _, kind, _ in mine)
        for name, argv, kind, n in mine:
            for what, pair in inputs(rig, kind, size).items():
                limit = most.get("%s, %s" % (name, what), most[name])
                check(rig, row, name, what, argv, n, pair, limit)
            if not rig.short and kind not in MADE:
                small = inputs(rig, kind, 20000)
                small = [p for k, p in small.items() if "%s, %s" % (name, k) not in most]
                search(rig, row, name, argv, kind, n, small, most[name], minutes / searched)
    row_of_tool.__doc__ = """CPU and memory for a megabyte of hostile input stay within
        formats/limits.md: inputs made to be expensive, and a search for worse ones, 10 minutes of
        CPU: %s""" % tool
    return "R-" + tool, row_of_tool


def measured(path):
    """Is it the source of a tool with a row? Not tf-serve, which does not end with its input.
    tests/cli/serve.bats ("no client harms another") and tests/fuzz/serve_job.c have hostile
    requests for it; a text it gives to tf-translate, and splits as tf-split does."""
    return not path.endswith("/tf-serve.c")


# ---- T: old files ----


def old_files(rig, row):
    """Small files of every released format, written by that release: read by every tool, with the
    results of that time"""
    top = os.path.join(TOP, "tests/golden/files")
    for name in sorted(os.listdir(top)):
        d = os.path.join(top, name)
        if not os.path.isdir(d):
            continue
        got = run([os.path.join(top, "run"), d])
        want = slurp(os.path.join(d, "expected"))
        row.add("releases")
        row.add("files", len([f for f in os.listdir(d) if f not in ("cases", "expected")]))
        row.add("results", want.count(b"% status "))
        if got.rc != 0:
            row.fail("%s: status %s: %s", name, got.rc, got.err.strip())
        for x, y in zip(got.out.split(b"\n% "), want.split(b"\n% ")):
            if x != y:
                row.fail("%s: %s: expected %s", name, x[:300], y[:300])


ROWS = [
    cost(os.path.basename(f)[:-2])
    for f in sorted(filter(measured, glob.glob(os.path.join(TOP, "cmd/tf-*.c"))))
] + [("T", old_files)]
