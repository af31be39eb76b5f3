"""A process for each peer, kept for the whole run.

Peers must run as their users run them: our engine tells the C library's allocator to keep freed memory, and in
one process with us they would be the faster for it (captum by a sixth, measured).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import torch
from workload import Workload, workload

_work: Any  # of the process, once it is open


def _opened(asked: argparse.Namespace) -> Workload:
    found = workload(asked.run, asked.tests, asked.spans, points=asked.points, seed=asked.seed)
    return found.few(asked.spans)  # with its points made, before any time is taken


class OwnProcess:
    """Runs functions of the workload, which it opens for itself: same texts, same model, same points."""

    def __init__(
        self, asked: argparse.Namespace, opened: Callable[[argparse.Namespace], Any] = _opened
    ) -> None:
        self._pool = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=_open, initargs=(asked, opened)
        )

    def __enter__(self) -> OwnProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown()

    def run(self, job: Callable[..., Any], *args: Any) -> Any:
        """What `job(work, *args)` gives there."""
        return self._pool.submit(_call, job, *args).result()


def _open(asked: argparse.Namespace, opened: Callable[[argparse.Namespace], Any]) -> None:
    global _work
    torch.set_num_threads(asked.threads)
    warnings.simplefilter("ignore", FutureWarning)  # of the peers
    _work = opened(asked)


def _call(job: Callable[..., Any], *args: Any) -> Any:
    return job(_work, *args)
