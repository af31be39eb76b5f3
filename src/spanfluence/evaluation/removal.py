"""Ral: how much accuracy falls when the top of the combined list is taken out and the model retrained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spanfluence.evaluation.agreement import both_signs
from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.tables import Table, percent
from spanfluence.metrics import Interval, bootstrap_runs, combined, ral, top_share
from spanfluence.retrain import accuracy
from spanfluence.scoring import SAME_LABEL, Scored
from spanfluence.units import Example, Unit


def worth_retraining(lists: Sequence[Scored]) -> list[Scored]:
    """Each list costs hours of retraining: of the baselines, chance, BM25 and embeddings stand for all."""
    return [s for s in lists if s.name != "overlap" and not s.name.endswith(SAME_LABEL)]


def removal_bench(bench: Bench) -> Bench:
    """The bench itself, or its recipe on a part of the training set where sizes say so."""
    size = bench.sizes.removal_train
    if size is None or size >= len(bench.train):
        return bench
    return bench.small("removal", size)


def removal_table(bench: Bench) -> Table:
    """Accuracy in percent before minus after retraining without the top share; mean over seeds."""
    part = removal_bench(bench)
    lists = both_signs(worth_retraining(part.scored))
    before = held_out_accuracies(part, [Unit(example) for example in part.train])
    rows = []
    for scored in part.each("Ral, lists", lists):
        totals = combined(scored.scores, scored.owners(part.train), len(part.train))
        rows.append({"method": scored.name, **_falls(part, totals, before)})
    return Table(
        "ral",
        f"Ral: fall of accuracy in percent ({len(part.train)} training rows, "
        f"{len(part.held_out)} held-out rows, {part.sizes.seeds} seeds)",
        rows,
        (
            f"Accuracy before: {100 * np.mean(before):.2f} %. Brackets: 95 % bootstrap interval over "
            "held-out sentences and seeds, both resampled; sd: over seeds.",
        ),
    )


def _falls(part: Bench, totals: np.ndarray, before: Sequence[float]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for share in part.sizes.shares:
        out = set(top_share(totals, share, seed=part.seed).tolist())
        left = [Unit(example) for place, example in enumerate(part.train) if place not in out]
        after = held_out_accuracies(part, left)
        falls = ral(before, after)
        row[f"Ral({share:.0%})"] = percent(fall_interval(part, left))
        row[f"sd({share:.0%})"] = float(100 * falls.std(ddof=1)) if len(falls) > 1 else None
    return row


def held_out_accuracies(bench: Bench, units: Sequence[Unit]) -> list[float]:
    """Accuracy on the held-out rows after training on the units, one for each seed."""
    labels = bench.labels(bench.held_out)
    return [accuracy(logits, labels) for logits in _logits(bench, units, bench.held_out)]


def fall_interval(bench: Bench, units: Sequence[Unit]) -> Interval:
    """Fall of accuracy against training on everything, with an interval over seeds and sentences.

    Rows about one sentence are resampled together: the model reads the same words for all of them.
    """
    whole = [Unit(example) for example in bench.train]
    falls = _rights(bench, whole) - _rights(bench, units)
    return bootstrap_runs(falls, groups=[row.text for row in bench.held_out])


def _rights(bench: Bench, units: Sequence[Unit]) -> np.ndarray:
    """1 where a held-out row is answered rightly, a line for each seed."""
    labels = bench.labels(bench.held_out)
    found = [lg.argmax(axis=1) == labels for lg in _logits(bench, units, bench.held_out)]
    return np.array(found, dtype=np.float64)


def _logits(bench: Bench, units: Sequence[Unit], tests: Sequence[Example]) -> list[np.ndarray]:
    """One matrix for each seed; equal trainings come from the retrainer's cache."""
    return [
        bench.retrainer.logits(units, tests, bench.seed + number)
        for number in range(bench.sizes.seeds)
    ]
