"""LDS and span-LDS: do summed scores foretell what a model trained on other data would say?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.tables import Table, counted
from spanfluence.metrics import Interval, bootstrap_lds, lds
from spanfluence.retrain import Retrainer, accuracy, log_odds
from spanfluence.rng import numpy_generator
from spanfluence.scoring import SAME_LABEL, Scored
from spanfluence.units import Example, Span, Unit

KEPT = 0.5
"""Share of the instances (or of the spans) that a subset keeps."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What was foretold (tests, subsets) by each list, what came true, and the models behind it."""

    part: Bench
    retrainer: Retrainer
    predicted: dict[str, np.ndarray]
    actual: np.ndarray
    right: float
    """Share of the tests that the retrained models get right."""

    def interval(self, predicted: np.ndarray, minus: np.ndarray | None = None) -> Interval:
        """LDS of predictions, or its difference to that of others; tests about one sentence are one."""
        return bootstrap_lds(predicted, self.actual, minus=minus, groups=self.part.sentences)


def lds_table(bench: Bench) -> Table:
    """Subsets of instances: predicted = sum of the scores of the instances in the subset."""
    part = _part(bench)
    lists = part.scored
    inside = _coins(part, "lds subsets", len(part.train))
    found = _measured(
        part,
        {s.name: s.scores @ inside[:, s.owners(part.train)].T for s in lists},
        [[Unit(e) for e, there in zip(part.train, row, strict=True) if there] for row in inside],
        # Subsets differ a little in size, but not in how they are trained.
        round(KEPT * len(part.train)),
    )
    return _table("lds", "LDS", found, "instances")


def span_lds_table(bench: Bench, found: Measured | None = None) -> Table:
    """Random masks of training spans: predicted = sum of the scores of the spans left to see."""
    return _table("span_lds", "Span-LDS", found or span_lds(bench), "spans")


def span_lds(bench: Bench) -> Measured:
    """What the span-LDS table is made of.

    The score of a whole-text method is given to each span of the text: it does not know one from the
    other.
    """
    part = _part(bench)
    lists = part.scored
    units = part.units("span")
    visible = _coins(part, "span-lds masks", len(units))
    return _measured(
        part,
        {s.name: _spread(s, units, part.train) @ visible.T for s in lists},
        [_masked(part.train, units, row) for row in visible],
        len(part.train),
    )


def _part(bench: Bench) -> Bench:
    """One part for both measures, so that they explain one model and share its scores."""
    return bench.small("lds", bench.sizes.small_train, bench.sizes.small_tests)


def _coins(part: Bench, purpose: str, size: int) -> np.ndarray:
    rng = numpy_generator(part.seed, purpose)
    return (rng.random((part.sizes.subsets, size)) < KEPT).astype(np.float64)


def _masked(train: Sequence[Example], units: Sequence[Unit], visible: np.ndarray) -> list[Unit]:
    """Every example with those of its spans masked that are not visible."""
    hidden: dict[int, tuple[Span, ...]] = {}
    for unit, seen in zip(units, visible, strict=True):
        if not seen:
            own = unit.spans or (Span(0, len(unit.example.text)),)
            hidden[id(unit.example)] = (*hidden.get(id(unit.example), ()), *own)
    return [Unit(example, hidden.get(id(example), ())) for example in train]


def _spread(scored: Scored, units: Sequence[Unit], train: Sequence[Example]) -> np.ndarray:
    if scored.span_units or len(scored.units) == len(units):
        return scored.scores
    column = {id(unit.example): place for place, unit in enumerate(scored.units)}
    return scored.scores[:, [column[id(unit.example)] for unit in units]]


def _measured(
    part: Bench,
    predicted: dict[str, np.ndarray],
    trainings: Sequence[Sequence[Unit]],
    rows: int,
) -> Measured:
    """Retrain on every subset: log-odds of every test's label (tests, subsets), seeds averaged."""
    labels, retrainer = part.labels(part.tests), part.retrainer.for_rows(rows)
    columns, right = [], []
    for units in part.each("LDS, subsets", trainings, every=10):
        found = [
            retrainer.logits(units, part.tests, part.seed + s) for s in range(part.sizes.seeds)
        ]
        columns.append(np.mean([log_odds(logits, labels) for logits in found], axis=0))
        right += [accuracy(logits, labels) for logits in found]
    actual = np.stack(columns, axis=1)
    return Measured(part, retrainer, predicted, actual, float(np.mean(right)))


def _table(name: str, title: str, found: Measured, what: str) -> Table:
    part, predicted = found.part, found.predicted
    best = max(
        (n for n in predicted if n.split(SAME_LABEL)[0] in ("bm25", "embedding")),
        key=lambda n: lds(predicted[n], found.actual).mean(),
    )
    rows: list[dict[str, Any]] = [
        {
            "method": method,
            title: found.interval(own),
            f"above {best}": found.interval(own, minus=predicted[best]),
        }
        for method, own in predicted.items()
    ]
    return Table(
        name,
        f"{title}: {part.sizes.subsets} random halves of the {what} of {len(part.train)} training "
        f"rows, {len(part.tests)} tests, {counted(part.sizes.seeds, 'seed')}",
        rows,
        (
            "Spearman correlation, over subsets, of the summed scores with the log-odds of the test's "
            "label after retraining; mean over tests. Brackets: 95 % bootstrap interval that resamples "
            "subsets and tests together, since all tests share the subsets; tests about one sentence are "
            "resampled as one. The last column is the "
            "paired difference to the best word or embedding baseline.",
            f"Held-out accuracy of the explained model: {100 * part.accuracy:.1f} %, "
            f"{part.retrainer.course}. The retrained models get {100 * found.right:.1f} % of the "
            f"tests right, {found.retrainer.course}.",
        ),
    )
