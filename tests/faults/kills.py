"""A: killed at random times, at every system call of a save, with the disk cut off, and again while
it recovers."""
import os
import re
import shutil
import subprocess
import time

import disk
from rig import ENV, SHIM, kill, run, slurp

# Ways to train that keep more than one kind of state: (name, stream, options).
def modes(rig):
    valid = rig.batches("valid.tfs", n=5, seed=9)
    stream = rig.batches("b200.tfs", n=200)
    long = rig.batches("b600.tfs", n=600)
    return [
        ("plain", stream, ["--steps", "200", "--save-every", "5", "--keep", "3"]),
        ("accumulated", long, [
            "--steps", "200", "--save-every", "7", "--keep", "2", "--accumulate", "3", "--ema",
            "0.9", "--clip", "1"
        ]),
        ("validated", stream, [
            "--steps", "200", "--save-every", "10", "--keep", "2", "--valid", valid,
            "--valid-every", "5", "--schedule", "constant", "--lr", "0.01", "--warmup", "0"
        ]),
        ("by the clock", stream,
         ["--steps", "200", "--save-every", "25", "--keep", "0", "--save-minutes", "0.00001"]),
    ]


def wait_for(p, seconds):
    try:
        return p.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None


def start(rig, out, stream, more):
    return subprocess.Popen(rig.train_argv(out, stream, *more), stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENV)


def complain(row, what, p):
    row.fail("%s: status %s: %s", what, p.returncode,
             p.stderr.read().decode(errors="replace").strip())


def a1(rig, row):
    """SIGKILL at random times: start, wait, kill, start again until the run is over; then its files
    are those of an undisturbed run."""
    want = rig.count(2000, short=40)
    kills = 0
    ms = modes(rig)
    i = 0
    while kills < want and not row.over():
        name, stream, more = ms[i % len(ms)]
        i += 1
        whole = rig.whole(name, stream, *more)
        # As long as the machine, busy as it is now, takes for the whole: a fraction of that is left
        # to each start.
        t = time.time()
        shutil.rmtree(rig.path("clock"), ignore_errors=True)
        rig.train(rig.path("clock"), stream, *more)
        span = time.time() - t
        for _ in range(8):
            out = rig.path("a1")
            shutil.rmtree(out, ignore_errors=True)
            while True:
                p = start(rig, out, stream, more)
                rc = wait_for(p, row.r.uniform(0, 0.5 * span)) if kills < want else p.wait()
                if rc is None:
                    rc = kill(p)
                if rc == -9:
                    kills += 1
                    row.add("kills")
                    if row.r.random() < 0.02:
                        rig.check_whole(row, "%s, after kill %d" % (name, kills), out)
                elif rc != 0:
                    complain(row, "%s, after kill %d" % (name, kills), p)
                    break
                else:
                    break
                p.stderr.close()
            row.add("runs")
            if rc == 0:
                rig.compare(row, "%s, run %d" % (name, row.figures["runs"]), out, whole,
                            b"nothing left to do" in p.stderr.read())
            p.stderr.close()
            if kills >= want or row.over():
                break


# ---- at every system call ----

def traced(argv, trace):
    return run(["strace", "-f", "-o", trace] + argv)


def calls(trace):
    """The system calls of a trace: {name: the most that one thread made}, since strace counts for
    each thread."""
    seen = {}
    with open(trace, errors="replace") as f:
        for line in f:
            m = re.match(r"(\d+) +(\w+)\(", line)
            if m:
                seen[m.groups()] = seen.get(m.groups(), 0) + 1
    most = {}
    for (_, name), n in seen.items():
        most[name] = max(most.get(name, 0), n)
    return most


def half_way(rig):
    """A directory in the middle of a run: 8 updates done, best.tfm and resume.tfm there; the next
    start makes one save on the grid and ends."""
    valid = rig.batches("valid.tfs", n=5, seed=9)
    stream = rig.batches("b12.tfs", n=12)
    more = [
        "--steps", "12", "--save-every", "4", "--keep", "1", "--valid", valid, "--valid-every", "4"
    ]

    def make():
        d = rig.path("half-way")
        shutil.rmtree(d, ignore_errors=True)
        rig.train(d, rig.batches("b10.tfs", n=10, end=0), *more)
        return d
    return rig.once("half-way", make), stream, more


def recovers(rig, row, what, out, stream, more, whole):
    rig.check_whole(row, what, out)
    d = rig.train(out, stream, *more)
    if d.rc != 0:
        row.fail("%s: the next start: status %s: %s", what, d.rc, d.err.strip())
    else:
        rig.compare(row, what, out, whole, "nothing left to do" in d.err)


def a2(rig, row):
    """SIGKILL at every system call of a start that recovers, saves, links and cleans up; and of
    every tool that replaces a file."""
    base, stream, more = half_way(rig)
    whole = rig.whole("12", stream, *more)
    out, trace = rig.path("a2"), rig.path("trace")

    def prepared():
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(base, out)
    prepared()
    argv = rig.train_argv(out, stream, *more)
    d = traced(argv, trace)
    if d.rc != 0:
        row.fail("under strace: %s", d.err)
        return
    # The calls of threads that only wait for each other differ from run to run and touch nothing.
    points = [(name, n) for name, most in sorted(calls(trace).items())
              if name not in ("futex", "exit_group", "exit") for n in range(1, most + 1)]
    row.add("points found", len(points))
    for name, n in row.some(points):
        prepared()
        d = run([
            "strace", "-f", "-qq", "-o", "/dev/null", "-e",
            "inject=%s:signal=KILL:when=%d" % (name, n)
        ] + argv)
        row.add("system calls killed" if d.rc in (-9, 137) else "system calls not reached")
        if d.rc not in (-9, 137, 0):
            row.fail("train, %s %d: status %s: %s", name, n, d.rc, d.err.strip())
        recovers(rig, row, "train, %s %d" % (name, n), out, stream, more, whole)
    # The same through the shim, which counts over all threads: nothing in the thread that saves is
    # hidden by a like call in main.
    prepared()
    for n in row.some(range(1, rig.counted(row, argv, "all") + 1)):
        prepared()
        d = run(argv, env=dict(LD_PRELOAD=SHIM, TF_FAULT_CALLS="all", TF_FAULT_AT=str(n),
                               TF_FAULT_DO="kill"))
        row.add("library calls killed" if d.rc == -9 else "library calls not reached")
        if d.rc not in (-9, 0):
            row.fail("train, call %d: status %s: %s", n, d.rc, d.err.strip())
        recovers(rig, row, "train, call %d" % n, out, stream, more, whole)
    for tool, argv in rig.tools():
        if rig.takes_output(argv):
            replaced(rig, row, tool, argv)


def replaced(rig, row, tool, argv):
    """The file under the name is the old one or the new one at any time."""
    where = rig.fresh("a2-tool")
    target, new, old = os.path.join(where, "out"), rig.reference(argv), b"what was here before\n"
    for n in row.some(range(1, rig.counted(row, argv, "all", target) + 1)):
        shutil.rmtree(where)
        os.makedirs(where)
        with open(target, "wb") as f:
            f.write(old)
        d = rig.with_output(argv, target, clear=False, env=dict(LD_PRELOAD=SHIM,
                                                                TF_FAULT_CALLS="all",
                                                                TF_FAULT_AT=str(n),
                                                                TF_FAULT_DO="kill"))
        row.add("library calls killed" if d.rc == -9 else "library calls not reached")
        if d.data not in (old, new):
            row.fail("%s, call %d: the file is neither the old nor the new one", tool, n)
        if d.rc not in (-9, 0):
            row.fail("%s, call %d: status %s: %s", tool, n, d.rc, d.err.strip())


# ---- the order of writing, and what a power cut leaves ----

def a3(rig, row):
    """Every rename has its data on the disk before and its directory after; and no state that a
    power cut may leave loses a checkpoint that was there."""
    trace = rig.path("trace")
    valid = rig.batches("valid.tfs", n=5, seed=9)
    stream = rig.batches("b20.tfs", n=20)
    more = [
        "--steps", "20", "--save-every", "4", "--valid", valid, "--valid-every", "5", "--keep", "2"
    ]
    where = rig.fresh("a3")
    out = os.path.join(where, "run")
    train = rig.train_argv(out, stream, *more)
    todo = [("train", train, where)]
    for tool, argv in rig.tools():
        if rig.takes_output(argv):
            todo.append((tool, argv[:1] + argv[1:2] * (argv[0] in ("tf-cbor", "tf-plot")) +
                         ["-o", os.path.join(where, "out")] +
                         argv[1 + (argv[0] in ("tf-cbor", "tf-plot")):], where))
    for tool, argv, d in todo:
        log = disk.trace(argv, trace, d)
        renames, wrong = disk.lint(log)
        row.add("renames linted", renames)
        for w in wrong:
            row.fail("%s: %s", tool, w)
        if renames == 0 and tool not in ("bleu", "info", "cbor check"):
            row.fail("%s: no rename seen", tool)
    # Power cuts of a run: the first start and one that resumes.
    want = rig.count(10000, short=150)
    shutil.rmtree(where)
    os.makedirs(where)
    log = disk.trace(train, trace, where)
    good = {sha_of for sha_of in disk.renamed(log)}
    resumed = 0
    for i in range(want):
        if row.over():
            break
        state, durable = disk.cut(log, row.r)
        row.add("disk states made")
        tfm = {
            p: data
            for p, data in state.items()
            if p.endswith(".tfm") and not os.path.basename(p).startswith(".tf-")
        }
        for p, data in tfm.items():
            if disk.digest(data) not in good:
                row.fail("state %d: %s is torn: %d bytes", i, p, len(data))
        if durable and not tfm:
            row.fail("state %d: a checkpoint was on the disk, and none is left", i)
        if i % max(1, want // rig.count(100, short=6)) == 0:
            shutil.rmtree(where)
            os.makedirs(where)
            disk.put(state, where)
            d = run(train)
            resumed += 1
            row.add("disk states resumed")
            names = sorted(f for f in os.listdir(out) if f.startswith("ckpt-"))
            if d.rc != 0 or not names or disk.digest(slurp(os.path.join(
                    out, names[-1]))) not in good or "20" not in names[-1]:
                row.fail("state %d: resumed with status %s: %s", i, d.rc, d.err.strip())


def a4(rig, row):
    """Killed at random, then three times more in the first moments of the next starts; then let
    go."""
    base = modes(rig)[2]
    name, stream, more = base
    whole = rig.whole(name, stream, *more)
    chains = rig.count(1000, short=6)
    out = rig.path("a4")
    t = time.time()
    rig.train(rig.path("whole-" + name), stream, *more)  # nothing left to do: the time of a start
    first = time.time() - t
    t = time.time()
    shutil.rmtree(rig.path("clock"), ignore_errors=True)
    rig.train(rig.path("clock"), stream, *more)
    span = time.time() - t
    while row.figures.get("chains", 0) < chains and not row.over():
        shutil.rmtree(out, ignore_errors=True)
        rc = None
        while rc != 0 and row.figures.get("chains", 0) < chains:
            for depth in range(4):
                p = start(rig, out, stream, more)
                rc = wait_for(
                    p,
                    row.r.uniform(0, 0.4 * span) if depth == 0 else row.r.uniform(0, 1.5 * first))
                if rc is None:
                    rc = kill(p)
                if rc == -9:
                    row.add("kills during recovery" if depth else "kills")
                elif rc != 0:
                    complain(row, "chain %d" % row.figures.get("chains", 0), p)
                p.stderr.close()
                if rc not in (-9, 0):
                    return
                if rc == 0:
                    break
            row.add("chains")
        d = rig.train(out, stream, *more)
        if d.rc != 0:
            row.fail("the last start: status %s: %s", d.rc, d.err.strip())
        rig.compare(row, "chain %d" % row.figures["chains"], out, whole, True)
        row.add("runs")


ROWS = [("A1", a1), ("A2", a2), ("A3", a3), ("A4", a4)]
