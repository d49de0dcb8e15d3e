"""Streams and models of tf-tools as they are in files."""
import sys

import cbor2

KINDS = {64: "u1", 69: "<u2", 70: "<u4", 72: "i1", 85: "<f4"}


def records(path):
    """Each record, its typed arrays as cbor2 has them."""
    with open(path, "rb") as f:
        decoder = cbor2.CBORDecoder(f)
        while True:
            try:
                record = decoder.decode()
            except EOFError:
                return
            if isinstance(record, list):
                yield record


def array(item):
    """Of ids, or of numbers in a shape."""
    import numpy as np  # here, since it takes a while to load
    if isinstance(item, list):
        return np.array(item)
    if item.tag != 40:
        return np.frombuffer(item.value, KINDS[item.tag])
    shape, values = item.value
    return array(values).reshape(shape)


def tensors(path):
    """Those of a model or checkpoint by their names there: p/NAME is a parameter."""
    return {r[1]: array(r[4]) for r in records(path) if r[0] == 6}


def parameters(path):
    """By their names in the model."""
    return {name[2:]: x for name, x in tensors(path).items() if name.startswith("p/")}


def write(records, out=sys.stdout.buffer, **how):
    out.write(bytes.fromhex("d9d9f8da5446535443424f52"))
    for r in records:
        cbor2.dump(r, out, **how)
