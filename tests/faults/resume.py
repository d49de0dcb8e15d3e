"""C, D, F: stopped and resumed, fed in pieces, refused by name; other places, threads and kernels;
numbers that are none."""
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

from rig import ENV, SMALL, run, slurp


def c1(rig, row):
    """Stopped by a cut stream after every update k of 200, plain and with validation, after every
    batch of 600 when three make an update, and three times by signals; resumed: the same bytes"""
    valid = rig.batches("valid.tfs", n=5, seed=9)
    for name, per, more in [("plain", 1, []),
                            ("accumulated", 3, ["--accumulate", "3", "--ema", "0.9"]),
                            ("validated", 1, [
                                "--valid", valid, "--valid-every", "7", "--patience", "60",
                                "--schedule", "constant", "--lr", "0.01", "--warmup", "0"
                            ])]:
        args = ["--steps", "200", "--save-every", "20", "--keep", "2"] + more
        stream = rig.batches("c1-%d.tfs" % per, n=200 * per)
        whole = rig.whole("c1 " + name, stream, *args)
        out = rig.path("c1")
        batches = records(slurp(stream))
        for k in row.some(range(200 * per + 1)):
            shutil.rmtree(out, ignore_errors=True)
            part = rig.path("part.tfs")
            with open(part, "wb") as f:
                f.write(b"".join(batches[:2 + k]))
            d = rig.train(out, part, *args)
            if d.rc != (0 if k == 200 * per else
                        1) or (k < 200 * per and "truncated after record %d" % k not in d.err):
                row.fail("%s, cut after batch %d: status %s: %s", name, k, d.rc, d.err.strip())
            d = rig.train(out, stream, *args)
            if d.rc != 0:
                row.fail("%s, resumed after batch %d: status %s: %s", name, k, d.rc, d.err.strip())
            row.add("resume points")
            rig.compare(row, "%s, resumed after batch %d" % (name, k), out, whole)
    # Three stops at random by signals, the stream on a pipe.
    stream, args = rig.batches("c1-1.tfs",
                               n=200), ["--steps", "200", "--save-every", "20", "--keep", "2"]
    whole = rig.whole("c1 plain", stream, *args)
    for i in range(rig.count(100, short=1)):
        shutil.rmtree(rig.path("c1"), ignore_errors=True)
        for _ in range(3):
            sig = row.r.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2])
            feeder = subprocess.Popen(["cat", stream], stdout=subprocess.PIPE)
            p = subprocess.Popen(["tf-train"] + SMALL + args + ["-o", rig.path("c1"), "-"],
                                 stdin=feeder.stdout, stderr=subprocess.PIPE, env=ENV)
            feeder.stdout.close()
            time.sleep(row.r.uniform(0, 0.25))
            p.send_signal(sig)
            err = p.communicate()[1].decode()
            feeder.wait()
            row.add("stopped by signal" if p.returncode else "over before the signal")
            # Before the handlers are there a signal ends the run as it ends any program.
            if p.returncode not in (0, -sig, 75 if sig == signal.SIGUSR2 else 0):
                row.fail("signal %d: status %s: %s", sig, p.returncode, err.strip())
        d = rig.train(rig.path("c1"), stream, *args)
        if d.rc != 0:
            row.fail("after three signals: status %s: %s", d.rc, d.err.strip())
        rig.compare(row, "after three signals, %d" % i, rig.path("c1"), whole, "nothing left"
                    in d.err)


def records(data):
    """The items of a CBOR sequence as they stand: [label, header, records..., end]."""
    out, at = [], 0
    while at < len(data):
        end = item(data, at)
        out.append(data[at:end])
        at = end
    return out


def token_stream(path, lines):
    """Sentences of ids below 64, without a vocabulary or checksums."""
    import cbor2
    special = {"pad": 0, "unk": 1, "bos": 2, "eos": 3}
    items = [cbor2.CBORTag(55800, cbor2.CBORTag(1413894996, b"BOR")),
             [0, {"v": 1, "kind": "tokens", "size": 64, "special": special}],
             *([1, i, ids] for i, ids in enumerate(lines)), [15, len(lines), None]]
    with open(path, "wb") as f:
        f.writelines(map(cbor2.dumps, items))


def content(data):
    """A stream without the records that only prove it, since each flush writes one: what goes idle
    more often has more of them."""
    if data[:5] != b"\xd9\xd9\xf8\xda\x54":
        return data
    return [x for x in records(data) if x[:2] not in (b"\x83\x0d", b"\x83\x0f")]


def item(data, at):
    major, small = data[at] >> 5, data[at] & 31
    at += 1
    n = small
    if small >= 24:
        width = 1 << (small - 24)
        n = int.from_bytes(data[at:at + width], "big")
        at += width
    if major in (2, 3):
        return at + n
    if major == 4:
        for _ in range(n):
            at = item(data, at)
    elif major == 5:
        for _ in range(2 * n):
            at = item(data, at)
    elif major == 6:
        at = item(data, at)
    return at


def c2(rig, row):
    """The stream in random pieces of 1 to 4,096 bytes, with pauses: the same checkpoints, the same
    records of a filter"""
    stream = rig.batches("b20.tfs", n=20)
    args = ["--steps", "20", "--save-every", "10"]
    whole = rig.whole("20", stream, *args)
    data = slurp(stream)
    filters = [(n, c) for n, c in rig.tools()
               if c[-1].endswith((".tfs", ".txt")) and n not in ("batch", "score", "bleu",
                                                                 "tokenize --train")]
    for i in range(rig.count(1000, short=8)):
        if row.over():
            break
        r = random.Random(rig.seed * 1000003 + i)
        if i % 4 == 0 or not filters:
            out = rig.path("c2")
            shutil.rmtree(out, ignore_errors=True)
            rc, _, err = pieces(rig.train_argv(out, "-", *args), data, r)
            if rc != 0:
                row.fail("train, seed %d: status %s: %s", i, rc, err)
            else:
                rig.compare(row, "train, seed %d" % i, out, whole)
        else:
            name, argv = filters[i % len(filters)]
            want = rig.once("stdout " + name, lambda a=argv: run(a).out)
            rc, got, err = pieces(argv[:-1] + ["-"], slurp(argv[-1]), r)
            row.add("compared")
            if rc != 0 or content(got) != content(want):
                row.fail("%s, seed %d: status %s: %s", name, i, rc, err)
        row.add("splits")


def pieces(argv, data, r):
    """Feed the data in random pieces, some after a pause."""
    import threading
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=ENV)
    most = r.choice([1, 3, 64, 4096]) if len(data) < 20000 else r.choice([64, 4096])

    def feed():
        at = 0
        try:
            while at < len(data):
                n = r.randint(1, most)
                os.write(p.stdin.fileno(), data[at:at + n])
                at += n
                if r.random() < 0.01:
                    time.sleep(r.uniform(0, 0.003))
        except BrokenPipeError:
            pass
        os.close(p.stdin.fileno())
        p.stdin = None
    t = threading.Thread(target=feed)
    t.start()
    out = p.stdout.read()
    err = p.stderr.read().decode()
    rc = p.wait()
    t.join()
    return rc, out, err.strip()


# What must not change unnoticed between a start and the next: (name in the message, options of the
# next start or None, another stream or None).
CHANGES = [
    ("seed", ["--seed", "2"], None),
    ("dropout", ["--dropout", "0.2"], None),
    ("attention_dropout", ["--attention-dropout", "0.2"], None),
    ("relu_dropout", ["--relu-dropout", "0.2"], None),
    ("label_smoothing", ["--label-smoothing", "0.2"], None),
    ("accumulate", ["--accumulate", "2"], None),
    ("warmup", ["--warmup", "30"], None),
    ("lr_scale", ["--lr-scale", "2"], None),
    ("beta1", ["--beta1", "0.8"], None),
    ("beta2", ["--beta2", "0.9"], None),
    ("adam_eps", ["--adam-eps", "1e-7"], None),
    ("weight_decay", ["--weight-decay", "0.1"], None),
    ("clip", ["--clip", "2"], None),
    ("guided", ["--guided-alignment", "0.1"], None),
    ("ema", ["--ema", "0.5"], None),
    ("freeze", ["--freeze", "enc.*"], None),
    ("lr_scale", ["--schedule", "cosine", "--lr", "0.001", "--decay-steps", "100"], None),
    ("lr_scale", ["--schedule", "constant", "--lr", "0.001"], None),
    ("d_ff", ["--d-ff", "64"], None),
    ("d_k", ["--heads", "4"], None),
    ("layers", ["--layers", "2"], None),
    ("pre_norm", ["--pre-norm"], None),
    ("positions", ["--positions", "learned"], None),
    ("vocabulary", None, dict(vocab="other")),
    ("corpus", None, dict(corpus=8)),
    ("tokens", None, dict(setting=26)),
]


def c3(rig, row):
    """Another corpus, vocabulary, seed or setting on resumption: refused by name, with both values;
    accepted with --force"""
    vocab = rig.path("va")
    with open(vocab, "w") as f:
        f.write("a vocabulary")
    with open(rig.path("vb"), "w") as f:
        f.write("another vocabulary")
    base = rig.batches("c3.tfs", n=20, vocab=vocab, links=1)
    d0 = rig.path("c3-base")
    shutil.rmtree(d0, ignore_errors=True)
    rig.train(d0, base, "--steps", "5")
    before = slurp(os.path.join(d0, "ckpt-00000005.tfm"))
    for name, more, other in CHANGES:
        out = rig.path("c3")
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(d0, out)
        stream = base
        if other:
            other = dict(other,
                         **({"vocab": rig.path("vb")} if "vocab" in other else {"vocab": vocab}))
            stream = rig.batches("c3-%s.tfs" % name, n=20, **other)
        argv = rig.train_argv(out, stream, *(["--steps", "10"] + (more or [])))
        d = run(argv)
        row.add("changes refused")
        hashes = re.findall(r"\b(?:[0-9a-f]{12}|[0-9a-f]{64})\b", d.err)
        if d.rc != 1 or name not in d.err.replace("-", "_") or len(d.errors()) != 1:
            row.fail("%s: status %s: %s", name, d.rc, d.err.strip())
        if name in ("vocabulary", "corpus") and len(set(hashes)) != 2:
            row.fail("%s: not both hashes: %s", name, d.err.strip())
        if name not in ("vocabulary", "corpus") and not re.search(
                r"in the checkpoint, .* in (this run|the stream)", d.err):
            row.fail("%s: not both values: %s", name, d.err.strip())
        if slurp(os.path.join(out, "ckpt-00000005.tfm")) != before or len(
            [f for f in os.listdir(out) if f.endswith(".tfm")]) != 1:
            row.fail("%s: the refused start changed the directory", name)
        if name in ("d_ff", "layers", "d_k", "pre_norm", "positions", "vocabulary"):
            continue
        d = run(argv[:1] + ["--force"] + argv[1:])
        row.add("changes forced")
        if d.rc != 0 or "warning: " not in d.err and name != "corpus":
            row.fail("%s --force: status %s: %s", name, d.rc, d.err.strip())
    short = rig.batches("c3-short.tfs", n=3, vocab=vocab)
    shutil.rmtree(rig.path("c3"), ignore_errors=True)
    shutil.copytree(d0, rig.path("c3"))
    d = rig.train(rig.path("c3"), short, "--steps", "10")
    row.add("changes refused")
    if d.rc != 1 or "position, part 0, batch 5" not in d.err:
        row.fail("a shorter stream: status %s: %s", d.rc, d.err.strip())


def d1(rig, row):
    """Other directory, locale, time zone, umask, niceness, HOME and address layout: the same
    bytes"""
    stream = rig.batches("b20.tfs", n=20)
    args = ["--steps", "20", "--save-every", "10"]
    whole = rig.whole("20", stream, *args)
    tools = rig.tools()
    locales, _ = rig.locales()
    for i in range(rig.count(50, short=5)):
        r = random.Random(rig.seed * 1000003 + i)
        env = dict(locales, LC_ALL=r.choice(["C", "POSIX", "tr_TR.UTF-8", "de_DE.UTF-8", "",
                                             "C.UTF-8"]), TZ=r.choice(["UTC", "Asia/Tokyo",
                                                                       "America/Lima"]),
                   HOME=r.choice(["/", "/nowhere", rig.tmp]), TMPDIR=r.choice(["/tmp", "/nowhere"]),
                   LANG=r.choice(["de_DE", "C"]), OMP_NUM_THREADS=str(r.randint(1, 4)),
                   COLUMNS=str(r.randint(1, 300)), PADDING="x" * r.randint(0, 5000),
                   MALLOC_PERTURB_=str(r.randint(1, 255)))
        where = rig.fresh("d1/" + "/".join("d%d" % r.randint(0, 9) for _ in range(r.randint(1, 6))))
        mask = r.choice([0o022, 0o077, 0o002, 0o000])
        wrap = r.choice([[], ["setarch", "-R"], ["nice", "-n", "5"]])
        d = run(wrap + rig.train_argv("run", stream, *args), env=env, cwd=where,
                prepare=lambda m=mask: os.umask(m))
        row.add("pairs")
        if d.rc != 0:
            row.fail("train, pair %d: status %s: %s", i, d.rc, d.err.strip())
        else:
            rig.compare(row, "train, pair %d" % i, os.path.join(where, "run"), whole)
        tool, argv = tools[i % len(tools)]
        d = run(wrap + argv, env=env, cwd=where) if tool != "tokenize --train" else run(
            wrap + argv[:1] + ["-o", "v"] + argv[1:], env=env, cwd=where)
        got = d.out if tool != "tokenize --train" else slurp(os.path.join(
            where, "v")) if d.rc == 0 else None
        row.add("compared")
        if d.rc != 0 or got != rig.reference(argv):
            row.fail("%s, pair %d: status %s, other bytes: %s", tool, i, d.rc, d.err.strip())
        shutil.rmtree(rig.path("d1"), ignore_errors=True)


def d2(rig, row):
    """1, 2, 3 and 5 threads under each set of kernels: the same bytes within a set; between sets
    within 1e-3 of a weight's size after 40 updates"""
    stream = rig.batches("b40.tfs", n=40)
    with open("/proc/cpuinfo") as f:
        cpu = f.read()
    sets = ["generic"
            ] + (["avx2"] if "avx2" in cpu else []) + (["avx512"] if "avx512vl" in cpu else [])
    weights = {}
    for isa in sets:
        files = set()
        for threads in ("1", "2", "3", "5"):
            out = rig.path("d2")
            shutil.rmtree(out, ignore_errors=True)
            d = run(rig.train_argv(out, stream, "--threads", threads, "--steps", "40", "--lr-scale",
                                   "1"), env=dict(TF_CPU_ISA=isa))
            row.add("runs")
            if d.rc != 0:
                row.fail("%s, %s threads: status %s: %s", isa, threads, d.rc, d.err.strip())
                return
            files.add(slurp(os.path.join(out, "ckpt-00000040.tfm")))
        if len(files) != 1:
            row.fail("%s: %d different files", isa, len(files))
        row.add("sets equal for all threads")
        weights[isa] = tensors(rig.path("d2", "ckpt-00000040.tfm"))
        model = rig.path("d2", "ckpt-00000040.tfm")
        outs = {run(["tf-decode", "-m", model, "-t", t, "--max-extra", "5", tokens(rig)],
                    env=dict(TF_CPU_ISA=isa)).out for t in ("1", "2", "5")}
        row.add("runs", 3)
        if len(outs) != 1:
            row.fail("%s: decoding differs between threads", isa)
    import numpy as np
    worst = 0.0
    for isa in sets[1:]:
        for name, x in weights[isa].items():
            y = weights[sets[0]][name]
            worst = max(worst, float(np.max(np.abs(x - y)) / max(float(np.max(np.abs(y))), 1e-30)))
    row.figures["largest difference between sets"] = "%.1e" % worst
    if worst > 1e-3:
        row.fail("the kernel sets differ by %g", worst)


def d3(rig, row):
    """Continued with other kernels, for each ordered pair of the sets and the reference: refused with
    both names, the checkpoint unchanged; with --force the log and the provenance have the new name"""
    stream = rig.batches("b20.tfs", n=20)
    sets = rig.kernel_sets()
    starts, names = {}, {}
    for name, (env, more) in sets.items():
        starts[name] = rig.path("d3-" + name)
        shutil.rmtree(starts[name], ignore_errors=True)
        rig.train(starts[name], stream, "--steps", "3", *more, env=env)
        names[name] = logged_kernels(starts[name])
    if len(set(names.values())) != len(sets):
        row.fail("not a name for each set: %s", names)
    for a, b in row.some(itertools.permutations(sets, 2)):
        out = rig.path("d3")
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(starts[a], out)
        env, more = sets[b]
        d = rig.train(out, stream, "--steps", "6", *more, env=env)
        row.add("pairs refused")
        if d.rc != 1 or len(d.errors()) != 1 or (
                "ckpt-00000003.tfm: kernels: '%s' in the checkpoint, '%s' in this run" %
            (names[a], names[b])) not in d.err:
            row.fail("%s, then %s: status %s: %s", a, b, d.rc, d.err.strip())
        rig.compare(row, "%s, then %s" % (a, b), out,
                    {"ckpt-00000003.tfm": slurp(os.path.join(starts[a], "ckpt-00000003.tfm"))})
        d = rig.train(out, stream, "--steps", "6", "--force", *more, env=env)
        row.add("pairs forced")
        if d.rc != 0 or "warning: " not in d.err:
            row.fail("%s, then %s --force: status %s: %s", a, b, d.rc, d.err.strip())
            continue
        if logged_kernels(out) != names[b]:
            row.fail("%s, then %s --force: the log names %s", a, b, logged_kernels(out))
        d = run(["tf-info", "--json", os.path.join(out, "ckpt-00000006.tfm")])
        stages = [x.get("kernels") for x in json.loads(d.out)["made"] if x["prog"] == "tf-train"]
        if stages != [None, names[b]]:
            row.fail("%s, then %s --force: the provenance names %s", a, b, stages)
        d = rig.train(out, stream, "--steps", "8", *more, env=env)
        if d.rc != 0:
            row.fail("%s, then %s --force, then again: status %s: %s", a, b, d.rc, d.err.strip())


def logged_kernels(out):
    """The kernels of the last start in the log."""
    with open(os.path.join(out, "log.jsonl")) as f:
        starts = [x for x in map(json.loads, f) if x["event"] == "start"]
    return starts[-1]["settings"]["kernels"]


def tokens(rig):
    """A token stream over the 64 pieces of the tiny model."""
    p, r = rig.path("tokens.tfs"), random.Random(5)
    token_stream(p, [[r.randint(4, 63) for _ in range(r.randint(0, 9))] for _ in range(50)])
    return p


def tensors(path):
    """The weights of a checkpoint, read without the tools."""
    import cbor2
    import numpy as np
    out = {}
    data = slurp(path)
    for rec in records(data):
        x = cbor2.loads(rec)
        if isinstance(x, list) and x and x[0] == 6 and x[1].startswith("p/"):
            for field in x[2:]:
                if isinstance(field, cbor2.CBORTag) and field.tag == 40:
                    dims, inner = field.value
                    out[x[1]] = np.frombuffer(inner.value, "<f4").reshape(dims)
    return out


def f1(rig, row):
    """NaN or infinity in loss or gradient: status 3 in the same update, nothing saved of it,
    the last good checkpoint named"""
    stream = rig.batches("b40.tfs", n=40)
    for i in range(rig.count(300, short=8)):
        if row.over():
            break
        r = random.Random(rig.seed * 1000003 + i)
        out = rig.path("f1")
        shutil.rmtree(out, ignore_errors=True)
        lr = 10 ** r.uniform(8, 29.9)
        d = rig.train(out, stream, "--steps", "40", "--save-every", str(r.randint(1, 4)),
                      "--schedule", "constant", "--lr", "%.3g" % lr, "--warmup",
                      str(r.choice([0, 3,
                                    10])), "--seed", str(i + 1), "--keep", "0", "--accumulate",
                      str(r.choice([1, 2])))
        row.add("runs")
        if d.rc == 0:
            row.add("did not diverge")
        elif d.rc != 3 or len(d.errors()) != 1:
            row.fail("lr %g, seed %d: status %s: %s", lr, i + 1, d.rc, d.err.strip())
        else:
            row.add("diverged")
            m = re.search(
                r"diverged at step (\d+).*(?:last good checkpoint is (\S+)|no checkpoint was saved)",
                d.err)
            files = sorted(f for f in os.listdir(out) if f.endswith(".tfm"))
            if not m or bool(m.group(2)) != bool(files) or files and os.path.basename(
                    m.group(2)) != files[-1]:
                row.fail("lr %g, seed %d: names another checkpoint than the last of %s: %s", lr,
                         i + 1, files, d.err.strip())
            if files and m and int(files[-1][5:13]) >= int(m.group(1)):
                row.fail("lr %g, seed %d: saved after the divergence", lr, i + 1)
        rig.check_whole(row, "lr %g, seed %d" % (lr, i + 1),
                        out)  # which refuses NaN and infinities
    if rig.short or row.lacks("gdb"):
        return
    for n in range(1, min(39, rig.count(36, short=2)) + 1):
        # The memory of a gradient, spoiled by a debugger after the n-th backward pass.
        out = rig.path("f1")
        shutil.rmtree(out, ignore_errors=True)
        argv = rig.train_argv(out, stream, "--steps", "40", "--save-every", "4")
        value, word = [("0x7fc00000", 17), ("0x7f800000", 171), ("0xff800000", 1171)][n % 3]
        d = run([
            "gdb", "-q", "-batch", "-ex", "break tf_stepper_measure", "-ex",
            "ignore 1 %d" % (n - 1), "-ex", "run", "-ex",
            "set {unsigned}((char *)s->level[0] + %d) = %s" %
            (4 * word, value), "-ex", "delete", "-ex", "continue", "--args"
        ] + argv)
        text = d.out.decode(errors="replace") + d.err
        if "Breakpoint 1 at" not in text:
            row.note("the debugger could not be used: " +
                     (text.strip().splitlines() or ["no output"])[-1])
            return
        if 'No symbol "s" in current context' in text:
            row.note("no gradients were spoiled: the build has no names of variables (-g)")
            return
        row.add("gradients spoiled")
        if "exited with code 03" not in text or "diverged at step %d " % n not in text:
            row.fail("gradient spoiled in update %d: %s", n, text[-600:])
        rig.check_whole(row, "gradient spoiled in update %d" % n, out)


def f2(rig, row):
    """NaN and infinity in each tensor of a checkpoint, its checksum made right: refused by
    training, averaging and decoding"""
    import cbor2
    stream = rig.batches("b20.tfs", n=20)
    out = rig.path("f2")
    shutil.rmtree(out, ignore_errors=True)
    rig.train(out, stream, "--steps", "5")
    path = os.path.join(out, "ckpt-00000005.tfm")
    data = slurp(path)
    parts = records(data)
    spots = [i for i, rec in enumerate(parts) if rec[:2] == b"\x86\x06"]
    if not spots:
        row.fail("no tensor in %s", path)
    for i in row.some(spots):
        rec = cbor2.loads(parts[i])
        for name, value in (("nan", b"\x00\x00\xc0\x7f"), ("inf", b"\x00\x00\x80\x7f"),
                            ("-inf", b"\x00\x00\x80\xff")):
            raw = parts[i]
            tensor = next(x for x in rec if isinstance(x, cbor2.CBORTag) and x.tag == 40)
            bytes_at = raw.find(tensor.value[1].value)
            at = bytes_at + 4 * row.r.randrange(len(tensor.value[1].value) // 4)
            bad = raw[:at] + value + raw[at + 4:]
            # The checksum is left null, as a custom writer may; tf-cbor seal fills it in.
            spoiled = rig.path("spoiled.tfm")
            with open(spoiled, "wb") as f:
                f.write(b"".join(parts[:i]) + null_crc(bad) + b"".join(parts[i + 1:-1]) +
                        null_crc(parts[-1]))
            row.add("tensors spoiled")
            shutil.rmtree(rig.path("f2-run"), ignore_errors=True)
            os.makedirs(rig.path("f2-run"))
            shutil.copy(spoiled, rig.path("f2-run", "ckpt-00000005.tfm"))
            d = rig.train(rig.path("f2-run"), stream, "--steps", "10")
            if d.rc != 1 or "NaN" not in d.err and "finite" not in d.err:
                row.fail("%s in %s: training: status %s: %s", name, rec[1], d.rc, d.err.strip())
            if rec[1].startswith("p/"):
                for argv in (["tf-decode", "-m", spoiled,
                              tokens(rig)], ["tf-avgckpt", spoiled,
                                             spoiled], ["tf-cbor", "check", spoiled]):
                    d = run(argv)
                    if d.rc != 1 or "NaN" not in d.err and "finite" not in d.err:
                        row.fail("%s in %s: %s: status %s: %s", name, rec[1], argv[0], d.rc,
                                 d.err.strip())


def null_crc(raw):
    """The record with its last field, the checksum, null."""
    at, n = 1, raw[0] & 31
    for _ in range(n - 1):
        at = item(raw, at)
    return raw[:at] + b"\xf6"


ROWS = [("C1", c1), ("C2", c2), ("C3", c3), ("D1", d1), ("D2", d2), ("D3", d3), ("F1", f1), ("F2", f2)]
