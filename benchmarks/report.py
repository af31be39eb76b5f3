"""What was measured, as Markdown, CSV and a picture. Nothing here names a machine or its folders."""

from __future__ import annotations

import csv
import io
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from spanfluence.files import atomic_write, write_text_atomic

OURS, PEER = "#0072b2", "#d55e00"  # of the Okabe-Ito palette


@dataclass(frozen=True)
class Row:
    """One line of the table. `met` is None where there is no bar."""

    what: str
    value: float
    shown: str
    bar: str = ""
    met: bool | None = None
    note: str = ""


@dataclass(frozen=True)
class Time:
    """One tool's time for the whole job. `measured`: on what part of it the figure rests."""

    job: str
    tool: str
    seconds: float
    measured: str = "all"


@dataclass
class Results:
    """Everything that a run found so far."""

    facts: dict[str, str] = field(default_factory=dict)
    times: list[Time] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def at_least(
        self, what: str, value: float, bar: float, *, unit: str = "x", note: str = ""
    ) -> None:
        """A row that is met by large values."""
        self._add(what, value, bar, "at least", value >= bar, unit, note)

    def at_most(
        self, what: str, value: float, bar: float, *, unit: str = "x", note: str = ""
    ) -> None:
        """A row that is met by small values."""
        self._add(what, value, bar, "at most", value <= bar, unit, note)

    def plain(self, what: str, value: float, shown: str, note: str = "") -> None:
        """A row without a bar."""
        self.rows.append(Row(what, value, shown, note=note))

    def _add(
        self, what: str, value: float, bar: float, how: str, met: bool, unit: str, note: str
    ) -> None:
        text = f"{how} {bar:g}" if unit == "rank" else f"{how} {_figure(bar, unit)}"
        self.rows.append(Row(what, value, _figure(value, unit), text, met, note))


def _figure(value: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * value:.0f} %"
    if unit == "rank":
        return f"{value:.6f}"
    if unit == "error":
        return f"{value:.1e}"
    return f"{value:.3g}{unit}"


def machine_facts(threads: int) -> dict[str, str]:
    """What a reader needs to compare with another machine."""
    return {
        "cores": str(os.cpu_count()),
        "threads": str(threads),
        "processor": platform.machine(),
        "Python": platform.python_version(),
        "torch": torch.__version__,
    }


def write(results: Results, folder: Path) -> None:
    """`results.md`, `results.csv` and `results.png`."""
    write_text_atomic(folder / "results.md", markdown(results))
    write_text_atomic(folder / "results.csv", table(results))
    if results.times:
        draw(results, folder / "results.png")


def markdown(results: Results) -> str:
    """The whole report."""
    lines = ["# Benchmark", "", "Written by `make bench`; see `benchmarks/run.py --help`.", ""]
    lines += [f"- {name}: {value}" for name, value in results.facts.items()]
    lines += ["", "| what | measured | bar | |", "|---|---|---|---|"]
    for row in results.rows:
        met = {True: "met", False: "**not met**", None: ""}[row.met]
        note = f" ({row.note})" if row.note else ""
        lines.append(f"| {row.what}{note} | {row.shown} | {row.bar} | {met} |")
    if results.times:
        lines += ["", "| job | tool | seconds | measured on |", "|---|---|---|---|"]
        lines += [f"| {t.job} | {t.tool} | {t.seconds:.4g} | {t.measured} |" for t in results.times]
        lines += ["", "![Times of the tools](results.png)"]
    lines += ["", *(f"- {note}" for note in results.notes)]
    return "\n".join(lines).rstrip() + "\n"


def table(results: Results) -> str:
    """Rows and times as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["kind", "what", "tool", "value", "bar", "met", "note"])
    for row in results.rows:
        writer.writerow(["row", row.what, "", f"{row.value:.6g}", row.bar, row.met, row.note])
    for t in results.times:
        writer.writerow(["seconds", t.job, t.tool, f"{t.seconds:.6g}", "", "", t.measured])
    return out.getvalue()


def draw(results: Results, path: Path) -> None:
    """A panel per job: seconds of each tool."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    jobs = list(dict.fromkeys(t.job for t in results.times))
    groups = [[t for t in results.times if t.job == job] for job in jobs]
    figure = Figure(
        figsize=(8.0, 0.8 * len(jobs) + 0.36 * len(results.times) + 0.4), layout="constrained"
    )
    axes = figure.subplots(
        len(jobs), 1, squeeze=False, height_ratios=[len(group) + 1 for group in groups]
    )[:, 0]
    for axis, job, group in zip(axes, jobs, groups, strict=True):
        _bars(axis, job, group)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)


def _bars(axis: Any, job: str, group: Sequence[Time]) -> None:
    first, most = group[0], max(t.seconds for t in group)
    wide = most > 20 * min(t.seconds for t in group)
    bars = axis.barh([t.tool for t in group], [t.seconds for t in group])
    for bar, t in zip(bars, group, strict=True):
        own = t.tool.startswith("spanfluence")
        bar.set(facecolor=OURS if own else PEER, hatch="" if own else "//", edgecolor="white")
        share = "" if t is first else f"  ({t.seconds / first.seconds:.3g}x)"
        shown = f"  {t.seconds:.3g} s{share}"
        axis.text(t.seconds, bar.get_y() + bar.get_height() / 2, shown, va="center", fontsize=8)
    if wide:  # a log axis has no zero to start bars from: begin well below the shortest
        axis.set_xscale("log")
        axis.set_xlim(min(t.seconds for t in group) / 3, most * 8)
    else:
        axis.set_xlim(0, most * 1.3)
    axis.invert_yaxis()
    axis.set_title(job, fontsize=9, loc="left")
    axis.set_xlabel(f"seconds{', log scale' if wide else ''} (shorter is better)", fontsize=8)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
