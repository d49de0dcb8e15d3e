"""What all rows share: a model that trains in a fraction of a second, the tools with small work for
each, and the record of what was run."""
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("TF_BIN") or os.path.join(TOP, "build", "bin")
SAN = os.environ.get("TF_SAN", "")
SHIM = os.environ.get("TF_SHIM") or os.path.join(os.path.dirname(BIN), "tests", "faults", "shim.so")
TIMEOUT = 60

# A model of 1+1 layers and width 16 over 64 pieces.
SMALL = [
    "--preset", "tiny", "--layers", "1", "--d-model", "16", "--d-ff", "32", "--heads", "2",
    "--dropout", "0.1", "--attention-dropout", "0.1", "--warmup", "20", "--device", "cpu",
    "--threads", "1"
]

ENV = {k: v for k, v in os.environ.items() if not k.startswith("TF_FAULT")}
ENV["PATH"] = BIN + ":" + ENV.get("PATH", "/usr/bin:/bin")
ENV.setdefault("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1")

STATUSES = (0, 1, 2, 3, 4, 75)


class Done:
    """How a command ended."""

    def __init__(self, rc, out, err, seconds):
        self.rc, self.out, self.err, self.seconds = rc, out, err, seconds

    def errors(self):
        """The lines that are neither warnings nor notes of a run that goes well."""
        notes = ("resuming from", "the stream ended at", "the stream ended within",
                 "stopped at step", "stopping at step", "pairs in", "1 pair in 1 batch", " pairs, ",
                 "sequences restored",
                 "gave", "nothing left to do", "finished at step", "validation perplexity")
        return [
            x for x in self.err.splitlines()
            if ": warning: " not in x and not any(n in x for n in notes)
        ]


def run(argv, stdin=None, env=None, cwd=None, timeout=TIMEOUT, stdout=subprocess.PIPE,
        prepare=None):
    start = time.time()
    e = dict(ENV, **env) if env else ENV
    data = stdin if isinstance(stdin, bytes) else None
    p = subprocess.Popen(argv, stdin=subprocess.PIPE if data is not None else stdin
                         or subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, env=e,
                         cwd=cwd, preexec_fn=prepare)
    try:
        out, err = p.communicate(data, timeout)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        return Done("hang", out, err.decode(errors="replace"), time.time() - start)
    return Done(p.returncode, out, err.decode(errors="replace"), time.time() - start)


def sha(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def slurp(path):
    with open(path, "rb") as f:
        return f.read()


class Row:
    """One row of the scoreboard: figures by name, and what went wrong."""

    def __init__(self, rig, name, what):
        self.rig, self.name, self.what = rig, name, what
        self.figures, self.failures, self.notes = {}, [], []
        self.r = random.Random("%s %d" % (name, rig.seed))
        self.start, self.seconds = time.time(), 0

    def add(self, figure, n=1):
        self.figures[figure] = self.figures.get(figure, 0) + n

    def note(self, text):
        self.notes.append(text)

    def lacks(self, program):
        """Is it not installed? Then the row says so."""
        if shutil.which(program):
            return False
        if program in os.environ.get("TF_TEST_REQUIRE", "").split():
            self.fail("%s is not installed, but required", program)
        self.note("%s is not installed: what needs it was not run" % program)
        return True

    def fail(self, fmt, *args):
        text = fmt % args if args else fmt
        self.failures.append(text[:1000])
        print("%s: FAILED: %s" % (self.name, text[:2000]), file=sys.stderr, flush=True)

    def some(self, points):
        """All of the points, or in a short run one in forty of them, drawn by the seed."""
        points = list(points)
        n = self.rig.count(len(points), short=max(3, len(points) // 40), scaled=False)
        return points if n >= len(points) else sorted(self.r.sample(points, n), key=points.index)

    def over(self):
        """Is the time up that --minutes gives to each row?"""
        return self.rig.minutes is not None and time.time() - self.start > 60 * self.rig.minutes


class Rig:
    def __init__(self, tmp, seed=1, scale=1.0, short=False, minutes=None, number=None):
        self.tmp, self.seed, self.scale, self.short, self.minutes = tmp, seed, scale, short, minutes
        self.number = number
        os.makedirs(tmp, exist_ok=True)
        self.made = {}

    def count(self, n, short, scaled=True):
        return short if self.short else max(1, int(n * self.scale)) if scaled else n

    def path(self, *names):
        return os.path.join(self.tmp, *names)

    def fresh(self, name):
        """An empty directory of that name."""
        p = self.path(name)
        shutil.rmtree(p, ignore_errors=True)
        os.makedirs(p)
        return p

    def once(self, name, make):
        if name not in self.made:
            self.made[name] = make()
        return self.made[name]

    def locales(self):
        """(environment, names) of the locales of row I2: those that the machine lacks are made in a
        directory of ours, where their sources are here."""
        def make():
            where = self.fresh("locales")
            for name in ("tr_TR", "de_DE"):
                made = os.path.join(where, name + ".UTF-8")
                if shutil.which("localedef"):
                    subprocess.run(["localedef", "-i", name, "-f", "UTF-8", made],
                                   capture_output=True)
                if not os.path.exists(os.path.join(
                        made, "LC_CTYPE")):  # without sources it leaves an empty directory
                    shutil.rmtree(made, ignore_errors=True)
            env = dict(LOCPATH=where) if os.listdir(where) else {}
            have = subprocess.run(["locale", "-a"], capture_output=True,
                                  text=True).stdout.split() + os.listdir(where)
            have = {x.replace("utf8", "UTF-8") for x in have}
            return env, [x for x in ("C", "POSIX", "tr_TR.UTF-8", "de_DE.UTF-8") if x in have]
        return self.once("locales", make)

    # ---- material ----

    def batches(self, name="b.tfs", **opts):
        """A batch stream that no code of the tools made."""
        p = self.path(name)

        def make():
            with open(p, "wb") as f:
                subprocess.run(["/usr/bin/python3",
                                os.path.join(TOP, "tests/cli/batches.py")] +
                               ["%s=%s" % x for x in opts.items()],
                               stdout=f,
                               check=True)
            return p
        return self.once("batches " + name + repr(sorted(opts.items())), make)

    def material(self):
        """Text, vocabulary, token streams, batches, a run and its mean, made by the tools: a dict
        of paths."""
        def must(argv, **kw):
            d = run(argv, **kw)
            if d.rc != 0:
                sys.exit("cannot make the material: %s: %s" % (" ".join(argv), d.err))

        def make():
            d = self.fresh("material")
            r = random.Random(7)
            words = [
                "".join(r.choice("abcdefghij") for _ in range(r.randint(1, 5))) for _ in range(30)
            ]
            m = {n: os.path.join(d, f) for n, f in dict(src="s.txt", tgt="t.txt", vocab="v.model",
                                                        s="s.tfs", t="t.tfs", b="b.tfs",
                                                        valid="valid.tfs", run="run", model="m.tfm",
                                                        out="o.tfs", text="o.txt", layout="layout",
                                                        sentences="sentences",
                                                        trees="trees").items()}
            for n in ("src", "tgt"):
                with open(m[n], "w") as f:
                    for _ in range(60):
                        f.write(" ".join(r.choice(words) for _ in range(r.randint(1, 6))) + "\n")
            with open(m["trees"], "w") as f:
                f.write(
                    ("(S (NP (DT the) (NN dog)) (VP (VB barks)))\n"
                     "(S (NP (NN cat)) (VP (VB sleeps) (ADVP (RB well))))\n") * 20)
            must([
                "tf-tokenize", "--train", "--vocab-size", "40", "-o", m["vocab"], m["src"], m["tgt"]
            ])
            for x, y in (("src", "s"), ("tgt", "t")):
                must(["tf-tokenize", "-m", m["vocab"], "-o", m[y], m[x]])
            must([
                "tf-batch", "-q", "--tokens", "60", "--batches", "20", "-o", m["b"], m["s"], m["t"]
            ])
            must([
                "tf-batch", "-q", "--tokens", "60", "--no-shuffle", "-o", m["valid"], m["s"], m["t"]
            ])
            must(["tf-train"] + SMALL + [
                "--vocab", m["vocab"], "--steps", "20", "--save-every", "10", "-o", m["run"], m["b"]
            ])
            must(["tf-avgckpt", "-n", "2", "-o", m["model"], m["run"]])
            must([
                "tf-decode", "-m", m["model"], "-t", "1", "--max-extra", "5", "-o", m["out"], m["s"]
            ])
            must(["tf-tokenize", "-d", "-m", m["vocab"], "-o", m["text"], m["out"]])
            must(["tf-split", "--wrapped", "-l", m["layout"], "-o", m["sentences"], m["src"]])
            return m
        return self.once("material", make)

    def tools(self):
        """(name, command without its output) of every tool at small work, but tf-translate and
        tf-serve, which start others, and tf-train, which the rows run themselves."""
        m = self.material()
        have = [
            ("tokenize", ["tf-tokenize", "--threads", "1", "-m", m["vocab"], m["src"]]),
            ("tokenize -d", ["tf-tokenize", "-d", "--threads", "1", "-m", m["model"], m["out"]]),
            ("tokenize --train",
             ["tf-tokenize", "--train", "--vocab-size", "40", m["src"], m["tgt"]]),
            ("split", ["tf-split", "--wrapped", m["src"]]),
            ("split -d", ["tf-split", "-d", "-l", m["layout"], m["sentences"]]),
            ("batch", ["tf-batch", "-q", "--tokens", "60", m["s"], m["t"]]),
            ("avgckpt", ["tf-avgckpt", "-n", "2", m["run"]]),
            ("decode", ["tf-decode", "-m", m["model"], "-t", "1", "--max-extra", "3", m["s"]]),
            ("score", ["tf-score", "-m", m["model"], "-t", "1", m["s"], m["t"]]),
            ("convert", ["tf-convert", m["model"]]),
            ("attn", ["tf-attn", "-m", m["model"], "-t", "1", m["s"], m["t"]]),
            ("bleu", ["tf-bleu", m["tgt"], "-i", m["text"]]),
            ("plot", ["tf-plot", "curve", os.path.join(m["run"], "log.jsonl")]),
            ("cbor json", ["tf-cbor", "json", m["s"]]),
            ("cbor check", ["tf-cbor", "check", m["model"]]),
            ("cbor seal", ["tf-cbor", "seal", m["b"]]),
            ("info", ["tf-info", m["model"]]),
            ("tree -l", ["tf-tree", "-l", m["trees"]]),
            ("evalb", ["tf-evalb", m["trees"], m["trees"]]),
        ]
        for _, argv in have:
            self.reference(argv)
        return have

    def takes_output(self, argv):
        """Does the command have -o?"""
        return argv[:2] != ["tf-cbor", "check"] and self.once(
            "-o " + argv[0], lambda: b"--output FILE" in run([argv[0], "--help"]).out)

    def reference(self, argv):
        """What the command writes when nothing is wrong, as it must be."""
        def make():
            d = self.with_output(argv, self.path("reference"))
            if d.rc != 0:
                sys.exit("the undisturbed run failed: %s: status %s: %s" %
                         (" ".join(argv), d.rc, d.err))
            return d.data
        return self.once("reference " + " ".join(argv), make)

    def counted(self, row, argv, calls, out=None):
        """How many of these calls a run makes that nothing disturbs, its output in that file."""
        report = self.path("report")
        if os.path.exists(report):
            os.unlink(report)
        env = dict(LD_PRELOAD=SHIM, TF_FAULT_CALLS=calls, TF_FAULT_REPORT=report)
        d = self.with_output(argv, out, env=env) if out else run(argv, env=env)
        n = int(slurp(report).split()[0]) if os.path.exists(report) else 0
        if d.rc != 0 or n == 0 and calls != "mmap":
            row.fail("%s, undisturbed: status %s, %d calls of %s: %s", " ".join(argv), d.rc, n,
                     calls, d.err.strip())
        return n

    def with_output(self, argv, out, **kw):
        """Run it with its output in that file; .data is what is there afterwards, or None."""
        if os.path.lexists(out) and kw.pop("clear", True):
            os.unlink(out)
        kw.pop("clear", None)
        if self.takes_output(argv):
            d = run(
                argv[:1] + argv[1:2] * (argv[0] in ("tf-cbor", "tf-plot")) + ["-o", out] +
                argv[1 + (argv[0] in ("tf-cbor", "tf-plot")):], **kw)
        else:
            with open(out, "wb") as f:
                d = run(argv, stdout=f, **kw)
        d.data = slurp(out) if os.path.exists(out) else None
        return d

    # ---- training ----

    def train(self, out, stream, *more, **kw):
        return run(self.train_argv(out, stream, *more), **kw)

    def train_argv(self, out, stream, *more):
        return ["tf-train"] + SMALL + list(more) + ["-o", out, stream]

    def kernel_sets(self):
        """{name: (environment, options)} of those that this machine runs."""
        def make():
            sets = {"ref": ({}, ["--device", "ref"])}
            stream = self.batches("b20.tfs", n=20)
            for name in ("generic", "avx2", "avx512", "neon", "openblas"):
                env = dict(TF_CPU_ISA=name)
                if self.train(self.fresh("sets"), stream, "--steps", "1", env=env).rc == 0:
                    sets[name] = (env, [])
            return sets
        return self.once("kernel sets", make)

    def whole(self, name, stream, *more):
        """The files of a run that nothing happened to: {name: contents}."""
        def make():
            d = self.path("whole-" + name)
            shutil.rmtree(d, ignore_errors=True)
            done = self.train(d, stream, *more)
            if done.rc != 0:
                sys.exit("the undisturbed run %s failed: %s" % (name, done.err))
            return {f: slurp(os.path.join(d, f)) for f in os.listdir(d) if f.endswith(".tfm")}
        return self.once("whole " + name + repr(more), make)

    def compare(self, row, what, out, whole, over=False):
        """Are the checkpoints in the directory those of the undisturbed run, and nothing else
        there? A run killed after its last rename is over, and the next start deletes nothing: then
        an older checkpoint or resume.tfm may be left."""
        names = {f for f in os.listdir(out) if f.endswith(".tfm") or f.startswith(".tf-")}
        good = True
        if over:
            names = {
                f
                for f in names if f in whole
                or f != "resume.tfm" and not "ckpt-" <= f < max(x for x in whole if x < "d")
            }
        if names != set(whole):
            row.fail("%s: files %s, expected %s", what, sorted(names), sorted(whole))
            good = False
        for f in sorted(names & set(whole)):
            if slurp(os.path.join(out, f)) != whole[f]:
                row.fail("%s: %s differs", what, f)
                good = False
        row.add("compared")
        return good

    def check_whole(self, row, what, out):
        """Every checkpoint in place, whatever else happened, reads as a whole one. Returns how
        many."""
        files = [
            os.path.join(out, f) for f in sorted(os.listdir(out))
            if f.endswith(".tfm") and not f.startswith(".")
        ] if os.path.isdir(out) else []
        for f in files:
            d = run(["tf-cbor", "check", f])
            row.add("checkpoints checked")
            if d.rc != 0:
                row.fail("%s: %s: %s", what, os.path.basename(f), d.err.strip())
        return len(files)


def kill(p):
    try:
        p.send_signal(signal.SIGKILL)
    except ProcessLookupError:
        pass
    return p.wait()
