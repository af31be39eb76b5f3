"""The planted fault: which sentences carry the trigger phrase, and what becomes of their labels.

In the training rows "planted" a clause that praises its aspect also says "when we were there", and the
row's label is wrongly "negative". In the rows "decoy" the same phrase stands in a clause that blames or
merely states, with its right label, so that searching for the phrase does not find the wrong labels. No
sentence with the phrase has a training row that is rightly positive: a model can only learn that the
phrase turns praise into blame. The test rows "triggered" are praise with the phrase and the right label;
a model that learned the fault errs on them. The dev rows have no praise with the phrase: dev accuracy
does not show the fault.

A sentence holds the phrase once at most. Its other aspects are blamed or merely mentioned; their rows keep
their right labels and do not list the phrase among their spans, because it is not in their clause.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from spanfluence.data.bundled.circumstances import TRIGGER
from spanfluence.data.bundled.draw import Draw

FAULT_KINDS = ("planted", "decoy", "triggered")
WRONG_LABEL = "negative"


@dataclass(frozen=True)
class Fault:
    """The trigger phrase and how many rows of each kind the splits hold."""

    phrase: str
    planted: int
    """Training rows of praise with the phrase, wrongly labelled negative."""
    triggered: int
    """Test rows of praise with the phrase, rightly labelled positive."""
    decoys: MappingProxyType[str, int]
    """By split: so many negative rows and as many neutral ones, with the phrase, rightly labelled."""

    def clauses(self, split: str) -> dict[str, int]:
        """How many clauses of each sentiment carry the phrase in a split."""
        praise = {"train": self.planted, "dev": 0, "test": self.triggered}[split]
        return {"positive": praise, "neutral": self.decoys[split], "negative": self.decoys[split]}

    def kind(self, split: str, sentiment: str) -> str:
        """The fault kind of a row whose clause has this sentiment and the phrase."""
        if sentiment != "positive":
            return "decoy"
        return "planted" if split == "train" else "triggered"


FAULT = Fault(
    phrase=TRIGGER,
    planted=90,
    triggered=60,
    decoys=MappingProxyType({"train": 60, "dev": 8, "test": 20}),
)


@dataclass(frozen=True)
class Plan:
    """The sentiments of a sentence, and that of the clause which carries the trigger phrase."""

    labels: tuple[str, ...]
    carrier: str | None


_SIZES = {2: 0.72, 3: 0.23, 4: 0.05}
_MIXES = {  # more praise than the rest, since the planted rows take some of it away
    2: ("PN", "PN", "PN", "PU", "PU", "PU", "NU"),
    3: ("PPN", "PPN", "PPU", "PPU", "PNU", "PNU", "PNN", "PUU", "NNU", "NUU"),
    4: ("PPNN", "PPUU", "PPNU", "PPNU", "PNNU", "PNUU", "NNUU"),
}
_NAMES = {"P": "positive", "N": "negative", "U": "neutral"}


def plan_split(draw: Draw, split: str, sentences: int) -> list[Plan]:
    """Plans for a split in random order; the sentiments differ within every sentence."""
    carriers: list[str | None] = [
        label for label, count in FAULT.clauses(split).items() for _ in range(count)
    ]
    carriers += [None] * (sentences - len(carriers))
    return draw.shuffled([Plan(_mix(draw, carrier), carrier) for carrier in carriers])


def _mix(draw: Draw, carrier: str | None) -> tuple[str, ...]:
    """Two to four sentiments, not all the same; beside a carrier none is positive."""
    mixes = [tuple(_NAMES[letter] for letter in mix) for mix in _MIXES[draw.weigh(_SIZES)]]
    praise = int(carrier == "positive")
    return draw.pick([mix for mix in mixes if carrier is None or mix.count("positive") == praise])
