#!/usr/bin/python3
"""The search of CTranslate2.

    ct2_search.py flat FILE.npz FACTOR OUT.npz
        A model with its logits times FACTOR, so that searches differ, and without padding and the
        beginning, which CTranslate2 does not keep out of its outputs.
    ct2_search.py compare DIR SOURCE.tfs NBEST.tfs K P
        Prints of how many records the K best of a beam of K with the penalty length^P are those
        that CTranslate2 finds, in text and score. Without a penalty the best one alone counts: see
        lib/ops/search_state.h. Needs ctranslate2."""
import json
import subprocess
import sys

import numpy as np


def flat(npz, factor, out):
    z = dict(np.load(npz))
    config = json.loads(z["config"].tobytes())
    bias = np.zeros(config["vocab_size"], "<f4")
    bias[[config["pad"], config["bos"]]] = -1000
    config["output_bias"] = True
    z.update({n: z[n] * np.float32(factor) for n in ("dec.0.ff.norm.g", "dec.0.ff.norm.b")})
    np.savez(out, **{**z, "dec.project.b": bias,
                     "config": np.frombuffer(json.dumps(config).encode(), "u1")})


def records(path, kind):
    lines = subprocess.run(["tf-cbor", "json", path], stdout=subprocess.PIPE, check=True).stdout
    return [r for r in map(json.loads, lines.splitlines()) if r["type"] == kind]


def compare(model, source, nbest, beam, power):
    import ctranslate2
    with open(model + "/shared_vocabulary.json", encoding="utf8") as f:
        pieces = json.load(f)
    sources = [[pieces[i] for i in r["ids"]] for r in records(source, "tokens")]
    sources = [s[:-1] if s[-1:] == ["</s>"] else s for s in sources]
    theirs = ctranslate2.Translator(model, compute_type="float32", intra_threads=1).translate_batch(
        sources, beam_size=int(beam), num_hypotheses=int(beam), length_penalty=float(power),
        min_decoding_length=0, return_scores=True)
    same, ours = 0, records(nbest, "nbest")
    for s, a, b in zip(sources, ours, theirs):
        n = 1 if not s or float(power) == 0 else int(beam)
        texts = [[pieces[i] for i in h["ids"]] for h in a["hyps"]]
        near = max(abs(h["score"] - x) for h, x in zip(a["hyps"][:n], b.scores))
        same += texts[:n] == b.hypotheses[:n] and near < 1e-4
    print(same, "of", len(ours))


if __name__ == "__main__":
    {"flat": flat, "compare": compare}[sys.argv[1]](*sys.argv[2:])
