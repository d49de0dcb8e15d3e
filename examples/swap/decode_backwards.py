#!/usr/bin/python3
"""decode_backwards.py - stands in for tf-decode: puts every sentence out from its end to its
beginning. A model of your own goes where `translate` is; bad records pass through, so that line
numbers stay.

    tf-tokenize -m model.tfm <text | decode_backwards.py | tf-tokenize -d -m model.tfm
"""
import sys

import tfs


def translate(source):
    return source[::-1]


out = None
for header, r in tfs.read(sys.stdin.buffer, "tokens"):
    if out is None:
        out = tfs.Writer(tfs.stage(header, "decode_backwards.py"))
    if r[0] == tfs.TOKENS:
        r = [tfs.TOKENS, r[1], tfs.typed(translate(tfs.ids(r[2])), header.get("size", 0))]
    out.put(*r)
if out is None:
    out = tfs.Writer({"v": 1, "kind": "tokens"})
out.end()
