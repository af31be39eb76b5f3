"""A result as a table: CSV for machines, Markdown for readers."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from spanfluence.files import write_text_atomic
from spanfluence.metrics import Interval, bootstrap

Cell = str | int | float | None | Interval


@dataclass(frozen=True)
class Table:
    """Rows of named cells. An `Interval` is a mean with the ends of its 95 % bootstrap interval."""

    name: str
    title: str
    rows: Sequence[Mapping[str, Cell]]
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Every column, in the order of its first appearance."""
        return list(dict.fromkeys(column for row in self.rows for column in row))

    def markdown(self) -> str:
        """The table with its title and notes; intervals as `mean [low, high]`."""
        columns = self.columns
        lines = [f"### {self.title}", "", _line(columns), _line(["---"] * len(columns))]
        lines += [_line([shown(row.get(column)) for column in columns]) for row in self.rows]
        lines += ["", *(f"{note}\n" for note in self.notes)]
        return "\n".join(lines).rstrip() + "\n"

    def csv(self) -> str:
        """The table with every interval in three columns: NAME, NAME low, NAME high."""
        flat = [_flat(row) for row in self.rows]
        columns = list(dict.fromkeys(column for row in flat for column in row))
        stream = io.StringIO()
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
        return stream.getvalue()

    def write(self, folder: Path, of: str = "") -> None:
        """NAME.csv and NAME.md, and NAME.json for `read_tables`; `of` names what was measured."""
        folder.mkdir(parents=True, exist_ok=True)
        rows = [{column: _packed(cell) for column, cell in row.items()} for row in self.rows]
        record = {"of": of, "title": self.title, "rows": rows, "notes": self.notes}
        text = json.dumps(record, ensure_ascii=False, indent=1)
        write_text_atomic(folder / f"{self.name}.json", text + "\n")
        write_text_atomic(folder / f"{self.name}.csv", self.csv())
        write_text_atomic(folder / f"{self.name}.md", self.markdown())


def read_tables(folder: Path, of: str) -> dict[str, Table]:
    """Tables that earlier calls left in a folder, by name: those of the same thing measured."""
    found = {}
    for file in sorted(folder.glob("*.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        if record.get("of") == of:
            rows = [
                {column: _cell(value) for column, value in row.items()} for row in record["rows"]
            ]
            found[file.stem] = Table(file.stem, record["title"], rows, tuple(record["notes"]))
    return found


def _packed(cell: Cell) -> Any:
    return cell._asdict() if isinstance(cell, Interval) else cell


def _cell(value: Any) -> Cell:
    cell: Cell = Interval(**value) if isinstance(value, dict) else value
    return cell


def shown(cell: Cell) -> str:
    """A cell as text."""
    if cell is None:
        return ""
    if isinstance(cell, Interval):
        return f"{_number(cell.mean)} [{_number(cell.low)}, {_number(cell.high)}]"
    if isinstance(cell, float):
        return _number(cell)
    return str(cell).replace("|", "\\|").replace("\n", " ")


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return (
        f"{value:.3g}"
        if 0 < abs(value) < 0.01
        else f"{value:.2f}"
        if abs(value) < 100
        else f"{value:.0f}"
    )


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _flat(row: Mapping[str, Cell]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for column, cell in row.items():
        if isinstance(cell, Interval):
            flat |= {column: cell.mean, f"{column} low": cell.low, f"{column} high": cell.high}
        else:
            flat[column] = cell
    return flat


def counted(number: int, what: str) -> str:
    """`1 seed`, `3 seeds`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def percent(interval: Interval) -> Interval:
    """The same in percent, as the paper prints its figures."""
    return Interval(*(100 * value for value in interval))


def mean_percent(values: Float[np.ndarray, " tests"], sentences: Sequence[str]) -> Interval:
    """Mean over the first tests, in percent; those about one sentence are resampled together."""
    groups = sentences[: len(values)]
    return percent(bootstrap(values, groups=groups, equal_groups=False))
