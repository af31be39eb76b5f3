"""How the benchmark counts products and scales times."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import own_process
import products
import timing
from rounds import Rounds


def test_products_are_noted_by_layout_and_run_again():
    left, right = torch.rand(3, 4), torch.rand(4, 5)
    threads = torch.get_num_threads()

    def call() -> None:
        for _ in range(3):
            left @ right
        left @ right.T.contiguous().T  # another layout
        torch.zeros(3, 5).addmm_(left, right)
        left + 1  # no product

    with products._Noting() as noted:
        call()
    assert sorted(noted.seen.values()) == [1, 1, 3]
    assert products.products_alone(call) > 0
    assert torch.get_num_threads() == threads
    assert products.products_alone(lambda: left + 1) == 0


def test_a_layout_is_made_anew_with_its_strides():
    given = torch.rand(6, 8)[::2].T
    made = products._Layout(given).made()
    assert (made.shape, made.stride(), made.dtype) == (given.shape, given.stride(), given.dtype)


def test_scaled_times_grow_with_the_spans_only(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])

    def work(spans: int) -> np.ndarray:
        clock[0] += 5 + 2 * spans
        return np.zeros((1, spans))

    found = timing.scaled(work, 5, 20)
    assert found.seconds == pytest.approx(5 + 2 * 20)
    assert found.scores.shape == (1, 5)
    assert found.measured == "5 spans, scaled to 20"
    assert timing.scaled(work, 5, 5).measured == "all"


def test_a_peer_is_compared_with_its_neighbours_in_time():
    """A machine that slows down to a third between rounds leaves the ratio as it is."""
    rounds = Rounds(Namespace(say=lambda text: None))
    for slow in (1.0, 3.0, 3.0):
        before, found, after = (timing.Timed(slow * s, np.zeros(1)) for s in (2.0, 20.0, 3.0))
        rounds.note("ours", before)
        rounds.between("peer", found, before, after)
        rounds.note("ours", after)
    assert rounds.ratio_between("peer") == pytest.approx(8.0)
    assert rounds.seconds("peer") == 60.0


def process_id(work: object) -> tuple[int, object]:
    return os.getpid(), work


def test_a_peer_keeps_its_own_process():
    asked = Namespace(threads=1)
    with own_process.OwnProcess(asked, opened=unopened) as peer:
        (first, work), (second, _) = peer.run(process_id), peer.run(process_id)
    assert first == second != os.getpid()
    assert work == asked


def unopened(asked: Namespace) -> Namespace:
    return asked
