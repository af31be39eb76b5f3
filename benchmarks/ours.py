"""The library itself, as a user calls it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from timing import Timed, timed
from workload import Workload

from spanfluence import Explainer, TextClassifier
from spanfluence.curvature.ggn import Ggn
from spanfluence.points import ModelPoint


def tracin(work: Workload, points: Sequence[ModelPoint] | None = None) -> Timed:
    """`tracin++` of the linear layers at the given points, from an empty store of trunk states."""
    chosen = work.points if points is None else points
    return fresh(work, work.linear, "tracin++", points=chosen)


def faithful(work: Workload, *, cold: bool = True) -> Timed:
    """`tracin++` at one point, the final model."""
    return fresh(work, work.classifier, "faithful", cold=cold)


def pinpoint(work: Workload, *, cold: bool = True) -> Timed:
    """Our own method, at one point."""
    return fresh(work, work.classifier, "pinpoint", cold=cold)


def if_by_ggn(work: Workload, sample: int = 256) -> Timed:
    """`if++` with exact Gauss-Newton solves for all tests; making the operator is counted."""
    return fresh(work, work.classifier, "if++", curvature=Ggn(sample=sample))


def fresh(
    work: Workload, classifier: TextClassifier, method: str, *, cold: bool = True, **options: object
) -> Timed:
    """Scores by a new explainer: examining the model's layers is counted, computing points is not.

    Cold begins with an empty store of trunk states; otherwise those of earlier runs are used.
    """

    def scores() -> np.ndarray:
        explainer = Explainer(classifier, work.train, method, label="given", **options)
        return explainer.scores(work.tests)

    if cold:
        classifier.states.clear()
    return timed(scores)


def bfloat16_scores(work: Workload) -> np.ndarray:
    """`faithful` in bfloat16."""
    loaded = TextClassifier.load(work.folder, dtype="bfloat16")
    return fresh(work, loaded, "faithful").scores
