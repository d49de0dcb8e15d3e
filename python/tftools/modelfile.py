"""Models and checkpoints as formats/model.md describes them. Needs cbor2 and numpy."""
import hashlib
from dataclasses import dataclass, field
from typing import Any, Dict, List

import cbor2
import numpy as np
import numpy.typing as npt

from .crc import crc32c
from .streams import (_TAGS, STATE, TENSOR, Hash, Header, Source, StreamError, Writer, encode,
                      read_stream, written)

_Array = npt.NDArray[Any]

_NAMES = {np.dtype(code): name for name, code in {
    "f32": "<f4", "f16": "<f2", "f64": "<f8", "i8": "i1", "u8": "u1", "i32": "<i4", "u32": "<u4",
    "i64": "<i8", "u64": "<u8"}.items()}


@dataclass
class ModelFile:
    """A model: its configuration is header["config"], its vocabulary states["vocab"], its
    parameters the tensors whose names begin with "p/". Those in bf16 are read as float32, and
    written as bf16 again."""
    header: Header
    states: Dict[str, Any] = field(default_factory=dict)
    tensors: Dict[str, _Array] = field(default_factory=dict)
    bf16: List[str] = field(default_factory=list)

    def __repr__(self) -> str:  # a line: a vocabulary has megabytes
        return f"<ModelFile {self.header['kind']}, {len(self.tensors)} tensors>"


def read_model(source: Source) -> ModelFile:
    """A model or checkpoint; raises StreamError."""
    model = None
    for header, record in read_stream(source):
        model = model or ModelFile(header)
        if record[0] == STATE:
            model.states[record[1]] = record[2]
        elif record[0] == TENSOR:
            name, dtype, data = record[1], record[2], record[4]
            if dtype == "bf16":
                model.bf16.append(name)
                data = (data.astype(np.uint32) << 16).view(np.float32)
            model.tensors[name] = data.copy()  # which can be changed in place
    if model is None or model.header["kind"] not in ("model", "checkpoint"):
        raise StreamError(f"{getattr(source, 'name', source)}: not a model")
    return model


def _bf16(x: _Array) -> _Array:
    """The upper halves of floats, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(x, dtype="<f4").view("<u4").astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")


def write_model(target: Source, model: ModelFile) -> None:
    """Write it with the hash of its vocabulary and its fingerprint in the header."""
    header, tensors = dict(model.header), []
    for name, x in model.tensors.items():
        if not np.isfinite(x).all():
            raise ValueError(f"{name}: has a value that is not finite")
        dtype = "bf16" if name in model.bf16 else _NAMES[x.dtype.newbyteorder("<")]
        data = _bf16(x) if dtype == "bf16" else x.astype(x.dtype.newbyteorder("<"))
        tensors.append((name, dtype, data, crc32c(data.tobytes())))
    if "vocab" in model.states:
        header["vocab"] = Hash(hashlib.sha256(model.states["vocab"]).digest())
    header["model"] = Hash(hashlib.sha256(encode([
        header.get("config"), header.get("vocab"),
        [[name, dtype, list(data.shape), crc] for name, dtype, data, crc in tensors
         if name.startswith("p/")]])).digest())
    with written(target) as out:
        writer = Writer(out, header)
        for state, value in model.states.items():
            writer.put([STATE, state, value])
        if model.states:
            writer.check()
        for name, dtype, data, crc in tensors:
            matrix = encode(cbor2.CBORTag(40, [
                list(data.shape), cbor2.CBORTag(_TAGS[data.dtype], data.tobytes())]))
            start = encode([TENSOR, name, dtype])
            start = bytes([start[0] + 3]) + start[1:]
            # Zeros that align the data to 64 bytes in the file, 24 or more: a head of two bytes.
            before = writer.bytes + len(start) + 2 + len(matrix) - data.nbytes
            pad = 24 + (-before - 24) % 64
            writer.put_encoded(start + encode(bytes(pad)) + matrix + encode(crc))
        writer.end()
