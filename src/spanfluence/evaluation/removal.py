"""Ral: how much accuracy falls when the top of the combined list is taken out and the model retrained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from spanfluence.evaluation.agreement import both_signs
from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.tables import Table, counted, percent
from spanfluence.metrics import Interval, bootstrap_runs, combined, ral, top_share
from spanfluence.scoring import SAME_LABEL, Scored
from spanfluence.units import Unit

LOST = "label lost"


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
    before = part.rights([Unit(example) for example in part.train])
    rows = []
    for scored in part.each("Ral, lists", lists):
        totals = combined(scored.scores, scored.owners(part.train), len(part.train))
        rows.append({"method": scored.name, **_falls(part, totals, before)})
    return Table(
        "ral",
        f"Ral: fall of accuracy in percent ({len(part.train)} training rows, "
        f"{len(part.held_out)} held-out rows, {counted(part.sizes.seeds, 'seed')})",
        rows,
        (
            f"Accuracy before: {100 * np.mean(before):.2f} %; {part.retrainer.course}. "
            f"{brackets(part.sizes.seeds)}",
            f"'{LOST}': percent of the rows of the label that lost most of them. Near 100 the model that is left "
            "does not know that label, whatever words its rows had: the fall is then that of the label.",
        ),
    )


def _falls(part: Bench, totals: np.ndarray, before: np.ndarray) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for share in part.sizes.shares:
        out = set(top_share(totals, share, seed=part.seed).tolist())
        left = [Unit(example) for place, example in enumerate(part.train) if place not in out]
        falls = ral(before, part.rights(left))
        row[f"Ral({share:.0%})"] = fall_interval(falls, part.held_out_sentences)
        row[f"sd({share:.0%})"] = spread(falls)
        row[f"{LOST}({share:.0%})"] = 100 * _most_lost(part.labels(part.train), sorted(out))
    return row


def _most_lost(labels: np.ndarray, out: list[int]) -> float:
    """The largest share of a label's rows that is taken out."""
    before, gone = np.bincount(labels), np.bincount(labels[out], minlength=labels.max() + 1)
    return float(np.max(gone[before > 0] / before[before > 0]))


def fall_interval(
    falls: Float[np.ndarray, "seeds rows"], sentences: Sequence[str] | None
) -> Interval:
    """Mean fall in percent, with an interval over seeds and sentences.

    Rows about one sentence are resampled together: the model reads the same words for all of them.
    """
    return percent(bootstrap_runs(falls, groups=sentences))


def brackets(seeds: int) -> str:
    """What the intervals of falls speak of; a single training tells nothing about other trainings."""
    if seeds == 1:
        return (
            "Brackets: 95 % bootstrap interval over held-out sentences alone: with one seed the noise of "
            "retraining is not in them."
        )
    return (
        "Brackets: 95 % bootstrap interval over held-out sentences and seeds, both resampled; "
        "sd: over seeds."
    )


def spread(falls: Float[np.ndarray, "seeds rows"]) -> float | None:
    """Standard deviation of Ral over seeds, in percent; one seed has none."""
    return float(100 * falls.mean(axis=1).std(ddof=1)) if len(falls) > 1 else None
