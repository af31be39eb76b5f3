"""Class indices back to the names that the `datasets` package keeps beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spanfluence.data.reading import problem
from spanfluence.data.rows import Row

NO_LABEL = -1  # what the datasets package writes for an example without a label


def named(rows: Iterable[Row], column: str, names: list[str] | None) -> Iterator[Row]:
    """The rows with class indices in `column` replaced by `names`; unchanged where there are none."""
    for row in rows:
        index = row.cells.get(column)
        if names is None or not isinstance(index, int):
            yield row
            continue
        if index != NO_LABEL and not 0 <= index < len(names):
            raise problem(row.where, f"label {index} is not the index of one of {names}")
        name = None if index == NO_LABEL else names[index]
        yield Row(row.number, row.where, {**row.cells, column: name})
