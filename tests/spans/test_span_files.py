"""Finders by name, whole files with resume, and what the summary says."""

from __future__ import annotations

import json

import pytest
import tiny

from spanfluence import Example, Span, load_examples
from spanfluence.data import load_terms, save_examples
from spanfluence.errors import InputError
from spanfluence.spans import choose_finder, finder_named, write_spans
from spanfluence.spans import files as span_files
from spanfluence.spans.files import summarise
from spanfluence.spans.found import Found
from spanfluence.spans.registry import options_from_text
from spanfluence.spans.terms import term_places
from spanfluence.spans.words import Words

EXAMPLES = [
    Example(e.text, e.label, e.context, id=e.id) for e in tiny.make_examples(9, seed=4, pairs=True)
]


# --- by name -----------------------------------------------------------------------------------------


def test_names_and_options_that_are_none():
    with pytest.raises(InputError, match=r"no finder 'clause': use 'given', 'words'.*or 'auto'"):
        finder_named("clause")
    with pytest.raises(InputError, match="'ngrams' has no option 'size': it takes least, most"):
        finder_named("ngrams", size=2)
    with pytest.raises(InputError, match="'words' has no option 'size': it takes none"):
        finder_named("words", size=2)


def test_options_of_the_wrong_kind():
    for name, options, says in (
        ("ngrams", {"most": "2"}, "most='2' must be a whole number"),
        ("ngrams", {"most": 2.0}, "most=2.0 must be a whole number"),
        ("ngrams", {"most": True}, "most=True must be a whole number"),
        ("reader", {"reader": "x", "breadth": "1"}, "breadth='1' must be a number"),
        ("sentences", {"language": 3}, "language=3 must be a string"),
        ("rationale", {"classifier": "foo"}, "classifier='foo' cannot tell importance"),
    ):
        with pytest.raises(InputError, match=says):
            finder_named(name, **options)


def test_options_written_as_text():
    assert options_from_text("ngrams", {"most": "2"}) == {"most": 2}
    found = options_from_text("reader", {"least_score": "1", "language": "1"})
    assert found == {"least_score": 1.0, "language": "1"}
    assert isinstance(found["least_score"], float)
    assert options_from_text("chunks", {"pipeline": "3"}) == {"pipeline": "3"}
    assert options_from_text("words", {}) == {}


def test_auto_goes_by_what_the_data_offers(monkeypatch):
    assert choose_finder([EXAMPLES[0], Example("a b", spans=(Span(0, 1),))])[0] == "given"
    assert choose_finder(EXAMPLES, reader=True)[0] == "reader"
    assert choose_finder(EXAMPLES)[0] == "aspect"
    assert choose_finder([Example("It was cold.")])[0] == "clauses"
    assert choose_finder([Example("It was cold. " * 50)])[0] == "sentences"
    with pytest.raises(InputError):
        choose_finder([])
    monkeypatch.setattr("spanfluence.spans.registry.find_spec", lambda name: None)
    assert choose_finder(EXAMPLES)[0] == "clauses"


# --- files -------------------------------------------------------------------------------------------


def test_a_file_of_spans_loads_as_examples(tmp_path):
    out = tmp_path / "spans.jsonl"
    found = write_spans(EXAMPLES, finder_named("clauses"), out)
    loaded = load_examples(out)
    for example, own, before in zip(loaded, found, EXAMPLES, strict=True):
        assert (example.text, example.label, example.context, example.id) == (
            before.text, before.label, before.context, before.id,
        )  # fmt: skip
        assert example.spans == tuple(sorted(item.span for item in own))
    row = json.loads(out.read_text(encoding="utf-8").splitlines()[0])
    assert set(row["found"][0]) == {"span", "score", "finder", "way"}
    assert [path.name for path in tmp_path.iterdir()] == ["spans.jsonl"]


def test_a_file_that_exists_is_kept(tmp_path):
    out = tmp_path / "spans.jsonl"
    out.write_text("mine")
    with pytest.raises(InputError, match=r"the file exists.*--overwrite"):
        write_spans(EXAMPLES, Words(), out)
    with pytest.raises(InputError, match="the file exists"):
        write_spans(EXAMPLES, Words(), out, resume=True)
    assert out.read_text() == "mine"
    write_spans(EXAMPLES, Words(), out, overwrite=True)
    assert len(load_examples(out)) == 9
    with pytest.raises(InputError, match=r"written as \.jsonl"):
        write_spans(EXAMPLES, Words(), tmp_path / "spans.csv")
    with pytest.raises(InputError, match="does not exist"):
        write_spans(EXAMPLES, Words(), tmp_path / "none" / "spans.jsonl")


class Interrupted(Words):
    """Stops after some batches."""

    def __init__(self, batches: int) -> None:
        self.left = batches
        self.seen: list[str] = []

    def find(self, examples, terms=None, *, advance=lambda done: None):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.seen += [example.id for example in examples]
        return super().find(examples, terms, advance=advance)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(span_files, "BATCH", 4)
    out = tmp_path / "spans.jsonl"
    with pytest.raises(KeyboardInterrupt):
        write_spans(EXAMPLES, Interrupted(1), out)
    assert not out.exists()
    with pytest.raises(InputError, match="was interrupted: go on with --resume"):
        write_spans(EXAMPLES, Words(), out)
    with pytest.raises(InputError, match="other examples or another finder"):
        write_spans(EXAMPLES[:5], Words(), out, resume=True)
    partial = tmp_path / "spans.jsonl.partial"
    partial.write_text(partial.read_text() + '[{"span": [0,')  # a kill in the middle of a line
    rest = Interrupted(9)
    resumed = write_spans(EXAMPLES, rest, out, resume=True)
    assert rest.seen == [example.id for example in EXAMPLES[4:]]
    assert resumed == Words().find(EXAMPLES)
    assert not partial.exists()


class Refusing(Interrupted):
    """Meets a row that it cannot use after some batches."""

    def find(self, examples, terms=None, *, advance=lambda done: None):
        if not self.left:
            raise InputError("this row cannot be used")
        return super().find(examples, terms, advance=advance)


@pytest.mark.parametrize("batches", [0, 1])
def test_input_that_cannot_be_used_leaves_nothing_behind(tmp_path, monkeypatch, batches):
    monkeypatch.setattr(span_files, "BATCH", 4)
    out = tmp_path / "spans.jsonl"
    with pytest.raises(InputError, match="this row cannot be used"):
        write_spans(EXAMPLES, Refusing(batches), out)
    assert list(tmp_path.iterdir()) == []
    write_spans(EXAMPLES, Words(), out)


def test_contexts_and_terms_are_checked_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(span_files, "BATCH", 4)
    out = tmp_path / "spans.jsonl"
    about = Interrupted(9)
    about.needs_context = True
    with pytest.raises(InputError, match="example 'last' has no context"):
        write_spans([*EXAMPLES, Example("tea", id="last")], about, out)
    terms = [None] * 8 + [Span(4, 900)]
    with pytest.raises(InputError, match=rf"term of example '{EXAMPLES[8].id}'.*reaches outside"):
        write_spans(EXAMPLES, about, out, terms=terms)
    assert about.seen == []
    assert list(tmp_path.iterdir()) == []


def test_other_terms_are_not_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(span_files, "BATCH", 4)
    out = tmp_path / "spans.jsonl"
    with pytest.raises(KeyboardInterrupt):
        write_spans(EXAMPLES, Interrupted(1), out, terms=[Span(0, 1)] * 9)
    for other in (None, [Span(0, 2)] * 9):
        with pytest.raises(InputError, match="other examples or another finder"):
            write_spans(EXAMPLES, Words(), out, terms=other, resume=True)
    write_spans(EXAMPLES, Words(), out, terms=[Span(0, 1)] * 9, resume=True)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: b"",
        lambda text: b"garbage\n" + text,
        lambda text: b"\xff\xfe" + text,
        lambda text: text + b"[{}]\n",
        lambda text: text + b'[{"span": [3, 1], "score": 1, "finder": "a", "way": "a"}]\n',
        lambda text: text + b"3\n",
        lambda text: text + b"[]\n" * 9,
    ],
)
def test_a_damaged_journal(tmp_path, monkeypatch, spoil):
    monkeypatch.setattr(span_files, "BATCH", 4)
    out, partial = tmp_path / "spans.jsonl", tmp_path / "spans.jsonl.partial"
    with pytest.raises(KeyboardInterrupt):
        write_spans(EXAMPLES, Interrupted(1), out)
    partial.write_bytes(spoil(partial.read_bytes()))
    with pytest.raises(InputError, match=r"partial: damaged.*add --overwrite to start anew"):
        write_spans(EXAMPLES, Words(), out, resume=True)
    write_spans(EXAMPLES, Words(), out, overwrite=True)
    assert not partial.exists()


# --- terms -------------------------------------------------------------------------------------------


def test_terms_known_to_files(tmp_path):
    rows = [{"text": "soup, soup", "context": "soup", "term": [6, 10]}, {"text": "tea"}]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert load_terms(path) == [Span(6, 10), None]
    save_examples(EXAMPLES, tmp_path / "b.jsonl")
    assert load_terms(tmp_path / "b.jsonl") is None
    path.write_text('{"text": "tea", "term": [2, 1]}')
    with pytest.raises(InputError, match=r"a\.jsonl:1.*term"):
        load_terms(path)
    xml = tmp_path / "mams.xml"
    xml.write_text(
        '<sentences><sentence><text>The soup and the soup</text><aspectTerms><aspectTerm term="soup" '
        'polarity="neutral" from="17" to="21"/></aspectTerms></sentence></sentences>'
    )
    assert load_terms(xml) == [Span(17, 21)]
    out = tmp_path / "spans.jsonl"
    write_spans(load_examples(xml), Words(), out, terms=load_terms(xml))
    assert load_terms(out) == [Span(17, 21)], "a file of spans carries the terms on"


def test_places_of_a_term():
    assert term_places("Soups and soup, SOUP!", "soup") == [Span(10, 14), Span(16, 20)]
    assert term_places("Soups", "soup") == [Span(0, 4)]
    assert term_places("wine\n list", "wine list") == [Span(0, 10)]
    assert term_places("tea", "soup") == term_places("tea", " ") == []


# --- summary -----------------------------------------------------------------------------------------


def test_the_summary_counts_ways_and_says_what_needed_care():
    examples = [
        Example("The soup was cold.", context="soup"),
        Example("Soup, more soup.", context="soup"),
        Example("It was fine.", context="parking"),
    ]
    found = [
        [Found(Span(13, 17), 0.8, "reader", "reader")],
        [Found(Span(0, 16), 0.0, "reader", "heuristic")],
        [],
    ]
    summary = summarise(examples, found, about_context=True)
    assert (summary.examples, summary.spans, summary.without, summary.entire) == (3, 2, 1, 1)
    assert summary.ways == {"reader": 1, "heuristic": 1}
    assert summary.mean_words == 2.0
    assert summary.notes[0].startswith("1 examples do not hold their context")
    assert "several times" in summary.notes[1]
    placed = [None, Span(0, 4), None]
    assert len(summarise(examples, found, terms=placed, about_context=True).notes) == 1
    assert summarise(examples, found).notes == ()
