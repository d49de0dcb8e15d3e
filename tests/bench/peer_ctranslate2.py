#!/usr/bin/env python3
"""peer_ctranslate2.py MODEL.tfm IDS.tfs [options] - the same model and the same ids decoded by
CTranslate2 on one thread of the CPU, or on a GPU.

Reads both with no code of the tools: a post-norm model without biases in attention, with sinusoids
and one matrix for all embeddings, as --preset base makes it. Prints JSON: seconds of the decoding
alone (of the CPU; on a GPU by the clock), output tokens without their ends, and what it was. With
several batch sizes, those of the fastest. Needs ctranslate2, numpy and cbor2 (from PyPI)."""
import argparse
import json
import math
import os
import tempfile
import time

import ctranslate2
import numpy as np
from ctranslate2.specs import transformer_spec

from peer_model import read_ids, read_model, words
from transformer import in_ct2, sinusoids


def convert(header, t, names, directory):
    c = header["config"]
    enc, dec, d = c["encoder_layers"], c["decoder_layers"], c["d_model"]
    if c["pre_norm"] or c["attention_bias"] or c["tie"] != "all" or c["positions"] != "sin" or c[
            "dialect"] != "paper" or c["heads"] * c["d_k"] != d or c["d_k"] != c["d_v"]:
        raise SystemExit("not a model of this kind")
    spec = transformer_spec.TransformerSpec.from_config((enc, dec), c["heads"], pre_norm=False)
    wave = sinusoids(1024, d).astype("f4")
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = wave
    spec.encoder.embeddings[0].weight = spec.decoder.projection.weight = t["embed"]
    for name, x in in_ct2(t).items():
        *path, leaf = name.split("/")
        at = spec
        for part in path:
            many, _, n = part.rpartition("_")
            at = getattr(at, part) if hasattr(at, part) else getattr(at, many)[int(n)]
        setattr(at, leaf, np.ascontiguousarray(x))
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.layer_norm_epsilon = c["norm_eps"]
    spec.config.decoder_start_token = "<s>"
    spec.validate()
    os.makedirs(directory, exist_ok=True)
    spec.save(directory)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model")
    p.add_argument("ids")
    p.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    p.add_argument("--type", default="float32", help="float32, int8; float16 on a GPU")
    p.add_argument("--beam", type=int, default=4)
    p.add_argument("--batch", type=int, nargs="+", default=[64], help="sentences together")
    p.add_argument("--length", type=int, help="make all outputs of so many pieces")
    p.add_argument("-o", metavar="FILE", help="write the ids to FILE, one line per sentence")
    o = p.parse_args()
    header, tensors = read_model(o.model)
    with tempfile.TemporaryDirectory() as d:
        names = words(header, len(tensors["embed"]))
        convert(header, tensors, names, d + "/m")
        source = [[names[i] for i in x] + ["</s>"] for x in read_ids(o.ids)]
        translator = ctranslate2.Translator(d + "/m", device=o.device, compute_type=o.type,
                                            inter_threads=1, intra_threads=1)
        options = {
            "beam_size": o.beam, "length_penalty": 0.6, "max_decoding_length": o.length or 256
        }
        if o.length:
            options["min_decoding_length"] = o.length
        clock = time.monotonic if o.device == "cuda" else time.process_time
        best = None
        for batch in o.batch:
            options["max_batch_size"] = batch
            translator.translate_batch(source[:batch], **options)
            start = clock()
            out = translator.translate_batch(source, **options)
            best = min(best or (math.inf, 0), (clock() - start, batch))
    seconds, batch = best
    lines = [r.hypotheses[0] for r in out]
    if o.o:
        with open(o.o, "w") as f:
            f.writelines(" ".join(x) + "\n" for x in lines)
    print(
        json.dumps({
            "seconds": seconds, "tokens": sum(map(len, lines)), "about":
            f"CTranslate2 {ctranslate2.__version__}, {o.type}, {batch} together"
        }))


main()
