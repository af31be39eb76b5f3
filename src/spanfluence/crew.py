"""Workers that each have a classifier of their own: other modules, the same weights.

Running a model leaves marks on its modules while it lasts (hooks, trimmed blocks), so two threads cannot share
them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

from torch import nn

from spanfluence.capture import Capture
from spanfluence.workers import Workers, workers

Part = TypeVar("Part")
Result = TypeVar("Result")

MOST = 4  # workers: each holds batches of its own, and memory would grow with the number of cores


class Crew:
    """Runs a function over parts, each time with a capture that nobody else uses meanwhile."""

    def __init__(self, team: Workers, captures: Iterable[Capture]) -> None:
        self.team = team
        self._free: SimpleQueue[Capture] = SimpleQueue()
        for capture in captures:
            self._free.put(capture)

    def stream(
        self, work: Callable[[Capture, Part], Result], parts: Iterable[Part]
    ) -> Generator[Result, None, None]:
        """The results, in the order of the parts."""

        def own(part: Part) -> Result:
            capture = self._free.get()
            try:
                return work(capture, part)
            finally:
                self._free.put(capture)

        return self.team.stream(own, parts)


@contextmanager
def crew(capture: Capture) -> Iterator[Crew]:
    """Up to `MOST` workers; the caller alone where the model cannot be copied."""
    if not _copyable(capture):
        yield Crew(Workers(), [capture])
        return
    with workers(capture.classifier.device, MOST) as team:
        yield Crew(team, copies(capture, team.count))


def copies(capture: Capture, count: int) -> list[Capture]:
    """The capture itself, and others that share its weights, its tokenizer and its store of trunk states.

    Each can be taken to a model point by itself: attributed parameters are others over the same numbers.
    """
    return [capture, *(_copy(capture) for _ in range(count - 1))]


def _copy(capture: Capture) -> Capture:
    own = capture.classifier
    shared = (
        *own.model.parameters(),
        *own.model.buffers(),
        own.tokenizer,
        own.encoder,
        own.states,
    )
    known: dict[int, Any] = {id(part): part for part in shared}
    for moved in own.attributed.values():
        known[id(moved)] = nn.Parameter(moved.data, requires_grad=moved.requires_grad)
    return copy.deepcopy(capture, known)


def _copyable(capture: Capture) -> bool:
    """Not where per-example autograd opens weights, which all share, for a while; nor where someone has replaced
    a module's forward: that function would still run the original's modules."""
    opened = any(layer.kind == "whole" for layer in capture.layers)
    modules = capture.classifier.model.modules()
    return not opened and not any("forward" in vars(module) for module in modules)
