"""peer_model.py - a model and a token stream read with no code of the tools, for peers that are to
do the same work. Needs cbor2 and numpy. Importing it finds the modules of ../cli."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../cli")
from streams import array, parameters, records  # noqa: E402


def read_model(path):
    """The header and the parameters by name."""
    return next(records(path))[1], {name: x.copy() for name, x in parameters(path).items()}


def read_ids(path):
    return [array(r[2]).tolist() for r in records(path) if r[0] == 1]


def words(header, n):
    """Names for n ids; the three that peers know by name get those."""
    w = [f"w{i}" for i in range(n)]
    s = header["special"]
    w[s["unk"]], w[s["bos"]], w[s["eos"]] = "<unk>", "<s>", "</s>"
    return w
