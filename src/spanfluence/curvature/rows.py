"""The Gauss-Newton matrix of a training sample, as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from spanfluence.curvature import Block, Damping, Spent, auto_damping
from spanfluence.gradients import DenseGradient, LayerGradient
from spanfluence.inner_products import add_weighted_sum, gram, inner
from spanfluence.precise import precise
from spanfluence.workers import workers


@dataclass(frozen=True, eq=False)
class CurvatureRows:
    """Rows M, per layer, with G = M'M / instances.

    Of an instance with logits f and probabilities p, the rows are L'(df/dtheta) with
    LL' = diag(p) - pp': its generalised Gauss-Newton matrix has rank C - 1 for C classes.
    """

    layers: list[LayerGradient]
    instances: int
    device: torch.device

    @property
    def count(self) -> int:
        """How many rows."""
        return self.layers[0].units

    def trace(self) -> float:
        """Trace of G."""
        squares = torch.stack([precise(layer.square_norms()).sum() for layer in self.layers])
        return float(squares.sum()) / self.instances

    def resolve(self, damping: Damping, size: int) -> float:
        """The absolute lambda; "auto" is a fraction of the mean eigenvalue over all `size` parameters."""
        return float(damping) if damping != "auto" else auto_damping(self.trace() / size)

    def gram(self) -> Float[Tensor, "rows rows"]:
        """MM', in double precision."""
        return torch.stack(self._each(lambda layer: precise(gram(layer)))).sum(0)

    def times(self, block: Block) -> Float[Tensor, "tests rows"]:
        """VM' for the vectors V of a block, in double precision."""
        parts = self._each(lambda layer, values: inner(DenseGradient(values), layer), block)
        return precise(torch.stack(parts)).sum(0)

    def added_to(
        self, block: Block, weights: Float[Tensor, "tests rows"], *, beta: float = 1.0
    ) -> Block:
        """beta V + WM for vectors V and weights W."""
        own, spent = weights.to(block[0]), isinstance(block, Spent)
        return self._each(
            lambda layer, values: add_weighted_sum(values, layer, own, beta=beta, spent=spent),
            block,
        )

    def _each(self, work: Callable[..., Tensor], *blocks: Sequence[Tensor]) -> list[Tensor]:
        """Layer by layer, shared out among threads; a layer with its part of each block."""
        with workers(self.device) as team:
            return team.map(lambda own: work(*own), zip(self.layers, *blocks, strict=True))
