"""Streams of records as formats/stream.md describes them. Needs cbor2 and numpy."""
import contextlib
import os
import struct
import tempfile
from typing import IO, Any, Dict, Iterable, Iterator, List, Tuple, Union, cast

import cbor2
import numpy as np

from .crc import Running, crc32c

Source = Union[str, "os.PathLike[str]", IO[bytes]]
Header = Dict[str, Any]
Record = List[Any]

LABEL = bytes.fromhex("d9d9f8da5446535443424f52")
HEADER, BATCH, TENSOR, STATE, CHECK, ERROR, END = 0, 3, 6, 7, 13, 14, 15
# Kinds whose records have CRCs of their own; a check follows the header.
SEALED = ("batch", "model", "checkpoint")
MOST = 1 << 20  # bytes between two checks

_TYPES = {64: "u1", 69: "<u2", 70: "<u4", 71: "<u8", 72: "i1", 78: "<i4", 79: "<i8", 84: "<f2",
          85: "<f4", 86: "<f8"}
_TAGS = {np.dtype(name): tag for tag, name in _TYPES.items()}


class StreamError(ValueError):
    """A stream is damaged, incomplete or of another kind, or its producer has failed."""


class Hash(bytes):
    """A SHA-256, which has a tag in streams."""


def arrays(x: Any) -> Any:
    """An item of cbor2 with arrays of numpy and hashes in place of tags."""
    if isinstance(x, cbor2.CBORTag):
        if x.tag == 18540:
            return Hash(x.value)
        if x.tag == 40:
            return arrays(x.value[1]).reshape(tuple(x.value[0]))
        return np.frombuffer(x.value, _TYPES[x.tag]) if x.tag in _TYPES else arrays(x.value)
    if isinstance(x, dict):
        return {k: arrays(v) for k, v in x.items()}
    return [arrays(v) for v in x] if isinstance(x, (list, tuple)) else x


def _tags(x: Any) -> Any:
    if isinstance(x, Hash):
        return cbor2.CBORTag(18540, bytes(x))
    if isinstance(x, np.ndarray):
        if x.dtype.newbyteorder("<") not in _TAGS:
            raise TypeError(f"streams have no arrays of {x.dtype}")
        x = x.astype(x.dtype.newbyteorder("<"))
        return cbor2.CBORTag(_TAGS[x.dtype], x.tobytes())
    if isinstance(x, np.integer):
        return int(x)
    if isinstance(x, dict):
        return {k: _tags(v) for k, v in x.items()}
    return [_tags(v) for v in x] if isinstance(x, (list, tuple)) else x


def _float32(encoder: Any, x: Any) -> None:
    if type(x) is not np.float32:
        raise TypeError(f"streams have no {type(x).__name__}")
    encoder.write(struct.pack(">Bf", 0xFA, x))


def encode(x: Any) -> bytes:
    """The deterministic encoding; numpy.float32 has 32 bits, as scores must have."""
    data: bytes = cbor2.dumps(_tags(x), canonical=True, default=_float32)
    return data


def _scores(record: Record) -> Record:
    """Scores and log-probabilities are numpy.float32, so that they are written as they were."""
    if record[0] == 4:
        for hypothesis in record[2]:
            hypothesis[1:3] = map(np.float32, hypothesis[1:3])
    elif record[0] == 10:
        record[2] = np.float32(record[2])
    return record


class _Tap:
    """A file that keeps the bytes that a decoder has read from it."""

    def __init__(self, f: IO[bytes]) -> None:
        self.f, self.raw, self.start = f, bytearray(), 0  # start: the bytes before raw

    def forget(self) -> None:
        self.start += len(self.raw)
        self.raw.clear()

    def read(self, n: int) -> bytes:
        start = len(self.raw)
        while len(self.raw) - start < n:  # a length in a damaged stream may be any
            got = self.f.read(min(n - len(self.raw) + start, MOST))
            if not got:
                break
            self.raw += got
        return bytes(self.raw[start:])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:  # not: cbor2 would read ahead
        return False


def records(f: IO[bytes], name: str) -> Iterator[Tuple[Header, Record]]:
    """read_stream of an open file."""
    part = _Part(name)
    tap = _Tap(f)
    decoder = cbor2.CBORDecoder(cast(IO[bytes], tap))
    first = True
    while True:
        tap.forget()
        try:
            item = decoder.decode()
        except (EOFError, cbor2.CBORDecodeEOF):
            if part.header is None and not tap.raw and not first:
                return
            raise StreamError(f"{name}: truncated after record {part.count}") from None
        except Exception:  # of cbor2, of many kinds
            raise part.malformed(tap.start, "no CBOR") from None
        first = False
        try:
            ready = part.take(item, bytes(tap.raw))
        except StreamError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
            raise part.malformed(tap.start, "not the items of its type") from None
        yield from ready


class _Part:
    """What has come of a part."""

    def __init__(self, name: str) -> None:
        self.name, self.count, self.crc = name, 0, Running()
        self.header: Any = None  # of a part that has begun; empty before its header
        self.held: List[Tuple[Header, Record]] = []

    def expect(self, good: bool, what: str) -> None:
        if not good:
            raise StreamError(f"{self.name}: {what}")

    def malformed(self, at: int, why: str) -> StreamError:
        """The error of an item that begins at that byte."""
        what = "label" if self.header is None else f"record {self.count}" if self.header else "header"
        return StreamError(f"{self.name}: malformed {what} at byte {at}: {why}")

    def take(self, item: Any, raw: bytes) -> List[Tuple[Header, Record]]:
        """The records that can be used after this item."""
        if self.header is None:
            self.expect(raw == LABEL, "not a stream")
            self.header, self.count, self.crc = {}, 0, Running()
            self.crc.add(raw)
            return []
        kind = item[0]
        if kind in (CHECK, END):
            self.expect(item[1] == self.count, f"{self.count} records, not {item[1]:d}")
            self.expect(item[2] in (None, self.crc.value()), f"damaged before record {self.count}")
            if kind == END:
                self.header = None
            ready, self.held = self.held, []
            return ready
        self.crc.add(raw)
        if not self.header:
            self.expect(kind == HEADER and item[1]["v"] == 1, "no header of version 1")
            self.header = arrays(item[1])
            self.expect("kind" in self.header, "no kind")
            return []
        if kind == ERROR:
            raise StreamError(f"{self.name}: upstream failed: {item[-1]:s}")
        self.expect(kind != HEADER, "a header among records")
        record = _scores(arrays(item))
        at = {BATCH: 3, STATE: 3, TENSOR: 5}.get(kind)
        if at is None or record[at] is None:
            self.held.append((self.header, record[:at]))
            self.count += 1
            return []
        # The CRC of a tensor is of its data, others of the record before the CRC.
        data = (record[4].tobytes() if kind == TENSOR
                else raw[:len(raw) - sum(len(encode(x)) for x in record[at:])])
        self.expect(crc32c(data) == record[at], f"record {self.count} is damaged")
        self.count += 1
        return [(self.header, record[:at])]


def read_stream(source: Source) -> Iterator[Tuple[Header, Record]]:
    """Each record of a stream, a list as in formats/, with the header of its part.

    Typed arrays are arrays of numpy, hashes are Hash. Counts and CRCs are verified; checks, ends
    and CRCs are left out. Raises StreamError.
    """
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as f:
            yield from records(f, os.fspath(source))
    else:
        yield from records(source, str(getattr(source, "name", "stream")))


class Writer:
    """A part: records, then end()."""

    def __init__(self, out: IO[bytes], header: Header) -> None:
        self.out: IO[bytes] = out
        self.crc: Running = Running()
        self.count: int = 0
        self.unchecked: int = 0
        self.bytes: int = 0
        self._put(LABEL)
        self._put(encode([HEADER, {"v": 1, **header}]))
        if header["kind"] in SEALED:
            self.check()

    def _put(self, data: bytes) -> None:
        self.crc.add(data)
        self.out.write(data)
        self.bytes += len(data)
        self.unchecked += len(data)

    def put(self, record: Iterable[Any]) -> None:
        data = encode(list(record))
        if data[1] in (BATCH, STATE):
            # One more item: the head has a place for it, for so few.
            data = bytes([data[0] + 1]) + data[1:]
            data += encode(crc32c(data))
        elif self.unchecked + len(data) > MOST:
            self.check()
        self.put_encoded(data)

    def put_encoded(self, data: bytes) -> None:
        self._put(data)
        self.count += 1

    def check(self, kind: int = CHECK) -> None:
        data = encode([kind, self.count, self.crc.value()])
        self.out.write(data)
        self.bytes += len(data)
        self.unchecked = 0

    def end(self) -> None:
        self.check(END)
        self.out.flush()


@contextlib.contextmanager
def written(target: Source) -> Iterator[IO[bytes]]:
    """A file that appears complete or not at all."""
    if not isinstance(target, (str, os.PathLike)):
        yield target
        return
    folder, name = os.path.split(os.path.abspath(target))
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name}.", delete=False) as f:
        try:
            yield f
            f.flush()
            os.fsync(f.fileno())
            umask = os.umask(0o077)
            os.umask(umask)
            os.chmod(f.name, 0o666 & ~umask)
            os.replace(f.name, target)
        except BaseException:
            os.unlink(f.name)
            raise


def write_stream(target: Source, header: Header, records: Iterable[Iterable[Any]]) -> None:
    """One part: what read_stream gives, or records of your own. Ids may be lists or arrays of
    unsigned integers, scores numpy.float32."""
    with written(target) as out:
        writer = Writer(out, header)
        for record in records:
            writer.put(record)
        writer.end()
