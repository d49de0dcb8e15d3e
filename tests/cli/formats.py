"""The formats by independent means, for formats.bats: formats.py FUNCTION ARGUMENTS...

The reader of CBOR is the package cbor2, the validator of CDDL the package zcbor."""
import array
import io
import json
import struct
import sys

import cbor2

LABEL = bytes.fromhex("d9d9f8da5446535443424f52")


def items(path):
    """Each item of a file and its bytes."""
    with open(path, "rb") as f:
        data = f.read()
    f, start = io.BytesIO(data), 0
    while start < len(data):
        item = cbor2.load(f)
        yield item, data[start:f.tell()]
        start = f.tell()


def plain(x):
    """An item as its JSON is."""
    if isinstance(x, cbor2.CBORTag):
        if x.tag == 40:
            return plain(x.value[1])
        if x.tag == 18540:
            return x.value.hex()
        a = array.array({64: "B", 69: "H", 70: "I", 72: "b", 85: "f"}[x.tag])
        a.frombytes(x.value)
        return a.tolist()
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return [plain(v) for v in x] if isinstance(x, list) else x


def near(a, b):
    return len(a) == len(b) and all(abs(x - y) <= 1e-6 * abs(x) for x, y in zip(a, b))


def same(r, line):
    """A record is a line of JSON."""
    t = line["type"]
    if t == "header":
        assert plain(r[1]) == line["header"], (r, line)
    elif t == "tokens":
        assert r[:2] == [1, line["idx"]] and plain(r[2]) == line["ids"]
    elif t == "stats":
        assert r[:2] == [11, line["idx"]] and plain(r[2]) == line["counts"]
    elif t == "pair":
        assert r[:2] == [2, line["idx"]]
        assert [plain(r[2]), plain(r[3])] == [line["src"], line["tgt"]]
    elif t == "batch":
        m = plain(r[2])
        assert [sum(line["src"], []), sum(line["tgt"], [])] == [m["src"], m["tgt"]]
        assert line["idx"] == m["idx"] and line.get("corpus") == m.get("corpus")
        assert ([len(s) for s in line["src"]] ==
                [b - a for a, b in zip(m["src_off"], m["src_off"][1:])])
        assert [line["ordinal"], line["epoch"], line["record"]] == [r[1], m["epoch"], m["record"]]
    elif t == "nbest":
        for h, k in zip(r[2], line["hyps"], strict=True):
            assert plain(h[0]) == k["ids"] and near(h[1:3], [k["score"], k["logp"]])
            assert near(plain(h[3]) if len(h) > 3 else [], k.get("token_logp", []))
    elif t == "attention":
        shape = [line["heads"], line["rows"], line["columns"]]
        assert r[:4] == [5, line["idx"], line["kind"], line["layer"]]
        assert [plain(r[4]), *r[5:7]] == shape and near(plain(r[7]), line["weights"])
        assert len(line["weights"]) == len(shape[0]) * len(shape[1]) * len(shape[2]) > 0
    elif t == "score":
        got = [r[2]] + (plain(r[3]) if len(r) > 3 else [])
        assert near(got, [line["logp"]] + line.get("token_logp", []))
    elif t == "tensor":
        got = plain(r[4])
        if r[2] == "bf16":
            got = [struct.unpack("<f", struct.pack("<I", x << 16))[0] for x in got]
        assert [*r[1:3], r[4].value[0]] == [line["name"], line["dtype"], line["dims"]]
        assert near(got, line["data"])
    elif t in ("check", "end"):
        assert r[1:] == [line["count"], line["crc"]]
    elif t in ("bad", "error"):
        assert r[-2:] == [line["code"], line["text"]]
    elif t == "ancillary":
        assert r[0] == line["record"][0] >= 64 and cbor2.dumps(r).hex() == line["hex"]
    else:
        assert t == "state" and r[1] == line["name"]


def agree(*paths):
    """Each file of CBOR has the records of the file of JSON Lines NAME.json."""
    for path in paths:
        with open(path.rsplit("/", 1)[1] + ".json", encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        got = [x for x, _ in items(path)]
        records = [x for x in got if isinstance(x, list)]
        labels = [x for x in got if isinstance(x, cbor2.CBORTag) and x.tag == 55800]
        assert all(x.value.value == b"BOR" for x in labels)
        assert len(labels) == sum(x["type"] == "header" for x in lines)
        for r, line in zip(records, lines, strict=True):
            same(r, line)


def deterministic(*paths):
    for path in paths:
        # Scores are binary32 by rule, where canonical encoding takes the shortest.
        assert path.endswith(("nbest.cbor", "scores.cbor")) or all(
            cbor2.dumps(x, canonical=True) == raw for x, raw in items(path)), path


def write(*records, **header):
    sys.stdout.buffer.write(LABEL + cbor2.dumps([0, {"v": 1, **header}]) + b"".join(
        cbor2.dumps(list(r)) for r in records) + cbor2.dumps([15, len(records), None]))


def tokens():
    write([1, 0, [5, 6, 300]], [9, 1, 15, "no"], [1, 2, []], [70, "ancillary"], kind="tokens")
    write([1, 0, [1]], kind="tokens")


def nbest():
    write([4, 0, [[[7], -0.5, -1.0], [[], -3, -1.1, [-1.1]]]], kind="nbest")


def attention():
    write([5, 0, "cross", 2, [1, 300], ["a", "\u00fc"], [""], [1, 0.5, 0.1, 0], "newer"],
          kind="attention")


def crc32c(data, c=0):
    c ^= 0xffffffff
    for b in data:
        c ^= b
        for _ in range(8):
            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    return c ^ 0xffffffff


def crcs(*paths):
    for path in paths:
        crc, count, checked = 0, 0, 0
        for item, raw in items(path):
            if isinstance(item, cbor2.CBORTag):
                crc, count = 0, 0
            elif item[0] in (13, 15):
                assert item[1:] == [count, crc], (item, count, crc)
                checked += 1
                continue
            elif item[0] in (3, 7):
                assert item[3] == crc32c(raw[:len(raw) - len(cbor2.dumps(item[3]))])
            elif item[0] == 6:
                assert item[5] == crc32c(item[4].value[1].value)
            crc = crc32c(raw, crc)
            count += isinstance(item, list) and item[0] != 0
        assert checked


def validator(path):
    """A function that returns what the CDDL of a file has against bytes, or None. The number is how
    many of `*` there may be, as zcbor's own `validate` has it."""
    import zcbor
    with open(path, encoding="utf-8") as f, open(zcbor.zcbor.zcbor.PRELUDE_PATH,
                                                 encoding="utf-8") as prelude:
        stream = zcbor.DataTranslator.from_cddl(f.read() + "\n" + prelude.read(),
                                                2**32 - 1).my_types["stream"]

    def wrong(data):
        try:
            stream.validate_str(data)
        except zcbor.CddlValidationError as e:
            return str(e) or "invalid"
        return None

    return wrong


def cddl(path, *vectors):
    """Every stream is valid; one that is cut or has no label is not."""
    wrong = validator(path)
    for vector in vectors:
        with open(vector, "rb") as f:
            for part in f.read().split(LABEL)[1:]:
                assert not wrong(b"\x9f" + LABEL + part + b"\xff"), vector
    x = [raw for _, raw in items(vectors[0].rsplit("/", 1)[0] + "/pairs.cbor")]
    assert not wrong(b"\x9f" + b"".join(x) + b"\xff")
    for bad in x[:-1], x[1:], x[:1] + x[2:], x + [b"\x01"], x[:2] + [b"\x83\x0c\x00\x80"] + x[2:]:
        assert wrong(b"\x9f" + b"".join(bad) + b"\xff"), bad


def cddl_lines(path, *vectors):
    """The same for the lines of JSON, whose CDDL knows them as CBOR."""
    wrong = validator(path)
    for vector in vectors:
        parts = []
        with open(vector, encoding="utf-8") as f:
            for line in map(json.loads, f):
                if line["type"] == "header":
                    parts.append([])
                parts[-1].append(line)
        for part in parts:
            assert not wrong(cbor2.dumps(part)), vector
    h, end = {"type": "header", "header": {"v": 1, "kind": "tokens"}}, {"type": "end"}
    assert not wrong(cbor2.dumps([h, end]))
    for bad in ([end], [h], [h, {"type": "tokens", "idx": 0}, end],
                [h, {"type": "tokens", "idx": 0, "ids": "5"}, end], [h, {"type": "other"}, end],
                [{"type": "header", "header": {"v": 1}}, end], [h, {"type": "end", "more": 1}]):
        assert wrong(cbor2.dumps(bad)), bad


globals()[sys.argv[1]](*sys.argv[2:])
