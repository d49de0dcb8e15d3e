"""Scores of given translations: by a model, and by BLEU."""
import json
import math
import tempfile
from pathlib import Path
from typing import Dict, List, Sequence, Tuple, Union

from .tools import Model, Option, line, models, run, words


def score(model: Model, pairs: Sequence[Tuple[str, str]], **options: Option) -> List[float]:
    """The natural logarithm of the probability of each target, given its source; NaN for a pair
    that cannot be scored. Options are those of tf-score(1)."""
    first = models(model)[0]
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
         **options: Option) -> Dict[str, Union[str, float]]:
    """BLEU of a text, as sacreBLEU's JSON: score, signature, verbose_score and more.

    References are a list of texts, or several such lists. Options are those of tf-bleu(1).
    """
    several = [references] if all(isinstance(x, str) for x in references) else references
    given = words(options, ("input", "metrics", "sentence-level", "stats", "format", "score-only",
                            "help", "version"))
    with tempfile.TemporaryDirectory() as temp:
        paths = [Path(temp, str(i)) for i in range(len(several) + 1)]
        for path, texts in zip(paths, [hypotheses, *several]):
            path.write_bytes(b"".join(line(text.replace("\r", " ")) for text in texts))
        out = run(["tf-bleu", *map(str, paths[1:]), "--input", str(paths[0]), *given])
    result: Dict[str, Union[str, float]] = json.loads(out)
    return result
