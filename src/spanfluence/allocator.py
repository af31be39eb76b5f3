"""Memory for large blocks: kept for the next batch, bounded, and taken from the system in large pages."""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

LARGE_BYTES = 8 << 20  # from here on pages of 2 MB pay
GROWTH = 1.06  # of the process over its first batch, before free memory is handed back

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8


@cache
def _glibc() -> Any:
    """The C library, if it is one whose allocator can be told what to do."""
    if not sys.platform.startswith("linux"):
        return None
    with suppress(OSError, AttributeError):  # another C library
        library = ctypes.CDLL(None)
        return library if library.mallopt and library.malloc_trim else None
    return None


@cache
def keep_freed_memory() -> None:
    """Tell glibc not to hand every large block back to the system as soon as it is freed.

    Batches of one size follow each other: the memory of the last serves the next, and the system need
    not clear each page anew (a sixth of the time of a pass, measured). Elsewhere nothing happens.
    """
    if _glibc() is None:
        return
    for parameter, value in (
        (M_MMAP_THRESHOLD, 32 << 20),  # the most that glibc takes
        (M_TRIM_THRESHOLD, 2**31 - 1),
        (M_TOP_PAD, 64 << 20),
        (M_ARENA_MAX, 1),  # one heap for all threads: what one frees serves the others
    ):
        _glibc().mallopt(parameter, value)


class BoundedHeap:
    """Holds the process near the size that its first (and largest) batch gave it.

    Kept memory falls into pieces that fit the next batches ever less, and would grow with the number of
    batches: once it has grown a little, what is free goes back to the system. Not after every batch, since
    the next one clears its pages anew.
    """

    def __init__(self) -> None:
        self._limit = 0.0

    def after_batch(self) -> None:
        """To be called when the memory of a batch is free again."""
        now = resident_bytes()
        if not self._limit:
            self._limit = GROWTH * now
        elif now > self._limit and _glibc() is not None:
            _glibc().malloc_trim(0)


def resident_bytes() -> int:
    """Bytes of memory that this process holds now; 0 where the system does not tell."""
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * mmap.PAGESIZE
    return 0


class _Spare:
    """Blocks that were given back while `reusing_blocks` lasted."""

    def __init__(self) -> None:
        self.blocks: dict[int, list[mmap.mmap]] = {}
        self.users = 0
        self._one_at_a_time = threading.RLock()  # a block may come back while another is taken

    def begin(self) -> None:
        with self._one_at_a_time:
            self.users += 1

    def end(self) -> None:
        with self._one_at_a_time:
            self.users -= 1
            if not self.users:
                self.blocks.clear()

    def take(self, size: int) -> mmap.mmap | None:
        """A block of exactly that size. If there is none all others go: they do not fit what comes."""
        with self._one_at_a_time:
            found = self.blocks.get(size)
            if found:
                return found.pop()
            self.blocks.clear()
            return None

    def give_back(self, size: int, block: mmap.mmap) -> None:
        with self._one_at_a_time:
            if self.users:
                self.blocks.setdefault(size, []).append(block)


_SPARE = _Spare()


@contextmanager
def reusing_blocks() -> Iterator[None]:
    """For a while, `large_empty` uses blocks of the same size again, which need not be cleared.

    The gradients of the same tests at one point after the other take the same blocks.
    """
    _SPARE.begin()
    try:
        yield
    finally:
        _SPARE.end()


def large_empty(like: Tensor, *shape: int) -> Tensor:
    """`like.new_empty(*shape)`; a large block comes in large pages, where the system offers them.

    The system clears every page at its first use: in small pages that takes several times as long, and
    for the written-out gradients of many tests longer than computing them.
    """
    count = torch.Size(shape).numel()
    size = count * like.element_size()
    if like.device.type != "cpu" or size < LARGE_BYTES or not hasattr(mmap, "MADV_HUGEPAGE"):
        return like.new_empty(*shape)
    block = _SPARE.take(size)
    if block is None:
        block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError):  # a system built without large pages gives small ones
            block.madvise(mmap.MADV_HUGEPAGE)
    # The tensor keeps this array; when both are gone, so is the last use of the block.
    array = np.frombuffer(block, np.uint8)
    weakref.finalize(array, _SPARE.give_back, size, block)
    return torch.from_numpy(array).view(like.dtype).view(shape)
