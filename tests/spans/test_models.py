"""Finders that lean on a model: chunks by spaCy, rationale by a classifier; ranking by importance."""

from __future__ import annotations

import builtins
import itertools

import pytest
import tiny
from hypothesis import HealthCheck, given, settings
from strategies import texts

from spanfluence import Example, Span
from spanfluence.errors import InputError, MissingExtra
from spanfluence.spans import finder_named, rank_spans
from spanfluence.spans.ranking import softmax

TO_DO = r"pip install 'spanfluence\[spacy\]', then: python -m spacy download en_core_web_sm"
TEXT = "The soup was cold, but the wine list was great."


class Weights:
    """A classifier whose imp is the sum of the weights of the words in the span, plus a bonus for all of some."""

    def __init__(
        self, weights: dict[str, float], together: tuple[str, ...] = (), bonus: float = 0.0
    ) -> None:
        self.weights, self.together, self.bonus = weights, together, bonus
        self.calls = 0

    def importance(self, example, spans, *, label="predicted"):
        self.calls += 1
        values = []
        for span in spans:
            words = example.text[span.start : span.end].strip(".,").replace(",", "").split()
            extra = self.bonus if self.together and set(self.together) <= set(words) else 0.0
            values.append(sum(self.weights.get(word, 0.0) for word in words) + extra)
        return values

    def visible_spans(self, example, spans):
        return [span for span in spans if span.end <= 200]


# --- rationale ---------------------------------------------------------------------------------------


def words_of(finder, text=TEXT) -> list[str]:
    return [text[f.span.start : f.span.end] for f in finder.find([Example(text)])[0]]


def test_rationale_shrinks_to_the_words_that_count():
    assert words_of(finder_named("rationale", classifier=Weights({"great": 3.0, "cold": 1.0}), top=2)) == [
        "great", "cold",
    ]  # fmt: skip


def test_rationale_grows_where_words_count_together():
    classifier = Weights({}, together=("wine", "list", "was"), bonus=5.0)
    assert words_of(finder_named("rationale", classifier=classifier, top=1)) == ["wine list was"]


def test_rationale_asks_in_batches():
    classifier = Weights({"great": 3.0})
    finder_named("rationale", classifier=classifier).find([Example(TEXT)])
    assert classifier.calls < 12


def test_rationale_limits():
    with pytest.raises(InputError, match="needs a classifier"):
        finder_named("rationale")
    with pytest.raises(InputError, match="at least 1"):
        finder_named("rationale", classifier=Weights({}), top=0)
    hidden = "x " * 150 + "great"
    assert "great" not in words_of(
        finder_named("rationale", classifier=Weights({"great": 1.0})), hidden
    )


def test_rationale_settings_name_the_classifier(classifier):
    found = finder_named("rationale", classifier=classifier).settings
    assert found["model"] == str(classifier.source)
    assert finder_named("rationale", classifier=Weights({})).settings["model"] == "given"


def test_rationale_with_a_real_classifier(classifier):
    example = tiny.make_examples(1, seed=3)[0]
    (found,) = finder_named("rationale", classifier=classifier).find([example])
    assert found
    assert found[0].score == pytest.approx(
        float(classifier.importance(example, [found[0].span])[0]), abs=1e-5
    )
    spans = sorted(item.span for item in found)
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))


# --- ranking -----------------------------------------------------------------------------------------


def test_the_better_of_overlapping_spans_is_kept():
    classifier = Weights({"cold": 2.0, "great": 3.0})
    cold, soup_cold, great, all_of_it = Span(13, 17), Span(4, 17), Span(41, 46), Span(0, 47)
    ranked = rank_spans(classifier, Example(TEXT), [soup_cold, cold, great])
    assert [item.span for item in ranked] == [great, cold], "of equals the shorter"
    assert [item.importance for item in ranked] == [3.0, 2.0]
    assert [item.share for item in ranked] == pytest.approx(softmax([3.0, 2.0]))
    (one,) = rank_spans(classifier, Example(TEXT), [all_of_it, cold, great])
    assert (one.span, one.share) == (all_of_it, 1.0)
    both = rank_spans(classifier, Example(TEXT), [soup_cold, cold], overlapping=True)
    assert len(both) == 2


def test_ranking_settings():
    classifier = Weights({"cold": 2.0, "great": 3.0})
    spans = [Span(13, 17), Span(41, 46)]
    sharp = rank_spans(classifier, Example(TEXT), spans, temperature=0.1)
    flat = rank_spans(classifier, Example(TEXT), spans, temperature=100)
    assert sharp[0].share > 0.99 > 0.6 > flat[0].share > 0.5
    assert len(rank_spans(classifier, Example(TEXT), spans, top=1)) == 1
    assert rank_spans(classifier, Example(TEXT), []) == []
    for bad in ({"top": 0}, {"temperature": 0.0}):
        with pytest.raises(InputError):
            rank_spans(classifier, Example(TEXT), spans, **bad)


def test_spans_beyond_what_the_model_reads_are_left_out(classifier):
    text = "The soup was cold. " * 40
    spans = [Span(13, 17), Span(len(text) - 6, len(text) - 2)]
    assert classifier.visible_spans(Example(text), spans) == spans[:1]
    assert [item.span for item in rank_spans(classifier, Example(text), spans)] == spans[:1]


# --- chunks ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chunks():
    pytest.importorskip("spacy")
    return finder_named("chunks")


def test_chunks_of_three_kinds(chunks):
    (found,) = chunks.find([Example(TEXT)])
    by_way = {}
    for item in found:
        by_way.setdefault(item.way, []).append(TEXT[item.span.start : item.span.end])
    assert "The soup" in by_way["noun"]
    assert any("cold" in words for words in by_way["verb"])
    assert by_way.keys() <= {"noun", "verb", "clause"}


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=texts)
def test_every_chunk_lies_in_the_text_on_whole_characters(chunks, text):
    (found,) = chunks.find([Example(text)])
    for item in found:
        item.span.check_inside(text)
        assert text[item.span.start : item.span.end].strip()


def test_a_pipeline_that_is_not_there(monkeypatch):
    spacy = pytest.importorskip("spacy")
    with pytest.raises(InputError, match=rf"no pipeline 'en_core_web_xl'.*{TO_DO}"):
        finder_named("chunks", pipeline="en_core_web_xl")
    monkeypatch.setattr(spacy.util, "get_installed_models", lambda: [])
    with pytest.raises(InputError, match=rf"no English spaCy pipeline is installed.*{TO_DO}"):
        finder_named("chunks")


def test_a_pipeline_that_cannot_be_loaded(monkeypatch):
    spacy = pytest.importorskip("spacy")

    def fail(*_, **__):
        raise ValueError("[E002] Can't find factory\nfor 'odd'")

    monkeypatch.setattr(spacy, "load", fail)
    with pytest.raises(InputError, match=rf"pipeline 'odd'.*factory for 'odd'.*{TO_DO}"):
        finder_named("chunks", pipeline="odd")


def test_spacy_that_is_not_there(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **named):
        if name == "spacy":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=TO_DO):
        finder_named("chunks")
