"""LiSSA: the paper's stochastic estimate of an inverse Hessian times a vector."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from spanfluence.allocator import large_empty
from spanfluence.curvature import Block
from spanfluence.curvature.hessian import few_at_a_time
from spanfluence.curvature.product import Product
from spanfluence.errors import InputError, NumericsError
from spanfluence.precise import precise
from spanfluence.rng import numpy_generator
from spanfluence.workers import Workers, workers

OFTEN = 0.1  # share of the steps that need the clamp, from which it is told
WINDOW = 20  # steps whose mean norm is compared with that of the steps before


@dataclass(frozen=True, kw_only=True)
class Lissa:
    """h <- v + (1 - damp) h - scale * clamp(H_k h), one random training instance k per step.

    The result is `scale * h`. Where no product is clamped and H_k = H, its fixed point is
    (H + damping I)^-1 v, with damping = damp / scale: the paper's damp 0.01 and scale 0.004 make 2.5.
    The recursion converges if the eigenvalues of damp I + scale H lie in (0, 2); the Hessian of a deep
    model is indefinite, so that is hoped for, not guaranteed: the clamp keeps single steps in bounds.

    Every test sees the same sequence of instances, so a result does not depend on its block.
    """

    damping: float = 2.5
    scale: float = 0.004
    clamp: float = 100.0
    max_steps: int = 1000
    tolerance: float = 1e-2
    """Least change of the norm over a window of steps. A smaller one costs two to three times the steps and
    moves the list no less than another seed does: the estimate's own noise is larger."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.damping >= 0 and self.scale > 0 and self.max_steps >= 1):
            raise InputError(f"{self}: damping must not be negative, scale and max_steps positive")
        if self.damping * self.scale >= 2:  # |1 - damp| >= 1: h would grow whatever H is
            raise InputError(
                f"damping={self.damping:g} cannot converge with scale {self.scale:g}: "
                f"use a damping below {1 / self.scale:g}, or a smaller scale"
            )

    def solve(self, problem: Instances, block: Block) -> Block:
        """Estimates for all vectors of the block; each stops when the norm of its h settles."""
        order = numpy_generator(self.seed, "lissa").integers(len(problem), size=self.max_steps)
        with workers(block[0].device) as team:
            return self._solve(problem, order.tolist(), block, team)

    def _solve(self, problem: Instances, order: list[int], block: Block, team: Workers) -> Block:
        solved: Block = []
        # The first step reads h = v: what it writes is the first to need memory of its own.
        running, after = block, [large_empty(vectors, *vectors.shape) for vectors in block]
        active = torch.arange(len(block[0]), device=block[0].device)
        norms: list[Tensor] = []
        taken = clamped = 0
        for step, index in enumerate(order, start=1):
            with problem.hessian(index) as hessian:
                norm, cut = self._step(hessian, block, running, after, team)
            running = after
            norms.append(norm)
            taken, clamped = taken + len(cut), clamped + int(cut.sum())
            self._check(norm, step)
            if step % WINDOW == 0 and step >= 2 * WINDOW:
                going = ~self._settled(norms)
                if not going.all():
                    solved = solved or [torch.empty_like(vectors) for vectors in block]
                    for result, values in zip(solved, running, strict=True):
                        result[active[~going]] = values[~going]
                    block, running = ([v[going] for v in part] for part in (block, running))
                    active, norms = active[going], [norm[going] for norm in norms[-WINDOW:]]
                if not len(active):
                    break
            after = running
        for result, values in zip(solved, running, strict=False):
            result[active] = values
        self._tell(clamped / taken)
        return [values.mul_(self.scale) for values in solved or running]

    def _step(
        self, hessian: HessianProducts, block: Block, running: Block, after: Block, team: Workers
    ) -> tuple[Float[Tensor, " tests"], Bool[Tensor, " tests"]]:
        """One step from `running` to `after`; returns the new norms, and where the clamp was needed."""

        def some(run: slice) -> tuple[Tensor, Tensor]:
            return self._run(hessian, *([v[run] for v in part] for part in (block, running, after)))

        parts = team.map(some, hessian.runs(block, team.count))
        norms, cuts = (torch.cat(side) for side in zip(*parts, strict=True))
        return norms, cuts

    def _run(
        self, hessian: HessianProducts, block: Block, running: Block, after: Block
    ) -> tuple[Float[Tensor, " tests"], Bool[Tensor, " tests"]]:
        """`_step` of some of the tests."""
        squares, cuts = [], []
        products = hessian.products(running)
        for product, *layer in zip(products, block, running, after, strict=True):
            runs = few_at_a_time(layer[0])
            parts = [self._advance(product.of(few), *(v[few] for v in layer)) for few in runs]
            norm, cut = (torch.cat(side) for side in zip(*parts, strict=True))
            squares.append(precise(norm).square())
            cuts.append(cut)
        return torch.stack(squares).sum(0).sqrt(), torch.stack(cuts).any(0)

    def _advance(
        self,
        product: Product,
        v: Float[Tensor, "tests size"],
        h: Float[Tensor, "tests size"],
        after: Float[Tensor, "tests size"],
    ) -> tuple[Float[Tensor, " tests"], Bool[Tensor, " tests"]]:
        """`_run` of one layer, over tests so few that h stays in the cache."""
        torch.add(v, h, alpha=1 - self.damping * self.scale, out=after)
        cut = torch.zeros(len(h), dtype=torch.bool, device=h.device)
        if product.bound() <= self.clamp:
            product.subtract_from(after, self.scale)
        else:
            for first, push in product.columns():
                own = after[:, first : first + push.shape[1]]
                # torch's norm of order infinity is many times slower
                cut |= torch.maximum(push.amax(1), -push.amin(1)) > self.clamp
                own.sub_(push.clamp_(-self.clamp, self.clamp), alpha=self.scale)
        return torch.linalg.vector_norm(after, dim=1), cut

    def _settled(self, norms: list[Tensor]) -> Tensor:
        now = torch.stack(norms[-WINDOW:]).mean(0)
        before = torch.stack(norms[-2 * WINDOW : -WINDOW]).mean(0)
        return (now - before).abs() <= self.tolerance * before

    def _check(self, norms: Float[Tensor, " tests"], step: int) -> None:
        if not torch.isfinite(norms).all():
            raise NumericsError(
                f"LiSSA diverged at step {step} with damping {self.damping:g}: "
                f"try damping={max(10 * self.damping, 1.0):g}"
            )

    def _tell(self, clamped: float) -> None:
        """The clamp keeps a recursion that diverges in bounds, and so hides that it does."""
        if clamped > OFTEN:
            warnings.warn(
                f"LiSSA needed its clamp of {self.clamp:g} in {clamped:.0%} of its steps: its estimate is "
                f"then not (H + {self.damping:g} I)^-1 v; try a larger damping, or curvature 'ggn'",
                stacklevel=2,
            )


class HessianProducts(Protocol):
    """One training instance's Hessian."""

    def runs(self, block: Block, workers: int) -> Sequence[slice]:
        """All vectors of a block, as many at a time as a worker best multiplies together."""

    def products(self, block: Block) -> Sequence[Product]:
        """H h for every h of the block, per layer."""


class Instances(Protocol):
    """A training set as LiSSA sees it."""

    def __len__(self) -> int:
        """Number of training instances."""

    def hessian(self, index: int) -> AbstractContextManager[HessianProducts]:
        """That of one instance."""
