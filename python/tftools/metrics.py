"""Scores of given translations: by a model, and by BLEU."""
import json
import math
import tempfile
from pathlib import Path
from typing import Iterable, List, Sequence, Tuple, TypedDict, Union

from .tools import Model, Option, line, models, run, texts, words


class Bleu(TypedDict):
    """What bleu() returns: the members of sacreBLEU's JSON, those of the signature besides."""
    name: str
    score: float
    signature: str
    verbose_score: str
    nrefs: str
    case: str
    eff: str
    tok: str
    smooth: str
    version: str


def score(model: Model, pairs: Iterable[Tuple[str, str]], **options: Option) -> List[float]:
    """The natural logarithm of the probability of each target, given its source; NaN for a pair
    that cannot be scored. Options are those of tf-score(1)."""
    first, pairs = models(model)[0], list(pairs)
    for i, pair in enumerate(pairs):
        if len(texts(f"pairs[{i}]", pair)) != 2:
            raise TypeError(f"pairs[{i}]: not a source and a target")
    given = words(options, ("output", "text", "summary", "bad", "help", "version"))
    with tempfile.TemporaryDirectory() as temp:
        sides = [f"{temp}/source.tfs", f"{temp}/target.tfs"]
        for i, path in enumerate(sides):
            run(["tf-tokenize", first, "--bad=ok", f"--output={path}", *["--target"][:i]],
                b"".join(line(pair[i]) for pair in pairs))
        scores = run(["tf-score", "--bad=ok", *given, *models(model), *sides])
    out = [math.nan] * len(pairs)
    for record in map(json.loads, run(["tf-cbor", "json"], scores).splitlines()):
        if record["type"] == "score":
            out[record["idx"]] = record["logp"]
    return out


def bleu(hypotheses: Sequence[str], references: Union[Sequence[str], Sequence[Sequence[str]]],
         **options: Option) -> Bleu:
    """BLEU of a text, as sacreBLEU's JSON: score, signature, verbose_score and more.

    References are a list of texts, or several such lists. Options are those of tf-bleu(1).
    """
    hypotheses = texts("hypotheses", hypotheses)
    if not hypotheses:
        raise ValueError("hypotheses: no texts")
    one = isinstance(references, str) or all(isinstance(x, str) for x in references)
    several = [texts("references", x) for x in ([references] if one else references)]
    for i, x in enumerate(several):
        if len(x) != len(hypotheses):
            raise ValueError(f"references{'' if one else [i]}: {len(x)} texts, "
                             f"{len(hypotheses)} hypotheses")
    given = words(options, ("input", "metrics", "sentence-level", "stats", "format", "score-only",
                            "help", "version"))
    with tempfile.TemporaryDirectory() as temp:
        paths = [Path(temp, str(i)) for i in range(len(several) + 1)]
        for path, side in zip(paths, [hypotheses, *several]):
            path.write_bytes(b"".join(line(text.replace("\r", " ")) for text in side))
        out = run(["tf-bleu", *map(str, paths[1:]), "--input", str(paths[0]), *given])
    result: Bleu = json.loads(out)
    return result
