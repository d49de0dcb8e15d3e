"""A pipeline of tf-translate that is kept open."""
import json
import math
import os
import queue
import signal
import subprocess
import tempfile
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, NoReturn, Optional, Set, Tuple, Union

from .tools import (Model, Option, ToolError, line, models, reason, run, texts as checked, tool,
                    words)

# Links from a word of the text to a word of the translation, or weights: of each word of the
# translation a list with those of the words of the text.
Alignment = Union[List[Tuple[int, int]], List[List[float]]]


@dataclass(frozen=True)
class Translation:
    """What became of a text. One that could not be translated has a reason and an empty text.

    The score is that of the search; the alignment, with the option of that name, links of words or
    weights; the alternatives, with nbest, the others of the list, best first.
    """
    text: str = ""
    score: float = math.nan
    alignment: Optional[Alignment] = None
    alternatives: List["Translation"] = field(default_factory=list)
    reason: Optional[str] = None

    def __str__(self) -> str:
        return self.text


class Translator:
    """A model, or several, loaded once: Translator("model.tfm", beam=2, nbest=2).

    Options are those of tf-translate(1), with "_" for "-", such as nbest=2, alignment="hard",
    terms="glossary.tsv", threads=2. Any number of threads may use it. It raises ToolError once the
    pipeline has ended, for whatever reason.
    """

    def __init__(self, model: Model, **options: Option) -> None:
        # One line must give one object on the standard output.
        refused = ("output", "resume", "json", "bad", "progress", "html", "document", "field",
                   "placeholders", "copy-unk", "glossary", "help", "version")
        command = [tool("tf-translate"), "--json", *models(model), *words(options, refused)]
        self._soft = options.get("alignment") == "soft"
        self._pipe = _Pipe(command)
        self._end = weakref.finalize(self, self._pipe.close, "the translator is closed")
        try:
            self.translate([""])  # a model that cannot be loaded is an error here
        except BaseException:
            self._end()
            raise

    def translate(self, texts: Iterable[str]) -> List[Translation]:
        """The translation of each text, in order; a text should be one sentence.

        Several threads take turns of some lines each, so that a short list need not wait for the
        end of a long one.
        """
        got = self._pipe.send([line(text) for text in checked("texts", texts)])
        return [_translation(x, self._soft) for x in got]

    def translate_text(self, text: str, lang: str, wrapped: bool = False) -> str:
        """The translation of a text of any length, such as a page, which keeps its form.

        Its lines are split into sentences, as by tf-split(1) for that language, such as "en";
        wrapped: a paragraph has several lines. Raises ToolError for a sentence that cannot be
        translated.
        """
        if not isinstance(text, str):
            raise TypeError(f"text: not a text but {type(text).__name__}")
        given = text.encode("utf-8", "surrogatepass")
        with tempfile.TemporaryDirectory() as temp:
            layout = f"--layout={temp}/layout"
            split = ["tf-split", f"--lang={lang}", layout, "--bad=fail", *["--wrapped"][:wrapped]]
            sentences = run(split, given).decode().split("\n")[:-1]
            out = self.translate(sentences)
            for sentence, t in zip(sentences, out):
                if t.reason is not None:
                    raise ToolError(f"{t.reason}: {sentence[:40]!r}")
            return run(["tf-split", "--join", layout], b"".join(line(t.text) for t in out)).decode()

    def close(self) -> None:
        """End the pipeline. A call that waits in another thread raises ToolError."""
        self._end()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Translator cannot be copied to another process: make one in each")

    def __enter__(self) -> "Translator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _translation(x: Dict[str, Any], soft: bool) -> Translation:
    if x["status"] != "ok":
        return Translation(reason=x["reason"])
    return Translation(x["text"], x["score"], _alignment(x.get("alignment"), soft),
                       [_translation(y, soft) for y in x.get("alternatives", [])])


def _alignment(x: Optional[str], soft: bool) -> Optional[Alignment]:
    if x is None:
        return None
    if soft:
        return [[float(w) for w in row.split(",")] for row in x.split()]
    return [(int(a), int(b)) for a, b in (link.split("-") for link in x.split())]


class _Job:
    """Lines of one call: those before `sent` are in the pipe, those before len(got) have come."""

    def __init__(self, lines: List[bytes]) -> None:
        self.lines, self.sent = lines, 0
        self.got: List[Dict[str, Any]] = []
        self.ended = threading.Event()
        self.left = False  # nobody waits: what has not been sent never is


class _Pipe:
    """The child, a thread that writes lines and one that reads objects. They have no reference to
    the Translator, which can be collected."""

    TURN = 64  # lines of a job, before those of the next one

    def __init__(self, command: List[str]) -> None:
        self._stderr = tempfile.TemporaryFile()
        # A group of its own: Ctrl-C is for Python, and close() ends all of the pipeline.
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=self._stderr, start_new_session=True)
        self._owner = os.getpid()
        self._lock = threading.RLock()  # of the next two; a collector may call close() anywhere
        self._why: Optional[str] = None  # it has ended
        self._jobs: Set[_Job] = set()
        self._todo: "queue.SimpleQueue[Optional[_Job]]" = queue.SimpleQueue()
        self._sent: "queue.SimpleQueue[Tuple[_Job, int]]" = queue.SimpleQueue()
        self._threads = [threading.Thread(target=f, daemon=True) for f in (self._write, self._read)]
        for thread in self._threads:
            thread.start()

    def send(self, lines: List[bytes]) -> List[Dict[str, Any]]:
        if os.getpid() != self._owner:
            raise ToolError("the translator was made before a fork: make one in each process")
        job = _Job(lines)
        with self._lock:
            if self._why is not None:
                raise ToolError(self._why)
            if not lines:
                return []
            self._jobs.add(job)
        self._todo.put(job)
        try:
            job.ended.wait()
        except BaseException:
            job.left = True
            with self._lock:
                self._jobs.discard(job)
            raise
        if len(job.got) < len(lines):
            raise ToolError(self._why)
        return job.got

    def _write(self) -> None:
        assert self._child.stdin is not None
        try:
            while True:
                job = self._todo.get()
                if job is None:
                    return
                turn = job.lines[job.sent:job.sent + self.TURN]
                job.sent += len(turn)
                self._sent.put((job, len(turn)))
                self._child.stdin.write(b"".join(turn))
                self._child.stdin.flush()
                if job.sent < len(job.lines) and not job.left:
                    self._todo.put(job)
        except OSError:  # it has ended, which the reader sees
            pass

    def _read(self) -> None:
        assert self._child.stdout is not None
        job, left = None, 0
        try:
            for got in self._child.stdout:
                if not got.endswith(b"\n"):  # killed within a line
                    break
                if left == 0:
                    job, left = self._sent.get_nowait()
                assert job is not None
                job.got.append(json.loads(got))
                left -= 1
                if len(job.got) == len(job.lines):
                    with self._lock:
                        self._jobs.discard(job)
                    job.ended.set()
        except Exception as e:  # not what tf-translate writes
            self._stop(f"tf-translate: {e!r}")
        status = self._child.wait()
        self._stderr.seek(0)
        self._stop(reason("tf-translate", status, self._stderr.read()))

    def _stop(self, why: str) -> None:
        """All calls that wait end, and those that come; only the first reason counts."""
        with self._lock:
            self._why = self._why or why
            jobs, self._jobs = self._jobs, set()
        for job in jobs:
            job.ended.set()
        self._todo.put(None)
        if self._child.returncode is None:
            os.killpg(self._child.pid, signal.SIGKILL)

    def close(self, why: str) -> None:
        if os.getpid() != self._owner:
            return
        self._stop(why)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        for f in (self._child.stdin, self._child.stdout, self._stderr):
            try:
                f.close()  # type: ignore[union-attr]
            except BrokenPipeError:  # of what was not flushed
                pass
