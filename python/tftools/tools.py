"""Where the tools are, and how they are run."""
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Iterable, List, Mapping, Sequence, Union

Option = Union[None, bool, int, float, str, "os.PathLike[str]", Sequence[str]]
Model = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]


class ToolError(RuntimeError):
    """A tool failed; the text is its last message."""


def tool(name: str) -> str:
    """The path of a tool: of the package's own, if it has them, else in PATH."""
    own = Path(__file__).parent / "bin" / name
    found = str(own) if own.exists() else shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name}: neither in {own.parent} nor in PATH")
    return found


def words(options: Mapping[str, Option], refused: Iterable[str] = ()) -> List[str]:
    """beam=2, early_stopping=True as --beam=2 --early-stopping."""
    out = []
    for key, value in options.items():
        name = key.replace("_", "-")
        if any(x.startswith(name) for x in refused):  # tools take abbreviations
            raise ValueError(f"{key}: not an option here")
        if value is None or value is False:
            continue
        if value is True:
            out.append(f"--{name}")
        elif isinstance(value, (list, tuple)):
            out += [f"--{name}", *map(str, value)]
        else:
            out.append(f"--{name}={value}")
    return out


def models(model: Model) -> List[str]:
    """-m for each model."""
    paths = [model] if isinstance(model, (str, os.PathLike)) else model
    return [f"--model={os.fspath(path)}" for path in paths]


def texts(what: str, given: object) -> List[str]:
    """A list of texts, or TypeError for what is none, such as a text or the NaN of an empty cell.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"{what}: not a list of texts but {type(given).__name__}")
    out = list(given)
    for i, text in enumerate(out):
        if not isinstance(text, str):
            raise TypeError(f"{what}[{i}]: not a text but {type(text).__name__}")
    return out


def line(text: str) -> bytes:
    """A text as a line: a line feed, with the carriage return before it, becomes a space.

    What else Unicode or Python takes for the end of a line stays as it is. Half of a surrogate pair
    becomes invalid UTF-8, which the tools refuse for its line alone.
    """
    if "\n" in text:
        text = text.replace("\r\n", " ").replace("\n", " ")
    return text.encode("utf-8", "surrogatepass") + b"\n"


def reason(name: str, status: int, stderr: bytes) -> str:
    """Why a tool ended: its last message, unless a signal ended it."""
    lines = stderr.decode("utf-8", "replace").strip().split("\n")
    if status < 0:
        return f"{name}: killed by {signal.Signals(-status).name}"
    return lines[-1] or f"{name}: ended with status {status}"


def run(command: Sequence[str], stdin: bytes = b"", good: Sequence[int] = (0,)) -> bytes:
    """The output of a tool, given its name and arguments."""
    name, *arguments = command
    done = subprocess.run([tool(name), *arguments], input=stdin, capture_output=True)
    if done.returncode not in good:
        raise ToolError(reason(name, done.returncode, done.stderr))
    return done.stdout
