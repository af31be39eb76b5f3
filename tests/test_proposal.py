"""Tests whose spans are unknown: candidates, shares, and the mixture as a sum of rows."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import tiny

from spanfluence import Example, Explainer, Span, TextClassifier
from spanfluence.errors import InputError
from spanfluence.spans import finder_named
from spanfluence.spans.ranking import softmax

TRAIN = tiny.make_examples(9, seed=1)
PLAIN = Example("The soup was cold, but the wine list was great.", context="soup", id="t")
SHORT = Example("The soup was cold.", id="s")


@pytest.fixture(scope="module")
def model(tiny_folder) -> TextClassifier:
    return TextClassifier.load(tiny_folder("bert"))


@pytest.fixture(scope="module")
def explainer(model) -> Explainer:
    return Explainer(model, TRAIN)


def test_a_plain_sentence_is_explained_by_its_clauses(explainer, model):
    explanation = explainer.explain(PLAIN, top_k=3)
    (part,) = explanation.parts
    words = {PLAIN.text[s.start : s.end] for s in part.spans}
    assert words == {"The soup was cold", "but the wine list was great"}
    assert part.importance is None
    assert part.importances == pytest.approx(model.importance(PLAIN, part.spans).tolist(), abs=1e-4)
    assert part.shares == pytest.approx(softmax(part.importances))
    assert sum(part.shares) == pytest.approx(1)
    assert explanation.example == PLAIN, "the example itself is left as it is"
    assert explanation.notes == (
        "The test has no span: the 2 most important of 2 found by 'clauses' are explained, "
        "weighted by softmax(importance / 1).",
    )


def test_the_mixture_is_the_weighted_sum_of_the_spans_scores(explainer):
    (part,) = explainer.explain(PLAIN, top_k=4).parts
    rows = explainer.scores([replace(PLAIN, spans=(span,)) for span in part.spans])
    mixed = np.array(part.shares) @ rows
    order = np.argsort(-mixed)[:4]
    assert [hit.index for hit in part.supporters] == order.tolist()
    assert [hit.score for hit in part.supporters] == pytest.approx(mixed[order].tolist(), rel=1e-3)


def test_one_pass_over_the_training_set(explainer):
    steps = []
    explainer.explain_all([PLAIN, SHORT], advance=steps.append)
    assert sum(steps) == len(explainer.train_units)


def test_a_text_of_one_clause_is_explained_by_its_words(explainer):
    (part,) = explainer.explain(SHORT).parts
    assert {SHORT.text[s.start : s.end] for s in part.spans} <= {"The", "soup", "was", "cold"}


def test_spans_one_by_one(model):
    explanation = Explainer(model, TRAIN, mixture=False, finder="words", max_spans=3).explain(PLAIN)
    assert len(explanation.parts) == 3
    values = [part.importance for part in explanation.parts]
    assert values == sorted(values, reverse=True)
    assert all(part.shares == () for part in explanation.parts)
    assert "one by one" in explanation.notes[0]


def test_nested_candidates(model):
    (part,) = Explainer(model, TRAIN, finder="ngrams").explain(PLAIN).parts
    spans = sorted(part.spans)
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    assert len(spans) <= 5


@pytest.mark.parametrize("finder", ["rationale", "sentences", finder_named("words")])
def test_other_finders(model, finder):
    (part,) = Explainer(model, TRAIN, finder=finder).explain(PLAIN, top_k=1).parts
    assert part.spans


def test_a_finder_that_finds_nothing_leaves_the_text_whole(model):
    explanation = Explainer(model, TRAIN, finder="given").explain(PLAIN)
    assert [part.spans for part in explanation.parts] == [()]
    assert explanation.notes == ("The finder 'given' found no span: the whole text is explained.",)


def test_long_texts_are_explained_by_what_the_model_reads(explainer):
    long = Example("The soup was cold. The wine list was great. " * 230)
    (part,) = explainer.explain(long, top_k=1).parts
    assert max(span.end for span in part.spans) < 1000


def test_given_spans_are_taken_as_they_are(explainer):
    explanation = explainer.explain(replace(PLAIN, spans=(Span(13, 17),)))
    assert explanation.notes == ()
    assert explanation.parts[0].shares == ()


def test_settings_that_cannot_be(model):
    for bad, says in (
        ({"finder": "word"}, "no finder 'word'"),
        ({"finder": "reader"}, "needs a question-answering model"),
        ({"max_spans": 0}, "max_spans=0 must be at least 1"),
        ({"temperature": -1.0}, "temperature=-1.0 must be positive"),
    ):
        with pytest.raises(InputError, match=says):
            Explainer(model, TRAIN, **bad)


def test_every_face_shows_the_shares(explainer):
    explanation = explainer.explain(PLAIN, top_k=2)
    (part,) = explanation.to_dict()["parts"]
    assert len(part["shares"]) == len(part["importances"]) == len(part["spans"]) == 2
    for share in part["shares"]:
        assert f"{share:.0%}" in str(explanation)
        assert f"{share:.0%}" in explanation.to_html()
    assert "A mixture of 2 spans" in str(explanation)
    assert explanation._repr_html_()
