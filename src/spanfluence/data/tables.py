"""Tables: comma- and tab-separated files, and parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spanfluence.data.class_labels import named
from spanfluence.data.reading import problem, read_text
from spanfluence.data.rows import Columns, Row, Table, path_rows


def read_separated(path: Path, delimiter: str) -> Table:
    """A file with a header row; empty cells are absent values, blank lines are skipped.

    Quoting is read strictly: a stray quote is an error, not a silently altered text.
    """
    lines = _records(path, delimiter)
    _, header = next(lines)
    columns = [name.strip() for name in header]
    return Table(f"{path}:1", columns, _separated_rows(path, columns, lines))


def _separated_rows(
    path: Path, columns: list[str], records: Iterator[tuple[int, list[str]]]
) -> Iterator[Row]:
    for number, (line, cells) in enumerate(records, start=1):
        where = f"{path}:{line}"
        if len(cells) != len(columns):
            raise problem(
                where,
                f"{len(cells)} cells where the header has {len(columns)}: "
                "put cells that hold the separator in double quotes",
            )
        values = {name: cell or None for name, cell in zip(columns, cells, strict=True)}
        yield Row(number, where, values)


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each record that is not a blank line, with the line it begins on."""
    reader = csv.reader(io.StringIO(read_text(path), newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise problem(
            f"{path}:{line}",
            f"cannot be read as a table: {error}: close every double quote, and write a quote "
            "inside a quoted cell twice",
        ) from None


def read_parquet(path: Path, columns: Columns) -> Table:
    """A parquet file; only the columns asked for are read."""
    # imported here because other formats need not wait for it
    from pyarrow import ArrowException, parquet

    if not path.stat().st_size:
        raise problem(path, "the file is empty: give a file with at least one row")
    try:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            wanted = [name for name in schema.names if name in columns.worth_reading()]
            cells = file.read(columns=wanted).to_pylist() if wanted else []
    except (ArrowException, OSError) as error:
        raise problem(path, f"not a parquet file that can be read: {error}") from None
    names = _class_names(schema.metadata, columns.label)
    return Table(str(path), list(schema.names), named(path_rows(path, cells), columns.label, names))


def _class_names(metadata: dict[bytes, bytes] | None, label: str) -> list[str] | None:
    """Names of the label's classes as the `datasets` package notes them in a parquet file."""
    try:
        features: Any = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        feature = features[label]
        return list(feature["names"]) if feature["_type"] == "ClassLabel" else None
    except (KeyError, TypeError, ValueError):
        return None
