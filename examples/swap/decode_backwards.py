#!/usr/bin/python3
"""decode_backwards.py - replaces tf-decode: writes every sentence in reverse. Put your own
model into `translate`; bad records are passed on, so line numbers do not shift.

    tf-tokenize -m model.tfm <text | decode_backwards.py | tf-tokenize -d -m model.tfm
"""
import sys

import tfs


def translate(source):
    return source[::-1]


out = part = None
for header, r in tfs.read(sys.stdin.buffer, "tokens"):
    if header is not part: # a stream may have several parts
        if out is not None:
            out.end()
        out, part = tfs.Writer(tfs.stage(header, "decode_backwards.py")), header
    if r[0] == tfs.TOKENS:
        r = [tfs.TOKENS, r[1], tfs.typed(translate(tfs.ids(r[2])), header.get("size", 0))]
    out.put(*r)
if out is None:
    out = tfs.Writer({"v": 1, "kind": "tokens"})
out.end()
