"""What is asked of the formula: score matrices, and in which order their points are visited."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spanfluence.batches import Side
from spanfluence.curvature import Operator
from spanfluence.methods import Method
from spanfluence.model import TextClassifier
from spanfluence.nearby import worth_trying
from spanfluence.points import ModelPoint


class SideKey(NamedTuple):
    """What P s(u') depends on beside its point: methods with equal keys share one test side."""

    tests: Hashable  # which tests, asked about which labels
    operator: Hashable  # None for the identity
    kind: str
    target: str
    contrast: str
    locality: str

    @classmethod
    def of(cls, method: Method, *, tests: Hashable, operator: Hashable) -> SideKey:
        """The key of a method's test side."""
        columns = (method.units[0], method.target, method.contrast, method.locality)
        return cls(tests, operator, *columns)


@dataclass(frozen=True, eq=False)
class Job:
    """One score matrix that is wanted: a method at its points, its tests and its training units."""

    method: Method
    points: Sequence[ModelPoint]
    operators: Sequence[Operator | None]  # P_i, applied to the test side
    tests: Side
    train: Side

    def side_key(self, index: int) -> SideKey:
        """The key of the test side at one of the points."""
        tests = (id(self.tests.units), id(self.tests.label_ids))
        operator = self.operators[index]
        return SideKey.of(
            self.method, tests=tests, operator=None if operator is None else id(operator)
        )

    @property
    def additive(self) -> bool:
        """Whether the score is a plain sum of inner products over the points."""
        plain = self.method.scale == "none" and self.method.weight == "none"
        return plain and all(operator is None for operator in self.operators)

    def bytes_per_test(self, classifier: TextClassifier) -> int:
        """Bytes that the gradients of one test take."""
        return max(bytes_per_test(classifier, {self.side_key(i)}) for i in range(len(self.points)))


def bytes_per_test(classifier: TextClassifier, sides: Collection[SideKey]) -> int:
    """Bytes that the gradients of one test take at one point, on all of these test sides.

    Sides are solved one after the other, and a solve holds the vectors and products beside the solution.
    """
    own = sum(4 * p.numel() for p in classifier.attributed.values())
    solved = any(side.operator is not None for side in sides)
    return own * (len(sides) + (2 if solved else 0))


def size(count: float) -> str:
    """Bytes as a person reads them."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


class Visit(NamedTuple):
    """One point, or several that are taken together; and who wants them."""

    points: Sequence[ModelPoint]
    jobs: list[tuple[int, int]]
    """By number; each with the place of the first of these points in its own list."""

    @property
    def weight(self) -> float:
        """Of all its points."""
        return sum(point.weight for point in self.points)


def visits_of(jobs: Sequence[Job], *, together: bool = True) -> list[Visit]:
    """The distinct points of all jobs, each with those who want it; near ones `together` where that can be."""
    lists: dict[tuple[int, ...], list[int]] = {}
    for number, job in enumerate(jobs):
        lists.setdefault(tuple(id(point) for point in job.points), []).append(number)
    visits: list[Visit] = []
    alone: dict[int, Visit] = {}
    for own, numbers in lists.items():
        points = jobs[numbers[0]].points
        apart = any(set(own) & set(other) for other in lists if other != own)
        plain = all(jobs[number].additive for number in numbers)
        if together and plain and not apart and worth_trying(points):
            visits.append(Visit(points, [(number, 0) for number in numbers]))
            continue
        for number, (index, point) in itertools.product(numbers, enumerate(points)):
            known = alone.setdefault(id(point), Visit([point], []))
            known.jobs.append((number, index))
    return [*visits, *alone.values()]
