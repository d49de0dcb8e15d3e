"""tf-tools in Python: a translator that is kept open, scores, BLEU; streams and models as arrays.

    with tftools.Translator("model.tfm", beam=4, nbest=2) as translator:
        for t in translator.translate(["The cat sleeps.", "Hello world."]):
            print(t.text, t.score, [a.text for a in t.alternatives])
    tftools.score("model.tfm", [("Hello world.", "Hallo Welt.")])
    tftools.bleu(["a hypothesis"], ["a reference"])["score"]

Streams and models as arrays of numpy are in tftools.streams and tftools.modelfile. The whole guide
is the description of the package: importlib.metadata.metadata("tftools").get_payload().
"""
from typing import TYPE_CHECKING

from . import tools
from .metrics import Bleu, bleu, score
from .tools import ToolError
from .translator import Alignment, Translation, Translator

__all__ = ["Alignment", "Bleu", "ToolError", "Translation", "Translator", "bleu", "score"]

if TYPE_CHECKING:
    __version__: str
else:
    def __getattr__(name):
        """__version__: that of the tools that are used."""
        if name == "__version__":
            return tools.run(["tf-bleu", "--version"]).decode().split()[-1]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
