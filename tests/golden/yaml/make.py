#!/usr/bin/env python3
"""Lists of pieces as two programs write them: Marian's `vocab` (yaml-cpp) and PyYAML, with pieces of
all of Unicode's kinds and everything that means something in YAML. Beside NAME.yml, which the
program wrote, a file of JSON has the pieces by id as they went in: marian.json, folded.json,
all.json for ascii and unicode, some.json for the others. Golden files are of pymarian 1.12.42
and PyYAML 6.0.4 (libyaml 0.2.5). Run in this folder, with pymarian in PATH."""
import json
import subprocess

import yaml

SIGNS = "-:#?,[]{}&*!|>'\"%@`\\=<~$;./()"
WORDS = """null Null NULL ~ true True yes Yes NO on off y N 1 1.0 1e3 0x1f 0o7 017 1:30 .inf .NaN
    -- --- ... ---a <<  2001-01-01 +1 -1 1_000 a:b a:# #a- ''' \"\"\" it's \\n \\ufeff !!str &a *a >>fra<<
    <s> <pad> ▁ ▁▁ ▁a é e\u0301 \u0301 한국어 אב ئا नमस्ते 👩\u200d👩\u200d👧 🇩🇪
    x://y.z?q={1} ?" "?""".split()
CODES = [*range(1, 0x20), *range(0x7F, 0xA1), 0xAD, 0x200B, 0x200E, 0x2028, 0x2029, 0x202E, 0x2060,
         0x3000, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1F600, 0x10FFFF,
         *(plane << 16 | 0x2345 for plane in range(1, 17))]
LONG = ["x" * 127, "x" * 130, "é" * 129, "x" * 1024, "y" * 1025, '"' * 1026]
WIDE = ["a\u2028b", "\u2029", "a\x85b", "'\u2028", '"\u2028', "\x85\u2028"]


def pieces():
    signs = [p for s in SIGNS for p in (s, s + s, s + "a", "a" + s, "▁" + s, s + "▁")]
    controls = [p for c in CODES for p in (chr(c), f"a{chr(c)}")]
    return list(dict.fromkeys(["</s>", "<unk>", *WORDS, *signs, *controls, *WIDE, *LONG]))


def with_spaces():
    """What no piece of a segmenter has, but any key of PyYAML may have."""
    blanks = [" ", "  ", " a", "a ", "a  b", "a: b", "a :b", "a #b", "- a", "? a", "", "\t a",
              "a \u2028b", "\u2028 b", "a\u2028\u2029b", "' '"]
    lines = ["\n", "a\nb", "\na", "a\n", "a\n\n", "a\n\nb\n", " a\n b", "a\n  b\nc", "a \n", "\n\n"]
    words = ["word " * 40, "wo rd" * 30 + "\x01", " two  blanks" * 12, "it's " * 30, "▁a ▁b " * 20]
    return [*blanks, *lines, *words]


def write(name, text):
    open(f"{name}.yml", "wb").write(text)


def write_pieces(name, v):
    json.dump(v, open(f"{name}.json", "w"), separators=(",", ":"))


def marian(name, v):
    """Marian counts the words of its input and gives the most frequent the least id."""
    words = [w for w in v[2:] if "\n" not in w]
    lines = "".join((w + " ") * (len(words) - i) + "x\n" for i, w in enumerate(words))
    words.insert(0, "x")
    lines += "x " * len(words) + "\n"
    run = subprocess.run(["pymarian", "vocab"], input=lines.encode(), capture_output=True, check=True)
    write(name, run.stdout)
    write_pieces(name, ["</s>", "<unk>", *words])


def pyyaml(name, v, dumper=yaml.SafeDumper, **how):
    ids = {p: i for i, p in enumerate(v)}
    write(name, yaml.dump(ids, Dumper=dumper, sort_keys=False, encoding="utf-8", **how))


def main():
    all_of_them = list(dict.fromkeys([*pieces(), *with_spaces()]))
    some = [p for i, p in enumerate(pieces()) if i % 7 == 0 and len(p) < 200] + with_spaces()
    marian("marian", pieces())
    write_pieces("all", all_of_them)
    write_pieces("some", some)
    pyyaml("ascii", all_of_them)
    pyyaml("unicode", all_of_them, allow_unicode=True)
    pyyaml("libyaml", some, yaml.CSafeDumper, allow_unicode=True, explicit_start=True)
    pyyaml("narrow", some, allow_unicode=True, width=20, indent=4, explicit_end=True)
    pyyaml("wide", some, yaml.CSafeDumper, width=1000, line_break="\r\n", version=(1, 1))
    pyyaml("flow", some, default_flow_style=True, allow_unicode=True)
    pyyaml("canonical", some, canonical=True)
    pyyaml("single", some, default_style="'", allow_unicode=True)
    pyyaml("double", some, default_style='"', allow_unicode=True, width=30)
    pyyaml("literal", some, default_style="|", allow_unicode=True)
    some.remove(" two  blanks" * 12)  # which PyYAML folds wrongly
    write_pieces("folded", some)
    pyyaml("folded", some, default_style=">", width=30, allow_unicode=True)


main()
