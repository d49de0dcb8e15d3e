#!/usr/bin/python3
"""Write unicode_data_private.h from the Unicode Character Database (Debian: package unicode-data).

usage: unicode_data.py [DIR] >unicode_data_private.h        DIR defaults to /usr/share/unicode
"""
import sys

DIR = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
LAST = 0x110000
PUNCT, SYMBOL, NUMBER, CASED, IGNORABLE, ALPHABETIC, DECIMAL, LOWERCASE, PAIRS, WORD = (
    1 << i for i in range(10))
CLASS = {"P": PUNCT, "S": SYMBOL, "N": NUMBER}


def unicode_data():
    """(code point, fields) for every assigned code point, ranges spelled out."""
    first = None
    for line in open(f"{DIR}/UnicodeData.txt", encoding="ascii"):
        f = line.rstrip("\n").split(";")
        cp = int(f[0], 16)
        if f[1].endswith(", First>"):
            first = cp
            continue
        for c in range(first if first is not None else cp, cp + 1):
            yield c, f
        first = None


def derived(name):
    for line in open(f"{DIR}/DerivedCoreProperties.txt", encoding="utf-8"):
        f = [x.strip() for x in line.split("#")[0].split(";")]
        if len(f) == 2 and f[1] == name:
            a, _, b = f[0].partition("..")
            yield from range(int(a, 16), int(b or a, 16) + 1)


def runs(flags):
    """(first, flags) wherever the flags change; with PAIRS every second one is LOWERCASE, too."""
    out, at = [], 0
    while at < LAST:
        same = pairs = at
        while same < LAST and flags[same] == flags[at]:
            same += 1
        while pairs < LAST and flags[at] and not flags[at] & LOWERCASE and \
                flags[pairs] == flags[at] | LOWERCASE * ((pairs - at) % 2):
            pairs += 1
        in_pairs = pairs > same and pairs > at + 2
        out.append((at, flags[at] | PAIRS * in_pairs))
        at = pairs if in_pairs else same
    return out


def lower_runs(pairs):
    """Runs (first, last, stride, delta) in which every stride-th code point moves by delta."""
    out = []
    for c, d in pairs:
        if out:
            r = out[-1]
            step = c - r[1]
            if r[3] == d and step in (1, 2) and (r[0] == r[1] or r[2] == step):
                r[1], r[2] = c, step
                continue
        out.append([c, c, 1, d])
    return out


def table(kind, name, rows, fmt):
    print(f"static const {kind} {name}[] = {{")
    line = "   "
    for row in rows:
        cell = " " + fmt(row) + ","
        if len(line) + len(cell) > 100:
            print(line)
            line = "   "
        line += cell
    print(line)
    print("};")


lower, flags = [], [0] * LAST
for cp, field in unicode_data():
    flags[cp] |= CLASS.get(field[2][0], 0)
    if field[2] == "Nd":
        flags[cp] |= DECIMAL
    if field[2][0] == "M" or field[2] == "Pc":
        flags[cp] |= WORD
    if field[13]:
        lower.append((cp, int(field[13], 16) - cp))
for name, flag in ("Cased", CASED), ("Case_Ignorable", IGNORABLE), ("Alphabetic", ALPHABETIC), \
        ("Lowercase", LOWERCASE):
    for cp in derived(name):
        flags[cp] |= flag
flags[0x200C] |= WORD  # Join_Control
flags[0x200D] |= WORD
for cp in range(LAST):
    if flags[cp] & (ALPHABETIC | DECIMAL):
        flags[cp] &= ~WORD  # less runs
version = open(f"{DIR}/DerivedCoreProperties.txt").readline().split("-")[1].split(".txt")[0]

print(f"""/* unicode_data_private.h - written by unicode_data.py from the Unicode Character Database
 * {version}; do not edit. Copyright (C) 1991-2022 Unicode, Inc. All rights reserved. Used under the
 * Unicode licence, https://www.unicode.org/license.txt. Included by unicode.c alone. */
/* The first code point of a run, and the flags (unicode.h, unicode.c) of all in it. */""")
table("struct run", "uc_runs", runs(flags), lambda r: "{0x%04X, %d}" % r)
print("/* First and last code point, stride and distance of the simple lower-case mapping. */")
table("struct lower_run", "uc_lower", lower_runs(lower),
      lambda r: "{0x%04X, 0x%04X, %d, %d}" % tuple(r))
