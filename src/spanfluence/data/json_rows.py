"""JSON in two shapes: one object per line (.jsonl), or one list of objects (.json)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spanfluence.data.reading import parse_json, problem, read_text
from spanfluence.data.rows import Row, Table


def read_jsonl(path: Path) -> Table:
    """One object per line; blank lines are skipped and get no row number."""
    rows: list[Row] = []
    # str.splitlines would also cut at U+2028 and other characters that JSON strings may hold
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            where = f"{path}:{number}"
            rows.append(
                Row(len(rows) + 1, where, _as_object(parse_json(line, path, number), where))
            )
    return Table(str(path), _columns(rows), rows)


def read_json(path: Path) -> list[Any]:
    """The list that a .json file holds, its items unchecked."""
    content = parse_json(read_text(path), path)
    if not isinstance(content, list):
        kind = type(content).__name__
        raise problem(path, f"must hold a list of objects, got {kind}: wrap the rows in [ ]")
    return content


def table_of(items: list[Any], path: Path) -> Table:
    """The items of `read_json` as rows."""
    rows = [
        Row(number, where := f"{path} row {number}", _as_object(item, where))
        for number, item in enumerate(items, start=1)
    ]
    return Table(str(path), _columns(rows), rows)


def _as_object(item: Any, where: str) -> dict[str, object]:
    if not isinstance(item, dict):
        raise problem(where, f'a row must be an object such as {{"text": "…"}}, got {item!r}')
    return item


def _columns(rows: list[Row]) -> list[str]:
    """Every key of any row, in order of appearance."""
    return list(dict.fromkeys(name for row in rows for name in row.cells))
