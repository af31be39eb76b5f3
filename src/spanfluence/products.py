"""Large matrix products on a processor, through whichever of torch's libraries takes them faster.

torch sends float32 products to its BLAS. Of the shapes met here its other library, oneDNN, is up to half as
fast again: a block of written-out gradients with those of some tests is long in the summed dimension and
short in both others. The results are float32 all the same.

oneDNN compiles a kernel for every shape it meets and keeps the last 1,024 of them, torch keeps their descriptions,
half a megabyte for each together. A pass meets new numbers of rows all along, and would grow by half a
gigabyte; batches of one shape follow each other, so few kernels do as well. Both limits are read when the
first product runs; where the user has set them they stay.
"""

from __future__ import annotations

import os
import platform
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

KEPT_KERNELS = "128"
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", KEPT_KERNELS)
os.environ.setdefault("LRU_CACHE_CAPACITY", KEPT_KERNELS)  # torch's descriptions of them

LEAST_WORK = 1 << 22  # multiplications below which compiling a kernel costs more than is gained


def _onednn() -> Any:
    """oneDNN's product as torch offers it to its compiler; None where this torch has none."""
    if platform.machine() not in ("x86_64", "AMD64") or not torch.backends.mkldnn.is_available():
        return None
    return getattr(torch.ops.mkldnn, "_linear_pointwise", None)


ONEDNN = _onednn()


def times_transposed(
    rows: Float[Tensor, "*rows wide"],
    weight: Float[Tensor, "high wide"],
    bias: Float[Tensor, " high"] | None = None,
) -> Float[Tensor, "*rows high"]:
    """rows @ weight.T + bias, without a gradient."""
    if not _suits(rows, weight, bias):
        return torch.nn.functional.linear(rows, weight, bias)
    if not (weight.is_contiguous() or weight.T.is_contiguous()):
        weight = weight.contiguous()  # oneDNN would take it element by element
    found: Tensor = ONEDNN(rows.contiguous(), weight, bias, "none", [], "")
    return found


def _suits(rows: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    return (
        ONEDNN is not None
        and rows.device.type == "cpu"
        and type(weight) in (Tensor, torch.nn.Parameter)  # others multiply in their way
        and rows.dtype == weight.dtype == torch.float32
        and (bias is None or bias.dtype == torch.float32)
        and weight.dim() == 2
        and rows.numel() * weight.shape[0] >= LEAST_WORK
        and not torch.is_autocast_enabled("cpu")
    )


class _Linear(torch.autograd.Function):
    """A linear layer whose three products, forwards and backwards, go through `times_transposed`."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        opened = ctx.needs_input_grad[1]
        ctx.save_for_backward(weight, rows if opened else None)  # else they need not be kept
        return times_transposed(rows, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        weight, rows = ctx.saved_tensors
        of_rows, of_weight, of_bias = ctx.needs_input_grad
        flat = gradient.reshape(-1, gradient.shape[-1])
        return (
            times_transposed(gradient, weight.T) if of_rows else None,
            times_transposed(flat.T, rows.reshape(-1, rows.shape[-1]).T) if of_weight else None,
            flat.sum(0) if of_bias else None,
        )


class FastLinear(TorchFunctionMode):
    """While it lasts, linear layers run by `times_transposed`: they can be differentiated once, backwards."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if function is torch.nn.functional.linear and not kwargs:
            rows, weight, bias = (*args, None)[:3]
            if _suits(rows, weight, bias):
                return _Linear.apply(rows, weight, bias)
        return function(*args, **(kwargs or {}))
