"""K4, K6, M, N: fuzzers for a while, lines that tests run, tools and tests under valgrind and
sanitizers, and long runs."""
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import time

from rig import ENV, SMALL, TOP, kill, run, slurp

FUZZ = os.path.join(TOP, "build-fuzz/fuzz")


def fuzzer(name):
    """The row of one target. It has its minutes on a CPU however many share the machine: libFuzzer
    knows only the clock, so it is started again for what is left. For the same reason an input is
    slow only after 20 seconds."""
    def fuzz(rig, row):
        target = os.path.join(FUZZ, name)
        if rig.short or row.lacks("clang"):
            return
        if not os.access(target, os.X_OK):
            row.fail("make fuzz makes %s", target)
            return
        seconds = int(600 * rig.scale) if rig.minutes is None else int(60 * rig.minutes)
        limits = ["-rss_limit_mb=1024", "-malloc_limit_mb=64", "-timeout=20"]
        if name == "opt":  # its parser keeps lists for the life of a process: many command lines here
            limits += ["-malloc_limit_mb=0", "-runs=1000000"]
        found, seeds, said = rig.fresh("fuzz-" + name), os.path.join(
            TOP, "tests/fuzz/corpus", name), rig.path("fuzz-%s.log" % name)
        cpu, inputs, rc, seed = 0.0, 0, 0, rig.seed
        while rc == 0 and cpu < seconds:
            with open(said, "wb") as f:
                p = subprocess.Popen([
                    target,
                    "-max_total_time=%d" % max(2, seconds - cpu),
                    "-seed=%d" % seed,
                    "-artifact_prefix=%s/" % found, "-print_final_stats=1"
                ] + limits + [found] + [seeds] * os.path.isdir(seeds),
                                     stdout=f,
                                     stderr=f,
                                     env=ENV,
                                     cwd=TOP)
                used = os.wait4(p.pid, 0)
            seed += 1
            p.returncode = rc = os.waitstatus_to_exitcode(used[1])
            cpu += used[2].ru_utime + used[2].ru_stime
            inputs += sum(
                int(x)
                for x in re.findall(rb"stat::number_of_executed_units:\s*(\d+)", slurp(said)))
        row.add("inputs", inputs)
        row.add("minutes of CPU", round(cpu / 60, 1))
        if name.startswith("sp_"):
            system = b"libsentencepiece.so" in slurp(target)
            row.note("SentencePiece of the system, not instrumented" if system else
                     "SentencePiece compiled from SP_SOURCE, instrumented")
        if rc != 0:
            kept = [
                f for f in os.listdir(found)
                if f.split("-")[0] in ("crash", "leak", "oom", "timeout")
            ]
            row.fail("%s: status %s, %s: %s", name, rc, kept,
                     slurp(said).decode(errors="replace").strip()[-800:])
    fuzz.__doc__ = "libFuzzer with AddressSanitizer and UBSan, 10 minutes of CPU: %s" % name
    return "K4-" + name, fuzz


def make(row, *what):
    """False, and the row says why, when it can't be made."""
    env = {
        k: v
        for k, v in ENV.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
    }
    p = subprocess.run([os.environ.get("TF_MAKE") or "make", "-j2", "DEPS=no",
                        "CUDA=no"] + list(what), cwd=TOP, env=env, capture_output=True, text=True)
    if p.returncode != 0:
        row.fail("make %s: %s", " ".join(what), (p.stdout + p.stderr)[-900:])
    return p.returncode == 0


def names(tree, *globs):
    return [
        "%s/%s.t" % (tree, f[:-2]) for g in globs for f in sorted(glob.glob(g, root_dir=TOP))
        if not f.endswith("/replay.c")
    ]


FORMATS = ("lib/cbor", "lib/stream", "lib/exchange")


def coverage(rig, row):
    """Lines of lib/cbor, lib/stream and lib/exchange that are run by its unit tests, the replays of
    the fuzzers and the tests of tf-cbor, tf-info, tf-batch and the formats: at least 95 in 100"""
    if rig.short or row.lacks("gcov"):
        return
    tree = "build-cov"
    for d in FORMATS:
        for f in glob.glob(os.path.join(TOP, tree, d, "*.gcda")):
            os.unlink(f)
    tests = names(
        tree, "tests/unit/cbor_*.c", "tests/unit/stream_*.c", "tests/unit/exchange_*.c",
        "tests/fuzz/*.c") + ["tests/cli/%s.bats" % x for x in ("cbor", "formats", "info", "batch")]
    flags = ["%s=-O0 -g --coverage" % x for x in ("CFLAGS", "CXXFLAGS")] + ["LDFLAGS=--coverage"]
    # A tool that may write only its output can't write what it counted.
    flags.append("TF_SANDBOX=no")
    if not make(row, "B=" + tree, *flags, "run-tests", "TESTS=" + " ".join(tests)):
        return
    said = ""
    for d in FORMATS:
        said += subprocess.run(["gcov", "-n", "-o",
                                tree + "/" + d] + sorted(glob.glob(tree + "/" + d + "/*.gcda",
                                                                   root_dir=TOP)), cwd=TOP,
                               capture_output=True, text=True).stdout
    lines = run_ = 0
    for name, part, n in re.findall(
            r"File '((?:%s)/\S+\.c)'\nLines executed:([\d.]+)%% of (\d+)" % "|".join(FORMATS),
            said):
        lines += int(n)
        run_ += round(float(part) * int(n) / 100)
        if float(part) < 95:
            row.note("%s: %s of %s lines" % (name, part + " %", n))
    row.figures["lines of the formats"] = "%.1f %% of %s" % (100 * run_ / max(lines, 1),
                                                             "{:,}".format(lines))
    if lines == 0 or run_ < 0.95 * lines:
        row.fail("%d of %d lines of the formats are run", run_, lines)


def trained(rig, where, threads):
    """Training in two starts, with validation and saves between: commands."""
    stream, valid = rig.batches("b20.tfs", n=20), rig.batches("valid.tfs", n=5, seed=9)
    out = rig.fresh(where)
    return [["tf-train"] + SMALL + [
        "--threads", threads, "--steps", steps, "--save-every", "2", "--valid", valid,
        "--valid-every", "3", "-o", out, stream
    ] for steps in ("3", "5")]


def m(rig, row):
    """Every tool at small work under valgrind, with the generic kernels and those of AVX2; the
    pools of threads, and the kernels of the CUDA backend in the emulation, under ThreadSanitizer;
    the formats under MemorySanitizer: no error, no leak of what is lost"""
    if rig.short:
        return
    with open("/proc/cpuinfo") as f:
        sets = ["generic"] + ["avx2"] * (" avx2 " in f.read())  # valgrind knows no AVX-512
    if not row.lacks("valgrind"):
        for isa in sets:
            few = isa == "avx2"
            todo = [(t, c) for t, c in rig.tools() if not few or t in ("decode", "score", "avgckpt")
                    ] + [("train", c) for c in trained(rig, "m-run", "2")]
            for tool, argv in todo:
                if tool == "tokenize --train":
                    argv = argv[:1] + ["-o", rig.path("m-out")] + argv[1:]
                d = run(["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
                         "--errors-for-leak-kinds=definite",
                         "--log-file=" + rig.path("valgrind")] + argv, env=dict(TF_CPU_ISA=isa,
                                                                                TF_SANDBOX="no"),
                        timeout=900)
                row.add("commands under valgrind")
                if d.rc != 0:
                    row.fail("%s, %s: status %s: %s", tool, isa, d.rc,
                             slurp(rig.path("valgrind")).decode(errors="replace")[:900])
    threads(rig, row)
    memory(rig, row)


def threads(rig, row):
    units = [
        "build-thread/tests/unit/%s.t" % x
        for x in ("base_thread", "infer_decode", "train_stepper")
    ]
    if not make(row, "B=build-thread", "SAN=thread", "all", *units):
        return
    ma, bin_ = rig.material(), os.path.join(TOP, "build-thread/bin")
    todo = [[os.path.join(TOP, u)] for u in units] + trained(rig, "t-run", "3") + \
        [["tf-decode", "-m", ma["model"], "-t", "3", "--max-extra", "3", ma["s"]], ["tf-score", "-m", ma["model"], "-t", "3", ma["s"], ma["t"]],
         ["tf-attn", "-m", ma["model"], "-t", "3", ma["s"], ma["t"]],
         ["tf-tokenize", "--threads", "3", "-m", ma["vocab"], ma["src"]]]
    for argv in todo:
        d = run(argv, env=dict(PATH=bin_ + ":" + ENV["PATH"], TSAN_OPTIONS="exitcode=66"), cwd=TOP,
                timeout=900)
        row.add("commands under ThreadSanitizer")
        if d.rc != 0:
            row.fail("%s under ThreadSanitizer: status %s: %s", argv[0], d.rc, d.err[:900])
    kernels(rig, row, bin_)


def kernels(rig, row, bin_):
    """Threads of a block that nothing orders, see tests/emulate. Sentences that several tiles of
    attention share, heads of a width that the tensor cores take, ids that many rows have."""
    tree = "build-thread"
    plugin, check = tree + "/emulate/tf-backend-cuda.so", tree + "/tests/emulate/check.t"
    if not make(row, "B=" + tree, "SAN=thread", plugin, check):
        return
    long, four, few, many = (rig.path(x + ".tfs") for x in ("long", "four", "few", "many"))
    for path, argv in ((long, ["tests/cli/batches.py", "n=2", "pairs=3", "longest=140"]),
                       (four, ["tests/cli/batches.py", "n=2", "pairs=3", "longest=140",
                               "v=8"]), (few, ["tests/bench/random_tokens.py", "64", "3", "9"]),
                       (many, ["tests/bench/random_tokens.py", "64", "20", "5"])):
        with open(path, "wb") as f:
            subprocess.run(["/usr/bin/python3"] + argv, cwd=TOP, stdout=f, check=True)
    train = [
        "tf-train", "--preset", "tiny", "--layers", "1", "--d-model", "64", "--d-ff", "128",
        "--heads", "1", "--dropout", "0.1", "--attention-dropout", "0.1", "--warmup", "20",
        "--steps", "2", "--save-every", "2"
    ]
    todo = [
        [os.path.join(TOP, check)], train +
        ["--positions", "learned", "-o", rig.fresh("race"), four]
    ]
    for p in ("bf16", "fp16", "fp32"):
        out = rig.fresh("race-" + p)
        todo += [train + ["--precision", p, "-o", out, long]]
        todo += [[
            tool, "--precision", p, "-m",
            os.path.join(out, "ckpt-00000002.tfm"), "-o",
            rig.path("out.tfs")
        ] + more for tool, *more in (
            ["tf-decode", "--beam", "4", "--max-extra", "3", few],
            ["tf-decode", "--batch", "20", "--beam", "2", "--max-extra", "2", many],
            ["tf-decode", "--sample", "--top-k", "9", "--top-p", "0.7", "--max-extra", "2", few],
            ["tf-score", few, few], ["tf-attn", few, few])]
    for argv in todo:
        cuda = ["--device", "cuda"] if argv[0].startswith("tf-") else []
        d = run(argv[:1] + cuda + argv[1:], cwd=TOP, timeout=900,
                env=dict(PATH=bin_ + ":" + ENV["PATH"],
                         TF_BACKEND_DIR=os.path.dirname(os.path.join(TOP, plugin)),
                         TSAN_OPTIONS="exitcode=66"))
        row.add("commands on the emulated GPU under ThreadSanitizer")
        if d.rc != 0:
            row.fail("%s on the emulated GPU under ThreadSanitizer: status %s: %s", " ".join(argv),
                     d.rc, d.err[:900])


def memory(rig, row):
    """By clang; libcbor is none of its, see msan_cbor.c. Without stream_hostile, which measures
    memory, and stream_damage, which would take an hour."""
    if row.lacks("clang"):
        return
    tree, source = "build-memory", os.path.join(TOP, "tests/faults/msan_cbor.c")
    os.makedirs(os.path.join(TOP, tree), exist_ok=True)
    subprocess.run(
        ["clang", "-O1", "-g", "-fsanitize=memory", "-c", "-o", tree + "/msan_cbor.o", source],
        cwd=TOP,
        check=True)
    wrapped = re.findall(r"__wrap_(cbor_stream_\w+)\(cbor_data p",
                         slurp(source).decode()) + re.findall(r"^WRAPPED\((\w+),",
                                                              slurp(source).decode(), re.M)
    tests = [
        t for t in
        names(tree, "tests/unit/cbor_*.c", "tests/unit/stream_*.c", "tests/unit/exchange_*.c",
              "tests/fuzz/stream.c", "tests/fuzz/checkpoint.c", "tests/fuzz/jsonl.c")
        if not t.endswith(("/stream_hostile.t", "/stream_damage.t"))
    ]
    if not make(row, "B=" + tree, "CC=clang", "CXX=clang++", "SAN=memory", "san_warn=",
                "LDFLAGS=%s %s/msan_cbor.o" % (" ".join("-Wl,--wrap=" + x
                                                        for x in wrapped), tree), *tests):
        return
    for t in tests:
        d = run([os.path.join(TOP, t)], cwd=TOP, timeout=900)
        row.add("tests under MemorySanitizer")
        if d.rc != 0:
            row.fail("%s under MemorySanitizer: status %s: %s", t, d.rc, d.err[:900]
                     or d.out.decode(errors="replace")[-900:])


def state(pid):
    """(resident memory in kB, open descriptors) of a process."""
    with open("/proc/%d/statm" % pid) as f:
        return int(f.read().split()[1]) * 4, len(os.listdir("/proc/%d/fd" % pid))


def n(rig, row):
    """Training for 10 minutes, killed every 20 seconds: memory and descriptors flat, and the bytes
    of an undisturbed run"""
    if rig.short:
        return
    seconds = 600 * rig.scale if rig.minutes is None else 60 * rig.minutes
    # The stream never ends: tf-batch from two small token streams, discarded by the trainer up to
    # its own place.
    ma = rig.material()
    out = rig.path("soak")
    shutil.rmtree(out, ignore_errors=True)
    batch = ["tf-batch", "-q", "--tokens", "120", "--epochs", "0", ma["s"], ma["t"]]
    argv = ["tf-train"] + SMALL + [
        "--steps", "100000000", "--save-every", "500", "--keep", "2", "-q", "-o", out, "-"
    ]
    end = time.time() + seconds
    samples = []
    while time.time() < end:
        a = subprocess.Popen(batch, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV)
        p = subprocess.Popen(argv, stdin=a.stdout, stderr=subprocess.PIPE, env=ENV)
        a.stdout.close()
        until = min(end, time.time() + 20)
        here = []
        while time.time() < until and p.poll() is None:
            time.sleep(1)
            try:
                here.append(state(p.pid))
            except (FileNotFoundError, ProcessLookupError):
                pass
        if p.poll() is not None:
            row.fail("status %s: %s", p.returncode, p.stderr.read().decode().strip())
            a.kill()
            break
        kill(p)
        a.wait()
        p.stderr.close()
        row.add("kills")
        if len(here) > 8:
            samples.append(here)
    row.figures["minutes"] = round(seconds / 60, 1)
    last = max((f for f in os.listdir(out) if f.startswith("ckpt-")), default=None)
    if last is None:
        row.fail("no checkpoint")
        return
    steps = int(last[5:13])
    row.add("updates", steps)
    for here in samples:
        first, late = here[len(here) // 3], here[-1]
        if late[0] > first[0] * 1.05 + 512 or late[1] > first[1] + 2:
            row.fail("memory and descriptors went from %s to %s within a start", first, late)
    if samples:
        row.note(
            "resident memory late in the first start %d kB, in the last %d kB; descriptors %d and %d"
            % (samples[0][-1][0], samples[-1][-1][0], samples[0][-1][1], samples[-1][-1][1]))
    rates = [
        json.loads(x)["tok_s"] for x in slurp(os.path.join(out, "log.jsonl")).splitlines()
        if b'"event":"step"' in x
    ]
    third = len(rates) // 3
    if third > 0:
        early, late = statistics.median(rates[:third]), statistics.median(rates[-third:])
        row.note(
            "median of the tokens per second in the log: %d in the first third, %d in the last, %+.1f %%"
            % (early, late, 100 * (late / early - 1)))
    # Undisturbed to the same step.
    again = rig.path("soak-again")
    shutil.rmtree(again, ignore_errors=True)
    a = subprocess.Popen(batch, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV)
    argv[argv.index("100000000")] = str(steps)
    argv[argv.index(out)] = again
    p = subprocess.Popen(argv, stdin=a.stdout, stderr=subprocess.PIPE, env=ENV)
    a.stdout.close()
    p.communicate()
    a.wait()
    row.add("compared")
    if slurp(os.path.join(out, last)) != slurp(os.path.join(again, last)):
        row.fail("%s differs from that of a run that was not killed", last)


ROWS = [
    fuzzer(os.path.basename(f)[:-2])
    for f in sorted(glob.glob(os.path.join(TOP, "tests/fuzz/*.c"))) if not f.endswith("/replay.c")
] + [("K6", coverage), ("M", m), ("N", n)]
