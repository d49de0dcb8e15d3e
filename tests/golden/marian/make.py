#!/usr/bin/env python3
"""Models that Marian trains (8 updates), and what it computes with them.

    make.py DIR [NAME...]      NAME.npz and NAME.scores in DIR, for each variant or for those named;
                               of -g NAME.bin, and the scores before the conversion
    make.py score FILE VOCAB TARGET_VOCAB     print Marian's scores of this directory's pairs
    make.py golden             this directory's own files
    make.py alignments         of them, the alignments of pairs
    make.py cut                of tied-src, whose outputs do not end, what a beam of 12 finds within
                               the lengths of the first 40 lines: tied-src.cut
    make.py shortlists         searches with the lists NAME.lex: NAME.short

Text and vocabularies are in this directory: `vocab.spm` of both languages, `en.spm` and `de.spm` of
one each, all of 32 pieces; variants whose names begin with "two" have the latter. NAME.scores has
the log-probability of each of the first 20 pairs, NAME.links what `--alignment hard` prints for
them, and NAME.weights what `--alignment soft` prints for the first. NAME.short has the
translation of each of the first 12 lines with `--shortlist NAME.lex 4 3 0.15`, one line at a time,
and its log-probability, by a model of tests/cli/marian.py. Needs the package pymarian
(written with 1.12.42)."""
import gzip
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SSRU = "--transformer-decoder-autoreg rnn --dec-cell ssru "
BEFORE = "--transformer-preprocess n --transformer-postprocess da "
# Marian quantises matrices whose sides are multiples of 16.
INTGEMM = "--dim-emb 16 --transformer-dim-ffn 16 --enc-depth 1 --dec-depth 1 -g intgemm8"
TOP = "--transformer-postprocess-top n "
ALL = "--tied-embeddings-all "

# What the reader has to have: options, and the vocabularies where they are two. -g converts.
VARIANTS = {
    "default": ALL,
    "relu": ALL + "--transformer-ffn-activation relu --output-omit-bias --transformer-postprocess an",
    "top": ALL + TOP,
    "before": ALL + BEFORE + TOP,
    "before-no-top": ALL + BEFORE,
    "before-a": ALL + "--transformer-preprocess n --transformer-postprocess a " + TOP,
    "ssru": ALL + SSRU,
    "ssru-top": ALL + SSRU + TOP,
    "ssru-before": ALL + SSRU + BEFORE + TOP,
    "ssru-before-no-top": ALL + SSRU + BEFORE,
    "tied-layers": ALL + "--transformer-tied-layers 2 1",
    "tied-layers-3": ALL + "--dec-depth 3 --transformer-tied-layers 1 1 2",
    "tied-layers-ssru": ALL + SSRU + BEFORE + TOP + "--transformer-tied-layers 1 1",
    "depths": ALL + "--enc-depth 1 --dec-depth 3 --transformer-postprocess-emb d",
    "no-emb": ALL + "--transformer-postprocess-emb ''",
    "heads": ALL + "--transformer-heads 1 --transformer-depth-scaling",
    "untied": "",
    "tied": "--tied-embeddings",
    "tied-src": "--tied-embeddings-src",
    "ff": ALL + "--transformer-decoder-dim-ffn 4",
    "ff-more": ALL + SSRU + "--transformer-decoder-dim-ffn 9",
    "two": "--tied-embeddings en.spm de.spm",
    "two-untied": SSRU + "en.spm de.spm",
    "bin": ALL + "-g float32",
    "intgemm8": ALL + SSRU + INTGEMM,
    "two-intgemm8-tied": "--tied-embeddings en.spm de.spm " + INTGEMM,
    "two-intgemm8": "en.spm de.spm " + INTGEMM,
    "intgemm8-src": "--tied-embeddings-src " + INTGEMM,
}
SIZES = {"--dim-emb": "4", "--enc-depth": "2", "--dec-depth": "2", "--transformer-heads": "2",
         "--transformer-dim-ffn": "6", "--after-batches": "8", "--learn-rate": "0.05"}
GOLDEN = ["relu", "before", "before-no-top", "ssru", "ssru-before", "tied-layers", "tied-src", "ff",
          "two", "two-intgemm8"]
ALIGNED = ["before", "ssru", "two"]
LISTED = {"one": ("tied-embeddings-all=true", "vocab.spm", "vocab.spm"), "both": ("tied=none", "en.spm", "de.spm")}


def marian(command, *args, text=None):
    code = "import sys, _pymarian; sys.exit(_pymarian.main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, command, *args], input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "Error" in line] or [done.stderr]
        sys.exit(f"marian {command} {' '.join(args)}: {errors[0][:500]}")
    return done.stdout


def text():
    """Pairs of lines that can be told apart."""
    rng = random.Random(4)
    en = "the a dog cat bird sees hears finds old young red house tree and in".split()
    de = "der ein Hund Katze Vogel sieht findet alt jung rot Haus Baum und in schnell".split()
    return [[" ".join(rng.choice(words) for _ in range(rng.randrange(1, 9))) for _ in range(110)]
            for words in (en, de)]


def write_text():
    for name, lines in zip(("en", "de"), text()):
        with open(os.path.join(HERE, name), "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in lines)


def at(name):
    return os.path.join(HERE, name)


def train(path, options, vocabs):
    for key, value in SIZES.items():
        options = options + ([] if key in options else [key, value])
    marian("train", "--type", "transformer", "--model", path, "--train-sets", at("en"), at("de"),
           "--vocabs", *vocabs, "--dim-vocabs", "32", "32", "--seed", "7",
           "--mini-batch", "8", "--cpu-threads", "1", "--workspace", "128",
           "--overwrite", "--sentencepiece-options", "--normalization_rule_name=identity", *options)


def score(path, vocabs, *options):
    lines = marian("score", "--model", path, "--train-sets", at("en"), at("de"), "--vocabs", *vocabs,
                   "--cpu-threads", "1", "--workspace", "128", *options).splitlines(True)
    return "".join(lines[:20])


def alignments():
    for name in ALIGNED:
        vocabs = [at(v) for v in (["en.spm", "de.spm"] if name == "two" else ["vocab.spm"] * 2)]
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "m.npz")
            with gzip.open(at(name + ".npz.gz")) as f, open(path, "wb") as out:
                out.write(f.read())
            for kind, end, n in ("hard", ".links", 20), ("soft", ".weights", 1):
                lines = score(path, vocabs, "--alignment", kind).splitlines(True)[:n]
                with open(at(name + end), "w", encoding="ascii") as out:
                    out.writelines(line.split(" ||| ", 1)[1] for line in lines)


def cut():
    with open(at("en"), encoding="utf-8") as f:
        lines = "".join(f.readlines()[:40])
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "m.npz")
        with gzip.open(at("tied-src.npz.gz")) as f, open(path, "wb") as out:
            out.write(f.read())
        with open(at("tied-src.cut"), "w", encoding="utf-8") as out:
            out.write(marian("decode", "-m", path, "-v", at("vocab.spm"), at("vocab.spm"),
                             "-b", "12", "-n", "1", "--max-length-factor", "1",
                             "--cpu-threads", "1", text=lines))


def pieces(vocab):
    import sentencepiece
    sp = sentencepiece.SentencePieceProcessor(model_file=at(vocab))
    return [sp.id_to_piece(i) for i in range(sp.get_piece_size())]


def shortlists():
    """Of models with random weights, which the test makes, too: those here say little."""
    program = os.path.join(HERE, "../../cli/marian.py")
    for name, (options, *vocabs) in LISTED.items():
        rng = random.Random(name)
        source, target = (pieces(v)[2:] for v in vocabs)
        # Pairs that are there twice, equal probabilities, unknown pieces and NULL.
        lines = [f"{rng.choice(target)} {rng.choice(source)} {rng.choice([.1, .2, .2, .3, .4])}\n"
                 for _ in range(150)]
        lines[10:10] = [f"NULL {source[0]} 0.9\n", f"{target[-1]} NULL 0.9\n",
                        f"qq {source[3]} 0.8\n", f"{target[-2]} <unk> 0.7\n"]
        with open(at(name + ".lex"), "w", encoding="utf-8") as f:
            f.writelines(lines)
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "m.npz")
            subprocess.run([sys.executable, program, "make", path, "32", options], check=True)
            with open(at("en"), encoding="utf-8") as f, open(tmp + "/in", "w", encoding="utf-8") as to:
                to.writelines(f.readlines()[:12])
            marian("decode", "-m", path, "-v", *map(at, vocabs), "-i", tmp + "/in", "-o",
                   tmp + "/out", "--shortlist", at(name + ".lex"), "4", "3", "0.15", "--n-best",
                   "--beam-size", "1", "--mini-batch", "1", "--maxi-batch", "1", "--cpu-threads",
                   "1", "--workspace", "128", "--max-length-factor", "3", "--skip-cost=false")
            with open(tmp + "/out", encoding="utf-8") as f, \
                    open(at(name + ".short"), "w", encoding="utf-8") as out:
                for line in f:
                    _, words, _, score = line.rstrip("\n").split(" ||| ")
                    out.write(f"{score}\t{words}\n")


def make(directory, name):
    options, vocabs, gemm = VARIANTS[name].split(), [at("vocab.spm")] * 2, None
    options = ["" if x == "''" else x for x in options]
    if "-g" in options:
        gemm, options = options[-1], options[:-2]
    if "de.spm" in options:
        vocabs = [at(x) for x in options if x.endswith(".spm")]
        options = [x for x in options if not x.endswith(".spm")]
    path = os.path.join(directory, name + ".npz")
    scores = os.path.join(directory, name + ".scores")
    with tempfile.TemporaryDirectory() as tmp:
        trained = os.path.join(tmp, "m.npz")
        train(trained, options, vocabs)
        os.replace(trained, path)
    with open(scores, "w", encoding="ascii") as f:
        f.write(score(path, vocabs))
    if gemm is not None:  # of which Marian prints no scores
        npz, path = path, os.path.join(directory, name + ".bin")
        marian("convert", "-f", npz, "-t", path, "-g", gemm)
        os.remove(npz)
    return path


def fields(message):
    """(number, bytes of the whole field, where its value begins in them) of a protobuf message."""
    at_byte = 0

    def varint(at_byte):
        value = shift = 0
        while True:
            byte = message[at_byte]
            value |= (byte & 127) << shift
            at_byte, shift = at_byte + 1, shift + 7
            if byte < 128:
                return value, at_byte

    while at_byte < len(message):
        key, value_at = varint(at_byte)
        if key & 7 == 0:
            end = varint(value_at)[1]
        elif key & 7 == 2:
            size, value_at = varint(value_at)
            end = value_at + size
        else:
            end = value_at + {1: 8, 5: 4}[key & 7]
        yield key >> 3, message[at_byte:end], value_at - at_byte
        at_byte = end


def without_paths(model):
    """A SentencePiece model without `input` and `model_prefix` of its trainer_spec, which name the
    folders of the machine that made it."""
    out = b""
    for number, field, value_at in fields(model):
        if number == 2:
            spec = b"".join(f for n, f, _ in fields(field[value_at:]) if n > 2)
            size = bytes([len(spec) & 127 | 128, len(spec) >> 7]) if len(spec) > 127 else \
                bytes([len(spec)])
            field = b"\x12" + size + spec
        out += field
    return out


def strip(path):
    with open(path, "rb") as f:
        model = without_paths(f.read())
    with open(path, "wb") as f:
        f.write(model)


def golden():
    write_text()
    for name in "vocab.spm", "en.spm", "de.spm":
        if os.path.exists(at(name)):
            os.remove(at(name))
    with tempfile.TemporaryDirectory() as tmp:
        train(tmp + "/m.npz", VARIANTS["default"].split(), [at("vocab.spm")] * 2)
        train(tmp + "/n.npz", [], [at("en.spm"), at("de.spm")])
    for name in "vocab.spm", "en.spm", "de.spm":
        strip(at(name))
    for name in GOLDEN:
        path = make(HERE, name)
        with open(path, "rb") as f, gzip.GzipFile(path + ".gz", "wb", mtime=0) as out:
            out.write(f.read())
        os.remove(path)
    alignments()
    cut()
    shortlists()


def main():
    if sys.argv[1] == "golden":
        golden()
    elif sys.argv[1] == "alignments":
        alignments()
    elif sys.argv[1] == "cut":
        cut()
    elif sys.argv[1] == "shortlists":
        shortlists()
    elif sys.argv[1] == "score":
        print(score(sys.argv[2], sys.argv[3:5]), end="")
    else:
        for name in sys.argv[2:] or VARIANTS:
            make(sys.argv[1], name)


if __name__ == "__main__":
    main()
