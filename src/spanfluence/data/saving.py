"""Examples to a file, and to one number that changes when any of them does."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from spanfluence.data.reading import problem
from spanfluence.data.rows import lone_surrogate
from spanfluence.files import write_text_atomic
from spanfluence.units import Example

SUFFIXES = (".jsonl", ".ndjson")


def save_examples(
    examples: Sequence[Example], path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write examples as .jsonl that `load_examples` reads back; the file appears whole or not at all.

    Absent fields are left out. An existing file is kept, with an error, unless `overwrite`.
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise problem(target, "examples are saved as .jsonl: choose a name that ends so")
    if target.exists() and not overwrite:
        raise problem(target, "the file exists: choose another name, or pass overwrite=True")
    if not examples:
        raise problem(target, "there are no examples to save")
    _check_ids(examples, target)
    lines = (json.dumps(example_fields(example), ensure_ascii=False) for example in examples)
    content = "".join(line + "\n" for line in lines)
    if (place := lone_surrogate(content)) is not None:
        row = content.count("\n", 0, place) + 1
        raise problem(target, f"example {row} holds half of a surrogate pair: write it whole")
    write_text_atomic(target, content)


def fingerprint(examples: Iterable[Example]) -> str:
    """SHA-256, in hex, of the examples in their order; every field counts."""
    digest = hashlib.sha256()
    for example in examples:
        canonical = json.dumps(example_fields(example), sort_keys=True, separators=(",", ":"))
        digest.update(canonical.encode("ascii") + b"\n")
    return digest.hexdigest()


def content_fingerprint(examples: Iterable[Example]) -> str:
    """Fingerprint of texts, contexts and labels: spans and ids do not change what a model learns."""
    return fingerprint(replace(example, spans=(), id=None) for example in examples)


def example_fields(example: Example) -> dict[str, object]:
    """The fields that are present, as JSON knows them."""
    fields = {
        "text": example.text,
        "label": example.label,
        "context": example.context,
        "spans": [[span.start, span.end] for span in example.spans] or None,
        "id": example.id,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _check_ids(examples: Sequence[Example], target: Path) -> None:
    """What is saved must load again, and `load_examples` insists on unique ids."""
    rows: dict[str, int] = {}
    for number, example in enumerate(examples, start=1):
        identity = example.id or str(number)
        if identity in rows:
            raise problem(
                target,
                f"examples {rows[identity]} and {number} would both have the id {identity!r}: "
                "give every example its own id",
            )
        rows[identity] = number
