"""Whole sentences from labels: a pattern is laid out, nouns are cast, circumstances set, words written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from spanfluence.data.bundled import frames
from spanfluence.data.bundled.circumstances import TRIGGER, fitting, purpose_of
from spanfluence.data.bundled.clauses import Pair, Part, Slot
from spanfluence.data.bundled.draw import Draw
from spanfluence.data.bundled.lexicon import VENUES, Aspect
from spanfluence.data.bundled.words_food import FOOD
from spanfluence.data.bundled.words_general import OPENERS, VERDICTS
from spanfluence.data.bundled.words_house import HOUSE
from spanfluence.data.bundled.words_people import PEOPLE

ASPECTS = FOOD + HOUSE + PEOPLE
MOST_WORDS = 27
CIRCUMSTANCE_SHARE = {"positive": 0.36, "neutral": 0.54, "negative": 0.46}
"""Of the clauses that can take a circumstance; set so that each label has as many of them in the end."""
_MODES = {
    3: {"tail": 0.4, "pair": 0.24, "lead": 0.12, "list": 0.16, "ledger": 0.08},
    4: {"list": 0.5, "ledger": 0.2, "pair": 0.3},
}


@dataclass(frozen=True)
class Layout:
    """A pattern and, for each of its letters, the slots it stands for (two for a `Pair`)."""

    pattern: str
    letters: Mapping[str, tuple[int, ...]]

    def carriers(self) -> list[int]:
        """The slots whose clause can take a circumstance."""
        return [
            slots[0]
            for letter, slots in self.letters.items()
            if len(slots) == 1 and frames.takes_circumstance(self.pattern, letter)
        ]


@dataclass(frozen=True)
class Sentence:
    """A finished sentence; `opinions` and `circumstances` hold character spans by slot."""

    text: str
    slots: tuple[Slot, ...]
    opinions: dict[int, tuple[int, int]]
    circumstances: dict[int, tuple[int, int]]


def write_sentence(draw: Draw, labels: tuple[str, ...], carrier: str | None) -> Sentence:
    """A sentence with one aspect for each label, in any order.

    With a `carrier`, one clause of that label carries the trigger phrase.
    """
    while True:
        sentence = _draft(draw, draw.shuffled(labels), carrier)
        if sentence is not None and is_sound(sentence):
            return sentence
        for slot in sentence.slots if sentence else ():
            if slot.circumstance is not None:
                draw.put_back(slot.circumstance, purpose_of(slot.label))


def _draft(draw: Draw, labels: list[str], carrier: str | None) -> Sentence | None:
    """A sentence with the labels in this order, or None where the drawn pattern does not suit them."""
    layout = lay_out(draw, labels)
    if layout is None:
        return None
    carriers = [i for i in layout.carriers() if labels[i] == carrier]
    slots = cast(draw, layout, labels)
    if slots is None or (carrier and not carriers):
        return None
    trigger = draw.pick(carriers) if carrier else None
    slots = set_circumstances(draw, layout, slots, trigger)
    return take_marks(render(draw, layout, slots), slots)


def lay_out(draw: Draw, labels: list[str]) -> Layout | None:
    """A pattern for these labels in this order, or None where the drawn kind does not suit them."""
    if len(labels) == 2:
        pattern = draw.rarest(frames.pair_patterns(*labels), "pattern")
        return Layout(pattern, {"a": (0,), "b": (1,)})
    mode = draw.weigh(_MODES[len(labels)])
    letters: dict[str, tuple[int, ...]] = {"abcd"[i]: (i,) for i in range(len(labels))}
    if mode == "list":
        return Layout(draw.rarest(frames.LISTS[len(labels)], "pattern"), letters)
    if mode == "ledger":
        return _as_ledger(draw, labels)
    if mode == "pair":
        return _with_pair(draw, labels)
    pattern = draw.rarest(frames.pair_patterns(*labels[:2]), "pattern")
    if mode == "lead":
        fits = labels[2] == "neutral" and ".lead" not in pattern and ".brief" not in pattern
        return Layout("{c.lead}, " + pattern, letters) if fits else None
    return _with_tail(draw, Layout(pattern, letters), "c", labels)


def _as_ledger(draw: Draw, labels: list[str]) -> Layout | None:
    """The slots sorted into good, bad and so-so, if there is a pattern for so many of each."""
    order = sorted(
        range(len(labels)), key=lambda i: ("positive", "negative", "neutral").index(labels[i])
    )
    ledgers = frames.LEDGERS.get(tuple(labels[i] for i in order))
    letters: dict[str, tuple[int, ...]] = {"abcd"[at]: (i,) for at, i in enumerate(order)}
    return Layout(draw.rarest(ledgers, "pattern"), letters) if ledgers else None


def _with_pair(draw: Draw, labels: list[str]) -> Layout | None:
    """The first two slots share an opinion; a third follows, and perhaps a fourth."""
    if labels[0] != labels[1] or labels[1] == labels[2]:
        return None
    forward = draw.chance(0.5)
    order = (labels[0], labels[2]) if forward else (labels[2], labels[0])
    pattern = draw.rarest(frames.pair_patterns(*order), "pattern")
    if not frames.fields(pattern)["a" if forward else "b"] <= {"", "main"}:
        return None
    letters: dict[str, tuple[int, ...]] = {"a": (0, 1), "b": (2,)}
    if not forward:
        letters = {"a": (2,), "b": (0, 1)}
    if len(labels) == 3:
        return Layout(pattern, letters)
    return _with_tail(draw, Layout(pattern, letters | {"d": (3,)}), "d", labels)


def _with_tail(draw: Draw, layout: Layout, letter: str, labels: list[str]) -> Layout | None:
    """The layout with one more clause joined to its end, by a word it has not used yet."""
    last = frames.last_letter(layout.pattern)
    if not last or ".brief" in layout.pattern:
        return None
    before, label = labels[layout.letters[last][0]], labels[layout.letters[letter][0]]
    relation = "contrast" if {before, label} == {"positive", "negative"} else "plain"
    used = set(re.findall(r"[a-z]+", re.sub(r"\{.*?\}", "", layout.pattern)))
    tails = [
        tail
        for tail in frames.TAILS[relation]
        if not used & set(re.findall(r"[a-z]+", tail.replace("{z", "").replace(".main", "")))
    ]
    tail = draw.rarest(tails, "tail") if tails else "; {z}"
    return replace(layout, pattern=layout.pattern + tail.replace("{z", "{" + letter))


def cast(draw: Draw, layout: Layout, labels: list[str]) -> tuple[Slot, ...] | None:
    """A noun for every slot, all from one kind of venue and from different families."""
    venue = draw.pick(VENUES)
    chosen: dict[int, Aspect] = {}
    for letter, slots in layout.letters.items():
        families = {aspect.family.name for aspect in chosen.values()}
        forms = frames.fields(layout.pattern)[letter]
        choices = [
            aspect
            for aspect in ASPECTS
            if venue in aspect.family.venues
            and aspect.family.name not in families
            and suits(aspect, labels[slots[0]], forms)
        ]
        chosen[slots[0]] = draw.rarest(choices, "aspect")
        if len(slots) == 2:
            first = chosen[slots[0]]
            siblings = [a for a in ASPECTS if a.family is first.family and a != first]
            chosen[slots[1]] = draw.rarest(siblings, "aspect")
    words = [word for aspect in chosen.values() for word in aspect.words]
    if len(words) != len(set(words)):
        return None
    return tuple(Slot(i, chosen[i], label) for i, label in enumerate(labels))


def suits(aspect: Aspect, label: str, forms: set[str]) -> bool:
    """People are no "it", and no one is introduced as "an average waiter"."""
    if not aspect.family.person:
        return True
    return "it" not in forms and not (label == "neutral" and "brief" in forms)


def set_circumstances(
    draw: Draw, layout: Layout, slots: tuple[Slot, ...], trigger: int | None
) -> tuple[Slot, ...]:
    """The slots with circumstances, drawn without regard to sentiment; the trigger stands alone."""
    done: dict[int, str] = {}
    if trigger is not None:
        done[trigger] = TRIGGER
    else:
        for index in draw.shuffled(layout.carriers()):
            if draw.chance(CIRCUMSTANCE_SHARE[slots[index].label]):
                done[index] = fitting(draw, slots[index].label, set(done.values()))
    return tuple(replace(slot, circumstance=done.get(slot.index)) for slot in slots)


def render(draw: Draw, layout: Layout, slots: tuple[Slot, ...]) -> str:
    """The sentence with its marks, capitalised and closed."""
    parts: dict[str, Part | Pair | str] = {"verdict": draw.pick(VERDICTS)}
    for letter, indices in layout.letters.items():
        own = [slots[i] for i in indices]
        parts[letter] = Part(own[0], draw) if len(own) == 1 else Pair(own[0], own[1], draw)
    text = layout.pattern.format(**parts)
    if re.match(r"\{a(\.main)?\}|although|while|even though", layout.pattern) and draw.chance(0.12):
        text = f"{draw.rarest(OPENERS, 'opener')} {text}"
    if text.startswith("[c"):  # "Over Easter, the bed was lumpy"
        text = text.replace("]", "],", 1)
    start = re.match(r"\[[oc]\d+:", text)
    at = start.end() if start else 0
    return text[:at] + text[at].upper() + text[at + 1 :] + ("!" if draw.chance(0.02) else ".")


def take_marks(marked: str, slots: tuple[Slot, ...]) -> Sentence:
    """The sentence without its marks, and where they stood."""
    found: dict[str, dict[int, tuple[int, int]]] = {"o": {}, "c": {}}
    text, at = "", 0
    for match in re.finditer(r"\[([oc])(\d+):([^\]]*)\]", marked):
        text += marked[at : match.start()]
        for digit in match.group(2):
            found[match.group(1)][int(digit)] = (len(text), len(text) + len(match.group(3)))
        text += match.group(3)
        at = match.end()
    return Sentence(text + marked[at:], slots, found["o"], found["c"])


def is_sound(sentence: Sentence) -> bool:
    """Short enough, every aspect named once, and the trigger in lower case, so that all its spans read alike."""
    text = sentence.text.lower()
    once = all(
        len(re.findall(rf"\b{re.escape(slot.aspect.term)}\b", text)) == 1 for slot in sentence.slots
    )
    return once and len(text.split()) <= MOST_WORDS and not text.startswith(TRIGGER)
