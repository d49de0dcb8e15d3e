"""peer_model.py - a model and a token stream read with no code of the tools, for peers that are to
do the same work. Needs cbor2 and numpy. Importing it finds the modules of ../cli."""
import os
import sys

import cbor2
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../cli")


def items(path):
    with open(path, "rb") as f:
        decoder = cbor2.CBORDecoder(f)
        while True:
            try:
                yield decoder.decode()
            except cbor2.CBORDecodeEOF:
                return


def plain(x):
    while isinstance(x, cbor2.CBORTag):
        x = x.value
    return x


def tensor(array):
    """Tag 40 around dims and a typed array of f32."""
    dims, data = array.value
    return np.frombuffer(plain(data), "<f4").reshape(dims).copy()


def read_model(path):
    """The header and the parameters by name."""
    header, tensors = None, {}
    for x in items(path):
        if isinstance(x, list) and x[0] == 0:
            header = x[1]
        elif isinstance(x, list) and x[0] == 6 and x[1].startswith("p/"):
            tensors[x[1][2:]] = tensor(x[4])
    return header, tensors


def read_ids(path):
    out = []
    for x in items(path):
        if isinstance(x, list) and x[0] == 1:
            a = x[2]
            out.append(
                np.frombuffer(a.value, {69: "<u2", 70: "<u4"}[a.tag]).tolist(
                ) if isinstance(a, cbor2.CBORTag) else a)
    return out


def words(header, n):
    """Names for n ids; the three that peers know by name get those."""
    w = [f"w{i}" for i in range(n)]
    s = header["special"]
    w[s["unk"]], w[s["bos"]], w[s["eos"]] = "<unk>", "<s>", "</s>"
    return w
