"""Phrases that are too frequent among flagged texts, grouped."""

from __future__ import annotations

import pytest
from scipy.stats import hypergeom

from spanfluence.phrases import over_represented

TEXTS = [f"word{i} when we were there" for i in range(20)] + [
    f"other{i} as ever" for i in range(80)
]


def test_the_longest_form_leads_and_its_parts_are_variants():
    found = over_represented(TEXTS, range(15))
    assert [phrase.phrase for phrase in found] == ["when we were there"]
    assert set(found[0].variants) >= {"we were there", "when", "there"}
    assert (found[0].flagged, found[0].everywhere, found[0].expected) == (15, 20, 3.0)
    assert found[0].lift == 5.0
    assert found[0].units == tuple(range(15))


def test_a_phrase_speaks_for_a_word_that_is_rarer_alone():
    """ "were" has more hits than the phrase around it, yet most of them are the phrase."""
    texts = [*TEXTS, *(f"they were thing{i}" for i in range(4)), *(f"x{i}" for i in range(100))]
    found = over_represented(texts, [*range(18), 100, 101, 102, 103])
    assert found[0].phrase == "when we were there"
    assert "were" in found[0].variants
    assert "were" not in [phrase.phrase for phrase in found]


def test_the_p_value_is_hypergeometric_times_the_phrases_that_could_be_found():
    """The ten runs of "when we were there" and the three of "as ever", which no flagged text has."""
    found = over_represented(TEXTS, range(15), level=1.0)[0]
    assert found.p_value == pytest.approx(13 * hypergeom.sf(14, 100, 20, 15))


def test_what_is_as_frequent_as_elsewhere_is_no_finding():
    assert over_represented(TEXTS, [0, 1, 2, 3, *range(20, 36)]) == []
    assert over_represented(TEXTS, range(20, 60)) == []  # "as ever": 1.25 times as often


def test_nothing_flagged():
    assert over_represented(TEXTS, []) == []
