#!/usr/bin/python3
"""Write unicode_data_private.h from the Unicode Character Database (Debian: package unicode-data).

usage: unicode_data.py [DIR] >unicode_data_private.h        DIR defaults to /usr/share/unicode
"""
import sys

DIR = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
LAST = 0x110000
CLASS = {"P": 1, "S": 2, "N": 4}
CASED, IGNORABLE = 1, 2
ALPHABETIC, DECIMAL, LOWERCASE = 1, 2, 4


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


def ranges(flags):
    out, start = [], 0
    for c in range(1, LAST + 1):
        if c == LAST or flags[c] != flags[start]:
            if flags[start]:
                out.append((start, c - 1, flags[start]))
            start = c
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


general, case, lower, letter = [0] * LAST, [0] * LAST, [], [0] * LAST
for cp, field in unicode_data():
    general[cp] = CLASS.get(field[2][0], 0)
    if field[2] == "Nd":
        letter[cp] |= DECIMAL
    if field[13]:
        lower.append((cp, int(field[13], 16) - cp))
for cp in derived("Cased"):
    case[cp] |= CASED
for cp in derived("Case_Ignorable"):
    case[cp] |= IGNORABLE
for cp in derived("Alphabetic"):
    letter[cp] |= ALPHABETIC
for cp in derived("Lowercase"):
    letter[cp] |= LOWERCASE
version = open(f"{DIR}/DerivedCoreProperties.txt").readline().split("-")[1].split(".txt")[0]

source = f"from the Unicode Character Database {version}"
print(f"""/* unicode_data_private.h - written by unicode_data.py {source}; do not edit.
 * Copyright (C) 1991-2022 Unicode, Inc. All rights reserved. Used under the Unicode licence,
 * https://www.unicode.org/license.txt. Included by unicode.c alone. */
/* First and last code point, and the general category: 1 punctuation, 2 symbol, 4 number. */""")
rng = lambda r: "{0x%04X, 0x%04X, %d}" % r
table("struct range", "uc_general", ranges(general), rng)
print("/* First and last code point, and the sum of: 1 Cased, 2 Case_Ignorable. */")
table("struct range", "uc_case", ranges(case), rng)
print("/* First and last code point, and the sum of: 1 Alphabetic, 2 decimal digit (category Nd), "
      "4 Lowercase. */")
table("struct range", "uc_letter", ranges(letter), rng)
print("/* First and last code point, stride and distance of the simple lower-case mapping. */")
table("struct lower_run", "uc_lower", lower_runs(lower),
      lambda r: "{0x%04X, 0x%04X, %d, %d}" % tuple(r))
