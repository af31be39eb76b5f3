"""Saved examples load again as they were, and the fingerprint sees every change."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanfluence.data import fingerprint, load_examples, save_examples
from spanfluence.errors import InputError
from spanfluence.units import Example, Span

strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
filled = strings.filter(lambda text: text != "")
texts = strings.filter(lambda text: bool(text.strip()))
in_one_folder = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def spans_in(draw, text):
    """Spans whose ends are edges of visible characters."""
    edges = [match.start() for match in regex.finditer(r"\X", text)] + [len(text)]
    pairs = st.tuples(st.sampled_from(edges), st.sampled_from(edges))
    chosen = draw(st.lists(pairs.filter(lambda pair: pair[0] < pair[1]), max_size=3))
    return tuple(Span(*pair) for pair in chosen)


@st.composite
def example_lists(draw, labels):
    examples = []
    for number in range(draw(st.integers(1, 5))):
        text = draw(texts)
        identity = draw(st.none() | filled.map(lambda word, number=number: f"{word}/{number}"))
        context = draw(st.none() | filled)
        examples.append(Example(text, draw(labels), context, draw(spans_in(text)), identity))
    return examples


any_examples = st.one_of(
    example_lists(st.none() | filled),
    example_lists(st.none() | st.integers()),
    example_lists(strings),
)


def numbered(examples):
    """What loading gives: an example without an id gets its row number."""
    return [
        replace(example, id=example.id or str(number))
        for number, example in enumerate(examples, start=1)
    ]


@in_one_folder
@given(any_examples)
def test_jsonl_round_trip(tmp_path, examples):
    path = tmp_path / "d.jsonl"
    save_examples(examples, path, overwrite=True)
    assert load_examples(path) == numbered(examples)


@in_one_folder
@given(example_lists(st.none() | filled), st.sampled_from([("d.csv", ","), ("d.tsv", "\t")]))
def test_csv_round_trip(tmp_path, examples, kind):
    path = tmp_path / kind[0]
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, delimiter=kind[1])
        writer.writerow(["text", "label", "context", "spans", "id"])
        for example in examples:
            spans = json.dumps([[span.start, span.end] for span in example.spans])
            writer.writerow([example.text, example.label, example.context, spans, example.id])
    assert load_examples(path) == numbered(examples)


@settings(deadline=None)
@given(any_examples, st.data())
def test_fingerprint_changes_with_any_field(examples, data):
    place = data.draw(st.integers(0, len(examples) - 1))
    old = examples[place]
    others = {
        "text": texts,
        "label": st.none() | strings | st.integers(),
        "context": st.none() | strings.filter(str.strip),  # a blank one is none
        "spans": spans_in(old.text),
        "id": st.none() | strings,
    }
    field = data.draw(st.sampled_from(sorted(others)))
    value = data.draw(others[field].filter(lambda value: value != getattr(old, field)))
    if field == "text":
        old = replace(old, spans=())
    new = replace(old, **{field: value})
    before = [*examples[:place], old, *examples[place + 1 :]]
    after = [*examples[:place], new, *examples[place + 1 :]]
    assert fingerprint(before) == fingerprint(list(before))
    assert fingerprint(before) != fingerprint(after)


def test_fingerprint_knows_kind_order_and_length():
    a, b = Example("a", "1"), Example("b", "1")
    prints = [[a, b], [b, a], [a], [a, a], [Example("a", 1), b], [], [Example("ab", "1")]]
    assert len({fingerprint(examples) for examples in prints}) == len(prints)


def test_fingerprint_stays_the_same_between_versions():
    examples = [Example("é", "x", "c", (Span(0, 1),), "7"), Example("b")]
    assert fingerprint(examples) == FINGERPRINT


# sha256 of '{"context":"c","id":"7","label":"x","spans":[[0,1]],"text":"\\u00e9"}\n{"text":"b"}\n'
FINGERPRINT = "870959fbcefc69a8c81fa768400f7cdefe987b3031bdbd319752d22cb9e4182d"


def test_saved_lines_hold_only_what_is_there(tmp_path):
    path = tmp_path / "d.jsonl"
    save_examples([Example("é", 0), Example("b", "x", "c", (Span(0, 1),), "7")], path)
    assert path.read_text("utf-8").splitlines() == [
        '{"text": "é", "label": 0}',
        '{"text": "b", "label": "x", "context": "c", "spans": [[0, 1]], "id": "7"}',
    ]


def test_an_existing_file_is_kept(tmp_path):
    path = tmp_path / "d.jsonl"
    save_examples([Example("old")], path)
    with pytest.raises(InputError, match=r"the file exists: .*overwrite=True"):
        save_examples([Example("new")], path)
    assert load_examples(path) == [Example("old", id="1")]
    save_examples([Example("new")], path, overwrite=True)
    assert load_examples(path) == [Example("new", id="1")]


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([], "no examples to save"),
        ([Example("a", id="x"), Example("b"), Example("c", id="x")], "examples 1 and 3 .* id 'x'"),
        ([Example("a", id="2"), Example("b")], "examples 1 and 2 .* id '2'"),
        ([Example("a"), Example("b\ud800")], "example 2 holds half of a surrogate pair"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(tmp_path, examples, message):
    with pytest.raises(InputError, match=message):
        save_examples(examples, tmp_path / "d.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_only_jsonl_is_written(tmp_path):
    with pytest.raises(InputError, match=r"saved as \.jsonl"):
        save_examples([Example("a")], tmp_path / "d.csv")
