"""Threads that each work on parts of their own, instead of sharing every product.

Where a part is many products, splitting each of them over all cores leaves the cores waiting for each other after
every one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import torch

Part = TypeVar("Part")
Result = TypeVar("Result")


class Workers:
    """Runs a function over parts, in their order, on `count` threads."""

    def __init__(self, pool: ThreadPoolExecutor | None = None, count: int = 1) -> None:
        self._pool, self.count = pool, count

    def map(self, work: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
        """The results, in the order of the parts."""
        return list(self.stream(work, parts))

    def stream(
        self, work: Callable[[Part], Result], parts: Iterable[Part]
    ) -> Generator[Result, None, None]:
        """The results one after the other; parts are taken as threads come free.

        Closed early, or after an error, it returns once no thread is at work any more.
        """
        if self._pool is None:
            yield from map(work, parts)
            return
        begun: deque[Future[Result]] = deque()
        try:
            for part in parts:
                begun.append(self._pool.submit(work, part))
                if len(begun) > self.count:  # one waits, so that no thread does
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()
            wait(begun)


@contextmanager
def workers(device: torch.device, most: int | None = None) -> Iterator[Workers]:
    """As many as torch has threads on a processor, none beside the caller on other devices.

    Where `most` makes them fewer, each has its share of torch's threads for its products.

    torch's number of threads belongs to the thread that sets it, so the caller's products keep theirs; only what
    threads of later begin with is set back at the end.
    """
    threads = torch.get_num_threads()
    count = threads if most is None else min(threads, most)
    if device.type != "cpu" or count == 1 or not torch.backends.openmp.is_available():
        yield Workers()
        return
    try:
        share = (threads // count,)
        with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=share) as pool:
            yield Workers(pool, count)
    finally:
        torch.set_num_threads(threads)
