"""The aspect finder with an encoder of known vectors, and the encoder itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from strategies import texts

from spanfluence import Example, Span
from spanfluence.errors import InputError
from spanfluence.spans.aspect import Aspect, core
from spanfluence.spans.embedding import SentenceEncoder

TEXT = "The soup was cold, the wine list was great, and we left early."
WINE = Example(TEXT, context="wine list")


class Vectors(SentenceEncoder):
    """Similarity 1 where two strings share a long word, else `other`."""

    def __init__(self, other: float = 0.0) -> None:
        self.other = other
        self.calls = 0

    def embed(self, texts, *, advance=lambda done: None):
        self.calls += 1
        words = sorted({w for t in texts for w in t.lower().split() if len(w) > 3})
        rows = np.array([[float(w in t.lower().split()) for w in words] for t in texts])
        rows = np.concatenate([rows, np.full((len(texts), 1), self.other)], 1)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def found_words(finder: Aspect, example: Example, terms=None) -> list[str]:
    (found,) = finder.find([example], terms)
    return [example.text[item.span.start : item.span.end] for item in found]


def test_the_clause_with_the_term_without_hollow_edges():
    assert found_words(Aspect(Vectors()), WINE) == ["great"]
    (found,) = Aspect(Vectors()).find([WINE])
    assert (found[0].finder, found[0].way) == ("aspect", "term")


def test_neighbours_that_are_similar_join_but_not_over_a_turn():
    assert found_words(Aspect(Vectors(1.0)), WINE) == [
        "soup was cold, the wine list was great, and we left early"
    ]
    turned = Example("The soup was cold, but the wine list was great.", context="wine list")
    assert found_words(Aspect(Vectors(1.0)), turned) == ["great"]


def test_an_aspect_that_is_not_in_the_text_goes_by_similarity():
    example = Example(TEXT, context="great drinks")
    (found,) = Aspect(Vectors()).find([example])
    assert found[0].way == "similarity"
    assert TEXT[found[0].span.start : found[0].span.end] == "wine list was great"


def test_settings_that_cannot_be():
    with pytest.raises(InputError, match="top=0 spans cannot be"):
        Aspect(Vectors(), top=0)
    with pytest.raises(InputError, match="device='tpu' cannot be used here"):
        SentenceEncoder(None, None, device="tpu")


def test_offsets_say_which_occurrence_is_meant():
    example = Example("The soup was cold, but the other soup was great.", context="soup")
    assert found_words(Aspect(Vectors()), example) == ["cold"]
    assert found_words(Aspect(Vectors()), example, [Span(33, 37)]) == ["other soup was great"]


def test_further_clauses():
    assert found_words(Aspect(Vectors(), top=3), WINE)[0] == "great"
    assert len(found_words(Aspect(Vectors(), top=3), WINE)) == 3


def test_no_context_and_no_examples():
    with pytest.raises(InputError, match="use the finder 'clauses'"):
        Aspect(Vectors()).find([Example(TEXT)])
    assert Aspect(Vectors()).find([]) == []


def test_the_core_of_a_span():
    text = "and the soup was"
    assert core(text, Span(0, 16), Span(8, 12)) == Span(0, 16), "nothing else is there"
    text = "but the soup was not good"
    assert core(text, Span(0, 25), Span(8, 12)) == Span(17, 25)


# --- the encoder -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return SentenceEncoder.load(tiny_folder("bert"))


def test_embeddings_are_of_length_one_and_do_not_depend_on_the_batch(encoder):
    strings = ["cold soup", "the wine list was great", "soup"]
    rows = encoder.embed(strings)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-5)
    for string, row in zip(strings, rows, strict=True):
        encoder._known.clear()
        np.testing.assert_allclose(encoder.embed([string])[0], row, rtol=1e-4, atol=1e-5)


def test_each_distinct_string_is_embedded_once(encoder):
    encoder._known.clear()
    read = []
    encoder.embed(["soup", "soup", "cold"], advance=read.append)
    encoder.embed(["cold", "soup"], advance=read.append)
    assert sum(read) == 2


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=texts)
def test_every_span_lies_in_the_text_on_whole_characters(encoder, text):
    (found,) = Aspect(encoder, top=3).find([Example(text, context="soup")])
    assert found
    for item in found:
        item.span.check_inside(text)
        assert text[item.span.start : item.span.end].strip()
