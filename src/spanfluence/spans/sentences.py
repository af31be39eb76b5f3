"""Finder `sentences`: sentence boundaries by pysbd, with exact offsets."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from spanfluence.errors import InputError
from spanfluence.spans.found import Segmenter

LONGEST = 2000
"""Characters pysbd gets at once: its rules take time that grows faster than the text."""


class Sentences(Segmenter):
    """Every sentence. `language` is a two-letter code that pysbd knows."""

    name = "sentences"

    def __init__(self, language: str = "en") -> None:
        check_language(language)
        self.language = language

    @property
    def settings(self) -> dict[str, object]:
        """The language beside the name."""
        return {"finder": self.name, "language": self.language}

    def cuts(self, text: str) -> list[tuple[int, int]]:
        """Neighbouring ranges that cover the text."""
        return sentence_ranges(text, self.language)


def sentence_ranges(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Where the sentences of a text stand; together they cover it."""
    ranges: list[tuple[int, int]] = []
    for start, end in _blocks(text):
        ranges += _aligned(text, start, end, _sentences(text[start:end], language))
    return ranges or [(0, len(text))]


def _blocks(text: str) -> list[tuple[int, int]]:
    """The text in pieces of bounded length, cut at a line's end or a blank where there is one."""
    blocks, start = [], 0
    while start < len(text):
        end = min(start + LONGEST, len(text))
        if end < len(text):
            floor = start + LONGEST // 2
            for mark in ("\n", ". ", " "):
                place = text.rfind(mark, floor, end)
                if place > 0:
                    end = place + len(mark)
                    break
        blocks.append((start, end))
        start = end
    return blocks


def _aligned(text: str, start: int, end: int, sentences: list[str]) -> list[tuple[int, int]]:
    """Each sentence from where the one before it ended.

    pysbd's own offsets go astray where a sentence repeats or a rule rewrote it, so sentences are looked
    up in reading order; one that cannot be found belongs to its neighbour.
    """
    starts = []
    cursor = start
    for sentence in sentences:
        piece = sentence.strip()
        place = text.find(piece, cursor, end) if piece else -1
        if place >= 0:
            starts.append(place)
            cursor = place + len(piece)
    if not starts:
        return [(start, end)]
    starts[0] = start
    return list(zip(starts, [*starts[1:], end], strict=True))


def check_language(language: str) -> None:
    """Raise for a language that pysbd does not know."""
    _segmenter(language)


def _sentences(text: str, language: str) -> list[str]:
    segmenter = _segmenter(language)
    try:
        return list(segmenter.segment(text))
    except (
        Exception
    ):  # its rules are regular expressions written for prose: any text may upset them
        return [text]


@lru_cache(maxsize=4)
def _segmenter(language: str) -> Any:
    import pysbd
    from pysbd.languages import LANGUAGE_CODES

    if language not in LANGUAGE_CODES:
        known = ", ".join(sorted(LANGUAGE_CODES))
        raise InputError(f"pysbd has no rules for language {language!r}: use one of {known}")
    return pysbd.Segmenter(language=language, clean=False)
