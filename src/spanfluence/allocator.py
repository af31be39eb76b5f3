"""Memory for large blocks: kept for the next batch, and taken from the system in large pages."""

from __future__ import annotations

import ctypes
import mmap
import sys
from contextlib import suppress
from functools import cache

import torch
from torch import Tensor

LARGE_BYTES = 8 << 20  # from here on pages of 2 MB pay

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3


@cache
def keep_freed_memory() -> None:
    """Tell glibc not to hand every large block back to the system as soon as it is freed.

    Batches of one size follow each other: the memory of the last serves the next, and the system need
    not clear each page anew (a sixth of the time of a pass, measured). Elsewhere nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return
    for parameter, value in (
        (M_MMAP_THRESHOLD, 32 << 20),  # the most that glibc takes
        (M_TRIM_THRESHOLD, 2**31 - 1),
        (M_TOP_PAD, 64 << 20),
    ):
        mallopt(parameter, value)


def large_empty(like: Tensor, *shape: int) -> Tensor:
    """`like.new_empty(*shape)`; a large block comes in large pages, where the system offers them.

    The system clears every page at its first use: in small pages that takes three times as long, and
    for the written-out gradients of many tests longer than computing them.
    """
    count = torch.Size(shape).numel()
    size = count * like.element_size()
    if like.device.type != "cpu" or size < LARGE_BYTES or not hasattr(mmap, "MADV_HUGEPAGE"):
        return like.new_empty(*shape)
    block = mmap.mmap(-1, size)  # lives as long as the tensor over it
    with suppress(OSError):  # a system built without large pages gives small ones
        block.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(block, dtype=like.dtype, count=count).view(shape)
