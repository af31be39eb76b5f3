"""Spans kept as offsets meet the texts they were found in, and no others."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from spanfluence import Example, Span
from spanfluence.data import load_examples, save_examples

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

import span_offsets

PLAIN = [Example("The soup was cold.", "negative", id="1"), Example("Fine.", "neutral", id="2")]
SPANNED = [replace(PLAIN[0], spans=(Span(4, 8), Span(13, 17))), PLAIN[1]]


def test_there_and_back(tmp_path, monkeypatch):
    for split in span_offsets.SPLITS:
        save_examples(SPANNED, tmp_path / f"{split}.jsonl")
    file = span_offsets.pack("mams", tmp_path, tmp_path / "kept")
    assert "soup" not in file.read_text(), "the texts are not ours to keep"
    monkeypatch.setattr(
        span_offsets, "load_splits", lambda *_: dict.fromkeys(span_offsets.SPLITS, PLAIN)
    )
    span_offsets.unpack("mams", tmp_path / "again", tmp_path, tmp_path / "kept")
    assert load_examples(tmp_path / "again" / "test.jsonl") == SPANNED


def test_other_texts_are_refused():
    offsets = span_offsets.packed(SPANNED)
    with pytest.raises(SystemExit, match="other texts"):
        span_offsets.unpacked(
            [replace(PLAIN[0], text="The stew was cold."), PLAIN[1]], offsets, "x"
        )
