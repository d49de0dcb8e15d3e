"""training.py - jobs that train: tokens a second, share of the ceiling, device memory."""
import json
import math
import os
import shutil
import statistics

from .inputs import corpus
from .rig import MODELS, Failed, Memory, must

CEILING = 790e12  # FLOP/s of an H200 in bf16, until the job `ceiling` has measured this device


def flop(name, vocab, length):
    """FLOP for a source and a target token, forward and backward."""
    d, f, n, _ = MODELS[name]
    source = n * (4 * d * d + 2 * d * f) + n * 2 * d * d + n * 2 * length * d
    target = n * (6 * d * d + 2 * d * f) + n * length * d + n * 2 * length * d + d * vocab
    return 6 * (source + target)


def log_of(directory):
    path = f"{directory}/log.jsonl"
    if not os.path.exists(path):
        return []
    return [r for r in map(json.loads, open(path)) if r["event"] == "step"]


def start(b, name, steps, more="", every=1, batches="batches.tfs", env=None, device="cuda",
          **options):
    """Train without saving; the log's step records."""
    corpus(b)
    shutil.rmtree("run", ignore_errors=True)
    must(b, f"tf-train -q --no-save --preset {name} {b.shape} --steps {steps}"
            f" --warmup 4000 --log-every {every} --device {device} {more} -o run {batches}",
         env=env, **options)
    log = log_of("run")
    if not log:
        raise Failed("no step in the log")
    if not all(math.isfinite(r["loss"]) for r in log):
        raise Failed("a loss is not finite")
    return log


def train(b, name, steps, label="", more="", batches="batches.tfs", tokens=None, env=None):
    """Rate, share of the ceiling and memory of a training run."""
    memory = Memory()
    try:
        log = start(b, name, steps, more, max(1, steps // 10), batches, env, timeout=300)
    finally:
        used = memory.stop()
    tokens = tokens or b.tokens
    rate = statistics.median(r["tok_s"] for r in log[2:] or log)
    share = rate * flop(name, b.vocab, 28) / b.state.get("gemm", CEILING)
    b.row(f"tf-train {name}, {tokens:,} + {tokens:,} tokens{label}", f"{rate:,.0f} tokens/s",
          f"{tokens / rate * 1e3:.1f} ms a step, {100 * share:.0f} % of the ceiling"
          f"{'' if 'gemm' in b.state else ' (an assumed one)'}, loss {log[-1]['loss']:.3f}, {used}")
    return rate


def rated(b, name, steps, **options):
    rate = train(b, name, steps, **options)
    b.state["rates"][name] = rate
    b.save()


def train_base(b):
    rated(b, b.model, b.steps)


def train_big(b):
    rated(b, "big", min(60, b.steps))


def train_tiny(b):
    corpus(b)
    tokens, steps = (60, 4) if b.emulate else (4000, 1200)
    must(b, f"tf-batch -q --tokens {tokens} --batches {steps} src.tfs tgt.tfs -o tiny.batches.tfs")
    rated(b, "tiny", steps, batches="tiny.batches.tfs", tokens=tokens)


def train_probe(b):
    """Short form of every training job."""
    start(b, b.model, 3)


def tune(b):
    """Measured algorithms; which epilogues pay; how large the softmax's scratch should be."""
    corpus(b)
    steps = min(b.steps, 60 if b.short else 100)
    train(b, b.model, steps, label=", not tuned")
    text = must(b, f"tf-train -q --preset {b.model} {b.shape}"
                   " --device cuda --tune choices batches.tfs && cat choices", timeout=240)
    shutil.copy("choices", b.keep + "/choices.txt")
    times = [[float(x) for x in line.split()[-2:]] for line in text.splitlines() if " : " in line]
    b.row("tf-train --tune", f"{len(times)} products",
          f"{sum(y < x for x, y in times)} not by the library's choice,"
          f" {sum(x for x, _ in times) / sum(y for _, y in times):.2f} times as fast in sum")
    train(b, b.model, steps, label=", tuned", more="--tuning choices")
    if b.short:
        train(b, b.model, steps, label=", epilogues: all", env={"TF_CUDA_EPILOGUES": "all"})
        return
    for kind in ("mask", "sums", "all"):
        if b.time_for(30):
            train(b, b.model, steps, label=f", epilogues: {kind}", env={"TF_CUDA_EPILOGUES": kind})
    for mib in (2048, 600, 150):
        if b.time_for(30):
            train(b, b.model, steps, label=f", softmax in {mib} MiB",
                  env={"TF_CUDA_XENT_ROOM": str(mib << 20)})
