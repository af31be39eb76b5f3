"""Blocks of memory are what they claim to be, whatever their size."""

from __future__ import annotations

import gc
import sys
from types import SimpleNamespace

import pytest
import torch

from spanfluence import allocator
from spanfluence.allocator import BoundedHeap, large_empty, resident_bytes, reusing_blocks


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(2, 3), (0, 5), (1 << 11, (1 << 11) + 3)])
def test_a_block_is_like_an_empty_tensor(dtype, shape):
    block = large_empty(torch.zeros(1, dtype=dtype), *shape)
    assert block.shape == shape
    assert block.dtype == dtype
    assert block.is_contiguous()
    block.fill_(2.0)
    assert block.sum(dtype=torch.float64) == 2 * block.numel()


def test_a_block_lives_as_long_as_anything_made_of_it():
    row = large_empty(torch.zeros(1), 1 << 12, 1 << 12).fill_(3.0)[7]
    gc.collect()
    others = [large_empty(torch.zeros(1), 1 << 12, 1 << 12).fill_(float(n)) for n in range(3)]
    assert row.eq(3.0).all()
    assert [float(other[0, 0]) for other in others] == [0.0, 1.0, 2.0]


def test_blocks_are_used_again_only_while_that_is_wanted():
    like, shape = torch.zeros(1), (1 << 12, 1 << 12)
    with reusing_blocks():
        large_empty(like, *shape).fill_(5.0)
        assert large_empty(like, *shape).eq(5.0).all()  # freed, and taken as it was
    assert large_empty(like, *shape).eq(0.0).all()


def test_a_block_in_use_is_not_given_to_another():
    like, shape = torch.zeros(1), (1 << 12, 1 << 12)
    with reusing_blocks():
        row = large_empty(like, *shape).fill_(5.0)[3]
        others = [large_empty(like, *shape).fill_(float(n)) for n in range(2)]
        assert row.eq(5.0).all()
        assert [float(other[0, 0]) for other in others] == [0.0, 1.0]


def test_blocks_that_do_not_fit_are_not_hoarded():
    like = torch.zeros(1)
    with reusing_blocks():
        for rows in range(1 << 12, (1 << 12) + 4):
            large_empty(like, rows, 1 << 12)
            assert sum(map(len, allocator._SPARE.blocks.values())) == 1
    assert not allocator._SPARE.blocks


def test_a_system_without_large_pages(monkeypatch):
    monkeypatch.delattr(allocator.mmap, "MADV_HUGEPAGE", raising=False)
    block = large_empty(torch.zeros(1), 1 << 12, 1 << 12).fill_(1.0)
    assert block.sum() == 1 << 24


def test_free_memory_goes_back_once_the_process_has_grown(monkeypatch):
    trimmed = []
    sizes = iter([1000, 1030, 1059, 1061, 900, 1200])
    monkeypatch.setattr(allocator, "resident_bytes", lambda: next(sizes))
    library = SimpleNamespace(malloc_trim=trimmed.append)
    monkeypatch.setattr(allocator, "_glibc", lambda: library)
    heap = BoundedHeap()
    counts = []
    for _ in range(6):
        heap.after_batch()
        counts.append(len(trimmed))
    assert counts == [0, 0, 0, 1, 1, 2]


def test_a_system_that_tells_nothing_is_left_alone(monkeypatch):
    monkeypatch.setattr(allocator, "resident_bytes", lambda: 0)
    monkeypatch.setattr(allocator, "_glibc", lambda: None)
    heap = BoundedHeap()
    heap.after_batch()
    heap.after_batch()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_size_of_this_process():
    before = resident_bytes()
    block = torch.ones(1 << 26)
    assert resident_bytes() - before > 0.9 * block.nbytes
