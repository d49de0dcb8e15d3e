"""tf-tools in Python: python/README.md describes the package."""
from .metrics import bleu, score
from .tools import ToolError
from .translator import Alignment, Translation, Translator

__all__ = ["Alignment", "ToolError", "Translation", "Translator", "bleu", "score"]
