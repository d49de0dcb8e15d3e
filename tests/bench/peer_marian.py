#!/usr/bin/env python3
"""peer_marian.py decode MODEL.tfm IDS.tfs [options] | train [options] - Marian on the CPU, from its
wheel (pymarian).

decode: the same model and the same ids, one thread. Reads both with no code of the tools: a model
of --as t2t, whose positions, start of a target and biases are Marian's. train: updates of a model
of its transformer-base task, changed by the options, on random sentences of one length, nothing to
pad. Both print JSON: seconds of CPU of the decoding and output tokens without their ends, or target
tokens a second by Marian's own log, the median after the first update; and what it was. Needs
pymarian, numpy and cbor2 (from PyPI)."""
import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import _pymarian
import numpy as np
from pymarian import __version__

from peer_model import read_ids, read_model, words
from transformer import apart, marian_names, plain_name

MARIAN = [sys.executable, "-c", "import sys, _pymarian; sys.exit(_pymarian.main(sys.argv[1:]))"]
YAML = """bert-train-type-embeddings: true
bert-type-vocab-size: 2
dec-cell: gru
dec-cell-base-depth: 2
dec-cell-high-depth: 1
dec-depth: {dec}
dim-emb: {d}
dim-rnn: 1024
dim-vocabs: [{vocab}, {vocab}]
enc-cell: gru
enc-cell-depth: 1
enc-depth: {enc}
enc-type: bidirectional
input-types: []
layer-normalization: false
output-omit-bias: true
right-left: false
skip: false
tied-embeddings: false
tied-embeddings-all: true
tied-embeddings-src: false
transformer-decoder-autoreg: self-attention
transformer-dim-ffn: {f}
transformer-ffn-activation: relu
transformer-ffn-depth: 2
transformer-heads: {heads}
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-postprocess-top: ""
transformer-preprocess: ""
transformer-tied-layers: []
transformer-train-position-embeddings: false
type: transformer
ulr: false
version: tf
"""


def convert(header, t, path):
    """The model under Marian's names. Vectors are rows there."""
    c = header["config"]
    d = c["d_model"]
    if (c["pre_norm"] or not c["attention_bias"] or c["tie"] != "all" or c["positions"] != "sin"
            or c["dialect"] != "t2t" or c["heads"] * c["d_k"] != d or c["d_k"] != c["d_v"]):
        raise SystemExit("not a model of this kind")
    out = {"Wemb": t["embed"]}

    p = apart(t)
    for name in marian_names(max(c["encoder_layers"], c["decoder_layers"])):
        x = p.get(plain_name(name))
        if x is not None:
            out[name] = np.ascontiguousarray(np.atleast_2d(x))
    text = YAML.format(d=d, f=c["d_ff"], heads=c["heads"], enc=c["encoder_layers"],
                       dec=c["decoder_layers"], vocab=len(t["embed"]))
    out["special:model.yml"] = np.frombuffer(text.encode() + b"\0", "i1")
    np.savez(path, **out)


def decode(o, d):
    header, tensors = read_model(o.model)
    names = words(header, len(tensors["embed"]))
    with open(d + "/vocab", "w") as f:
        f.writelines(x + "\n" for x in names)
    convert(header, tensors, d + "/model.npz")
    model = "model.npz"
    if o.type != "float32":
        model = "model.bin"
        subprocess.run(MARIAN +
                       ["convert", "-f", d + "/model.npz", "-t", d + "/model.bin", "-g", o.type],
                       check=True,
                       capture_output=True)
    source = [" ".join(names[i] for i in x) for x in read_ids(o.ids)]
    translator = _pymarian.Translator(
        f"--models {d}/{model} --vocabs {d}/vocab {d}/vocab --cpu-threads 1 --workspace 512 "
        f"--beam-size {o.beam} --mini-batch {o.batch} --maxi-batch 1000 --maxi-batch-sort src "
        f"--normalize 0.6 --max-length-factor {o.factor} --quiet --quiet-translation")
    translator.translate(source[:o.batch])
    start = time.process_time()
    out = translator.translate(source)
    seconds = time.process_time() - start
    if o.o:
        with open(o.o, "w") as f:
            f.writelines(x + "\n" for x in out)
    return {"seconds": seconds, "tokens": sum(len(x.split()) for x in out)}


def train(o, d):
    r = random.Random(1)
    with open(d + "/text", "w") as f:
        for _ in range(o.tokens // o.length * (o.updates + 1)):
            f.write(" ".join(f"w{r.randrange(4, o.vocab)}" for _ in range(o.length - 1)) + "\n")
    with open(d + "/vocab", "w") as f:
        f.writelines(x + "\n" for x in words({"special": {"unk": 1, "bos": 2, "eos": 3}}, o.vocab))
    log = subprocess.run(MARIAN + ["train", "--task", "transformer-base", "--type", "transformer",
                                   "--dim-emb", str(o.d), "--transformer-dim-ffn", str(o.f),
                                   "--transformer-heads", str(o.heads), "--enc-depth",
                                   str(o.layers), "--dec-depth", str(o.layers), "--train-sets",
                                   d + "/text", d + "/text", "--vocabs", d + "/vocab", d + "/vocab",
                                   "--cpu-threads", str(o.threads), "--sync-sgd",
                                   "--optimizer-delay", "1", "--workspace", str(o.workspace),
                                   "--mini-batch", str(o.tokens // o.length),
                                   "--mini-batch-fit=false", "--disp-freq", "1u", "--after",
                                   f"{o.updates}u", "--no-shuffle", "--model", d + "/model.npz",
                                   "--tempdir", d], capture_output=True, text=True)
    rates = [float(x) for x in re.findall(r": ([0-9.]+) words/s", log.stderr + log.stdout)]
    if log.returncode or len(rates) < 2:
        sys.exit("peer_marian.py: " + (log.stderr or log.stdout)[-2000:])
    return {"tok_s": statistics.median(rates[1:])}


def main():
    p = argparse.ArgumentParser()
    sub = p.add_subparsers(dest="mode", required=True)
    q = sub.add_parser("decode")
    q.add_argument("model")
    q.add_argument("ids")
    q.add_argument("--type", default="float32",
                   help="float32, or of Marian's 8-bit kinds: intgemm8")
    q.add_argument("--beam", type=int, default=4)
    q.add_argument("--batch", type=int, default=64, help="sentences together")
    q.add_argument("--factor", type=float, default=3,
                   help="outputs are at most so many times as long as the source with its end")
    q.add_argument("-o", metavar="FILE", help="write the words to FILE, one line per sentence")
    q = sub.add_parser("train")
    q.add_argument("--threads", type=int, default=1)
    q.add_argument("--length", type=int, default=28, help="of a sentence, with its end")
    q.add_argument("--updates", type=int, default=4)
    q.add_argument("--workspace", type=int, default=4000, help="MB a thread")
    for name in ("vocab", "tokens", "d", "f", "layers", "heads"):
        q.add_argument("--" + name, type=int, required=True)
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as d:
        print(
            json.dumps(
                (decode if o.mode == "decode" else train)(o, d) |
                {"about": f"Marian {__version__}" + (f", {o.type}" if o.mode == "decode" else "")}))


main()
