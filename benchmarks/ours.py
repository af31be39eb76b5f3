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


def faithful(work: Workload, *, warm: bool = False) -> Timed:
    """`tracin++` at one point, the final model."""
    return fresh(work, work.classifier, "faithful", warm=warm)


def pinpoint(work: Workload, *, warm: bool = False) -> Timed:
    """Our own method, at one point."""
    return fresh(work, work.classifier, "pinpoint", warm=warm)


def if_by_ggn(work: Workload, sample: int = 256) -> Timed:
    """`if++` with exact Gauss-Newton solves for all tests; making the operator is counted."""
    return fresh(work, work.classifier, "if++", curvature=Ggn(sample=sample))


def fresh(
    work: Workload, classifier: TextClassifier, method: str, *, warm: bool = False, **options: object
) -> Timed:
    """Scores by a new explainer: examining the model's layers is counted, computing points is not.

    Cold means that no trunk state is stored; warm that those of every text are.
    """

    def scores() -> np.ndarray:
        explainer = Explainer(classifier, work.train, method, label="given", **options)
        return explainer.scores(work.tests)

    if warm:
        scores()
    else:
        classifier.states.clear()
    return timed(scores)
