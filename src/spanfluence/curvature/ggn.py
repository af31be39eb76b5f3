"""Gauss-Newton curvature of a training sample, inverted exactly in the space of its rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from spanfluence.curvature import Block, Damping, auto_damping, check_sampled
from spanfluence.curvature.rows import CurvatureRows
from spanfluence.errors import NumericsError


@dataclass(frozen=True, kw_only=True)
class Ggn:
    """(M'M/n + lambda I)^-1 v = (v - M' (MM' + n lambda I)^-1 M v) / lambda   (Woodbury).

    `sample`: how many training instances n stand for the training set (all, if there are fewer). With C
    classes they make n (C - 1) rows, and the system to solve has that size, however large the model is.
    """

    damping: Damping = "auto"
    sample: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        check_sampled(self.damping, self.sample)

    def operator(self, rows: CurvatureRows, size: int) -> GgnOperator:
        """Ready to solve at the point where `rows` were taken; `size` counts all parameters."""
        damping = rows.resolve(self.damping, size)
        system = rows.gram()
        system.diagonal().add_(rows.instances * damping)
        factor, failed = torch.linalg.cholesky_ex(system)
        if bool(failed) or not torch.isfinite(factor).all():
            raise NumericsError(
                f"the curvature with damping {damping:g} is singular in double precision: "
                f"try damping={auto_damping(rows.trace() / size):g}, or 'auto'"
            )
        return GgnOperator(rows, damping, factor)


@dataclass(frozen=True, eq=False)
class GgnOperator:
    """The factored system of one model point."""

    rows: CurvatureRows
    damping: float
    cholesky: Float[Tensor, "rows rows"]

    def solve(self, block: Block) -> Block:
        """Exact for every vector of the block."""
        weights = torch.cholesky_solve(self.rows.times(block).T, self.cholesky).T
        return self.rows.added_to(block, weights / -self.damping, beta=1 / self.damping)
