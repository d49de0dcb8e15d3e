"""S: a run and all that may happen to it, in an order drawn by the number of a history."""
import ctypes
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import time

import cbor2

import disk
from resume import records
from rig import ENV, SHIM, SMALL, TIMEOUT, Done, sha, slurp

STEPS = 60
CLONE_NEWNS, CLONE_NEWUTS = 0x20000, 0x4000000
LIBC = ctypes.CDLL(None, use_errno=True)


def unshare(flags):
    return LIBC.unshare(flags) == 0


class Ext4:
    """A real file system on a loop device, in a mount namespace of this process, that can lose
    what it was not asked to keep: FS_IOC_SHUTDOWN without a flush of its journal, then a mount
    that replays it. Needs root."""
    SHUTDOWN, NO_FLUSH = 0x8004587D, 2

    def __init__(self, rig):
        self.image, self.at = rig.path("ext4.img"), rig.path("ext4")
        self.good = False
        if os.getuid() != 0 or not shutil.which("mkfs.ext4") or not unshare(CLONE_NEWNS):
            return
        os.makedirs(self.at, exist_ok=True)
        subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True)
        with open(self.image, "wb") as f:
            f.truncate(32 << 20)
        self.good = subprocess.run(["mkfs.ext4", "-q", "-F", self.image],
                                   capture_output=True).returncode == 0 and self.mount()

    def mount(self):
        return subprocess.run(["mount", "-o", "loop", self.image, self.at],
                              capture_output=True).returncode == 0

    def sync(self):
        """All that was done so far is on the disk."""
        d = os.open(self.at, os.O_RDONLY)
        LIBC.syncfs(d)
        os.close(d)

    def cut(self):
        """The power fails, and is back."""
        d = os.open(self.at, os.O_RDONLY)
        fcntl.ioctl(d, self.SHUTDOWN, struct.pack("I", self.NO_FLUSH))
        os.close(d)
        subprocess.run(["umount", self.at], check=True)
        if not self.mount():
            raise SystemExit("the file system cannot be mounted after a power cut")

    def close(self):
        if self.good:
            subprocess.run(["umount", self.at], capture_output=True)


# ---- what an undisturbed run does ----

def modes(rig):
    """Ways to train that keep more than one kind of state: {name: (stream, options)}."""
    valid = rig.batches("valid.tfs", n=5, seed=9)
    one, three = rig.batches("s1.tfs", n=STEPS), rig.batches("s3.tfs", n=3 * STEPS)
    searching = ["--valid", valid, "--schedule", "constant", "--lr", "0.01", "--warmup", "0"]

    def first():  # a model to start from
        d = rig.path("s-first")
        if rig.train(d, one, "--steps", "5").rc != 0:
            raise SystemExit("the first model cannot be trained")
        return os.path.join(d, "ckpt-00000005.tfm")
    return {
        "plain": (one, []),
        "accumulated": (three, ["--accumulate", "3", "--ema", "0.9", "--clip", "1"]),
        "validated": (one, searching + ["--valid-every", "5"]),
        "patient": (one, searching + ["--valid-every", "3", "--patience", "4", "--best-by", "acc"]),
        "by the clock": (one, ["--pre-norm", "--positions", "learned", "--save-minutes", "1e-5"]),
        "tuned": (one, ["--init", rig.once("s-first", first), "--seed", "2"]),
    }


class Twin:
    """The checkpoint of every step of a run that nothing happens to, its log and its last step."""

    def __init__(self, rig, name, stream, more, env, path):
        shutil.rmtree(path, ignore_errors=True)
        d = rig.train(path, stream, *more, "--steps", str(STEPS), "--save-every", "1", "--keep",
                      "0", env=env)
        if d.rc != 0:
            raise SystemExit("the undisturbed run %s failed: %s" % (name, d.err))
        self.files = {
            int(f[5:13]): slurp(os.path.join(path, f))
            for f in os.listdir(path) if f.startswith("ckpt-")
        }
        self.last = max(self.files)
        best = os.path.join(path, "best.tfm")
        self.best = step_of(slurp(best)) if os.path.exists(best) else None
        self.valid = validations(os.path.join(path, "log.jsonl"))
        self.digests = {disk.digest(x): k for k, x in self.files.items()}
        self.bare = {k: without_best(x) for k, x in self.files.items()}


def validations(log):
    """The results in a log."""
    out = []
    for line in slurp(log).splitlines():
        x = json.loads(line)
        if x["event"] == "valid":
            out.append((x["step"], x["ppl"], x["acc"], x["best"]))
    return out


def state_record(data, name):
    head = b"\x84\x07" + cbor2.dumps(name)
    return next((x for x in records(data) if x.startswith(head)), None)


def step_of(data):
    return cbor2.loads(state_record(data, "step"))[2]


def without_best(data):
    """A checkpoint but for the search for its best, which other validation data changes, and for
    what follows from it: padding and checksums."""
    kept = []
    for x in records(data):
        if x.startswith(b"\x86\x06"):
            name, tensor = cbor2.loads(x)[1::3]
            kept.append(name.encode() + tensor.value[1].value)
        elif x[:2] not in (b"\x83\x0d", b"\x83\x0f") and not x.startswith(b"\x84\x07\x64best"):
            kept.append(x)
    return disk.digest(b"".join(kept))


# ---- a history ----

class Refused(Exception):
    """The history ends here, and the run said why."""


class History:
    def __init__(self, rig, row, number, ext4):
        self.rig, self.row, self.number = rig, row, number
        self.r = random.Random("S %d %d" % (rig.seed, number))
        self.events = []
        self.ext4 = ext4 if ext4.good and number % 2 else None
        where = os.path.join(ext4.at, "s") if self.ext4 else rig.path("s")
        shutil.rmtree(where, ignore_errors=True)
        os.makedirs(where)
        self.where, self.dir = where, os.path.join(where, "run")
        ms, sets = rig.once("s-modes", lambda: modes(rig)), rig.kernel_sets()
        self.mode, self.set = self.r.choice(sorted(ms)), self.r.choice(sorted(sets))
        self.stream, self.more = ms[self.mode]
        name = "s-twin-%s-%s" % (self.mode, self.set)
        env, device = sets[self.set]
        self.twin = rig.once(name, lambda: Twin(rig, name, self.stream, self.more + device, env,
                                                rig.path(name.replace(" ", "-"))))
        self.every, self.keep = self.r.randint(2, 12), self.r.randint(1, 3)
        self.valid = None          # of other data, when the run has seen any
        self.foreign_valid = False # the search for the best is not the twin's
        self.log_whole = True      # nothing took lines out of the log
        self.spoiled = set()       # digests of files that we damaged
        self.newest = 0            # the step that is safe

    def fail(self, fmt, *args):
        kept = self.rig.path("failed-%d" % self.number)
        if os.path.isdir(self.dir) and not os.path.exists(kept):
            shutil.copytree(self.dir, kept)
        self.row.fail("history %d (%s, %s%s): %s: " + fmt, self.number, self.mode, self.set,
                      ", ext4" if self.ext4 else "", "; ".join(self.events), *args)

    # ---- one start ----

    def argv(self, *more, steps=STEPS, kernels=None, out=None, stream=None):
        env, device = self.rig.kernel_sets()[kernels or self.set]
        words = ["tf-train"] + SMALL + ["--threads", str(self.r.randint(1, 3))] + self.more + [
            "--steps", str(steps), "--save-every", str(self.every), "--keep", str(self.keep)
        ] + (self.valid or []) + device + list(more)
        return words + ["-o", out or self.spelled(), stream or self.stream], dict(env)

    def spelled(self):
        """The directory by one of its names."""
        link = os.path.join(self.where, "link")
        if not os.path.islink(link):
            os.symlink("run", link)
        names = [self.dir, self.dir + "/", os.path.join(self.where, ".", "run")]
        return self.r.choice(names + [link] * os.path.isdir(self.dir))

    def surroundings(self, env):
        """Another host, clock and umask: what must not matter."""
        host, mask = self.r.choice([None, "a", "other-host"]), self.r.choice([0o22, 0o77, 0o27])
        if self.r.random() < 0.3:
            env.update(LD_PRELOAD=SHIM, TF_FAULT_CLOCK=str(self.r.getrandbits(30)))

        def prepare():
            os.umask(mask)
            if host and unshare(CLONE_NEWUTS):
                socket.sethostname(host)
        return prepare

    def start(self, argv, env, then=None):
        """Run it to its end; then(process) is called soon after it started."""
        prepare = self.surroundings(env)
        began = time.time()
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, env=dict(ENV, **env), preexec_fn=prepare)
        if then is not None:
            then(p)
        try:
            err = p.communicate(timeout=TIMEOUT)[1]
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
            return Done("hang", b"", "", time.time() - began)
        return Done(p.returncode, b"", err.decode(errors="replace"), time.time() - began)

    def after(self, act):
        """Wait for a part of the time that a run takes, then act."""
        def then(p):
            try:
                p.wait(self.r.uniform(0, 0.8) * self.rig.once("s-span", self.span))
            except subprocess.TimeoutExpired:
                act(p)
        return then

    def span(self):
        d = self.rig.train(self.rig.fresh("s-span"), self.stream, *self.more, "--steps", str(STEPS))
        return d.seconds

    def calls(self, what, onward=""):
        """An environment in which the n-th call of the tool is struck."""
        n = int(10 ** self.r.uniform(0, 3))
        self.events[-1] += " at call %d" % n
        return dict(LD_PRELOAD=SHIM, TF_FAULT_CALLS="files", TF_FAULT_AT="%d%s" % (n, onward),
                    TF_FAULT_DO=what)

    def ended(self, d, *good, says=""):
        if d.rc not in good or says not in d.err or d.rc == 1 and not d.errors():
            self.fail("status %s: %s", d.rc, d.err.strip())

    def finished(self, d):
        return d.rc == 0 and "nothing left to do" in d.err

    # ---- what may be in the directory ----

    def files(self):
        if not os.path.isdir(self.dir):
            return {}
        return {
            f: slurp(os.path.join(self.dir, f))
            for f in sorted(os.listdir(self.dir)) if f.endswith(".tfm") and not f.startswith(".tf-")
        }

    def step(self, name, data):
        """The step of a checkpoint that is the twin's, or None."""
        digest = disk.digest(data)
        if digest in self.spoiled:
            return None
        step = self.twin.digests.get(digest)
        if step is None:
            # Stopped before it validated, or on other data: all but the search for the best.
            try:
                step = step_of(data)
                if self.twin.bare.get(step) != without_best(data) or not (
                        self.foreign_valid or name == "resume.tfm"):
                    raise ValueError
            except Exception:
                self.fail("%s is not a checkpoint of the undisturbed run", name)
                return None
        if name.startswith("ckpt-") and int(name[5:13]) != step:
            self.fail("%s is of step %d", name, step)
        return step

    def look(self):
        """Each checkpoint is the twin's, and the newest is not older than before."""
        steps = [self.step(f, data) for f, data in self.files().items()]
        newest = max([x for x in steps if x is not None], default=0)
        self.row.add("checkpoints compared", len(steps))
        if newest < self.newest:
            self.fail("step %d was saved, and the newest is %d", self.newest, newest)
        self.newest = newest

    def begun(self):
        return self.newest > 0

    # ---- events ----

    def trained(self):
        """Some steps, or all."""
        steps = self.r.choice([STEPS, self.r.randint(1, STEPS)])
        self.events[-1] += " to step %d" % steps
        self.ended(self.start(*self.argv(steps=steps)), 0)

    def killed_at_a_call(self):
        argv, env = self.argv()
        env.update(self.calls("kill"))
        self.ended(self.start(argv, env), -9, 0)

    def killed_after_a_while(self):
        self.ended(self.start(*self.argv(), then=self.after(lambda p: p.kill())), -9, 0)

    def signalled(self):
        sig = self.r.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1,
                             signal.SIGUSR2])
        d = self.start(*self.argv(), then=self.after(lambda p: p.send_signal(sig)))
        # USR2 has its own status once the run has begun; before, each kills.
        self.ended(d, 0, -sig, 75 if sig == signal.SIGUSR2 else 0)

    def cut_stream(self):
        whole = self.rig.once("records " + self.stream, lambda: records(slurp(self.stream)))
        k = self.r.randint(0, len(whole) - 3)
        self.events[-1] += " after batch %d" % k
        part = os.path.join(self.rig.tmp, "s-part.tfs")
        with open(part, "wb") as f:
            f.write(b"".join(whole[:2 + k]))
        d = self.start(*self.argv(stream=part))
        if not (d.rc == 0 and (self.finished(d) or "finished" in d.err or "stopping" in d.err)):
            self.ended(d, 1)

    def full_disk(self):
        if self.ext4 and self.r.random() < 0.7:
            room = self.r.randint(0, 300000)
            filler = os.path.join(self.where, "filler")
            self.events[-1] += " with %d bytes left" % room
            st = os.statvfs(self.where)
            with open(filler, "wb") as f:
                os.posix_fallocate(f.fileno(), 0, max(1, st.f_bavail * st.f_bsize - room))
            d = self.start(*self.argv())
            os.unlink(filler)
        else:
            argv, env = self.argv()
            env.update(self.calls(self.r.choice(["ENOSPC", "EDQUOT", "EIO"]),
                                  self.r.choice(["", "+"])))
            d = self.start(argv, env)
        self.log_whole = False
        self.ended(d, 0, 1)

    def power_cut(self):
        """On a real disk, or on one in words."""
        self.log_whole = False
        if self.ext4:
            self.ext4.sync()  # what we did to the directory is not at stake
            argv, env = self.argv()
            env.update(self.calls("kill"))
            self.ended(self.start(argv, env), -9, 0)
            self.ext4.cut()
        else:
            known = disk.there(self.where)
            argv, env = self.argv(out=self.dir, steps=min(STEPS, self.newest + 20))
            log = disk.trace(argv, self.rig.path("s-trace"), self.where, env)
            state, _ = disk.cut(known + log, self.r, len(known))
            shutil.rmtree(self.where)
            os.makedirs(self.where)
            disk.put(state, self.where)
        self.row.add("power cuts")

    def refused(self, d, *says):
        """Refused by name; a finished run may also have no use for what was changed."""
        self.row.add("starts refused")
        if not self.finished(d) and (d.rc != 1 or not any(x in d.err for x in says)):
            self.fail("status %s: %s", d.rc, d.err.strip())

    def other_kernels(self):
        sets = sorted(set(self.rig.kernel_sets()) - {self.set})
        if self.begun() and sets:
            other = self.r.choice(sets)
            self.events[-1] += ": " + other
            self.untouched(lambda: self.refused(self.start(*self.argv(kernels=other)), "kernels: '"))

    def other_settings(self):
        name, more = self.r.choice([("seed", ["--seed", "7"]), ("dropout", ["--dropout", "0.2"]),
                                    ("warmup", ["--warmup", "31"]), ("ema", ["--ema", "0.5"]),
                                    ("clip", ["--clip", "3"]), ("d_ff", ["--d-ff", "64"]),
                                    ("label_smoothing", ["--label-smoothing", "0.2"]),
                                    ("layers", ["--layers", "2"]),
                                    ("beta1", ["--beta1", "0.8"])])
        if self.begun():
            self.events[-1] += ": " + name
            # With --init, the model's own fields are contradicted before the checkpoint's.
            self.untouched(lambda: self.refused(self.start(*self.argv(*more)), name + ": ",
                                                name.replace("_", "-") + ": "))

    def other_corpus(self):
        other = self.rig.batches("s-other.tfs", n=3 * STEPS, corpus=8)
        if self.begun():
            # Known only with the first batch: by then the log has the line of a start.
            self.untouched(lambda: self.refused(self.start(*self.argv(stream=other)), "corpus"),
                           names=(".tfm", ))

    def other_validation_data(self):
        if "--valid" not in self.more:
            return
        other = self.rig.batches("s-valid.tfs", n=4, seed=10)
        self.valid = self.r.choice([["--valid", other], []])
        d = self.start(*self.argv(steps=self.r.randint(1, STEPS)))
        if self.finished(d):
            self.valid = None  # it was not read
        else:
            self.foreign_valid, self.log_whole = True, False
        self.ended(d, 0)

    def validation_data_replaced(self):
        """While the run reads it: noticed, or too late to matter."""
        if "--valid" not in self.more:
            return
        mine = self.rig.path("s-mine.tfs")
        shutil.copy(self.more[self.more.index("--valid") + 1], mine)
        other = self.rig.batches("s-valid.tfs", n=4, seed=10)
        was, self.valid = self.valid, ["--valid", mine]
        d = self.start(*self.argv(), then=self.after(lambda p: os.replace(
            shutil.copy(other, mine + ".new"), mine)))
        self.valid = was
        if d.rc == 1:
            self.ended(d, 1, says=mine)
        elif d.rc == 0 and self.twin.best is not None and not self.finished(d):
            # It was replaced before the start had read it.
            self.foreign_valid = self.foreign_valid or "not the validation data" in d.err or (
                not self.same_data())
        else:
            self.ended(d, 0)
        self.log_whole = False

    def same_data(self):
        """Was the newest checkpoint validated on the twin's data?"""
        data = self.files()
        want = cbor2.loads(state_record(self.twin.files[self.twin.last], "best"))[2].get("data")
        return all(
            cbor2.loads(state_record(x, "best"))[2].get("data") in (want, None)
            for x in data.values() if disk.digest(x) not in self.spoiled)

    def lock_held(self):
        os.makedirs(self.dir, exist_ok=True)
        fd = os.open(os.path.join(self.dir, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        self.untouched(lambda: self.ended(self.start(*self.argv()), 75, says="in use by process"))
        os.close(fd)

    def lock_removed(self):
        def act(_):
            try:
                path = os.path.join(self.dir, "lock")
                os.unlink(path)
                if again:
                    open(path, "w").close()
            except FileNotFoundError:
                pass
        again = self.r.random() < 0.5
        self.ended(self.start(*self.argv(), then=self.after(act)), 0, 75)

    def two_at_once(self):
        """A second one, and the first one's lock is removed: the second may take over."""
        ends = []

        def act(_):
            if remove:
                try:
                    os.unlink(os.path.join(self.dir, "lock"))
                except FileNotFoundError:
                    pass
            ends.append(self.start(argv, env))
        remove = self.r.random() < 0.5
        argv, env = self.argv()
        self.ended(self.start(*self.argv(), then=self.after(act)), 0, 75)
        for d in ends:
            self.ended(d, 0, 75)

    def foreign_lock(self):
        if not os.path.isdir(self.dir):
            return
        path = os.path.join(self.dir, "lock")
        with open(path, "w") as f:
            f.write("shopping list\n")
        self.untouched(lambda: self.refused(self.start(*self.argv()), "not written by tf-train"))
        os.unlink(path)

    def damaged(self):
        """A bit of the newest checkpoint flips, or its end is gone."""
        files = {f: x for f, x in self.files().items() if disk.digest(x) not in self.spoiled}
        if not files:
            return
        name = max(files, key=lambda f: (self.step(f, files[f]) or 0, f))
        data = bytearray(files[name])
        if self.r.random() < 0.5:
            data[self.r.randrange(len(data))] ^= 1 << self.r.randrange(8)
        else:
            del data[self.r.randrange(len(data)):]
        self.events[-1] += ": " + name
        with open(os.path.join(self.dir, name), "r+b") as f:  # another name of it is damaged too
            f.write(data)
            f.truncate()
        self.spoiled.add(disk.digest(bytes(data)))
        self.newest = 0
        d = self.start(*self.argv(steps=self.r.randint(1, STEPS)))
        if d.rc == 1 and "checkpoints can be read" in d.err:
            raise Refused
        self.ended(d, 0, says="tf-train: warning: " if "resume" not in name else "")

    def moved(self):
        """Copied to another place, which splits hard links, or renamed."""
        if not os.path.isdir(self.dir):
            return
        other = os.path.join(self.where, "other")
        if self.r.random() < 0.5:
            shutil.copytree(self.dir, other)
            shutil.rmtree(self.dir)
            os.rename(other, self.dir)
        else:
            os.rename(self.dir, other)
            self.ended(self.start(*self.argv(out=other, steps=self.r.randint(1, STEPS))), 0)
            os.rename(other, self.dir)

    def log_lost(self):
        path = os.path.join(self.dir, "log.jsonl")
        if os.path.exists(path):
            size = os.path.getsize(path)
            if self.r.random() < 0.5:
                os.unlink(path)
            else:
                os.truncate(path, self.r.randint(0, size))
            self.log_whole = False

    def other_pace(self):
        """From here on saved and kept otherwise."""
        self.every, self.keep = self.r.randint(1, 20), self.r.randint(0, 4)

    EVENTS = [(trained, 4), (killed_at_a_call, 6), (killed_after_a_while, 6), (signalled, 4),
              (cut_stream, 3), (full_disk, 4), (power_cut, 4), (other_kernels, 2),
              (other_settings, 2), (other_corpus, 1), (other_validation_data, 1),
              (validation_data_replaced, 2), (lock_held, 1), (lock_removed, 3), (two_at_once, 2),
              (foreign_lock, 1), (damaged, 1), (moved, 2), (log_lost, 1), (other_pace, 1)]

    def untouched(self, act, names=(".tfm", ".jsonl")):
        def state():
            return {
                f: sha(os.path.join(self.dir, f))
                for f in os.listdir(self.dir) if f.endswith(names)
            } if os.path.isdir(self.dir) else {}
        before = state()
        act()
        if state() != before:
            self.fail("a refused start changed the directory")

    # ---- the whole ----

    def live(self):
        kinds, weights = zip(*self.EVENTS)
        for kind in self.r.choices(kinds, weights, k=self.r.randint(2, 8)):
            self.events.append(kind.__name__.replace("_", " "))
            failures = len(self.row.failures)
            kind(self)
            self.row.add("events")
            self.look()
            if len(self.row.failures) > failures:
                return
        self.finish()

    def finish(self):
        """Let go: the end is the twin's."""
        self.events.append("left to finish")
        self.valid = None
        for _ in range(2):  # the second has nothing to do, but may tidy up
            self.ended(self.start(*self.argv()), 0)
        self.look()
        last = "ckpt-%08d.tfm" % self.twin.last
        files = self.files()
        if last not in files and not self.foreign_valid:
            self.fail("%s is missing: %s", last, sorted(files))
        if not self.foreign_valid and self.twin.best is not None and (
                "best.tfm" not in files
                or self.step("best.tfm", files["best.tfm"]) != self.twin.best):
            self.fail("best.tfm is not of step %d", self.twin.best)
        left = [f for f in os.listdir(self.dir) if f.startswith(".tf-")]
        if left:
            self.fail("left: %s", left)
        if self.log_whole and validations(os.path.join(self.dir, "log.jsonl")) != self.twin.valid:
            self.fail("the log has other validations: %s, not %s",
                      validations(os.path.join(self.dir, "log.jsonl")), self.twin.valid)
        self.row.add("ended as the twin")


def s(rig, row):
    """500 histories, drawn by number, of 2 to 8 events: kills, power cuts, full disks, signals,
    cut streams, other kernels, settings and data, locks held and removed, damage, moves, with other
    threads, host name and clock at each start; every checkpoint at any time and the end are those
    of the undisturbed twin, or the start is refused by name"""
    ext4 = Ext4(rig) if not rig.short else None
    if ext4 is None or not ext4.good:
        class ext4:  # noqa: N801
            good, at = False, ""
        if not rig.short:
            row.note("no loop devices here, or not root: power cuts only as a model of the disk")
    numbers = [rig.number] if rig.number is not None else range(rig.count(500, short=6))
    for i in numbers:
        if row.over():
            break
        h = History(rig, row, i, ext4)
        try:
            h.live()
        except Refused:
            row.add("ended refused")
        row.add("histories")
    if ext4.good:
        row.note("odd numbers on ext4 on a loop device; its power cuts are FS_IOC_SHUTDOWN "
                 "without a flush of the journal, since this kernel has no device mapper")
        ext4.close()


ROWS = [("S", s)]
