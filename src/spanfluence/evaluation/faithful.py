"""Faithfulness: rank correlation of lists with those of the final model alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.tables import Table, percent
from spanfluence.metrics import bootstrap, faithfulness

ROWS = ("control", "tracin++", "if++")


def faithfulness_table(bench: Bench) -> Table:
    """Mean and variance (x 100, as in the paper) over tests and repetitions.

    A repetition draws new delta-faithful points, or a new order of LiSSA's instances. The checkpoints
    of control are fixed, so it is computed once.
    """
    part = replace(bench, tests=bench.tests[: bench.sizes.faithful_tests], name="faithfulness")
    truth = part.scores_of("faithful", {"method": "faithful"}).scores
    rows = [_row(part, name, truth) for name in ROWS if name in bench.methods]
    return Table(
        "faithfulness",
        f"Spearman correlation with the strictly faithful list, x 100, {len(part.tests)} tests",
        rows,
        ("Var.: 100 times the variance of the correlation over tests, mean over repetitions.",),
    )


def _row(part: Bench, name: str, truth: np.ndarray) -> dict[str, Any]:
    repeats = 1 if name == "control" else part.sizes.repetitions
    found = [
        faithfulness(part.scores_of(name, part.methods[name], seed=part.seed + r).scores, truth)
        for r in range(repeats)
    ]
    means = [each.mean for each in found]
    return {
        "method": name,
        "mean": percent(bootstrap(np.mean([each.each for each in found], axis=0))),
        "var.": 100 * float(np.mean([each.variance for each in found])),
        "sd over repetitions": 100 * float(np.std(means)),
        "repetitions": repeats,
    }
