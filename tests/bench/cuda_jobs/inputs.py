"""inputs.py - token streams with random ids, batches of them and a model. The CBOR is written by
hand, so no library is needed."""
import array
import math
import os
import random

from .rig import must


def head(major, n):
    if n < 24:
        return bytes([major << 5 | n])
    for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if n < 1 << 8 * size:
            return bytes([major << 5 | code]) + n.to_bytes(size, "big")


def lengths(b, n, seed):
    """n pairs of sentence lengths, without the end-of-sentence ids."""
    r, sigma, mean = random.Random(seed), 0.55, 4 if b.emulate else 27
    out = []
    for _ in range(n):
        source = r.lognormvariate(math.log(mean) - sigma * sigma / 2, sigma)
        source = min(150, max(2, round(source)))
        out.append((source, min(160, max(2, round(source * r.lognormvariate(0, 0.12))))))
    return out


def stream(path, vocab, sizes, seed):
    def text(s):
        return head(3, len(s)) + s.encode()

    r = random.Random(seed)
    with open(path, "wb") as f:
        f.write(head(6, 55800) + head(6, 1413894996) + head(2, 3) + b"BOR")
        f.write(head(4, 2) + head(0, 0) + head(5, 4))
        f.write(text("v") + head(0, 1) + text("kind") + text("tokens"))
        f.write(text("size") + head(0, vocab) + text("special") + head(5, 4))
        f.write(b"".join(text(k) + head(0, i) for i, k in enumerate(("pad", "unk", "bos", "eos"))))
        for i, n in enumerate(sizes):
            ids = array.array("H", r.choices(range(4, vocab), k=n)).tobytes()
            f.write(head(4, 3) + head(0, 1) + head(0, i) + head(6, 69) + head(2, len(ids)) + ids)
            if i % 1000 == 999:
                f.write(head(4, 3) + head(0, 13) + head(0, i + 1) + b"\xf6")
        f.write(head(4, 3) + head(0, 15) + head(0, len(sizes)) + b"\xf6")


def corpus(b):
    if not os.path.exists("batches.tfs"):
        sizes = lengths(b, b.sentences, 1)
        stream("src.tfs", b.vocab, [s for s, _ in sizes], 2)
        stream("tgt.tfs", b.vocab, [t for _, t in sizes], 3)
        must(b, f"tf-batch -q --tokens {b.tokens} --batches {b.steps} src.tfs tgt.tfs"
                " -o batches.tfs")


def few_batches(b):
    """few.batches.tfs: the same small batches again and again, whose updates are replayed as graphs:
    large ones are not, nor those whose shape is new."""
    if not os.path.exists("few.batches.tfs"):
        sizes = lengths(b, 10 if b.emulate else 1000, 9)
        stream("few.src.tfs", b.vocab, [s for s, _ in sizes], 2)
        stream("few.tgt.tfs", b.vocab, [t for _, t in sizes], 3)
        must(b, f"tf-batch -q --no-shuffle --tokens {60 if b.emulate else 4000} --batches 200"
                " few.src.tfs few.tgt.tfs -o few.batches.tfs")


def model(b, name="base"):
    """model.tfm: random weights, after one update."""
    if not os.path.exists("model.tfm"):
        corpus(b)
        name = "tiny" if b.emulate else name
        must(b, f"tf-train -q --preset {name} {b.shape} --steps 1 --device cuda"
                " -o one batches.tfs && tf-avgckpt -n 1 one -o model.tfm")
