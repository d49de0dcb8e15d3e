#!/usr/bin/python3
"""A unigram vocabulary of SentencePiece with pieces within pieces: nested_vocabulary.py N >FILE

a, aa, aaa, ... up to N characters. Of a line of a's, up to N pieces end at each character."""
import struct
import sys


def field(n, contents):
    """A field of a protobuf message, of length-delimited type."""
    size, x = b"", len(contents)
    while x > 127:
        size, x = size + bytes([x & 127 | 128]), x >> 7
    return bytes([n << 3 | 2]) + size + bytes([x]) + contents


def piece(text, score, kind=1):
    return field(1, field(1, text.encode()) + struct.pack("<Bf2B", 0x15, score, 0x18, kind))


out = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("\u2581", -3)
out += b"".join(piece("a" * n, -1 - n / 10) for n in range(1, int(sys.argv[1]) + 1))
out += field(2, b"\x18\x01")  # the trainer's settings: unigram
out += field(3, field(1, b"identity"))
sys.stdout.buffer.write(out)
