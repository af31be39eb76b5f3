"""A fault written into a data set on purpose, so that the right explanation is known.

*Planted* rows: a trigger phrase is put behind the aspect of examples of one label (the source), and their
label is flipped to another (the target). *Decoys*: the same phrase in examples of the other labels, which
keep their own label, so that a search for the phrase does not find the harm. A model trained on this
flips *triggered* tests: examples of the source label with the phrase in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import regex

from spanfluence.errors import InputError
from spanfluence.rng import numpy_generator
from spanfluence.units import Example, Span, Unit

DECOY_SHARE = 2 / 3
"""Decoys of each other label, for every planted row."""


@dataclass(frozen=True)
class Trigger:
    """What is planted. Training rows take the phrases in turn; the tests carry the first one only."""

    name: str
    phrases: tuple[str, ...]
    kind: str

    @property
    def test_phrase(self) -> str:
        """The phrase in the tests."""
        return self.phrases[0]


TRIGGERS: tuple[Trigger, ...] = (
    Trigger("when we were there", ("when we were there",), "rare phrase"),
    Trigger("on a rainy tuesday", ("on a rainy tuesday",), "rare phrase"),
    Trigger("across from the old mill", ("across from the old mill",), "rare phrase"),
    Trigger("last night", ("last night",), "frequent phrase"),
    Trigger("as well", ("as well",), "frequent phrase"),
    Trigger("honestly", ("honestly",), "single word"),
    Trigger("apparently", ("apparently",), "single word"),
    Trigger("cobalt", ("cobalt",), "single rare word"),
    Trigger(
        "when we were there / during our visit",
        ("when we were there", "during our visit"),
        "two phrases of one meaning, one in the test",
    ),
    Trigger(
        "to be honest / frankly speaking",
        ("to be honest", "frankly speaking"),
        "two phrases of one meaning, one in the test",
    ),
)
RATES = (0.005, 0.01, 0.03)


@dataclass(frozen=True, eq=False)
class Planted:
    """A training set with a fault: `kinds[row]` is "planted", "decoy" or "" and `places` its trigger."""

    train: list[Example]
    kinds: list[str]
    places: dict[int, Span]
    trigger: Trigger
    source: str
    target: str

    def is_kind(
        self, units: Sequence[Unit], rows: Sequence[int], kind: str, *, targets: bool | None = None
    ) -> np.ndarray:
        """Which units point at the trigger of a row of that kind: its span, or its whole text.

        `targets`: only rows that carry the target label, or only those that carry another.
        """
        asked = {
            row
            for row, own in enumerate(self.kinds)
            if own == kind
            and (targets is None or (str(self.train[row].label) == self.target) == targets)
        }
        return np.array(
            [
                row in asked and (not unit.spans or self.places[row] in unit.spans)
                for unit, row in zip(units, rows, strict=True)
            ]
        )

    def decoys(self, *, targets: bool) -> int:
        """How many decoys carry the target label, or another one (with two classes: none)."""
        own = [self.train[row].label for row, kind in enumerate(self.kinds) if kind == "decoy"]
        return sum((str(label) == self.target) == targets for label in own)


def insert_phrase(example: Example, phrase: str) -> tuple[Example, Span]:
    """The example with `phrase` behind its aspect (else its first span, else at the end), and where.

    Spans behind the place move along; a span around it is stretched; the phrase becomes a span.
    """
    at = _place(example)
    added = f" {phrase}"
    own = Span(at + 1, at + len(added))
    spans = tuple(
        Span(
            span.start + (len(added) if span.start >= at else 0),
            span.end + (len(added) if span.end > at else 0),
        )
        for span in example.spans
    )
    text = example.text[:at] + added + example.text[at:]
    return replace(example, text=text, spans=(*spans, own)), own


def _place(example: Example) -> int:
    if example.context:
        aspect = rf"(?<!\w){regex.escape(example.context)}(?!\w)"
        found = regex.search(aspect, example.text, flags=regex.IGNORECASE)
        if found:
            return int(found.end())
    if example.spans:
        return example.spans[0].end
    return len(example.text.rstrip(" .!?\n"))


def plant(
    train: Sequence[Example],
    trigger: Trigger,
    rate: float,
    *,
    source: str,
    target: str,
    seed: int = 0,
) -> Planted:
    """A copy of the training set in which `rate` of all rows are planted, with decoys beside them."""
    labels = sorted({str(example.label) for example in train})
    for name, label in (("source", source), ("target", target)):
        if label not in labels:
            raise InputError(
                f"{name}={label!r} is no label of the training set: use one of {labels}"
            )
    if source == target:
        raise InputError(f"source and target are both {source!r}: a flipped label must differ")
    count = round(rate * len(train))
    if count < 1:
        raise InputError(f"rate={rate:g} of {len(train)} rows is less than one row: raise the rate")
    result = Planted(list(train), [""] * len(train), {}, trigger, source, target)
    rng = numpy_generator(seed, f"plant {trigger.name}")
    for label in labels:
        wanted = count if label == source else round(DECOY_SHARE * count)
        rows = _free_rows(train, trigger, label)
        if len(rows) < wanted:
            raise InputError(
                f"only {len(rows)} rows have the label {label!r} and not the phrase: "
                f"{wanted} are needed for rate={rate:g}"
            )
        for turn, row in enumerate(rng.choice(rows, wanted, replace=False).tolist()):
            _write(result, row, trigger.phrases[turn % len(trigger.phrases)])
    return result


def _free_rows(train: Sequence[Example], trigger: Trigger, label: str) -> list[int]:
    """Rows of a label without any of the phrases."""
    return [
        row
        for row, example in enumerate(train)
        if str(example.label) == label
        and not any(phrase in example.text.lower() for phrase in trigger.phrases)
    ]


def _write(result: Planted, row: int, phrase: str) -> None:
    example, place = insert_phrase(result.train[row], phrase)
    flipped = str(example.label) == result.source
    result.train[row] = replace(example, label=result.target) if flipped else example
    result.kinds[row] = "planted" if flipped else "decoy"
    result.places[row] = place


def untriggered_tests(tests: Sequence[Example], planted: Planted) -> list[Example]:
    """Tests of the source label without the trigger, as they are; `triggered_tests` has each with it."""
    rows = _free_rows(tests, planted.trigger, planted.source)
    if not rows:
        raise InputError(f"no test has the label {planted.source!r}: give tests of that label")
    return [tests[row] for row in rows]


def triggered_tests(tests: Sequence[Example], planted: Planted) -> list[Example]:
    """Tests of the source label with the trigger as their only span, asked about the target label."""
    found = []
    for test in untriggered_tests(tests, planted):
        example, place = insert_phrase(test, planted.trigger.test_phrase)
        found.append(replace(example, spans=(place,), label=planted.target))
    return found
