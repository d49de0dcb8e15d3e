"""The Python package, for package.bats: package.py FUNCTION MODEL ARGUMENTS..."""
import gc
import math
import os
import pickle
import re
import signal
import sys
import threading
import time

if "TOP" in os.environ:  # else the package that is installed
    sys.path.insert(0, os.path.join(os.environ["TOP"], "python"))
import tftools  # noqa: E402

THREE = [(0, 0), (1, 1), (2, 2)]  # links of a copied line of three words


def fails(what, f, *args, **options):
    """f raises what it should, with this text in it."""
    try:
        f(*args, **options)
    except Exception as e:
        assert what in f"{type(e).__name__}: {e}", repr(e)
    else:
        raise AssertionError(f"no {what}")


def pids(t):
    """The processes of a pipeline."""
    group = t._pipe._child.pid
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                name, _, rest = f.read().rpartition(") ")
        except OSError:
            continue
        if rest.split()[0] != "Z" and int(rest.split()[2]) == group:
            yield int(pid), name.split("(", 1)[1]


def translate(model, source, target):
    """The lines of a file become those of another, which tf-translate wrote."""
    with open(source) as f, open(target) as g:
        texts, want = f.read().split("\n")[:-1], g.read().split("\n")[:-1]
    with tftools.Translator(model) as t:
        got = t.translate(texts)
        assert [str(x) for x in got] == want
        assert tftools.__version__[0].isdigit()
        fails("has no attribute 'x'", getattr, tftools, "x")
        assert all(x.reason is None and x.alternatives == [] and x.alignment is None for x in got)
        assert all(x.score < 0 for x, text in zip(got, texts) if text)
        assert t.translate([]) == []
        fails("TypeError: texts: not a list of texts but str", t.translate, "a b c")
        fails("TypeError: texts: not a list of texts but NoneType", t.translate, None)
        fails("TypeError: texts[1]: not a text but float", t.translate, ["a", math.nan])
        fails("TypeError: a Translator cannot be copied to another process", pickle.dumps, t)


def text(model, source, lines, wrapped):
    """A text keeps its form; what cannot be translated in it is an error."""
    def read(path):
        with open(path, newline="") as f:
            return f.read()
    with tftools.Translator(model, max_length=6) as t:
        assert t.translate_text(read(source), "en") == read(lines)
        assert t.translate_text(read(source), "en", wrapped=True) == read(wrapped)
        assert t.translate_text("", "en") == "" and t.translate_text("\n \n", "en") == "\n \n"
        fails("ToolError: too many tokens: source of 7", t.translate_text, "a\nb a b a b a c", "en")
        fails("ToolError: tf-split: ", t.translate_text, "a\ud800", "en")
        fails("TypeError: text: not a text but NoneType", t.translate_text, None, "en")


def details(model):
    head = {"alignment_head": "1"}
    with tftools.Translator([model, model], nbest=3, beam=4, alignment="hard", **head) as t:
        best, empty = t.translate(["a b c", ""])
        assert str(best) == "a b c" and best.alignment == THREE and len(best.alternatives) == 2
        scores = [best.score] + [x.score for x in best.alternatives]
        assert scores == sorted(scores, reverse=True)
        assert len({best.text} | {x.text for x in best.alternatives}) == 3
        assert all(x.alignment for x in best.alternatives)
        assert (empty.text, empty.alignment, empty.alternatives) == ("", [], [])
    with tftools.Translator(model, alignment=0.4, **head) as t:
        assert t.translate(["a b c"])[0].alignment == THREE
    with tftools.Translator(model, alignment="soft", **head) as t:
        one, three = (x.alignment for x in t.translate(["a", "a b c"]))
        assert len(one) == len(one[0]) == 1 and [len(x) for x in three] == [3, 3, 3]
        assert [max(range(3), key=x.__getitem__) for x in three] == [0, 1, 2]


def separators(model):
    """No character of a text makes a second line of it or of its translation."""
    every = "\r \v \f \x1c \x1d \x1e \x85 \u2028 \u2029 \0 \\n \t \"".split(" ")
    with tftools.Translator(model) as t:
        joined = [str(x) for x in t.translate([f"a{x}b" for x in every] + ["end"])]
        assert len(joined) == len(every) + 1
        feeds = t.translate(["a\nb", "a\r\nb", "a b", "c"])
        assert [str(x) for x in feeds] == ["a b", "a b", "a b", "c"]
        good, bad, after = t.translate(["a", "a\ud800", "c"])
        assert (str(good), str(bad), str(after)) == ("a", "", "c")
        assert "invalid UTF-8" in bad.reason and math.isnan(bad.score)


def threads(model):
    """More than the pipes hold, from many threads: each gets its own."""
    with tftools.Translator(model, beam=1) as t:
        done, long = {}, ["a b c", "b", "", "c a"] * 6000

        def one(i):
            texts = long if i == 0 else [" ".join("abc"[i % 3] * (i % 4 + 1)), "b"] * 3
            done[i] = [str(x) for x in t.translate(texts)] == texts, time.monotonic()
        them = [threading.Thread(target=one, args=(i,)) for i in range(9)]
        for x in them:
            x.start()
        for x in them:
            x.join()
        assert len(done) == 9 and all(good for good, _ in done.values())
        assert max(when for _, when in done.values()) == done[0][1], "a short list waited"


def ends(model):
    """A pipeline that has ended is an error that says why, of calls that wait and of later ones."""
    fails("ToolError: tf-translate: none.tfm: No such file", tftools.Translator, "none.tfm")
    fails("ToolError: tf-translate: --beam 0: too small", tftools.Translator, model, beam=0)
    fails("ToolError: tf-decode: ", tftools.Translator, model, alignment="hard")
    fails("ValueError: output: not an option here", tftools.Translator, model, output="x")
    fails("ValueError: html: not an option here", tftools.Translator, model, html=True)
    fails("ValueError: glossary: not an option here", tftools.Translator, model, glossary="g")
    fails("--alignment", tftools.Translator, model, alignment=True)
    texts = ["a b c"] * 200000

    def kill(t, name):
        for pid, its in list(pids(t)):
            if its == name:
                os.kill(pid, signal.SIGKILL)
                return
    for tool, why in ("tf-decode", "tf-decode: "), ("tf-translate", "tf-translate: killed by "):
        t = tftools.Translator(model)
        threading.Timer(0.2, kill, (t, tool)).start()
        fails(f"ToolError: {'tf-translate: ' * (tool == 'tf-decode')}{why}", t.translate, texts)
        fails("ToolError: tf-", t.translate, ["a"])
        t.close()
    t = tftools.Translator(model)
    threading.Timer(0.2, t.close).start()
    fails("ToolError: the translator is closed", t.translate, texts)
    fails("ToolError: the translator is closed", t.translate, ["a"])
    t.close()
    t = tftools.Translator(model)
    pid = os.fork()
    if pid == 0:
        try:
            fails("ToolError: the translator was made before a fork", t.translate, ["a"])
            t.close()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert str(t.translate(["c"])[0]) == "c"
    assert len(list(pids(t))) == 4
    child, them = t._pipe._child, list(pids(t))
    del t
    gc.collect()
    assert child.returncode is not None and threading.active_count() == 1
    while any(os.path.exists(f"/proc/{pid}") for pid, _ in them):
        time.sleep(0.01)


def interrupt(model):
    """Ctrl-C is Python's alone: the pipeline lives on."""
    t = tftools.Translator(model)
    threading.Timer(0.2, os.killpg, (os.getpgrp(), signal.SIGINT)).start()
    try:
        t.translate(["a b c"] * 200000)
        raise AssertionError("not interrupted")
    except KeyboardInterrupt:
        pass
    assert str(t.translate(["c"])[0]) == "c"
    while not t._pipe._todo.empty():  # soon: what nobody waits for is not sent
        time.sleep(0.01)
    assert not t._pipe._jobs
    t.close()
    with tftools.Translator(model) as t:
        threading.Timer(0.1, os.killpg, (os.getpgrp(), signal.SIGINT)).start()
        try:
            time.sleep(5)
        except KeyboardInterrupt:
            pass
        assert str(t.translate(["b"])[0]) == "b"


def scores(model, source, want):
    with open(source) as f, open(want) as g:
        texts, logp = f.read().split("\n")[:-1], [float(x) for x in g]
    got = tftools.score(model, [(x, x) for x in texts])
    assert len(got) == len(logp) and all(abs(x - y) < 1e-4 for x, y in zip(got, logp))
    bad, feed, plain = tftools.score(model, [("a", "\ud800"), ("a\nb", "c"), ("a b", "c")])
    assert math.isnan(bad) and feed == plain < 0
    assert tftools.score(model, []) == []
    assert tftools.score(model, zip(["a"], ["c"])) == tftools.score(model, [("a", "c")])
    fails("TypeError: pairs[0]: not a list of texts but str", tftools.score, model, ["ab"])
    fails("TypeError: pairs[1]: not a source and a target", tftools.score, model, [("a", "b"), ["a"]])
    fails("ToolError: tf-tokenize: none.tfm: ", tftools.score, "none.tfm", [("a", "b")])


def bleu(_=None):
    """The scores are those of corpus_bleu of sacreBLEU 2.6."""
    h = ["the cat sat on a mat \r there", "a\tdog \x85 ran far away\u2028now ok", "", "x\n\x1f gz"]
    r = ["the cat sat on the mat there", "a dog ran\tfar away now ok", "x y", "x \x1f gz"]
    got = tftools.bleu(h, r, width=4)
    assert got["score"] == 67.735 and got["signature"].startswith("nrefs:1|case:mixed|"), got
    assert tftools.bleu(h, [r, h[:2] + r[2:]], width=4)["score"] == 88.2497
    assert tftools.bleu(h, r, width=4, tokenize="char", lowercase=True)["score"] == 84.4949
    fails("ValueError: references: 2 texts, 4 hypotheses", tftools.bleu, h, r[:2])
    fails("ValueError: references[1]: 3 texts, 4 hypotheses", tftools.bleu, h, [r, r[1:]])
    fails("ValueError: references: 0 texts, 4 hypotheses", tftools.bleu, h, [])
    fails("ValueError: hypotheses: no texts", tftools.bleu, [], [])
    fails("TypeError: hypotheses: not a list of texts but str", tftools.bleu, "a b", r)
    fails("TypeError: references: not a list of texts but str", tftools.bleu, h, "a b")


def parts(path):
    """The parts of a stream, as lists."""
    from tftools.streams import read_stream
    out = []
    for header, record in read_stream(path):
        if not out or out[-1][0] is not header:
            out.append((header, []))
        out[-1][1].append(record)
    return out


def vectors(_, *paths):
    """Each is read as its JSON says, and written to the same bytes."""
    import io
    import json
    import numpy
    from tftools.modelfile import read_model, write_model
    from tftools.streams import Hash, read_stream, write_stream

    def plain(x):
        return (x.hex() if isinstance(x, Hash) else x.item() if isinstance(x, numpy.float32)
                else x.tolist() if isinstance(x, numpy.ndarray) else x)

    def near(a, b):
        return numpy.allclose(plain(a), b, rtol=1e-6)
    seen = set()
    for path in paths:
        if path.endswith("error.cbor"):
            fails("StreamError: " + path + ": upstream failed: tf-example: no space left", list,
                  read_stream(path))
            continue
        with open(path, "rb") as f, open(path[:-5] + ".jsonl") as g:
            data, lines = f.read(), [json.loads(x) for x in g]
        out = io.BytesIO()
        if lines[0]["header"]["kind"] in ("model", "checkpoint"):
            model = read_model(path)
            write_model(out, model)
            assert out.getvalue() == data
            for x in lines:
                if x["type"] == "tensor":
                    got = model.tensors[x["name"]]
                    assert list(got.shape) == x["dims"] and near(got.reshape(-1), x["data"])
                    seen.add(x["dtype"])
            continue
        for header, records in parts(path):
            write_stream(out, header, records)
        # Two have a check where their writer paused, which the count and CRC at the end have not.
        end = out.getvalue() == data or path.endswith(("parts.cbor", "tokens.cbor"))
        assert end and out.getvalue()[-8:] == data[-8:], path
        records = [r for _, rs in parts(path) for r in rs]
        lines = [x for x in lines if x["type"] not in ("header", "check", "end")]
        for r, x in zip(records, lines):
            seen.add(x["type"])
            if x["type"] == "tokens":
                assert plain(r[2]) == x["ids"] and r[1] == x["idx"]
            elif x["type"] == "pair":
                assert [plain(r[2]), plain(r[3])] == [x["src"], x["tgt"]]
            elif x["type"] == "batch":
                b = r[2]
                assert [plain(b["src"][i:k]) for i, k in zip(b["src_off"], b["src_off"][1:])
                        ] == x["src"] and plain(b["idx"]) == x["idx"]
                assert plain(b.get("corpus")) == x.get("corpus")
            elif x["type"] == "nbest":
                assert [plain(h[0]) for h in r[2]] == [h["ids"] for h in x["hyps"]]
                assert all(near(h[1], k["score"]) for h, k in zip(r[2], x["hyps"]))
            elif x["type"] == "attention":
                assert near(r[7], x["weights"]) and r[5] == x["rows"]
            elif x["type"] == "score":
                assert near(r[2], x["logp"])
        assert len(records) == len(lines)
    assert seen >= set("tokens pair batch nbest attention score f32 bf16 i8".split()), seen


def damage(_, *paths):
    """Every beginning of a stream is an error, and so is every byte that changes."""
    import io
    from tftools.streams import StreamError, read_stream
    for path in paths:
        with open(path, "rb") as f:
            data = f.read()
        whole, read = len(list(read_stream(path))), 0
        for n in range(len(data)):
            flipped = bytearray(data)
            flipped[n] ^= 1 << n % 8
            for bad in data[:n], bytes(flipped):
                try:
                    got = len(list(read_stream(io.BytesIO(bad))))
                except StreamError as e:
                    # In our words, and where.
                    assert re.match("stream: (malformed .* at byte [0-9]+: |truncated after record "
                                    "|damaged before record |record [0-9]+ is damaged$|[0-9]+ records,"
                                    "|no (header|kind)|not a stream$|a header|upstream failed: )",
                                    str(e)) and not re.search("Error|object|cbor", str(e)), e
                    continue
                # Parts that end where it was cut are whole.
                assert bad == data[:n] and got < whole, (path, n)
                read += 1
        assert read == ("parts" in path), (path, read)


def write(model):
    """Files for other tools: a stream of more than a check, pairs, a model that was changed."""
    import numpy
    from tftools.modelfile import read_model, write_model
    from tftools.streams import write_stream
    rng = numpy.random.default_rng(1)
    write_stream("long.tfs", {"kind": "tokens", "size": 1000}, (
        [1, i, rng.integers(4, 1000, 300, numpy.uint16)] for i in range(5000)))
    write_stream("pairs.tfs", {"kind": "pairs"}, [
        [2, 0, [5, 6], numpy.array([7], numpy.int64).astype("u4")], [9, 1, 15, "none"]])
    m = read_model(model)
    assert repr(m) == f"<ModelFile {m.header['kind']}, {len(m.tensors)} tensors>", repr(m)[:99]
    write_model("same.tfm", m)
    m.tensors = {k: (v * numpy.float32(1.5) if k.endswith("norm.g") else v)
                 for k, v in m.tensors.items()}
    write_model("changed.tfm", m)
    m.bf16 = [k for k, v in m.tensors.items() if v.ndim == 2]
    write_model("halves.tfm", m)
    fails("TypeError: streams have no arrays of", write_stream, "none.tfs", {"kind": "tokens"},
          [[1, 0, numpy.array(["a"])]])
    m.tensors["p/embed"] *= numpy.float32("nan")
    fails("ValueError: p/embed: has a value that is not finite", write_model, "none.tfm", m)
    assert not [x for x in os.listdir() if "none" in x]


def same(_, *paths):
    """A model is written to the bytes that it was read from."""
    from tftools.modelfile import read_model, write_model
    for path in paths:
        write_model("again", read_model(path))
        with open(path, "rb") as f, open("again", "rb") as g:
            assert f.read() == g.read(), path


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
