"""Spans, examples and units: what is accepted, and what each refusal says."""

from __future__ import annotations

import dataclasses
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanfluence.errors import InputError, SpanfluenceError
from spanfluence.units import Example, Span, Unit, listed, locate_span

TENTATIVE = "jalapen\u0303o"  # the tilde is a character of its own, on top of the n
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"  # three people, two joiners, one sign
FLAG = "\U0001f1eb\U0001f1ee"  # two letters make the flag of Finland
THUMB = "\U0001f44d\U0001f3fd"  # a hand and its skin tone


def refusal(make) -> str:
    with pytest.raises(InputError) as caught:
        make()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, SpanfluenceError)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("start", "end", "says"),
    [
        (-1, 3, "span start -1 is negative: offsets count from 0"),
        (3, 3, "span [3, 3) is empty: its end must be larger than its start"),
        (5, 2, "span [5, 2) is empty: its end must be larger than its start"),
        (1.0, 2, "span start must be a whole number, got 1.0"),
        (0, "2", "span end must be a whole number, got '2'"),
        (0, True, "span end must be a whole number, got True"),
    ],
)
def test_a_span_that_is_none(start, end, says):
    assert refusal(lambda: Span(start, end)) == says


def test_offsets_of_numpy_become_plain_numbers():
    span = Span(np.int64(2), np.uint8(5))
    assert span == Span(2, 5)
    assert (type(span.start), type(span.end)) == (int, int)
    assert Example("good food", spans=np.array([[0, 4]])).spans == (Span(0, 4),)
    for odd in (np.bool_(True), np.float64(2), np.array([1, 2])):
        assert refusal(lambda odd=odd: Span(0, odd)).startswith("span end must be a whole number")


@pytest.mark.parametrize("blank", ["", "  ", "\n\t"])
def test_a_blank_context_is_none(blank):
    assert Example("good food", context=blank) == Example("good food")
    assert Example("good food", context=" food ").context == " food "


def test_a_span_from_a_pair():
    span = Span(2, 5)
    assert Span.coerce([2, 5]) == Span.coerce((2, 5)) == Span.coerce(span) == span
    assert Span.coerce(np.array([2, 5]).tolist()) == span


@pytest.mark.parametrize("value", ["25", b"25", [1], [1, 2, 3], 7, None])
def test_what_is_no_pair_is_no_span(value):
    assert refusal(lambda: Span.coerce(value)) == (
        f"a span is a pair [start, end] of character offsets, got {value!r}"
    )


def test_spans_sort_by_their_place():
    assert sorted([Span(4, 5), Span(1, 9), Span(1, 2)]) == [Span(1, 2), Span(1, 9), Span(4, 5)]


def test_a_span_outside_the_text():
    assert refusal(lambda: Example("short", spans=[(2, 6)])) == (
        "span [2, 6) reaches outside the text of 5 characters"
    )
    assert Example("short", spans=[(2, 5)]).spans == (Span(2, 5),)


@pytest.mark.parametrize(
    ("text", "span", "cut"),
    [
        (TENTATIVE, (0, 7), 7),  # leaves the tilde behind
        (TENTATIVE, (7, 9), 7),  # takes the tilde without its letter
        (f"so {FAMILY} nice", (3, 4), 4),
        (f"so {FAMILY} nice", (4, 8), 4),
        (f"so {FAMILY} nice", (3, 6), 6),
        (f"in {FLAG}!", (3, 4), 4),
        (f"in {FLAG}!", (4, 5), 4),
        (f"{THUMB} good", (0, 1), 1),
    ],
)
def test_a_span_inside_a_character(text, span, cut):
    message = refusal(lambda: Example(text, spans=[span]))
    assert message.startswith(
        f"span [{span[0]}, {span[1]}) cuts a character in two at offset {cut} "
    )
    assert repr(text[cut - 1]) in message
    assert repr(text[cut]) in message
    assert message.endswith("move that end to the character's edge")


@pytest.mark.parametrize(
    ("text", "span"),
    [
        (TENTATIVE, (6, 8)),
        (f"so {FAMILY} nice", (3, 8)),
        (f"in {FLAG}!", (3, 5)),
        ("a\r\nb", (1, 2)),
    ],
)
def test_a_span_of_whole_characters(text, span):
    assert Example(text, spans=[span]).spans == (Span(*span),)


# Each piece is one visible character, and stays one beside any other.
PIECES = st.sampled_from(
    ["a", " ", "é", "e\u0301", FAMILY, FLAG, THUMB, "日", "한", "👍", "\u0e01\u0e33"]
)


@given(pieces=st.lists(PIECES, min_size=1, max_size=8), data=st.data())
def test_spans_are_accepted_exactly_at_the_edges_of_characters(pieces, data):
    text = "x" + "".join(pieces)
    edges = set(accumulate([1, *map(len, pieces)], initial=0))
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    if {start, end} <= edges:
        assert Example(text, spans=[(start, end)]).spans == (Span(start, end),)
    else:
        assert "cuts a character in two" in refusal(lambda: Example(text, spans=[(start, end)]))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"text": " \n\t"}, "example '7': text is empty: remove the row or give it a text"),
        ({"text": None}, "example '7': text must be a string, got NoneType"),
        ({"label": True}, "example '7': label must be a name or a whole number, got True"),
        ({"label": 1.5}, "example '7': label must be a name or a whole number, got 1.5"),
        ({"context": 3}, "example '7': context must be a string, got 3"),
        (
            {"spans": [(1, 1)]},
            "example '7': span [1, 1) is empty: its end must be larger than its start",
        ),
        (
            {"spans": ["ab"]},
            "example '7': a span is a pair [start, end] of character offsets, got 'ab'",
        ),
    ],
)
def test_an_example_that_is_none_names_itself(fields, says):
    assert refusal(lambda: Example(**{"text": "fine", "id": "7", **fields})) == says


def test_an_example_without_id_is_not_named():
    assert refusal(lambda: Example("")) == "text is empty: remove the row or give it a text"


def test_an_example_is_frozen_and_normal():
    example = Example("good food", "positive", "food", [[0, 4]], 12)
    assert example == Example("good food", "positive", "food", (Span(0, 4),), "12")
    assert hash(example) == hash(Example("good food", "positive", "food", (Span(0, 4),), "12"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        example.text = "other"
    assert (Example("x").label, Example("x").context, Example("x").spans, Example("x").id) == (
        None,
        None,
        (),
        None,
    )


def test_the_words_of_a_unit():
    example = Example("cold soup and rude staff")
    assert Unit(example).text == example.text
    assert Unit(example, (Span(0, 4),)).text == "cold"
    assert Unit(example, (Span(0, 4), Span(14, 18))).text == "cold … rude"


def test_a_span_named_by_its_words():
    assert locate_span("the soup was cold", "was cold") == Span(9, 17)
    assert locate_span(f"so {FAMILY} nice", FAMILY) == Span(3, 8)


def test_a_span_named_by_its_offsets():
    assert locate_span("the soup was cold", "4:8") == Span(4, 8)
    assert locate_span("open 4:8 daily", "4:8") == Span(5, 8), "words of the text come first"
    assert refusal(lambda: locate_span("the soup", "4:9")) == (
        "span [4, 9) reaches outside the text of 8 characters"
    )
    assert "is empty" in refusal(lambda: locate_span("the soup", "4:4"))


@pytest.mark.parametrize(
    ("text", "wanted", "how"),
    [
        ("the soup", "salad", "does not occur in"),
        ("the soup", "", "does not occur in"),
        ("the soup", "Soup", "does not occur in"),
        ("good food, good wine", "good", "occurs 2 times in"),
        ("ha ha ha", "ha ha", "occurs 2 times in"),  # the two share a word
    ],
)
def test_a_span_that_its_words_do_not_name(text, wanted, how):
    assert refusal(lambda: locate_span(text, wanted)) == (
        f"span {wanted!r} {how} the text: name other words, or its offsets as START:END"
    )


def test_words_that_cut_a_character_are_refused():
    assert "cuts a character in two" in refusal(lambda: locate_span(TENTATIVE, "jalapen"))


@pytest.mark.parametrize("given", [Example("a"), "a", ["a"], [Example("a"), None]])
def test_what_is_no_list_of_examples_is_told(given):
    with pytest.raises(InputError, match="tests must be a list of examples, not"):
        listed(given, "tests")
    assert listed((e for e in [Example("a")]), "tests") == [Example("a")]
