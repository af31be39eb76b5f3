"""Threads with parts of their own."""

from __future__ import annotations

import threading

import pytest
import torch

from spanfluence.workers import workers


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_results_come_in_order_from_threads_with_one_thread_each(two_threads):
    meet = threading.Barrier(2, timeout=30)

    def work(part: int) -> tuple[int, int, int]:
        meet.wait()  # two at once, or this fails
        return part, torch.get_num_threads(), threading.get_ident()

    with workers(torch.device("cpu")) as team:
        assert team.count == 2
        found = team.map(work, range(4))
        assert torch.get_num_threads() == 2
    assert [part for part, _, _ in found] == [0, 1, 2, 3]
    assert {threads for _, threads, _ in found} == {1}
    assert len({name for _, _, name in found}) == 2
    fresh: list[int] = []
    thread = threading.Thread(target=lambda: fresh.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert fresh == [2]


def test_errors_reach_the_caller_and_settings_stay(two_threads):
    with pytest.raises(ZeroDivisionError), workers(torch.device("cpu")) as team:
        team.map(lambda part: 1 // part, [1, 0])
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("device", "threads"), [("cuda", 2), ("cpu", 1)])
def test_alone_on_a_device_and_on_one_thread(two_threads, device, threads):
    torch.set_num_threads(threads)
    with workers(torch.device(device)) as team:
        assert team.count == 1
        assert team.map(lambda part: threading.get_ident(), [0]) == [threading.get_ident()]
