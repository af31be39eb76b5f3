"""Activations, softmax and layer norm whose second backward pass is cheap for many vectors at once.

torch differentiates its own backward formulas of these vector by vector, where many are asked for
together. What their second derivatives hold of the instance is the same for all vectors, so it is computed once
here, in the first backward pass; every vector then costs a few products with it. u is what the second
backward pass brings, in place of the gradient that the first one gave.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.overrides import TorchFunctionMode


class _Gelu(Function):
    """y = x Phi(x)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.nn.functional.gelu(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        found: Tensor = _GeluGradient.apply(gradient, *ctx.saved_tensors)
        return found


class _GeluGradient(Function):
    """g y'(x); along u: u y'(x) by g, u g y''(x) by x."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, x: Tensor) -> Tensor:
        density = torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        slope = 0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * density
        ctx.save_for_backward(slope, gradient * density * (2 - x * x))
        return gradient * slope

    @staticmethod
    def backward(ctx: Any, u: Tensor) -> tuple[Tensor, Tensor]:
        slope, bend = ctx.saved_tensors
        return u * slope, u * bend


class _Softmax(Function):
    """y = softmax(x) along the last dimension."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = torch.softmax(x, -1)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        found: Tensor = _SoftmaxGradient.apply(gradient, *ctx.saved_tensors)
        return found


class _SoftmaxGradient(Function):
    """y (g - y.g); along u: y (u - y.u) by g, and by y u (g - y.g) - g y.u, which goes on to x."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, _: Tensor, y: Tensor) -> Tensor:
        mean = (gradient * y).sum(-1, keepdim=True)
        ctx.save_for_backward(y, gradient - mean, gradient * y)
        return y * (gradient - mean)

    @staticmethod
    def backward(ctx: Any, u: Tensor) -> tuple[Tensor, Tensor, None]:
        y, centred, weighted = ctx.saved_tensors
        own = u * y
        total = own.sum(-1, keepdim=True)
        by_y = own * centred - weighted * total
        return own - y * total, by_y - y * by_y.sum(-1, keepdim=True), None


class _Normalise(Function):
    """n = (x - mean) / sigma along the last dimension, of the size D."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, epsilon: float) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        scale = torch.rsqrt(centred.square().mean(-1, keepdim=True) + epsilon)
        n = centred * scale
        ctx.save_for_backward(x, n, scale)
        return n

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _NormaliseGradient.apply(gradient, *ctx.saved_tensors), None


class _NormaliseGradient(Function):
    """Jg with the symmetric J = (I - 11'/D - nn'/D) / sigma; along u: Ju by g, and by x
    -(n (u.Jg) + Jg (u.n) + Ju (g.n)) / (D sigma), since dsigma/dx = n/D and dn/dx = J.
    """

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, _: Tensor, n: Tensor, scale: Tensor) -> Tensor:
        found = _tangent(gradient, n, scale)
        share = -scale / n.shape[-1]
        along = (gradient * n).sum(-1, keepdim=True)
        ctx.save_for_backward(n, scale, found * share, along * share)
        return found

    @staticmethod
    def backward(ctx: Any, u: Tensor) -> tuple[Tensor, Tensor, None, None]:
        n, scale, found, along = ctx.saved_tensors
        by_gradient = _tangent(u, n, scale)
        by_x = (
            n * (u * found).sum(-1, keepdim=True)
            + found * (u * n).sum(-1, keepdim=True)
            + by_gradient * along
        )
        return by_gradient, by_x, None, None


def _tangent(g: Tensor, n: Tensor, scale: Tensor) -> Tensor:
    """Jg."""
    size = n.shape[-1]  # torch takes means vector by vector, sums of all at once
    plain, along = g.sum(-1, keepdim=True), (g * n).sum(-1, keepdim=True)
    return (g - plain / size - n * (along / size)) * scale


def _gelu(x: Tensor, approximate: str = "none") -> Tensor | None:
    return _Gelu.apply(x) if approximate == "none" else None


def _layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor | None:
    if len(normalized_shape) != 1:
        return None
    n: Tensor = _Normalise.apply(x, eps)
    n = n if weight is None else n * weight
    return n if bias is None else n + bias


def _softmax(x: Tensor, dim: int | None = None, **others: Any) -> Tensor | None:
    widening = others.get("dtype") not in (None, x.dtype)
    return None if widening or dim not in (-1, x.dim() - 1) else _Softmax.apply(x)


_OWN: dict[Any, Callable[..., Tensor | None]] = {
    torch.nn.functional.gelu: _gelu,
    torch.nn.functional.layer_norm: _layer_norm,
    torch.nn.functional.softmax: _softmax,
    torch.softmax: _softmax,
    Tensor.softmax: _softmax,
}
"""Each gives None where it has no formula for what is asked."""


class TwiceDifferentiable(TorchFunctionMode):
    """While it lasts, these functions of what needs a gradient run by the formulas of this file."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        options = kwargs or {}
        if function in _OWN and args and torch.is_grad_enabled() and args[0].requires_grad:
            found = _OWN[function](*args, **options)
            if found is not None:
                return found
        return function(*args, **options)
