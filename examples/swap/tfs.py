"""tfs.py - streams of tf-tools for scripts: what formats/stream.md asks of a reader and a writer,
less the CRCs.

A writer puts null where a CRC would stand; a reader compares counts only. Where bytes may get
damaged on the way, put `tf-cbor seal` behind a writer (it fills the CRCs in) and `tf-cbor check`
before a reader. Needs cbor2.
"""
import array
import signal
import sys

import cbor2

LABEL = bytes.fromhex("d9d9f8da5446535443424f52")
signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that leaves ends the writer quietly

TOKENS, PAIR, BATCH, NBEST, BAD, CHECK, ERROR, END = 1, 2, 3, 4, 9, 13, 14, 15


def ids(x):
    """Ids of a record, typed array or plain."""
    if isinstance(x, cbor2.CBORTag):
        a = array.array({64: "B", 69: "H", 70: "I", 71: "Q"}[x.tag])
        a.frombytes(x.value)
        return a.tolist()
    return x


def typed(x, size):
    """Ids as our tools write them; a plain list would do as well."""
    tag, code = (69, "H") if 0 < size <= 65536 else (70, "I")
    return cbor2.CBORTag(tag, array.array(code, x).tobytes())


def read(f, *kinds):
    """Yield (header, record), records only once the check behind them agrees. Exit with 1 on
    anything else."""
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
                    fail(f"{name}: {count} records where {item[1]} are counted")
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
        """So far it is good: readers may use it. Flushes."""
        cbor2.dump([CHECK, self.count, None], self.out)
        self.out.flush()
        self.bytes = 0

    def end(self):
        cbor2.dump([END, self.count, None], self.out)
        self.out.flush()


def stage(header, prog, **more):
    """The header of a stream that prog makes of another: the same vocabulary, one stage more behind
    it."""
    made = list(header.get("made", [])) + [{"prog": prog, "version": "1"}]
    return {**header, **more, "made": made}


def fail(text):
    print(f"{sys.argv[0].rsplit('/', 1)[-1]}: {text}", file=sys.stderr)
    sys.exit(1)
