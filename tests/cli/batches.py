#!/usr/bin/python3
"""Make a small batch stream of a copying task: batches.py [name=value ...] >FILE

n: batches; v: size of the vocabulary; pairs: the most in a batch; large: ordinal of a batch with
`times` as many (40); longest: tokens of a sentence; seed; first: ordinal of the first batch; epoch:
batches an epoch; shift: added to the ordinals; set_epoch, set_record: those of all batches;
corpus: a number that names the corpus, -1 for none; vocab: a file whose hash is the vocabulary's;
setting: of the batching; end: 0 leaves the end record out;
poison: ordinal of a batch with an id outside the vocabulary; gap: ordinal that is left out; bad: 1
puts a bad record after the first batch; size: what the header says, when not v; bos: its id, -1
for none; links: 1 adds those of the copies to their originals; weights: 1 gives every other batch
weights from 0 to 2. Uses no code of the tools; checksums
are left null, as a custom producer may."""
import hashlib
import random
import sys

import cbor2

opt = dict(n=20, v=64, pairs=6, large=-1, times=40, longest=7, seed=1, first=0, epoch=8, shift=0,
           set_epoch=-1, set_record=-1, corpus=7, vocab="", setting=25, end=1, poison=-1, gap=-1,
           bad=0, size=-1, bos=2, links=0, weights=0)
for word in sys.argv[1:]:
    name, value = word.split("=", 1)
    opt[name] = value if name == "vocab" else int(value)

out = sys.stdout.buffer


def put(x):
    out.write(cbor2.dumps(x))


def sha(data):
    return cbor2.CBORTag(18540, hashlib.sha256(data).digest())


header = {
    "v": 1, "kind": "batch", "size": opt["v"] if opt["size"] < 0 else opt["size"], "special":
    {"pad": 0, "unk": 1, "bos": 2, "eos": 3}, "config": {"tokens": opt["setting"]}
}
header["special"]["bos"] = opt["bos"]
if opt["bos"] < 0:
    del header["special"]["bos"]
if header["size"] == 0:
    del header["size"]
if opt["vocab"]:
    header["vocab"] = sha(open(opt["vocab"], "rb").read())
put(cbor2.CBORTag(55800, cbor2.CBORTag(1413894996, b"BOR")))
put([0, header])

count = 0
for ordinal in range(opt["n"]):
    # Each batch from its own generator: what comes later does not depend on where the stream
    # begins.
    r = random.Random(opt["seed"] * 1000003 + ordinal)
    src, tgt, src_off, tgt_off, links, links_off = [], [], [0], [0], [], [0]
    pairs = r.randint(1, opt["pairs"])
    for _ in range(opt["times"] * opt["pairs"] if ordinal == opt["large"] else pairs):
        s = [r.randint(4, opt["v"] - 1) for _ in range(r.randint(0, opt["longest"]))]
        src += s
        tgt += s[::-1] + ([5] if len(s) % 3 == 0 else [])
        src_off.append(len(src))
        tgt_off.append(len(tgt))
        links += [x for i in range(len(s)) for x in (i, len(s) - 1 - i)]
        links_off.append(len(links))
    if ordinal == opt["poison"]:
        src, src_off = src + [opt["v"] + 3], src_off[:-1] + [src_off[-1] + 1]
    if ordinal < opt["first"] or ordinal == opt["gap"]:
        continue
    n = len(src_off) - 1
    fields = {"src": src, "tgt": tgt, "src_off": src_off, "tgt_off": tgt_off, "idx": list(range(n)),
              "epoch": (ordinal + 1) // opt["epoch"], "record": (ordinal + 1) % opt["epoch"]}
    if opt["links"]:
        fields.update(links=links, links_off=links_off)
    if opt["weights"] and ordinal % 2 == 0:
        fields["weights"] = [(7 * i + ordinal) % 9 / 4 for i in range(n)]
    if opt["corpus"] >= 0:
        fields["corpus"] = sha(b"corpus %d" % opt["corpus"])
    if opt["set_epoch"] >= 0:
        fields["epoch"] = opt["set_epoch"]
    if opt["set_record"] >= 0:
        fields["record"] = opt["set_record"]
    put([3, ordinal + opt["shift"], fields, None])
    count += 1
    if opt["bad"] and count == 1:
        put([9, 5, 1, "not UTF-8"])
        count += 1
if opt["end"]:
    put([15, count, None])
