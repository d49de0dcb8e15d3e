"""P: inputs that change while a tool reads them."""
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import threading

from rig import ENV, SHIM, SMALL, TIMEOUT, Done, run, slurp

CALLS = "open,read,pread,mmap,stat"
LONG = 140000  # bytes: more than two buffers


def put(path, data):
    """Into the file that is there, as `cat >path` does."""
    with open(path, "r+b") as f:
        f.truncate(0)
        f.write(data)


def patch(path, data):
    """Other bytes in the middle, of the same number."""
    with open(path, "r+b") as f:
        f.seek(len(data) // 2)
        f.write(bytes(x ^ 0x55 for x in data[len(data) // 2:len(data) // 2 + 16]))


def replace(path, data):
    with open(path + ".new", "wb") as f:
        f.write(data)
    os.rename(path + ".new", path)


def grow(path, data):
    with open(path, "ab") as f:
        f.write(data)


# Name: what is done to a file whose contents are `old`, when `other` is another file of its kind.
CHANGES = {
    "emptied": lambda p, old, other: os.truncate(p, 0),
    "cut in half": lambda p, old, other: os.truncate(p, len(old) // 2),
    "cut by a byte": lambda p, old, other: os.truncate(p, len(old) - 1),
    "patched": lambda p, old, other: patch(p, old),
    "overwritten": lambda p, old, other: put(p, other),
    "replaced": lambda p, old, other: replace(p, other),
    "grown by junk": lambda p, old, other: grow(p, b"\x1fjunk" * 40),
    "grown by another": lambda p, old, other: grow(p, other),
    "removed": lambda p, old, other: os.unlink(p),
}


def lines(seed, make, number=4000):
    """Two texts of more than LONG bytes, of lines that make(random, line number) returns."""
    def text(r):
        return "".join(make(r, n) + "\n" for n in range(number)).encode()
    both = text(random.Random(seed)), text(random.Random(seed + 1))
    assert all(len(x) > LONG for x in both), [len(x) for x in both]
    return both


def word(r):
    return "".join(r.choice("abcdefghij") for _ in range(r.randint(1, 5)))


def sentence(r, _=0):
    return " ".join(word(r) for _ in range(12))


def tree(n):
    r = random.Random(n)
    return "(S (NP (DT %s) (NN %s)) (VP (VB %s)))" % (word(r), word(r), word(r))


def texts():
    """Inputs that are read as text, without a checksum."""
    files = {
        "text": lines(1, sentence),
        "log": lines(3, lambda r, n: '{"event":"train","step":%d,"loss":%.4f}' %
                     (n, 9 * r.random())),
        "matrix": lines(5, lambda r, n: ",".join("%.6f" % r.random() for _ in range(40)), 500),
        "gold": lines(7, lambda r, n: tree(n).replace("DT", r.choice(["DT", "JJ"]))),
        "test": lines(9, lambda r, n: tree(n).replace("VB", r.choice(["VB", "MD"]))),
        "param": lines(11, lambda r, n: r.choice(["# ", "DELETE_LABEL "]) + 15 * word(r)),
        "ref": lines(13, lambda r, n: sentence(random.Random(n)) + r.choice(["", " a"])),
        "hyp": lines(15, lambda r, n: sentence(random.Random(n)) + r.choice(["", " b"])),
        "prefixes": lines(17, lambda r, n: 10 * word(r) + r.choice(["", " #NUMERIC_ONLY#"])),
        "words": lines(19, lambda r, n: "%s %s" % (10 * word(r), word(r)), 7000),
        "sequences": lines(21, lambda r, n: r.choice(["S NP NN /NP VP VB /VP /S",
                                                      "S NP NN VP VB /VP /NP /S"]), 7000),
    }
    files["gzip"] = tuple(gzip.compress(x, 1, mtime=0) for x in lines(23, sentence, 6000))
    return files


def config_of(safetensors):
    """The configuration, as a file of more than LONG bytes."""
    n = int.from_bytes(safetensors[:8], "little")
    return json.loads(safetensors[8:8 + n])["__metadata__"]["config"].encode() + b" " * LONG


def long_streams(d, m, must):
    """Inputs made by the tools, longer than two buffers."""
    files, at = {}, lambda name: os.path.join(d, name)
    wide = ["--preset", "tiny", "--layers", "1", "--d-model", "32", "--d-ff", "256", "--heads", "2",
            "--device", "cpu", "--threads", "1", "--steps", "1", "--vocab", m["vocab"]]
    for i, text in enumerate(lines(19, sentence)):
        x = str(i)
        with open(at("long" + x), "wb") as f:
            f.write(text)
        must(["tf-tokenize", "-m", m["vocab"], "-o", "insert" + x, "long" + x])
        with open(at("json" + x), "wb") as f:
            f.write(run(["tf-cbor", "json", at("insert" + x)]).out)
        must(["tf-split", "--max-chars", "20", "-l", "layout" + x, "-o", "sentences" + x,
              "long" + x])
        must(["tf-cbor", "head", "-n", "20", "-o", "few" + x, "insert" + x])
        must(["tf-attn", "-m", m["model"], "-t", "1", "-o", "attention" + x, "few" + x, "few" + x])
        with open(at("stats" + x), "wb") as f:
            f.write(run(["tf-bleu", "--stats", at("long0"), "-i", at("long" + x)]).out)
        must(["tf-train", "-q"] + wide + ["--seed", x, "-o", "wide" + x, m["b"]])
        must(["tf-convert", "-o", "safetensors" + x, "wide%s/ckpt-00000001.tfm" % x])
    for name in ("insert", "json", "layout", "sentences", "attention", "stats", "safetensors"):
        files[name] = slurp(at(name + "0")), slurp(at(name + "1"))
        assert min(map(len, files[name])) > LONG, (name, [len(x) for x in files[name]])
    old = config_of(files["safetensors"][0])
    files["config"] = old, old.replace(b'"dropout":0.', b'"dropout":0.0')
    assert old != files["config"][1]
    return files


def others(rig):
    """{name: (old, other)}: the contents of two files for each input; each works with the old ones
    of the others."""
    m = rig.material()

    def make():
        d = rig.fresh("others")
        files = {}

        def must(argv):
            done = run(argv, cwd=d)
            if done.rc != 0:
                raise SystemExit("cannot make the inputs: %s: %s" % (" ".join(argv), done.err))

        def pair(name, old, other, argv):
            must(argv)
            files[name] = (slurp(old), slurp(os.path.join(d, other)))
        with open(os.path.join(d, "src"), "wb") as f:
            f.write(b"".join(reversed(slurp(m["src"]).splitlines(True))))
        tokens = ["tf-tokenize", "--threads", "1", "-m", m["vocab"], "-o"]
        pair("s", m["s"], "s", tokens + ["s", "src"])
        pair("t", m["t"], "t", tokens + ["t", "src"])
        pair("out", m["out"], "out", tokens + ["out", m["src"]])
        pair("vocab", m["vocab"], "vocab",
             ["tf-tokenize", "--train", "--vocab-size", "38", "-o", "vocab", m["src"], m["tgt"]])
        batch = ["tf-batch", "-q", "--tokens", "60", "--batches", "20", "--seed", "2", "-o"]
        pair("b", m["b"], "b", batch + ["b", m["s"], m["t"]])
        pair("valid", m["valid"], "valid", batch + ["valid", m["s"], m["t"]])
        pair("model", m["model"], "model", ["tf-avgckpt", "-n", "1", "-o", "model", m["run"]])
        first, last = (os.path.join(m["run"], "ckpt-000000%d0.tfm" % i) for i in (1, 2))
        files["first"] = (slurp(first), slurp(last))
        files["list"] = (b"s.in\tt.in\nt.in\ts.in\n", b"t.in\ts.in\n")
        files.update(texts())
        files.update(long_streams(d, m, must))
        must(["tf-convert", "-o", "npz", "--to", "npz", m["model"]])
        pair("npz", os.path.join(d, "npz"), "npz2", ["tf-convert", "-o", "npz2", "--to", "npz", last])
        return files
    return rig.once("others", make)


def commands(rig):
    """(name, command with {inputs}, those that change). Output is stdout and "o", a directory for
    training."""
    m = rig.material()
    tok, small = ["tf-tokenize", "--threads", "1"], ["-t", "1", "--max-extra", "3"]
    train = ["tf-train"] + SMALL + ["--steps", "6", "--save-every", "3", "-o", "o"]
    return [
        ("tokenize", tok + ["-m", "{vocab}", "-o", "o", m["src"]], ["vocab"]),
        ("tokenize with a model", tok + ["-m", "{model}", "-o", "o", m["src"]], ["model"]),
        ("tokenize -d", tok + ["-d", "-m", "{model}", "-o", "o", "{out}"], ["model", "out"]),
        ("batch", ["tf-batch", "-q", "--tokens", "60", "--epochs", "2", "-o", "o", "{s}",
                   "{t}"], ["s", "t"]),
        ("batch of a list", ["tf-batch", "-q", "--tokens", "60", "--epochs", "2", "-o", "o",
                             "--group", "1", "--list", "{list}"], ["list", "s", "t"]),
        ("avgckpt", ["tf-avgckpt", "-o", "o", "{first}", "{model}"], ["first", "model"]),
        ("decode", ["tf-decode", "-m", "{model}", "-o", "o"] + small + ["{s}"], ["model", "s"]),
        ("decode with prefixes", ["tf-decode", "-m", m["model"], "--prefix", "{out}", "-o", "o"] +
         small + [m["s"]], ["out"]),
        ("decode with two models", ["tf-decode", "-m", "{model}", "-m", "{first}", "-o", "o"] +
         small + [m["s"]], ["model", "first"]),
        ("score", ["tf-score", "-m", "{model}", "-t", "1", "-o", "o", "{s}",
                   "{t}"], ["model", "s", "t"]),
        ("attn", ["tf-attn", "-m", "{model}", "-t", "1", "-o", "o", "{s}",
                  "{t}"], ["model", "s", "t"]),
        ("convert", ["tf-convert", "-o", "o", "--to", "npz", "{model}"], ["model"]),
        ("convert from npz", ["tf-convert", "-o", "o", "--to", "tfm", "{npz}"], ["npz"]),
        ("bleu", ["tf-bleu", "--tokenize", "spm", "--spm-model", "{model}", m["tgt"],
                  "-i", m["text"]], ["model"]),
        ("cbor json", ["tf-cbor", "json", "-o", "o", "{s}"], ["s"]),
        ("cbor seal", ["tf-cbor", "seal", "-o", "o", "{b}"], ["b"]),
        ("cbor count", ["tf-cbor", "count", "-o", "o", "{model}"], ["model"]),
        ("cbor check", ["tf-cbor", "check", "{first}"], ["first"]),
        ("cbor check of batches", ["tf-cbor", "check", "{b}"], ["b"]),
        ("info", ["tf-info", "{model}"], ["model"]),
        ("train", train + ["--vocab", "{vocab}", "--valid", "{valid}", "--valid-every", "2",
                           "{b}"], ["vocab", "valid", "b"]),
        ("tokenize text", tok + ["-m", m["vocab"], "-o", "o", "{text}"], ["text"]),
        ("tokenize gzip", tok + ["-m", m["vocab"], "-o", "o", "{gzip}"], ["gzip"]),
        ("tokenize --train", ["tf-tokenize", "--train", "--vocab-size", "40", "--max-sentences",
                              "50", "-o", "o", "{text}"], ["text"]),
        ("convert from safetensors", ["tf-convert", "-o", "o", "{safetensors}"], ["safetensors"]),
        ("convert with a configuration", ["tf-convert", "-o", "o", "--config", "{config}",
                                          "--vocab", "{vocab}", "{safetensors}"],
         ["config", "vocab", "safetensors"]),
        ("split", ["tf-split", "-o", "o", "{text}"], ["text"]),
        ("split -d", ["tf-split", "-d", "-l", "{layout}", "-o", "o", "{sentences}"],
         ["layout", "sentences"]),
        ("plot curve", ["tf-plot", "curve", "{log}"], ["log"]),
        ("plot heat", ["tf-plot", "heat", "{matrix}"], ["matrix"]),
        ("plot attention", ["tf-plot", "attention", "{attention}"], ["attention"]),
        ("evalb", ["tf-evalb", "-p", "{param}", "{gold}", "{test}"], ["param", "gold", "test"]),
        ("tree", ["tf-tree", "-c", "-o", "o", "{gold}"], ["gold"]),
        ("tree -l", ["tf-tree", "-l", "-o", "o", "{gold}"], ["gold"]),
        ("tree -r", ["tf-tree", "-r", "-o", "o", "-w", "{words}", "{sequences}"],
         ["words", "sequences"]),
        ("bleu of text", ["tf-bleu", "{ref}", "-i", "{hyp}"], ["ref", "hyp"]),
        ("bleu --prefixes", ["tf-bleu", "--as", "paper", "--prefixes", "{prefixes}", "{ref}", "-i",
                             "{hyp}"], ["prefixes"]),
        ("bleu --from-stats", ["tf-bleu", "--from-stats", "{stats}"], ["stats"]),
        ("decode --insert", ["tf-decode", "-m", m["model"], "--device", "cpu", "--insert",
                             "{insert}", "-o", "o"] + small + [m["s"]], ["insert"]),
        ("cbor unjson", ["tf-cbor", "unjson", "-o", "o", "{json}"], ["json"]),
        ("train from a model", ["tf-train", "--init", "{model}", "--device", "cpu", "--steps", "4",
                                "--save-every", "2", "-o", "o", "{b}"], ["model", "b"]),
    ]


def contents(path):
    """What the command left: a file's bytes, the checkpoints of a directory, or None."""
    if os.path.isdir(path):
        return {f: slurp(os.path.join(path, f)) for f in sorted(os.listdir(path))
                if f.endswith(".tfm") or f.startswith(".tf-")}
    return slurp(path) if os.path.exists(path) else None


def stopped(argv, where, at, change):
    """Run it, and make the change while it waits before one of its calls. Returns (Done, was it
    stopped)."""
    env = dict(ENV, LD_PRELOAD=SHIM, TF_FAULT_CALLS=CALLS, TF_FAULT_AT=str(at), TF_FAULT_DO="stop")
    with open(os.path.join(where, "stdout"), "w+b") as out, open(
            os.path.join(where, "stderr"), "w+b") as err:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env,
                             cwd=where)
        late = threading.Timer(TIMEOUT, p.kill)
        late.start()
        _, status = os.waitpid(p.pid, os.WUNTRACED)
        was = os.WIFSTOPPED(status)
        if was:
            change()
            p.send_signal(signal.SIGCONT)
            _, status = os.waitpid(p.pid, 0)
        hang = late.finished.is_set()
        late.cancel()
        p.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        out.seek(0)
        return Done("hang" if hang else p.returncode, out.read(),
                    err.read().decode(errors="replace"), 0), was


class Case:
    """A command whose inputs are files of its own in a directory: those of argv, and `more`."""

    def __init__(self, rig, name, argv, more):
        self.files, self.name = others(rig), name
        self.where = rig.fresh("p")
        self.argv = [self.place(x) for x in argv]
        self.inputs = {x[1:-1] for x in argv if x.startswith("{")} | set(more)

    def place(self, x):
        return x[1:-1] + ".in" if x.startswith("{") else x

    def path(self, name):
        return os.path.join(self.where, name + ".in")

    def fresh(self):
        shutil.rmtree(os.path.join(self.where, "o"), ignore_errors=True)
        if os.path.exists(os.path.join(self.where, "o")):
            os.unlink(os.path.join(self.where, "o"))
        for name in self.inputs:
            replace(self.path(name), self.files[name][0])
            os.utime(self.path(name), (10**9, 10**9))  # a change is later, however coarse the clock

    def change(self, name, how):
        CHANGES[how](self.path(name), *self.files[name])

    def result(self):
        return contents(os.path.join(self.where, "o"))

    def calls(self):
        self.fresh()
        report = os.path.join(self.where, "report")
        d = run(self.argv, cwd=self.where, env=dict(LD_PRELOAD=SHIM, TF_FAULT_CALLS=CALLS,
                                                    TF_FAULT_REPORT=report))
        if d.rc != 0:
            raise SystemExit("%s: %s" % (self.name, d.err))
        return int(slurp(report).split()[0])

    def before(self, name, how):
        """What comes out if the change was made before the start."""
        self.fresh()
        if how:
            self.change(name, how)
        d = run(self.argv, cwd=self.where)
        return d.rc, d.out, self.result()


def one(row, case, name, how, at, good):
    what = "%s, %s %s at call %d" % (case.name, name, how, at)
    case.fresh()
    d, was = stopped(case.argv, case.where, at, lambda: case.change(name, how))
    row.add("cases")
    row.add("stopped" if was else "ended before the call")
    row.add("refused" if d.rc == 1 else "old or new")
    got = case.result()
    if d.rc == 1:
        left = [] if got is None else list(got) if isinstance(got, dict) else ["o"]
        if len(d.errors()) != 1 or any(not x.endswith(".tfm") for x in left):
            row.fail("%s: left %s: %s", what, left, d.err.strip())
    elif d.rc not in (0, 4) or (d.rc, d.out, got) not in good:
        row.fail("%s: status %s, %s: %s", what, d.rc,
                 "neither the old nor the new result" if d.rc in (0, 4) else "not 0 or 1",
                 d.err.strip())


def p(rig, row):
    """Inputs that are truncated, overwritten, replaced, grown or removed while a tool stands before a
    call that reads: the result is that of the old file or of the new one, or status 1"""
    for name, argv, inputs in commands(rig):
        if rig.short and row.r.random() < 0.6:
            continue
        case = Case(rig, name, argv, inputs)
        row.add("commands")
        points = range(1, case.calls() + 1)
        most = rig.count(24, short=2)
        if len(points) > most:
            points = sorted(row.r.sample(points, most))
        for x in inputs:
            hows = list(CHANGES)
            for how in row.r.sample(hows, 2) if rig.short else hows:
                good = [case.before(x, None), case.before(x, how)]
                for at in points:
                    if row.over():
                        return
                    one(row, case, x, how, at, good)


ROWS = [("P", p)]
