"""J, K: lines answered while the sender waits, readers and writers that leave, files that are cut,
changed or hostile."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
import tty

from rig import BIN, ENV, SMALL, TOP, run, slurp

TESTS = os.path.join(os.path.dirname(BIN), "tests")


def j1(rig, row):
    """Line k is answered before line k+1 is sent, through pipes and through a terminal"""
    m = rig.material()
    lines = [x for x in slurp(m["src"]).splitlines(True)]
    n = rig.count(1000, short=12, scaled=False)
    chains = [
        ("tokenize | -d", "tf-tokenize -m %(vocab)s | tf-tokenize -d -m %(vocab)s"),
        ("pieces", "tf-tokenize -m %(vocab)s --pieces"),
        ("split | -d", "tf-split -l %(layout)s.j1 | tf-split -d -l %(layout)s.j1"),
        ("tokenize | decode | -d",
         "tf-tokenize -m %(model)s | tf-decode -m %(model)s -t 1 --max-extra 3 | "
         "tf-tokenize -d -m %(model)s"),
        ("bad lines", "tf-tokenize -m %(vocab)s --bad ok | tf-tokenize -d -m %(vocab)s --bad ok")
    ]
    for name, chain in chains:
        for kind in ("pipe", "terminal"):
            if kind == "terminal":
                mine, theirs = pty.openpty()
                tty.setraw(theirs)
            p = subprocess.Popen(["bash", "-o", "pipefail", "-c", chain % m], env=ENV,
                                 stderr=subprocess.PIPE, stdin=subprocess.PIPE if kind == "pipe"
                                 else theirs, stdout=subprocess.PIPE if kind == "pipe" else theirs)
            if kind == "terminal":
                os.close(theirs)
            put = p.stdin.fileno() if kind == "pipe" else mine
            get = p.stdout.fileno() if kind == "pipe" else mine
            late, slowest = 0, 0.0
            for k in range(n):
                line = b"\xff\n" if name == "bad lines" and k % 2 else lines[k % len(lines)]
                start = time.time()
                os.write(put, line)
                answer = b""
                while not answer.endswith(b"\n"):
                    if not select.select([get], [], [], 20)[0]:
                        late += 1
                        break
                    got = os.read(get, 65536)
                    if not got:
                        break
                    answer += got
                if k > 0:
                    slowest = max(slowest, time.time() - start)
                row.add("lines")
                if answer.count(b"\n") != 1:
                    row.fail("%s, %s: line %d: %r", name, kind, k, answer[:80])
                    break
            if kind == "pipe":
                p.stdin.close()
                rest = p.stdout.read()
                if p.wait() != 0 or rest:
                    row.fail("%s, %s: status %s, rest %r: %s", name, kind, p.returncode, rest[:80],
                             p.stderr.read().decode())
            else:
                p.kill()
                p.wait()
                os.close(mine)
            row.add("late", late)
            row.figures["slowest answer, ms"] = max(row.figures.get("slowest answer, ms", 0),
                                                    int(slowest * 1000))
            if late:
                row.fail("%s, %s: %d late", name, kind, late)


def j2(rig, row):
    """The reader leaves: status 0 and silent, whatever the action for SIGPIPE; training continues"""
    for tool, argv in rig.tools() + [("info --devices", ["tf-info", "--devices"]),
                                     ("help", ["tf-train", "--help"])]:
        for ignored in (False, True):
            r, w = os.pipe()
            os.close(r)

            def prepare(i=ignored):
                signal.signal(signal.SIGPIPE, signal.SIG_IGN if i else signal.SIG_DFL)

            p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=w, stderr=subprocess.PIPE,
                                 env=ENV, preexec_fn=prepare, restore_signals=False)
            os.close(w)
            err = p.communicate(timeout=60)[1].decode()
            row.add("readers gone")
            if p.returncode in (2,) and "-o" in err or rig.reference(argv) == b"":
                continue  # writes nothing to stdout
            bad = [x for x in err.splitlines() if "write" in x.lower() or "pipe" in x.lower()]
            if p.returncode != 0 or bad:
                row.fail("%s, SIGPIPE %s: status %s: %s", tool, "ignored" if ignored else "default",
                         p.returncode, err.strip())
    stream = rig.batches("b20.tfs", n=20)
    for ignored in (False, True):
        out = rig.fresh("j2")
        r, w = os.pipe()
        os.close(r)
        p = subprocess.Popen(
            ["tf-train"] + SMALL +
            ["--steps", "20", "-q", "--log", "-", "--log-every", "1", "-o", out, stream],
            stdout=w,
            stderr=subprocess.PIPE,
            env=ENV,
            preexec_fn=lambda i=ignored: signal.signal(signal.SIGPIPE, signal.SIG_IGN
                                                       if i else signal.SIG_DFL) and None,
            restore_signals=False)
        os.close(w)
        err = p.communicate(timeout=60)[1].decode()
        row.add("readers gone")
        if p.returncode != 0 or err:
            row.fail("train, SIGPIPE %s: status %s: %s", "ignored" if ignored else "default",
                     p.returncode, err.strip())


def consumers(rig):
    m = rig.material()
    return [("cbor check", ["tf-cbor", "check"], "s"), ("cbor json", ["tf-cbor", "json"], "s"),
            ("decode", ["tf-decode", "-m", m["model"], "-t", "1", "--max-extra", "2"], "s"),
            ("tokenize -d", ["tf-tokenize", "-d", "-m", m["vocab"]], "out"),
            ("batch", ["tf-batch", "-q", m["t"]], "s"),
            ("score", ["tf-score", "-m", m["model"], "-t", "1", m["t"]], "s"),
            ("attn", ["tf-attn", "-m", m["model"], "-t", "1", m["t"]], "s"),
            ("info", ["tf-info"], "s"),
            ("train", ["tf-train"] + SMALL + ["--steps", "40", "-q", "-o", None], "b"),
            ("cbor check", ["tf-cbor", "check"], "model"), ("convert", ["tf-convert"], "model"),
            ("info", ["tf-info"], "model"), ("avgckpt", ["tf-avgckpt"], "model"),
            ("decode", ["tf-decode", "-t", "1", "--max-extra", "2", m["s"], "-m"], "model")]


def start(rig, argv, path, stdin):
    argv = list(argv)
    if None in argv:
        argv[argv.index(None)] = rig.fresh("j3-run")
    if argv[0] in ("tf-batch", "tf-score", "tf-attn"):
        argv = argv[:-1] + [path] + argv[-1:]
    else:
        argv = argv + [path]
    return run(argv, stdin=stdin)


def j3(rig, row):
    """Streams and a model that break off, at each of the first and last 40 bytes and at 100 drawn
    ones, in a file and on a pipe, and producers killed at random: truncated, status 1, through
    every tool that reads them whole"""
    m = rig.material()
    cut = rig.path("cut.tfs")
    for tool, argv, what in consumers(rig):
        data = slurp(m[what])
        # tf-info reads no more than it prints.
        if tool in ("info",):
            continue
        points = sorted(
            set(
                list(range(0, 40)) + list(range(len(data) - 40, len(data))) +
                [row.r.randrange(len(data)) for _ in range(rig.count(100, short=0))]))
        for n in points if not rig.short else row.r.sample(points, 4):
            with open(cut, "wb") as f:
                f.write(data[:n])
            for stdin in (False, True):
                if stdin and tool in ("batch", "score", "avgckpt") or stdin and n % 4:
                    continue
                d = start(rig, argv, "-" if stdin else cut, data[:n] if stdin else None)
                row.add("cut or changed files")
                if d.rc != 1 or "truncated" not in d.err or len(d.errors()) != 1:
                    row.fail("%s, %s cut at byte %d%s: status %s: %s", tool, what, n,
                             ", on a pipe" if stdin else "", d.rc, d.err.strip())
    text = slurp(m["src"]) * 2000
    for i in range(rig.count(100, short=2)):
        r, w = os.pipe()
        a = subprocess.Popen(["tf-tokenize", "--threads", "1", "-m", m["vocab"]],
                             stdin=subprocess.PIPE, stdout=w, stderr=subprocess.DEVNULL, env=ENV)
        os.close(w)
        b = subprocess.Popen(["tf-cbor", "count"] if i % 2 else ["tf-decode", "-m", m["model"],
                                                                 "-t", "1", "--max-extra", "1"],
                             stdin=r, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENV)
        os.close(r)
        os.set_blocking(a.stdin.fileno(), False)
        end, at = time.time() + row.r.uniform(0.02, 0.2), 0
        while time.time() < end:
            try:
                at += os.write(a.stdin.fileno(), text[at:at + 65536])
            except (BlockingIOError, BrokenPipeError):
                time.sleep(0.002)
        a.kill()
        a.wait()
        a.stdin.close()
        err = b.communicate(timeout=120)[1].decode()
        row.add("producers killed")
        if b.returncode != 1 or "truncated" not in err:
            row.fail("producer killed, %d: status %s: %s", i, b.returncode, err.strip())


def k(rig, row):
    """In process, through every reader: all prefixes and bit flips of streams and checkpoints of up
    to 20 kB, hostile heads within 50 ms and 16 MB; through the tools: flips drawn at random,
    changed vocabularies; accepted and different: counted as failures"""
    for name, patterns in (("stream_damage",
                            {"prefixes": r"# (\d+) prefixes", "bit flips": r", (\d+) flips"}),
                           ("stream_hostile", {"hostile heads": r"# (\d+) cases"})):
        if rig.short:
            continue  # `make check` runs these programs themselves
        t = os.path.join(TESTS, "unit", name + ".t")
        d = run([t], cwd=TOP, env=dict(TF_DAMAGE="all"), timeout=3600)
        text = d.out.decode(errors="replace")
        for figure, pattern in patterns.items():
            row.add(figure, sum(int(x) for x in re.findall(pattern, text)))
        if d.rc != 0:
            row.fail("%s: %s", name, [x for x in text.splitlines() if x.startswith("not ok")][:3])
        for x in re.findall(r"# (\d+ cases, .*)", text):
            row.note(x)
    m = rig.material()
    bad = rig.path("bad.tfs")
    for tool, argv, what in consumers(rig):
        data = slurp(m[what])
        good = start(rig, argv, m[what], None)
        for _ in range(rig.count(250, short=3)):
            spoiled = bytearray(data)
            bit = row.r.randrange(8 * len(data))
            spoiled[bit // 8] ^= 1 << bit % 8
            with open(bad, "wb") as f:
                f.write(spoiled)
            d = start(rig, argv, bad, None)
            row.add("cut or changed files")
            if d.rc not in (0, 1, 2):
                row.fail("%s, %s with bit %d changed: status %s: %s", tool, what, bit, d.rc,
                         d.err.strip())
            elif d.rc == 0 and tool != "info":
                row.fail("%s, %s with bit %d changed: accepted", tool, what, bit)
            elif d.rc and len(d.errors()) != 1:
                row.fail("%s, %s with bit %d changed: status %s without its one line: %s", tool,
                         what, bit, d.rc, d.err.strip())
        if good.rc != 0:
            row.fail("%s, %s as it is: status %s: %s", tool, what, good.rc, good.err.strip())
    # A vocabulary has no checksum: what is changed may still be one; it must not end the process in
    # another way.
    data = slurp(m["vocab"])
    for _ in range(rig.count(400, short=6)):
        spoiled = bytearray(data)
        if row.r.random() < 0.3:
            spoiled = spoiled[:row.r.randrange(len(data))]
        else:
            for _ in range(row.r.randint(1, 6)):
                spoiled[row.r.randrange(len(spoiled))] = row.r.randrange(256)
        with open(bad, "wb") as f:
            f.write(spoiled)
        d = run(["tf-tokenize", "-m", bad, m["src"]], timeout=20)
        row.add("cut or changed files")
        if d.rc not in (0, 1, 4) or d.rc == 1 and len(d.errors()) != 1:
            row.fail("a changed vocabulary: status %s: %s; kept as %s", d.rc, d.err.strip(),
                     keep(rig, spoiled))
    # A model of one vocabulary, tokens of another.
    other = rig.path("other.model")
    run(["tf-tokenize", "--train", "--vocab-size", "35", "-o", other, m["tgt"]])
    alien = rig.path("alien.tfs")
    run(["tf-tokenize", "-m", other, "-o", alien, m["src"]])
    for argv in (["tf-decode", "-m", m["model"],
                  alien], ["tf-tokenize", "-d", "-m", m["vocab"],
                           alien], ["tf-batch", m["s"],
                                    alien], ["tf-score", "-m", m["model"], m["s"],
                                             alien], ["tf-attn", "-m", m["model"], m["s"],
                                                      alien], ["tf-train"] + SMALL +
                 ["--vocab", other, "-o", rig.fresh("k-run"), m["b"]]):
        d = run(argv)
        row.add("vocabularies mixed")
        if d.rc != 1 or len(set(re.findall(r"\b(?:[0-9a-f]{12}|[0-9a-f]{64})\b", d.err))) != 2:
            row.fail("%s with another vocabulary: status %s: %s", argv[0], d.rc, d.err.strip())
    k5(rig, row)


def k5(rig, row):
    """Models of four vocabularies, each with the tokens of the three others."""
    m = rig.material()
    makers = []
    for size in (34, 36, 38, 40):
        v, s, b, out = [
            rig.path("k5-%d%s" % (size, x)) for x in (".model", ".tfs", ".b.tfs", "-run")
        ]
        shutil.rmtree(out, ignore_errors=True)
        for argv in ([
                "tf-tokenize", "--train", "--vocab-size",
                str(size), "-o", v, m["src"], m["tgt"]
        ], ["tf-tokenize", "-m", v, "-o", s,
                m["src"]], ["tf-batch", "-q", "--tokens", "60", "--batches", "2", "-o", b, s, s],
                     ["tf-train"] + SMALL + ["--vocab", v, "--steps", "2", "-o", out, b]):
            d = run(argv)
            if d.rc != 0:
                row.fail("%s: status %s: %s", argv[0], d.rc, d.err.strip())
                return
        makers.append((s, os.path.join(out, "ckpt-00000002.tfm")))
    for i, (_, model) in enumerate(makers):
        for k, (stream, _) in enumerate(makers):
            d = run(["tf-decode", "-m", model, "-t", "1", "--max-extra", "1", stream])
            hashes = len(set(re.findall(r"\b(?:[0-9a-f]{12}|[0-9a-f]{64})\b", d.err)))
            if i == k:
                if d.rc != 0:
                    row.fail("a model with its own vocabulary: status %s: %s", d.rc, d.err.strip())
                continue
            row.add("vocabularies mixed")
            # No record before the refusal.
            if d.rc != 1 or hashes != 2 or b"\x82\x00" in d.out or len(d.errors()) != 1:
                row.fail("model %d, tokens %d: status %s: %s", i, k, d.rc, d.err.strip())


def keep(rig, data):
    p = rig.path("kept-%d" % len(os.listdir(rig.tmp)))
    with open(p, "wb") as f:
        f.write(data)
    return p


ROWS = [("J1", j1), ("J2", j2), ("J3", j3), ("K", k)]
