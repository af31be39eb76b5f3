"""Phrases that recur among some units more than their frequency in all units would have it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spanfluence.baselines import words

LONGEST = 6
LEAST = 3
"""A phrase must occur in so many of the flagged units."""
LEAST_LIFT = 2.0
"""...and so many times more often than expected: with many units even "the" is significant."""
SAME = 0.5
"""Phrases that contain one another and share this much of their units are one finding."""
LED = 0.75
"""A phrase speaks for its parts if it is there in so much of their flagged units: "when we were there" for "were"."""


@dataclass(frozen=True)
class Phrase:
    """A phrase, how often it occurs, and how surprising that is.

    `p_value` is the chance of so many flagged units (hypergeometric), times the number of phrases that could
    have been found: all that occur in enough units, flagged or not.
    """

    phrase: str
    flagged: int
    everywhere: int
    expected: float
    p_value: float
    units: tuple[int, ...]
    variants: tuple[str, ...] = ()

    @property
    def lift(self) -> float:
        """How many times more often than expected."""
        return self.flagged / self.expected if self.expected else float("inf")


def over_represented(
    texts: Sequence[str], flagged: Iterable[int], *, most: int = 20, level: float = 0.001
) -> list[Phrase]:
    """Phrases of the flagged texts that are too frequent there, the least likely first, grouped.

    The supporters of one error resemble each other, so hits are not independent: hence a strict level.
    """
    from scipy.stats import hypergeom

    chosen = sorted(set(flagged))
    places = word_runs(texts)
    marked = set(chosen)
    possible = {gram: own for gram, own in places.items() if len(own) >= LEAST}
    tested: list[tuple[float, int, Phrase]] = []
    for gram, own in possible.items():
        hits = own & marked
        if len(hits) < LEAST:
            continue
        log_p = float(hypergeom.logsf(len(hits) - 1, len(texts), len(own), len(chosen)))
        adjusted = min(1.0, float(np.exp(log_p)) * len(possible))
        expected = len(own) * len(chosen) / len(texts)
        phrase = Phrase(
            " ".join(gram), len(hits), len(own), expected, adjusted, tuple(sorted(hits))
        )
        tested.append((log_p, -len(gram), phrase))
    tested.sort(key=lambda item: (item[0], item[1], item[2].phrase))
    kept = [p for _, _, p in tested if p.p_value <= level and p.lift >= LEAST_LIFT]
    return _grouped(kept)[:most]


def word_runs(texts: Sequence[str]) -> dict[tuple[str, ...], set[int]]:
    """Every run of one to six words, and the texts it occurs in."""
    places: dict[tuple[str, ...], set[int]] = {}
    for number, text in enumerate(texts):
        own = words(text)
        for size in range(1, min(LONGEST, len(own)) + 1):
            for start in range(len(own) - size + 1):
                places.setdefault(tuple(own[start : start + size]), set()).add(number)
    return places


def has_words(text: str, phrase: str) -> bool:
    """Whether a text has the words of a phrase (a run of words) in a row: "with" does not have "it"."""
    return f" {phrase} " in f" {' '.join(words(text))} "


def _grouped(phrases: Sequence[Phrase]) -> list[Phrase]:
    """Parts and extensions of a phrase become its variants; the least likely of all of them places it."""
    groups: list[Phrase] = []
    for phrase in phrases:
        leader = _leader(phrase, phrases)
        for number, own in enumerate(groups):
            if own.phrase == phrase.phrase:
                break
            if own.phrase == leader.phrase or _akin(own, phrase):
                groups[number] = replace(own, variants=(*own.variants, phrase.phrase))
                break
        else:
            parts = () if leader is phrase else (phrase.phrase,)
            groups.append(replace(leader, variants=parts))
    return groups


def _leader(phrase: Phrase, phrases: Sequence[Phrase]) -> Phrase:
    """The longest phrase around this one that most of its flagged units hold; itself, if none does."""
    own = set(phrase.units)
    around = [
        other
        for other in phrases
        if f" {phrase.phrase} " in f" {other.phrase} "
        and len(own & set(other.units)) >= LED * len(own)
    ]
    return max(around, key=lambda other: len(other.phrase.split()))


def _akin(a: Phrase, b: Phrase) -> bool:
    inside = f" {b.phrase} " in f" {a.phrase} " or f" {a.phrase} " in f" {b.phrase} "
    first, second = set(a.units), set(b.units)
    return inside and len(first & second) >= SAME * min(len(first), len(second))
