"""The formula, streamed over the training set, in one place.

score(u', u) = sum_i w_i scale< P_i s(u'; theta_i), s(u; theta_i) > weight(u)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from spanfluence.allocator import BoundedHeap, keep_freed_memory, reusing_blocks
from spanfluence.batches import (
    BATCH_TOKENS,
    Members,
    Side,
    UnitBatch,
    UnitBatches,
    UnitGradients,
)
from spanfluence.capture import Capture
from spanfluence.crew import Crew, crew
from spanfluence.curvature import Operator, Spent
from spanfluence.errors import InputError, NumericsError
from spanfluence.finite import check_finite
from spanfluence.gradients import DenseGradient, LayerGradient
from spanfluence.inner_products import better_written_out, inner, written_out
from spanfluence.jobs import Job, SideKey, Visit, bytes_per_test, size, visits_of
from spanfluence.methods import Method
from spanfluence.model import TextClassifier
from spanfluence.nearby import (
    Sample,
    TooFarError,
    check,
    mean_gradient,
    shares,
)
from spanfluence.points import ModelPoint
from spanfluence.precise import precise
from spanfluence.units import Unit


@dataclass(frozen=True, eq=False)
class _TestSide:
    """P_i s(u') of a block of tests in one visit, in the order of its batches; `places` undoes it."""

    units: Sequence[Unit]
    layers: list[LayerGradient]
    places: Int[np.ndarray, " tests"]
    sample: Sample | None

    @cached_property
    def square_norms(self) -> Float[Tensor, "layers tests"]:
        """Per layer."""
        return torch.stack([layer.square_norms() for layer in self.layers])


class GroupScores(NamedTuple):
    """What some batches gave in one visit."""

    rows: list[Int[np.ndarray, " units"]]
    """The units of each job that they hold, as indices."""
    scores: dict[int, Float[Tensor, "tests units"]]
    """By the number of the job; of jobs that want this point and have units here."""


GROUP = 4
"""Batches whose products with the tests are taken together: the tests' gradients, which are far larger
than a cache, are read once for all of them."""


class Influence:
    """Score matrices of any number of jobs over one training set: texts are shared, and run once."""

    def __init__(self, classifier: TextClassifier, capture: Capture) -> None:
        self.classifier, self.capture = classifier, capture

    @reusing_blocks()
    def scores(
        self,
        jobs: Sequence[Job],
        *,
        memory_bytes: int = 4 << 30,
        batch_tokens: int = BATCH_TOKENS,
        advance: Callable[[int], None] = lambda done: None,
    ) -> list[Float[np.ndarray, "tests units"]]:
        """A matrix per job. Training gradients are streamed; tests go in blocks that fit the memory.

        All jobs ask about the same number of tests. `advance` is called with parts of the number of
        training units of the first job, which come to that number in the end.

        Points are visited one after the other, each for all jobs and training units, so that the tests'
        gradients of one point alone lie in memory; those near each other in one visit (`nearby`), where every
        score is a plain sum over them. The states of the frozen trunk wait in their store.
        """
        keep_freed_memory()
        train = UnitBatches(self.classifier, [job.train for job in jobs], batch_tokens)
        progress = _Progress(advance)
        with crew(self.capture) as hands:
            found = None
            # Suppressed, not handled here: its frames, which hold the tests, are gone then.
            with suppress(TooFarError):
                visits = visits_of(jobs)
                found = self._scores(jobs, visits, train, memory_bytes, progress, hands)
            if found is None:
                visits = visits_of(jobs, together=False)
                found = self._scores(jobs, visits, train, memory_bytes, progress, hands)
        return [scores.astype(np.float32) for scores in found]

    def _scores(
        self,
        jobs: Sequence[Job],
        visits: Sequence[Visit],
        train: UnitBatches,
        memory_bytes: int,
        progress: _Progress,
        hands: Crew,
    ) -> list[Float[np.ndarray, "tests units"]]:
        heap = BoundedHeap()
        results = [np.zeros((len(job.tests.units), len(job.train.units))) for job in jobs]
        blocks = self._blocks(jobs, visits, memory_bytes)
        progress.begin(len(blocks) * len(visits))
        for block, visit in itertools.product(blocks, visits):
            with closing(self._visited(jobs, visit, block, train, hands)) as groups:
                for rows, found in groups:
                    for number, scores in found.items():
                        results[number][np.ix_(block, rows[number])] += scores.numpy()
                    progress.count(len(rows[0]))
                    heap.after_batch()
        return results

    def _visited(
        self,
        jobs: Sequence[Job],
        visit: Visit,
        block: Int[np.ndarray, " rows"],
        train: UnitBatches,
        hands: Crew,
    ) -> Generator[GroupScores, None, None]:
        """All training batches in groups, with their scores for a block of tests."""
        tests = self._test_sides(jobs, visit, block, train.batch_tokens, hands)
        groups = _groups(list(train.members()), hands.team.count)

        def work(capture: Capture, group: Sequence[Members]) -> GroupScores:
            batches = [UnitBatch(capture.classifier, train.sides, own) for own in group]
            return _group_scores(jobs, visit, tests, capture, batches)

        with closing(hands.stream(work, groups)) as found:
            yield from found

    def _blocks(
        self, jobs: Sequence[Job], visits: Sequence[Visit], memory_bytes: int
    ) -> list[Int[np.ndarray, " rows"]]:
        each = max(
            bytes_per_test(self.classifier, {jobs[number].side_key(i) for number, i in visit.jobs})
            for visit in visits
        )
        if each > memory_bytes:
            raise InputError(
                f"one test needs {size(each)} for its gradients, more than the budget of "
                f"{size(memory_bytes)}: raise the memory or attribute fewer parameters"
            )
        tests = len(jobs[0].tests.units)
        return np.array_split(np.arange(tests), max(1, -(-tests // (memory_bytes // each))))

    def _test_sides(
        self,
        jobs: Sequence[Job],
        visit: Visit,
        block: Int[np.ndarray, " rows"],
        batch_tokens: int,
        hands: Crew,
    ) -> list[_TestSide]:
        """Per visitor. Jobs that differ only on the training side share theirs."""
        known: dict[SideKey, _TestSide] = {}
        prepared = []
        for number, index in visit.jobs:
            tests, operator = jobs[number].tests, jobs[number].operators[index]
            key = jobs[number].side_key(index)
            if key not in known:
                units, label_ids = [tests.units[r] for r in block], tests.label_ids[block]
                side = replace(tests, units=units, label_ids=label_ids)
                known[key] = self._test_side(visit.points, side, operator, batch_tokens, hands)
            prepared.append(known[key])
        return prepared

    def _test_side(
        self,
        points: Sequence[ModelPoint],
        side: Side,
        operator: Operator | None,
        batch_tokens: int,
        hands: Crew,
    ) -> _TestSide:
        def work(capture: Capture, own: Members) -> tuple[UnitBatch, _Taken]:
            batch = UnitBatch(capture.classifier, [side], own)
            return batch, _taken(points, capture, batch, [0])[0]

        members = UnitBatches(self.classifier, [side], batch_tokens).members()
        batches, taken = zip(*hands.stream(work, members), strict=True)
        sample = taken[0].sample
        if sample is not None:  # told before any training text is run
            check(points, sample, sample)
        gradients = [own.gradients for own in taken]
        order, found = _rows_of(batches, 0), UnitGradients.joined(gradients)
        layers: list[LayerGradient]
        if operator is not None:
            # Solutions in the place of the gradients: as much new memory would have to be cleared first.
            block = Spent(hands.team.map(lambda layer: layer.dense(), found.layers))
            solved = operator.solve(block)
            layers = [DenseGradient(values) for values in solved]
        else:
            layers = hands.team.map(_prepared, found.layers)
        return _TestSide([side.units[row] for row in order], layers, np.argsort(order), sample)


class _Taken(NamedTuple):
    """s(u) of a batch of units in one visit."""

    gradients: UnitGradients
    sample: Sample | None
    """Where they stand for several points: some of them point by point."""


def _taken(
    points: Sequence[ModelPoint], capture: Capture, batch: UnitBatch, numbers: Sequence[int]
) -> dict[int, _Taken]:
    """By side of the batch. Each worker takes its own classifier to the points."""
    each = []
    for point in points:
        with capture.classifier.at(point.parameters):
            each.append(batch.gradients(capture, numbers))
    if len(points) == 1:
        return {number: _Taken(found, None) for number, found in each[0].items()}
    return {number: _together(points, [found[number] for found in each]) for number in each[0]}


def _together(points: Sequence[ModelPoint], each: Sequence[UnitGradients]) -> _Taken:
    """Gradients at several points as one, see `nearby`."""
    own = shares(points)
    by_point = [gradients.layers for gradients in each]
    layers = [mean_gradient(layer, own) for layer in zip(*by_point, strict=True)]
    return _Taken(UnitGradients(layers, None), Sample.of(by_point, own))


def _prepared(tests: LayerGradient) -> LayerGradient:
    """A block of tests as training units will meet it."""
    return written_out(tests) if better_written_out(tests) else tests


def _group_scores(
    jobs: Sequence[Job],
    visit: Visit,
    tests: Sequence[_TestSide],
    capture: Capture,
    group: Sequence[UnitBatch],
) -> GroupScores:
    """Scores of the group's units, times the weight of what is visited."""
    wanted = [number for number, _ in visit.jobs]
    train = [_taken(visit.points, capture, batch, wanted) for batch in group]
    rows = [_rows_of(group, number) for number in range(len(jobs))]
    found: dict[int, Tensor] = {}
    for number, side in zip(wanted, tests, strict=True):
        own = [taken[number] for taken in train if number in taken]
        if own:
            job, joined = jobs[number], UnitGradients.joined([taken.gradients for taken in own])
            scores = visit.weight * _scores(job.method, side, joined)
            units = [job.train.units[row] for row in rows[number]]
            _check_finite(scores, side, joined, units)
            _check_near(visit.points, side, own[0])
            # A point that a job lists twice counts twice.
            found[number] = found[number] + scores if number in found else scores
    return GroupScores(rows, found)


def _check_near(points: Sequence[ModelPoint], tests: _TestSide, train: _Taken) -> None:
    """Raise where points that are taken together are not near enough for some units."""
    if tests.sample is not None and train.sample is not None:
        check(points, tests.sample, train.sample)


def _groups(batches: Sequence[Members], workers: int) -> Iterator[Sequence[Members]]:
    """At most `GROUP` batches each, as many groups for every worker, of nearly one size."""
    count = min(len(batches), workers * -(-len(batches) // (workers * GROUP)))
    cuts = [len(batches) * number // count for number in range(count + 1)]
    return (batches[first:after] for first, after in itertools.pairwise(cuts))


def _rows_of(group: Sequence[UnitBatch], number: int) -> Int[np.ndarray, " units"]:
    """The units of a job that the batches hold, as indices."""
    return np.concatenate([batch.rows(number) for batch in group])


class _Progress:
    """Counts units that come in several turns so that one advance is made per unit; what is taken again, after
    all, is not counted twice."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance, self._told = advance, 0

    def begin(self, turns: int) -> None:
        """From the first unit, which will come in so many turns."""
        self._turns, self._done = turns, 0

    def count(self, units: int) -> None:
        """Units of one turn."""
        self._done += units
        step = self._done // self._turns - self._told
        if step > 0:
            self._told += step
            self._advance(step)


def _check_finite(
    scores: Float[Tensor, "tests units"],
    tests: _TestSide,
    train: UnitGradients,
    units: Sequence[Unit],
) -> None:
    """Raise with the unit whose gradients gave scores that are no numbers.

    Scores do not tell it: one product is taken for many units, and a NaN in it spreads.
    """
    if bool(scores.isfinite().all()):
        return
    for norms, own in ((tests.square_norms, tests.units), (train.square_norms(), units)):
        finite = norms.sum(0).isfinite().cpu().numpy()
        check_finite(finite, [unit.example for unit in own], "gradients that are")
    raise NumericsError("the scores are not finite: check the model's weights")


def _scores(method: Method, tests: _TestSide, train: UnitGradients) -> Float[Tensor, "tests units"]:
    products = precise(
        torch.stack([inner(a, b) for a, b in zip(tests.layers, train.layers, strict=True)])
    )
    scores = (
        products.sum(0)
        if method.scale == "none"
        else cosines(
            products, precise(tests.square_norms), precise(train.square_norms()), method.scale
        )
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

    The mean is over those layers that have a gradient on both sides; a unit without any scores 0, and one
    with a gradient that is not finite scores NaN.
    """
    if scale == "cosine":
        products = products.sum(0, keepdim=True)
        test_norms, train_norms = test_norms.sum(0, keepdim=True), train_norms.sum(0, keepdim=True)
    lengths = (test_norms[:, :, None] * train_norms[:, None, :]).sqrt()
    there = lengths != 0
    cosines = torch.where(there, products / lengths.where(there, 1.0), 0.0)
    cosines = cosines.where(lengths.isfinite(), torch.nan)
    return cosines.sum(0) / there.sum(0).clamp_min(1)


def weighted(
    scores: Float[Tensor, "tests units"], importance: Float[Tensor, " units"] | None, weight: str
) -> Float[Tensor, "tests units"]:
    """Scores times the importance of the training span, where the method asks for it."""
    if weight == "none" or importance is None:
        return scores
    own = precise(importance)
    return scores * (own.clamp_min(0) if weight == "positive-importance" else own)
