"""Recurring training phrases that change right answers when they are written into held-out texts.

Errors show a fault only where held-out texts contain it. Here the phrase is brought to texts that do not:
it is put behind the aspect of rows that the model gets right, and the answers that change are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from spanfluence.model import TextClassifier
from spanfluence.phrases import has_words, word_runs
from spanfluence.planting import insert_phrase
from spanfluence.rng import numpy_generator
from spanfluence.units import Example, Unit

PHRASES = 40
TEXTS = 60
LEAST_ROWS = 10
LEAST_SHARE = 0.005
NOTABLE, NEAR = 0.2, 0.5
"""A notable phrase changes this share of the answers, and has this share of the widest reach."""
SAME = 0.8
"""A phrase is part of a longer one that occurs in this share of its places."""


@dataclass(frozen=True)
class Sway:
    """A phrase and what it does: `changed` of `tried` answers, most of them to the label `towards`.

    `reach` = share of answers changed x training units that carry it: opinion words change answers by
    right, but each stands in few rows; a phrase that does so from many rows is worth a look.
    """

    phrase: str
    units: int
    changed: int
    tried: int
    towards: str

    @property
    def reach(self) -> float:
        """How many training units' worth of answers it sways."""
        return self.units * self.changed / self.tried

    @property
    def notable(self) -> bool:
        """Whether it changes a good share of the answers."""
        return self.changed >= NOTABLE * self.tried


def recurring(texts: Sequence[str], most: int = PHRASES) -> list[tuple[str, int]]:
    """The most frequent phrases with their counts; a part of an equally frequent longer one is left out."""
    least = max(LEAST_ROWS, LEAST_SHARE * len(texts))
    runs = {run: len(own) for run, own in word_runs(texts).items() if len(own) >= least}
    parts = {
        longer[start : start + size]
        for longer, count in runs.items()
        for size in range(1, len(longer))
        for start in range(len(longer) - size + 1)
        if count >= SAME * runs[longer[start : start + size]]
    }
    whole = [(" ".join(run), count) for run, count in runs.items() if run not in parts]
    return sorted(whole, key=lambda item: (-item[1], item[0]))[:most]


def swaying(
    classifier: TextClassifier,
    units: Sequence[Unit],
    right: Sequence[Example],
    *,
    seed: int = 0,
    most: int = 10,
) -> list[Sway]:
    """Phrases by reach; `right` are held-out rows that the model gets right."""
    if not right:
        return []
    rows = numpy_generator(seed, "sway").permutation(len(right))[:TEXTS]
    chosen = [right[row] for row in rows.tolist()]
    found = []
    for phrase, count in recurring([unit.text for unit in units]):
        asked, written = [], []
        for example in chosen:
            if not has_words(example.text, phrase):
                longer, place = insert_phrase(example, phrase)
                if classifier.visible_spans(longer, [place]):
                    asked.append(example)
                    written.append(longer)
        if not asked:
            continue
        answers = classifier.predict(written).labels
        changed = Counter(
            label
            for example, label in zip(asked, answers, strict=True)
            if label != classifier.labels[classifier.label_id(example.label)]
        )
        if changed:
            towards = changed.most_common(1)[0][0]
            found.append(Sway(phrase, count, changed.total(), len(asked), towards))
    return sorted(found, key=lambda sway: (-sway.reach, sway.phrase))[:most]


def carriers(classifier: TextClassifier, units: Sequence[Unit], sways: Sequence[Sway]) -> set[int]:
    """Units with a notable phrase whose row has the label that the phrase pulls towards."""
    notable = [sway for sway in sways if sway.notable and sway.reach >= NEAR * sways[0].reach]
    return {
        index
        for index, unit in enumerate(units)
        for sway in notable
        if has_words(unit.text, sway.phrase)
        and classifier.labels[classifier.label_id(unit.example.label)] == sway.towards
    }
