#!/usr/bin/env python3
"""peer_torch.py ceiling|eager|compile|generate... [options] - the same training step in PyTorch, as
its users would write it: nn.Transformer with scaled_dot_product_attention, label smoothing, fused
Adam; bf16 by autocast on a GPU and with --bf16, else fp32. For each mode a line of JSON, the last
of the output.

ceiling: a large product and a large copy. eager, compile: as it comes, and with torch.compile.
generate: decoding instead, in fp16, by the MarianMT model of transformers with the same sizes;
--sentences of --length, beam 4 and greedy, each by the fastest of some batch sizes.
--lengths: sentences of these, sorted into batches of at most --tokens on each side and padded
within each. --length: all of this one, so that there is nothing to pad and one shape to compile:
its best case."""
import argparse
import gc
import json
import math
import random
import time

import torch
from torch import nn
from torch.nn import functional as F


def seconds(f, times):
    f()
    torch.cuda.synchronize()
    start = time.monotonic()
    for _ in range(times):
        f()
    torch.cuda.synchronize()
    return (time.monotonic() - start) / times


def ceiling(o):
    n = 512 if o.small else 8192
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    x = torch.randn(n * n * 4, device="cuda")
    y = torch.empty_like(x)
    return {
        "gemm": 2 * n**3 / seconds(lambda: a @ b, 30), "copy":
        2 * 4 * x.numel() / seconds(lambda: y.copy_(x), 30), "about":
        f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}"
    }


class Model(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.d = o.d
        self.embed = nn.Embedding(o.vocab, o.d)
        nn.init.normal_(self.embed.weight, std=o.d**-0.5)
        self.drop = nn.Dropout(0.1)
        self.body = nn.Transformer(o.d, o.heads, o.layers, o.layers, o.f, dropout=0.1,
                                   batch_first=True)
        at, k = torch.arange(512)[:, None], torch.arange(0, o.d, 2)[None] / o.d
        wave = at / 10000**k
        self.register_buffer("pos", torch.stack([wave.sin(), wave.cos()], 2).flatten(1))
        self.register_buffer("mask", torch.ones(512, 512, dtype=torch.bool).triu(1))

    def feed(self, ids):
        return self.drop(self.embed(ids) * math.sqrt(self.d) + self.pos[: ids.shape[1]])

    def forward(self, src, tgt, gold, src_pad=None, tgt_pad=None):
        n = tgt.shape[1]
        y = self.body(self.feed(src), self.feed(tgt), tgt_mask=self.mask[:n, :n],
                      tgt_is_causal=True, src_key_padding_mask=src_pad,
                      tgt_key_padding_mask=tgt_pad, memory_key_padding_mask=src_pad)
        z = F.linear(y, self.embed.weight)
        return F.cross_entropy(z.flatten(0, 1), gold.flatten(), ignore_index=0, label_smoothing=0.1)


def batches(o):
    """Lists of pairs of lengths, ends counted; at most o.tokens on each side, real ones, of about
    equal lengths."""
    if o.length and (o.mode == "compile" or not o.lengths):
        return [[(o.length, o.length)] * (o.tokens // o.length)] * o.batches
    pairs = sorted((s + 1, t + 1) for s, t in json.load(open(o.lengths)))
    out, batch, src, tgt = [], [], 0, 0
    for s, t in pairs:
        if batch and max(src + s, tgt + t) > o.tokens:
            out.append(batch)
            batch, src, tgt = [], 0, 0
        batch.append((s, t))
        src, tgt = src + s, tgt + t
    random.Random(1).shuffle(out)
    return out


def tensors(batch, o):
    """Padded ids on the device, masks where there is padding, and the number of target tokens."""
    pad = lambda sizes: torch.arange(max(sizes), device=o.device)[None] >= torch.tensor(
        sizes, device=o.device)[:, None]
    src_pad, tgt_pad = pad([s for s, _ in batch]), pad([t for _, t in batch])
    ids = [
        torch.randint(4, o.vocab, p.shape, device=o.device).masked_fill(p, 0)
        for p in (src_pad, tgt_pad, tgt_pad)
    ]
    padded = bool(src_pad.any() or tgt_pad.any())
    return (*ids, *([src_pad, tgt_pad] if padded else [])), sum(t for _, t in batch)


def train(o):
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    model = Model(o).to(o.device)
    step = torch.compile(model) if o.mode == "compile" else model
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    data = [tensors(b, o) for b in batches(o)[: o.batches]]

    def update(args):
        with torch.autocast(o.device, torch.bfloat16, enabled=o.bf16 or o.device == "cuda"):
            loss = step(*args)
        loss.backward()
        adam.step()
        adam.zero_grad(set_to_none=True)

    wait = torch.cuda.synchronize if o.device == "cuda" else lambda: None
    for args, _ in data[: o.batches]:  # every shape once
        update(args)
    wait()
    tokens, start = 0, time.monotonic()
    while time.monotonic() - start < (1 if o.small else 5):
        for args, n in data:
            update(args)
            tokens += n
        wait()
    return {"tok_s": tokens / (time.monotonic() - start), "about": f"PyTorch {torch.__version__}"}


def generate(o):
    import transformers
    torch.manual_seed(1)
    config = transformers.MarianConfig(vocab_size=o.vocab, d_model=o.d, encoder_layers=o.layers,
                                       decoder_layers=o.layers, encoder_attention_heads=o.heads,
                                       decoder_attention_heads=o.heads, encoder_ffn_dim=o.f,
                                       decoder_ffn_dim=o.f, pad_token_id=0, eos_token_id=3,
                                       decoder_start_token_id=0, forced_eos_token_id=None)
    model = transformers.MarianMTModel(config).half().eval().to(o.device)
    ids = torch.randint(4, o.vocab, (o.sentences, o.length), device=o.device)
    rates = {}
    for beam in (4, 1):
        for batch in (128, 512, 3003):
            start = None
            for part in [ids[:batch], *ids.split(batch)]:  # the first only warms up
                out = model.generate(part, attention_mask=torch.ones_like(part), num_beams=beam,
                                     min_new_tokens=o.length, max_new_tokens=o.length)
                assert out.shape[1] == o.length + 1
                out.tolist()
                start = start or time.monotonic()
            rates[beam] = max(rates.get(beam, 0), ids.numel() / (time.monotonic() - start))
    return {"beams": rates, "about": f"transformers {transformers.__version__}"}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("modes", nargs="+", choices=("ceiling", "eager", "compile", "generate"))
    p.add_argument("--small", action="store_true")
    p.add_argument("--lengths", help="a file of pairs of lengths as JSON")
    p.add_argument("--length", type=int)
    p.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    p.add_argument("--threads", type=int, default=1, help="of the CPU")
    p.add_argument("--bf16", action="store_true", help="on the CPU: autocast")
    p.add_argument("--batches", type=int, default=24, help="different ones")
    p.add_argument("--sentences", type=int, default=3003)
    for name in ("vocab", "tokens", "d", "f", "layers", "heads"):
        p.add_argument("--" + name, type=int)
    o = p.parse_args()
    torch.set_num_threads(o.threads)
    if o.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("no GPU that PyTorch can use")
    for o.mode in o.modes:
        try:
            start = time.monotonic()
            found = {"ceiling": ceiling, "generate": generate}.get(o.mode, train)(o)
            took = time.monotonic() - start
            print(json.dumps({"mode": o.mode, "took": round(took, 1), **found}), flush=True)
        except Exception as e:  # the other modes are worth having
            print(f"{o.mode}: {e!r}", flush=True)
        if o.device == "cuda":
            gc.collect()
            torch.cuda.empty_cache()


main()
