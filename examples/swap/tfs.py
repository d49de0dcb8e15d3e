"""tfs.py - read and write streams of tf-tools as formats/stream.md describes, without CRCs.

The writer writes null CRCs, and the reader verifies counts only. If bytes may get damaged, pipe the
output through `tf-cbor seal` (which fills in the CRCs) and the input through `tf-cbor check`. Needs
cbor2.
"""
import array
import signal
import sys

import cbor2

LABEL = bytes.fromhex("d9d9f8da5446535443424f52")
signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # if the reader exits, end quietly

TOKENS, PAIR, BATCH, NBEST, TENSOR, BAD, CHECK, ERROR, END = 1, 2, 3, 4, 6, 9, 13, 14, 15


def ids(x):
    """Ids of a record as a list; the encoding is a typed array or a plain array."""
    if isinstance(x, cbor2.CBORTag):
        a = array.array({64: "B", 69: "H", 70: "I", 71: "Q"}[x.tag])
        a.frombytes(x.value)
        return a.tolist()
    return x


def typed(x, size):
    """Ids as a typed array, like our tools; a plain list is valid too."""
    tag, code = (69, "H") if 0 < size <= 65536 else (70, "I")
    return cbor2.CBORTag(tag, array.array(code, x).tobytes())


def read(f, *kinds):
    """Yield (header, record) once the check that covers it is read. Exit with 1 on any error."""
    name = getattr(f, "name", "input")
    decoder, count, seen, held = cbor2.CBORDecoder(f), 0, 0, []
    header = None
    try:
        while True:
            item = decoder.decode()
            if header is None:
                if cbor2.dumps(item) != LABEL:
                    fail(f"{name}: not a stream")
                header, count, held = decoder.decode()[1], 0, []
                if header["kind"] not in kinds:
                    fail(f"{name}: a {header['kind']} stream")
            elif item[0] in (CHECK, END):
                if item[1] != count:
                    fail(f"{name}: {count} records, but the count is {item[1]}")
                yield from ((header, r) for r in held)
                held, seen = [], seen + 1
                if item[0] == END:
                    header = None
            elif item[0] == ERROR:
                fail(f"{name}: upstream failed: {item[2]}")
            else:
                count += 1
                held.append(item)
    except cbor2.CBORDecodeEOF:
        if header is not None or not seen:
            fail(f"{name}: truncated after record {count}")


class Writer:
    """Write label and header, then put(type, ...), then end()."""

    def __init__(self, header, out=sys.stdout.buffer):
        self.out, self.count, self.bytes = out, 0, 0
        out.write(LABEL)
        cbor2.dump([0, header], out, canonical=True)

    def put(self, *record):
        data = cbor2.dumps(list(record))
        if self.bytes + len(data) > 1 << 20:
            self.check()
        self.out.write(data)
        self.count, self.bytes = self.count + 1, self.bytes + len(data)

    def check(self):
        """Write a check, so that readers may use everything before it, and flush."""
        cbor2.dump([CHECK, self.count, None], self.out)
        self.out.flush()
        self.bytes = 0

    def end(self):
        cbor2.dump([END, self.count, None], self.out)
        self.out.flush()


def stage(header, prog, **more):
    """Header of a stream that prog derives from another: same vocabulary, one more stage."""
    made = list(header.get("made", [])) + [{"prog": prog, "version": "1"}]
    return {**header, **more, "made": made}


def fail(text):
    print(f"{sys.argv[0].rsplit('/', 1)[-1]}: {text}", file=sys.stderr)
    sys.exit(1)
