#!/usr/bin/python3
"""random_tokens.py VOCABULARY SENTENCES LENGTH >FILE - a token stream of random ids, all sentences
of one length. Uses no code of the tools."""
import random
import struct
import sys

import cbor2

size, n, length = map(int, sys.argv[1:])
out, r = sys.stdout.buffer, random.Random(1)


def put(x):
    out.write(cbor2.dumps(x))


put(cbor2.CBORTag(55800, cbor2.CBORTag(1413894996, b"BOR")))
put([
    0,
    {"v": 1, "kind": "tokens", "size": size, "special": {"pad": 0, "unk": 1, "bos": 2, "eos": 3}}
])
for i in range(n):
    ids = [r.randrange(4, size) for _ in range(length)]
    put([1, i, cbor2.CBORTag(69, struct.pack(f"<{length}H", *ids))])
    if i % 1000 == 999:
        put([13, i + 1, None])
put([15, n, None])
