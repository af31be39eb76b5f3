"""Plain autograd, text by text: the way of the released research code, and the naive reference."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence

import numpy as np
import torch
from timing import Timed
from torch import Tensor
from workload import Workload, open_parameters

from spanfluence.encoding import Encoded

Text = tuple[Encoded, int]


class Naive:
    """Flat gradients of single texts at one point."""

    def __init__(self, work: Workload, parameters: dict[str, Tensor]) -> None:
        self.encoder = work.linear.encoder
        self.names = list(work.linear.attributed)
        with work.linear.at(parameters):
            self.model = copy.deepcopy(work.linear.model)

    def gradient(self, text: Text) -> Tensor:
        """Of the cross-entropy of one text."""
        encoded, label = text
        inputs = self.encoder.collate([encoded], torch.device("cpu"))
        with open_parameters(self.model, self.names) as leaves, torch.enable_grad():
            logits = self.model(**inputs).logits
            loss = torch.nn.functional.cross_entropy(logits, torch.tensor([label]))
            return torch.cat([g.flatten() for g in torch.autograd.grad(loss, leaves.values())])

    def span(self, masked: Text, whole: Text) -> Tensor:
        """g(z_masked) - g(z)."""
        return self.gradient(masked) - self.gradient(whole)


def recompute_per_test(work: Workload, test: int, spans: Sequence[int]) -> Timed:
    """Time for the whole matrix when each test computes every training gradient anew.

    Measured for one test and some spans: seconds per test and per pair, at all points.
    """
    tests, train = work.test_texts(), work.train_texts()
    own = pair = 0.0
    scores = np.zeros((1, len(spans)))
    for point in work.points:
        naive = Naive(work, dict(point.parameters))
        began = time.perf_counter()
        asked = naive.span(tests[2 * test], tests[2 * test + 1])
        between = time.perf_counter()
        for column, span in enumerate(spans):
            gradient = naive.span(train[2 * span], train[2 * span + 1])
            scores[0, column] += point.weight * float(asked @ gradient)
        own, pair = own + between - began, pair + time.perf_counter() - between
    total = len(work.tests) * (own + pair / len(spans) * len(work.train))
    return Timed(total, scores, f"1 test x {len(spans)} spans, scaled to all pairs")


def reference_scores(work: Workload) -> np.ndarray:
    """The same scores with each gradient computed once: for checking, not for timing.

    Products of millions of numbers are summed in double precision: the reference must not be what is off.
    """
    tests, train = work.test_texts(), work.train_texts()
    total = np.zeros((len(work.tests), len(work.train)))
    for point in work.points:
        naive = Naive(work, dict(point.parameters))
        asked = torch.stack(
            [naive.span(*tests[i : i + 2]) for i in range(0, len(tests), 2)]
        ).double()
        for column in range(len(work.train)):
            gradient = naive.span(*train[2 * column : 2 * column + 2]).double()
            total[:, column] += point.weight * (asked @ gradient).numpy()
    return total
