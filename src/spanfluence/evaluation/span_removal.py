"""Span-Ral: the top spans are masked in training, instead of whole instances being deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spanfluence.baselines import words
from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.removal import (
    fall_interval,
    held_out_accuracies,
    removal_bench,
    worth_retraining,
)
from spanfluence.evaluation.tables import Table, percent
from spanfluence.metrics import ral, top_share
from spanfluence.rng import numpy_generator
from spanfluence.scoring import Scored
from spanfluence.units import Example, Span, Unit

CONTROL = ", other words of the same texts"


def span_removal_table(bench: Bench) -> Table:
    """Fall of accuracy after masking the top share of spans, beside masking other words as many.

    The control masks, in the same texts, as many words as the spans have, at a random place: what is
    left of a method's fall above it is owed to the words, not to the choice of texts.
    """
    part = removal_bench(bench)
    lists = [scored for scored in worth_retraining(part.scored) if scored.span_units]
    before = held_out_accuracies(part, [Unit(example) for example in part.train])
    rows = [
        {"method": scored.name, **_falls(part, scored, before)}
        for scored in part.each("span-Ral, lists", lists)
    ]
    return Table(
        "span_ral",
        f"Span-Ral: fall of accuracy in percent after masking the top spans "
        f"({len(part.train)} training rows, {part.sizes.seeds} seeds)",
        rows,
        (
            f"Accuracy before: {100 * np.mean(before):.2f} %. The control masks as many other words of "
            "the same texts. Brackets: 95 % bootstrap interval over held-out rows; sd: over seeds.",
        ),
    )


def _falls(part: Bench, scored: Scored, before: Sequence[float]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    totals = scored.scores.sum(axis=0)
    for share in part.sizes.shares:
        chosen = top_share(totals, share, seed=part.seed)
        masked = masks(scored.units, chosen)
        other = {key: random_spans(e, spans, part.seed) for key, (e, spans) in masked.items()}
        for suffix, spans in (
            ("", {key: pair[1] for key, pair in masked.items()}),
            (CONTROL, other),
        ):
            units = [Unit(example, spans.get(id(example), ())) for example in part.train]
            falls = ral(before, held_out_accuracies(part, units))
            row[f"Ral({share:.0%}){suffix}"] = percent(fall_interval(part, units))
            row[f"sd({share:.0%}){suffix}"] = float(100 * falls.std())
    return row


def masks(
    units: Sequence[Unit], chosen: Sequence[int] | np.ndarray
) -> dict[int, tuple[Example, tuple[Span, ...]]]:
    """The chosen units' spans, gathered by the identity of their example."""
    found: dict[int, tuple[Example, tuple[Span, ...]]] = {}
    for index in chosen:
        unit = units[int(index)]
        own = unit.spans or (Span(0, len(unit.example.text)),)
        before = found.get(id(unit.example), (unit.example, ()))[1]
        found[id(unit.example)] = (unit.example, (*before, *own))
    return found


def random_spans(example: Example, spans: Sequence[Span], seed: int) -> tuple[Span, ...]:
    """One run of words for each span, as many words, at a place drawn from the seed."""
    tokens = _word_places(example.text)
    if not tokens:
        return tuple(spans)
    rng = numpy_generator(seed, f"random span {example.id} {example.text}")
    found = []
    for span in spans:
        count = min(max(1, len(words(example.text[span.start : span.end]))), len(tokens))
        first = int(rng.integers(len(tokens) - count + 1))
        found.append(Span(tokens[first][0], tokens[first + count - 1][1]))
    return tuple(found)


def _word_places(text: str) -> list[tuple[int, int]]:
    places, at = [], 0
    lowered = text.lower()
    for word in words(text):
        start = lowered.index(word, at)
        at = start + len(word)
        if at <= len(text):  # lower-casing may lengthen a text: such a tail has no place in it
            places.append((start, at))
    return places
