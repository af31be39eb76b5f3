"""Gauss-Newton curvature of a training sample, inverted by conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spanfluence.curvature import Block, Damping, check_sampled
from spanfluence.curvature.rows import CurvatureRows
from spanfluence.errors import InputError, NumericsError
from spanfluence.precise import precise

COLUMNS = 4096  # summed in single precision, on the device


@dataclass(frozen=True, kw_only=True)
class Cg:
    """Conjugate gradients on (M'M/n + lambda I) x = v, all tests of a block at once.

    It meets `ggn` where it converges, and needs no system of the size of the sample: for samples of many
    rows, and lambdas that are not too small. `tolerance` bounds |residual| / |v|.
    """

    damping: Damping = "auto"
    sample: int = 256
    seed: int = 0
    tolerance: float = 1e-4
    max_steps: int = 200

    def __post_init__(self) -> None:
        check_sampled(self.damping, self.sample)
        if self.max_steps < 1 or not self.tolerance > 0:
            raise InputError(f"{self}: max_steps and tolerance must be positive")

    def operator(self, rows: CurvatureRows, size: int) -> CgOperator:
        """Ready to solve at the point where `rows` were taken; `size` counts all parameters."""
        return CgOperator(rows, rows.resolve(self.damping, size), self.tolerance, self.max_steps)


@dataclass(frozen=True, eq=False)
class CgOperator:
    """The rows of one model point."""

    rows: CurvatureRows
    damping: float
    tolerance: float
    max_steps: int

    def solve(self, block: Block) -> Block:
        """Until every vector's residual is below the tolerance."""
        target = self.tolerance**2 * _dots(block, block)
        solution = [torch.zeros_like(values) for values in block]
        residual = [values.clone() for values in block]
        direction = [values.clone() for values in block]
        square = _dots(residual, residual)
        for _ in range(self.max_steps):
            if bool((square <= target).all()):
                return solution
            product = self._product(direction)
            step = _ratio(square, _dots(direction, product))
            for x, r, d, p in zip(solution, residual, direction, product, strict=True):
                x += step[:, None].to(x) * d
                r -= step[:, None].to(r) * p
            last, square = square, _dots(residual, residual)
            grow = _ratio(square, last)
            direction = [
                r + grow[:, None].to(r) * d for r, d in zip(residual, direction, strict=True)
            ]
        if bool((square <= target).all()):
            return solution
        worst = float(_ratio(square, target / self.tolerance**2).max().sqrt())
        raise NumericsError(
            f"conjugate gradients did not converge in {self.max_steps} steps with damping "
            f"{self.damping:g} (residual {worst:.1e}): try damping={100 * self.damping:g}, or curvature 'ggn'"
        )

    def _product(self, block: Block) -> Block:
        """(M'M/n + lambda I) v."""
        weights = self.rows.times(block) / self.rows.instances
        return self.rows.added_to(block, weights, beta=self.damping)


def _dots(left: Block, right: Block) -> Tensor:
    """Products of the vectors of two blocks, in double precision but for sums over a few columns."""
    parts = [
        precise((a * b).sum(1))
        for mine, theirs in zip(left, right, strict=True)
        for a, b in zip(mine.split(COLUMNS, 1), theirs.split(COLUMNS, 1), strict=True)
    ]
    return torch.stack(parts).sum(0)


def _ratio(above: Tensor, below: Tensor) -> Tensor:
    """0 where both vanish: a test without gradient, or one that has converged exactly."""
    return torch.where(below > 0, above / below.clamp_min(torch.finfo(below.dtype).tiny), 0.0)
