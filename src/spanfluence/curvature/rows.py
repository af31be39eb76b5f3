"""The Gauss-Newton matrix of a training sample, as rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from spanfluence.curvature import AUTO_FRACTION, Block, Damping
from spanfluence.errors import NumericsError
from spanfluence.gradients import DenseGradient, LayerGradient, add_weighted_sum, gram, inner


@dataclass(frozen=True, eq=False)
class CurvatureRows:
    """Rows M, per layer, with G = M'M / instances.

    Of an instance with logits f and probabilities p, the rows are L'(df/dtheta) with
    LL' = diag(p) - pp': its generalised Gauss-Newton matrix has rank C - 1 for C classes.
    """

    layers: list[LayerGradient]
    instances: int

    @property
    def count(self) -> int:
        """How many rows."""
        return self.layers[0].units

    def trace(self) -> float:
        """Trace of G."""
        squares = torch.stack([layer.square_norms().double().sum() for layer in self.layers])
        return float(squares.sum()) / self.instances

    def resolve(self, damping: Damping, size: int) -> float:
        """The absolute lambda; "auto" is a fraction of the mean eigenvalue over all `size` parameters."""
        if damping != "auto":
            return float(damping)
        found = AUTO_FRACTION * self.trace() / size
        if not 0 < found < float("inf"):
            raise NumericsError(
                f"the curvature of the training sample has the mean eigenvalue {found / AUTO_FRACTION:g}: "
                "give damping= as a number"
            )
        return found

    def gram(self) -> Float[Tensor, "rows rows"]:
        """MM'."""
        return torch.stack([gram(layer).double() for layer in self.layers]).sum(0)

    def times(self, block: Block) -> Float[Tensor, "tests rows"]:
        """VM' for the vectors V of a block."""
        parts = [
            inner(DenseGradient(values), layer)
            for values, layer in zip(block, self.layers, strict=True)
        ]
        return torch.stack(parts).double().sum(0)

    def added_to(
        self, block: Block, weights: Float[Tensor, "tests rows"], *, beta: float = 1.0
    ) -> Block:
        """beta V + WM for vectors V and weights W."""
        return [
            add_weighted_sum(values, layer, weights.to(values.dtype), beta=beta)
            for values, layer in zip(block, self.layers, strict=True)
        ]
