"""H h of one layer for a block of vectors, kept as the rows that make it up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from spanfluence.gradients import MatrixGradient, Rows


class Sides(NamedTuple):
    """Rows of a matrix for every vector of a block; what all vectors share stands once, without a first axis."""

    inputs: Tensor
    outputs: Tensor

    def of(self, few: slice) -> Sides:
        """Those of some of the vectors."""
        return Sides(*(side if side.dim() == 2 else side[few] for side in self))


@dataclass(frozen=True, eq=False)
class Product:
    """H h of one layer for a block of vectors: rows of its matrices, then whatever columns follow.

    A weight is one matrix, or one for each head, stored one after the other; all are alike in shape.
    """

    matrices: tuple[tuple[Sides, ...], ...]
    rest: Float[Tensor, "vectors some"] | None
    transposed: bool = False

    def of(self, few: slice) -> Product:
        """That of some of the vectors."""
        matrices = tuple(tuple(sides.of(few) for sides in own) for own in self.matrices)
        return replace(self, matrices=matrices, rest=None if self.rest is None else self.rest[few])

    def columns(self) -> Iterator[tuple[int, Float[Tensor, "vectors some"]]]:
        """Written out piece by piece: (first column, values). A piece lives until the next."""
        for number, sides in enumerate(self.matrices):
            inputs, outputs = (
                torch.cat([_expanded(side, self._vectors) for side in same], 1)
                for same in zip(*sides, strict=True)
            )
            rows = MatrixGradient((Rows(inputs, outputs),), bias=False, transposed=self.transposed)
            for first, values in rows.columns():
                yield number * self._size + first, values
        if self.rest is not None:
            yield len(self.matrices) * self._size, self.rest

    def subtract_from(self, h: Float[Tensor, "vectors size"], times: float) -> None:
        """h - times * H h, in place: the rows go straight into h."""
        for number, sides in enumerate(self.matrices):
            own = h[:, number * self._size : (number + 1) * self._size]
            for one in sides:
                right, left = reversed(one) if self.transposed else one
                _subtract_rows(
                    own.view(len(h), left.shape[-1], right.shape[-1]), left, right, times
                )
        if self.rest is not None:
            h[:, len(self.matrices) * self._size :].sub_(self.rest, alpha=times)

    def bound(self) -> float:
        """No element is larger in size (by Cauchy-Schwarz over the rows, column by column)."""
        bounds = [self._bound(sides) for sides in self.matrices]
        if self.rest is not None and self.rest.numel():
            bounds.append(self.rest.abs().max())
        return float(torch.stack(bounds).max()) if bounds else 0.0

    def _bound(self, sides: Sequence[Sides]) -> Tensor:
        inputs, outputs = (
            torch.stack(torch.broadcast_tensors(*(side.square().sum(-2) for side in same))).sum(0)
            for same in zip(*sides, strict=True)
        )
        return (inputs.amax(-1) * outputs.amax(-1)).amax().sqrt()

    @property
    def _vectors(self) -> int:
        """How many, as the first rows that are not the same for all tell."""
        return next(len(side) for side in self.matrices[0][0] if side.dim() == 3)

    @property
    def _size(self) -> int:
        """How many numbers are in one matrix."""
        if not self.matrices:
            return 0
        inputs, outputs = self.matrices[0][0]
        return inputs.shape[-1] * outputs.shape[-1]


def _subtract_rows(
    matrices: Float[Tensor, "vectors high wide"], left: Tensor, right: Tensor, times: float
) -> None:
    left, right = (_expanded(side, len(matrices)) for side in (left, right))
    if left.shape[1] == 1:
        matrices.baddbmm_(left.mT, right, alpha=-times)
        return
    # One by one: on several threads a batched product that adds to what is there takes twice as long.
    for matrix, high, wide in zip(matrices, left, right, strict=True):
        matrix.addmm_(high.T, wide, alpha=-times)


def _expanded(side: Tensor, vectors: int) -> Float[Tensor, "vectors rows some"]:
    return side if side.dim() == 3 else side.expand(vectors, -1, -1)
