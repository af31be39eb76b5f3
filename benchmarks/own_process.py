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


class OwnProcess:
    """Runs functions of the workload, which it opens for itself: same texts, same model, same points."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._pool = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=_open, initargs=(asked,)
        )

    def __enter__(self) -> OwnProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown()

    def run(self, job: Callable[..., Any], *args: Any) -> Any:
        """What `job(work, *args)` gives there."""
        return self._pool.submit(_call, job, *args).result()


_work: Workload


def _open(asked: argparse.Namespace) -> None:
    global _work
    torch.set_num_threads(asked.threads)
    warnings.simplefilter("ignore", FutureWarning)  # of the peers
    found = workload(asked.run, asked.tests, asked.spans, points=asked.points, seed=asked.seed)
    _work = found.few(asked.spans)  # with its points made, before any time is taken


def _call(job: Callable[..., Any], *args: Any) -> Any:
    return job(_work, *args)
