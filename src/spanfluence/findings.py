"""What an audit finds, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from spanfluence.phrases import Phrase
from spanfluence.sway import Sway
from spanfluence.units import Example, Span, Unit

FORMAT = "spanfluence.audit/1"


@dataclass(frozen=True)
class Error:
    """A held-out example that the model gets wrong, and the spans that pull it there."""

    example: Example
    predicted: str
    chance: float


@dataclass(frozen=True)
class HarmfulSpan:
    """A training unit that pulls errors towards the wrong label.

    `harm` is the sum over errors of its support for the wrong label minus its support for the right one.
    """

    unit: Unit
    harm: float
    errors: int


@dataclass(frozen=True)
class Suspect:
    """A training row whose label may be wrong; `says` is what the model says when asked as told."""

    example: Example
    says: str
    chance: float
    reason: str
    span: Span | None


@dataclass(frozen=True)
class Audit:
    """What was found, as plain data; `mask` is how spans were masked.

    `errors` are those that were traced, the surest of all `wrong` ones (None: these are all).
    """

    method: str
    examined: int
    accuracy: float
    errors: Sequence[Error]
    spans: Sequence[HarmfulSpan]
    phrases: Sequence[tuple[Phrase, Sequence[Unit]]]
    suspects: Sequence[Suspect]
    train_units: int
    sways: Sequence[Sway] = ()
    mask: str = "mask"
    wrong: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; reports are drawn from it."""
        return {
            "format": FORMAT,
            "method": self.method,
            "mask": self.mask,
            "examined": self.examined,
            "accuracy": self.accuracy,
            "wrong": len(self.errors) if self.wrong is None else self.wrong,
            "train_units": self.train_units,
            "errors": [
                {
                    **_row(e.example),
                    "spans": _pairs(e.example.spans),
                    "predicted": e.predicted,
                    "chance": e.chance,
                }
                for e in self.errors
            ],
            "spans": [{**_unit(s.unit), "harm": s.harm, "errors": s.errors} for s in self.spans],
            "phrases": [_phrase(phrase, units) for phrase, units in self.phrases],
            "sways": [
                {**asdict(sway), "reach": sway.reach, "notable": sway.notable}
                for sway in self.sways
            ],
            "suspects": [
                {
                    **_row(s.example),
                    "spans": _pairs((s.span,) if s.span else ()),
                    "says": s.says,
                    "chance": s.chance,
                    "reason": s.reason,
                }
                for s in self.suspects
            ],
        }


def _row(example: Example) -> dict[str, Any]:
    label = None if example.label is None else str(example.label)
    return {"id": example.id, "context": example.context, "text": example.text, "label": label}


def _unit(unit: Unit) -> dict[str, Any]:
    return {**_row(unit.example), "spans": _pairs(unit.spans), "words": unit.text}


def _pairs(spans: Sequence[Span]) -> list[list[int]]:
    return [[span.start, span.end] for span in spans]


def _phrase(phrase: Phrase, units: Sequence[Unit]) -> dict[str, Any]:
    return {
        "phrase": phrase.phrase,
        "flagged": phrase.flagged,
        "everywhere": phrase.everywhere,
        "expected": phrase.expected,
        "lift": phrase.lift,
        "p_value": phrase.p_value,
        "variants": list(phrase.variants),
        "examples": [_unit(unit) for unit in units],
    }
