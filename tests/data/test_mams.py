"""MAMS: the published counts, the released labels, and files that are not what they should be."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from real_files import real_folder

from spanfluence.data import load_examples
from spanfluence.data.mams import load_mams, mams_terms, read_mams
from spanfluence.errors import InputError
from spanfluence.units import Example, Span

COUNTS = {
    "train": {"positive": 3380, "neutral": 5042, "negative": 2764},
    "val": {"positive": 403, "neutral": 604, "negative": 325},
    "test": {"positive": 400, "neutral": 607, "negative": 329},
}
SENTENCES = {"train": 4297, "val": 500, "test": 500}
TWO_ASPECTS = """<?xml version="1.0" encoding="utf-8"?>
<sentences>
  <sentence><text> The soup &amp; bread: soup was cold, bread fine.</text>
    <aspectTerms>
      <aspectTerm from="19" polarity="negative" term="soup" to="23"/>
      <aspectTerm from="34" polarity="positive" term="bread" to="39"/>
    </aspectTerms>
  </sentence>
  <sentence><text>No aspect here.</text></sentence>
  <sentence><text>Nice café</text>
    <aspectTerms><aspectTerm from="5" polarity="positive" term="café" to="9"/></aspectTerms>
  </sentence>
</sentences>
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.xml"
    path.write_text(TWO_ASPECTS, encoding="utf-8")
    return path


def test_one_example_per_aspect_term(small):
    text = " The soup & bread: soup was cold, bread fine."
    expected = [
        Example(text, "negative", "soup", id="1-1"),
        Example(text, "positive", "bread", id="1-2"),
        Example("Nice café", "positive", "café", id="3-1"),
    ]
    assert read_mams(small) == expected
    assert load_examples(small) == expected
    assert mams_terms(small) == [Span(19, 23), Span(34, 39), Span(5, 9)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('from="19"', 'from="18"', r"sentence 1 aspect 1: characters 18 to 23 are ' soup', not"),
        ('to="39"', 'to="99"', r"sentence 1 aspect 2: characters 34 to 99 are 'bread fine.', not"),
        ('from="19"', 'from="-4"', "aspect 1: 'from' must be a whole number, got '-4'"),
        ('to="23"', "", "sentence 1 aspect 1: aspectTerm has no 'to'"),
        ('polarity="negative"', 'polarity=""', "aspect 1: aspectTerm has no 'polarity'"),
        ('to="23"', 'to="19"', r"aspect 1: span \[19, 19\) is empty"),
        ("<text>Nice café</text>", "", "sentence 3 aspect 1: .*text is empty"),
        ("</sentences>", "", r"small.xml:\d+: not valid XML"),
        ("aspectTerm ", "aspectCategory ", "no aspectTerm in the file"),
    ],
)
def test_bad_files(small, old, new, message):
    assert old in TWO_ASPECTS
    small.write_text(TWO_ASPECTS.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        read_mams(small)
    assert str(caught.value).startswith(str(small))
    assert "\n" not in str(caught.value)


BOMB = """<?xml version="1.0"?>
<!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>
<sentences><sentence><text>&b;</text></sentence></sentences>"""


def test_entities_are_refused(small):
    small.write_text(BOMB)
    with pytest.raises(InputError, match=r"small.xml:2: <!DOCTYPE is not allowed"):
        read_mams(small)


def test_entities_cannot_hide_in_another_encoding(small):
    small.write_bytes(BOMB.replace('"1.0"', '"1.0" encoding="utf-16"').encode("utf-16"))
    with pytest.raises(InputError, match="is not UTF-8"):
        read_mams(small)


def test_paths_that_hold_no_file(tmp_path):
    with pytest.raises(InputError, match=r"none\.xml: no such file"):
        read_mams(tmp_path / "none.xml")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_mams(tmp_path)


def test_missing_split_says_where_to_get_it(tmp_path):
    with pytest.raises(InputError, match=r"train\.xml: no such file: .*data fetch mams --to DIR"):
        load_mams(tmp_path)


@pytest.fixture(scope="module")
def splits():
    return load_mams(real_folder("mams"))


def test_published_counts(splits):
    assert {
        split: Counter(e.label for e in examples) for split, examples in splits.items()
    } == COUNTS
    assert {
        split: len({e.text for e in examples}) for split, examples in splits.items()
    } == SENTENCES


def test_ids_are_unique_and_spans_are_left_to_others(splits):
    for examples in splits.values():
        assert len({example.id for example in examples}) == len(examples)
        assert not any(example.spans for example in examples)


def test_terms_lie_where_the_offsets_say(splits):
    for split, examples in splits.items():
        terms = mams_terms(real_folder("mams") / f"{split}.xml")
        assert len(terms) == len(examples)
        assert all(
            example.text[term.start : term.end] == example.context
            for example, term in zip(examples, terms, strict=True)
        )


@pytest.mark.parametrize("split", ["val", "test"])
def test_agrees_with_the_released_data(splits, split):
    path = real_folder("tracinf_release") / "ATSA" / f"model_5_{split}_w_qa.json"
    released = [
        (sentence["original_text"], term["term"], term["polarity"], int(term["start"]))
        for sentence in json.loads(path.read_text("utf-8")).values()
        for term in sentence["terms"].values()
    ]
    terms = mams_terms(real_folder("mams") / f"{split}.xml")
    ours = [
        (example.text.lower(), str(example.context).lower(), example.label, term.start)
        for example, term in zip(splits[split], terms, strict=True)
    ]
    assert ours == released
