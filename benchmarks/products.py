"""The matrix products of a call, run again by themselves: what of its time no change around them can save.

Every product is noted with the shapes and strides of its operands, and then timed alone, warm, with nothing
between it and the next of its kind. Their sum is what the call would take if all else were free.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

PRODUCTS = (
    "mm",
    "addmm",
    "bmm",
    "baddbmm",
    "_linear_pointwise",
    "_scaled_dot_product_flash_attention_for_cpu",
)
RUNS = 3


class _Layout:
    """Sizes, strides and type of a tensor, to be compared and to make another one of."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.sizes, self.strides = tuple(tensor.shape), tuple(tensor.stride())
        self.dtype = tensor.dtype

    def made(self) -> torch.Tensor:
        """Other numbers in the same layout."""
        steps = zip(self.sizes, self.strides, strict=True)
        length = 1 + sum((size - 1) * stride for size, stride in steps)
        return torch.rand(max(length, 0)).to(self.dtype).as_strided(self.sizes, self.strides)

    def __repr__(self) -> str:
        return f"{self.sizes} {self.strides} {self.dtype}"


class _Noting(TorchDispatchMode):
    """Counts the products that pass, by operator and layout of all operands."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()
        self.operands: dict[str, tuple[Any, Any, Any]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.overloadpacket.__name__.rstrip("_") in PRODUCTS:  # in place or not
            layouts = tree_map_only(torch.Tensor, _Layout, (args, kwargs))
            key = f"{func} {layouts}"
            self.seen[key] += 1
            self.operands.setdefault(key, (func, *layouts))
        return func(*args, **kwargs)


def products_alone(call: Callable[[], Any]) -> float:
    """Seconds that the products of a call take by themselves, on one thread each, over the number of threads.

    That is how our engine shares them out. On one thread the caller takes them all, where they are noted.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with _Noting() as noted:
            call()
        return _seconds(noted) / threads
    finally:
        torch.set_num_threads(threads)


def _seconds(noted: _Noting) -> float:
    total = 0.0
    for key, count in noted.seen.items():
        func, args, kwargs = tree_map_only(_Layout, _Layout.made, noted.operands[key])
        func(*args, **kwargs)  # warm
        times = []
        for _ in range(RUNS):
            began = time.perf_counter()
            func(*args, **kwargs)
            times.append(time.perf_counter() - began)
        total += count * median(times)
    return total
