"""The shape of the vocabulary: which nouns a review may speak of, and what may be said of them.

Phrases are written in a small notation, so that the word lists stay plain data:

    ;          separates phrases
    <a|b>      a after a singular noun, b after a plural one
    @          the aspect with its determiner ("the soup"); only in scenes and leads
    [ ... ]    the opinion, where it is not the whole phrase; only in scenes and leads
    ~          (first character) takes no circumstance, e.g. because it is in the present tense
    !          (first character) stands only as a main clause, e.g. an imperative; takes no circumstance

After a noun, " +" marks a plural and " ~" a noun that takes no "a".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LABELS = ("positive", "neutral", "negative")
VENUES = ("restaurant", "hotel")


@dataclass(frozen=True)
class Tone:
    """What can be said of a family of nouns with one sentiment.

    `adjectives` can be graded and can stand before the noun; `states` follow "was"; `deeds` are verb
    phrases after the noun; `scenes` are whole clauses; `leads` are clauses that open a sentence and
    leave its point to another one.
    """

    adjectives: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    deeds: tuple[str, ...] = ()
    scenes: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """Nouns of which the same things can be said, and those things by label."""

    name: str
    venues: tuple[str, ...]
    tones: dict[str, Tone] = field(hash=False)
    determiners: tuple[str, ...] = ("the",)
    person: bool = False


@dataclass(frozen=True)
class Aspect:
    """A noun that a label can speak of."""

    term: str
    family: Family
    plural: bool = False
    countable: bool = True

    @property
    def words(self) -> frozenset[str]:
        """The words of the term, to keep "room" and "room service" out of one sentence."""
        return frozenset(re.findall(r"[a-z]+", self.term))


def phrases(listing: str) -> tuple[str, ...]:
    """The phrases of a listing separated by semicolons, free of line breaks."""
    return tuple(" ".join(part.split()) for part in listing.split(";") if part.strip())


def tone(
    adjectives: str = "", states: str = "", deeds: str = "", scenes: str = "", leads: str = ""
) -> Tone:
    """A `Tone` from listings."""
    return Tone(*(phrases(listing) for listing in (adjectives, states, deeds, scenes, leads)))


def aspects(
    name: str,
    nouns: str,
    venues: str,
    *,
    good: Tone,
    bad: Tone,
    plain: Tone,
    determiners: str = "the",
    person: bool = False,
) -> tuple[Aspect, ...]:
    """The aspects of a new family, one for each noun of the listing."""
    tones = {"positive": good, "neutral": plain, "negative": bad}
    family = Family(name, tuple(venues.split()), tones, phrases(determiners), person)
    return tuple(
        Aspect(noun.rstrip(" +~"), family, noun.endswith("+"), not noun.endswith("~"))
        for noun in phrases(nouns)
    )
