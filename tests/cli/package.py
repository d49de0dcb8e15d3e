"""The Python package, for package.bats: package.py FUNCTION MODEL ARGUMENTS..."""
import gc
import math
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.environ.get("TF_PACKAGE", os.path.join(os.environ["TOP"], "python")))
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
        assert all(x.reason is None and x.alternatives == [] and x.alignment is None for x in got)
        assert all(x.score < 0 for x, text in zip(got, texts) if text)
        assert t.translate([]) == []
        fails("TypeError: translate() takes a list", t.translate, "a b c")


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
    fails("ToolError: tf-tokenize: none.tfm: ", tftools.score, "none.tfm", [("a", "b")])


def bleu(_):
    """The scores are those of corpus_bleu of sacreBLEU 2.6."""
    h = ["the cat sat on a mat \r there", "a\tdog \x85 ran far away\u2028now ok", "", "x\n\x1f gz"]
    r = ["the cat sat on the mat there", "a dog ran\tfar away now ok", "x y", "x \x1f gz"]
    got = tftools.bleu(h, r, width=4)
    assert got["score"] == 67.735 and got["signature"].startswith("nrefs:1|case:mixed|"), got
    assert tftools.bleu(h, [r, h[:2] + r[2:]], width=4)["score"] == 88.2497
    assert tftools.bleu(h, r, width=4, tokenize="char", lowercase=True)["score"] == 84.4949
    fails("ToolError: tf-bleu: ", tftools.bleu, h, r[:2])
    fails("ToolError: tf-bleu: ", tftools.bleu, h, [])


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
