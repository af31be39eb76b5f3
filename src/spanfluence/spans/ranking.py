"""From many candidate spans to the few that count: by importance, without overlaps, with shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from spanfluence.errors import InputError
from spanfluence.spans.found import Importance
from spanfluence.units import Example, Span


@dataclass(frozen=True, slots=True)
class Ranked:
    """A span with its importance and its share p in the mixture of the spans it was ranked with."""

    span: Span
    importance: float
    share: float


def rank_spans(
    classifier: Importance,
    example: Example,
    spans: Sequence[Span],
    *,
    top: int = 5,
    temperature: float = 1.0,
    overlapping: bool = False,
    label: Literal["predicted", "given"] = "predicted",
) -> list[Ranked]:
    """The `top` spans of highest imp, with p = softmax(imp / temperature) over them.

    Of spans that overlap or lie inside each other the one of higher imp is kept, unless `overlapping`.
    Spans that the classifier cannot see (beyond the length it reads) are left out.
    """
    if top < 1:
        raise InputError(f"top={top} spans cannot be: use at least 1")
    if not temperature > 0:
        raise InputError(f"temperature={temperature} must be positive")
    visible = classifier.visible_spans(example, list(dict.fromkeys(spans)))
    if not visible:
        return []
    values = classifier.importance(example, visible, label=label)
    found = dict(zip(visible, (float(value) for value in values), strict=True))
    kept: list[Span] = []
    for span in sorted(found, key=lambda s: (-found[s], s.end - s.start, s)):
        if len(kept) < top and (overlapping or not any(_overlap(span, other) for other in kept)):
            kept.append(span)
    shares = softmax([found[span] / temperature for span in kept])
    return [Ranked(span, found[span], share) for span, share in zip(kept, shares, strict=True)]


def softmax(values: Sequence[float]) -> list[float]:
    """Positive numbers that add up to 1."""
    largest = max(values)
    powers = [math.exp(value - largest) for value in values]
    total = sum(powers)
    return [power / total for power in powers]


def _overlap(a: Span, b: Span) -> bool:
    return a.start < b.end and b.start < a.end
