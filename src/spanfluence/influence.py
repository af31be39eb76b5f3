"""The formula, streamed over the training set, in one place.

score(u', u) = sum_i w_i scale< P_i s(u'; theta_i), s(u; theta_i) > weight(u)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from spanfluence.allocator import keep_freed_memory
from spanfluence.batches import BATCH_TOKENS, Side, UnitBatch, UnitBatches, UnitGradients
from spanfluence.capture import Capture
from spanfluence.curvature import Operator
from spanfluence.errors import InputError
from spanfluence.gradients import (
    DenseGradient,
    LayerGradient,
    better_written_out,
    inner,
    stack,
    written_out,
)
from spanfluence.methods import Method
from spanfluence.model import TextClassifier
from spanfluence.points import ModelPoint


@dataclass(frozen=True, eq=False)
class Job:
    """One score matrix that is wanted: a method at its points, its tests and its training units."""

    method: Method
    points: Sequence[ModelPoint]
    operators: Sequence[Operator | None]  # P_i, applied to the test side
    tests: Side
    train: Side

    def bytes_per_test(self, classifier: TextClassifier) -> int:
        """Bytes that the gradients of one test take at all points."""
        solved = any(operator is not None for operator in self.operators)
        return bytes_per_test(classifier, len(self.points), solved=solved)


@dataclass(frozen=True, eq=False)
class _TestSide:
    """P_i s(u') of a block of tests at one point, in the order of its batches; `places` undoes it."""

    layers: list[LayerGradient]
    places: Int[np.ndarray, " tests"]

    @cached_property
    def square_norms(self) -> Float[Tensor, "layers tests"]:
        """Per layer."""
        return torch.stack([layer.square_norms() for layer in self.layers])


class Influence:
    """Score matrices of any number of jobs over one training set: texts are shared, and run once."""

    def __init__(self, classifier: TextClassifier, capture: Capture) -> None:
        self.classifier, self.capture = classifier, capture

    def scores(
        self,
        jobs: Sequence[Job],
        *,
        memory_bytes: int = 4 << 30,
        batch_tokens: int = BATCH_TOKENS,
        advance: Callable[[int], None] = lambda done: None,
    ) -> list[Float[np.ndarray, "tests units"]]:
        """A matrix per job. Training gradients are streamed; tests go in blocks that fit the memory.

        All jobs ask about the same number of tests. `advance` is called with the number of (test block,
        training unit) steps of the first job just done.
        """
        keep_freed_memory()
        results = [np.zeros((len(job.tests.units), len(job.train.units))) for job in jobs]
        train = UnitBatches(self.classifier, [job.train for job in jobs], batch_tokens)
        for block in self._blocks(jobs, memory_bytes):
            prepared = self._test_sides(jobs, block, batch_tokens)
            for batch in train:
                for number, scores in self._batch_scores(jobs, prepared, batch).items():
                    columns = batch.rows(number)
                    results[number][np.ix_(block, columns)] = scores.cpu().numpy()
                advance(len(batch.rows(0)))
        return [result.astype(np.float32) for result in results]

    def _blocks(self, jobs: Sequence[Job], memory_bytes: int) -> list[Int[np.ndarray, " rows"]]:
        each = sum(job.bytes_per_test(self.classifier) for job in jobs)
        if each > memory_bytes:
            raise InputError(
                f"one test needs {each / 1e9:.2f} GB for its gradients, more than the budget of "
                f"{memory_bytes / 1e9:.2f} GB: raise the memory or attribute fewer parameters"
            )
        tests = len(jobs[0].tests.units)
        return np.array_split(np.arange(tests), max(1, -(-tests // (memory_bytes // each))))

    def _test_sides(
        self, jobs: Sequence[Job], block: Int[np.ndarray, " rows"], batch_tokens: int
    ) -> list[list[_TestSide]]:
        """Per job and point. Jobs that differ only on the training side share theirs."""
        known: dict[Hashable, _TestSide] = {}
        prepared = []
        for job in jobs:
            method, tests = job.method, job.tests
            side = replace(
                tests, units=[tests.units[r] for r in block], label_ids=tests.label_ids[block]
            )
            own = []
            for point, operator in zip(job.points, job.operators, strict=True):
                columns = (tests.kind, method.target, method.contrast, method.locality)
                key = (id(tests.units), id(point), id(operator), columns)
                if key not in known:
                    known[key] = self._test_side(side, point, operator, batch_tokens)
                own.append(known[key])
            prepared.append(own)
        return prepared

    def _test_side(
        self, side: Side, point: ModelPoint, operator: Operator | None, batch_tokens: int
    ) -> _TestSide:
        pieces: list[list[LayerGradient]] = []
        order: list[int] = []
        with self.classifier.at(point.parameters):
            for batch in UnitBatches(self.classifier, [side], batch_tokens):
                pieces.append(batch.gradients(self.capture, [0])[0].layers)
                order.extend(batch.rows(0).tolist())
        layers = [
            written_out(parts)
            if operator is not None or better_written_out(parts)
            else stack(parts)
            for parts in zip(*pieces, strict=True)
        ]
        if operator is not None:
            solved = operator.solve([layer.dense() for layer in layers])
            layers = [DenseGradient(values) for values in solved]
        return _TestSide(layers, np.argsort(np.array(order)))

    def _batch_scores(
        self, jobs: Sequence[Job], prepared: Sequence[Sequence[_TestSide]], batch: UnitBatch
    ) -> dict[int, Float[Tensor, "tests units"]]:
        """Job number -> scores of the batch's units; every point is visited once for all jobs."""
        visits: dict[int, list[tuple[int, int]]] = {}
        for number, job in enumerate(jobs):
            for index, point in enumerate(job.points):
                visits.setdefault(id(point), []).append((number, index))
        totals: dict[int, Tensor] = {}
        for visit in visits.values():
            number, index = visit[0]
            with self.classifier.at(jobs[number].points[index].parameters):
                train = batch.gradients(self.capture, [number for number, _ in visit])
            for number, index in visit:
                if number in train:
                    scores = jobs[number].points[index].weight * _scores(
                        jobs[number].method, prepared[number][index], train[number]
                    )
                    totals[number] = totals[number] + scores if number in totals else scores
        return totals


def bytes_per_test(classifier: TextClassifier, points: int, *, solved: bool) -> int:
    """Bytes that the gradients of one test take; a solve holds vectors, solution and products."""
    own = sum(4 * p.numel() for p in classifier.attributed.values())
    return points * own * (3 if solved else 1)


def _scores(method: Method, tests: _TestSide, train: UnitGradients) -> Float[Tensor, "tests units"]:
    products = torch.stack([inner(a, b) for a, b in zip(tests.layers, train.layers, strict=True)])
    products = products.double()
    scores = (
        products.sum(0)
        if method.scale == "none"
        else cosines(products, tests.square_norms, train.square_norms(), method.scale)
    )
    return weighted(scores[tests.places], train.importance, method.weight)


def cosines(
    products: Float[Tensor, "layers tests units"],
    test_norms: Float[Tensor, "layers tests"],
    train_norms: Float[Tensor, "layers units"],
    scale: str,
) -> Float[Tensor, "tests units"]:
    """From inner products and squared norms per layer: the "cosine" of the whole gradients, or
    "layer-cosine", the mean of the layers' own cosines.

    The mean is over those layers that have a gradient on both sides; a unit without any scores 0.
    """
    if scale == "cosine":
        products = products.sum(0, keepdim=True)
        test_norms, train_norms = test_norms.sum(0, keepdim=True), train_norms.sum(0, keepdim=True)
    lengths = (test_norms[:, :, None].double() * train_norms[:, None, :].double()).sqrt()
    there = lengths > 0
    cosines = torch.where(there, products / lengths.where(there, 1.0), 0.0)
    return cosines.sum(0) / there.sum(0).clamp_min(1)


def weighted(
    scores: Float[Tensor, "tests units"], importance: Float[Tensor, " units"] | None, weight: str
) -> Float[Tensor, "tests units"]:
    """Scores times the importance of the training span, where the method asks for it."""
    if weight == "none" or importance is None:
        return scores
    return scores * (importance.clamp_min(0) if weight == "positive-importance" else importance)
