"""real.py - translations of real text by trained models, against the CPU's.

prepare() makes BUILD/real/NAME.{tfm,tfs,beam1.json,beam4.json} where the CPU has time; real()
compares. A trained model is sure of most tokens, so rounding changes few lines; but in fp16 a
kernel that left out most of a sum changed few, too (1 of 60). The log-probabilities of tokens show
it: they were off by 1, and are within 1e-3 if all is well.
"""
import json
import os
import shutil
import tempfile

from .rig import Failed, Missing, must

FEW = 40  # lines that are translated one at a time
WAYS = (  # beam, options; share of lines that may differ, and how far a token's log-probability
    ("fp32", 1, "--precision fp32", 0.01, 1e-4),
    ("fp32", 4, "--precision fp32", 0.01, 1e-4),
    ("fp32, alone", 1, "--precision fp32 --batch 1", 0.03, 1e-4),
    ("fp16", 1, "--precision fp16", 0.05, 2e-2),
    ("fp16", 4, "--precision fp16", 0.05, 2e-2),
    ("fp16, alone", 4, "--precision fp16 --batch 1", 0.05, 2e-2),
)


def decode(b, model, tokens, options):
    """The best hypothesis of each line."""
    text = must(b, f"tf-decode -q -m {model} --token-scores {options} {tokens} -o real.out.tfs"
                   " && tf-cbor json real.out.tfs", timeout=120)
    records = [json.loads(x) for x in text.splitlines() if x.startswith('{"type":"nbest"')]
    return [r["hyps"][0] for r in records]


def prepare(b, name, model, tokens):
    os.makedirs(f"{b.build}/real", exist_ok=True)
    path = f"{b.build}/real/{name}"
    shutil.copy(model, path + ".tfm")
    shutil.copy(tokens, path + ".tfs")
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for beam in sorted({way[1] for way in WAYS}):
            with open(f"{path}.beam{beam}.json", "w") as f:
                json.dump(decode(b, path + ".tfm", path + ".tfs",
                                 f"--device cpu --precision fp32 --beam {beam}"), f)
        os.chdir("/")


def compare(ours, theirs):
    """How many lines differ, and how far log-probabilities of tokens do before the first that
    differs; a number that is none counts as infinitely far."""
    differ, worst = 0, 0.0
    for x, y in zip(ours, theirs):
        differ += x["ids"] != y["ids"]
        for i, (p, q) in enumerate(zip(x["token_logp"], y["token_logp"])):
            if x["ids"][:i + 1] != y["ids"][:i + 1]:
                break
            far = abs(p - q) if isinstance(p, (int, float)) else float("inf")
            worst = max(worst, far if far == far else float("inf"))
    return differ, worst


def real(b):
    directory, wrong = f"{b.build}/real", []
    names = sorted(x[:-4] for x in os.listdir(directory) if x.endswith(".tfm")) if os.path.isdir(
        directory) else []
    if not names:
        raise Missing("BUILD/real (--prepare)")
    for name in names:
        path = f"{directory}/{name}"
        must(b, f"tf-cbor head -n {FEW} {path}.tfs >few.real.tfs")
        for way, beam, options, most, close in WAYS:
            with open(f"{path}.beam{beam}.json") as f:
                theirs = json.load(f)
            tokens = path + ".tfs"
            if "alone" in way:
                tokens, theirs = "few.real.tfs", theirs[:FEW]
            ours = decode(b, path + ".tfm", tokens, f"--device cuda --beam {beam} {options}")
            if len(ours) != len(theirs):
                raise Failed(f"{name}: {len(ours)} translations in place of {len(theirs)}")
            differ, worst = compare(ours, theirs)
            b.row(f"{name}, {way}, beam {beam}", f"{len(ours) - differ} of {len(ours)}",
                  f"lines are the CPU's; log-probabilities of tokens within {worst:.1e}")
            if differ > most * len(ours) or worst > close:
                wrong.append(f"{name} in {way}, beam {beam}")
    if wrong:
        raise Failed("the CPU translates otherwise: " + "; ".join(wrong))
