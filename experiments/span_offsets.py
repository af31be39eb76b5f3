"""The spans that a reader found in MAMS and SentiHood, kept as offsets without the texts.

    python experiments/span_offsets.py pack mams SPANS/mams        # -> experiments/annotations/mams.json
    python experiments/span_offsets.py unpack mams SPANS/mams      # the texts come from --data

`pack` reads train.jsonl, dev.jsonl and test.jsonl as `spanfluence spans` writes them; `unpack` writes them
again, so that an evaluation needs neither the reader nor the hour it takes. A fingerprint of each split
makes sure that offsets meet the texts they were found in.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opinion_spans import DATA

from spanfluence.data import fingerprint, load_examples, save_examples
from spanfluence.files import write_text_atomic
from spanfluence.reproduce.inputs import DATASETS, load_splits
from spanfluence.units import Example, Span

KEPT = Path(__file__).parent / "annotations"
SPLITS = ("train", "dev", "test")


def packed(examples: Sequence[Example]) -> dict[str, Any]:
    """Offsets in the order of the split, one list of numbers for each example: start, end, start, end ..."""
    return {
        "examples": fingerprint(replace(example, spans=()) for example in examples),
        "spans": [[n for span in e.spans for n in (span.start, span.end)] for e in examples],
    }


def unpacked(examples: Sequence[Example], kept: dict[str, Any], name: str) -> list[Example]:
    """The examples of a split with their spans."""
    plain = [replace(example, spans=()) for example in examples]
    if fingerprint(plain) != kept["examples"]:
        raise SystemExit(f"the spans of {name} were found in other texts: annotate the data anew")
    return [
        replace(example, spans=tuple(map(Span, numbers[::2], numbers[1::2])))
        for example, numbers in zip(plain, kept["spans"], strict=True)
    ]


def pack(dataset: str, folder: Path, kept: Path = KEPT) -> Path:
    """Write the offsets of a folder of annotated splits."""
    found = {split: packed(load_examples(folder / f"{split}.jsonl")) for split in SPLITS}
    kept.mkdir(exist_ok=True)
    write_text_atomic(kept / f"{dataset}.json", json.dumps(found, separators=(",", ":")) + "\n")
    return kept / f"{dataset}.json"


def unpack(dataset: str, folder: Path, data: Path, kept: Path = KEPT) -> None:
    """Write the annotated splits from the data set's own files."""
    offsets = json.loads((kept / f"{dataset}.json").read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    for split, examples in load_splits(dataset, data / dataset).items():
        found = unpacked(examples, offsets[split], f"{dataset} {split}")
        save_examples(found, folder / f"{split}.jsonl", overwrite=True)


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description="Keep the spans of a data set without its texts.")
    parser.add_argument("verb", choices=("pack", "unpack"))
    parser.add_argument("dataset", choices=DATASETS)
    parser.add_argument("folder", type=Path, help="with train.jsonl, dev.jsonl and test.jsonl")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with mams and sentihood")
    asked = parser.parse_args()
    if asked.verb == "pack":
        print(pack(asked.dataset, asked.folder))
    else:
        unpack(asked.dataset, asked.folder, asked.data)


if __name__ == "__main__":
    main()
