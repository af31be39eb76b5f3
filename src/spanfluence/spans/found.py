"""What every finder gives, `Found`, and the one verb they share, `Finder.find`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from spanfluence.units import Example, Span, character_edges

Terms = Sequence[Span | None]
"""Where each example's context (its aspect term) stands in its text; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Found:
    """A span that a finder proposes.

    `score` ranks the spans of one example, the best first; `way` says how the span came about where a
    finder has several ways, e.g. "reader" or "heuristic".
    """

    span: Span
    score: float
    finder: str
    way: str


class Finder(ABC):
    """Proposes spans of examples. It never changes an example, and never looks at its label."""

    name: ClassVar[str]
    needs_context: ClassVar[bool] = False

    @abstractmethod
    def find(
        self,
        examples: Sequence[Example],
        terms: Terms | None = None,
        *,
        advance: Callable[[int], None] = lambda done: None,
    ) -> list[list[Found]]:
        """The spans of each example, best first; an empty list where nothing was found.

        `terms` says where the contexts stand in the texts; without it they are searched for.
        `advance` is called with the number of examples just done.
        """

    @property
    def settings(self) -> dict[str, object]:
        """The choices behind the spans, as they stand in results."""
        return {"finder": self.name}


class Segmenter(Finder):
    """A finder that only looks at the text: all its spans have the score 1, in reading order."""

    @abstractmethod
    def cuts(self, text: str) -> Iterable[tuple[int, int]]:
        """Character ranges of one text; edges are cleaned afterwards."""

    def find(
        self,
        examples: Sequence[Example],
        terms: Terms | None = None,
        *,
        advance: Callable[[int], None] = lambda done: None,
    ) -> list[list[Found]]:
        """All pieces of each text; a text that several examples share is cut once."""
        known: dict[str, list[Found]] = {}
        for example in examples:
            if example.text not in known:
                whole = (0, len(example.text))  # of a text without any word
                spans = clean_spans(example.text, self.cuts(example.text))
                spans = spans or clean_spans(example.text, [whole])
                known[example.text] = [Found(s, 1.0, self.name, self.name) for s in spans]
            advance(1)
        return [list(known[example.text]) for example in examples]


@runtime_checkable
class Importance(Protocol):
    """What a finder may ask of a classifier: imp of spans, and which spans it can see."""

    def importance(
        self,
        example: Example,
        spans: Sequence[Span],
        *,
        label: Literal["predicted", "given"] = "predicted",
    ) -> Any:
        """imp per span."""
        ...

    def visible_spans(self, example: Example, spans: Sequence[Span]) -> list[Span]:
        """Those spans that touch a token the classifier reads."""
        ...


def clean_spans(text: str, cuts: Iterable[tuple[int, int]]) -> list[Span]:
    """Ranges as spans: white space trimmed, whole visible characters, none empty, none twice."""
    edges: list[int] | None = None
    spans: dict[Span, None] = {}
    for start, end in cuts:
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end -= len(piece) - len(piece.rstrip())
        if start >= end:
            continue
        if not text.isascii():
            edges = edges or sorted(character_edges(text))
            start = edges[bisect_right(edges, start) - 1]
            end = edges[bisect_left(edges, end)]
        spans[Span(start, end)] = None
    return list(spans)
