"""Folders written by `Dataset.save_to_disk` of the Hugging Face `datasets` package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spanfluence.data.class_labels import named
from spanfluence.data.reading import problem
from spanfluence.data.rows import Columns, Table, path_rows
from spanfluence.errors import MissingExtra

SPLITS_FILE = "dataset_dict.json"


def is_saved_dataset(folder: Path) -> bool:
    """Whether the folder holds one data set, not several splits."""
    return (folder / "dataset_info.json").is_file() and (folder / "state.json").is_file()


def splits_in(folder: Path) -> list[str]:
    """Names of the splits when the folder was written by `DatasetDict.save_to_disk`."""
    try:
        return list(json.loads((folder / SPLITS_FILE).read_text("utf-8"))["splits"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def read_hf_folder(folder: Path, columns: Columns) -> Table:
    """The rows of a saved data set, its class indices replaced by their names."""
    if splits := splits_in(folder):
        raise problem(
            folder, f"holds the splits {', '.join(splits)}: name one, e.g. {folder / splits[0]}"
        )
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "datasets", f"reading the folder {folder}") from None
    try:
        dataset = datasets.load_from_disk(str(folder)).with_format(None)
    except Exception as error:  # the package promises no error types
        raise problem(folder, f"not a data set that can be read: {error}") from None
    names = list(dataset.column_names)
    label_names = getattr(dataset.features.get(columns.label), "names", None)
    wanted = dataset.select_columns([name for name in names if name in columns.worth_reading()])
    return Table(
        str(folder), names, named(path_rows(folder, _cells(wanted)), columns.label, label_names)
    )


def _cells(dataset: Any) -> Any:
    """The rows of a data set; none when no column is left to read."""
    return iter(dataset) if dataset.column_names else iter(())
