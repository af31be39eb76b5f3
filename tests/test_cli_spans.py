"""`spanfluence spans`: what it writes, prints and refuses."""

from __future__ import annotations

import json

import pytest
import tiny

from spanfluence import Example, TextClassifier, load_examples
from spanfluence.data import save_examples
from spanfluence.errors import InputError
from spanfluence.spans import finder_named
from spanfluence.spans.files import _Journal

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
        (("--finder", "words", "--mask-mode", "delete"), "--mask-mode has no meaning"),
        (("--finder", "clauses", "--device", "tpu"), "device='tpu' cannot be used here"),
        (("--finder", "clauses", "--text-column", "body"), "no column 'body'"),
        (("--finder", "clauses", "--html", "no/page.html"), "its folder no does not exist"),
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


def test_bad_rows_leave_nothing_behind(spanfluence_, tmp_path):
    reader = tiny.make_tiny_reader(tmp_path / "reader")
    data, out = tmp_path / "data.jsonl", tmp_path / "out.jsonl"
    asked = ("spans", data, "--finder", "reader", "--reader", reader, "--out", out)
    save_examples([*EXAMPLES, Example("No aspect.", id="bad")], data)
    assert "example 'bad' has no context" in spanfluence_(*asked)[2]
    save_examples(
        [*EXAMPLES, Example("No aspect.", context="aspect", id="bad")], data, overwrite=True
    )
    assert spanfluence_(*asked)[0] == 0


def test_columns_of_other_names(spanfluence_, tiny_folder, tmp_path):
    """In every command that reads a file; a term is found beside them."""
    data, out = tmp_path / "data.csv", tmp_path / "out.jsonl"
    rows = [f'"{e.text}",{e.label},{e.context},"[0, 3]",k{e.id}' for e in EXAMPLES]
    data.write_text("\n".join(["body,stars,about,term,key", *rows]))
    names = ("--text-column", "body", "--label-column", "stars")
    names += ("--context-column", "about", "--id-column", "key")
    code, _, err = spanfluence_("spans", data, "--finder", "clauses", "--out", out, *names)
    assert code == 0, err
    row = json.loads(out.read_text().splitlines()[0])
    assert (row["text"], row["id"], row["term"]) == (EXAMPLES[0].text, f"k{EXAMPLES[0].id}", [0, 3])
    asked = ("explain", tiny_folder("bert"), "--train", data, "--json", "--top", "1", *names)
    code, said, err = spanfluence_(*asked, "--file", data)
    assert code == 0, err
    found = json.loads(said.splitlines()[0])
    assert found["test"]["id"] == f"k{EXAMPLES[0].id}"
    assert found["parts"][0]["supporters"][0]["id"].startswith("k")
    code, _, err = spanfluence_("explain", tiny_folder("bert"), "--text", "x", *names)
    assert (code, err) == (
        2,
        "error: --text-column body names a column of --file or --train: give one, or leave it out\n",
    )


def test_masking_is_chosen_and_recorded(spanfluence_, data, tmp_path):
    model = tiny.make_tiny(tmp_path / "model", "bert", mask_token=False)
    out = tmp_path / "out.jsonl"
    asked = ("spans", data, "--finder", "rationale", "--model", model, "--out", out)
    assert "--mask-mode" in spanfluence_(*asked)[2], "the advice"
    code, _, err = spanfluence_(*asked, "--mask-mode", "attention")
    assert code == 0, err
    assert {json.loads(line)["mask"] for line in out.read_text().splitlines()} == {"attention"}
    assert load_examples(out)[0].spans


def test_another_classifier_is_not_resumed(spanfluence_, data, tiny_folder, tmp_path):
    out, partial = tmp_path / "out.jsonl", tmp_path / "out.jsonl.partial"
    asked = ("spans", data, "--finder", "rationale", "--out", out, "--resume", "--model")
    finder = finder_named("rationale", classifier=TextClassifier.load(tiny_folder("bert")))
    head = _Journal(partial, EXAMPLES, None, finder).head
    partial.write_text(json.dumps(head) + "\n")
    assert "another finder" in spanfluence_(*asked, tiny_folder("roberta"))[2]
    assert spanfluence_(*asked, tiny_folder("bert"))[0] == 0


@pytest.mark.parametrize("name", ["reader", "aspect"])
def test_the_device_reaches_finders_with_a_model(spanfluence_, monkeypatch, name):
    def tell(finder, **options):
        raise InputError(f"{finder} on {options['device']}")

    monkeypatch.setattr("spanfluence.spans.finder_named", tell)
    asked = ("explain", "run", "--text", "x", "--finder", name, "--device", "cuda")
    assert spanfluence_(*asked)[2] == f"error: {name} on cuda\n"


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
