"""Points so near each other that one gradient stands for all of theirs.

    sum_p w_p <T_p, G_p> = W <T, G> + sum_p w_p <T_p - T, G_p - G>        W = sum_p w_p; T, G: weighted means

Between delta-faithful points, some 1e-4 apart, a gradient moves by less than a thousandth of its length, and
the second sum is 1e-8 of the largest score (measured), where rounding in float32 is 1e-6. In the same way the mean
gradient of a layer is sum_r d_r a_r^T with mean rows. So gradients are written out, and multiplied with the tests',
once instead of once a point. That points are near enough is not believed: of every group of batches some units are also
taken point by point, and where the two differ by more than LOOSE of the longest gradients' product, all are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from spanfluence.gradients import (
    DenseGradient,
    EmbeddingGradient,
    LayerGradient,
    MatrixGradient,
    Rows,
)
from spanfluence.head_gradients import HeadGradient
from spanfluence.inner_products import inner
from spanfluence.points import ModelPoint
from spanfluence.precise import precise

REACH = 0.01  # from the final model: points beyond it are not tried
LOOSE = 1e-5  # of the longest gradients' product: what may be left out
SOME = 2  # units that are also taken point by point

Kind = TypeVar("Kind")


class TooFarError(Exception):
    """What would be left out is more than rounding."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Some units: their gradients at each point, per layer, and what stands for them.

    In double precision: where a span hardly changes its text, what is left of two products in float32 is rounding.
    """

    each: Sequence[Sequence[LayerGradient]]
    mean: Sequence[LayerGradient]

    @classmethod
    def of(cls, each: Sequence[Sequence[LayerGradient]], shares: Sequence[float]) -> Sample:
        """The first units of a batch."""
        some = [[some_units(layer) for layer in layers] for layers in each]
        return cls(some, [mean_gradient(layer, shares) for layer in zip(*some, strict=True)])


def worth_trying(points: Sequence[ModelPoint]) -> bool:
    """Whether points may stand together at all: several, weighted alike in sign, and all near the model."""
    near = all(0 < point.distance < REACH and point.weight > 0 for point in points)
    return near and len(points) > 1


def shares(points: Sequence[ModelPoint]) -> list[float]:
    """The points' weights, which sum to 1."""
    total = sum(point.weight for point in points)
    return [point.weight / total for point in points]


def check(points: Sequence[ModelPoint], tests: Sample, train: Sample) -> None:
    """Raise unless these tests and units have the same scores by their means as point by point."""
    total = sum(point.weight for point in points)
    apart = torch.stack(
        [
            point.weight * _products(test, unit)
            for point, test, unit in zip(points, tests.each, train.each, strict=True)
        ]
    ).sum(0)
    together = total * _products(tests.mean, train.mean)
    longest = total * _length(tests.mean).max() * _length(train.mean).max()
    if not bool(((apart - together).abs() <= LOOSE * longest).all()):  # nor where one is NaN
        raise TooFarError


def _products(
    tests: Sequence[LayerGradient], train: Sequence[LayerGradient]
) -> Float[Tensor, "tests units"]:
    return torch.stack(
        [inner(a, b) for a, b in zip(tests, train, strict=True)],
    ).sum(0)


def _length(layers: Sequence[LayerGradient]) -> Float[Tensor, " units"]:
    return torch.stack([layer.square_norms() for layer in layers]).sum(0).sqrt()


def mean_gradient(layers: Sequence[LayerGradient], shares: Sequence[float]) -> LayerGradient:
    """Of one layer at several points: the weighted mean of its gradients, by the mean of its rows.

    Only rows that a text leaves token by token are averaged on both sides; all else is the mean itself.
    """
    first = layers[0]
    if isinstance(first, MatrixGradient):
        parts = zip(*(layer.parts for layer in _alike(layers, MatrixGradient)), strict=True)
        return replace(first, parts=tuple(_mean_rows(rows, shares) for rows in parts))
    if isinstance(first, HeadGradient):
        heads = _alike(layers, HeadGradient)
        outputs = [share * head.outputs for share, head in zip(shares, heads, strict=True)]
        inputs = torch.cat([head.inputs for head in heads], 2)
        return replace(first, inputs=inputs, outputs=torch.cat(outputs, 2))
    if isinstance(first, EmbeddingGradient):
        tables = _alike(layers, EmbeddingGradient)
        outputs = [share * table.outputs for share, table in zip(shares, tables, strict=True)]
        ids = torch.cat([table.ids for table in tables], 1)
        return replace(first, ids=ids, outputs=torch.cat(outputs, 1))
    return DenseGradient(_mean([layer.dense() for layer in layers], shares))


def _alike(layers: Sequence[LayerGradient], kind: type[Kind]) -> list[Kind]:
    """The layers, which are all of one kind: the rows of another could not stand for theirs."""
    found: list[Kind] = [layer for layer in layers if isinstance(layer, kind)]
    if len(found) < len(layers):
        raise TooFarError
    return found


def _mean_rows(rows: Sequence[Rows], shares: Sequence[float]) -> Rows:
    inputs, outputs = zip(*rows, strict=True)
    return Rows(_mean(inputs, shares), _mean(outputs, shares))


def _mean(values: Sequence[Tensor], shares: Sequence[float]) -> Tensor:
    first = values[0]
    if any(other.shape != first.shape for other in values):
        raise TooFarError
    if all(other.data_ptr() == first.data_ptr() for other in values):
        return first  # states of the frozen trunk, which no point moves
    found = first * shares[0]
    for other, share in zip(values[1:], shares[1:], strict=True):
        found.add_(other, alpha=share)
    return found


def some_units(layer: LayerGradient) -> LayerGradient:
    """The first units of a layer, copied: a view would keep the whole batch."""
    if isinstance(layer, MatrixGradient):
        part = layer.parts[0]
        rows = Rows(_copied(part.inputs[:SOME]), _copied(part.outputs[:SOME]))
        return replace(layer, parts=(rows,))
    if isinstance(layer, HeadGradient):
        inputs, outputs = _copied(layer.inputs[:, :SOME]), _copied(layer.outputs[:, :SOME])
        return replace(layer, inputs=inputs, outputs=outputs)
    if isinstance(layer, EmbeddingGradient):
        ids, outputs = layer.ids[:SOME].cpu().clone(), _copied(layer.outputs[:SOME])
        return replace(layer, ids=ids, outputs=outputs)
    return DenseGradient(_copied(layer.dense()[:SOME]))


def _copied(values: Tensor) -> Tensor:
    return precise(values.clone())
