"""Threads with parts of their own."""

from __future__ import annotations

import threading

import pytest
import torch

from spanfluence.workers import workers


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


def test_parts_are_taken_as_threads_come_free(two_threads):
    taken: list[int] = []

    def parts():
        for part in range(100):
            taken.append(part)
            yield part

    with workers(torch.device("cpu")) as team:
        stream = team.stream(lambda part: 10 * part, parts())
        assert [next(stream), next(stream)] == [0, 10]
        assert len(taken) == team.count + 2  # no more than one waits beside those at work
        assert list(stream) == [10 * part for part in range(2, 100)]


@pytest.mark.parametrize("fails", [False, True])
def test_a_stream_that_ends_early_leaves_nobody_at_work(two_threads, fails):
    at_work, done = threading.Event(), threading.Event()

    def work(part: int) -> int:
        if part == 0:
            at_work.wait(30)
            return 1 // (0 if fails else 1)
        at_work.set()
        done.wait(0.2)
        done.set()
        return part

    with workers(torch.device("cpu")) as team:
        stream = team.stream(work, range(50))
        if fails:
            with pytest.raises(ZeroDivisionError):
                next(stream)
        else:
            assert next(stream) == 1
            stream.close()
        assert done.is_set()


def test_fewer_workers_share_the_threads(two_threads):
    torch.set_num_threads(9)
    with workers(torch.device("cpu"), 4) as team:
        assert team.count == 4
        assert set(team.map(lambda part: torch.get_num_threads(), range(8))) == {2}
    assert torch.get_num_threads() == 9


def test_a_stream_of_nothing(two_threads):
    with workers(torch.device("cpu")) as team:
        assert team.map(str, []) == []
