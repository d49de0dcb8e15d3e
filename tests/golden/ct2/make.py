#!/usr/bin/env python3
"""Write `m`, a directory as CTranslate2 4.8.5 saves it by its specification classes, of a small
random model in the shape of mBART: gelu, norms of the embeddings, which are not scaled, and learned
positions; and `expected`, lines of JSON: ids of a source and of a target, and the log-probability
of the target that CTranslate2 computes, the end included. Needs ctranslate2; run it in this
directory."""
import gzip
import json
import os
import random
import shutil
import sys

import ctranslate2

sys.path.insert(0, "../../bench")
import foreign_specs as specs  # noqa: E402

specs.D, specs.F, specs.V, specs.POSITIONS = 8, 8, 24, 16
shutil.rmtree("m", ignore_errors=True)
tokens = specs.make("m", layers=(1, 1), width=8, inner=8, activation=specs.GELU, source=24,
                    layernorm_embedding=True, positions=specs.learned(), quantization="float16",
                    change=specs.flag("scale_embeddings", False, "encoder decoder"))
t = ctranslate2.Translator("m", compute_type="float32", intra_threads=1)
random.seed(1)
with open("expected", "w", encoding="ascii") as f:
    for _ in range(10):
        pair = [[random.randrange(4, 24) for _ in range(random.randrange(1, 9))] for _ in "xy"]
        logp = t.score_batch(*([[tokens[i] for i in side]] for side in pair))[0].log_probs
        print(json.dumps([*pair, round(sum(logp), 5)], separators=(",", ":")), file=f)
with open("m/model.bin", "rb") as f:
    data = gzip.compress(f.read(), mtime=0)
with open("m/model.bin.gz", "wb") as f:
    f.write(data)
os.remove("m/model.bin")
