#!/usr/bin/python3
"""tokenize_bytes.py - replaces tf-tokenize: the tokens are the bytes of a line.

    tokenize_bytes.py <text >tokens.tfs        tokenize_bytes.py -d <tokens.tfs >text
"""
import hashlib
import sys

import tfs

FIRST = 4  # id of byte 0; before it pad, unk, bos, eos
HEADER = {
    "v": 1, "kind": "tokens", "size": FIRST + 256,
    "special": {"pad": 0, "unk": 1, "bos": 2, "eos": 3},
    # Compared by later stages: any 32 bytes that change whenever the meaning of an id changes.
    "vocab": tfs.cbor2.CBORTag(18540, hashlib.sha256(b"bytes, ids 4 to 259").digest()),
}


def encode():
    out = tfs.Writer(tfs.stage(HEADER, "tokenize_bytes.py"))
    for idx, line in enumerate(sys.stdin.buffer):
        ids = [FIRST + b for b in line.rstrip(b"\n")]
        out.put(tfs.TOKENS, idx, tfs.typed(ids, HEADER["size"]))
        if sys.stdin.isatty():
            out.check()
    out.end()


def decode():
    for header, r in tfs.read(sys.stdin.buffer, "tokens", "nbest"):
        if header.get("vocab") != HEADER["vocab"]:
            tfs.fail("stdin: different vocabulary")
        best = []
        if r[0] != tfs.BAD and r[2]:
            best = tfs.ids(r[2] if r[0] == tfs.TOKENS else r[2][0][0])
        line = bytes(i - FIRST for i in best if i >= FIRST).replace(b"\n", b" ")
        sys.stdout.buffer.write(line + b"\n")


decode() if sys.argv[1:] == ["-d"] else encode()
