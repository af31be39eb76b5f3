"""Metrics: pure functions of (scores, truth). Nothing here trains, loads or draws.

Scores are matrices (tests, units): higher supports the test more. Every metric that is a mean over tests
returns the values of the single tests, so that `bootstrap` can say how sure the mean is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from spanfluence.errors import InputError
from spanfluence.rng import numpy_generator

Matrix = Float[np.ndarray, "tests units"]
Order = Int[np.ndarray, "tests units"]


class Interval(NamedTuple):
    """A mean and the ends of its bootstrap interval."""

    mean: float
    low: float
    high: float


class Faithfulness(NamedTuple):
    """Spearman correlation with a truth: mean and variance over tests, and the value of each test."""

    mean: float
    variance: float
    each: Float[np.ndarray, " tests"]


# Ranking ------------------------------------------------------------------------------------------


def ranking(scores: Matrix, *, seed: int = 0) -> Order:
    """Units of each test from the highest score to the lowest.

    Ties stand in an order drawn from the seed, anew for each test: a baseline with many equal scores
    must not profit from the order of the file.
    """
    scores = np.asarray(scores)
    _check_ranked(scores)
    rng = numpy_generator(seed, "ties")
    order = np.empty(scores.shape, dtype=np.int64)
    for row, values in enumerate(scores):
        shuffled = rng.permutation(len(values))
        order[row] = shuffled[np.argsort(-values[shuffled], kind="stable")]
    return order


def _check_ranked(scores: np.ndarray) -> None:
    if np.isnan(scores).any():
        raise InputError("the scores hold NaN: a list cannot be ranked by them")


def check_k(k: int, units: int) -> None:
    """Raise unless a list of `units` has a top `k`."""
    if not 1 <= k <= units:
        raise InputError(f"K={k} does not fit a list of {units} training units: use 1 to {units}")


def top_means(order: Order, values: Matrix, ks: Sequence[int]) -> Float[np.ndarray, "tests ks"]:
    """Mean of `values` over the first K units of each test's list, for every K."""
    for k in ks:
        check_k(k, order.shape[1])
    sorted_values = np.take_along_axis(np.asarray(values, dtype=np.float64), order, axis=1)
    sums = np.cumsum(sorted_values[:, : max(ks)], axis=1)
    return np.stack([sums[:, k - 1] / k for k in ks], axis=1)


# Agreement ----------------------------------------------------------------------------------------


def cosines(
    tests: Float[np.ndarray, "tests hidden"], units: Float[np.ndarray, "units hidden"]
) -> Matrix:
    """Cosine of every test embedding with every unit embedding; 0 where one of them is zero."""
    return np.asarray(_unit_rows(tests) @ _unit_rows(units).T)


def _unit_rows(rows: Float[np.ndarray, "rows hidden"]) -> Float[np.ndarray, "rows hidden"]:
    rows = np.asarray(rows, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


def agreement(test_labels: Sequence[object], unit_labels: Sequence[object]) -> Matrix:
    """1 where test and unit have the same label, else 0."""
    if len(set(map(str, unit_labels))) < 2:
        raise InputError(
            "all training units have one label: label agreement says nothing with a single class"
        )
    tests, units = np.array(list(map(str, test_labels))), np.array(list(map(str, unit_labels)))
    same: Matrix = (tests[:, None] == units[None, :]).astype(np.float64)
    return same


def sag(order: Order, cosine: Matrix, k: int) -> Float[np.ndarray, " tests"]:
    """Semantic agreement: mean cosine of the top K units' embeddings with the test's (`cosines`)."""
    return top_means(order, cosine, [k])[:, 0]


def lag(order: Order, agrees: Matrix, k: int) -> Float[np.ndarray, " tests"]:
    """Label agreement: share of the top K units that have the test's label (`agreement`)."""
    return top_means(order, agrees, [k])[:, 0]


def curves(
    order: Order, values: Matrix, ks: Sequence[int]
) -> list[tuple[int, Float[np.ndarray, " tests"]]]:
    """(K, value per test) for every K: Sag from cosines, Lag from agreement."""
    means = top_means(order, values, ks)
    return [(k, means[:, column]) for column, k in enumerate(ks)]


def precision_at_k(
    order: Order, relevant: Bool[np.ndarray, " units"], k: int
) -> Float[np.ndarray, " tests"]:
    """Share of the top K units that are among the relevant ones."""
    relevance = np.broadcast_to(np.asarray(relevant, dtype=np.float64), order.shape)
    return top_means(order, relevance, [k])[:, 0]


# Removal ------------------------------------------------------------------------------------------


def combined(
    scores: Matrix, owners: Int[np.ndarray, " units"], instances: int
) -> Float[np.ndarray, " instances"]:
    """One score per training instance: the lists of all tests, and its spans, combined by addition."""
    totals = np.zeros(instances)
    np.add.at(totals, np.asarray(owners), np.asarray(scores, dtype=np.float64).sum(axis=0))
    return totals


def top_share(
    values: Float[np.ndarray, " items"], share: float, *, seed: int = 0
) -> Int[np.ndarray, " chosen"]:
    """Indices of the highest `share` of the values, highest first; ties as in `ranking`."""
    if not 0 < share < 1:
        raise InputError(f"share={share!r} must lie between 0 and 1")
    count = max(1, round(share * len(values)))
    return ranking(np.asarray(values)[None, :], seed=seed)[0, :count]


def ral(
    before: Sequence[float] | np.ndarray, after: Sequence[float] | np.ndarray
) -> Float[np.ndarray, seeds * rows]:
    """Accuracy (or rightness of single rows) before minus after retraining without the top, per seed."""
    if len(before) != len(after) or not len(before):
        raise InputError(f"{len(before)} accuracies before and {len(after)} after: give pairs")
    return np.asarray(before, dtype=np.float64) - np.asarray(after, dtype=np.float64)


# Correlation --------------------------------------------------------------------------------------


def average_ranks(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Ranks from 1; equal values share the mean of their ranks."""
    _check_ranked(values)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def spearman(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"]) -> float:
    """Rank correlation; 0 where one side is constant, since it then orders nothing."""
    if len(a) != len(b) or len(a) < 2:
        raise InputError(
            f"cannot correlate lists of {len(a)} and {len(b)} values: give two or more"
        )
    x, y = (average_ranks(np.asarray(side, dtype=np.float64)) for side in (a, b))
    x, y = x - x.mean(), y - y.mean()
    length = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / length if length > 0 else 0.0


def faithfulness(scores: Matrix, truth: Matrix) -> Faithfulness:
    """Spearman of each test's list with the list of the truth; mean and variance over the tests."""
    if scores.shape != truth.shape or not len(scores):
        raise InputError(
            f"scores {scores.shape} and truth {truth.shape} must be equal and not empty"
        )
    each = np.array([spearman(a, b) for a, b in zip(scores, truth, strict=True)])
    return Faithfulness(float(each.mean()), float(each.var()), each)


def lds(
    predicted: Float[np.ndarray, "tests subsets"], actual: Float[np.ndarray, "tests subsets"]
) -> Float[np.ndarray, " tests"]:
    """Linear datamodelling score: Spearman, over subsets, of predicted and true output of each test."""
    return faithfulness(np.asarray(predicted), np.asarray(actual)).each


def auc(scores: Float[np.ndarray, " n"], positive: Bool[np.ndarray, " n"]) -> float:
    """Chance that a positive scores above a negative; a tie counts half."""
    positive = np.asarray(positive, dtype=bool)
    hits = int(positive.sum())
    if hits in (0, len(positive)):
        raise InputError("AUC needs both kinds: all items are " + ("hits" if hits else "misses"))
    ranks = average_ranks(np.asarray(scores, dtype=np.float64))
    return float(ranks[positive].sum() - hits * (hits + 1) / 2) / (hits * (len(positive) - hits))


# Uncertainty --------------------------------------------------------------------------------------


def bootstrap(
    values: Sequence[float] | Float[np.ndarray, " n"],
    *,
    groups: Sequence[object] | None = None,
    equal_groups: bool = True,
    seed: int = 0,
    draws: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Mean with its percentile bootstrap interval, from the seed.

    With `groups` (one name per value, e.g. the trigger a test belongs to) whole groups are resampled,
    since values within one are not independent; each group then weighs the same, or with
    `equal_groups=False` as much as it has values (the mean stays that of all values).
    """
    sample = np.asarray(values, dtype=np.float64)
    if not len(sample):
        raise InputError("no values to average: give at least one")
    sums, counts = _by_group(sample[None, :], groups)
    totals = sums[0]
    if equal_groups:
        totals, counts = totals / counts, np.ones_like(counts)
    rows = numpy_generator(seed, "bootstrap").integers(len(totals), size=(draws, len(totals)))
    found = totals[rows].sum(axis=1) / counts[rows].sum(axis=1)
    return _interval(float(totals.sum() / counts.sum()), found, level)


def bootstrap_runs(
    values: Float[np.ndarray, "runs n"],
    *,
    groups: Sequence[object] | None = None,
    seed: int = 0,
    draws: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Mean of values that were taken in several runs (seeds), with an interval over runs and values.

    Runs are resampled, and, by themselves, the values: whole `groups`, each as heavy as it has values.
    """
    sample = _runs(values)
    sums, counts = _by_group(sample, groups)
    rng = numpy_generator(seed, "bootstrap-runs")
    runs = _multiplicities(rng, len(sums), draws)
    drawn = _multiplicities(rng, len(counts), draws)
    found = ((runs @ sums) * drawn).sum(axis=1) / (len(sums) * (drawn @ counts))
    return _interval(float(sample.mean()), found, level)


def bootstrap_variance(
    values: Float[np.ndarray, "runs n"],
    *,
    groups: Sequence[object] | None = None,
    seed: int = 0,
    draws: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Variance of the values of a run, mean over runs, with an interval that resamples the values.

    Whole `groups` are resampled, each as heavy as it has values.
    """
    sample = _runs(values)
    # A shift changes no variance, and without one small variances drown in E[x^2] - E[x]^2.
    sample = sample - sample.mean(axis=1, keepdims=True)
    (sums, counts), (squares, _) = _by_group(sample, groups), _by_group(sample**2, groups)
    drawn = _multiplicities(numpy_generator(seed, "bootstrap-variance"), len(counts), draws)
    sizes = (drawn @ counts)[:, None]
    found = drawn @ squares.T / sizes - (drawn @ sums.T / sizes) ** 2
    return _interval(float(sample.var(axis=1).mean()), found.clip(min=0).mean(axis=1), level)


def _runs(values: np.ndarray) -> Float[np.ndarray, "runs n"]:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 2 or not sample.size:
        raise InputError(f"values {sample.shape} must be a matrix (runs, values) that is not empty")
    return sample


def _by_group(
    values: Float[np.ndarray, "runs n"], groups: Sequence[object] | None
) -> tuple[Float[np.ndarray, "runs groups"], Float[np.ndarray, " groups"]]:
    """Sums of the values of each group, and its size; without groups every value is one."""
    if groups is None:
        return values, np.ones(values.shape[1])
    if len(groups) != values.shape[1]:
        raise InputError(f"{values.shape[1]} values in {len(groups)} groups: name one for each")
    _, inverse = np.unique(np.array(list(map(str, groups))), return_inverse=True)
    counts = np.bincount(inverse).astype(np.float64)
    return np.stack([np.bincount(inverse, weights=row) for row in values]), counts


def _multiplicities(
    rng: np.random.Generator, size: int, draws: int
) -> Float[np.ndarray, "draws items"]:
    """How often each of `size` items comes in a resample, for every draw."""
    return rng.multinomial(size, np.full(size, 1 / size), size=draws).astype(np.float64)


def bootstrap_ratio(
    values: Sequence[float],
    base: Sequence[float],
    *,
    groups: Sequence[object],
    seed: int = 0,
    draws: int = 2000,
    level: float = 0.95,
) -> Interval | None:
    """Mean of `values` over mean of `base`, both of the same resampled groups; None over zero.

    A draw whose base is zero counts as infinitely large.
    """
    names = np.array(list(map(str, groups)))
    pairs = np.array([values, base], dtype=np.float64)
    means = np.stack([pairs[:, names == name].mean(axis=1) for name in sorted(set(names))])
    if not means[:, 1].any():
        return None
    rows = numpy_generator(seed, "bootstrap").integers(len(means), size=(draws, len(means)))
    top, bottom = means[rows].mean(axis=1).T
    found = np.divide(top, bottom, out=np.full(draws, np.inf), where=bottom > 0)
    ends = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], method="nearest")
    whole = means.mean(axis=0)
    return Interval(float(whole[0] / whole[1]), *map(float, ends))


def resampled_ranks(
    values: Float[np.ndarray, "tests n"], counts: Float[np.ndarray, "draws n"]
) -> Float[np.ndarray, "draws tests n"]:
    """`average_ranks` of each item in lists that hold item i `counts[draw, i]` times.

    rank_i = sum over j with x_j < x_i of c_j + (sum over j with x_j = x_i of c_j + 1) / 2, one product
    of matrices for all draws; what is said of an item that a draw leaves out has no meaning.
    """
    below = (values[:, None, :] < values[:, :, None]).astype(np.float64)
    below += 0.5 * (values[:, None, :] == values[:, :, None])
    tests, n = values.shape
    ranks = counts @ below.reshape(tests * n, n).T + 0.5
    return np.asarray(ranks.reshape(len(counts), tests, n))


def resampled_lds(
    predicted: Float[np.ndarray, "tests subsets"],
    actual: Float[np.ndarray, "tests subsets"],
    counts: Float[np.ndarray, "draws subsets"],
) -> Float[np.ndarray, "draws tests"]:
    """`lds` of every test over resampled subsets: subset i is there `counts[draw, i]` times."""
    middle = (counts.sum(axis=1)[:, None, None] + 1) / 2
    x = resampled_ranks(np.asarray(predicted, dtype=np.float64), counts) - middle
    y = resampled_ranks(np.asarray(actual, dtype=np.float64), counts) - middle
    weights = counts[:, None, :]
    lengths = np.sqrt((weights * x * x).sum(axis=2) * (weights * y * y).sum(axis=2))
    # Lengths are 0 or at least 1/2: a side that is constant in a draw orders nothing.
    return np.asarray((weights * x * y).sum(axis=2) / np.where(lengths > 1e-9, lengths, np.inf))


def bootstrap_lds(
    predicted: Float[np.ndarray, "tests subsets"],
    actual: Float[np.ndarray, "tests subsets"],
    *,
    minus: Float[np.ndarray, "tests subsets"] | None = None,
    groups: Sequence[object] | None = None,
    seed: int = 0,
    draws: int = 500,
    level: float = 0.95,
) -> Interval:
    """Mean LDS with an interval that resamples subsets and tests together.

    All tests are judged on the same retrained subsets, so their values are not independent: an
    interval over tests alone would be too narrow. `minus`: the paired difference to these predictions,
    in the same draws. `groups` of tests (about one sentence) are resampled whole, each as heavy as it
    has tests.
    """
    rng = numpy_generator(seed, "bootstrap-lds")
    counts = _multiplicities(rng, predicted.shape[1], draws)
    value = lds(predicted, actual)
    found = resampled_lds(predicted, actual, counts)
    if minus is not None:
        value = value - lds(minus, actual)
        found = found - resampled_lds(minus, actual, counts)
    sums, sizes = _by_group(found, groups)
    drawn = _multiplicities(rng, len(sizes), draws)
    return _interval(float(value.mean()), (sums * drawn).sum(axis=1) / (drawn @ sizes), level)


def bootstrap_auc(
    scores: Float[np.ndarray, " n"],
    positive: Bool[np.ndarray, " n"],
    *,
    seed: int = 0,
    draws: int = 500,
    level: float = 0.95,
) -> Interval:
    """AUC with an interval; positives and negatives are resampled each within their own kind."""
    scores, positive = np.asarray(scores), np.asarray(positive, dtype=bool)
    rng = numpy_generator(seed, "bootstrap-auc")
    hits, misses = np.flatnonzero(positive), np.flatnonzero(~positive)
    value = auc(scores, positive)
    found = [
        auc(scores[rows], positive[rows])
        for rows in (
            np.concatenate([rng.choice(hits, len(hits)), rng.choice(misses, len(misses))])
            for _ in range(draws)
        )
    ]
    return _interval(value, np.array(found), level)


def _interval(mean: float, found: Float[np.ndarray, " draws"], level: float) -> Interval:
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean, float(low), float(high))
