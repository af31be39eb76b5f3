"""Clauses: one aspect, one sentiment, perhaps one circumstance, in the form that a sentence asks for.

Inside a text under construction `[o0:lumpy]` marks the opinion about slot 0, `[o01:lumpy]` one shared by
slots 0 and 1, and `[c0:over Easter]` the circumstance in the clause of slot 0. `marks` takes them out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from spanfluence.data.bundled.draw import Draw
from spanfluence.data.bundled.lexicon import Aspect, Tone
from spanfluence.data.bundled.words_general import COPULAS, DEGREES, GENERAL, NEGATED

_OPPOSITE = {"positive": "negative", "negative": "positive"}
_KINDS = {
    "positive": {"adjectives": 0.5, "states": 0.18, "deeds": 0.18, "scenes": 0.14},
    "negative": {"adjectives": 0.5, "states": 0.18, "deeds": 0.18, "scenes": 0.14},
    "neutral": {"adjectives": 0.12, "states": 0.28, "deeds": 0.35, "scenes": 0.25},
}
_GENERAL_SHARE = 0.15
_GRADED = {"bare": 0.62, "degree": 0.16, "double": 0.13, "negated": 0.04, "extreme": 0.05}


@dataclass(frozen=True)
class Slot:
    """A place in a sentence: which aspect, with which sentiment, under which circumstance."""

    index: int
    aspect: Aspect
    label: str
    circumstance: str | None = None


def with_article(noun_phrase: str) -> str:
    """The noun phrase after "a" or "an"; opinion marks at its start are looked through."""
    heard_as_vowel = r"(\[o\d+:)?(?!use)([aeiou]|hon|hour)"  # an honest bill, a useless lift
    return f"{'an' if re.match(heard_as_vowel, noun_phrase) else 'a'} {noun_phrase}"


def inflect(text: str, plural: bool) -> str:
    """The text with each `<a|b>` decided."""
    return re.sub(r"<([^|>]*)\|([^>]*)>", r"\2" if plural else r"\1", text)


def adjective_phrase(draw: Draw, tones: dict[str, Tone], label: str, allow_full: bool) -> str:
    """An adjective of the label, graded, doubled or turned round by a negation.

    With `allow_full` the result may be a whole verb phrase that needs no copula; it then starts with "=".
    """
    own = tones[label].adjectives or GENERAL[label].adjectives
    adjective = draw.rarest(own, label)
    form = draw.weigh(_GRADED)
    if form == "degree" or (form == "extreme" and not allow_full):
        return draw.rarest(DEGREES[label], "degree").replace("%", adjective)
    if form == "double" and label in _OPPOSITE:
        other = draw.pick([word for word in own if word != adjective])
        return f"{adjective} and {other}"
    if form == "negated" and label in _OPPOSITE:
        opposite = draw.rarest(tones[_OPPOSITE[label]].adjectives, "negated")
        return draw.rarest(NEGATED[label], "negation").replace("%", opposite)
    if form == "extreme" and label in _OPPOSITE:
        return f"=could not have been more {adjective}"
    return adjective


class Part:
    """One slot's clause in every form a sentence pattern can name: `{a}`, `{a.main}`, `{a.who}` ..."""

    def __init__(self, slot: Slot, draw: Draw) -> None:
        self.slot = slot
        self._draw = draw
        self.name = f"{draw.pick(slot.aspect.family.determiners)} {slot.aspect.term}"

    def __format__(self, spec: str) -> str:
        return self._clause(alone=False)

    @property
    def main(self) -> str:
        """The clause where it stands on its own, so that it may be an imperative."""
        return self._clause(alone=True)

    @property
    def who(self) -> str:
        """The noun with a relative clause: "the waiter, who was curt"."""
        pronoun = "who" if self.slot.aspect.family.person else "which"
        return f"{self.name}, {pronoun} {self._predicate()}{self._after()}"

    @property
    def it(self) -> str:
        """The clause with a pronoun, after the noun has been named."""
        pronoun = "they" if self.slot.aspect.plural else "it"
        return f"{pronoun} {self._predicate()}{self._after()}"

    @property
    def brief(self) -> str:
        """The noun with an adjective before it: "a lumpy mattress"."""
        tones = self.slot.aspect.family.tones
        own = tones[self.slot.label].adjectives or GENERAL[self.slot.label].adjectives
        adjective = self._draw.rarest(own, self.slot.label)
        phrase = f"{self._mark(adjective)} {self.slot.aspect.term}"
        single = self.slot.aspect.countable and not self.slot.aspect.plural
        return with_article(phrase) if single else phrase

    @property
    def lead(self) -> str:
        """A clause that opens a sentence: "when the bill came"."""
        leads = self.slot.aspect.family.tones[self.slot.label].leads
        return self._staged(self._draw.rarest(leads, "lead"))

    def _clause(self, alone: bool) -> str:
        kind = self._draw.weigh(_KINDS[self.slot.label])
        if kind != "scenes":
            return self._around(self.name, self._predicate(kind), alone)
        return self._around(self._staged(self._phrase("scenes", alone)), "", alone)

    def _predicate(self, kind: str = "") -> str:
        """What is said of the noun, without it and without the circumstance."""
        label, aspect = self.slot.label, self.slot.aspect
        weights = {name: w for name, w in _KINDS[label].items() if name != "scenes"}
        kind = kind or self._draw.weigh(weights)
        if kind == "adjectives" and label == "neutral" and aspect.family.person:
            kind = "deeds"
        if kind == "deeds":
            return inflect(self._mark(self._phrase("deeds")), aspect.plural)
        if kind == "states":
            text = f"<was|were> {self._mark(self._phrase('states'))}"
            return inflect(text, aspect.plural)
        words = adjective_phrase(self._draw, aspect.family.tones, label, allow_full=True)
        if words.startswith("="):
            return self._mark(words[1:])
        copulas = COPULAS[:-1] if words.startswith("as ") else COPULAS
        return inflect(f"{self._draw.pick(copulas)} {self._mark(words)}", aspect.plural)

    def _phrase(self, kind: str, alone: bool = False) -> str:
        """A phrase of the kind that suits the circumstance; sometimes one that suits any noun."""
        family, label = self.slot.aspect.family, self.slot.label
        special = not family.person and self._draw.chance(_GENERAL_SHARE)
        source: tuple[str, ...] = getattr(GENERAL[label] if special else family.tones[label], kind)
        barred = "~!" if self.slot.circumstance else "" if alone else "!"
        fitting = [phrase for phrase in source if phrase[0] not in barred]
        return self._draw.rarest(fitting, kind).lstrip("~!")

    def _mark(self, words: str) -> str:
        return f"[o{self.slot.index}:{words}]"

    def _staged(self, scene: str) -> str:
        scene = inflect(scene, self.slot.aspect.plural)
        return scene.replace("[", f"[o{self.slot.index}:").replace("@", self.name)

    def _circumstance(self) -> str:
        return f"[c{self.slot.index}:{self.slot.circumstance}]"

    def _after(self) -> str:
        return f" {self._circumstance()}" if self.slot.circumstance else ""

    def _around(self, subject: str, predicate: str, alone: bool) -> str:
        """The clause with its circumstance at the end, in front (of a main clause) or after the noun."""
        clause = f"{subject} {predicate}".rstrip()
        if self.slot.circumstance is None:
            return clause
        place = self._draw.weigh({"after": 0.7, "before": 0.22, "inside": 0.08})
        if place == "before" and alone:
            return f"{self._circumstance()} {clause}"
        if place == "inside" and predicate:
            return f"{subject}, {self._circumstance()}, {predicate}"
        return f"{clause}{self._after()}"


class Pair:
    """Two slots of one family and one sentiment that share an opinion; takes no circumstance."""

    def __init__(self, first: Slot, second: Slot, draw: Draw) -> None:
        self.slots = (first, second)
        self.label = first.label
        self._draw = draw
        determiner = draw.pick(first.aspect.family.determiners)
        both = "both " if draw.chance(0.3) else ""
        self.name = f"{both}{determiner} {first.aspect.term} and {determiner} {second.aspect.term}"

    def __format__(self, spec: str) -> str:
        tones = self.slots[0].aspect.family.tones
        scenes = [s for s in tones[self.label].scenes if s[0] not in "~!" and s.endswith("@")]
        neutral_person = self.label == "neutral" and self.slots[0].aspect.family.person
        if neutral_person or self._draw.chance(0.8 if self.label == "neutral" else 0.25):
            scene = inflect(self._draw.rarest(scenes, "scenes"), plural=True)
            return scene.replace("[", f"[o{self._indices}:").replace("@", self.name)
        words = adjective_phrase(self._draw, tones, self.label, allow_full=False)
        return f"{self.name} were [o{self._indices}:{words}]"

    @property
    def main(self) -> str:
        """The clause; a pair has no imperative."""
        return format(self)

    @property
    def _indices(self) -> str:
        return "".join(str(slot.index) for slot in self.slots)
