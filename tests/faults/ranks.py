"""G: training on several ranks: one of them killed, stopped, sent a signal, slow, without memory or
with a wrong bit; hosts (network namespaces) cut off from each other. The next start, often with
another number of ranks, ends with the files of one undisturbed process."""
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from hosts import Hosts
from rig import BIN, ENV, SHIM, run, slurp

MPI = dict(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"],
    "mpich": ["mpirun.mpich"]
}


def launchers(row):
    """The MPIs that can be tested here."""
    found = []
    for name, argv in LAUNCHERS.items():
        if os.path.exists(os.path.join(BIN, "tf-comm-%s.so" % name)):
            if not row.lacks(argv[0]):
                found.append(argv)
        else:
            row.note("no tf-comm-%s.so: nothing was run with it" % name)
    return found


def catches(pid, sig):
    try:
        status = slurp("/proc/%d/status" % pid).decode()
    except OSError:
        return False
    caught = next(x for x in status.splitlines() if x.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (sig - 1) & 1 == 1


class Ranks:
    """tf-train as n ranks. odd: (rank, environment) of one that is not like the others."""
    def __init__(self, rig, launcher, n, out, stream, *more, odd=None):
        self.out, self.n = out, n
        self.openmpi = "mpirun.openmpi" in launcher
        program = rig.train_argv(out, stream, *more)
        argv = launcher + ["-n", str(n)] + program
        if odd is not None:
            rank, env = odd
            special = ["env"] + ["%s=%s" % x for x in env.items()] + program
            parts = [(rank, program), (1, special), (n - rank - 1, program)]
            argv = list(launcher)
            for k, part in parts:
                if k > 0:
                    argv += [":"] * (len(argv) > len(launcher)) + ["-n", str(k)] + part
        self.said = tempfile.TemporaryFile()  # can be read when the launcher hangs, too
        self.p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=self.said, env=dict(ENV, **MPI), start_new_session=True)
        self.err = ""
        self.stopped = None

    def pids(self):
        """Of the ranks."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                argv = slurp("/proc/%s/cmdline" % pid).split(b"\0")
            except OSError:
                continue
            if argv[0] == b"tf-train" and self.out.encode() in argv:
                found.append(int(pid))
        return sorted(found)

    def pid_of(self, rank):
        """Of a rank; rank 0 when it is not known."""
        for pid in self.pids():
            env = slurp("/proc/%d/environ" % pid).split(b"\0")
            if b"OMPI_COMM_WORLD_RANK=%d" % rank in env or b"PMI_RANK=%d" % rank in env:
                return pid
        raise LookupError("rank %d" % rank)

    def trains(self):
        """Wait until all ranks catch signals, as they do when the run has begun; False: it has
        ended."""
        while self.p.poll() is None:
            pids = self.pids()
            if len(pids) == self.n and all(catches(pid, signal.SIGTERM) for pid in pids):
                return True
            time.sleep(0.02)
        return False

    def send(self, pid, sig):
        try:
            os.kill(pid, sig)
        except ProcessLookupError:
            return False
        return True

    def end(self, row, what, seconds):
        """Wait until the launcher and all ranks have ended: the launcher's status."""
        hangs = False
        try:
            self.p.wait(seconds)
        except subprocess.TimeoutExpired:
            hangs = True
            if self.stopped is not None and self.pids() == [self.stopped]:
                # It was stopped after the last message, and the others have ended.
                self.send(self.stopped, signal.SIGCONT)
                self.stopped = None
                row.add("stopped at the end")
                return self.end(row, what, seconds)
            if self.pids() or not self.openmpi:
                row.fail("%s: the launcher hangs", what)
            else:
                # A deadlock in PMIx_server_finalize, seen with Open MPI 4.1.4: not ours.
                row.add("launchers that hung after all ranks had ended")
        until = time.time() + 5
        while self.pids() and time.time() < until:
            time.sleep(0.05)
        if self.pids():
            row.fail("%s: ranks are left: %s", what, self.pids())
        for pid in self.pids() + [self.p.pid] * hangs:
            self.send(pid, signal.SIGKILL)
        self.p.wait()
        self.said.seek(0)
        self.err = self.said.read().decode(errors="replace")
        return self.p.returncode


def until_done(rig, row, count, disturb):
    """Starts with random numbers of ranks. disturb(ranks, launcher's pid, what) does something to
    a start and returns the statuses that it may then have; NONE of them: any but a hang."""
    stream = rig.batches("b1000.tfs", n=1000)
    more = ["--steps", "1000", "--save-every", "50", "--keep", "2", "--rank-timeout", "3"]
    whole = rig.whole("ranks", stream, *more)
    done = 0
    found = launchers(row)
    while found and done < count and not row.over():
        out = rig.path("ranks")
        shutil.rmtree(out, ignore_errors=True)
        over = False
        while not over:
            n, launcher = row.r.choice((1, 2, 4, 8)), row.r.choice(found)
            what = "%d ranks of %s, %d" % (n, launcher[0], done)
            ranks = Ranks(rig, launcher, n, out, stream, *more)
            allowed = (0, )
            if done < count:
                time.sleep(row.r.uniform(0.15, 1))  # of a second and a half at most
                pids = ranks.pids()
                if pids and ranks.p.poll() is None:
                    allowed = disturb(ranks, pids, what)
                    done += 1
            # Many ranks on few CPUs take long when nothing ends them.
            status = ranks.end(row, what, 900 if allowed == (0, ) else 60)
            over = status == 0
            if allowed is not None and status not in allowed + (0, ):
                row.fail("%s: status %s", what, status)
                break
            if rig.check_whole(row, what, out) > 4:
                row.fail("%s: too many checkpoints", what)
        if over:
            rig.compare(row, "at %d" % done, out, whole, True)


def g1_kill(rig, row):
    """SIGKILL of a random rank or of the launcher: all ranks end, and the next start, with another
    number of ranks or the other MPI, continues to the bytes of one process"""
    def disturb(ranks, pids, what):
        ranks.send(row.r.choice(pids + [ranks.p.pid]), signal.SIGKILL)
        row.add("kills")
        return None
    until_done(rig, row, rig.count(1000, short=2), disturb)


def g1_stop(rig, row):
    """SIGSTOP of a random rank: the others end it all after --rank-timeout"""
    def disturb(ranks, pids, what):
        if ranks.n == 1 or not ranks.trains():
            return (0, )
        ranks.stopped = row.r.choice(pids)
        ranks.send(ranks.stopped, signal.SIGSTOP)
        row.add("ranks stopped")
        return None
    until_done(rig, row, rig.count(100, short=1), disturb)


# ---- one bit of a copy of the weights ----


def largest_tensor(path, tmp):
    """Its bytes, of a model file."""
    run(["tf-convert", path, "-o", tmp])
    data = slurp(tmp)
    n = struct.unpack("<Q", data[:8])[0]
    spans = [x["data_offsets"] for k, x in json.loads(data[8:8 + n]).items() if k != "__metadata__"]
    return max((data[8 + n + first:8 + n + last] for first, last in spans), key=len)


def flip(pid, tensor, r):
    """Change one bit in each copy that the process has of a tensor; returns how many it has."""
    at, bit, found = r.randrange(len(tensor)), 1 << r.randrange(8), 0
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "r+b", 0) as mem:
        for line in maps.read().splitlines():
            where, mode = line.split()[:2]
            first, last = (int(x, 16) for x in where.split("-"))
            if not mode.startswith("rw"):
                continue
            try:
                mem.seek(first)
                data = mem.read(last - first)
            except (OSError, OverflowError):
                continue
            i = data.find(tensor)
            while i >= 0:
                mem.seek(first + i + at)
                mem.write(bytes([tensor[at] ^ bit]))
                found += 1
                i = data.find(tensor, i + 1)
    return found


def wait_for(good, p, seconds=60):
    """Until good(); False if the process ends first or it takes too long."""
    until = time.time() + seconds
    while not good():
        if p.poll() is not None or time.time() > until:
            return False
        time.sleep(0.02)
    return True


def steps(out):
    """The step lines of a log."""
    try:
        lines = slurp(os.path.join(out, "log.jsonl")).decode().splitlines()
    except OSError:
        return []
    return [json.loads(x) for x in lines if x.startswith('{"event":"step"') and x.endswith("}")]


def reached(out, step):
    return any(x["step"] >= step for x in steps(out))


def flip_one(row, ranks, what, victim, tensor):
    """At step 20, where the run waits for more input; then USR1 requests a save."""
    if not wait_for(lambda: reached(ranks.out, 20), ranks.p):
        ranks.send(ranks.p.pid, signal.SIGKILL)
        ranks.end(row, what, 60)
        return row.fail("%s: step 20 was not reached: %s", what, ranks.err)
    time.sleep(0.2)  # rank 0 has all weights; another one may still be receiving some
    pid = ranks.pid_of(victim)
    if flip(pid, tensor, row.r) == 0:
        row.fail("%s: its copy of the weights was not found", what)
    row.add("bits flipped")
    ranks.send(ranks.pid_of(0), signal.SIGUSR1)
    status = ranks.end(row, what, 60)
    named = "rank %d (" % (victim if victim > 0 else 1)
    if status != 1:
        row.fail("%s: status %s", what, status)
    if named not in ranks.err or ": other weights than on rank 0" not in ranks.err:
        row.fail("%s: not named: %s", what, ranks.err)
    if os.path.exists(os.path.join(ranks.out, "resume.tfm")):
        row.fail("%s: a copy was saved", what)


def one_of_them(rig, row):
    """Runs of which one rank is odd: number of ranks, launcher, that rank, and all of it in words."""
    found = launchers(row)
    for i in range(rig.count(50, short=1) if found else 0):
        if row.over():
            return
        n, launcher = row.r.choice((2, 4, 8)), row.r.choice(found)
        odd = row.r.randrange(n)
        yield n, launcher, odd, "%d ranks of %s, rank %d, %d" % (n, launcher[0], odd, i)


def g2(rig, row):
    """one bit of a rank's copy of the weights flipped before a save: nothing is saved, the rank is
    named, and the next start continues from the last good checkpoint"""
    part = rig.batches("b20.tfs", n=20, end=0)
    stream = rig.batches("b40.tfs", n=40)
    # The weights stay what they are, and so can be found in memory; the moments change.
    more = ["--lr-scale", "0", "--steps", "40", "--save-every", "15", "--log-every", "1"]
    whole = rig.whole("flip", stream, *more)
    tensor = largest_tensor(os.path.join(rig.path("whole-flip"), "ckpt-00000040.tfm"),
                            rig.path("weights.safetensors"))
    out, fifo = rig.path("flip"), rig.path("fifo")
    os.mkfifo(fifo)
    for n, launcher, victim, what in one_of_them(rig, row):
        shutil.rmtree(out, ignore_errors=True)
        ranks = Ranks(rig, launcher, n, out, fifo, *more)
        feed = subprocess.Popen(
            ["sh", "-c", 'exec >"$1"; cat "$2"; exec sleep 600', "sh", fifo, part])
        try:
            flip_one(row, ranks, what, victim, tensor)
        finally:
            feed.kill()
            feed.wait()
        d = rig.train(out, stream, *more)
        if d.rc != 0:
            row.fail("%s: the next start: %s: %s", what, d.rc, d.err)
        else:
            rig.compare(row, what, out, whole)


def g3(rig, row):
    """USR1, USR2 or TERM to a random rank: it saves and continues, or all end with 75 and the next
    start continues"""
    def disturb(ranks, pids, what):
        sig = row.r.choice((signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM))
        if not ranks.trains(): # before that, signals are not caught
            return (0, )
        ranks.send(row.r.choice(pids), sig)
        row.add("signals")
        return None if ranks.n == 1 else (75, )  # one process ends by the signal
    until_done(rig, row, rig.count(600, short=2), disturb)


# ---- hosts ----

# Open MPI 4.1.4, now and then, before any rank has begun.
NO_DAEMON = "ORTE was unable to reliably start one or more daemons"


def g4(rig, row):
    """two hosts (network namespaces) cut off from each other while four ranks train: all ranks and
    the launcher end, and the next start continues"""
    if LAUNCHERS["openmpi"] not in launchers(row) or row.lacks("ip"):
        return
    hosts = Hosts(rig.tmp)
    try:
        why = hosts.create()
        if why is not None:
            row.note("no network namespaces as hosts, nothing was run: " + why)
        else:
            cuts(rig, row, hosts)
    finally:
        hosts.remove()


def cuts(rig, row, hosts):
    stream = rig.batches("b600.tfs", n=600)
    more = ["--steps", "600", "--save-every", "50", "--keep", "2", "--rank-timeout", "2"]
    whole = rig.whole("hosts", stream, *more)
    out = rig.path("hosts")
    done, most = 0, rig.count(100, short=1)
    not_started = 0  # starts in turn
    while done < most and not row.over():
        shutil.rmtree(out, ignore_errors=True)
        status = None
        while status != 0:
            what = "cut %d" % done
            ranks = Ranks(rig, hosts.launcher(2), 4, out, stream, *more)
            cut = done < most and ranks.trains()
            if cut:
                time.sleep(row.r.uniform(0, 2))
                cut = ranks.p.poll() is None and hosts.cut()
            status = ranks.end(row, what, 60 if cut else 300)
            if not cut and status != 0 and NO_DAEMON in ranks.err and not_started < 2:
                not_started += 1
                row.add("launchers that could not start their daemon")
                hosts.repair()
                continue
            not_started = 0
            if not cut and status != 0:
                row.fail("%s: status %s: %s", what, status, ranks.err)
            if cut:
                done += 1
                row.add("partitions")
                # After the last update only the launcher may be left to notice.
                if status != 0 and not any(x in ranks.err for x in ("no answer for 2 s from",
                                                                    "finished at step 600")):
                    row.fail("%s: printed %s", what, ranks.err)
            hosts.repair()
            rig.check_whole(row, what, out)
            if row.failures:
                return
        rig.compare(row, "at %d" % done, out, whole, True)


# ---- other numbers of ranks, slow ranks, no memory ----


def g5(rig, row):
    """1, 4, 2 and 8 ranks, one after the other, each but the last ended by a kill: the bytes of one
    process"""
    stream = rig.batches("b200.tfs", n=200)
    more = ["--steps", "200", "--save-every", "10", "--keep", "2", "--log-every", "1"]
    whole = rig.whole("numbers", stream, *more)
    found = launchers(row)
    out = rig.path("numbers")
    for i in range(rig.count(50, short=1) if found else 0):
        if row.over():
            break
        shutil.rmtree(out, ignore_errors=True)
        for n, until in ((1, 45), (4, 95), (2, 145), (8, None)):
            launcher = row.r.choice(found)
            what = "%d ranks of %s, %d" % (n, launcher[0], i)
            ranks = Ranks(rig, launcher, n, out, stream, *more)
            if until is not None and wait_for(lambda: reached(out, until), ranks.p):
                ranks.send(row.r.choice(ranks.pids() + [ranks.p.pid]), signal.SIGKILL)
                row.add("kills")
            status = ranks.end(row, what, 60)
            if until is None and status != 0:
                row.fail("%s: status %s: %s", what, status, ranks.err)
        rig.compare(row, "%d" % i, out, whole, True)


def g6(rig, row):
    """a rank that computes slowly: the bytes of one process, and the log names the rank"""
    stream = rig.batches("b40.tfs", n=40)
    more = ["--steps", "40", "--save-every", "20", "--log-every", "1"]
    whole = rig.whole("slow", stream, *more)
    out = rig.path("slow")
    for n, launcher, slow, what in one_of_them(rig, row):
        shutil.rmtree(out, ignore_errors=True)
        ranks = Ranks(rig, launcher, n, out, stream, *more,
                      odd=(slow, dict(LD_PRELOAD=SHIM, TF_FAULT_SLOW="50")))
        status = ranks.end(row, what, 120)
        if status != 0:
            row.fail("%s: status %s: %s", what, status, ranks.err)
            continue
        rig.compare(row, what, out, whole)
        named = [x["slowest"] for x in steps(out)]
        # Any rank may be slower once, when the machine is busy.
        if len(named) != 40 or named.count(slow) <= 20:
            row.fail("%s: slowest %s", what, named)
        row.add("slow ranks")


def g7(rig, row):
    """an allocation of one rank fails: all ranks vote, rank 0 saves the last boundary and names the
    rank, and all exit with 1; or that rank ends, and all others; the next start continues"""
    stream = rig.batches("large.tfs", n=20, large=12, v=200)
    more = ["--steps", "20", "--save-every", "5", "--keep", "2", "--rank-timeout", "5"]
    whole = rig.whole("memory", stream, *more)
    found = launchers(row)
    out, report = rig.path("memory"), rig.path("report")
    for i in range(rig.count(200, short=4) if found else 0):
        if row.over():
            break
        n, launcher = row.r.choice((2, 4, 8)), row.r.choice(found)
        odd, calls = row.r.randrange(n), ("aligned_alloc", "malloc")[i % 2]
        env = dict(LD_PRELOAD=SHIM, TF_FAULT_CALLS=calls)
        what = "%d ranks of %s, %s in rank %d, %d" % (n, launcher[0], calls, odd, i)

        def start(**more_env):
            shutil.rmtree(out, ignore_errors=True)
            ranks = Ranks(rig, launcher, n, out, stream, *more, odd=(odd, dict(env, **more_env)))
            return ranks, ranks.end(row, what, 60)

        def allocations():
            if start(TF_FAULT_REPORT=report)[1] != 0:
                return 0
            return int(slurp(report).split()[0])
        most = rig.once("%s %d %d %s" % (calls, n, odd, launcher[0]), allocations)
        if most == 0:
            row.fail("%s: no allocations were counted", what)
            continue
        at = row.r.randint(1, most)
        what += ", number %d" % at
        ranks, status = start(TF_FAULT_AT=str(at), TF_FAULT_DO="ENOMEM")
        row.add("allocations failed")
        check_report(row, what, ranks, status, odd)
        d = rig.train(out, stream, *more)
        if d.rc != 0:
            row.fail("%s: the next start: %s: %s", what, d.rc, d.err)
        else:
            rig.compare(row, what, out, whole, True)


def check_report(row, what, ranks, status, odd):
    """The message for an allocation that failed."""
    lines = [x for x in ranks.err.splitlines()
             if x.startswith("tf-train: ") and ": warning: " not in x]
    if status == 0:
        row.add("not needed")
    elif lines[:1] == ["tf-train: out of memory"] and all("at the start, no answer" in x
                                                          for x in lines[1:]):
        # The rank ended at once, which is a death for the launcher: MPICH's returns 9. Before all
        # ranks have met, MPICH leaves it to them to notice.
        row.add("ended at once")
        if status not in (1, 9):
            row.fail("%s: status %s: %s", what, status, ranks.err)
    else:
        row.add("votes")
        name = "rank %d (" % odd if odd > 0 else ""
        if status != 1 or len(lines) != 1 or "memory" not in lines[0] or name not in lines[0]:
            row.fail("%s: status %s: %s", what, status, ranks.err)


ROWS = [("G1-kill", g1_kill), ("G1-stop", g1_stop), ("G2", g2), ("G3", g3), ("G4", g4),
        ("G5", g5), ("G6", g6), ("G7", g7)]
