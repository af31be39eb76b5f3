"""`load_examples`, and `load_terms` beside it: one door for every file format, chosen by the suffix."""

from __future__ import annotations

import os
from pathlib import Path

from spanfluence.data import mams, sentihood
from spanfluence.data.hf_folder import is_saved_dataset, read_hf_folder, splits_in
from spanfluence.data.json_rows import read_json, read_jsonl, table_of
from spanfluence.data.reading import problem, quoted
from spanfluence.data.rows import Columns, Table, examples_of, terms_of
from spanfluence.data.tables import read_parquet, read_separated
from spanfluence.units import Example, Span

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".xml")


def load_examples(
    path: str | os.PathLike[str],
    *,
    text: str = "text",
    label: str = "label",
    context: str = "context",
    spans: str = "spans",
    id: str = "id",
) -> list[Example]:
    """The examples in a file, or in a folder saved by the `datasets` package.

    | path                  | read as                                                          |
    |-----------------------|------------------------------------------------------------------|
    | `.jsonl`, `.ndjson`   | one JSON object per line                                         |
    | `.json`               | a list of objects; the SentiHood layout by `sentihood`           |
    | `.csv`, `.tsv`        | a header row; spans as JSON; an empty cell is an absent value    |
    | `.parquet`            | spans as lists of pairs, or as JSON                              |
    | `.xml`                | the MAMS layout, by `mams`                                       |
    | a folder              | written by `Dataset.save_to_disk`; needs the extra `datasets`    |

    The keywords name the columns; only the text column must exist. Label names are kept: class indices
    of the `datasets` package become their names, other labels stay what the file says. A row without
    an id is called by its number, counted from 1.
    """
    source = Path(path)
    columns = Columns(text=text, label=label, context=context, spans=spans, id=id)
    table = _read(source, columns)
    if table is not None:
        return examples_of(table, columns)
    if source.suffix.lower() == ".xml":
        return mams.read_mams(source)
    return sentihood.read_sentihood(source)


def load_terms(path: str | os.PathLike[str], **names: str) -> list[Span | None] | None:
    """Where the context of each example of `load_examples` stands in its text; None if nothing is said.

    MAMS files say so of every example; in other files a column `term` holds [start, end], as JSON in
    csv and tsv. `names` are the columns, as in `load_examples`.
    """
    source = Path(path)
    columns = Columns(**names)
    table = _read(source, columns)
    if table is not None:
        return terms_of(table, columns)
    return list(mams.mams_terms(source)) if source.suffix.lower() == ".xml" else None


def _read(source: Path, columns: Columns) -> Table | None:
    """The rows of a file or folder; None where it has the fixed layout of a published data set."""
    if source.is_dir():
        return _folder(source, columns)
    suffix = source.suffix.lower()
    if not source.exists():
        raise problem(source, _advice_for_missing(source))
    if suffix == ".xml":
        _refuse_columns(source, columns, "MAMS")
        return None
    if suffix == ".json":
        return _json(source, columns)
    return _table(source, suffix, columns)


def _table(path: Path, suffix: str, columns: Columns) -> Table:
    if suffix in (".jsonl", ".ndjson"):
        return read_jsonl(path)
    if suffix in (".csv", ".tsv"):
        return read_separated(path, "," if suffix == ".csv" else "\t")
    if suffix == ".parquet":
        return read_parquet(path, columns)
    seen = f"files named {suffix!r}" if suffix else "files without a suffix"
    known = ", ".join(SUFFIXES)
    raise problem(path, f"{seen} cannot be read: use {known}, or a folder saved by datasets")


def _json(path: Path, columns: Columns) -> Table | None:
    items = read_json(path)
    if sentihood.is_sentihood(items):
        _refuse_columns(path, columns, "SentiHood")
        return None
    return table_of(items, path)


def _refuse_columns(path: Path, columns: Columns, layout: str) -> None:
    """The layouts of published data sets have no columns to choose from."""
    if chosen := columns.chosen():
        field, name = next(iter(chosen.items()))
        raise problem(path, f"the {layout} layout has fixed columns: leave out {field}={name!r}")


def _folder(folder: Path, columns: Columns) -> Table:
    if is_saved_dataset(folder) or splits_in(folder):
        return read_hf_folder(folder, columns)
    inside = sorted(item.name for item in folder.iterdir() if item.suffix.lower() in SUFFIXES)
    advice = f"name one of its files: {quoted(inside, 6)}" if inside else "give a file"
    raise problem(folder, f"a folder that datasets.save_to_disk did not write: {advice}")


def _advice_for_missing(path: Path) -> str:
    if splits := splits_in(path.parent):
        return f"no such split: {path.parent} holds {', '.join(splits)}"
    return "no such file: check the path"
