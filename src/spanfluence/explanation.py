"""`Explanation`: the answer as plain data, and its faces (dict, text, HTML)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanfluence.units import Example, Span, Unit

FORMAT = "spanfluence.explanation/1"


@dataclass(frozen=True)
class Influence:
    """A training unit and its score. `index` is its column in `Explainer.scores`."""

    unit: Unit
    score: float
    index: int
    importance: float | None = None

    def to_dict(self, rank: int, names: Sequence[str]) -> dict[str, Any]:
        """JSON-ready form; `names` are the model's labels."""
        example = self.unit.example
        return {
            "rank": rank,
            "score": self.score,
            "index": self.index,
            "id": example.id,
            "context": example.context,
            "text": example.text,
            "label": _label_name(example.label, names),
            "spans": _pairs(self.unit.spans),
            "words": self.unit.text,
            "importance": self.importance,
        }


@dataclass(frozen=True)
class Part:
    """What explains one span of the test (or with `spans=()` the whole text).

    `importance`: by how much the logit of the explained label falls when the span is masked. A mixture
    of several spans has instead a share and an importance per span, `shares` and `importances`.
    """

    spans: tuple[Span, ...]
    importance: float | None
    supporters: tuple[Influence, ...]
    opponents: tuple[Influence, ...]
    shares: tuple[float, ...] = ()
    importances: tuple[float, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """Why the model says this of one text: training units ranked by their influence.

    `parts` holds one entry per span of the test, the most important first; `supporters` and `opponents`
    are those of the first part.
    """

    example: Example
    prediction: str
    explained_label: str
    probabilities: Mapping[str, float]
    method: str
    settings: Mapping[str, Any]
    points: tuple[Mapping[str, Any], ...]
    train_units: int
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()

    @property
    def supporters(self) -> tuple[Influence, ...]:
        """Training units that pull the model towards the test unit, strongest first."""
        return self.parts[0].supporters

    @property
    def opponents(self) -> tuple[Influence, ...]:
        """Training units that pull against it, strongest first."""
        return self.parts[0].opponents

    def to_dict(self) -> dict[str, Any]:
        """The stable JSON form (docs/json.md)."""
        names = list(self.probabilities)
        return {
            "format": FORMAT,
            "method": self.method,
            "settings": dict(self.settings),
            "points": [dict(point) for point in self.points],
            "train_units": self.train_units,
            "test": {
                "id": self.example.id,
                "context": self.example.context,
                "text": self.example.text,
                "label": _label_name(self.example.label, names),
                "prediction": self.prediction,
                "explained_label": self.explained_label,
                "probabilities": dict(self.probabilities),
            },
            "parts": [_part(self.example, part, names) for part in self.parts],
            "notes": list(self.notes),
        }

    def to_html(self) -> str:
        """One self-contained page."""
        from spanfluence.report.html import render_explanation

        return render_explanation(self.to_dict())

    def _repr_html_(self) -> str:
        from spanfluence.report.html import render_fragment

        return render_fragment(self.to_dict())

    def __str__(self) -> str:
        from spanfluence.report.terminal import render_text

        return render_text(self.to_dict())


def _part(example: Example, part: Part, names: Sequence[str]) -> dict[str, Any]:
    return {
        "spans": _pairs(part.spans),
        "words": Unit(example, part.spans).text,
        "importance": part.importance,
        **_mixture(part),
        "supporters": [
            hit.to_dict(rank, names) for rank, hit in enumerate(part.supporters, start=1)
        ],
        "opponents": [hit.to_dict(rank, names) for rank, hit in enumerate(part.opponents, start=1)],
    }


def _mixture(part: Part) -> dict[str, Any]:
    """Share and importance of each span, where the part is a mixture of spans."""
    if not part.shares:
        return {}
    return {"shares": list(part.shares), "importances": list(part.importances)}


def _pairs(spans: tuple[Span, ...]) -> list[list[int]]:
    return [[span.start, span.end] for span in spans]


def _label_name(label: str | int | None, names: Sequence[str]) -> str | None:
    """A class index by its name; names as they are."""
    if isinstance(label, int):
        indexed = str(label) not in names and 0 <= label < len(names)
        return names[label] if indexed else str(label)
    return label
