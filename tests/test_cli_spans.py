"""`spanfluence spans`: what it writes, prints and refuses."""

from __future__ import annotations

import json

import pytest
import tiny

from spanfluence import Example, load_examples
from spanfluence.data import save_examples

EXAMPLES = [
    Example(e.text, e.label, e.context, id=e.id) for e in tiny.make_examples(6, seed=2, pairs=True)
]


@pytest.fixture
def data(tmp_path):
    save_examples(EXAMPLES, tmp_path / "data.jsonl")
    return tmp_path / "data.jsonl"


def test_a_file_a_table_and_a_page(spanfluence_, data, tmp_path):
    out, page = tmp_path / "spans.jsonl", tmp_path / "spans.html"
    code, said, err = spanfluence_(
        "spans", data, "--finder", "clauses", "--out", out, "--html", page
    )
    assert (code, err) == (0, f"Page: {page}\n")
    assert "finder clauses" in said
    assert all(example.spans for example in load_examples(out))
    assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
    code, _, err = spanfluence_("spans", data, "--finder", "words", "--out", out)
    assert code == 2
    assert "the file exists" in err
    code, _, err = spanfluence_("spans", data, "--out", tmp_path / "b.jsonl", "--html", page)
    assert code == 2
    assert "already exists" in err
    assert (
        spanfluence_(
            "spans", data, "--finder", "words", "--out", out, "--overwrite", "--html", page
        )[0]
        == 0
    )


def test_auto_says_what_it_chose(spanfluence_, tmp_path):
    save_examples([Example("It was cold, but fine by me.")], tmp_path / "plain.jsonl")
    code, said, _ = spanfluence_("spans", tmp_path / "plain.jsonl", "--out", tmp_path / "out.jsonl")
    assert code == 0
    assert said.startswith("auto chose clauses: the texts are short and have no contexts.\n")


def test_options_limits_and_models(spanfluence_, data, tiny_folder, tmp_path):
    reader = tiny.make_tiny_reader(tmp_path / "reader")
    runs = {
        "ngrams": ("--option", "most=2", "--limit", "3"),
        "reader": ("--reader", reader, "--option", "least_score=0.9"),
        "rationale": ("--model", tiny_folder("bert"), "--option", "top=1"),
    }
    for finder, extra in runs.items():
        out = tmp_path / f"{finder}.jsonl"
        code, said, err = spanfluence_("spans", data, "--finder", finder, "--out", out, *extra)
        assert code == 0, err
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        assert len(rows) == (3 if finder == "ngrams" else 6)
        assert {item["finder"] for row in rows for item in row["found"]} == {finder}
    assert "by heuristic" in said or "heuristic" in str(
        json.loads((tmp_path / "reader.jsonl").read_text().splitlines()[0])
    )


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        (("--finder", "clause"), "no finder 'clause'"),
        (("--finder", "reader"), "needs a question-answering model"),
        (("--finder", "rationale"), "needs a classifier"),
        (("--finder", "words", "--reader", "x/y"), "--reader has no meaning"),
        (("--finder", "words", "--model", "x/y"), "--model has no meaning"),
        (("--finder", "ngrams", "--option", "most"), "is not NAME=VALUE"),
        (("--finder", "ngrams", "--option", "size=2"), "has no option 'size'"),
        (("--finder", "words", "--limit", "0"), "leaves nothing"),
        (("--finder", "words", "--option", "most=2"), "has no option 'most': it takes none"),
        (("--finder", "ngrams", "--option", "most=abc"), "most='abc' must be a whole number"),
        (("--finder", "ngrams", "--option", "most=2.5"), "most='2.5' must be a whole number"),
        (("--finder", "rationale", "--option", "top=x"), "top='x' must be a whole number"),
        (("--finder", "rationale", "--option", "top=1.5"), "top='1.5' must be a whole number"),
        (("--finder", "rationale", "--option", "classifier=foo"), "'rationale': use --model"),
        (("--finder", "reader", "--option", "least_score=abc"), "'abc' must be a number"),
        (("--finder", "reader", "--option", "templates=abc"), "give it in Python"),
        (("--finder", "reader", "--option", "device=tpu"), "'reader': use --device"),
        (("--finder", "reader", "--option", "reader=foo"), "'reader': use --reader"),
        (("--finder", "aspect", "--option", "encoder=foo"), "give it in Python"),
        (("--finder", "aspect", "--option", "top=0"), "top=0 spans cannot be: use at least 1"),
    ],
)
def test_refusals(spanfluence_, data, tmp_path, extra, says):
    code, said, err = spanfluence_("spans", data, "--out", tmp_path / "out.jsonl", *extra)
    assert (code, said) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert says in err
    assert not (tmp_path / "out.jsonl").exists()


def test_explain_uses_found_spans_on_both_sides(spanfluence_, data, tiny_folder, tmp_path):
    spans = tmp_path / "spans.jsonl"
    spanfluence_("spans", data, "--finder", "clauses", "--out", spans)
    text = "The soup was cold, but the wine list was great."
    given = ("explain", tiny_folder("bert"), "--train", spans, "--text", text, "--json")
    code, out, err = spanfluence_(
        *given, "--finder", "words", "--max-spans", "2", "--mask-mode", "delete"
    )
    assert code == 0, err
    found = json.loads(out)
    (part,) = found["parts"]
    assert len(part["shares"]) == 2
    assert found["settings"]["mask"] == "delete"
    assert found["train_units"] == sum(len(example.spans) for example in load_examples(spans))
    assert not any("whole text" in note for note in found["notes"])
    assert len(json.loads(spanfluence_(*given, "--separate")[1])["parts"]) == 2
    assert json.loads(spanfluence_(*given, "--finder", "none")[1])["parts"][0]["spans"] == []
    reader = tiny.make_tiny_reader(tmp_path / "reader")
    asked = (*given, "--context", "soup", "--finder", "reader", "--reader", reader)
    assert "found by 'reader'" in spanfluence_(*asked)[1]
    assert "needs a question-answering model" in spanfluence_(*given, "--finder", "reader")[2]
    assert "--reader has no meaning" in spanfluence_(*given, "--reader", reader)[2]
