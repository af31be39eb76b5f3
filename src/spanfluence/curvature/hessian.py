"""Products of one instance's Hessian with many vectors, as rows.

H h = grad_theta (d/de L(theta + e h)): the derivative of the loss along h is computed forwards, together with the
loss, and differentiated backwards. One text stands in the batch as often as there are vectors, so that a
product is the per-example gradient of a batch, and keeps its rows as every other gradient does:
a layer y = Wx that also carries the derivatives y* = Wx* + hx has the rows (dy, x) and (dy*, x*).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
import torch.autograd.forward_ad as forward
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from spanfluence.capture import Layer, normalised
from spanfluence.curvature import Block
from spanfluence.gradients import MatrixGradient, joined

ROW_KINDS = ("linear", "conv1d", "norm")


def can_run(layers: Sequence[Layer]) -> bool:
    """Whether every layer's products can be had as rows."""
    return all(layer.kind in ROW_KINDS and not layer.shared for layer in layers)


@dataclass(frozen=True, eq=False)
class Product:
    """H h of one layer for a block of vectors: rows of its matrix, then whatever columns follow."""

    rows: MatrixGradient | None
    rest: Float[Tensor, "vectors some"] | None

    def columns(self) -> Iterator[tuple[int, Float[Tensor, "vectors some"]]]:
        """Written out piece by piece: (first column, values). A piece lives until the next."""
        first = 0
        if self.rows is not None:
            yield from self.rows.columns()
            first = self.rows.inputs.shape[2] * self.rows.outputs.shape[2]
        if self.rest is not None:
            yield first, self.rest


def hessian_rows(
    layers: Sequence[Layer], losses: Callable[[], Tensor], block: Block
) -> list[Product]:
    """H h per layer for every h of the block. `losses` runs one text as often as the block has vectors."""
    calls: dict[str, list[_Call]] = {layer.name: [] for layer in layers}
    with (
        torch.enable_grad(),
        forward.dual_level(),
        _WrittenOut(),
        ExitStack() as hooks,
    ):
        for layer, vectors in zip(layers, block, strict=True):
            along = _Direction(layer, vectors, calls[layer.name])
            hooks.callback(layer.module.register_forward_hook(along).remove)
        slope = forward.unpack_dual(losses()).tangent
        outputs = [o for own in calls.values() for call in own for o in (call.value, call.slope)]
        if slope is None or not outputs:
            return [Product(None, torch.zeros_like(vectors)) for vectors in block]
        found = torch.autograd.grad(slope.sum(), outputs, allow_unused=True)
        gradients = iter(
            torch.zeros_like(o) if g is None else g for o, g in zip(outputs, found, strict=True)
        )
        return [
            _gathered(layer, calls[layer.name], gradients)
            if calls[layer.name]
            else Product(None, torch.zeros_like(vectors))
            for layer, vectors in zip(layers, block, strict=True)
        ]


class _WrittenOut(TorchFunctionMode):
    """Softmax, attention and norms in plain steps.

    Torch differentiates its own either not at all, or wrongly, forwards and then backwards: the
    derivative along a direction treats mean and variance as constants.
    """

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func in (torch.softmax, torch.Tensor.softmax, nn.functional.softmax):
            return _softmax(*args, **kwargs)
        if func is nn.functional.scaled_dot_product_attention:
            return _attention(*args, **kwargs)
        if func is nn.functional.layer_norm:
            return _layer_norm(*args, **kwargs)
        return func(*args, **kwargs)


def _layer_norm(
    values: Tensor,
    shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    axes = tuple(range(-len(shape), 0))
    centred = values - values.mean(axes, keepdim=True)
    result = centred * (centred.square().mean(axes, keepdim=True) + eps).rsqrt()
    result = result if weight is None else result * weight
    return result if bias is None else result + bias


def _softmax(values: Tensor, dim: int = -1, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    values = values if dtype is None else values.to(dtype)
    odds = (values - values.detach().amax(dim, keepdim=True)).exp()
    return odds / odds.sum(dim, keepdim=True)


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *_: Any,
    scale: float | None = None,
    **__: Any,
) -> Tensor:
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
        else:
            scores = scores + attn_mask
    return _softmax(scores) @ value


class _Call:
    """One call of a layer: what it read and gave, and the slopes of both along the block's vectors."""

    def __init__(
        self, read: Tensor, read_slope: Tensor | None, value: Tensor, slope: Tensor
    ) -> None:
        self.read, self.read_slope, self.value, self.slope = read, read_slope, value, slope


class _Direction:
    """A forward hook that moves a layer's parameters along each vector, to first order."""

    def __init__(self, layer: Layer, vectors: Tensor, calls: list[_Call]) -> None:
        self.layer, self.calls = layer, calls
        parts: dict[str, Tensor] = {}
        module: Any = layer.module
        first = 0
        for name in layer.parameters:
            short = name.rpartition(".")[2]
            shape = getattr(module, short).shape
            parts[short] = vectors[:, first : first + shape.numel()].view(-1, *shape)
            first += shape.numel()
        self.weight, self.bias = parts.get("weight"), parts.get("bias")

    def __call__(self, _: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        read, read_slope = forward.unpack_dual(args[0])
        value, slope = forward.unpack_dual(output)
        moved = self._moved(read)
        value = value if value.requires_grad else value.detach().requires_grad_()
        slope = moved if slope is None else slope + moved
        slope = slope if slope.requires_grad else slope.detach().requires_grad_()
        seen = None if read_slope is None else read_slope.detach()
        self.calls.append(_Call(read.detach(), seen, value, slope))
        both: Tensor = forward.make_dual(value, slope)
        return both

    def _moved(self, read: Tensor) -> Tensor:
        """What the vectors alone add to the output."""
        middle = [1] * (read.dim() - 2)
        total: Tensor | float = 0.0
        if self.weight is not None:
            if self.layer.kind == "norm":
                scale = self.weight.view(-1, *middle, self.weight.shape[-1])
                total = normalised(self.layer.module, read) * scale
            else:
                matrix = self.weight if self.layer.kind == "conv1d" else self.weight.mT
                rows = read.reshape(len(read), -1, read.shape[-1])
                total = torch.bmm(rows, matrix).view(*read.shape[:-1], -1)
        if self.bias is not None:
            total = total + self.bias.view(-1, *middle, self.bias.shape[-1])
        assert isinstance(total, Tensor)
        return total


def _gathered(layer: Layer, calls: Sequence[_Call], gradients: Iterator[Tensor]) -> Product:
    """All calls of a layer together."""
    pairs = [(call, next(gradients).detach(), next(gradients).detach()) for call in calls]
    bias = [_rows(by_value).sum(1) for _, by_value, _ in pairs] if _has(layer, "bias") else []
    rest = [torch.stack(bias).sum(0)] if bias else []
    if not _has(layer, "weight"):
        return Product(None, torch.cat(rest, 1))
    if layer.kind == "norm":
        weight = torch.stack([_norm_weight(layer.module, *pair) for pair in pairs]).sum(0)
        return Product(None, torch.cat([weight, *rest], 1))
    inputs, outputs = [], []
    for call, by_value, by_slope in pairs:
        inputs.append(_rows(call.read))
        outputs.append(_rows(by_value))
        if call.read_slope is not None:
            inputs.append(_rows(call.read_slope))
            outputs.append(_rows(by_slope))
    rows = MatrixGradient(
        joined(inputs), joined(outputs), bias=False, transposed=layer.kind == "conv1d"
    )
    return Product(rows, rest[0] if rest else None)


def _norm_weight(module: nn.Module, call: _Call, by_value: Tensor, by_slope: Tensor) -> Tensor:
    read = call.read if call.read_slope is None else forward.make_dual(call.read, call.read_slope)
    value, slope = forward.unpack_dual(normalised(module, read))
    total = by_value * value if slope is None else by_value * value + by_slope * slope
    return _rows(total.detach()).sum(1)


def _rows(values: Tensor) -> Tensor:
    return values.reshape(len(values), -1, values.shape[-1])


def _has(layer: Layer, short: str) -> bool:
    return any(name.rpartition(".")[2] == short for name in layer.parameters)


def hessian_products(
    loss: Tensor, layers: Sequence[Sequence[Tensor]], block: Block
) -> list[Product]:
    """The same for any parameters, listed per layer: one batched backward pass through a backward pass."""
    leaves = [leaf for layer in layers for leaf in layer]
    vectors: list[Tensor] = []
    for layer, values in zip(layers, block, strict=True):
        columns = values.split([leaf.numel() for leaf in layer], 1)
        vectors += [c.reshape(-1, *leaf.shape) for c, leaf in zip(columns, layer, strict=True)]
    with torch.enable_grad():
        first = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
        used = [
            (g, v) for g, v in zip(first, vectors, strict=True) if g is not None and g.requires_grad
        ]
        second = torch.autograd.grad(
            [g for g, _ in used],
            leaves,
            grad_outputs=[v for _, v in used],
            is_grads_batched=True,
            allow_unused=True,
        )
    found = iter(
        torch.zeros_like(v) if s is None else s.detach()
        for s, v in zip(second, vectors, strict=True)
    )
    return [
        Product(None, torch.cat([next(found).flatten(1) for _ in layer], 1)) for layer in layers
    ]
