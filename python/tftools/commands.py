"""The tools as commands of an environment that has the wheel: each becomes the tool of its name."""
import os
import sys

from .tools import tool


def main() -> None:
    path = tool(os.path.basename(sys.argv[0]))
    os.execv(path, [path, *sys.argv[1:]])
