"""Products of one instance's Hessian with many vectors, as rows.

A layer y = Wa with output gradient d has the gradient da', so its part of the slope along h is d'ha. Let
e and c be the gradients of the whole slope by y and by Wd' (the gradient that the layer hands down): then W enters
the slope through y, with the rows (e, a), and through Wd', with the rows (d, c). Forward and first
backward pass run once for all vectors; only the second backward pass runs for each, and no matrix of
the size of W is formed anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from spanfluence.capture import Layer, owned
from spanfluence.curvature import Block
from spanfluence.gradients import MatrixGradient, Rows
from spanfluence.model import requiring_gradients
from spanfluence.products import times_transposed

CACHE_BYTES = 8 << 20  # of vectors that are worked on at a time


def few_at_a_time(vectors: Float[Tensor, "vectors size"]) -> Iterator[slice]:
    """All vectors in runs that fit the processor's cache: what is done to a run reads memory once."""
    step = max(1, CACHE_BYTES // max(1, vectors.shape[1] * vectors.element_size()))
    for first in range(0, len(vectors), step):
        yield slice(first, first + step)


@dataclass(frozen=True, eq=False)
class Product:
    """H h of one layer for a block of vectors: rows of its matrix, then whatever columns follow.

    `sides` are the parts of these rows that stand side by side in every vector. They are joined only for as
    many vectors as are asked for at a time: joining copies what all vectors share.
    """

    sides: tuple[Rows, ...]
    rest: Float[Tensor, "vectors some"] | None
    transposed: bool = False

    def of(self, few: slice) -> Product:
        """That of some of the vectors."""
        sides = tuple(Rows(inputs[few], outputs[few]) for inputs, outputs in self.sides)
        return replace(self, sides=sides, rest=None if self.rest is None else self.rest[few])

    @cached_property
    def rows(self) -> MatrixGradient | None:
        """The rows of the matrix, if there are any."""
        if not self.sides:
            return None
        inputs, outputs = (torch.cat(same, 1) for same in zip(*self.sides, strict=True))
        return MatrixGradient((Rows(inputs, outputs),), bias=False, transposed=self.transposed)

    def columns(self) -> Iterator[tuple[int, Float[Tensor, "vectors some"]]]:
        """Written out piece by piece: (first column, values). A piece lives until the next."""
        if self.rows is not None:
            yield from self.rows.columns()
        if self.rest is not None:
            yield self._weights, self.rest

    @property
    def _weights(self) -> int:
        return 0 if self.rows is None else self.rows.weights

    def subtract_from(self, h: Float[Tensor, "vectors size"], times: float) -> None:
        """h - times * H h, in place: the rows go straight into h, in one pass over it."""
        if self.rows is not None:
            [(right, left)] = self.rows.parts
            if self.transposed:
                left, right = right, left
            matrices = h[:, : self._weights].view(len(h), left.shape[2], right.shape[2])
            matrices.baddbmm_(left.transpose(1, 2), right, alpha=-times)
        if self.rest is not None:
            h[:, self._weights :].sub_(self.rest, alpha=times)

    def bound(self) -> float:
        """No element is larger in size (by Cauchy-Schwarz over the rows, column by column)."""
        bounds = [0.0]
        if self.rows is not None:
            [sides] = self.rows.parts
            longest = [side.square().sum(1).amax(1) for side in sides]
            bounds.append(float((longest[0] * longest[1]).max()) ** 0.5)
        if self.rest is not None and self.rest.numel():
            bounds.append(float(self.rest.abs().max()))
        return max(bounds)


def hessian_products(
    layers: Sequence[Layer], loss: Callable[[], Tensor], block: Block
) -> list[Product]:
    """H h per layer for every h of the block; `loss` runs the instance once.

    Linear layers give rows. Parameters of other layers (norms, tables) are few, or have no rows: they are
    leaves of both backward passes.
    """
    linear = [layer for layer in layers if _has_rows(layer)]
    others = [p for layer in layers if not _has_rows(layer) for p in owned(layer)]
    calls: dict[str, list[_Call]] = {layer.name: [] for layer in linear}
    with torch.enable_grad(), requiring_gradients(others), ExitStack() as hooks:
        for layer in linear:
            handle = layer.module.register_forward_hook(_noting(calls[layer.name]))
            hooks.callback(handle.remove)
        slopes = _Slopes(loss(), calls, others)
        for layer, vectors in zip(layers, block, strict=True):
            slopes.move(layer, vectors)
        found = slopes.gradients()
    return [
        _product(layer, calls.get(layer.name, []), found, vectors)
        for layer, vectors in zip(layers, block, strict=True)
    ]


class _Call:
    """One call of a linear layer: what it read and gave, and the gradients of the loss by both."""

    def __init__(self, read: Tensor, given: Tensor) -> None:
        self.read, self.given = read, given
        self.read_gradient: Tensor | None = None
        self.gradient: Tensor | None = None


def _noting(calls: list[_Call]) -> Callable[[nn.Module, tuple[Any, ...], Tensor], Tensor]:
    def hook(_: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        given = output if output.requires_grad else output.detach().requires_grad_()
        calls.append(_Call(args[0], given))
        return given

    return hook


class _Slopes:
    """The slope of the loss along every vector, as outputs to differentiate once more."""

    def __init__(
        self, loss: Tensor, calls: dict[str, list[_Call]], others: Sequence[Tensor]
    ) -> None:
        self.calls, self.others = calls, others
        flat = [call for own in calls.values() for call in own]
        read = [call for call in flat if call.read.requires_grad]
        leaves = [*(c.given for c in flat), *(c.read for c in read), *others]
        first = list(torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True))
        for call in flat:
            call.gradient = first.pop(0)
        for call in read:
            call.read_gradient = first.pop(0)
        self.other_gradients = first
        self.outputs: list[Tensor] = []
        self.directions: list[Tensor] = []

    def move(self, layer: Layer, vectors: Tensor) -> None:
        """Add what a layer's vectors contribute to the slopes."""
        parts = _by_parameter(layer, vectors)
        if layer.name not in self.calls:
            for parameter, part in zip(owned(layer), parts.values(), strict=True):
                self._add(self._other_gradient(parameter), part)
            return
        weight, bias = parts.get("weight"), parts.get("bias")
        if weight is not None and layer.kind == "conv1d":
            weight = weight.mT
        for call in self.calls[layer.name]:
            if call.gradient is None:
                continue
            along = call.gradient.new_zeros(len(vectors), *call.gradient.shape)
            if weight is not None:
                along = _rowwise(call.read.detach(), weight.mT)
                if call.read.requires_grad:
                    self._add(call.read, _rowwise(call.gradient.detach(), weight))
            if bias is not None:
                along.add_(bias.view(len(vectors), *[1] * (call.given.dim() - 1), -1))
            self._add(call.gradient, along)

    def _other_gradient(self, parameter: Tensor) -> Tensor | None:
        number = next(i for i, other in enumerate(self.others) if other is parameter)
        return self.other_gradients[number]

    def _add(self, output: Tensor | None, direction: Tensor) -> None:
        if output is not None and output.requires_grad:
            self.outputs.append(output)
            self.directions.append(direction)

    def gradients(self) -> dict[int, Tensor]:
        """Gradients of all slopes by what layers gave, by what they handed down, and by other parameters."""
        flat = [call for own in self.calls.values() for call in own]
        handed = [c.read_gradient for c in flat]
        leaves = [
            leaf
            for leaf in [*(c.given for c in flat), *handed, *self.others]
            if leaf is not None and leaf.requires_grad
        ]
        if not self.outputs:
            return {}
        found = torch.autograd.grad(
            self.outputs, leaves, self.directions, is_grads_batched=True, allow_unused=True
        )
        return {
            id(leaf): gradient.detach()
            for leaf, gradient in zip(leaves, found, strict=True)
            if gradient is not None
        }


def _product(
    layer: Layer, calls: Sequence[_Call], found: dict[int, Tensor], vectors: Tensor
) -> Product:
    if not _has_rows(layer):
        parts = [
            found.get(id(p), vectors.new_zeros(len(vectors), *p.shape)).flatten(1)
            for p in owned(layer)
        ]
        return Product((), torch.cat(parts, 1))
    sides, bias = [], []
    for call in calls:
        by_given = found.get(id(call.given))
        handed = None if call.read_gradient is None else found.get(id(call.read_gradient))
        if by_given is not None:
            outputs = by_given.flatten(1, -2)
            sides.append(Rows(_rows(call.read).expand(len(vectors), -1, -1), outputs))
            bias.append(outputs.sum(1))
        if handed is not None and call.gradient is not None:
            outputs = _rows(call.gradient).expand(len(vectors), -1, -1)
            sides.append(Rows(handed.flatten(1, -2), outputs))
    if not sides:
        return Product((), torch.zeros_like(vectors))
    rest = torch.stack(bias).sum(0) if _has(layer, "bias") else None
    if not _has(layer, "weight"):
        return Product((), rest)
    return Product(tuple(sides), rest, transposed=layer.kind == "conv1d")


def _rowwise(rows: Tensor, matrices: Float[Tensor, vectors in out]) -> Tensor:
    """Every row of a tensor times every matrix."""
    flat = rows.reshape(-1, rows.shape[-1])
    stored = matrices.stride(2) == 1
    if len(flat) == 1 and not stored:  # a row that meets each matrix's own rows: no need to turn it
        found = torch.bmm(matrices.mT, flat.mT.expand(len(matrices), -1, -1))
    elif len(flat) > 1 and stored:
        found = torch.stack([times_transposed(flat, matrix.mT) for matrix in matrices])
    else:
        found = torch.bmm(flat.expand(len(matrices), -1, -1), matrices)
    return found.view(len(matrices), *rows.shape[:-1], -1)


def _rows(values: Tensor) -> Tensor:
    return values.detach().reshape(1, -1, values.shape[-1])


def _by_parameter(layer: Layer, vectors: Tensor) -> dict[str, Tensor]:
    """The vectors of a layer, parameter by parameter."""
    parts: dict[str, Tensor] = {}
    first = 0
    for name, parameter in zip(layer.parameters, owned(layer), strict=True):
        columns = vectors[:, first : first + parameter.numel()]
        parts[name.rpartition(".")[2]] = columns.reshape(-1, *parameter.shape)
        first += parameter.numel()
    return parts


def _has_rows(layer: Layer) -> bool:
    return layer.kind in ("linear", "conv1d")


def _has(layer: Layer, short: str) -> bool:
    return any(name.rpartition(".")[2] == short for name in layer.parameters)
