"""The pure parts of the scripts that train the reader and measure finders."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from spanfluence import Example, Span

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "experiments"))

import opinion_spans  # noqa: E402
import reader_data  # noqa: E402
from opinion_spans import Opinion, compare  # noqa: E402
from reader_data import best_stretch, untokenised  # noqa: E402
from reader_quality import normal_words, word_f1  # noqa: E402

FRESH = "The salad was fresh , tasty and , on the whole and with all that came along , cheap ."


def opinion(text: str, term: str, *gold: str) -> Opinion:
    place = text.index(term)
    spans = tuple(Span(text.index(g), text.index(g) + len(g)) for g in gold)
    return Opinion(Example(text, context=term), Span(place, place + len(term)), spans)


def test_measures():
    text, gold = "it was very good indeed", [Span(7, 16)]
    assert compare(text, gold, gold) == {"exact": 1.0, "f1": 1.0, "recall": 1.0, "words": 2.0}
    wider = compare(text, gold, [Span(0, 23)])
    assert (wider["exact"], wider["recall"], wider["words"]) == (0.0, 1.0, 5.0)
    assert wider["f1"] == pytest.approx(2 * (2 / 5) / (2 / 5 + 1))
    half = compare(text, gold, [Span(12, 16)])
    assert (half["recall"], half["f1"]) == (0.0, pytest.approx(2 / 3))
    assert compare(text, gold, [])["f1"] == 0.0


def test_the_stretch_to_learn():
    near = opinion(FRESH, "salad", "fresh", "tasty")
    assert FRESH[best_stretch(near).start : best_stretch(near).end] == "fresh , tasty"
    far = opinion(FRESH, "salad", "fresh", "cheap")
    assert FRESH[best_stretch(far).start : best_stretch(far).end] == "fresh", (
        "the nearest of equals"
    )


def test_texts_without_their_tokenisation():
    text = "It was n't good , sadly ."
    plain, span = untokenised(text, Span(text.index("good"), text.index("good") + 4))
    assert plain == "It wasn't good, sadly."
    assert plain[span.start : span.end] == "good"


def test_tags():
    text, spans = opinion_spans._tagged(r"so\O very\B good\I ,\O nice\B")
    assert text == "so very good , nice"
    assert [text[s.start : s.end] for s in spans] == ["very good", "nice"]


def test_spans_move_between_spellings():
    source, target = "It was n't good , no .", "It wasn't  good, no."
    moved = opinion_spans._moved(Span(7, 15), source, target)
    assert target[moved.start : moved.end] == "n't  good"


def test_squad_words():
    assert normal_words("The Norman, U.S.A.") == ["norman", "usa"]
    assert word_f1(["a", "b"], ["b", "c"]) == pytest.approx(0.5)
    assert word_f1([], []) == 1.0
    assert word_f1(["a"], []) == 0.0


@pytest.fixture
def data() -> Path:
    folder = ROOT / opinion_spans.DATA
    if not (folder / "towe").is_dir():
        pytest.skip(f"no TOWE in {folder}: set SPANFLUENCE_DATA")
    return folder


def test_no_sentence_is_both_learnt_and_measured(data):
    train, held = reader_data.opinions(data, reader_data.Settings())
    measured = {
        opinion_spans.normalised(o.example.text)
        for rows in (
            *(opinion_spans.towe(name, "test", data) for name in opinion_spans.TESTS),
            opinion_spans.mams_overlap(data),
        )
        for o in rows
    }
    learnt = {opinion_spans.normalised(o.example.text) for o in train}
    assert len(learnt) > 1000
    assert not learnt & measured
    assert not learnt & {opinion_spans.normalised(o.example.text) for o in held}


def test_the_mams_terms_with_human_spans(data):
    found = opinion_spans.mams_overlap(data)
    assert len(found) == 180
    for each in found:
        for span in (each.term, *each.gold):
            span.check_inside(each.example.text)
