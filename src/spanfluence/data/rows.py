"""Rows of any file format become `Example`s here: one place for columns, ids, labels and their errors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from spanfluence.data.reading import problem, quoted
from spanfluence.errors import InputError
from spanfluence.units import Example, Span

TERM = "term"
"""The column that says where an example's context stands in its text: no field of an `Example`."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column of a file holds which field of an `Example`."""

    text: str = "text"
    label: str = "label"
    context: str = "context"
    spans: str = "spans"
    id: str = "id"

    def chosen(self) -> dict[str, str]:
        """Field to column, where it is not the default one: the user asked for these."""
        return {field: name for field, name in asdict(self).items() if name != field}

    def names(self) -> set[str]:
        """The columns of the fields."""
        return set(asdict(self).values())

    def worth_reading(self) -> set[str]:
        """The columns of the fields, and that of the terms."""
        return self.names() | {TERM}


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number counted from 1, its place for error messages, and its cells."""

    number: int
    where: str
    cells: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a file, and every column seen in it; `where` is the place that names the columns."""

    where: str
    columns: list[str]
    rows: Iterable[Row]


def examples_of(table: Table, columns: Columns) -> list[Example]:
    """The rows as examples with unique ids and labels of one kind."""
    check_columns(table, columns)
    examples: list[Example] = []
    id_rows: dict[str, Row] = {}
    label_rows: dict[type, tuple[Row, object]] = {}
    for row in table.rows:
        example = _example(row, columns)
        _check_id(example, row, id_rows)
        _check_label(example, row, label_rows)
        examples.append(example)
    if not examples:
        raise problem(table.where, "the file has no rows: give a file with at least one row")
    return examples


def check_columns(table: Table, columns: Columns) -> None:
    """Raise unless the text column and every column the user named exist, each once."""
    wanted = {"text": columns.text} | columns.chosen()
    for field, name in wanted.items():
        if table.columns and name not in table.columns:
            raise problem(
                table.where,
                f"no column {name!r}: the columns are {quoted(table.columns)}: "
                f"name the {field} column with {field}= (--{field}-column)",
            )
    counts = Counter(table.columns)
    twice = [name for name in columns.names() if counts[name] > 1]
    if twice:
        raise problem(table.where, f"two columns are named {min(twice)!r}: rename one of them")


def _example(row: Row, columns: Columns) -> Example:
    cells = row.cells
    if columns.text not in cells:
        seen = quoted(list(cells)) or "nothing"
        raise problem(row.where, f"no {columns.text!r} in this row, only {seen}: add it")
    if cells[columns.text] is None:
        raise problem(row.where, "text is empty: remove the row or give it a text")
    identity = _identity(cells.get(columns.id), row)
    try:
        example = Example(
            text=cells[columns.text],  # type: ignore[arg-type]  # Example checks what it is given
            label=cells.get(columns.label),  # type: ignore[arg-type]
            context=cells.get(columns.context),  # type: ignore[arg-type]
            spans=_pairs(cells.get(columns.spans)),  # type: ignore[arg-type]
            id=identity,
        )
    except InputError as error:
        message = str(error)
        if identity == str(row.number):  # the place says the same already
            message = message.removeprefix(f"example {identity!r}: ")
        raise problem(row.where, message) from None
    _check_encodable(example, row)
    return example


def terms_of(table: Table, columns: Columns) -> list[Span | None] | None:
    """The column `term` of all rows as spans of their texts; None if no row has any."""
    if TERM not in table.columns or TERM in columns.names():
        return None
    if table.columns.count(TERM) > 1:
        raise problem(table.where, f"two columns are named {TERM!r}: rename one of them")
    terms = [_term(row, columns.text) for row in table.rows]
    return terms if any(term is not None for term in terms) else None


def _term(row: Row, text: str) -> Span | None:
    try:
        value = _from_json(row.cells.get(TERM), TERM, "[4, 8]")
        if value is None:
            return None
        span = Span.coerce(value)
        span.check_inside(str(row.cells.get(text)))
    except InputError as error:
        raise problem(row.where, f"term: {error} (rename the column if it is no place)") from None
    return span


def _identity(value: object, row: Row) -> str:
    """The row's id; a row without one is called by its number."""
    if value is None or value == "":
        return str(row.number)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise problem(row.where, f"id must be a string or a whole number, got {value!r}")
    return str(value)


def _pairs(value: object) -> tuple[object, ...]:
    """The cell of the spans column as a sequence, from a list or from JSON."""
    value = _from_json(value, "spans", "[[0, 4], [9, 12]]")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InputError(f"spans must be a list such as [[0, 4], [9, 12]], got {value!r}")
    return tuple(value)


def _from_json(value: object, field: str, sample: str) -> object:
    """What a cell holds, where it is text by reading it as JSON; None for an empty one."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise InputError(f"{field} must be JSON such as {sample}, got {value!r}") from None


def _check_encodable(example: Example, row: Row) -> None:
    """Half of a surrogate pair (from a JSON escape) cannot be tokenised, saved or shown."""
    for field in ("text", "label", "context", "id"):
        value = getattr(example, field)
        if isinstance(value, str) and (place := lone_surrogate(value)) is not None:
            raise problem(
                row.where,
                f"{field} holds half of a surrogate pair, {value[place]!r}, at offset {place}: "
                "write the whole character",
            )


def lone_surrogate(text: str) -> int | None:
    """Offset of the first character that UTF-8 cannot hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return error.start
    return None


def _check_id(example: Example, row: Row, seen: dict[str, Row]) -> None:
    identity = str(example.id)
    if identity in seen:
        raise problem(
            row.where,
            f"id {identity!r} is also the id of {seen[identity].where}: give every row its own id "
            "(a row without an id is called by its number)",
        )
    seen[identity] = row


def _check_label(example: Example, row: Row, seen: dict[type, tuple[Row, object]]) -> None:
    """Names and class indices in one file cannot be told apart from mistakes."""
    if example.label is None:
        return
    seen.setdefault(type(example.label), (row, example.label))
    if len(seen) > 1:
        (first, label), *_ = seen.values()
        raise problem(
            row.where,
            f"label {example.label!r} is a {_kind(example.label)}, but {first.where} has the "
            f"{_kind(label)} {label!r}: use names everywhere or numbers everywhere",
        )


def _kind(label: object) -> str:
    return "name" if isinstance(label, str) else "number"


def path_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> Iterable[Row]:
    """Rows of a format without lines: their place is `path row N`."""
    for number, cells in enumerate(rows, start=1):
        yield Row(number, f"{path} row {number}", cells)
