"""A text cut at the edges of its highlighted spans, and shortened around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from spanfluence.errors import InputError

ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of text under the same spans: `spans` are their positions in the list that was cut by.

    `opens` and `closes` count the spans that begin at its first and end at its last character, so
    that marks can be written even where spans touch or overlap.
    """

    text: str
    spans: tuple[int, ...] = ()
    opens: int = 0
    closes: int = 0


def cut(text: str, spans: Sequence[Sequence[int]]) -> list[Segment]:
    """Consecutive segments that join to `text`, a new one wherever a span begins or ends.

    Spans are pairs of character offsets in any order; they may overlap, touch or repeat.
    """
    pairs = [_checked(span, len(text)) for span in spans]
    edges = sorted({0, len(text), *(edge for pair in pairs for edge in pair)})
    return [
        Segment(
            text=text[start:end],
            spans=tuple(i for i, (s, e) in enumerate(pairs) if s <= start and end <= e),
            opens=sum(s == start for s, _ in pairs),
            closes=sum(e == end for _, e in pairs),
        )
        for start, end in pairwise(edges)
    ]


def _checked(span: Sequence[int], length: int) -> tuple[int, int]:
    start, end = span
    if not 0 <= start < end <= length:
        raise InputError(
            f"span [{start}, {end}) does not lie in a text of {length} characters: "
            "check that the explanation's spans belong to its texts"
        )
    return start, end


def elide(segments: Sequence[Segment], budget: int) -> list[Segment]:
    """The segments with text outside spans shortened until all fit `budget` characters.

    Highlighted text is never shortened, so the result is longer than the budget where the spans
    alone are; text without any span keeps its head. Cuts fall between words where there are words.
    """
    if sum(len(segment.text) for segment in segments) <= budget:
        return list(segments)
    gaps = [i for i, segment in enumerate(segments) if not segment.spans]
    room = budget - sum(len(segment.text) for segment in segments if segment.spans)
    allowed = _shares([len(segments[i].text) for i in gaps], max(0, room))
    shortened = dict(zip(gaps, allowed, strict=True))
    last = len(segments) - 1
    return [
        replace(segment, text=_shorten(segment.text, shortened[i], after=i > 0, before=i < last))
        if i in shortened
        else segment
        for i, segment in enumerate(segments)
    ]


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """Divide `room` evenly; what a short gap does not need goes to the longer ones."""
    shares = [0] * len(lengths)
    by_length = sorted(range(len(lengths)), key=lambda i: lengths[i])
    for position, i in enumerate(by_length):
        shares[i] = min(lengths[i], room // (len(by_length) - position))
        room -= shares[i]
    return shares


def _shorten(text: str, room: int, *, after: bool, before: bool) -> str:
    """About `room` characters of a gap, those nearest to the span it comes `after` or `before`."""
    if len(text) <= room:
        return text
    room = max(0, room - len(ELLIPSIS))
    if after and before:
        return _first_words(text, room // 2) + ELLIPSIS + _last_words(text, room // 2)
    if before:
        return ELLIPSIS + _last_words(text, room)
    return _first_words(text, room) + ELLIPSIS


def _first_words(text: str, room: int) -> str:
    """The beginning of `text` within `room`, up to and with its last blank if it has one."""
    kept = text[:room]
    blank = max((i for i, character in enumerate(kept) if character.isspace()), default=-1)
    return kept[: blank + 1] or kept


def _last_words(text: str, room: int) -> str:
    return _first_words(text[::-1], room)[::-1]
