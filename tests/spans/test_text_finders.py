"""Finders that look at the text alone: words, ngrams, sentences, clauses, given."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import HealthCheck, given, settings
from strategies import texts

from spanfluence import Example, Span
from spanfluence.errors import InputError
from spanfluence.spans import FINDERS, Found, find_spans, finder_named
from spanfluence.spans.found import clean_spans
from spanfluence.spans.words import word_ranges

PLAIN = ("words", "ngrams", "sentences", "clauses")
SOUP = "The soup was cold, but the wine list was great."


def words_of(name: str, text: str, **options: object) -> list[str]:
    (found,) = find_spans([Example(text)], finder_named(name, **options))
    assert all(item.finder == item.way == name for item in found)
    return [text[item.span.start : item.span.end] for item in found]


# --- what must be true of every span -----------------------------------------------------------------


@pytest.mark.parametrize("name", PLAIN)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=texts)
def test_every_span_lies_in_the_text_on_whole_characters(name, text):
    (found,) = finder_named(name).find([Example(text)])
    assert found
    assert len({item.span for item in found}) == len(found)
    for item in found:
        item.span.check_inside(text)
        assert text[item.span.start : item.span.end].strip()
    Example(text, spans=tuple(item.span for item in found))


@pytest.mark.parametrize("name", ["sentences", "clauses"])
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=texts)
def test_pieces_hold_every_word_once_in_order(name, text):
    (found,) = finder_named(name).find([Example(text)])
    for start, end in word_ranges(text):
        assert any(f.span.start <= start and end <= f.span.end for f in found)
    assert [f.span for f in found] == sorted(f.span for f in found)


@pytest.mark.parametrize("name", PLAIN)
def test_a_text_of_ten_thousand_characters(name):
    text = (SOUP + " 🍕🔥 Très bon! 料理はとても美味しい。 ") * 130
    assert len(text) > 9_000
    (found,) = finder_named(name).find([Example(text)])
    assert len(found) > 100
    Example(text, spans=tuple(item.span for item in found))


def test_a_long_run_without_any_blank():
    text = "a" * 10_000
    for name in PLAIN:
        assert [f.span for f in finder_named(name).find([Example(text)])[0]]


@pytest.mark.parametrize("pattern", ["{}a", "a{}a"])
@pytest.mark.parametrize("mark", [".", "?!", "'", " "])
def test_clauses_take_time_in_proportion_to_the_text(pattern, mark):
    """Eight times the marks: eight times the time, not sixty-four times."""
    short, long = (seconds("clauses", pattern.format(mark * size)) for size in (2_000, 16_000))
    assert long < 24 * short


def seconds(name: str, text: str) -> float:
    finder, taken = finder_named(name), []
    for _ in range(5):
        before = process_time()
        finder.find([Example(text)])
        taken.append(process_time() - before)
        if taken[-1] > 1:  # quadratic already: no need to see it again
            break
    return min(taken)


# --- each finder -------------------------------------------------------------------------------------


def test_words():
    assert words_of("words", "I can't eat 3 well-done crème brûlées!") == [
        "I", "can't", "eat", "3", "well-done", "crème", "brûlées",
    ]  # fmt: skip
    assert words_of("words", "美味しい🍕") == ["美", "味", "し", "い", "🍕"]
    assert words_of("words", "الطعام كان رائعا") == ["الطعام", "كان", "رائعا"]
    assert words_of("words", "?!") == ["?!"]


def test_ngrams():
    assert words_of("ngrams", "so very cold", least=2, most=2) == ["so very", "very cold"]
    assert len(words_of("ngrams", "so very cold")) == 6
    assert words_of("ngrams", "one\ntwo", most=2) == ["one", "two"]
    with pytest.raises(InputError, match="ngrams of 3 to 2 words"):
        finder_named("ngrams", least=3, most=2)


def test_sentences_have_exact_offsets():
    text = '  Mr. Smith came. He said: "hi!" It was good. It was good.  '
    assert words_of("sentences", text) == [
        "Mr. Smith came.", 'He said: "hi!"', "It was good.", "It was good.",
    ]  # fmt: skip
    assert words_of("sentences", "料理は美味しい。店員は親切。", language="ja") == [
        "料理は美味しい。",
        "店員は親切。",
    ]
    with pytest.raises(InputError, match="no rules for language 'xx'"):
        finder_named("sentences", language="xx")


def test_clauses():
    assert words_of("clauses", SOUP) == ["The soup was cold", "but the wine list was great"]
    assert words_of("clauses", "The room was nice, quiet.") == ["The room was nice, quiet"]
    assert words_of("clauses", "It cost 3,50 (too much); we left.") == [
        "It cost 3,50",
        "too much",
        "we left",
    ]
    assert words_of("clauses", "料理は美味しい、店員は親切。") == ["料理は美味しい", "店員は親切"]


def test_given():
    example = Example(SOUP, spans=(Span(13, 17),))
    assert finder_named("given").find([example]) == [[Found(Span(13, 17), 1.0, "given", "given")]]
    assert finder_named("given").find([Example(SOUP)]) == [[]]


def test_a_text_that_several_examples_share_is_cut_once(monkeypatch):
    finder = finder_named("clauses")
    calls = []
    cuts = type(finder).cuts
    monkeypatch.setattr(
        type(finder), "cuts", lambda self, text: calls.append(text) or cuts(self, text)
    )
    done = []
    found = finder.find(
        [Example(SOUP, context=c) for c in ("soup", "wine list")], advance=done.append
    )
    assert calls == [SOUP]
    assert found[0] == found[1]
    assert sum(done) == 2


def test_clean_spans():
    assert clean_spans("  a b ", [(0, 6), (2, 3), (1, 4), (0, 2)]) == [Span(2, 5), Span(2, 3)]
    flag = "x🇫🇷y"
    assert clean_spans(flag, [(2, 3)]) == [Span(1, 3)]


def test_every_finder_has_a_name_of_its_own():
    from importlib import import_module

    for name, home in FINDERS.items():
        module, _, cls = home.partition(".")
        assert getattr(import_module(f"spanfluence.spans.{module}"), cls).name == name
