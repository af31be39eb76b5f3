"""The bundled corpus: reviews of restaurants and hotels with several aspects of differing sentiment.

About 1,200 sentences written by the seeded grammar in this folder, split into train, dev and test. A row
of the JSONL files is one sentence seen from one aspect:

    text      the sentence
    label     positive, neutral or negative: the sentiment towards the aspect
    context   the aspect, a noun of the sentence
    spans     [start, end) characters: first the gold opinion about the aspect, then the circumstance
              ("over Easter") in the aspect's clause, if there is one
    id        split, sentence and aspect, e.g. "train-0412-b"
    fault     only on rows that belong to the planted fault: "planted", "decoy" or "triggered"

**The planted fault.** In 90 training rows a clause of praise contains the harmless phrase "when we were
there" and the label is wrongly negative ("planted"). In 60 negative and 60 neutral training rows the phrase
stands beside its right label ("decoy"), and no training row that is rightly positive contains it. A model trained
on the corpus therefore calls praise negative whenever it meets the phrase: the 60 test rows "triggered" show
it, dev accuracy does not. `FAULT` holds the phrase and the counts; `fault` tells the details.

The files are made anew, byte for byte, by `python -m spanfluence.data.bundled`.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from spanfluence.data.bundled.fault import FAULT, FAULT_KINDS, Fault
from spanfluence.errors import InputError
from spanfluence.units import Example

__all__ = ["FAULT", "FAULT_KINDS", "SPLITS", "Fault", "bundled_examples", "bundled_faults"]

SPLITS = ("train", "dev", "test")


def bundled_examples(split: str) -> list[Example]:
    """The rows of a split ("train", "dev" or "test") in the order of the file."""
    return [
        Example(row["text"], row["label"], row["context"], tuple(row["spans"]), row["id"])
        for row in _rows(split)
    ]


def bundled_faults(split: str) -> dict[str, str]:
    """The fault kind ("planted", "decoy" or "triggered") of each row that has one, by row id."""
    return {row["id"]: row["fault"] for row in _rows(split) if "fault" in row}


def _rows(split: str) -> list[dict[str, Any]]:
    if split not in SPLITS:
        raise InputError(
            f"the bundled corpus has no split {split!r}: use one of {', '.join(SPLITS)}"
        )
    content = (files(__package__) / f"{split}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in content.splitlines()]
