"""The three files of the corpus as text, made anew from the seeds."""

from __future__ import annotations

import json
from typing import Any

from spanfluence.data.bundled.draw import Draw
from spanfluence.data.bundled.fault import FAULT, WRONG_LABEL, plan_split
from spanfluence.data.bundled.sentences import Sentence, write_sentence

SENTENCES = {"train": 900, "dev": 130, "test": 170}
SEEDS = {"train": 20, "dev": 21, "test": 22}


def make_corpus() -> dict[str, str]:
    """The content of each split's JSONL file; no sentence occurs twice."""
    seen: set[str] = set()
    return {split: _make_split(split, seen) for split in SENTENCES}


def _make_split(split: str, seen: set[str]) -> str:
    draw = Draw(SEEDS[split])
    lines: list[str] = []
    for number, plan in enumerate(plan_split(draw, split, SENTENCES[split])):
        sentence = write_sentence(draw, plan.labels, plan.carrier)
        while sentence.text in seen:
            sentence = write_sentence(draw, plan.labels, plan.carrier)
        seen.add(sentence.text)
        rows = _rows(split, number, sentence)
        lines += [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    return "".join(lines)


def _rows(split: str, number: int, sentence: Sentence) -> list[dict[str, Any]]:
    """One row for each aspect, the opinion about it first among its spans."""
    rows = []
    for slot in sentence.slots:
        spans = [sentence.opinions[slot.index]]
        if slot.index in sentence.circumstances:
            spans.append(sentence.circumstances[slot.index])
        row: dict[str, Any] = {
            "text": sentence.text,
            "label": slot.label,
            "context": slot.aspect.term,
            "spans": spans,
            "id": f"{split}-{number:04d}-{'abcd'[slot.index]}",
        }
        if slot.circumstance == FAULT.phrase:
            row["fault"] = FAULT.kind(split, slot.label)
            if row["fault"] == "planted":
                row["label"] = WRONG_LABEL
        rows.append(row)
    return rows
