"""K4, M, N: fuzzers for a while, every tool under valgrind, and work that goes on for long."""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import time

from rig import ENV, SMALL, TOP, kill, run, slurp

FUZZ = os.environ.get("TF_FUZZ") or os.path.join(TOP, "build-fuzz/fuzz")


def fuzz_one(rig, target, seconds):
    """(status, seconds of CPU, what it said) of one target. It may wait for others on the machine, so that an input is slow only after 20 seconds."""
    name = os.path.basename(target)
    # The parser of options keeps its lists for the life of a process, which here is that of very many command lines.
    most = 64 if name != "opt" else 0
    found, seeds = rig.fresh("fuzz-" + name), os.path.join(TOP, "tests/fuzz/corpus", name)
    said = rig.path("fuzz-%s.log" % name)
    with open(said, "wb") as f:
        p = subprocess.Popen([target, "-max_total_time=%d" % seconds, "-rss_limit_mb=1024", "-malloc_limit_mb=%d" % most, "-timeout=20", "-seed=%d" % rig.seed,
                              "-artifact_prefix=%s/" % found, "-print_final_stats=1", found] + [seeds] * os.path.isdir(seeds), stdout=f, stderr=f, env=ENV, cwd=TOP)
        used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(used[1])
    return p.returncode, used[2].ru_utime + used[2].ru_stime, slurp(said).decode(errors="replace")


def fuzz(rig, row):
    """libFuzzer with AddressSanitizer and UBSan on every target (make fuzz first), two at a time: findings"""
    targets = sorted(p for p in glob.glob(os.path.join(FUZZ, "*")) if os.access(p, os.X_OK) and not p.endswith(".o"))
    if rig.short or not targets:
        return
    seconds = int(600 * rig.scale) if rig.minutes is None else int(60 * rig.minutes)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda t: fuzz_one(rig, t, seconds), targets))
    for t, (rc, cpu, said) in zip(targets, done):
        name = os.path.basename(t)
        n = sum(int(x) for x in re.findall(r"stat::number_of_executed_units:\s*(\d+)", said))
        row.add("inputs", n)
        row.add("targets")
        row.figures["fuzz minutes"] = round(row.figures.get("fuzz minutes", 0) + seconds / 60, 1)
        row.figures["minutes of CPU"] = round(row.figures.get("minutes of CPU", 0) + cpu / 60, 1)
        row.note("%s: %s inputs in %.1f minutes, %.1f of them on a CPU" % (name, "{:,}".format(n), seconds / 60, cpu / 60))
        if rc != 0:
            kept = [f for f in os.listdir(rig.path("fuzz-" + name)) if f.split("-")[0] in ("crash", "leak", "oom", "timeout")]
            row.fail("%s: status %s, %s: %s", name, rc, kept, said.strip()[-800:])


def m(rig, row):
    """Every tool at small work under valgrind: no error, no leak of what is lost"""
    if not shutil.which("valgrind") or rig.short:
        return
    stream = rig.batches("b3.tfs", n=3)
    train = ["tf-train"] + SMALL + ["--threads", "2", "--steps", "3", "--save-every", "2", "-o", None, stream]
    again = [x if x != "3" else "5" for x in train]
    again[-1] = rig.batches("b20.tfs", n=20)
    for tool, argv in rig.tools() + [("train", train), ("train, resumed", again)]:
        if None in argv:
            argv = [(rig.fresh("m-run") if tool == "train" else rig.path("m-run")) if x is None else x for x in argv]
        if tool == "tokenize --train":
            argv = argv[:1] + ["-o", rig.path("m-out")] + argv[1:]
        d = run(["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite", "--log-file=" + rig.path("valgrind")] + argv,
                env=dict(TF_CPU_ISA="generic"), timeout=300)
        row.add("tools under valgrind")
        if d.rc != 0:
            row.fail("%s: status %s: %s", tool, d.rc, slurp(rig.path("valgrind")).decode(errors="replace")[:900])


def state(pid):
    """(resident memory in kB, open descriptors) of a process."""
    with open("/proc/%d/statm" % pid) as f:
        return int(f.read().split()[1]) * 4, len(os.listdir("/proc/%d/fd" % pid))


def n(rig, row):
    """Training for 10 minutes, killed every 20 seconds: memory and descriptors flat, and the bytes of an undisturbed run"""
    if rig.short:
        return
    seconds = 600 * rig.scale if rig.minutes is None else 60 * rig.minutes
    # The stream never ends: tf-batch from two small token streams, discarded by the trainer up to its own place.
    ma = rig.material()
    out = rig.path("soak")
    shutil.rmtree(out, ignore_errors=True)
    batch = ["tf-batch", "-q", "--tokens", "120", "--epochs", "0", ma["s"], ma["t"]]
    argv = ["tf-train"] + SMALL + ["--steps", "100000000", "--save-every", "500", "--keep", "2", "-q", "-o", out, "-"]
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
        row.note("resident memory late in the first start %d kB, in the last %d kB; descriptors %d and %d" % (samples[0][-1][0], samples[-1][-1][0],
                                                                                                      samples[0][-1][1], samples[-1][-1][1]))
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


ROWS = [("K4", fuzz), ("M", m), ("N", n)]
