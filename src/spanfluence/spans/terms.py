"""Where an example's context, its aspect term, stands in its text."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from spanfluence.errors import InputError
from spanfluence.spans.found import Terms, clean_spans
from spanfluence.units import Example, Span


def term_places(text: str, term: str) -> list[Span]:
    """Every place of the term as whole words, in any case; failing that, inside of words."""
    wanted = term.strip()
    if not wanted:
        return []
    inner = r"\s+".join(regex.escape(part) for part in wanted.split())
    for pattern in (rf"(?<!\w){inner}(?!\w)", inner):
        found = [m.span() for m in regex.finditer(pattern, text, regex.IGNORECASE)]
        if found:
            return clean_spans(text, found)
    return []


def known_terms(examples: Sequence[Example], terms: Terms | None) -> list[Span | None]:
    """The given places, checked; where none is given the first place of the context in the text."""
    check_terms(examples, terms)
    placed: list[Span | None] = []
    for example, term in zip(examples, terms or [None] * len(examples), strict=True):
        if term is None and example.context is not None:
            term = next(iter(term_places(example.text, example.context)), None)
        placed.append(term)
    return placed


def check_terms(examples: Sequence[Example], terms: Terms | None) -> None:
    """Raise for the first term that does not lie in its example's text."""
    if terms is None:
        return
    if len(terms) != len(examples):
        raise InputError(
            f"{len(terms)} terms for {len(examples)} examples: give one (or None) each"
        )
    for number, (example, term) in enumerate(zip(examples, terms, strict=True), start=1):
        try:
            if term is not None:
                term.check_inside(example.text)
        except InputError as error:
            name = str(number) if example.id is None else repr(example.id)
            raise InputError(f"correct the term of example {name}: {error}") from None


def check_contexts(examples: Sequence[Example], finder: str) -> None:
    """Raise for the first example without a context."""
    for example in examples:
        if example.context is None or not example.context.strip():
            raise InputError(
                f"example {example.id!r} has no context, and the finder {finder!r} looks for words about "
                "it: give every example a context (its aspect), or use the finder 'clauses'"
            )
