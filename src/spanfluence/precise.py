"""Double precision for small tensors: on the CPU, because not every device has it."""

from __future__ import annotations

from torch import Tensor


def precise(values: Tensor) -> Tensor:
    """The values in double precision, on the CPU."""
    return values.cpu().double()
