#!/usr/bin/env python3
"""Directories of models that fairseq trains (8 updates), and what it computes with them.

    make.py DIR [NAME...]      DIR/NAME with model.pt, as fairseq saves it, its dictionaries and
                               `scores`, the log-probability of each of the first 20 pairs; for each
                               variant or those named
    make.py golden             this directory's own, their model.pt compressed

The text is that of ../marian. Needs torch, and in PYTHONPATH fairseq (written with 0.12.2; its
wheel, unpacked, is enough), hydra-core, omegaconf, bitarray and regex."""
import contextlib
import dataclasses
import functools
import gzip
import io
import logging
import os
import shutil
import sys
import tempfile
import warnings

import torch
import torch._dynamo  # noqa: F401

logging.disable()
warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = os.path.join(HERE, "..", "marian")
JOINED = ["--joined-dictionary"]
SHARED = ["--share-all-embeddings"]
BEFORE = ["--encoder-normalize-before", "--decoder-normalize-before"]
NO_TOP = ["--no-decoder-final-norm"]
MBART = ["--encoder-learned-pos", "--decoder-learned-pos", "--layernorm-embedding",
         "--activation-fn", "gelu", "--max-source-positions", "20", "--max-target-positions", "20"]
# Name: options of fairseq-preprocess, of fairseq-train. Without -s and -t, as in its manual, a
# checkpoint does not say which language is which, but in the name of the directory of its data.
UNDIRECTED = ["before"]
VARIANTS = {
    "default": (JOINED, SHARED),
    "optimizer": (JOINED, SHARED + ["--save-optimizer-state"]),
    "before": (JOINED, SHARED + BEFORE),
    "before-no-top": (JOINED, SHARED + BEFORE + NO_TOP),
    "encoder-before": (JOINED, SHARED + BEFORE[:1]),
    "decoder-before": (JOINED, SHARED + BEFORE[1:]),
    "decoder-before-no-top": (JOINED, SHARED + BEFORE[1:] + NO_TOP),
    "as-mbart": (JOINED, SHARED + BEFORE + MBART),
    "as-mbart-encoder-before": (JOINED, SHARED + BEFORE[:1] + MBART),
    "unscaled": (JOINED, SHARED + ["--no-scale-embedding"]),
    "no-top": (JOINED, SHARED + NO_TOP),  # which has no meaning after a layer
    "two": ([], ["-s", "en", "-t", "de", "--share-decoder-input-output-embed",
                 "--decoder-ffn-embed-dim", "4"]),
    "untied": ([], ["--encoder-ffn-embed-dim", "4"]),
    "untied-joined": (JOINED, ["--encoder-layers", "3"]),
    "layerdrop": (JOINED, SHARED + ["--encoder-layerdrop", "0.1", "--decoder-layerdrop", "0.1"]),
    "heads": (JOINED, SHARED + ["--encoder-attention-heads", "1", "--decoder-attention-heads", "1",
                                "--decoder-layers", "2"]),
    "unlike-heads": (JOINED, SHARED + ["--encoder-attention-heads", "4"]),
    "big": (JOINED, ["--arch", "transformer_vaswani_wmt_en_de_big"] + SHARED),
}
SIZES = {"--arch": "transformer", "--encoder-layers": "1", "--decoder-layers": "1",
         "--encoder-embed-dim": "4", "--decoder-embed-dim": "4", "--encoder-ffn-embed-dim": "6",
         "--decoder-ffn-embed-dim": "6", "--encoder-attention-heads": "2",
         "--decoder-attention-heads": "2", "--max-update": "8", "--lr": "0.05"}
GOLDEN = ["default", "before", "two", "as-mbart-encoder-before"]


def import_fairseq():
    """It has fields of dataclasses that Python 3.11 refuses because they have no hash."""
    plain = dataclasses.dataclass

    def dataclass(cls=None, **options):
        made = functools.partial(plain, unsafe_hash=True, **options)
        return made if cls is None else made(cls)

    dataclasses.dataclass = dataclass
    from fairseq import checkpoint_utils
    from fairseq.data import data_utils
    from fairseq_cli import preprocess, train

    torch.load = functools.partial(torch.load, weights_only=False)  # the default of its time
    # A compiled part, which is for another version of Python: pairs that make a batch.
    data_utils.batch_by_size = lambda indices, *_, **__: [indices[i:i + 8]
                                                          for i in range(0, len(indices), 8)]
    return preprocess.cli_main, train.cli_main, checkpoint_utils.load_model_ensemble_and_task


def call(main, *args):
    sys.argv = ["fairseq", *args]
    with contextlib.redirect_stdout(io.StringIO()):
        main()


def scores(load, path, data):
    models, _, task = load([path], arg_overrides={"data": data})
    model = models[0].eval()
    lines = []
    for side in "en", "de":
        with open(os.path.join(TEXT, side), encoding="utf-8") as f:
            lines.append(f.read().splitlines()[:20])
    for source, target in zip(*lines):
        x = task.source_dictionary.encode_line(source, add_if_not_exist=False).long()
        y = task.target_dictionary.encode_line(target, add_if_not_exist=False).long()
        with torch.no_grad():
            out = model(x[None], torch.tensor([len(x)]), torch.cat([y[-1:], y[:-1]])[None])
        p = out[0][0].double().log_softmax(-1)
        yield sum(p[i, w].item() for i, w in enumerate(y))


def make(fairseq, directory, name):
    preprocess, train, load = fairseq
    prepare, options = VARIANTS[name]
    to = os.path.join(directory, name)
    shutil.rmtree(to, ignore_errors=True)
    os.makedirs(to)
    if "--save-optimizer-state" in options:
        options = options[:-1]
    else:
        options = options + ["--no-save-optimizer-state"]
    for key, value in SIZES.items():
        options = options + ([] if key in options else [key, value])
    with tempfile.TemporaryDirectory() as tmp:
        data = tmp + ("/data" if name in UNDIRECTED else "/data.en-de")
        for part in "train", "valid":
            for side in "en", "de":
                shutil.copy(os.path.join(TEXT, side), f"{tmp}/{part}.{side}")
        call(preprocess, "--source-lang", "en", "--target-lang", "de",
             "--trainpref", tmp + "/train", "--validpref", tmp + "/valid", "--destdir", data, "--dataset-impl", "raw", *prepare)
        call(train, data, "--dataset-impl", "raw", "--optimizer", "adam",
             "--max-tokens", "200", "--cpu", "--save-dir", tmp + "/m",
             "--seed", "1", "--no-epoch-checkpoints", "--num-workers", "0",
             "--distributed-world-size", "1", "--dropout", "0.1", *options)
        for side in "en", "de":
            shutil.copy(f"{data}/dict.{side}.txt", to)
        shutil.copy(tmp + "/m/checkpoint_last.pt", to + "/model.pt")
        with open(to + "/scores", "w", encoding="ascii") as f:
            f.writelines(f"{x:.6f}\n" for x in scores(load, to + "/model.pt", data))


def main():
    fairseq = import_fairseq()
    if sys.argv[1] == "golden":
        for name in GOLDEN:
            make(fairseq, HERE, name)
            path = os.path.join(HERE, name, "model.pt")
            with open(path, "rb") as f, gzip.GzipFile(path + ".gz", "wb", mtime=0) as out:
                out.write(f.read())
            os.remove(path)
    else:
        directory, names = sys.argv[1], sys.argv[2:] or VARIANTS
        for name in names:
            make(fairseq, directory, name)


if __name__ == "__main__":
    main()
