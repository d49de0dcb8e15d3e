"""L: where output goes, who may write there, and two who want the same directory."""
import os
import shutil
import stat
import subprocess
import tempfile
import threading

from rig import ENV, run, slurp
from users import THEM, Place, as_user


def denied(done, path):
    """Status 1, because of this path and of no other."""
    return done.rc == 1 and path in done.err and "Permission denied" in done.err


def read_only(rig, row, top):
    """A directory of ours, as a user who may not write there but reach and read all that is named:
    the directory above our work may be private."""
    place = Place(row, top)
    os.chmod(top, 0o755)
    m = rig.material()
    vocab, text = place.copy(m["vocab"]), place.copy(m["src"])
    batches = place.copy(rig.batches("b20.tfs", n=20))
    ro = os.path.join(top, "ro")
    os.mkdir(ro)
    with open(os.path.join(ro, "old"), "w") as f:
        f.write("old")
    os.chmod(ro, 0o555)
    for name in ("old", "new"):
        out = os.path.join(ro, name)
        d = run(as_user(THEM, ["tf-tokenize", "--threads", "1", "-m", vocab, "-o", out, text]))
        row.add("places")
        if not denied(d, ro) or os.listdir(ro) != ["old"] or slurp(os.path.join(ro, "old")) != b"old":
            row.fail("read-only directory, %s: status %s: %s", name, d.rc, d.err.strip())
    for run_dir in (os.path.join(ro, "run"), ro):
        d = run(as_user(THEM, rig.train_argv(run_dir, batches)))
        row.add("places")
        if not denied(d, ro):
            row.fail("training in %s: status %s: %s", run_dir, d.rc, d.err.strip())
    os.chmod(batches, 0)
    d = run(as_user(THEM, ["tf-cbor", "check", batches]))
    row.add("places")
    if not denied(d, batches):
        row.fail("a file that may not be read: status %s: %s", d.rc, d.err.strip())


def l1(rig, row):
    """Links, directories, FIFOs, devices, places that cannot be written, output that is the input:
    kept, followed or refused as said"""
    m = rig.material()
    new = rig.reference(["tf-tokenize", "--threads", "1", "-m", m["vocab"], m["src"]])
    where = rig.fresh("l1")

    def tok(out, **kw):
        row.add("places")
        return run(["tf-tokenize", "--threads", "1", "-m", m["vocab"], "-o", out, m["src"]],
                   cwd=where, **kw)

    def at(name):
        return os.path.join(where, name)

    def want(what, d, rc, text="", data=None):
        if d.rc != rc or text not in d.err or rc and len(d.errors()) != 1:
            row.fail("%s: status %s: %s", what, d.rc, d.err.strip())
        if data is not None and slurp(data) != new:
            row.fail("%s: other bytes", what)
        left = [f for f in os.listdir(where) if f.startswith(".tf-")]
        if left:
            row.fail("%s: left %s", what, left)
    want("new file", tok("a"), 0, data=at("a"))
    os.symlink("a", at("link"))
    want("link to a file", tok("link"), 0, data=at("a"))
    if not os.path.islink(at("link")):
        row.fail("the link became a file")
    os.mkdir(at("d"))
    os.symlink("d/far", at("dangling"))
    want("dangling link", tok("dangling"), 0, data=at("d/far"))
    if not os.path.islink(at("dangling")):
        row.fail("the dangling link became a file")
    os.symlink("loop", at("loop"))
    want("link to itself", tok("loop"), 1, "loop")
    want("directory", tok("d"), 1, "is a directory")
    want("missing directory", tok("none/x"), 1, "No such file")
    want("a file as directory", tok("a/x"), 1, "Not a directory")
    want("empty name", tok(""), 2, "empty file name")
    want("name with LF", tok("a\nb"), 0, data=at("a\nb"))
    want("LF in a message", tok("n\no/x"), 1, "n\\x0ao/x")
    want("name of bytes", tok(b"\xff\x1b[31m"), 0)
    want("escape in a message", tok("\x1b[31m/x"), 1, "\\x1b[31m")
    want("long name", tok("x" * 255), 0, data=at("x" * 255))
    want("too long a name", tok("x" * 256), 1, "File name too long")
    want("dashes", tok("./--help"), 0, data=at("--help"))
    os.link(at("a"), at("hard"))
    want("hard link", tok("hard"), 0, data=at("hard"))
    os.chmod(at("a"), 0o640)
    want("mode kept", tok("a"), 0, data=at("a"))
    if stat.S_IMODE(os.stat(at("a")).st_mode) != 0o640:
        row.fail("the mode of the file was not kept: %o", os.stat(at("a")).st_mode)
    os.mkfifo(at("fifo"))
    got = []
    t = threading.Thread(target=lambda: got.append(slurp(at("fifo"))))
    t.start()
    want("FIFO", tok("fifo", timeout=20), 0)
    t.join()
    if got != [new] or not stat.S_ISFIFO(os.stat(at("fifo")).st_mode):
        row.fail("FIFO: other bytes")
    want("/dev/null", tok("/dev/null"), 0)
    want("/dev/full", tok("/dev/full"), 1, "No space left")
    d = tok("/dev/stdout")
    if d.rc != 0 or d.out != new:
        row.fail("/dev/stdout: status %s: %s", d.rc, d.err)
    shutil.copy(m["s"], at("s.tfs"))
    before = slurp(at("s.tfs"))
    for argv in (["tf-cbor", "seal", "-o", "s.tfs",
                  "s.tfs"], ["tf-batch", "-q", "-o", "s.tfs", "s.tfs",
                             "s.tfs"], ["tf-decode", "-m", m["model"], "-o", "s.tfs", "s.tfs"]):
        d = run(argv, cwd=where)
        row.add("places")
        # Refused, or read whole before the rename: in no case is the input gone and nothing there.
        if d.rc not in (0, 1, 2) or d.rc and slurp(at("s.tfs")) != before:
            row.fail("%s over its input: status %s: %s", argv[0], d.rc, d.err.strip())
        if d.rc == 0 and run(["tf-cbor", "check", "s.tfs"], cwd=where).rc != 0:
            row.fail("%s over its input: destroyed", argv[0])
        with open(at("s.tfs"), "wb") as f:
            f.write(before)
    with open(at("s.tfs"), "rb") as f, open(at("s.tfs"), "ab") as g:
        d = run(["tf-cbor", "seal"], stdin=f, stdout=g, timeout=20)
    row.add("places")
    if d.rc == "hang" or os.path.getsize(at("s.tfs")) > 10 * len(before) + 100000:
        row.fail("a filter that appends to its own input never ends")
    if os.getuid() == 0 and not row.lacks("setpriv"):
        top = tempfile.mkdtemp(prefix="tf-faults-")
        read_only(rig, row, top)
        shutil.rmtree(top)
    # Run directories.
    stream = rig.batches("b20.tfs", n=20)
    for what, out, rc, text in (("a file", at("a"), 1, "a"), ("below a file", at("a/run"), 1,
                                                              "Not a directory"),
                                ("no parent", at("no/run"), 1,
                                 "No such file"), ("trailing slashes", at("run1") + "//", 0, ""),
                                ("dots", at("d/../run2/."), 1, ""), ("LF", at("r\nn"), 0, "")):
        d = rig.train(out, stream, "--steps", "3")
        row.add("places")
        if d.rc != rc or text not in d.err:
            row.fail("run directory, %s: status %s: %s", what, d.rc, d.err.strip())
    os.mkdir(at("real"))
    os.symlink("real", at("runlink"))
    d = rig.train(at("runlink"), stream, "--steps", "3")
    row.add("places")
    if d.rc != 0 or not os.path.exists(at("real/ckpt-00000003.tfm")):
        row.fail("run directory, a link: status %s: %s", d.rc, d.err.strip())
    for name in ("ckpt-00000009.tfm", "lock", "log.jsonl"):
        out = rig.fresh("l1-run")
        os.mkdir(os.path.join(out, name))
        d = rig.train(out, stream, "--steps", "3")
        row.add("places")
        if d.rc != 1 or len(d.errors()) != 1:
            row.fail("%s is a directory: status %s: %s", name, d.rc, d.err.strip())


def l2(rig, row):
    """Two trainers race for one directory: one trains, the other says who holds it, with 75; killed
    ones leave no lock"""
    stream = rig.batches("b20.tfs", n=20)
    more = ["--steps", "20", "--save-every", "10"]
    whole = rig.whole("20", stream, *more)
    for i in range(rig.count(1000, short=10)):
        if row.over():
            break
        out = rig.path("l2")
        shutil.rmtree(out, ignore_errors=True)
        argv = rig.train_argv(out, stream, *more)
        two = [
            subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENV)
            for _ in range(2)
        ]
        if i % 5 == 4:
            two[row.r.randrange(2)].kill()
            row.add("one of them killed")
        ends = [(p.communicate(timeout=60)[1].decode(), p.returncode) for p in two]
        row.add("races")
        for err, rc in ends:
            # The second is refused, or came when the first was done.
            if rc not in (0, 75, -9) or rc == 75 and "in use by process" not in err:
                row.fail("race %d: status %s: %s", i, rc, err.strip())
        row.add("refused with 75", sum(rc == 75 for _, rc in ends))
        if all(rc == 75 for _, rc in ends):
            row.fail("race %d: nobody won", i)
        d = run(argv)
        if d.rc != 0:
            row.fail("race %d: the next start: status %s: %s", i, d.rc, d.err.strip())
        rig.compare(row, "race %d" % i, out, whole, True)


ROWS = [("L1", l1), ("L2", l2)]
