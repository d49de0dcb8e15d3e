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


def convert(header, t, names, directory):
    c = header["config"]
    enc, dec, d = c["encoder_layers"], c["decoder_layers"], c["d_model"]
    if c["pre_norm"] or c["attention_bias"] or c["tie"] != "all" or c["positions"] != "sin" or c[
            "dialect"] != "paper" or c["heads"] * c["d_k"] != d or c["d_k"] != c["d_v"]:
        raise SystemExit("not a model of this kind")
    spec = transformer_spec.TransformerSpec.from_config((enc, dec), c["heads"], pre_norm=False)
    get = t.__getitem__

    def linear(s, w, b=None):
        s.weight = np.ascontiguousarray(w.T)
        if b is not None:
            s.bias = b

    def norm(s, name):
        s.gamma, s.beta = get(name + ".norm.g"), get(name + ".norm.b")

    def ff(s, name):
        linear(s.linear_0, get(name + ".1.w"), get(name + ".1.b"))
        linear(s.linear_1, get(name + ".2.w"), get(name + ".2.b"))
        norm(s.layer_norm, name)

    def attention(s, name):
        linear(s.linear[0], get(name + ".qkv.w"))
        linear(s.linear[1], get(name + ".o.w"))
        norm(s.layer_norm, name)

    at, k = np.arange(1024)[:, None], np.arange(0, d, 2)[None] / d
    angle = at / 10000.0**k
    wave = np.stack([np.sin(angle), np.cos(angle)], 2).reshape(1024, d).astype("f4")
    embed = get("embed")
    for side in (spec.encoder, spec.decoder):
        side.position_encodings.encodings = wave
    spec.encoder.embeddings[0].weight = embed
    spec.decoder.embeddings.weight = embed
    spec.decoder.projection.weight = embed
    kv = get("dec.cross.kv.w")
    for i in range(enc):
        attention(spec.encoder.layer[i].self_attention, f"enc.{i}.self")
        ff(spec.encoder.layer[i].ffn, f"enc.{i}.ff")
    for i in range(dec):
        layer, name = spec.decoder.layer[i], f"dec.{i}"
        attention(layer.self_attention, name + ".self")
        linear(layer.attention.linear[0], get(name + ".cross.q.w"))
        linear(layer.attention.linear[1], kv[:, i * 2 * d:(i + 1) * 2 * d])
        linear(layer.attention.linear[2], get(name + ".cross.o.w"))
        norm(layer.attention.layer_norm, name + ".cross")
        ff(layer.ffn, name + ".ff")
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
        translator = ctranslate2.Translator(d + "/m",
                                            device=o.device,
                                            compute_type=o.type,
                                            inter_threads=1,
                                            intra_threads=1)
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
