"""Span-Ral: the top spans are masked in training, instead of whole instances being deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from spanfluence.baselines import words
from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.removal import (
    brackets,
    fall_interval,
    removal_bench,
    spread,
    worth_retraining,
)
from spanfluence.evaluation.tables import Table, counted
from spanfluence.metrics import Interval, ral, top_share
from spanfluence.rng import numpy_generator
from spanfluence.scoring import Scored
from spanfluence.units import Example, Span, Unit

CONTROL = ", other words of the same texts"


class Fall(NamedTuple):
    """What masking the top share of a list's spans does, and masking other words instead."""

    rows: np.ndarray
    """Rightness of the held-out rows before, minus after (seeds, rows)."""
    control: np.ndarray
    no_room: float
    """Share of the control's runs of words for which the text had no free place."""
    sentences: Sequence[str]
    """The text of each held-out row."""

    def interval(self, falls: np.ndarray) -> Interval:
        """Mean of falls of these rows, in percent."""
        return fall_interval(falls, self.sentences)


Falls = Mapping[str, Mapping[float, Fall]]


def span_removal_table(bench: Bench, falls: Falls | None = None) -> Table:
    """Fall of accuracy after masking the top share of spans, beside masking other words as many."""
    part = removal_bench(bench)
    falls = span_falls(bench) if falls is None else falls
    before = part.rights([Unit(example) for example in part.train])
    rows = [{"method": name, **_row(own)} for name, own in falls.items()]
    return Table(
        "span_ral",
        f"Span-Ral: fall of accuracy in percent after masking the top spans "
        f"({len(part.train)} training rows, {counted(part.sizes.seeds, 'seed')})",
        rows,
        (
            f"Accuracy before: {100 * np.mean(before):.2f} %; {part.retrainer.course}. The control masks as many other words of "
            "the same texts, beside the spans where there is room; 'no room': share of its runs of "
            f"words that had none and were drawn anywhere. {brackets(part.sizes.seeds)}",
        ),
    )


def span_falls(bench: Bench) -> dict[str, dict[float, Fall]]:
    """Every list of spans worth retraining, at every share.

    The control masks, in the same texts, as many words as the spans have, at a random place beside
    them: what is left of a method's fall above it is owed to the words, not to the choice of texts.
    """
    part = removal_bench(bench)
    lists = [scored for scored in worth_retraining(part.scored) if scored.span_units]
    return {
        scored.name: {share: _fall(part, scored, share) for share in part.sizes.shares}
        for scored in part.each("span-Ral, lists", lists)
    }


def _row(falls: Mapping[float, Fall]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for share, fall in falls.items():
        at = f"({share:.0%})"
        row[f"Ral{at}"] = fall.interval(fall.rows)
        row[f"sd{at}"] = spread(fall.rows)
        row[f"Ral{at}{CONTROL}"] = fall.interval(fall.control)
        row[f"sd{at}{CONTROL}"] = spread(fall.control)
        row[f"Ral{at} above its control"] = fall.interval(fall.rows - fall.control)
        row[f"no room{at}"] = fall.no_room
    return row


def _fall(part: Bench, scored: Scored, share: float) -> Fall:
    chosen = top_share(scored.scores.sum(axis=0), share, seed=part.seed)
    masked = masks(scored.units, chosen)
    own = {key: spans for key, (_, spans) in masked.items()}
    other, no_room = {}, 0
    for key, (example, spans) in masked.items():
        other[key], crowded = random_spans(example, spans, part.seed)
        no_room += crowded
    before = part.rights([Unit(example) for example in part.train])
    fall, control = (
        ral(before, part.rights([Unit(e, hidden.get(id(e), ())) for e in part.train]))
        for hidden in (own, other)
    )
    crowded_share = no_room / sum(len(spans) for spans in own.values())
    return Fall(fall, control, crowded_share, part.held_out_sentences)


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


def random_spans(
    example: Example, spans: Sequence[Span], seed: int
) -> tuple[tuple[Span, ...], int]:
    """One run of words for each span, as many words, at a place drawn from the seed.

    Runs lie beside all the spans and beside each other. Where a text has no room for that the run is
    drawn anywhere; the number says how often.
    """
    tokens = _word_places(example.text)
    if not tokens:
        return tuple(spans), len(spans)
    rng = numpy_generator(seed, f"random span {example.id} {example.text}")
    found: list[Span] = []
    crowded = 0
    for span in spans:
        count = min(max(1, len(words(example.text[span.start : span.end]))), len(tokens))
        runs = [
            Span(tokens[first][0], tokens[first + count - 1][1])
            for first in range(len(tokens) - count + 1)
        ]
        free = [run for run in runs if not any(_overlap(run, own) for own in (*spans, *found))]
        crowded += not free
        places = free or runs
        found.append(places[int(rng.integers(len(places)))])
    return tuple(found), crowded


def _overlap(a: Span, b: Span) -> bool:
    return a.start < b.end and b.start < a.end


def _word_places(text: str) -> list[tuple[int, int]]:
    places, at = [], 0
    lowered = text.lower()
    for word in words(text):
        start = lowered.index(word, at)
        at = start + len(word)
        if at <= len(text):  # lower-casing may lengthen a text: such a tail has no place in it
            places.append((start, at))
    return places
