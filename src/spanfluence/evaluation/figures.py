"""Figures of evaluations: labelled, legible in grey, colour-blind safe (Okabe-Ito)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spanfluence.evaluation.tables import Table
from spanfluence.files import atomic_write
from spanfluence.metrics import Interval

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#8c8c8c"
PALETTE = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY)
STYLES = ("-", "--", ":", "-.")
MARKERS = "osD^vP*X"
BAND = 0.1  # opacity of an interval behind its line: a dozen of them overlap
TEXT_WIDTH, LETTER, LINE, ROW_GAP = 96, 0.077, 0.19, 0.6  # letters; inches; inches; lines
# A colour for each family, a fuller line for each plus sign, grey for what any method must beat.
LINES: dict[str, tuple[str, str, str]] = {
    "if": (BLUE, ":", "o"), "if+": (BLUE, "--", "s"), "if++": (BLUE, "-", "D"),
    "tracin": (BLACK, ":", "o"), "tracinf": (RED, ":", "o"), "tracin+": (RED, "--", "s"),
    "tracin++": (RED, "-", "D"), "control": (PURPLE, "-.", "D"), "pinpoint": (GREEN, "-", "*"),
    "tracepoint": (ORANGE, "-", "X"),
    "gradient cosine": (SKY, "-", "^"), "random": (GREY, ":", "x"), "bm25": (GREY, "--", "v"),
    "embedding": (GREY, "-", "P"),
}  # fmt: skip


def _line(method: str, number: int) -> dict[str, Any]:
    size = len(PALETTE)
    spare = (PALETTE[number % size], STYLES[number // size % 4], MARKERS[number % 8])
    color, style, marker = LINES.get(method.split(" (")[0], spare)
    return {"color": color, "ls": style, "marker": marker, "ms": 5, "lw": 1.6}


def curve_figure(
    table: Table,
    measures: Sequence[str],
    methods: Sequence[str] | Mapping[str, Sequence[str]],
    path: Path,
) -> None:
    """A panel for each measure: its mean against K, a line for each method, in the band of its interval.

    Methods by title make a row of panels for each title.
    """
    groups = methods if isinstance(methods, Mapping) else {"": methods}
    figure = _figure(width=4.6 * len(measures) + 2.4, height=4.4 * len(groups))
    parts = figure.subfigures(len(groups), 1, squeeze=False)[:, 0]
    for part, (title, names) in zip(parts, groups.items(), strict=True):
        panels = part.subplots(1, len(measures), squeeze=False)[0]
        for panel, measure in zip(panels, measures, strict=True):
            _curves(panel, table, measure, names)
            panel.set_title(f"{measure}, {title}" if title else measure, fontsize=11)
        handles = panels[0].get_legend_handles_labels()
        part.legend(*handles, loc="outside right center", frameon=False)
    _save(figure, path)


def _curves(panel: Any, table: Table, measure: str, methods: Sequence[str]) -> None:
    for number, method in enumerate(methods):
        rows = [row for row in table.rows if row["method"] == method]
        cells, at = [row[measure] for row in rows], [row["K"] for row in rows]
        line = _line(method, number)
        panel.plot(at, [_mean(cell) for cell in cells], label=method, **line)
        if all(isinstance(cell, Interval) for cell in cells):
            low, high = ([getattr(cell, end) for cell in cells] for end in ("low", "high"))
            panel.fill_between(at, low, high, color=line["color"], alpha=BAND, lw=0)
    panel.set_xscale("log")
    ks = sorted({int(str(row["K"])) for row in table.rows})
    panel.set_xticks(ks, [str(k) for k in ks])
    panel.minorticks_off()
    panel.set_xlabel("K: units at the top of the list")
    panel.set_ylabel(f"{measure} (%)")
    _tidy(panel)


def bar_figure(table: Table, columns: Sequence[str], path: Path, *, label: str = "method") -> None:
    """Horizontal bars with intervals, one group for each row, the best on top."""
    rows = sorted(table.rows, key=lambda row: -_mean(row.get(columns[0])))
    figure = _figure(width=7.6, height=1.1 + 0.16 * len(rows) * (1 + len(columns)))
    panel = figure.subplots()
    height = 0.8 / len(columns)
    for number, column in enumerate(columns):
        cells = [row.get(column) for row in rows]
        panel.barh(
            [place + number * height for place in range(len(rows))],
            [_mean(cell) for cell in cells],
            height=0.92 * height,
            color=PALETTE[number] if len(columns) > 1 else [_shade(row[label]) for row in rows],
            hatch=("", "///", "...")[number % 3],
            edgecolor="white",
            label=column,
            xerr=[[_reach(cell, 0) for cell in cells], [_reach(cell, 1) for cell in cells]],
            error_kw={"lw": 1, "capsize": 2, "ecolor": "#333333"},
        )
    panel.set_yticks(
        [place + height * (len(columns) - 1) / 2 for place in range(len(rows))],
        [str(row[label]) for row in rows],
    )
    panel.set_ylim(len(rows) - 0.4, -0.6)  # the first row on top
    panel.axvline(0, color="#333333", lw=0.8)
    measured = f"{columns[0]}: " if len(columns) == 1 else ""
    panel.set_xlabel(f"{measured}mean, with 95 % bootstrap interval")
    panel.set_title(table.title, fontsize=10, loc="left", wrap=True)
    if len(columns) > 1:
        panel.legend(frameon=False, loc="lower right")
    _tidy(panel)
    _save(figure, path)


def text_figure(title: str, rows: Sequence[tuple[str, str]], path: Path) -> None:
    """Named texts below each other, wrapped, their parts in Markdown bold set off in colour."""
    left = max(len(name) for name, _ in rows) + 2
    blocks = [("", wrapped(title)), *((name, wrapped(text)) for name, text in rows)]
    lines = sum(len(block) for _, block in blocks) + len(blocks) * ROW_GAP
    figure = _figure(width=(left + TEXT_WIDTH + 2) * LETTER, height=(lines + 1) * LINE)
    panel = figure.subplots()
    panel.set_axis_off()
    panel.set(xlim=(0, left + TEXT_WIDTH + 2), ylim=(lines + 0.5, -0.5))
    # No formulas: reviews hold dollar signs.
    font = {"family": "monospace", "fontsize": 9, "va": "center", "parse_math": False}
    at = 0.0
    for name, block in blocks:
        panel.text(0.5, at, name, **font)
        for line in block:
            column = float(left)
            for part, bold in line:
                look = {"color": RED, "weight": "bold"} if bold else {"color": BLACK}
                panel.text(column, at, part, **font, **look)
                column += len(part)
            at += 1
        at += ROW_GAP
        panel.axhline(at - 0.5 - ROW_GAP / 2, color="#dddddd", lw=0.7)
    _save(figure, path)


def wrapped(text: str, width: int = TEXT_WIDTH) -> list[list[tuple[str, bool]]]:
    """Lines of (part, whether bold) of a text in Markdown with bold parts and escaped marks."""
    lines: list[list[tuple[str, bool]]] = [[]]
    used = 0
    for number, piece in enumerate(re.split(r"(?<!\\)\*\*", text)):
        for word in re.findall(r"\s*\S+|\s+$", re.sub(r"\\(.)", r"\1", piece)):
            if used and used + len(word) > width:
                lines.append([])
                used = 0
            word = word if used else word.lstrip()
            lines[-1].append((word, number % 2 == 1))
            used += len(word)
    return lines


def _shade(name: Any) -> str:
    """Baselines in grey."""
    plain = str(name).split(",")[0]
    return GREY if plain in ("random", "bm25", "embedding", "overlap", "chance") else BLUE


def _mean(cell: Any) -> float:
    return cell.mean if isinstance(cell, Interval) else float(cell or 0.0)


def _reach(cell: Any, side: int) -> float:
    if not isinstance(cell, Interval):
        return 0.0
    return max(0.0, cell.mean - cell.low if side == 0 else cell.high - cell.mean)


def _figure(*, width: float, height: float) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _tidy(panel: Any) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="x" if panel.yaxis_inverted() else "y", color="#e6e6e6", lw=0.7)
    panel.set_axisbelow(True)


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as draft:
        figure.savefig(draft, format="png", dpi=130)
