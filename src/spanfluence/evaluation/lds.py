"""LDS and span-LDS: do summed scores foretell what a model trained on other data would say?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.tables import Table
from spanfluence.metrics import bootstrap, lds
from spanfluence.retrain import log_odds
from spanfluence.rng import numpy_generator
from spanfluence.scoring import SAME_LABEL, Scored
from spanfluence.units import Example, Span, Unit

KEPT = 0.5
"""Share of the instances (or of the spans) that a subset keeps."""


def lds_table(bench: Bench) -> Table:
    """Subsets of instances: predicted = sum of the scores of the instances in the subset."""
    part = bench.small("lds", bench.sizes.small_train, bench.sizes.small_tests)
    lists = part.scored
    inside = _coins(part, "lds subsets", len(part.train))
    actual = _outputs(
        part,
        [[Unit(e) for e, there in zip(part.train, row, strict=True) if there] for row in inside],
    )
    found = {s.name: lds(s.scores @ inside[:, s.owners(part.train)].T, actual) for s in lists}
    return _table("lds", "LDS", found, part, "instances")


def span_lds_table(bench: Bench) -> Table:
    """Random masks of training spans: predicted = sum of the scores of the spans left to see.

    The score of a whole-text method is given to each span of the text: it does not know one from the
    other.
    """
    part = bench.small("span-lds", bench.sizes.small_train, bench.sizes.small_tests)
    lists = part.scored
    units = part.units("span")
    visible = _coins(part, "span-lds masks", len(units))
    actual = _outputs(part, [_masked(part.train, units, row) for row in visible])
    found = {s.name: lds(_spread(s, units, part.train) @ visible.T, actual) for s in lists}
    return _table("span_lds", "Span-LDS", found, part, "spans")


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


def _outputs(part: Bench, trainings: Sequence[Sequence[Unit]]) -> np.ndarray:
    """Log-odds of every test's label after each training (tests, subsets), seeds averaged."""
    labels = part.labels(part.tests)
    columns = []
    for units in part.each("LDS, subsets", trainings, every=10):
        found = [
            log_odds(part.retrainer.logits(units, part.tests, part.seed + s), labels)
            for s in range(part.sizes.seeds)
        ]
        columns.append(np.mean(found, axis=0))
    return np.stack(columns, axis=1)


def _table(name: str, title: str, found: dict[str, np.ndarray], part: Bench, what: str) -> Table:
    rows: list[dict[str, Any]] = [
        {"method": method, title: bootstrap(each)} for method, each in found.items()
    ]
    best = max(
        (n for n in found if n.split(SAME_LABEL)[0] in ("bm25", "embedding")),
        key=lambda n: found[n].mean(),
    )
    for row in rows:
        row[f"above {best}"] = bootstrap(found[str(row["method"])] - found[best])
    return Table(
        name,
        f"{title}: {part.sizes.subsets} random halves of the {what} of {len(part.train)} training "
        f"rows, {len(part.tests)} tests, {part.sizes.seeds} seeds",
        rows,
        (
            "Spearman correlation, over subsets, of the summed scores with the log-odds of the test's "
            "label after retraining; mean over tests with a 95 % bootstrap interval. The last column is "
            "the paired difference to the best word or embedding baseline.",
        ),
    )
