"""Inverse curvature for the test side: each file one operator with one verb, `solve(block)`.

A block holds one vector per test, as {parameter name: (tests, *shape)}; `solve` returns
(C + lambda I)^-1 applied to each, with `damping` the absolute lambda. Operators know nothing of text: they
see a training problem through `TrainingLosses`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor

Block = dict[str, Tensor]


class TrainingLosses(Protocol):
    """A training set as curvature sees it."""

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """The attributed parameters, as leaves that require a gradient."""

    def __len__(self) -> int:
        """Number of training instances."""

    def loss(self, index: int) -> Tensor:
        """Cross-entropy of one training instance, differentiable twice in `parameters`."""
