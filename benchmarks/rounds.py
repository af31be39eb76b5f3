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
        pairs = zip(self.times[tool], self.times[to], strict=True)
        return median(mine / theirs for mine, theirs in pairs)
