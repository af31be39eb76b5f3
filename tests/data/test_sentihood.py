"""SentiHood: the published counts, the released instances, and files that are not what they should be."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from real_files import real_folder

from spanfluence.data import load_examples
from spanfluence.data.sentihood import (
    Opinion,
    Sentence,
    load_sentihood,
    read_sentihood,
    read_sentihood_sentences,
)
from spanfluence.errors import InputError
from spanfluence.units import Example

INSTANCES = {
    "train": {"positive": 2146, "negative": 638},
    "dev": {"positive": 537, "negative": 152},
    "test": {"positive": 1070, "negative": 327},
}
# sentences, of these without an opinion, opinions
SENTENCES = {"train": (2977, 956, 3401), "dev": (747, 242, 840), "test": (1491, 488, 1679)}


def opinion(location: str, aspect: str, sentiment: str) -> dict[str, str]:
    return {"target_entity": location, "aspect": aspect, "sentiment": sentiment}


ITEMS = [
    {
        "id": 4,
        "text": "  LOCATION1 is Safe, cheap; LOCATION2 is dear but green",
        "opinions": [
            opinion("LOCATION2", "price", "Negative"),
            opinion("LOCATION1", "safety", "Positive"),
            opinion("LOCATION2", "green-nature", "Positive"),
            opinion("LOCATION1", "price", "Positive"),
            opinion("LOCATION1", "price", "Positive"),
        ],
    },
    {"id": 9, "text": "I live in LOCATION1", "opinions": []},
    {"id": 2, "text": "LOCATION2 is LOUD", "opinions": [opinion("LOCATION2", "quiet", "Negative")]},
]


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.json"
    path.write_text(json.dumps(ITEMS))
    return path


def test_locations_of_two_minds_are_dropped_and_repeats_kept(small):
    text = "  location1 is safe, cheap; location2 is dear but green"
    expected = [
        Example(text, "positive", "location1", id="4-2"),
        Example(text, "positive", "location1", id="4-4"),
        Example(text, "positive", "location1", id="4-5"),
        Example("location2 is loud", "negative", "location2", id="2-1"),
    ]
    assert read_sentihood(small) == expected
    assert load_examples(small) == expected


def test_sentences_are_kept_as_they_stand(small):
    sentences = read_sentihood_sentences(small)
    assert [sentence.id for sentence in sentences] == ["4", "9", "2"]
    assert [len(sentence.opinions) for sentence in sentences] == [5, 0, 1]
    assert sentences[2] == Sentence(
        "2", "LOCATION2 is LOUD", (Opinion("LOCATION2", "quiet", "Negative"),)
    )


GOOD = [opinion("LOCATION1", "price", "Positive")]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"id": 1, "text": "a"}], " row 1: a sentence must be an object with a list"),
        ([{"id": 1, "text": None, "opinions": GOOD}], " row 1: text must be a string, got None"),
        ([{"id": 1, "text": " ", "opinions": GOOD}], " row 1: .*text is empty"),
        ([{"text": "a", "opinions": GOOD}], " row 1: id must be a whole number or a string"),
        ([ITEMS[2], ITEMS[1], ITEMS[2]], " row 3: id '2' is also the id of row 1"),
        ([{"id": 1, "text": "a", "opinions": ["b"]}], " row 1 opinion 1: must have the strings"),
        (
            [{"id": 1, "text": "a", "opinions": [*GOOD, opinion("L", "price", "Neutral")]}],
            " row 1 opinion 2: sentiment must be Positive or Negative, got 'Neutral'",
        ),
        ([ITEMS[1]], ": no sentence with an opinion"),
        ({"text": "a"}, ": must hold a list of objects"),
    ],
)
def test_bad_files(small, items, message):
    small.write_text(json.dumps(items))
    with pytest.raises(InputError, match=f"small.json{message}"):
        read_sentihood(small)


def test_missing_split_says_where_to_get_it(tmp_path):
    with pytest.raises(InputError, match=r"sentihood-train\.json: no such file: .*fetch sentihood"):
        load_sentihood(tmp_path)


@pytest.fixture(scope="module")
def splits():
    return load_sentihood(real_folder("sentihood"))


def test_released_counts(splits):
    assert {split: Counter(e.label for e in rows) for split, rows in splits.items()} == INSTANCES


def test_ids_are_unique(splits):
    for examples in splits.values():
        assert len({example.id for example in examples}) == len(examples)


@pytest.mark.parametrize("split", SENTENCES)
def test_published_sentence_counts(split):
    sentences = read_sentihood_sentences(real_folder("sentihood") / f"sentihood-{split}.json")
    without = sum(not sentence.opinions for sentence in sentences)
    opinions = sum(len(sentence.opinions) for sentence in sentences)
    assert (len(sentences), without, opinions) == SENTENCES[split]


@pytest.mark.parametrize("split", INSTANCES)
def test_agrees_with_the_released_data(splits, split):
    name = f"sentihood_model_5_{split}_w_qa.json"
    path = real_folder("tracinf_release") / "sentihood" / name
    released = Counter(
        (sentence["original_text"], term["term"], term["polarity"])
        for sentence in json.loads(path.read_text("utf-8")).values()
        for term in sentence["terms"].values()
    )
    assert Counter((e.text, e.context, e.label) for e in splits[split]) == released
