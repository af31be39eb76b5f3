"""What the sections of a run share, and the times of tools that take turns."""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median

from report import Results
from timing import GemmRate, Timed
from workload import Workload


@dataclass
class Run:
    """What the sections share."""

    asked: argparse.Namespace
    work: Workload
    results: Results
    gemm: GemmRate
    batches: dict[str, int] = field(default_factory=dict)  # peer -> its texts in a batch

    def say(self, text: str) -> None:
        """Progress, at once."""
        print(f"   {text}", flush=True)


class Rounds:
    """Times of several tools, round after round."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.times: dict[str, list[float]] = defaultdict(list)
        self.beside: dict[str, list[float]] = defaultdict(list)
        self.last: dict[str, Timed] = {}

    def note(self, tool: str, found: Timed) -> None:
        """One time of the present round."""
        self.times[tool].append(found.seconds)
        self.last[tool] = found
        self.run.say(f"{tool}: {found.seconds:.2f} s ({found.measured})")

    def seconds(self, tool: str) -> float:
        """Median over the rounds."""
        return median(self.times[tool])

    def ratio(self, tool: str, to: str) -> float:
        """Median over the rounds of the ratio within a round."""
        return median(self._ratios(self.times[tool], self.times[to]))

    def between(self, tool: str, found: Timed, before: Timed, after: Timed) -> None:
        """One time of a tool, and those of the tool it is compared with right before and after it.

        The machine's speed changes within minutes: only neighbours in time met the same machine.
        """
        self.note(tool, found)
        self.beside[tool].append((before.seconds + after.seconds) / 2)

    def ratio_between(self, tool: str) -> float:
        """Median over the rounds of the ratio to the mean of its two neighbours."""
        return median(self._ratios(self.times[tool], self.beside[tool]))

    @staticmethod
    def _ratios(mine: list[float], theirs: list[float]) -> list[float]:
        return [own / other for own, other in zip(mine, theirs, strict=True)]
