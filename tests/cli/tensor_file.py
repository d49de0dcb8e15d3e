"""safetensors, by the format alone."""
import json
import struct

import numpy as np

KINDS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8", "I8": "i1", "U8": "u1"}


def read(path, ordered=False):
    """The metadata, and the tensors by name; bf16 as its bits. ordered: as we write them, one after
    the other from a multiple of 64 on."""
    with open(path, "rb") as f:
        data = f.read()
    n, = struct.unpack_from("<Q", data)
    head, body, last, out = json.loads(data[8:8 + n]), data[8 + n:], 0, {}
    meta = head.pop("__metadata__", {})
    for name, t in head.items():
        at, end = t["data_offsets"]
        assert not ordered or (at == last and end <= len(body)), (name, at, last)
        last = end
        out[name] = np.frombuffer(body[at:end], KINDS[t["dtype"]]).reshape(t["shape"])
    assert not ordered or (last == len(body) and (8 + n) % 64 == 0)
    return meta, out


def write(path, tensors, meta=None):
    head, at = {"__metadata__": meta} if meta else {}, 0
    kinds = {np.dtype(kind).str: name for name, kind in KINDS.items()}
    for name, x in tensors.items():
        head[name] = {"dtype": kinds[x.dtype.str], "shape": list(x.shape),
                      "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.writelines(np.ascontiguousarray(x).tobytes() for x in tensors.values())
