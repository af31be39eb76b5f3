"""Which words in which training examples taught the model to say this?

The public names are loaded on first use, so that `import spanfluence` and `spanfluence --help` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spanfluence.curvature.cg import Cg
    from spanfluence.curvature.ekfac import Ekfac
    from spanfluence.curvature.ggn import Ggn
    from spanfluence.curvature.lissa import Lissa
    from spanfluence.data import load_examples
    from spanfluence.errors import SpanfluenceError
    from spanfluence.explain import Explainer
    from spanfluence.explanation import Explanation
    from spanfluence.methods import METHODS, Method
    from spanfluence.model import TextClassifier
    from spanfluence.points import DeltaFaithful, ModelPoint
    from spanfluence.together import scores_together
    from spanfluence.train import train_classifier
    from spanfluence.units import Example, Span, Unit

__version__ = "0.1.0"

_HOMES = {
    "METHODS": "methods",
    "Cg": "curvature.cg",
    "DeltaFaithful": "points",
    "Example": "units",
    "Ekfac": "curvature.ekfac",
    "Explainer": "explain",
    "Explanation": "explanation",
    "Ggn": "curvature.ggn",
    "Lissa": "curvature.lissa",
    "Method": "methods",
    "ModelPoint": "points",
    "Span": "units",
    "SpanfluenceError": "errors",
    "TextClassifier": "model",
    "Unit": "units",
    "load_examples": "data",
    "scores_together": "together",
    "train_classifier": "train",
}

__all__ = [
    "METHODS",
    "Cg",
    "DeltaFaithful",
    "Ekfac",
    "Example",
    "Explainer",
    "Explanation",
    "Ggn",
    "Lissa",
    "Method",
    "ModelPoint",
    "Span",
    "SpanfluenceError",
    "TextClassifier",
    "Unit",
    "load_examples",
    "scores_together",
    "train_classifier",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spanfluence' has no attribute {name!r}")
    return getattr(import_module(f"spanfluence.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
