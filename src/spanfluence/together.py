"""Several explainers over one model and training set in one pass: texts, points and solves run once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from spanfluence.capture import Capture
from spanfluence.curvature import Operator
from spanfluence.curvature.problem import Curvature, TrainingProblem
from spanfluence.errors import InputError
from spanfluence.influence import Influence
from spanfluence.jobs import Job
from spanfluence.methods import UnitKind
from spanfluence.points import DeltaFaithful, ModelPoint
from spanfluence.units import Example, Unit, listed

if TYPE_CHECKING:
    from spanfluence.explain import Explainer


class Shared:
    """What explainers over one model and training set have in common."""

    def __init__(self) -> None:
        self.points: dict[tuple[str, DeltaFaithful, int], list[ModelPoint]] = {}
        # The caller's own points, by identity: the first of each pair keeps that identity alive.
        self.given: dict[int, tuple[ModelPoint, ModelPoint]] = {}
        self.units: dict[str, list[Unit]] = {}
        self.operators: dict[tuple[Curvature, int], Operator] = {}
        self.capture: Capture | None = None
        self.problem: TrainingProblem | None = None


def scores_together(
    explainers: Sequence[Explainer],
    tests: Sequence[Example],
    *,
    advance: Callable[[int], None] = lambda done: None,
) -> list[Float[np.ndarray, "tests units"]]:
    """`scores` of several explainers in one pass over their training set.

    They must be made from each other by `also`: texts, points and solves that they share run once.
    """
    first = explainers[0]
    if any(other.shared is not first.shared for other in explainers):
        raise InputError("explainers can run together only if made from each other: use .also(...)")
    tests = listed(tests, "tests")
    if not tests:
        return [explainer.no_scores() for explainer in explainers]
    units = as_test_units(tests)
    labels = {e.label: first.classifier.label_ids(tests, e.label) for e in explainers}
    jobs = [e.job(units[e.method.units[0]], labels[e.label]) for e in explainers]
    return run_jobs(explainers, jobs, advance)


def as_test_units(tests: Sequence[Example]) -> dict[UnitKind, list[Unit]]:
    """Tests as units of either kind; all spans of a test are taken together."""
    return {
        "span": [Unit(test, test.spans) for test in tests],
        "instance": [Unit(test) for test in tests],
    }


def run_jobs(
    explainers: Sequence[Explainer], jobs: Sequence[Job], advance: Callable[[int], None]
) -> list[Float[np.ndarray, "tests units"]]:
    """Score matrices of jobs, in each explainer's sign."""
    first = explainers[0]
    found = Influence(first.classifier, first.capture).scores(
        jobs, memory_bytes=first.memory_bytes, batch_tokens=first.batch_tokens, advance=advance
    )
    return [
        scores * np.float32(e.method.paper_sign if e.sign == "paper" else 1)
        for e, scores in zip(explainers, found, strict=True)
    ]
