"""Where an example's context, its aspect term, stands in its text."""

from __future__ import annotations

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


def known_terms(examples: list[Example], terms: Terms | None) -> list[Span | None]:
    """The given places, checked; where none is given the first place of the context in the text."""
    if terms is None:
        terms = [None] * len(examples)
    if len(terms) != len(examples):
        raise InputError(
            f"{len(terms)} terms for {len(examples)} examples: give one (or None) each"
        )
    placed: list[Span | None] = []
    for example, term in zip(examples, terms, strict=True):
        if term is not None:
            term.check_inside(example.text)
        elif example.context is not None:
            term = next(iter(term_places(example.text, example.context)), None)
        placed.append(term)
    return placed


def check_contexts(examples: list[Example], finder: str) -> None:
    """Raise for the first example without a context."""
    for example in examples:
        if example.context is None or not example.context.strip():
            raise InputError(
                f"example {example.id!r} has no context, and the finder {finder!r} looks for words about "
                "it: give every example a context (its aspect), or use the finder 'clauses'"
            )
