"""B: calls that fail, disks that are full, memory that is not there, reads and writes that come
back short."""
import os
import resource
import shutil
import subprocess

from kills import half_way
from rig import BIN, SHIM, run, slurp

ERRORS = ["ENOSPC", "EIO", "EDQUOT", "EFBIG"]


def judge(row, what, d, argv):
    """The end that every failure must have. True when the run failed."""
    row.add("faults")
    tool = argv[0]
    if d.rc not in (0, 1):
        row.fail("%s: status %s: %s", what, d.rc, d.err.strip())
    lines = d.errors()
    if d.rc == 0 and lines:
        row.fail("%s: status 0 and a complaint: %s", what, d.err.strip())
    if d.rc != 0 and (len(lines) != 1 or not lines[0].startswith(tool + ": ")):
        row.fail("%s: status %s without its one line: %s", what, d.rc, d.err.strip() or "(nothing)")
    row.add("ended with 1" if d.rc == 1 else "without effect" if d.rc == 0 else "wrong status")
    return d.rc != 0


def on_tool(rig, row, tool, argv, calls, points, do):
    """One tool, its output a file that exists."""
    where = rig.fresh("b-tool")
    target, new, old = os.path.join(where, "out"), rig.reference(argv), b"what was here before\n"
    for at in points:
        what = "%s, %s %s %s" % (tool, calls, at, do(at))
        for f in os.listdir(where):
            os.unlink(os.path.join(where, f))
        with open(target, "wb") as f:
            f.write(old)
        d = rig.with_output(argv, target, clear=False, env=dict(LD_PRELOAD=SHIM,
                                                                TF_FAULT_CALLS=calls,
                                                                TF_FAULT_AT=at, TF_FAULT_DO=do(at)))
        failed = judge(row, what, d, argv)
        if not failed and d.data != new:
            row.fail("%s: status 0, and the output is not what it must be", what)
        if failed and rig.takes_output(argv) and d.data not in (old, new):
            row.fail("%s: the file is neither the old nor the new one", what)
        left = [f for f in os.listdir(where) if f != "out"]
        if left and not at.endswith("+"):
            row.fail("%s: left %s", what, left)


def on_training(rig, row, base, stream, more, calls, points, do, whole):
    out = rig.path("b-train")
    for at in points:
        what = "train from %s, %s %s %s" % ("half-way" if base else "nothing", calls, at, do(at))
        shutil.rmtree(out, ignore_errors=True)
        if base:
            shutil.copytree(base, out)
        argv = rig.train_argv(out, stream, *more)
        d = run(argv,
                env=dict(LD_PRELOAD=SHIM, TF_FAULT_CALLS=calls, TF_FAULT_AT=at, TF_FAULT_DO=do(at)))
        failed = judge(row, what, d, argv)
        if not failed:
            # A clean-up that could not be done is no failure of the run.
            rig.compare(row, what, out, whole, True)
        left = [f for f in os.listdir(out) if f.startswith(".tf-")] if os.path.isdir(out) else []
        if left and not at.endswith("+"):
            row.fail("%s: left %s", what, left)
        rig.check_whole(row, what, out)
        d = run(argv)
        if d.rc != 0:
            row.fail("%s: the next start: status %s: %s", what, d.rc, d.err.strip())
        else:
            rig.compare(row, what, out, whole, True)


def both(row, n):
    """The points 1 to n, each once and from then on."""
    return row.some([str(i) + p for i in range(1, n + 1) for p in ("", "+")])


def b1(rig, row):
    """Each call on files fails in turn, once and from then on: ENOSPC, EIO, EDQUOT, EFBIG"""
    def do(at):
        return ERRORS[int(at.rstrip("+")) % len(ERRORS)]
    base, stream, more = half_way(rig)
    whole = rig.whole("12", stream, *more)
    for b in (base, None):
        out = rig.path("b-train")
        shutil.rmtree(out, ignore_errors=True)
        if b:
            shutil.copytree(b, out)
        n = rig.counted(row, rig.train_argv(out, stream, *more), "files")
        on_training(rig, row, b, stream, more, "files", both(row, n), do, whole)
    for tool, argv in rig.tools():
        n = rig.counted(row, argv, "files", rig.path("b-out"))
        on_tool(rig, row, tool, argv, "files", both(row, n), do)
        through_strace(rig, row, tool, argv)


def through_strace(rig, row, tool, argv):
    """Output to stdout, all of write(2) struck, the C library's own calls included."""
    out, new = rig.path("b-out"), None
    with open(out, "wb") as f:
        if run(argv, stdout=f).rc != 0:
            return  # needs -o
    new = slurp(out)
    trace = rig.path("trace")
    with open(out, "wb") as f:
        run(["strace", "-f", "-o", trace, "-e", "trace=write"] + argv, stdout=f)
    writes = sum(b" write(" in x for x in open(trace, "rb"))
    for i in row.some(range(1, writes + 1)):
        for plus in ("", "+"):
            error = ERRORS[i % len(ERRORS)]
            with open(out, "wb") as f:
                d = run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=write", "-e",
                         "inject=write:error=%s:when=%d%s" % (error, i, plus)] + argv, stdout=f)
            row.add("faults")
            row.add("ended with 1" if d.rc == 1 else "without effect")
            if d.rc == 0 and slurp(out) != new:
                row.fail("%s, write %d%s %s: status 0, and the output is not whole", tool, i, plus,
                         error)
            if d.rc not in (0, 1):
                row.fail("%s, write %d%s %s: status %s: %s", tool, i, plus, error, d.rc,
                         d.err.strip())


def b2(rig, row):
    """A full disk as stdout, and as a limit on the size of files: every tool, --help and --version
    too"""
    full = open("/dev/full", "wb")
    for tool in sorted(f for f in os.listdir(BIN) if f.startswith("tf-") and not f.endswith(".so")):
        for mode in (["--help"], ["--version"], ["--complete=bash"], ["--list-options"]):
            d = run([tool] + mode, stdout=full)
            row.add("faults")
            if d.rc != 1 or d.err != "%s: write error: No space left on device\n" % tool:
                row.fail("%s %s >/dev/full: status %s: %s", tool, mode[0], d.rc, d.err.strip())
    m = rig.material()
    more = [("devices", ["tf-info", "--devices"]),
            ("plan", ["tf-train", "--plan", "--vocab-size", "64"]),
            ("export", ["tf-tokenize", "-m", m["vocab"], "--export-vocab"]),
            ("pieces", ["tf-tokenize", "-m", m["vocab"], "--pieces", m["src"]])]
    for tool, argv in rig.tools() + more:
        if tool == "tokenize --train":
            continue
        d = run(argv, stdout=full)
        row.add("faults")
        if rig.reference(argv) == b"" and d.rc == 0:
            continue
        if d.rc != 1 or len(d.errors()) != 1 or "No space left on device" not in d.err:
            row.fail("%s >/dev/full: status %s: %s", tool, d.rc, d.err.strip())
    for tool, argv in rig.tools():
        if not rig.takes_output(argv):
            continue
        out, new = rig.path("b2-out"), rig.reference(argv)
        for size in sorted({0, 1, len(new) // 2, len(new) - 1} if new else ()):
            d = rig.with_output(
                argv, out, prepare=lambda n=size: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n)))
            row.add("faults")
            if (d.rc != 1 or "File too large" not in d.err or len(d.errors()) != 1
                    or d.data is not None):
                row.fail("%s under a limit of %d bytes: status %s: %s", tool, size, d.rc,
                         d.err.strip())


def b3(rig, row):
    """Allocations of ours fail, once and from then on: all of a tool, or 300 points drawn where
    there are more"""
    base, stream, more = half_way(rig)
    whole = rig.whole("12", stream, *more)

    def do(at):
        return "ENOMEM"

    def points(n):
        p = both(row, n)
        most = rig.count(300, short=6)
        return p if len(p) <= most else sorted(row.r.sample(p, most), key=p.index)
    out = rig.path("b-train")
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(base, out)
    n = rig.counted(row, rig.train_argv(out, stream, *more), "malloc")
    row.add("allocations", n)
    on_training(rig, row, base, stream, more, "malloc", points(n), do, whole)
    for tool, argv in rig.tools():
        n = rig.counted(row, argv, "malloc", rig.path("b-out"))
        row.add("allocations", n)
        on_tool(rig, row, tool, argv, "malloc", points(n), do)
        n = rig.counted(row, argv, "mmap", rig.path("b-out"))
        on_tool(rig, row, tool, argv, "mmap", both(row, n), do)


def b4(rig, row):
    """Reads and writes of 1 to 64 bytes with interruptions between them: the same bytes come out"""
    stream = rig.batches("b20.tfs", n=20)
    more = ["--steps", "20", "--save-every", "10"]
    whole = rig.whole("20", stream, *more)
    tools = rig.tools()
    out = rig.path("b4")
    for i in range(rig.count(1000, short=10)):
        if row.over():
            break
        env = dict(LD_PRELOAD=SHIM, TF_FAULT_SHORT=str(rig.seed * 1000003 + i))
        row.add("seeds")
        if i % 10 == 0:
            shutil.rmtree(out, ignore_errors=True)
            d = rig.train(out, stream, *more, env=env)
            if d.rc != 0:
                row.fail("train, seed %s: status %s: %s", env["TF_FAULT_SHORT"], d.rc,
                         d.err.strip())
            else:
                rig.compare(row, "train, seed " + env["TF_FAULT_SHORT"], out, whole)
            continue
        tool, argv = tools[i % len(tools)]
        d = rig.with_output(argv, rig.path("b4-out"), env=env)
        row.add("compared")
        if d.rc != 0 or d.data != rig.reference(argv):
            row.fail("%s, seed %s: status %s, %s: %s", tool, env["TF_FAULT_SHORT"], d.rc,
                     "other bytes" if d.rc == 0 else "no bytes", d.err.strip())
    # Through a pipe that gives a byte now and then, without the shim.
    for tool, argv in tools:
        if argv[-1].endswith((".tfs", ".txt")) and tool in ("tokenize", "decode", "cbor json",
                                                            "cbor seal", "tokenize -d"):
            want = run(argv).out
            feeder = subprocess.Popen(["dd", "if=" + argv[-1], "bs=3", "status=none"],
                                      stdout=subprocess.PIPE)
            d = run(argv[:-1] + ["-"], stdin=feeder.stdout)
            feeder.stdout.close()
            feeder.wait()
            row.add("compared")
            if d.rc != 0 or d.out != want:
                row.fail("%s from a pipe: status %s: %s", tool, d.rc, d.err.strip())


ROWS = [("B1", b1), ("B2", b2), ("B3", b3), ("B4", b4)]
