"""Texts cut at span edges, and shortened around spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanfluence.errors import InputError
from spanfluence.report.segments import ELLIPSIS, Segment, cut, elide


@st.composite
def marked_texts(draw):
    text = draw(st.text(alphabet="ab né漢🎉\n", min_size=1, max_size=80))
    pairs = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text)))
    spans = draw(st.lists(pairs.filter(lambda pair: pair[0] < pair[1]), max_size=5))
    return text, spans


@given(marked_texts())
def test_segments_join_to_the_text(case):
    text, spans = case
    assert "".join(segment.text for segment in cut(text, spans)) == text


@given(marked_texts())
def test_each_character_lies_under_exactly_the_spans_that_cover_it(case):
    text, spans = case
    under = [segment.spans for segment in cut(text, spans) for _ in segment.text]
    for offset, found in enumerate(under):
        assert found == tuple(i for i, (start, end) in enumerate(spans) if start <= offset < end)


@given(marked_texts())
def test_there_are_no_more_segments_than_edges_ask_for(case):
    text, spans = case
    segments = cut(text, spans)
    inner = {edge for span in spans for edge in span} - {0, len(text)}
    assert len(segments) == len(inner) + 1
    assert all(segment.text for segment in segments)


@given(marked_texts())
def test_opening_and_closing_marks_balance_and_sit_at_the_edges(case):
    text, spans = case
    offset, opened, closed = 0, [], []
    for segment in cut(text, spans):
        opened += [offset] * segment.opens
        offset += len(segment.text)
        closed += [offset] * segment.closes
    assert opened == sorted(start for start, _ in spans)
    assert closed == sorted(end for _, end in spans)


def test_overlapping_spans():
    assert cut("abcdefgh", [[0, 5], [3, 8]]) == [
        Segment("abc", (0,), opens=1),
        Segment("de", (0, 1), opens=1, closes=1),
        Segment("fgh", (1,), closes=1),
    ]


def test_no_spans_give_the_whole_text_and_no_text_gives_nothing():
    assert cut("abc", []) == [Segment("abc")]
    assert cut("", []) == []


@pytest.mark.parametrize("span", [[-1, 2], [2, 2], [3, 1], [0, 4]])
def test_a_span_outside_the_text_is_refused_with_its_values(span):
    with pytest.raises(InputError, match=rf"\[{span[0]}, {span[1]}\).*3 characters"):
        cut("abc", [span])


@given(marked_texts(), st.integers(0, 100))
def test_elision_keeps_every_span_whole_and_the_budget(case, budget):
    text, spans = case
    segments = cut(text, spans)
    short = elide(segments, budget)
    assert [s.text for s in short if s.spans] == [s.text for s in segments if s.spans]
    marked = sum(len(segment.text) for segment in segments if segment.spans)
    gaps = sum(not segment.spans for segment in segments)
    assert sum(len(segment.text) for segment in short) <= max(budget, marked + gaps)


@given(marked_texts(), st.integers(0, 100))
def test_elision_only_removes(case, budget):
    text, spans = case
    for before, after in zip(cut(text, spans), elide(cut(text, spans), budget), strict=True):
        first, dots, last = after.text.partition(ELLIPSIS)
        assert before.text.startswith(first)
        assert before.text.endswith(last)
        assert dots or before == after


def test_elision_keeps_the_words_next_to_the_span():
    text = "one two three four FIVE six seven eight nine"
    start = text.index("FIVE")
    short = elide(cut(text, [[start, start + 4]]), 24)
    assert "".join(segment.text for segment in short) == "… four FIVE six …"


def test_elision_between_two_spans_keeps_both_sides():
    text = "HERE " + "and so on and on " * 5 + "THERE"
    short = elide(cut(text, [[0, 4], [len(text) - 5, len(text)]]), 30)
    assert "".join(segment.text for segment in short) == "HERE and so … and on THERE"


def test_elision_without_spans_keeps_the_head():
    assert elide(cut("one two three four", []), 9) == [Segment("one two …")]
