"""profiles.py - where the time goes: by operation, with and without graphs and other parts, in
Nsight Compute."""
import csv
import os
import re
import shutil
import statistics

from .decoding import take
from .inputs import few_batches, lengths, model, stream
from .rig import Failed, must, run, tool
from .training import start


def families(b):
    """The lines that the plugin prints at the end with TF_CUDA_TIMES, which switches graphs off."""
    model(b)
    sizes = [s for s, _ in lengths(b, 4 if b.emulate else 3003, 5)]
    stream("in.tfs", b.vocab, sizes, 6)
    stream("few.tfs", b.vocab, sizes[:2 if b.emulate else 100], 6)
    decoding = "tf-decode -m model.tfm --max-extra 0 --device cuda -o out.tfs"
    runs = (("training", f"tf-train -q --no-save --preset {b.model} {b.shape}"
             f" --steps {min(10 if b.short else 20, b.steps)} --warmup 4000 --device cuda"
             " -o timed batches.tfs"),
            ("decoding, beam 4", f"{decoding} --beam 4 in.tfs"),
            ("decoding, one at a time", f"{decoding} --beam 4 --batch 1 few.tfs"))
    for name, command in runs:
        shutil.rmtree("timed", ignore_errors=True)
        text = must(b, command, env={"TF_CUDA_TIMES": "1"})
        lines = [x[5:] for x in text.splitlines() if re.match(r"cuda: +[0-9.]+ ms ", x)]
        if not lines:
            raise Failed("no times for " + name)
        b.say(f"-- {name}, {b.model}: milliseconds on the device, calls, operation")
        b.say("\n".join(lines))


def graphs(b):
    """The same work without graphs, and without early starts: the same bytes in how much time."""
    if "graphs" in b.state["without"]:
        b.say("bench: graphs are switched off")
        return
    few_batches(b)
    sizes = [s for s, _ in lengths(b, 2 if b.emulate else 100, 7)]
    kept = b.state["without"]
    results = {}
    ways = (("as it is", []), ("without pdl", ["pdl"]), ("without both", ["graphs", "pdl"]),
            ("without graphs", ["graphs"]))
    for label, off in ways[:3 if b.short else 4]:
        env = {"TF_CUDA_WITHOUT": ",".join(dict.fromkeys(kept + off))}
        os.environ.update(env)
        try:
            _, seconds = take(b, "--beam 4 --batch 1", sizes, "lone")
        finally:
            b.save()  # restores TF_CUDA_WITHOUT
        with open("out.tfs", "rb") as f:
            results[label] = f.read()
        b.row(f"one at a time, {label}", f"{seconds / len(sizes) / 3 * 1e3:.2f} ms a sentence")
        log = start(b, "tiny", 4 if b.emulate else 200, batches="few.batches.tfs", env=env)
        rate = statistics.median(r["tok_s"] for r in log)
        b.row(f"tf-train tiny, {label}", f"{rate:,.0f} tokens/s", f"loss {log[-1]['loss']!r}")
        results[label] += repr([r["loss"] for r in log]).encode()
    if len(set(results.values())) > 1:
        raise Failed("graphs or early starts change results")


def sixty_updates(b):
    """Milliseconds of an update, and what must not change."""
    log = start(b, b.model, 4 if b.emulate else 60)
    return b.tokens / statistics.median(r["tok_s"] for r in log) * 1e3, [r["loss"] for r in log]


def one_sentence(b):
    sizes = [s for s, _ in lengths(b, 2 if b.emulate else 100, 7)]
    _, seconds = take(b, "--beam 4 --batch 1", sizes, "lone")
    with open("out.tfs", "rb") as f:
        return seconds / len(sizes) / 3 * 1e3, f.read()


def many_sentences(b):
    """Milliseconds of a sentence of a file, with the rows of some hundred at once."""
    sizes = [s for s, _ in lengths(b, 4 if b.emulate else 1000, 5)]
    _, seconds = take(b, "--beam 4", sizes, "lone_many")
    with open("out.tfs", "rb") as f:
        return seconds / len(sizes) / 3 * 1e3, f.read()


# Words of TF_CUDA_WITHOUT for parts whose gain is estimated, by the work that they are for.
CANDIDATES = {sixty_updates: ("relu", "beside"), one_sentence: ("scatter",)}


def in_turn(b, work, ways):
    """Milliseconds of work in each way, a name and its environment; each twice, the better."""
    took, results = {}, []
    for name, env in 2 * ways:
        os.environ.update(env)
        try:
            ms, result = work(b)
        finally:
            os.environ.pop("TF_CUDA_WITH", None)
            b.save()  # restores TF_CUDA_WITHOUT
        took[name] = min(ms, took.get(name, ms))
        results.append(result)
    if any(x != results[0] for x in results):
        raise Failed(f"{' '.join(name for name, _ in ways)}: one changes results")
    return took


def candidates(b):
    """Work with all and without each: what gains under 1 % is deleted. wgmma only where it gives
    the same bytes."""
    kept = b.state["without"]
    for work, words in CANDIDATES.items():
        took = in_turn(b, work, [("all", {})] + [
            (w, {"TF_CUDA_WITHOUT": ",".join(dict.fromkeys(kept + [w]))}) for w in words])
        for word in words:
            b.row(f"candidate {word}", f"{100 * (took[word] / took['all'] - 1):+.1f} %",
                  f"{took['all']:.2f} ms; {took[word]:.2f} without it")
    if not b.emulate:
        seconds, text = run(b, f"{b.build}/tests/bench/wgmma", tail=0)
        b.row("wgmma beside mma.sync", "" if seconds else "does not run here", text.strip())
        if not re.match(r"(\d+) of \1 sums", text):
            return
    took = in_turn(b, many_sentences, [("without", {}), ("wgmma", {"TF_CUDA_WITH": "wgmma"})])
    b.row("candidate wgmma", f"{100 * (took['without'] / took['wgmma'] - 1):+.1f} %",
          f"{took['wgmma']:.2f} ms; {took['without']:.2f} without it")


def mean_times(text):
    """Of ncu's table: the mean time of each kernel and size of grid, those that take most first."""
    lines = [x for x in text.splitlines() if x.startswith('"')]
    took = {}
    for r in csv.DictReader(lines):
        value = r.get("Metric Value", "").replace(",", "")
        if r.get("Metric Name") == "gpu__time_duration.sum" and value:
            unit = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1}.get(r["Metric Unit"], 1e3)
            key = r["Kernel Name"][:60] + " " + r.get("Grid Size", "")
            took.setdefault(key, []).append(float(value) * unit)
    return "\n".join(f"{statistics.mean(v):10.2f} {len(v):6}  {k}"
                     for k, v in sorted(took.items(), key=lambda x: -sum(x[1])))


def ncu(b):
    path = tool("ncu", "/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/ncu")
    model(b)
    sizes = [s for s, _ in lengths(b, 4 if b.emulate else 500, 5)]
    stream("some.tfs", b.vocab, sizes, 6)
    # The fourth launch of each kernel of ours, wherever it comes.
    kernels = ("mma|backward|forward|softmax|through_relu|sum_columns|adam|few_kernel|many_kernel"
               "|grow|cached_attention|add_norm|add_few")
    kind = "".join(f" --section {s}" for s in ("SpeedOfLight", "Occupancy", "WarpStateStats",
                                               "LaunchStats")) if b.short else " --set detailed"
    common = f"{path} --clock-control none{kind} --kernel-id '::regex:{kernels}:4'"
    times = (f"{path} --clock-control none --cache-control none --csv"
             " --metrics gpu__time_duration.sum")
    decoding = "tf-decode -m model.tfm --max-extra 0 --device cuda -o out.tfs"
    os.environ["TF_CUDA_WITHOUT"] = ",".join(dict.fromkeys(b.state["without"] + ["graphs"]))
    try:
        for name, command in (
                ("training", f"tf-train -q --no-save --preset {b.model} {b.shape}"
                 f" --steps 3 --device cuda -o profiled batches.tfs"),
                ("decoding", f"{decoding} --beam 4 some.tfs"),
                ("one at a time", f"{decoding} --beam 4 --batch 1 some.tfs")):
            if not b.time_for(60):
                break
            shutil.rmtree("profiled", ignore_errors=True)
            b.say(f"-- {name}")
            b.say(run(b, f"{common} {command}", timeout=150)[1])
            skip = 4000 if name == "one at a time" else 600
            _, text = run(b, f"{times} --launch-skip {skip} --launch-count 400 {command}",
                          timeout=90)
            b.say(f"-- {name}: microseconds of each of so many launches of a kernel")
            b.say(mean_times(text))
    finally:
        b.save()
    b.row("ncu", "see log.txt")
