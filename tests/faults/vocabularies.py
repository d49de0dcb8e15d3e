"""Vocabularies that are made to be expensive for SentencePiece 0.1, each with a text or ids that use
it."""
import functools
import random
import struct

UNKNOWN, CONTROL, USER, UNUSED, BYTE = 2, 3, 4, 5, 6  # types of pieces
UNIGRAM, BPE, WORDS = 1, 2, 3
LONGEST = 2048  # bytes of a piece
WORD = (1 << 64) - 1


def varint(x):
    out = b""
    while x > 127:
        out, x = out + bytes([x & 127 | 128]), x >> 7
    return out + bytes([x])


def field(n, contents):
    """A field of a protobuf message, of length-delimited type."""
    return varint(n << 3 | 2) + varint(len(contents)) + contents


def piece(text, score=-5, kind=1):
    return field(1, field(1, text) + struct.pack("<Bf2B", 0x15, score, 0x18, kind))


def model(pieces, kind=UNIGRAM, table=b"", trainer=b"", more=b""):
    """A SentencePiece model; ids of the pieces begin at 4."""
    special = piece(b"<unk>", 0, UNKNOWN) + piece(b"<s>", 0, CONTROL) + piece(b"</s>", 0, CONTROL)
    return (special + piece("\u2581".encode(), -3) + b"".join(pieces) +
            field(2, b"\x18" + bytes([kind]) + trainer) +
            field(3, field(1, b"own") + field(2, table)) + more)


def codes(lines, pieces=(b"\xe2\x96\x81a@@", )):
    """A vocabulary of words that such codes split."""
    return model([piece(x) for x in pieces], WORDS, more=field(1000, field(1, b"".join(lines))))


def doubled(k):
    """Codes that merge 2^k a's."""
    return [b"%s %s\n" % (b"a" * 2**i, b"a" * 2**i) for i in range(k)]


def all_pairs(n):
    """Codes of n bytes, of two characters each."""
    text = [chr(0x4e00 + i).encode() for i in range(int((n / 8)**0.5))]
    return [a + b" " + b + b"\n" for a in text for b in text]


def table(keys, replacement, loop=False):
    """A normalisation table: each key, at most 256 of a's alone, has that replacement. loop: so has
    every longer one."""
    n = 256 * (max(keys) + 2)
    unit = [0] * n  # node i, reached by i a's, has base 256 * (i + 1); its child is at base ^ a
    last, a = max(keys), ord("a")
    unit[0] = 256 << 10
    unit[256] = 0x800000ff  # no key ends at the root
    for i in range(1, last + 1):
        at, to = 256 * i ^ a, 256 * (i + 1)
        unit[at] = a | (0x100 if i in keys else 0) | (at ^ to) << 10
        unit[to] = 1 << 31
    if loop:
        at, to = 256 * (last + 1) ^ a, 256 * (last + 1)
        unit[at] = a | 0x100 | (at ^ to) << 10
    trie = struct.pack("<%dI" % n, *unit)
    return struct.pack("<I", len(trie)) + trie + replacement + b"\0"


def same_bucket(n):
    """n texts of 8 bytes whose std::hash is a multiple of the sizes that a hash table of the C++
    library has with so many: inverts its hash function, which is MurmurHash64A with a fixed seed."""
    m, seed = 0xc6a4a7935bd1e995, 0xc70f6907
    inverse, r, out = pow(m, -1, 1 << 64), random.Random(3), set()
    size, sizes = 13, []
    while size < n:  # as good as the library's own list: the last ones count
        sizes.append(size)
        size = next(p for p in (29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229,
                                172933, 351061) if p > size)
    while len(out) < n:
        h = r.randrange((1 << 64) // (size * sizes[-1])) * size * sizes[-1]
        h ^= h >> 47
        h = h * inverse & WORD
        h ^= h >> 47
        h = h * inverse & WORD ^ seed ^ (8 * m & WORD)
        h = h * inverse & WORD
        h ^= h >> 47
        text = (h * inverse & WORD).to_bytes(8, "little")
        if 0 not in text:
            out.add(text)
    return sorted(out)


def mix(x):
    """The hash function of darts-clone for states of a trie."""
    x = (~x + (x << 15)) & 0xffffffff
    x ^= x >> 12
    x = x + (x << 2) & 0xffffffff
    x ^= x >> 4
    x = x * 2057 & 0xffffffff
    return x ^ x >> 16


def same_slots(n):
    """Texts of n bytes together whose states in the trie share a 128th of its hash table. A state
    with one child has the hash of the child's byte and number, from the last byte of a text on."""
    size, number, out = 1024, 1, []
    while n >= size - size // 4:
        size *= 2
    import numpy as np  # for a tenth of the time
    byte = np.arange(1, 256, dtype=np.uint64) << 24
    for i in range(n // LONGEST):
        numbers = np.arange(number, number + LONGEST - 2, dtype=np.uint64)
        good = mix(byte ^ (numbers << 2 | 2)[:, None]) % size < size // 128
        text = np.where(good.any(1), good.argmax(1) + 1, 1).astype("u1")
        out.append(bytes([65 + i // 60, 65 + i % 60]) + text[::-1].tobytes())
        number += LONGEST - 1
    return out


@functools.lru_cache(maxsize=None)
def for_text(n):
    """{name: (model, text)} of about n bytes each."""
    line = b"a" * n + b"\n"
    half = b"a" * (n // 2) + b"\n"
    nested = [b"a" * i for i in range(1, min(LONGEST, int(n**0.5)))]
    out = {
        "pieces in a bucket": (model([piece(x) for x in same_bucket(n // 12)]), b"a\n"),
        "control pieces in a bucket":
        (model([piece(x, 0, CONTROL) for x in same_bucket(n // 14)]), b"a\n"),
        "states of a trie": (model([piece(x) for x in same_slots(n // 5)]), b"a\n"),
        "control pieces": (model([piece(b"%d" % i, 0, CONTROL) for i in range(n // 20)]), half),
        "user-defined symbols": (model([piece(b"%d" % i, 0, USER) for i in range(n // 20)]), half),
        "nested user-defined symbols": (model([piece(x, 0, USER) for x in nested[:64]]), line),
        "too many nested": (model([piece(x, 0, USER) for x in nested[:65]]), line),
        "replacements": (model([piece(b"x")], table=table([1], b"x" * 16)), half),
        "long replacements": (model([piece(b"x")], table=table([1], b"x" * n)), half),
        "nested replacements": (model([piece(b"x")], table=table(range(1, 34), b"x")), line),
        "endless replacements": (model([piece(b"x")], table=table([1], b"x", loop=True)), line),
        "bytes": (model([piece(b"<0x%02X>" % i, 0, BYTE)
                         for i in range(256)], trainer=b"\x98\x02\x01"), line),
        "codes, doubled": (codes(doubled(12)), line),
        "codes, one by one": (codes([b"a" * i + b" a\n" for i in range(1, len(nested))]), line),
        "codes, one by one from the end":
        (codes([b"a a</w>\n"] + [b"a " + b"a" * i + b"</w>\n" for i in range(2, len(nested))]), line),
        "codes, all pairs": (codes(all_pairs(n)), "".join(
            chr(0x4e00 + i % 700) for i in range(n // 3)).encode() + b"\n"),
        "codes and no token": (codes([b"b b\n"], []), b"ab" * (n // 2) + b"\n"),
        "samples": (model([piece(b"a")], more=field(4, field(1, field(1, line)))), b"a\n"),
    }
    for kind, name in ((UNIGRAM, "unigram"), (BPE, "bpe")):
        scored = [piece(x, len(x)) for x in nested]
        out.update({
            name + ", unknown": (model([piece(b"b")], kind), line * 5),
            name + ", long piece": (model([piece(b"a"), piece(b"a" * LONGEST)], kind), half),
            name + ", long user-defined symbol":
            (model([piece(b"a"), piece(b"a" * (LONGEST - 1) + b"b", 0, USER)], kind), half),
            name + ", nested": (model(scored, kind), line),
            name + ", nested and unused":
            (model([piece(x, len(x), UNUSED if len(x) > 1 else 1) for x in nested], kind), line),
            name + ", spaces": (model([piece(b"b")], kind), b" " * n + b"\n"),
        })
    return out


def for_segmentations(n):
    """{name: (model, text)}: many segmentations of lines that are as long as may be sampled from, of
    equal probability."""
    out = {}
    for k in (2, 20, 100):
        pieces = [piece(b"a" * i, -i) for i in range(1, k + 1)]
        longest = (4 << 20) // (64 + 512 + k * k // 128) - 3
        line = b"a" * min(n, longest) + b"\n"
        out["%d pieces" % k] = (model(pieces), line * max(1, n // len(line)))
    return out


def for_ids(n):
    """{name: (model, ids of each record)}: at most n bytes."""
    long_pieces = [piece(bytes([98 + i]) * LONGEST) for i in range(3)]
    one, most = model([piece(b"a")]), (16 << 20) // LONGEST
    return {
        "long pieces": (model(long_pieces), [[4, 5, 6] * (most // 3)] * 4),
        "too long": (model(long_pieces), [[4, 5, 6] * (n // 3)]),
        "long pieces in short records": (model(long_pieces), [[4, 5]] * (n // 8)),
        "long unknown piece": (model([piece(b"a")], trainer=varint(44 << 3 | 2) + varint(LONGEST) +
                                     b"x" * LONGEST), [[0] * most] * 4),
        "too long unknown piece": (model([piece(b"a")], trainer=varint(44 << 3 | 2) + varint(n) +
                                         b"x" * n), [[0] * 1000]),
        "long control piece": (model([piece(b"x" * LONGEST, 0, CONTROL)]), [[4] * 1000]),
        "unknown pieces": (one, [[0] * n]),
        "replacements": (model([piece(b"a")],
                               more=field(5, field(2, table([1], b"x" * 16)))), [[4] * n]),
    }
