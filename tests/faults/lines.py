"""H, I: one line in, one line out; option sets without end; bytes that are no text; locales."""
import os
import random
import resource
import subprocess

import cbor2

from resume import records
from rig import BIN, ENV, SMALL, run, slurp


def peak(p):
    """Wait for a child: (status, its peak of memory in MB)."""
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    return p.returncode, usage.ru_maxrss / 1024


def h1(rig, row):
    """Lines of every kind come out as many as went in, in order; memory does not grow with the
    input, but for the index and the mapped pages of tf-batch: 10^7 lines through tf-tokenize, its
    -d and tf-batch"""
    m = rig.material()
    r = random.Random(rig.seed)
    words = slurp(m["src"]).split()
    odd = [
        b"", b" ", b"\t", b"  a  b ", b"a\tb\tc", b"\r", b"abc\r", b"\xc2\x85", "a\u2028b".encode(),
        "\ufeffab".encode(), b"\x00", b"\xff", b"a" * 5000, b"ab " * 5000, b"a " * 100000,
        "\U0001f600".encode(), b"\x0b\x0c", b"\x1c\x1d\x1e", b"a" * 70000
    ]
    for i in range(rig.count(30, short=3)):
        n = r.choice([0, 1, 2, 77, 1000])
        lines = [
            r.choice(odd) if r.random() < 0.3 else b" ".join(
                r.choice(words) for _ in range(r.randint(0, 6))) for _ in range(n)
        ]
        text = b"\n".join(lines) + (b"\n" if n and r.random() < 0.7 else b"")
        want = text.count(b"\n") + (len(text) > 0 and not text.endswith(b"\n"))
        d = run(["tf-tokenize", "-m", m["vocab"]], stdin=text)
        back = run(["tf-tokenize", "-d", "-m", m["vocab"]], stdin=d.out)
        ids = [cbor2.loads(x)[1] for x in records(d.out)[2:] if x[1:2] in (b"\x01", b"\x09")]
        row.add("lines", want)
        bad = any(b"\x00" in x or not valid(x) for x in text.split(b"\n"))
        if ids != list(range(want)) or back.out.count(b"\n") != want:
            row.fail("set %d: %d lines in, %d records, %d lines back: %s", i, want, len(ids),
                     back.out.count(b"\n"), back.err.strip())
        if d.rc not in (0, 4) or (d.rc == 4) != (b"bad" in d.err.encode()) or d.rc == 4 and not bad:
            row.fail("set %d: status %s: %s", i, d.rc, d.err.strip())
    # Nothing at all, a million times.
    n = rig.count(10 ** 6, short=10000, scaled=False)
    d = run(["tf-tokenize", "-m", m["vocab"]], stdin=b"\n" * n, timeout=600)
    back = run(["tf-tokenize", "-d", "-m", m["vocab"]], stdin=d.out, timeout=600)
    row.add("lines", n)
    if d.rc != 0 or back.out != b"\n" * n:
        row.fail("%d empty lines: status %s, %d bytes back", n, d.rc, len(back.out))
    # Long lines are kept out of memory too.
    for size, limit in ((1 << 30, "1000000"), (3 << 20, "100")):
        p = subprocess.Popen([
            "bash", "-c",
            "{ echo ab; head -c %d /dev/zero | tr '\\0' x; echo; echo ab; } | "
            "{ exec tf-tokenize --threads 1 --max-line %s -m %s; }" %
            (size if not rig.short else size // 500, limit, m["vocab"])
        ],
                             stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL,
                             env=ENV)
        kinds = [cbor2.loads(x)[0] for x in records(p.stdout.read())[2:]]
        p.wait()
        row.add("lines", 3)
        if [x for x in kinds if x in (1, 9)] != [1, 9, 1] or p.returncode != 4:
            row.fail("a line of %d bytes: records %s, status %s", size, kinds, p.returncode)
    # Many lines: the same peak for a tenth of them.
    text = rig.path("many.txt")
    some = b"".join(b" ".join(r.choice(words) for _ in range(r.randint(0, 4))) + b"\n"
                    for _ in range(10000))
    peaks = {}
    total = rig.count(10 ** 7, short=40000)
    for n in (total // 10, total):
        with open(text, "wb") as f:
            for _ in range(n // 10000 or 1):
                f.write(some)
        n = max(n // 10000, 1) * 10000
        tfs = rig.path("many.tfs")
        with open(text, "rb") as f, open(tfs, "wb") as g:
            rc, mb = peak(subprocess.Popen(["tf-tokenize", "--threads", "2", "-m", m["vocab"]],
                                           stdin=f, stdout=g, env=ENV))
        peaks.setdefault("tokenize", []).append(mb)
        with open(tfs, "rb") as f:
            a = subprocess.Popen(["tf-tokenize", "-d", "--threads", "2", "-m", m["vocab"]], stdin=f,
                                 stdout=subprocess.PIPE, env=ENV)
            b = subprocess.Popen(["wc", "-l"], stdin=a.stdout, stdout=subprocess.PIPE, env=ENV)
            a.stdout.close()
            back = int(b.stdout.read())
            b.wait()
            rc2, mb = peak(a)
        peaks.setdefault("tokenize -d", []).append(mb)
        a = subprocess.Popen(["tf-batch", "-q", "--tokens", "5000", "--epochs", "1", tfs, tfs],
                             stdout=subprocess.PIPE, env=ENV)
        b = subprocess.Popen(["tf-cbor", "count"], stdin=a.stdout, stdout=subprocess.PIPE, env=ENV)
        a.stdout.close()
        counts = b.stdout.read()
        rc3, mb = peak(a)
        rc4, mb4 = peak(b)
        peaks.setdefault("batch", []).append(mb)
        peaks.setdefault("cbor count", []).append(mb4)
        row.add("lines", n)
        if back != n or (rc, rc2, rc3, rc4) != (0, 0, 0, 0):
            row.fail("%d lines: %d back, statuses %s, %s", n, back, (rc, rc2, rc3, rc4), counts)
    os.unlink(text)
    os.unlink(tfs)
    for tool, (few, many) in peaks.items():
        row.note("%s: %.0f MB for %d lines, %.0f MB for %d" % (tool, few, total // 10, many, total))
        # tf-batch maps its input and keeps 32 bytes a pair, as it says.
        allowed = few * 1.1 + 4 + (0 if tool != "batch" else total * 80 / 2 ** 20)
        if many > allowed:
            row.fail("%s: %.0f MB for a tenth, %.0f MB for all", tool, few, many)


def valid(x):
    try:
        x.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


VALUES = [
    "0", "1", "2", "3", "7", "64", "-1", "1e9", "4294967296", "9223372036854775807",
    "18446744073709551616", "0.5", "1e-300", "1e300", "nan", "inf", "x", "", "1k", "9G", "--", "-",
    "\xff", "a" * 3000, "0x10", "1.5e", "+1", " 1", "all", "beam", "paper", "t2t"
]


def h2(rig, row):
    """Random options with random values: a documented status, one line when they cannot be, never a
    crash or a hang"""
    m = rig.material()
    work = {
        "tf-tokenize": ["-m", m["vocab"], m["src"]], "tf-batch": [m["s"], m["t"]], "tf-decode":
        ["-m", m["model"], m["s"]], "tf-bleu": [m["tgt"], "-i", m["text"]], "tf-avgckpt":
        [m["run"]], "tf-plot": ["curve", os.path.join(m["run"], "log.jsonl")], "tf-cbor":
        ["json", m["s"]], "tf-info": [m["model"]], "tf-score": ["-m", m["model"], m["s"], m["t"]],
        "tf-attn": ["-m", m["model"], m["s"],
                    m["t"]], "tf-convert": [m["model"]], "tf-tree": [m["trees"]], "tf-evalb":
        [m["trees"], m["trees"]], "tf-split":
        ["-l", "layout", m["src"]], "tf-train": SMALL + ["--steps", "2", "-o", "RUN", m["b"]]
    }
    work = {t: w for t, w in work.items() if os.path.exists(os.path.join(BIN, t))}
    tables = {}
    for tool in work:
        text = run([tool, "--list-options"]).out.decode()
        tables[tool] = [w for w in text.split() if w.startswith("-")] or ["--help"]
    tools = [t for t in sorted(work) if tables[t] != ["--help"]]
    if not tools:
        row.fail("no tool lists its options")
        return
    where = rig.fresh("h2")
    for i in range(rig.count(10000, short=60)):
        if row.over():
            break
        r = random.Random(rig.seed * 1000003 + i)
        tool = tools[i % len(tools)]
        argv = [tool]
        for _ in range(r.randint(1, 4)):
            name = r.choice(tables[tool])
            name = name if name.startswith("-") else "--" + name
            if name.lstrip("-") in ("output", "o", "threads", "t", "batch", "window", "L", "length",
                                    "dims", "width", "height") and r.random() < 0.7:
                continue
            if tool == "tf-batch" and name in ("-b", "-e", "--batches", "--epochs"):
                continue  # may well ask for work without end
            how = r.randrange(4)
            argv += [name] if how == 0 else [name + "=" + r.choice(VALUES)
                                             ] if how == 1 else [name, r.choice(VALUES)]
        argv += [x if x != "RUN" else os.path.join(where, "run%d" % i)
                 for x in work[tool]] if r.random() < 0.8 else []
        argv = [
            x.encode("latin-1", "surrogateescape") if isinstance(x, str) and "\xff" in x else x
            for x in argv
        ]
        d = run(argv, cwd=where, timeout=30,
                prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26)))
        row.add("option sets")
        if d.rc not in (0, 1, 2, 3, 4, 75):
            row.fail("set %d: %s: status %s: %s", i, argv, d.rc, d.err.strip()[:300])
        elif d.rc in (2,) and len(d.errors()) != 1:
            row.fail("set %d: %s: status %s without its one line: %s", i, argv, d.rc,
                     d.err.strip()[:300])
        row.add("status %s" % d.rc)
        if i % 200 == 199:
            where = rig.fresh("h2")
    if not rig.short:
        nbest(rig, row)


def nbest(rig, row):
    """Every n of 1 to twice the beam and more: 2 when there can't be so many, else at least one and
    at most n hypotheses a line, best first."""
    m = rig.material()
    head = run(["tf-cbor", "head", "-n", "5", m["s"]]).out
    for beam in ("1", "2", "5", "39", "40", "60", "100"):
        for n in sorted({1, 2, int(beam), int(beam) + 1, 2 * int(beam)}):
            for extra in ("0", "1"):
                d = run(["tf-decode", "-m", m["model"], "-t", "1", "-k", beam, "-n", str(n),
                         "--max-extra", extra, "-"], stdin=head)
                row.add("option sets")
                row.add("status %s" % d.rc)
                what = "-k %s -n %d --max-extra %s" % (beam, n, extra)
                if n > int(beam):
                    if d.rc != 2 or len(d.errors()) != 1:
                        row.fail("%s: status %s: %s", what, d.rc, d.err.strip())
                    continue
                scores = [[h[1] for h in cbor2.loads(x)[2]] for x in records(d.out)[2:]
                          if x[1] == 4]
                if d.rc != 0 or len(scores) != 5 or any(
                        not 1 <= len(s) <= n or s != sorted(s, reverse=True) for s in scores):
                    row.fail("%s: status %s, hypotheses %s: %s", what, d.rc,
                             [len(s) for s in scores], d.err.strip())


def i1(rig, row):
    """All pairs of bytes and random ones as lines: a line is bad exactly when it is no UTF-8; only
    LF ends it"""
    m = rig.material()
    r = random.Random(rig.seed)
    pairs = [bytes([a, b]) for a in range(256) for b in range(256) if 10 not in (a, b)]
    lines = pairs if not rig.short else r.sample(pairs, 3000)
    for _ in range(rig.count(100000, short=2000)):
        n = r.randint(1, 6)
        x = bytes(
            r.choice([
                r.randrange(256),
                r.choice(
                    b"\xe0\xed\xef\xf0\xf4\xf5\xc0\xc1\xc2\x80\x8f\x90\x9f\xa0\xbf\x41\x00\x0d")
            ]) for _ in range(n))
        lines.append(x.replace(b"\n", b""))
    text = b"\n".join(lines) + b"\n"
    d = run(["tf-tokenize", "-m", m["vocab"]], stdin=text, timeout=600)
    row.add("lines", len(lines))
    bad, at = set(), 0
    for x in records(d.out)[2:]:
        if x[1] in (1, 9):
            idx = cbor2.loads(x)[1]
            if idx != at:
                row.fail("record %d has idx %d", at, idx)
                return
            at += 1
            if x[1] == 9:
                bad.add(idx)
    want = {i for i, x in enumerate(lines) if not valid(x)}
    if at != len(lines):
        row.fail("%d lines in, %d records out", len(lines), at)
    for i in sorted(bad ^ want)[:5]:
        row.fail("line %r: %s", lines[i], "called bad" if i in bad else "not called bad")
    row.add("bad lines", len(want))
    back = run(["tf-tokenize", "-d", "-m", m["vocab"]], stdin=d.out, timeout=600)
    if back.out.count(b"\n") < len(lines) or d.rc != 4:
        row.fail("%d lines back, status %s", back.out.count(b"\n"), d.rc)
    # U+FFFD in place of what is bad: what Python puts, and nothing is bad any more.
    d = run(["tf-tokenize", "-m", m["vocab"], "--replace-invalid"], stdin=text, timeout=600)
    same = run(["tf-tokenize", "-m", m["vocab"]],
               stdin=b"".join(x.decode("utf-8", "replace").encode() + b"\n" for x in lines),
               timeout=600)
    a, b = [[x for x in records(z.out)[2:] if x[1] in (1, 9)] for z in (d, same)]
    if d.rc != 0 or a != b:
        row.fail("--replace-invalid: status %s, %d records differ", d.rc,
                 sum(x != y for x, y in zip(a, b)))
    # Ends of lines: a carriage return stays unless --crlf takes it; a byte order mark stays.
    plain = run(["tf-tokenize", "-m", m["vocab"]], stdin=b"ab\ncd\n").out
    crlf = run(["tf-tokenize", "--crlf", "-m", m["vocab"]], stdin=b"ab\r\ncd\r\n").out
    row.add("lines", 4)
    if [x for x in records(plain)[2:] if x[1] == 1] != [x for x in records(crlf)[2:] if x[1] == 1]:
        row.fail("--crlf leaves something of the carriage return")
    for inner in (b"\r", b"\xc2\x85", "\u2028".encode(), "\u2029".encode(), b"\x0b", b"\x0c",
                  b"\x1e"):
        d = run(["tf-tokenize", "-m", m["vocab"]], stdin=b"ab" + inner + b"cd\n")
        row.add("lines")
        if sum(x[1] == 1 for x in records(d.out)[2:]) != 1:
            row.fail("%r ends a line", inner)
    # The scorer counts lines the same way.
    for sep in ("\r", "\u2028", "\x85", "\x0c"):
        p = rig.path("i1.txt")
        with open(p, "w", newline="") as f:
            f.write("a b c d e%sf g\nh i j k\n" % sep)
        d = run(["tf-bleu", p, "-i", p, "-b"])
        row.add("lines", 2)
        if d.rc != 0 or d.out.strip() != b"100.0":
            row.fail("tf-bleu with %r in a line: status %s, %r: %s", sep, d.rc, d.out,
                     d.err.strip())


def i2(rig, row):
    """Five locales, C, POSIX, Turkish, German and none, every tool: the same bytes on stdout and
    the same words on stderr"""
    where, have = rig.locales()
    # A comma for a decimal point in German proves that the locale is one.
    for name in have[2:]:
        d = subprocess.run(["printf", "%.1f", "0,5"],
                           capture_output=True,
                           text=True,
                           env=dict(ENV, **where, LC_ALL=name))
        if d.returncode != 0 or d.stdout != "0,5":
            row.fail("%s is no such locale: %r %s", name, d.stdout, d.stderr.strip())
    m = rig.material()
    wrong = [
        ("a file that is not there", ["tf-cbor", "check", "nowhere.tfs"]),
        ("a number that is none", ["tf-decode", "--alpha", "0,6", "-m", m["model"], m["s"]]),
        ("a real",
         ["tf-decode", "--alpha", "0.6", "-t", "1", "--max-extra", "3", "-m", m["model"], m["s"]])
    ]
    for tool, argv in rig.tools() + wrong:
        seen = set()
        for loc in have + [None]:
            env = {
                k: v
                for k, v in ENV.items() if not k.startswith("LC_") and k not in ("LANG", "LANGUAGE")
            }
            p = subprocess.run(["env", "-i"] + [
                "%s=%s" % x
                for x in dict(env, **where, **
                              ({"LC_ALL": loc, "LANG": loc} if loc else {})).items()
            ] + argv,
                               capture_output=True)
            seen.add((p.returncode, p.stdout, p.stderr))
            row.add("runs")
        if len(seen) != 1:
            row.fail("%s: %d different answers", tool, len(seen))
    row.figures["locales"] = len(have) + 1
    row.note("run in " + ", ".join(have + ["none"]) +
             ("" if len(have) == 4 else "; the package locales has the others"))


ROWS = [("H1", h1), ("H2", h2), ("I1", i1), ("I2", i2)]
