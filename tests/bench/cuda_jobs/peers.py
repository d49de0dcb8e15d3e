"""peers.py - jobs beside PyTorch, CTranslate2 and transformers."""
import json
import os
import re

from .decoding import take
from .inputs import lengths, model
from .rig import MODELS, TOP, Missing, last_json, must, run
from .training import flop

TORCH = os.path.join(TOP, "tests/bench/peer_torch.py")


def need_torch(b):
    found, _ = run(b, "python3 -c 'import torch; assert torch.cuda.is_available()'", tail=0)
    if found is None:
        raise Missing("PyTorch with CUDA")


def ceiling(b):
    need_torch(b)
    found = last_json(must(b, f"python3 {TORCH} ceiling", timeout=90))
    b.row("products of 8192 x 8192 x 8192, bf16", f"{found['gemm'] / 1e12:,.0f} TFLOP/s",
          found["about"])
    b.row("copy", f"{found['copy'] / 1e12:.2f} TB/s", "read and written")
    b.state["gemm"] = found["gemm"]
    b.save()


def peer(b):
    """The ceiling and PyTorch's base, in one process: importing it and compiling take longest."""
    with open("lengths.json", "w") as f:
        json.dump(lengths(b, b.sentences, 1), f)
    d, f, n, h = MODELS["base"]
    _, text = run(b, f"python3 {TORCH} ceiling compile eager --lengths lengths.json --length 28"
                  f" --vocab {b.vocab} --tokens {b.tokens} --batches 12 --d {d} --f {f}"
                  f" --layers {n} --heads {h}", timeout=200)
    found = {r["mode"]: r for r in map(json.loads, re.findall(r"^{.*}$", text, re.M))}
    if not found:
        raise Missing("PyTorch with CUDA")
    if "ceiling" in found:
        r = found["ceiling"]
        b.state["gemm"] = r["gemm"]
        b.save()
        b.row("products of 8192 x 8192 x 8192, bf16", f"{r['gemm'] / 1e12:,.0f} TFLOP/s",
              r["about"])
        b.row("copy", f"{r['copy'] / 1e12:.2f} TB/s", "read and written")
    ours = b.state["rates"].get("base")
    for mode, label in (("compile", "compiled, all lengths 28"),
                        ("eager", "eager, the same lengths")):
        if mode in found:
            rate = found[mode]["tok_s"]
            b.row(f"PyTorch base, {label}", f"{rate:,.0f} tokens/s",
                  (f"tf-train has {ours / rate:.2f} times that; " if ours else "") +
                  f"{found[mode]['took']:.0f} s with compiling")
    if ours and "gemm" in b.state:
        share = ours * flop("base", b.vocab, 28) / b.state["gemm"]
        b.row("tf-train base, of this ceiling", f"{100 * share:.0f} %")


def torch(b):
    need_torch(b)
    with open("lengths.json", "w") as f:
        json.dump(lengths(b, b.sentences, 1), f)
    for name in ("base", "big"):
        for mode in ("compile", "eager"):
            if not b.time_for(60):
                return
            d, f, n, h = MODELS[name]
            form = "--lengths lengths.json" if mode == "eager" else "--length 28"
            seconds, text = run(b, f"python3 {TORCH} {mode} {form} --vocab {b.vocab}"
                                f" --tokens {b.tokens} --d {d} --f {f} --layers {n} --heads {h}",
                                timeout=180 if mode == "compile" else 90)
            if seconds is None:
                continue
            rate = last_json(text)["tok_s"]
            ours = b.state["rates"].get(name)
            label = "eager, the same lengths" if mode == "eager" else "compiled, all lengths 28"
            b.row(f"PyTorch {name}, {label}", f"{rate:,.0f} tokens/s",
                  f"tf-train has {ours / rate:.2f} times that" if ours else "")


def decoders(b):
    """Sentences of 28 pieces whose outputs have as many: nothing to pad, the peers' best case."""
    length, n = (4, 6) if b.emulate else (28, 3003)
    model(b)
    peers = os.path.join(TOP, "tests/bench")
    ours = {}
    for beam in (4, 1):
        label = f"beam {beam}" if beam > 1 else "greedy"
        _, seconds = take(b, f"--beam {beam}", [length] * n, "even")
        ours[beam] = 3 * n * length / seconds
        b.row(f"tf-decode {b.model}, {label}, all lengths {length}", f"{ours[beam]:,.0f} tokens/s")

    def beside(name, beam, rate, about):
        label = f"beam {beam}" if beam > 1 else "greedy"
        b.row(f"{name} {b.model}, {label}, the same lengths", f"{rate:,.0f} tokens/s",
              f"{about}; tf-decode has {ours[beam] / rate:.2f} times that")

    for beam in (4, 1):
        found, text = run(b, f"python3 {peers}/peer_ctranslate2.py model.tfm even.tfs --device"
                          f" {'cpu' if b.emulate else 'cuda --type float16'} --beam {beam}"
                          f" --length {length} --batch 128 512 2048", timeout=100)
        if found is None:
            b.row("CTranslate2", "skipped", "it did not run here")
            break
        r = last_json(text)
        beside("CTranslate2", beam, r["tokens"] / r["seconds"], r["about"])
    d, f, layers, h = MODELS["tiny" if b.emulate else "base"]
    found, text = run(b, f"python3 {TORCH} generate --device {'cpu' if b.emulate else 'cuda'}"
                      f" --sentences {n} --length {length} --vocab {b.vocab} --d {d} --f {f}"
                      f" --layers {layers} --heads {h}", timeout=150)
    if found is None or '"beams"' not in text:
        b.row("transformers", "skipped", "it did not run here")
        return
    r = last_json(text)
    for beam, rate in r["beams"].items():
        beside("transformers", int(beam), rate, r["about"])
