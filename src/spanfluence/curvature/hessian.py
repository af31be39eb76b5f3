"""Products of one instance's Hessian with many vectors, as rows.

A layer y = Wa with output gradient d has the gradient da', so its part of the slope along h is d'ha. Let
e and c be the gradients of the whole slope by y and by Wd' (the gradient that the layer hands down): then W enters
the slope through y, with the rows (e, a), and through Wd', with the rows (d, c). Forward and first
backward pass run once for all vectors; only the second backward pass runs for each, and no matrix of
the size of W is formed anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from spanfluence.capture import Layer, owned
from spanfluence.curvature import Block
from spanfluence.curvature.product import Product, Sides
from spanfluence.curvature.twice import TwiceDifferentiable
from spanfluence.model import requiring_gradients
from spanfluence.one_query import attend_once, needs_tokens
from spanfluence.products import times_transposed
from spanfluence.trim import Attend, Question, attend_tokens

CACHE_BYTES = 4 << 20  # of vectors that are worked on at a time
PASS_BYTES = 2 << 20  # of the widest layer's output, over the vectors of one second backward pass


def few_at_a_time(vectors: Float[Tensor, "vectors size"]) -> Iterator[slice]:
    """All vectors in runs that fit the processor's cache: what is done to a run reads memory once."""
    step = max(1, CACHE_BYTES // max(1, vectors.shape[1] * vectors.element_size()))
    for first in range(0, len(vectors), step):
        yield slice(first, first + step)


@contextmanager
def hessian_of(layers: Sequence[Layer], loss: Callable[[Attend], Tensor]) -> Iterator[Hessian]:
    """That of one instance, whose loss `loss` runs once; products can be asked for while this lasts.

    Linear layers give rows. Parameters of other layers (norms, tables) are few, or have no rows: they are
    leaves of both backward passes.
    """
    linear = [layer for layer in layers if _has_rows(layer)]
    others = [p for layer in layers if not _has_rows(layer) for p in owned(layer)]
    calls: dict[str, list[_Call]] = {layer.name: [] for layer in linear}
    with torch.enable_grad(), requiring_gradients(others):
        with TwiceDifferentiable(), ExitStack() as hooks:
            for layer in linear:
                handle = layer.module.register_forward_hook(_noting(calls[layer.name]))
                hooks.callback(handle.remove)
            value = loss(partial(_attend, {layer.module: calls[layer.name] for layer in linear}))
        yield Hessian(layers, value, calls, others)


class Hessian:
    """One instance's Hessian, after its forward and first backward pass."""

    def __init__(
        self,
        layers: Sequence[Layer],
        loss: Tensor,
        calls: dict[str, list[_Call]],
        others: Sequence[Tensor],
    ) -> None:
        self.layers, self.calls, self.others = layers, calls, others
        self.flat = flat = [call for own in calls.values() for call in own]
        read = [call for call in flat if call.read.requires_grad]
        leaves = [*(c.given for c in flat), *(c.read for c in read), *others]
        first = list(torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True))
        for call in flat:
            call.gradient = first.pop(0)
        for call in read:
            call.read_gradient = first.pop(0)
        self.other_gradients = {id(p): g for p, g in zip(others, first, strict=True)}

    def runs(self, block: Block, workers: int) -> list[slice]:
        """All vectors of a block in runs whose second backward pass fits a processor's cache, as many for
        every worker; elsewhere all at once."""
        vectors = len(block[0])
        if block[0].device.type != "cpu":
            return [slice(0, vectors)]
        widest = max((c.given.numel() * c.given.element_size() for c in self.flat), default=1)
        rounds = -(-vectors * widest // (PASS_BYTES * workers))
        count = min(vectors, rounds * workers)
        return [slice(i * vectors // count, (i + 1) * vectors // count) for i in range(count)]

    def products(self, block: Block) -> list[Product]:
        """H h per layer for every h of the block."""
        slopes = _Slopes(self)
        for layer, vectors in zip(self.layers, block, strict=True):
            slopes.move(layer, vectors)
        found = slopes.gradients()
        return [
            _product(layer, self.calls.get(layer.name, []), found, vectors)
            for layer, vectors in zip(self.layers, block, strict=True)
        ]


class _Call:
    """One call of a linear layer: what it read and gave, and the gradients of the loss by both.

    Where one query attends, keys and values are not called: each head of their weight reads one row. A key's
    head is multiplied from the left, by its query, and the bias of keys changes nothing (see `one_query`).
    """

    def __init__(
        self, read: Tensor, given: Tensor, *, heads: bool = False, turned: bool = False
    ) -> None:
        self.read, self.given, self.heads, self.turned = read, given, heads, turned
        self.read_gradient: Tensor | None = None
        self.gradient: Tensor | None = None

    def rows(self, values: Tensor) -> Float[Tensor, "matrices rows some"]:
        """What was read or given, or a gradient of it, by the matrix that it belongs to."""
        flat = values.detach().reshape(-1, values.shape[-1])
        return flat[:, None] if self.heads else flat[None]

    def rows_of_all(self, values: Tensor) -> Float[Tensor, "matrices vectors rows some"]:
        """The same of something that every vector has its own of."""
        flat = values.detach().reshape(len(values), -1, values.shape[-1])
        return flat.transpose(0, 1)[:, :, None] if self.heads else flat[None]

    def as_given(self, bias: Float[Tensor, "vectors high"]) -> Tensor:
        """A bias of every vector, as it is added to what is given."""
        shape = self.given.shape if self.heads else (*[1] * (self.given.dim() - 1), -1)
        return bias.view(len(bias), *shape)

    def along(self, rows: Tensor, weight: Float[Tensor, "vectors matrices in out"]) -> Tensor:
        """Rows, each times the matrix that it belongs to, of every vector."""
        found = [_rowwise(own, weight[:, number]) for number, own in enumerate(self.rows(rows))]
        return torch.stack(found, 1).view(len(weight), *rows.shape[:-1], -1)


def _attend(calls: dict[nn.Module, list[_Call]], asked: Question) -> Tensor:
    """One query's context, with what its keys and values read and gave by head."""
    if not {asked.key, asked.value} <= calls.keys() or needs_tokens(asked, hooks=1):
        return attend_tokens(asked)
    if not asked.query.requires_grad:  # gradients begin here, as in `_noting`
        asked = replace(asked, query=asked.query.detach().requires_grad_())
    found = attend_once(asked)
    calls[asked.key].append(_Call(found.query, found.wanted, heads=True, turned=True))
    calls[asked.value].append(_Call(found.pooled, found.context, heads=True))
    return found.joined


def _noting(calls: list[_Call]) -> Callable[[nn.Module, tuple[Any, ...], Tensor], Tensor]:
    def hook(_: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        given = output if output.requires_grad else output.detach().requires_grad_()
        calls.append(_Call(args[0], given))
        return given

    return hook


class _Slopes:
    """The slope of the loss along every vector, as outputs to differentiate once more."""

    def __init__(self, hessian: Hessian) -> None:
        self.hessian = hessian
        self.outputs: list[Tensor] = []
        self.directions: list[Tensor] = []

    def move(self, layer: Layer, vectors: Tensor) -> None:
        """Add what a layer's vectors contribute to the slopes."""
        parts = _by_parameter(layer, vectors)
        if layer.name not in self.hessian.calls:
            for parameter, part in zip(owned(layer), parts.values(), strict=True):
                self._add(self.hessian.other_gradients[id(parameter)], part)
            return
        weight, bias = parts.get("weight"), parts.get("bias")
        for call in self.hessian.calls[layer.name]:
            if call.gradient is None:
                continue
            along = call.gradient.new_zeros(len(vectors), *call.gradient.shape)
            if weight is not None:
                matrices = weight.unflatten(1, (len(call.rows(call.read)), -1))
                matrices = matrices.mT if call.turned or layer.kind == "conv1d" else matrices
                along = call.along(call.read, matrices.mT)
                if call.read.requires_grad:
                    self._add(call.read, call.along(call.gradient, matrices))
            if bias is not None and not call.turned:
                along.add_(call.as_given(bias))
            self._add(call.gradient, along)

    def _add(self, output: Tensor | None, direction: Tensor) -> None:
        if output is not None and output.requires_grad:
            self.outputs.append(output)
            self.directions.append(direction)

    def gradients(self) -> dict[int, Tensor]:
        """Gradients of all slopes by what layers gave, by what they handed down, and by other parameters."""
        calls = self.hessian.flat
        handed = [call.read_gradient for call in calls]
        leaves = [
            leaf
            for leaf in [*(c.given for c in calls), *handed, *self.hessian.others]
            if leaf is not None and leaf.requires_grad
        ]
        if not self.outputs:
            return {}
        found = torch.autograd.grad(
            self.outputs,
            leaves,
            self.directions,
            is_grads_batched=True,
            allow_unused=True,
            retain_graph=True,
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
    pairs, biases = [], []
    for call in calls:
        by_given = found.get(id(call.given))
        handed = None if call.read_gradient is None else found.get(id(call.read_gradient))
        if by_given is not None:
            outputs = call.rows_of_all(by_given)
            pairs.append((call.rows(call.read), outputs))
            biases.append(outputs.sum(2).transpose(0, 1).flatten(1))
        if handed is not None and call.gradient is not None:
            pairs.append((call.rows_of_all(handed), call.rows(call.gradient)))
    if not pairs:
        return Product((), torch.zeros_like(vectors))
    turned = calls[0].turned
    rest = None
    if _has(layer, "bias"):
        rest = vectors.new_zeros(len(vectors), len(owned(layer)[-1]))
        rest = rest if turned else sum(biases, rest)
    if not _has(layer, "weight"):
        return Product((), rest)
    matrices = zip(*(starmap(Sides, zip(*pair, strict=True)) for pair in pairs), strict=True)
    return Product(tuple(matrices), rest, transposed=turned or layer.kind == "conv1d")


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
