"""EK-FAC: Gauss-Newton curvature, diagonal in a Kronecker-factored eigenbasis of each layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from spanfluence.curvature import Block, Damping, auto_damping, check_sampled
from spanfluence.curvature.rows import CurvatureRows
from spanfluence.gradients import LayerGradient, MatrixGradient, Rows
from spanfluence.precise import precise

CHUNK_BYTES = 1 << 28


@dataclass(frozen=True, kw_only=True)
class Ekfac:
    """Per linear layer: eigenvectors of E[aa'] and E[dd'] as basis, E[(Q_d' G Q_a)^2] as eigenvalues.

    a are a layer's inputs (with a 1 for the bias), d its output gradients, G = sum_r d_r a_r' the
    gradient of one row of the sample's curvature. Layers that are no matrix (norms, embeddings) are taken
    as diagonal. Layers are taken as independent: this is what EK-FAC gives away against `ggn`; it gains
    that the curvature of a large sample costs no more to apply than that of a small one.
    """

    damping: Damping = "auto"
    sample: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        check_sampled(self.damping, self.sample)

    def operator(self, rows: CurvatureRows, size: int) -> EkfacOperator:
        """Bases and eigenvalues at the point where `rows` were taken."""
        layers = [_LayerBasis.of(layer, rows.instances) for layer in rows.layers]
        if self.damping != "auto":
            return EkfacOperator(layers, float(self.damping))
        total = sum(float(layer.eigenvalues.sum()) for layer in layers)
        return EkfacOperator(layers, auto_damping(total / size))


@dataclass(frozen=True, eq=False)
class EkfacOperator:
    """One model point's bases."""

    layers: list[_LayerBasis]
    damping: float

    def solve(self, block: Block) -> Block:
        """Divide by (eigenvalue + lambda) in each layer's basis."""
        return [
            layer.solve(values, self.damping)
            for layer, values in zip(self.layers, block, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class _LayerBasis:
    """`eigenvalues` (out, in + bias) with both bases, or (size) without for a diagonal layer."""

    eigenvalues: Tensor
    outputs: Float[Tensor, "out out"] | None = None
    inputs: Float[Tensor, "in in"] | None = None
    layer: MatrixGradient | None = None

    @classmethod
    def of(cls, layer: LayerGradient, instances: int) -> _LayerBasis:
        if not isinstance(layer, MatrixGradient) or not layer.weight:
            return cls(layer.dense().square().sum(0) / instances)
        parts = [(_with_ones(layer, part), part.outputs) for part in layer.parts]
        right, left = (_eigenvectors(sides) for sides in zip(*parts, strict=True))
        total = torch.zeros(left.shape[0], right.shape[0], device=left.device, dtype=left.dtype)
        step = max(1, CHUNK_BYTES // (4 * total.numel()))
        for inputs, outputs in parts:
            for some_in, some_out in zip(inputs.split(step), outputs.split(step), strict=True):
                total += torch.bmm((some_out @ left).mT, some_in @ right).square().sum(0)
        return cls(total / instances, left, right, layer)

    def solve(
        self, values: Float[Tensor, "tests size"], damping: float
    ) -> Float[Tensor, "tests size"]:
        if self.outputs is None or self.inputs is None or self.layer is None:
            return values / (self.eigenvalues + damping)
        matrix = self.layer.as_matrix(values)
        turned = self.outputs.T @ matrix @ self.inputs / (self.eigenvalues + damping)
        return self.layer.as_vector(self.outputs @ turned @ self.inputs.T)


def _with_ones(layer: MatrixGradient, part: Rows) -> Float[Tensor, "units rows width"]:
    """Inputs with a last column for the bias, 0 in rows that only fill up (their output is zero)."""
    if not layer.bias:
        return part.inputs
    real = (part.outputs != 0).any(-1, keepdim=True).to(part.inputs.dtype)
    return torch.cat([part.inputs * real, real], -1)


def _eigenvectors(sides: Sequence[Float[Tensor, "units rows width"]]) -> Float[Tensor, "w w"]:
    flat = [side.flatten(0, 1) for side in sides]
    covariance = precise(torch.stack([rows.T @ rows for rows in flat]).sum(0))
    vectors: Tensor = torch.linalg.eigh(covariance / sum(map(len, flat))).eigenvectors
    return vectors.to(flat[0])
