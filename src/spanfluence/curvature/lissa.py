"""LiSSA: the paper's stochastic estimate of an inverse Hessian times a vector."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from spanfluence.curvature import TrainingLosses
from spanfluence.errors import InputError, NumericsError
from spanfluence.rng import numpy_generator

Named = dict[str, Tensor]  # parameter name -> (tests, *shape of the parameter)

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
    tolerance: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.damping >= 0 and self.scale > 0 and self.max_steps >= 1):
            raise InputError(f"{self}: damping must not be negative, scale and max_steps positive")
        if self.damping * self.scale >= 2:  # |1 - damp| >= 1: h would grow whatever H is
            raise InputError(
                f"damping={self.damping:g} cannot converge with scale {self.scale:g}: "
                f"use a damping below {1 / self.scale:g}, or a smaller scale"
            )

    def solve(self, problem: TrainingLosses, block: Named) -> Named:
        """Estimates for all vectors of the block; each stops when the norm of its h settles."""
        damp = self.damping * self.scale
        order = numpy_generator(self.seed, "lissa").integers(len(problem), size=self.max_steps)
        running = {name: vector.clone() for name, vector in block.items()}
        active = torch.arange(next(iter(block.values())).shape[0])
        norms: list[Tensor] = []
        for step, index in enumerate(order.tolist(), start=1):
            h = {name: vector[active] for name, vector in running.items()}
            products = hessian_products(problem, index, h)
            for name, vector in running.items():
                push = products[name].clamp(-self.clamp, self.clamp)
                vector[active] = block[name][active] + (1 - damp) * h[name] - self.scale * push
            norms.append(_norms(running))
            self._check(norms[-1], step)
            if step % WINDOW == 0 and step >= 2 * WINDOW:
                active = active[~self._settled(norms)[active]]
                if not len(active):
                    break
        return {name: self.scale * vector for name, vector in running.items()}

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


def hessian_products(problem: TrainingLosses, index: int, block: Named) -> Named:
    """H_k v for every v of the block: one forward and backward, then one batched backward through it."""
    names = list(block)
    leaves = [problem.parameters[name] for name in names]
    with torch.enable_grad():
        first = torch.autograd.grad(
            problem.loss(index), leaves, create_graph=True, allow_unused=True
        )
        used = [
            i for i, gradient in enumerate(first) if gradient is not None and gradient.requires_grad
        ]
        second = torch.autograd.grad(
            [g for i in used if (g := first[i]) is not None],
            leaves,
            grad_outputs=[block[names[i]] for i in used],
            is_grads_batched=True,
            allow_unused=True,
        )
    return {
        name: torch.zeros_like(block[name]) if product is None else product.detach()
        for name, product in zip(names, second, strict=True)
    }


def _norms(block: Named) -> Float[Tensor, " tests"]:
    return (
        torch.stack([vector.flatten(1).square().sum(1) for vector in block.values()]).sum(0).sqrt()
    )
