"""One tool in a process of its own, so that its peak memory is its own. Prints one line of JSON."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
from timing import timed
from workload import workload

TOOLS = ("faithful", "tracin++", "kronfluence", "captum")


@dataclass(frozen=True)
class Apart:
    """What a process reported."""

    seconds: float
    peak_bytes: int


def measured_apart(tool: str, run: Path, tests: int, spans: int, **flags: int) -> Apart:
    """Start such a process and wait for it."""
    command = [sys.executable, str(Path(__file__)), tool, str(run)]
    sizes = {"tests": tests, "spans": spans, **flags}
    command += [text for name, value in sizes.items() for text in (f"--{name}", str(value))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Apart(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Read the command line, run, print."""
    parser = argparse.ArgumentParser(description="Time one tool and measure its memory.")
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("run", type=Path)
    for name, value in {"tests": 64, "spans": 64, "points": 1, "seed": 0, "batch": 32}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    warnings.simplefilter("ignore", FutureWarning)  # of the peers
    print(json.dumps(_measure(asked)))


def _measure(asked: argparse.Namespace) -> dict[str, float | int]:
    work = workload(asked.run, asked.tests, asked.spans, points=asked.points, seed=asked.seed)
    if asked.tool == "kronfluence":
        from kronfluence_peer import identity_scores

        seconds = timed(lambda: identity_scores(work, asked.batch)).seconds
    elif asked.tool == "captum":
        from captum_peer import tracincp_scores

        seconds = timed(lambda: tracincp_scores(work, asked.batch)).seconds
    else:
        import ours

        seconds = (ours.faithful if asked.tool == "faithful" else ours.tracin)(work).seconds
    return {"seconds": seconds, "peak_bytes": peak_bytes()}


def peak_bytes() -> int:
    """The most memory this process ever held.

    On Linux from its own status: `ru_maxrss` survives the start of a new program, so a small child of a
    large parent would report its parent's peak.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return 1024 * int(lines["VmHWM"].split()[0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    main()
