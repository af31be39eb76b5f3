"""Options that several commands share: one wording each, and checks that belong before any work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from spanfluence.errors import InputError
from spanfluence.files import check_parent

TextColumn = Annotated[str, typer.Option(help="Column of the texts.")]
LabelColumn = Annotated[str, typer.Option(help="Column of the labels.")]
ContextColumn = Annotated[str, typer.Option(help="Column of the first segment, e.g. the aspect.")]
SpansColumn = Annotated[str, typer.Option(help="Column of the spans.")]
IdColumn = Annotated[str, typer.Option(help="Column of the ids.")]

MaskMode = Annotated[
    str, typer.Option(help="How spans are masked: mask, delete, attention, neutral[:WORD].")
]

Memory = Annotated[str, typer.Option(help="Memory for test gradients, e.g. 4GB.")]
Seed = Annotated[int, typer.Option(help="Seed of every random choice.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or mps.")]

RetrainPrecision = Annotated[
    str,
    typer.Option(
        "--retrain-precision",
        help="Matrix products of retrainings: float32, or bfloat16, faster where the processor has it.",
    ),
]


def columns_named(text: str, label: str, context: str, spans: str, id: str) -> dict[str, str]:
    """The keywords of `load_examples`."""
    return {"text": text, "label": label, "context": context, "spans": spans, "id": id}


def refuse_idle_columns(columns: Mapping[str, str]) -> None:
    """Raise for a column that was named though no file is read that could have it."""
    for field, name in columns.items():
        if name != field:
            raise InputError(
                f"--{field}-column {name} names a column of --file or --train: give one, or leave it out"
            )


def check_page(
    path: Path | None, *, overwrite: bool = False, advice: str = "choose another name for --html"
) -> None:
    """Raise for a page that could not be written, before the work whose result it shows."""
    if path is None:
        return
    if path.exists() and not overwrite:
        raise InputError(f"{path} already exists: {advice}")
    check_parent(path)


def parse_size(text: str) -> int:
    """Bytes from '4GB', '512 MB', '1.5GiB' or a plain number."""
    units = {
        "": 1,
        "B": 1,
        "KB": 10**3,
        "MB": 10**6,
        "GB": 10**9,
        "KIB": 2**10,
        "MIB": 2**20,
        "GIB": 2**30,
    }
    number = text.strip().upper().rstrip("BKMGI ")
    unit = text.strip().upper()[len(number) :].strip()
    try:
        size = int(float(number) * units[unit])
    except (KeyError, OverflowError, ValueError):
        raise InputError(f"{text!r} is not a size: write it like 4GB or 512MB") from None
    if size <= 0:
        raise InputError(f"{text!r} is not a size: it must be positive")
    return size
