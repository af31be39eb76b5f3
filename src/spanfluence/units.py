"""What is explained and what explains: `Example`, `Span`, `Unit`. Frozen, validated, no torch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from operator import index
from typing import SupportsIndex

import regex

from spanfluence.errors import InputError


@dataclass(frozen=True, order=True, slots=True)
class Span:
    """Characters `start` up to, not including, `end` of an example's text."""

    start: int
    end: int

    def __post_init__(self) -> None:
        for name, value in (("start", self.start), ("end", self.end)):
            object.__setattr__(self, name, _offset(name, value))
        if self.start < 0:
            raise InputError(f"span start {self.start} is negative: offsets count from 0")
        if self.end <= self.start:
            raise InputError(
                f"span [{self.start}, {self.end}) is empty: its end must be larger than its start"
            )

    @classmethod
    def coerce(cls, value: object) -> Span:
        """A Span from a Span or a pair of whole numbers."""
        if isinstance(value, Span):
            return value
        if isinstance(value, Iterable) and not isinstance(value, str | bytes):
            pair = list(value)
            if len(pair) == 2:
                return cls(*pair)
        raise InputError(f"a span is a pair [start, end] of character offsets, got {value!r}")

    def check_inside(self, text: str) -> None:
        """Raise unless the span lies in `text` and cuts no visible character in two."""
        if self.end > len(text):
            raise InputError(
                f"span [{self.start}, {self.end}) reaches outside the text of {len(text)} characters"
            )
        edges = character_edges(text)
        cut = [offset for offset in (self.start, self.end) if offset not in edges]
        if cut:
            where = min(cut)
            raise InputError(
                f"span [{self.start}, {self.end}) cuts a character in two at offset {where} "
                f"(between {text[where - 1]!r} and {text[where]!r}): move that end to the character's edge"
            )


def _offset(name: str, value: object) -> int:
    """A plain whole number; those of numpy, as finders and data frames give them, are taken too."""
    if type(value) is int:
        return value
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        try:
            return index(value)
        except TypeError:  # an array of several, or numpy's true and false
            pass
    raise InputError(f"span {name} must be a whole number, got {value!r}")


@lru_cache(maxsize=16)  # the spans of one text are checked one after the other
def character_edges(text: str) -> range | frozenset[int]:
    """Offsets at which a visible character (grapheme cluster) begins, and the end of the text."""
    if text.isascii():  # only "\r\n" is a cluster in ASCII, and cutting there harms nobody
        return range(len(text) + 1)
    return frozenset(match.start() for match in regex.finditer(r"\X", text)) | {len(text)}


@dataclass(frozen=True, slots=True)
class Example:
    """One text with what is known of it.

    `context` is the first segment of a pair, e.g. the aspect a label speaks of, and a blank one is none;
    `spans` always point into `text`. `label` is a name, or a class index.
    """

    text: str
    label: str | int | None = None
    context: str | None = None
    spans: tuple[Span, ...] = ()
    id: str | None = None

    def __post_init__(self) -> None:
        where = f"example {self.id!r}: " if self.id is not None else ""
        if not isinstance(self.text, str):
            raise InputError(f"{where}text must be a string, got {type(self.text).__name__}")
        if not self.text.strip():
            raise InputError(f"{where}text is empty: remove the row or give it a text")
        if isinstance(self.label, bool) or not isinstance(self.label, str | int | None):
            raise InputError(f"{where}label must be a name or a whole number, got {self.label!r}")
        if not isinstance(self.context, str | None):
            raise InputError(f"{where}context must be a string, got {self.context!r}")
        if self.context is not None and not self.context.strip():
            object.__setattr__(self, "context", None)
        try:
            spans = tuple(Span.coerce(span) for span in self.spans)
            for span in spans:
                span.check_inside(self.text)
        except InputError as error:
            raise InputError(f"{where}{error}") from None
        object.__setattr__(self, "spans", spans)
        if self.id is not None and not isinstance(self.id, str):
            object.__setattr__(self, "id", str(self.id))

    @property
    def title(self) -> str:
        """What to call the example in a message: its id and first words."""
        return f"example {self.id!r} ({self.text[:40]!r})"


@dataclass(frozen=True, slots=True)
class Unit:
    """What is scored: spans of an example, or with `spans=()` its whole text."""

    example: Example
    spans: tuple[Span, ...] = field(default=())

    @property
    def text(self) -> str:
        """The words of the unit; several spans are joined by an ellipsis."""
        if not self.spans:
            return self.example.text
        return " … ".join(self.example.text[span.start : span.end] for span in self.spans)


def listed(examples: Iterable[Example], what: str) -> list[Example]:
    """The examples as a list; raises where they are something else."""
    one = isinstance(examples, Example | str)  # what is easily given instead of a list
    found: list[object] = [examples] if one else list(examples)
    odd = found if one else [each for each in found if not isinstance(each, Example)]
    if odd:
        raise InputError(
            f"{what} must be a list of examples, not {odd[0]!r:.60}: give [Example(text), ...] or load_examples(FILE)"
        )
    return [each for each in found if isinstance(each, Example)]


def units_of(examples: Iterable[Example], kind: str) -> list[Unit]:
    """One unit per span; an example without spans, or any under kind "instance", is one whole unit."""
    units: list[Unit] = []
    for example in examples:
        if kind == "span" and example.spans:
            units.extend(Unit(example, (span,)) for span in example.spans)
        else:
            units.append(Unit(example))
    return units


def locate_span(text: str, wanted: str) -> Span:
    """A span named by its words, which must occur exactly once in `text`, or as 'START:END'."""
    if regex.fullmatch(r"\d+:\d+", wanted) and wanted not in text:
        start, end = wanted.split(":")
        span = Span(int(start), int(end))
        span.check_inside(text)
        return span
    found = len(regex.findall(regex.escape(wanted), text, overlapped=True)) if wanted else 0
    if found != 1:
        how = "does not occur in" if found == 0 else f"occurs {found} times in"
        raise InputError(
            f"span {wanted!r} {how} the text: name other words, or its offsets as START:END"
        )
    span = Span(text.index(wanted), text.index(wanted) + len(wanted))
    span.check_inside(text)
    return span
