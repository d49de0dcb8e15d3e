"""checks.py - jobs that compare the device with the CPU and with itself, and the sanitizers."""
import concurrent.futures
import json
import math
import os
import re
import shutil
import statistics
import sys

from .building import PROGRAMS
from .inputs import corpus, few_batches, lengths, model, stream
from .rig import TOP, Failed, must, run, tool
from .training import start

# Operations with kernels for many rows, and a device so small that the tests' problems are of many.
MANY, SMALL = ("cached_attention", "linear_packed"), {"TF_CUDA_SMS": "1"}


def smoke(b):
    if shutil.which("nvidia-smi"):
        b.say(run(b, "nvidia-smi", tail=0)[1])
    else:
        b.say("bench: nvidia-smi is missing")
    plugin = f"{b.build}/{'emulate' if b.emulate else 'bin'}/tf-backend-cuda.so"
    lost = [x for x in run(b, f"ldd {plugin}")[1].splitlines() if "not found" in x]
    if lost:
        raise Failed("the plugin lacks libraries:\n" + "\n".join(lost))
    for line in run(b, "tf-info --devices")[1].splitlines():
        if "cuda" in line.lower():
            b.say(line.strip())
    against_cpu(b)
    first = smoke_probe(b)
    expected = math.log(b.vocab)
    b.row("first loss, and ln V", f"{first:.3f}, {expected:.3f}")
    if not 0.7 * expected < first < 1.5 * expected:
        raise Failed("the first loss is not that of random weights")


def against_cpu(b):
    """Loss and norm of the gradient of two updates at full width and few tokens, which the CPU can
    do in seconds: the checks of operations know small widths alone."""
    tokens = 60 if b.emulate else 1000
    corpus(b)
    must(b, f"tf-batch -q --tokens {tokens} --batches 2 src.tfs tgt.tfs -o width.batches.tfs")
    seen = {}
    for name, device, precision in (("CPU", "cpu", "fp32"), ("fp32", "cuda", "fp32"),
                                    ("bf16", "cuda", "bf16")):
        log = start(b, b.model, 2, f"--precision {precision}", batches="width.batches.tfs",
                    device=device, timeout=90)
        seen[name] = [(r["loss"], r["grad_norm"]) for r in log]
    for name, most in (("fp32", 1e-4), ("bf16", 3e-2)):
        worst = [max(abs(x[i] - y[i]) / abs(y[i]) for x, y in zip(seen[name], seen["CPU"]))
                 for i in (0, 1)]
        b.row(f"{name} against the CPU, full width", f"loss {worst[0]:.1e}",
              f"gradient's norm {worst[1]:.1e}")
        if max(worst) > most:
            raise Failed(f"{name} and the CPU compute other losses or gradients")


def smoke_probe(b):
    blocking = {"CUDA_LAUNCH_BLOCKING": "1"}
    log = start(b, b.model, 3, env=blocking)
    shutil.rmtree("one", ignore_errors=True)
    model(b)
    stream("smoke.tfs", b.vocab, [s for s, _ in lengths(b, 2 if b.emulate else 20, 4)], 6)
    must(b, "tf-decode -m model.tfm --max-extra 0 --device cuda -o out.tfs smoke.tfs", env=blocking)
    return log[0]["loss"]


def operations(b):
    """Those of --ops, or all; search, which is a program of its own, is none."""
    known = must(b, f"{b.build}/tests/ops/agreement.t --list").splitlines()
    for op in b.ops:
        if op not in known + ["search"]:
            sys.exit(f"bench: --ops: {op}: unknown operation")
    return [op for op in known if op in b.ops or not b.ops]


def check_runs(b):
    """(name, program, environment) of every check: an operation has a process of its own, because
    the device's first error ends a program."""
    cases = {"TF_TEST_CASES": "2"} if b.emulate else {}
    runs = []
    for op in operations(b):
        one = {"TF_TEST_OPS": op, **cases}
        runs.append((op, "ops/agreement", one))
        runs.append((op + ", same bytes", "ops/same_bytes", one))
        if op in MANY:
            runs.append((op + ", many rows", "ops/agreement", {**one, **SMALL}))
            runs.append((op + ", many rows, same bytes", "ops/same_bytes", {**one, **SMALL}))
        if op in ("linear", "feed_forward"):
            for which in ("all", "none"):
                runs.append((f"{op}, {which} epilogues", "ops/agreement",
                             {**one, "TF_CUDA_EPILOGUES": which}))
    if not b.ops:
        runs += [(p, p, cases) for p in PROGRAMS if p not in ("ops/agreement", "ops/same_bytes")]
    elif "search" in b.ops:
        runs.append(("search", "unit/ops_search", cases))
    return runs


def check_one(b, name, program, env, blocking=False):
    """None, or the failing lines. With blocking launches a failure names its operation."""
    if blocking and program != "ops/graphs":
        env = {**env, "CUDA_LAUNCH_BLOCKING": "1"}
    seconds, text = run(b, f"cd {TOP} && {b.build}/tests/{program}.t", timeout=120, tail=0,
                        env={"TF_TEST_BACKENDS": "cuda", **env})
    wrong = [x for x in text.splitlines() if x.startswith("not ok")]
    if seconds is not None and not wrong:
        return None
    return wrong[:4] or text.splitlines()[-4:]


def check(b):
    runs, good, bad = check_runs(b), 0, []
    workers = 2 if b.emulate else min(12, len(os.sched_getaffinity(0)))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        waiting = {pool.submit(check_one, b, *r): r for r in runs}
        for done in concurrent.futures.as_completed(waiting):
            name, lines = waiting[done][0], done.result()
            b.say(f"  {name}: {'ok' if lines is None else 'BAD'}")
            if lines is None:
                good += 1
            else:
                bad.append(waiting[done])
                b.say("\n".join("    " + x for x in lines))
                again = check_one(b, *waiting[done], blocking=True)
                b.say("    with blocking launches: " + ("ok" if again is None else again[0]))
    b.row("checks on the device", f"{good} good, {len(bad)} bad",
          ", ".join(name for name, *_ in bad))
    b.failing = bad
    if bad:
        raise Failed("operations disagree: " + ", ".join(name for name, *_ in bad))


def check_probe(b):
    bad = [r[0] for r in b.failing if check_one(b, *r) is not None]
    if bad:
        raise Failed(", ".join(bad))


KINDS = {  # of models whose translations are compared
    "the paper's": "",
    "t2t's, pre-norm": "--as t2t --pre-norm --attention-bias --attention-window 8",
    "recurrent": "--as t2t --decoder-self ssru --output-bias --start zero --activation swish",
}


def translate(b):
    """A step is more than its operations: the order of kernels, graphs, early starts. Sentences of
    random ids, but their scores are functions of all that a step computes."""
    sizes = [s for s, _ in lengths(b, 4 if b.emulate else 60, 8)]
    stream("kind.tfs", b.vocab, sizes, 6)
    stream("kind.tgt.tfs", b.vocab, sizes, 7)
    must(b, "tf-batch -q --tokens 500 --batches 1 kind.tfs kind.tgt.tfs -o kind.batches.tfs")
    wrong = []
    for kind, options in KINDS.items():
        shutil.rmtree("kind", ignore_errors=True)
        must(b, f"tf-train -q --preset {b.model} {b.shape} {options} --steps 1 --device cpu"
                " -o kind kind.batches.tfs && tf-avgckpt -n 1 kind -o kind.tfm")
        seen = {}
        ways = (("CPU", "--device cpu"), ("fp32", "--device cuda --precision fp32"),
                ("fp32, alone", "--device cuda --precision fp32 --batch 1"),
                ("fp16", "--device cuda --precision fp16"))
        for way, device in ways:
            text = must(b, "tf-decode -q -m kind.tfm --beam 1 --token-scores --max-extra 2"
                           f" {device} kind.tfs -o kind.out.tfs && tf-cbor json kind.out.tfs",
                        timeout=60)
            records = [json.loads(x) for x in text.splitlines() if x.startswith('{"type":"nbest"')]
            seen[way] = [r["hyps"][0] for r in records]
        for way, most in (("fp32", 1e-4), ("fp32, alone", 1e-4), ("fp16", 1e-2)):
            pairs = list(zip(seen[way], seen["CPU"]))
            worst = max(abs(x["logp"] - y["logp"]) / abs(y["logp"]) for x, y in pairs)
            first = min((t for x, y in pairs for t, (p, q) in
                         enumerate(zip(x["token_logp"], y["token_logp"]))
                         if abs(p - q) > most * abs(q)), default=None)
            b.row(f"translations, {kind} model, {way}", f"{worst:.1e}",
                  "the largest difference of a score from the CPU's" +
                  ("" if first is None else f"; of a token's, from token {first} on"))
            if not worst < most:
                wrong.append(f"{kind} model in {way}")
    if wrong:
        raise Failed("the CPU has other scores: " + "; ".join(wrong))


def agree(b):
    steps = 4 if b.emulate else 60 if b.short else 200
    corpus(b)
    seen = {}
    variants = (("fp32", "fp32", "all"), ("bf16", "bf16", "none"),
                ("bf16, all epilogues", "bf16", "all"))
    for name, precision, epilogues in variants:
        log = start(b, b.model, steps, f"--precision {precision}", timeout=240,
                    env={"TF_CUDA_EPILOGUES": epilogues})
        seen[name] = [r["loss"] for r in log]
        last = seen[name][-50:]
        b.row(f"loss of {name}", f"{statistics.mean(last):.5f}", f"mean of steps"
              f" {len(seen[name]) - len(last) + 1}-{len(seen[name])}")
    for name in list(seen)[1:]:
        pairs = list(zip(seen["fp32"], seen[name]))
        worst = max(abs(y - x) / x for x, y in pairs[:10])
        late = statistics.mean(y for _, y in pairs[-50:]) / statistics.mean(
            x for x, _ in pairs[-50:]) - 1
        b.row(f"losses: {name} against fp32", f"{late:+.1e}",
              f"of the means; {worst:.1e} is the largest of the first ten steps")
        if abs(late) > (1e-3 if not b.emulate else 2e-2):
            raise Failed(f"{name} and fp32 train differently")
    agree_probe(b)
    b.row("repeated and resumed runs", "the same bytes")


def agree_probe(b):
    """Two runs give the same bytes, and so does one that is interrupted."""
    half = 4 if b.emulate else 40 if b.short else 100
    common = f"tf-train -q --preset tiny {b.shape} --save-every {half} --device cuda"
    few_batches(b)
    for name in ("whole", "twice", "parts"):
        shutil.rmtree(name, ignore_errors=True)
    for name, steps in (("whole", 2), ("twice", 2), ("parts", 1), ("parts", 2)):
        must(b, f"{common} --steps {steps * half} -o {name} few.batches.tfs")
    for name in ("twice", "parts"):
        last = f"ckpt-{2 * half:08}.tfm"
        if run(b, f"cmp whole/{last} {name}/{last}")[0] is None:
            raise Failed(f"{name} differs from whole")


def in_softmax_alone(text):
    """Whether the sanitizer ended with its own status, and blames no kernel but xent.cu's softmax:
    that loads whole vectors and drops what is in them past the last column, which nothing has
    written."""
    kernels = re.findall(r"^=+ +at (.*)", text, re.M)
    here = re.compile(r"(0x\w+ in (.*:)?)?(void )?softmax[<(+]")
    return (text.endswith("\nexit status 9\n") and "\nnot ok" not in text and bool(kernels) and
            all(here.match(x) for x in kernels))


def racecheck(b):
    path = tool("compute-sanitizer", os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"),
                                                  "bin/compute-sanitizer"))
    few = {"TF_TEST_CASES": "3"}
    runs = [(op, "ops/agreement", {"TF_TEST_OPS": op, **few}) for op in operations(b)]
    runs = [(op + ", many rows", "ops/agreement",
             {"TF_TEST_OPS": op, "TF_TEST_CASES": "8", **SMALL})
            for op in operations(b) if op in MANY] + runs
    if not b.ops or "search" in b.ops:  # the longest
        runs.insert(0, ("search", "unit/ops_search", {"TF_TEST_CASES": "1"} if b.short else few))
    kinds = ("racecheck", "memcheck") if b.short else ("racecheck", "memcheck", "synccheck",
                                                       "initcheck")

    def one_run(kind, name, program, env):
        command = (f"cd {TOP} && {path} --tool {kind} --report-api-errors no"
                   f" --error-exitcode 9 {b.build}/tests/{program}.t"
                   " || { n=$?; echo; echo exit status $n; exit $n; }")
        return run(b, command, timeout=400, env={"TF_TEST_BACKENDS": "cuda", **env})

    bad = 0
    with concurrent.futures.ThreadPoolExecutor(2 if b.emulate else 14) as pool:
        all_runs = [(kind, *r) for kind in kinds for r in runs]
        for (kind, name, *_), (seconds, text) in zip(all_runs, pool.map(lambda r: one_run(*r),
                                                                        all_runs)):
            ends = [x.strip("= ") for x in text.splitlines() if "SUMMARY" in x]
            known = (seconds is None and (kind, name) == ("initcheck", "xent") and
                     in_softmax_alone(text))
            bad += seconds is None and not known
            b.row(f"{kind} {name}", "ok" if seconds is not None else "expected" if known else "BAD",
                  "; ".join(ends))
    if bad:
        raise Failed(f"{bad} runs under compute-sanitizer failed")
