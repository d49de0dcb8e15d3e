"""rig.py - what every job uses: the options, the state between calls, commands that end in time,
what a job prints."""
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

START = time.monotonic()
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
MODELS = {  # width, inner width, layers, heads
    "base": (512, 2048, 6, 8),
    "big": (1024, 4096, 6, 16),
    "tiny": (128, 256, 4, 4),
}


class Failed(Exception):
    """The device or the backend is at fault: worth a search for the part that is broken."""


class Missing(Exception):
    """This machine lacks what the job needs."""


class Bench:
    """Options, the state kept between calls, and the file of the running job."""

    def __init__(self, o):
        self.emulate, self.minutes, self.cbor = o.emulate, o.minutes, os.path.abspath(o.cbor)
        self.build = os.path.abspath(o.build)
        self.keep = os.path.abspath(o.keep or os.environ.get("OUT") or self.build + "/bench")
        self.log, self.old = self.keep + "/log.txt", o.state or self.keep + "/state.json"
        self.patience = 20 if o.emulate else 1  # factor of all timeouts
        self.table, self.file, self.broken = [], None, []
        small = o.emulate
        self.vocab, self.tokens, self.sentences = (60, 60, 20) if small else (37000, 25000, 60000)
        self.shape = "--layers 1 --d-model 16 --d-ff 32 --heads 2" if small else ""
        self.steps, self.model = (4, "tiny") if small else (120 if o.short else 300, "base")
        os.makedirs(self.keep, exist_ok=True)
        os.environ["PATH"] = f"{self.build}/bin:" + os.environ["PATH"]
        self.short = o.short
        self.ops = [x for x in o.ops.split(",") if x]
        if os.path.isdir(self.build + "/so") and o.no_build:  # of a tree that was carried here
            libraries(self.build + "/so")
        if small:
            os.environ["TF_BACKEND_DIR"] = self.build + "/emulate"
        else:
            os.environ["TF_TEST_REQUIRE"] = "cuda"

    # ---- results ----

    def say(self, text):
        print(text, flush=True)
        if self.file:
            print(text, file=self.file, flush=True)

    def row(self, name, text, note=""):
        self.table.append((name, text, note))
        self.say(f"{name:<44} {text:>26}   {note}".rstrip())

    def load(self, without):
        """Read the state of earlier calls on this device."""
        device = last_json(must(self, "tf-info --devices --json"))["backends"].get("cuda")
        self.state = {"device": device, "rates": {}, "without": []}
        try:
            with open(self.old) as f:
                found = json.load(f)
            if found["device"] == device:
                self.state = found
            else:
                self.say(f"bench: {self.old} is of another device: {found['device']}")
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError) as e:
            self.say(f"bench: {self.old}: {e!r}; not used")
        if without is not None:
            self.state["without"] = [x for x in without.split(",") if x]
        self.save()

    def save(self):
        name = self.keep + "/state.json"
        with open(name + ".new", "w") as f:
            json.dump(self.state, f)
        os.replace(name + ".new", name)
        os.environ.pop("TF_CUDA_WITHOUT", None)
        if self.state["without"]:
            os.environ["TF_CUDA_WITHOUT"] = ",".join(self.state["without"])

    def left(self):
        """Seconds until this call should end."""
        return self.minutes * 60 - (time.monotonic() - START)

    def time_for(self, seconds):
        return self.emulate or self.left() > seconds


def libraries(directory):
    """Let programs find libraries in this directory, after those that they would find anyway."""
    old = os.environ.get("LD_LIBRARY_PATH")
    os.environ["LD_LIBRARY_PATH"] = f"{old}:{directory}" if old else directory


class Clocks:
    """nvidia-smi dmon, to a file: clocks, power and load. While it runs the driver keeps the device
    initialised, which every program would wait for otherwise."""

    def __init__(self, b):
        self.process = None
        if shutil.which("nvidia-smi") and not b.emulate:
            self.process = subprocess.Popen(
                ["nvidia-smi", "dmon", "-d", "2", "-s", "puc", "-o", "T"],
                stdout=open(b.keep + "/clocks.txt", "a"), stderr=subprocess.DEVNULL)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()


class Memory(threading.Thread):
    """The most device memory in use, read from nvidia-smi every half second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.process = 0, None
        if shutil.which("nvidia-smi"):
            self.process = subprocess.Popen(
                ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits",
                 "-lms", "500"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.start()

    def run(self):
        for line in self.process.stdout:
            if line.strip().isdigit():
                self.most = max(self.most, int(line))

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
        return f"{self.most / 1024:.1f} GiB" if self.most else "memory unknown: no nvidia-smi"


def run(b, command, timeout=120, tail=15, env=None):
    """Run a shell command; return its seconds (None on failure) and output.

    After a failure the last `tail` lines are shown; what the plugin reports is always shown. The
    whole process group is killed at the timeout.
    """
    start, limit = time.monotonic(), timeout * b.patience
    if not b.emulate:
        limit = max(5, min(limit, b.left()))
    p = subprocess.Popen(["bash", "-o", "pipefail", "-c", command], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace",
                         env={**os.environ, **(env or {})}, start_new_session=True)
    try:
        text, _ = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        text, _ = p.communicate()
        b.say(f"bench: stopped after {limit:.0f} s: {command}")
        b.say("\n".join(text.splitlines()[-5:]))
        return None, text
    reports = [x for x in text.splitlines() if re.match(r"cuda:(?! +[0-9.]+ ms )", x)]
    for line in list(dict.fromkeys(reports))[:20]:
        b.say(f"bench: {line}")
    if p.returncode and tail:
        b.say(f"bench: exit status {p.returncode}: {command}")
        b.say("\n".join(text.splitlines()[-tail:]))
    return (None if p.returncode else time.monotonic() - start), text


def must(b, command, **options):
    """The output of a command that must succeed."""
    seconds, text = run(b, command, **options)
    if seconds is None:
        raise Failed(command.split()[0] + " failed")
    return text


def last_json(text):
    """The last line of JSON; libraries may have printed others."""
    return json.loads([x for x in text.splitlines() if x.startswith("{")][-1])


def tool(name, *places):
    path = shutil.which(name)
    for place in places:
        path = path or (place if os.path.exists(place) else None)
    if path is None:
        raise Missing(name)
    return path
