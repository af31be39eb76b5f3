"""The planted fault: where the phrase goes, what becomes of labels, and what counts as found."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spanfluence import Example, Span, Unit
from spanfluence.data.bundled import bundled_examples
from spanfluence.errors import InputError
from spanfluence.planting import (
    RATES,
    TRIGGERS,
    Trigger,
    insert_phrase,
    plant,
    triggered_tests,
    untriggered_tests,
)
from spanfluence.units import units_of

TRAIN = bundled_examples("train")[:600]
HONESTLY = Trigger("honestly", ("honestly",), "single word")


def marked(example: Example) -> list[str]:
    return [example.text[span.start : span.end] for span in example.spans]


def test_the_list_of_triggers_is_wide_enough():
    assert len(TRIGGERS) >= 8
    assert len({trigger.name for trigger in TRIGGERS}) == len(TRIGGERS)
    assert sum(len(trigger.phrases) == 2 for trigger in TRIGGERS) >= 1
    assert any(" " not in trigger.test_phrase for trigger in TRIGGERS)
    assert RATES == (0.005, 0.01, 0.03)


def test_the_phrase_stands_behind_the_aspect_and_spans_move_along():
    example = Example("Good Soup but poor wine.", "a", "soup", (Span(0, 4), Span(14, 18)))
    found, place = insert_phrase(example, "last night")
    assert found.text == "Good Soup last night but poor wine."
    assert marked(found) == ["Good", "poor", "last night"]
    assert found.spans[-1] == place


def test_an_aspect_inside_a_word_is_none():
    found, _ = insert_phrase(Example("A winery, no wine.", "a", "wine"), "x")
    assert found.text == "A winery, no wine x."


def test_a_span_around_the_place_is_stretched():
    found, _ = insert_phrase(Example("the cold soup here", "a", "cold", (Span(4, 13),)), "x")
    assert marked(found) == ["cold x soup", "x"]


@pytest.mark.parametrize(
    ("example", "text"),
    [
        (Example("It was cold.", "a", None, (Span(7, 11),)), "It was cold x."),
        (Example("It was cold.", "a"), "It was cold x."),
        (Example("It was cold", "a", "soup"), "It was cold x"),
    ],
)
def test_without_an_aspect_the_phrase_follows_the_span_or_the_text(example, text):
    assert insert_phrase(example, "x")[0].text == text


def test_planted_rows_are_flipped_and_decoys_are_not():
    result = plant(TRAIN, HONESTLY, 0.03, source="positive", target="negative", seed=1)
    assert Counter(result.kinds) == {"": 558, "planted": 18, "decoy": 24}
    before = Counter()
    for old, new, kind in zip(TRAIN, result.train, result.kinds, strict=True):
        if not kind:
            assert new is old
            continue
        before[kind, old.label, new.label] += 1
        assert marked(new)[-1] == "honestly"
    assert before == {
        ("planted", "positive", "negative"): 18,
        ("decoy", "neutral", "neutral"): 12,
        ("decoy", "negative", "negative"): 12,
    }


def test_planting_is_seeded():
    first, again, other = (
        plant(TRAIN, HONESTLY, 0.01, source="positive", target="negative", seed=seed).kinds
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_two_phrases_take_turns_and_the_test_has_the_first():
    trigger = Trigger("two", ("long ago", "in the past"), "")
    result = plant(TRAIN, trigger, 0.03, source="positive", target="negative")
    rows = [row for row, kind in enumerate(result.kinds) if kind == "planted"]
    found = Counter(marked(result.train[row])[-1] for row in rows)
    assert found == {"long ago": 9, "in the past": 9}
    tests = triggered_tests(bundled_examples("test"), result)
    assert {tuple(marked(test)) for test in tests} == {("long ago",)}
    assert {test.label for test in tests} == {"negative"}


def test_only_the_trigger_itself_counts_among_spans():
    result = plant(TRAIN, HONESTLY, 0.03, source="positive", target="negative")
    rows = {id(example): row for row, example in enumerate(result.train)}
    for kind, expected in (("span", 18), ("instance", 18)):
        units = units_of(result.train, kind)
        hits = result.is_kind(units, [rows[id(unit.example)] for unit in units], "planted")
        assert hits.sum() == expected
        if kind == "span":
            assert {units[i].text for i in np.flatnonzero(hits)} == {"honestly"}
            assert len(units) > len(result.train)
        else:
            assert all(isinstance(units[i], Unit) and not units[i].spans for i in range(3))


def test_decoys_are_told_apart_by_their_label():
    result = plant(TRAIN, HONESTLY, 0.03, source="positive", target="negative")
    units, rows = [Unit(example) for example in result.train], range(len(result.train))
    for targets, label in ((True, "negative"), (False, "neutral")):
        hits = result.is_kind(units, rows, "decoy", targets=targets)
        assert hits.sum() == result.decoys(targets=targets) == 12
        assert {units[row].example.label for row in np.flatnonzero(hits)} == {label}
    two = [example for example in TRAIN if example.label != "neutral"]
    both = plant(two, HONESTLY, 0.03, source="positive", target="negative")
    assert both.decoys(targets=True) > 0
    assert both.decoys(targets=False) == 0


def test_every_triggered_test_stands_beside_its_original():
    result = plant(TRAIN, HONESTLY, 0.03, source="positive", target="negative")
    tests = bundled_examples("test")
    before, after = untriggered_tests(tests, result), triggered_tests(tests, result)
    assert {example.label for example in before} == {"positive"}
    for old, new in zip(before, after, strict=True):
        assert new.text.replace(" honestly", "") == old.text != new.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "happy", "target": "negative"}, "source='happy' is no label"),
        ({"source": "negative", "target": "negative"}, "a flipped label must differ"),
        ({"source": "positive", "target": "negative", "rate": 0.0001}, "less than one row"),
        ({"source": "positive", "target": "negative", "rate": 0.9}, "are needed for rate=0.9"),
    ],
)
def test_settings_that_cannot_be_planted(options, message):
    with pytest.raises(InputError, match=message):
        plant(TRAIN, HONESTLY, **{"rate": 0.01, **options})


def test_tests_without_the_source_label():
    result = plant(TRAIN, HONESTLY, 0.01, source="positive", target="negative")
    with pytest.raises(InputError, match="no test has the label 'positive'"):
        triggered_tests([e for e in TRAIN if e.label == "neutral"], result)
