"""Finder `clauses`: a text cut at punctuation and before conjunctions, by rules alone."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from spanfluence.spans.found import Segmenter
from spanfluence.spans.words import word_ranges

# Marks that end a clause wherever they stand: sentence ends, semicolons, brackets, and their like in
# Arabic, Devanagari and Chinese or Japanese writing. A run of marks is tried once, from its first: tried
# from each of them, a run that ends nothing would take time that grows with the square of its length.
_ENDS = r"(?<![.!?])[.!?]++(?=[\s\"'”’)\]]|$)|…|[;()\[\]{}\n]|[。！？；，、：؟،؛।॥]+"
# A blank-surrounded dash, or a comma or colon that is not inside a number or a time.
_PAUSES = r"(?<=\s)[-–—]+(?=\s)|—|--+|[,:](?!\d)"
_SUBORDINATE = (
    "although|though|because|while|whereas|unless|until|which|who|where|when|after|before"
)
_COORDINATE = "but|yet|however|except|since|if|nor"
_WEAK = "and|or|plus|so|as|with"
# After these, "and" begins a clause with a subject of its own rather than a second adjective.
_SUBJECTS = (
    "the|a|an|i|we|you|he|she|it|they|this|that|these|those|there|my|our|your|his|her|its|their|"
    "everything|everyone|nothing|some|all|both|one|even|also"
)
_JOINT = regex.compile(
    rf"(?P<end>{_ENDS})|(?P<pause>{_PAUSES})"
    rf"|(?<=\s)(?P<strong>(?:{_SUBORDINATE}|{_COORDINATE}))(?=\s)"
    rf"|(?<=\s)(?P<weak>(?:{_WEAK}))(?=\s+(?:{_SUBJECTS})\s)",
    regex.IGNORECASE,
)
LEAST_WORDS = 2
"""A clause shorter than this stays with its neighbour: "nice, quiet" is one clause."""


class Clauses(Segmenter):
    """Clauses in reading order; together they cover every word of the text."""

    name = "clauses"

    def cuts(self, text: str) -> list[tuple[int, int]]:
        """Ranges without the punctuation and the conjunction at their edges."""
        return [bare_range(text, start, end) for start, end in _clauses(text)]


def _clauses(text: str) -> list[tuple[int, int]]:
    """Neighbouring ranges; one that is too short joins the one before it within its sentence."""
    merged: list[tuple[int, int]] = []
    fixed = False  # whether the boundary before the present piece may not be removed
    for start, end, hard in _pieces(text):
        words = len(word_ranges(text[start:end]))
        if merged and not fixed and (words < LEAST_WORDS or _words(text, merged[-1]) < LEAST_WORDS):
            merged[-1] = (merged[-1][0], end)
        elif words or not merged:
            merged.append((start, end))
        fixed = hard
    return merged


def _words(text: str, piece: tuple[int, int]) -> int:
    return len(word_ranges(text[piece[0] : piece[1]]))


def _pieces(text: str) -> Iterator[tuple[int, int, bool]]:
    """(start, end, whether its end is that of a sentence) between all joints."""
    start = 0
    for joint in _JOINT.finditer(text):
        if joint["end"] or joint["pause"]:
            yield start, joint.end(), bool(joint["end"])
            start = joint.end()
        elif joint.start() > start:
            yield start, joint.start(), False
            start = joint.start()
    if start < len(text):
        yield start, len(text), True


_MARK = r"[\s[\p{P}--_]]"  # "_" belongs to words
_EDGE = regex.compile(rf"(?V1)^{_MARK}++|(?<!{_MARK}){_MARK}++$")


def bare_range(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without punctuation at its edges, unless nothing else is in it."""
    piece = text[start:end]
    bare = _EDGE.sub("", piece)
    if not bare:
        return start, end
    first = start + piece.index(bare)
    return first, first + len(bare)
