"""Splits, spans from files, and the check of test spans against released ones."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import ClassVar

import pytest
import tiny

from spanfluence import Example, Span
from spanfluence.data import save_examples
from spanfluence.errors import InputError
from spanfluence.loading import model_fingerprint
from spanfluence.reproduce import inputs
from spanfluence.reproduce.inputs import (
    annotate,
    load_splits,
    released_answers,
    right_spans,
    word_f1,
)
from spanfluence.spans.found import Finder, Found

EXAMPLES = tiny.make_examples(4, seed=1)
BARE = [replace(example, spans=()) for example in EXAMPLES]


def test_spans_come_from_the_file_of_the_split(tmp_path):
    save_examples(EXAMPLES, tmp_path / "test.jsonl")
    assert annotate(BARE, "test", folder=tmp_path) == EXAMPLES


def test_a_file_of_other_examples(tmp_path):
    save_examples(EXAMPLES[1:], tmp_path / "test.jsonl")
    with pytest.raises(InputError, match="has no example '1-0'"):
        annotate(BARE, "test", folder=tmp_path)
    save_examples([replace(BARE[0], text="Another."), *BARE[1:]], tmp_path / "dev.jsonl")
    with pytest.raises(InputError, match="has another text"):
        annotate(BARE, "dev", folder=tmp_path)
    with pytest.raises(InputError, match="no such file"):
        annotate(BARE, "train", folder=tmp_path)


def test_without_spans_the_error_says_how_to_get_them(tmp_path):
    with pytest.raises(InputError, match="--spans DIR"):
        annotate(BARE, "test")
    with pytest.raises(InputError, match="pass out=DIR"):
        annotate(BARE, "test", reader=tmp_path)


class FakeReader(Finder):
    """Answers with the examples' own first spans; can be killed after some examples."""

    name = "reader"
    asked: ClassVar[list[str]] = []
    killed_after = 99

    @property
    def settings(self):
        return {"finder": self.name}

    def find(self, examples, terms=None, *, advance=lambda done: None):
        if len(self.asked) >= FakeReader.killed_after:
            raise KeyboardInterrupt
        self.asked.extend(example.id for example in examples)
        spans = {example.id: example.spans[0] for example in EXAMPLES}
        return [[Found(spans[example.id], 1.0, self.name, "voted")] for example in examples]


FIRST = [replace(example, spans=example.spans[:1]) for example in EXAMPLES]


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A folder of a reader that is no model, with a finder that needs none."""
    monkeypatch.setattr(FakeReader, "asked", [])
    monkeypatch.setattr(inputs, "finder_named", lambda name, reader: FakeReader())
    (tmp_path / "qa").mkdir()
    (tmp_path / "qa" / "config.json").write_text("{}")
    return tmp_path / "qa"


def test_a_readers_spans_are_kept(reader, tmp_path):
    for _ in range(2):
        assert annotate(BARE, "test", reader=reader, out=tmp_path) == FIRST
    assert len(FakeReader.asked) == len(BARE)


def test_another_reader_is_asked_anew(reader, tmp_path):
    annotate(BARE, "test", reader=reader, out=tmp_path)
    (reader / "model.safetensors").write_bytes(b"other weights")
    annotate(BARE, "test", reader=reader, out=tmp_path)
    assert len(FakeReader.asked) == 2 * len(BARE)
    assert len(list((tmp_path / "spans").iterdir())) == 2
    assert model_fingerprint("a/b") != model_fingerprint("a/c")


def test_an_interrupted_annotation_goes_on(reader, tmp_path, monkeypatch):
    monkeypatch.setattr("spanfluence.spans.files.BATCH", 2)
    monkeypatch.setattr(FakeReader, "killed_after", 2)
    with pytest.raises(KeyboardInterrupt):
        annotate(BARE, "test", reader=reader, out=tmp_path)
    monkeypatch.setattr(FakeReader, "killed_after", 99)
    assert annotate(BARE, "test", reader=reader, out=tmp_path) == FIRST
    assert FakeReader.asked == [example.id for example in BARE]


def test_a_data_set_or_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="use mams or sentihood"):
        load_splits("imdb", tmp_path)
    with pytest.raises(InputError, match="data fetch mams --to"):
        load_splits("mams", tmp_path / "none")
    with pytest.raises(InputError, match="data fetch sentihood"):
        load_splits("sentihood", tmp_path)


def released(tmp_path, **answers: list[str]):
    terms = {
        str(number): {"term": term, "answers": [{"rule": [], **dict(enumerate(each))}]}
        for number, (term, each) in enumerate(answers.items())
    }
    path = tmp_path / "released.json"
    path.write_text(json.dumps({"1": {"original_text": "the soup was very cold.", "terms": terms}}))
    return path


def test_the_most_frequent_valid_answer_counts(tmp_path):
    path = released(
        tmp_path, soup=["cold", "very cold", "very cold", "<s>", "", "x</s>"], bread=["<s>"]
    )
    assert released_answers(path) == {("the soup was very cold", "soup"): "very cold"}


def test_tests_with_other_spans_are_dropped(tmp_path):
    path = released(tmp_path, soup=["very cold"])
    right = Example("The soup was very cold.", "a", "soup", (Span(13, 22),), "1")
    wrong = replace(right, spans=(Span(0, 8),), id="2")
    unknown = replace(right, context="bread", id="3")
    bare = replace(right, spans=(), id="4")
    kept, counts = right_spans([right, wrong, unknown, bare], path)
    assert kept == [right]
    assert counts == {
        "tests": 4, "with a span": 3, "with a released answer": 2, "with the right span": 1,
    }  # fmt: skip
    assert right_spans([right, wrong, bare], None)[0] == [right, wrong]
    with pytest.raises(InputError, match="no test agrees"):
        right_spans([wrong], path)


def test_a_file_in_another_layout(tmp_path):
    (tmp_path / "x.json").write_text("[1]")
    with pytest.raises(InputError, match="not in the layout"):
        released_answers(tmp_path / "x.json")


def test_word_f1():
    assert word_f1("very cold", "Very cold!") == 1
    assert word_f1("cold", "very cold") == pytest.approx(2 / 3)
    assert word_f1("cold", "warm") == 0
