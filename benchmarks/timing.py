"""Wall times, agreement of scores, and the machine's rate of matrix products."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import spearmanr

from spanfluence.products import times_transposed


@dataclass(frozen=True)
class Timed:
    """What a call took and gave. `measured` says on what part of the work the time rests."""

    seconds: float
    scores: np.ndarray
    measured: str = "all"


def timed(work: Callable[[], np.ndarray]) -> Timed:
    """One call."""
    gc.collect()
    began = time.perf_counter()
    scores = work()
    return Timed(time.perf_counter() - began, scores)


def scaled(work: Callable[[int], np.ndarray], spans: int, total: int) -> Timed:
    """Time for `total` training spans from a run on `spans` of them.

    What a run on one span takes (the tests' side, set-up) is taken as fixed, the rest as growing in
    proportion to the number of spans.
    """
    if spans >= total:
        return timed(lambda: work(total))
    spans = max(spans, 2)
    fixed = timed(lambda: work(1)).seconds
    part = timed(lambda: work(spans))
    each = max(part.seconds - fixed, 0.0) / (spans - 1)
    return Timed(fixed + each * (total - 1), part.scores, f"{spans} spans, scaled to {total}")


@dataclass(frozen=True)
class Agreement:
    """How far scores are from others: error as a share of the largest score; two correlations."""

    error: float
    pearson: float
    spearman: float

    def __str__(self) -> str:
        return (
            f"error {self.error:.1e}, Pearson {self.pearson:.6f}, rank correlation "
            f"{self.spearman:.6f}"
        )


def agreement(mine: np.ndarray, theirs: np.ndarray) -> Agreement:
    """Over all pairs together."""
    a, b = mine.astype(np.float64).ravel(), theirs.astype(np.float64).ravel()
    return Agreement(
        error=float(np.abs(a - b).max() / np.abs(b).max()),
        pearson=float(np.corrcoef(a, b)[0, 1]),
        spearman=float(spearmanr(a, b).statistic),
    )


class GemmRate:
    """FLOP/s of a large float32 matrix product, measured now and then during the run.

    By torch's own way and by the one that the package takes: the faster is the limit.
    """

    SIZE = 2048

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self._left, self._right = (
            torch.randn(self.SIZE, self.SIZE, generator=generator) for _ in range(2)
        )
        self._rates: dict[Callable[..., torch.Tensor], list[float]] = {
            torch.mm: [],
            times_transposed: [],
        }

    def measure(self, times: int = 3) -> None:
        """A few more products; the first one only warms up."""
        for product, rates in self._rates.items():
            product(self._left, self._right)
            for _ in range(times):
                began = time.perf_counter()
                product(self._left, self._right)
                rates.append(2 * self.SIZE**3 / (time.perf_counter() - began))

    @property
    def median(self) -> float:
        """Of all products so far, by the faster way."""
        return max(statistics.median(rates) for rates in self._rates.values())
