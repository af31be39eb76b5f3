"""The cheap rankings, on cases worked out by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from spanfluence import Example, Span, Unit
from spanfluence.baselines import (
    bm25_scores,
    embedding_scores,
    overlap_scores,
    random_scores,
    restricted,
    words,
)
from spanfluence.errors import InputError, MissingExtra


def span_unit(text: str, marked: str) -> Unit:
    start = text.index(marked)
    return Unit(Example(text, "a"), (Span(start, start + len(marked)),))


TEST = [span_unit("The soup was very cold.", "very cold")]
TRAIN = [
    span_unit("A cold pizza.", "cold"),
    span_unit("It was very cold inside.", "very cold"),
    span_unit("The cold soup was great.", "great"),
    span_unit("We loved it!!", "!!"),
]


def test_words_are_lower_cased_and_keep_apostrophes():
    assert words("Don't STOP, café-goers 2nite!") == ["don't", "stop", "café", "goers", "2nite"]


def test_chance_is_seeded():
    first = random_scores(TEST, TRAIN, seed=1)
    assert first.shape == (1, 4)
    assert (first == random_scores(TEST, TRAIN, seed=1)).all()
    assert (first != random_scores(TEST, TRAIN, seed=2)).any()


def test_overlap_looks_at_the_spans_words_only():
    assert overlap_scores(TEST, TRAIN).tolist() == [[0.5, 1.0, 0.0, 0.0]]


def test_bm25_prefers_more_and_rarer_words():
    found = bm25_scores(TEST, TRAIN)[0]
    assert found[1] > found[0] > 0
    assert found[2] == found[3] == 0


def test_bm25_of_a_span_without_words():
    assert bm25_scores([TRAIN[3]], TRAIN).tolist() == [[0.0] * 4]
    assert bm25_scores(TEST, [TRAIN[3]]).tolist() == [[0.0]]


def test_bm25_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtra, match=r"spanfluence\[evaluate\]"):
        bm25_scores(TEST, TRAIN)


def test_embeddings_are_asked_once_for_each_text():
    asked: list[str] = []

    def embed(texts):
        asked.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    found = embedding_scores(TEST, TRAIN, embed)
    assert sorted(asked) == ["!!", "cold", "great", "very cold"]
    assert found.argmax() == 1
    assert found[0, 1] == pytest.approx(1)


def test_restricted_moves_other_labels_below_the_rest():
    scores = np.array([[5.0, 1.0, -2.0, 3.0]])
    found = restricted(scores, ["a"], ["b", "a", "a", "b"])
    assert np.argsort(-found[0]).tolist() == [1, 2, 0, 3]
    with pytest.raises(InputError, match="need 1 test and 4 unit labels"):
        restricted(scores, ["a"], ["a"])
