"""G: training on several ranks, on one machine: one of them killed, stopped or sent a signal. The next
start has another number of ranks; the files at the end are those of one undisturbed process."""
import os
import shutil
import signal
import subprocess
import time

from rig import BIN, ENV, slurp

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
    """tf-train as n ranks."""

    def __init__(self, rig, launcher, n, out, stream, *more):
        self.out, self.n = out, n
        argv = launcher + ["-n", str(n)] + rig.train_argv(out, stream, *more)
        self.p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, env=dict(ENV, **MPI),
                                  start_new_session=True)

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
        """Wait until the launcher and all ranks have ended: the launcher's status, or None."""
        try:
            err = self.p.communicate(timeout=seconds)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            row.fail("%s: the launcher hangs", what)
            err = None
        until = time.time() + 5
        while self.pids() and time.time() < until:
            time.sleep(0.05)
        if self.pids():
            row.fail("%s: ranks are left: %s", what, self.pids())
        for pid in self.pids() + ([self.p.pid] if err is None else []):
            self.send(pid, signal.SIGKILL)
        if err is None:
            self.p.communicate()
        return None if err is None else self.p.returncode


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
                time.sleep(row.r.uniform(0.3, 2.5))
                pids = ranks.pids()
                if pids and ranks.p.poll() is None:
                    allowed = disturb(ranks, pids, what)
                    done += 1
            # Many ranks on few CPUs take long when nothing ends them.
            status = ranks.end(row, what, 900 if allowed == (0, ) else 60)
            over = status == 0
            if status is None or (allowed is not None and status not in allowed + (0, )):
                row.fail("%s: status %s", what, status)
                break
            if rig.check_whole(row, what, out) > 4:
                row.fail("%s: too many checkpoints", what)
        if over:
            rig.compare(row, "at %d" % done, out, whole, True)


def g1(rig, row):
    """SIGKILL of a random rank or of the launcher: all ranks end, and the next start, with another
    number of ranks or the other MPI, continues to the bytes of one process"""
    def disturb(ranks, pids, what):
        ranks.send(row.r.choice(pids + [ranks.p.pid]), signal.SIGKILL)
        row.add("kills")
        return None
    until_done(rig, row, rig.count(1000, short=2), disturb)


def g2(rig, row):
    """SIGSTOP of a random rank: the others end it all after --rank-timeout"""
    def disturb(ranks, pids, what):
        if ranks.n == 1 or not ranks.trains():
            return (0, )
        ranks.send(row.r.choice(pids), signal.SIGSTOP)
        row.add("ranks stopped")
        return None
    until_done(rig, row, rig.count(100, short=1), disturb)


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


ROWS = [("G1", g1), ("G2", g2), ("G3", g3)]
