"""The reproduction on a data set of the same layout and a tiny model, from files to REPORT.md."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pytest
import tiny

from spanfluence.data import load_examples, save_examples
from spanfluence.data.mams import load_mams
from spanfluence.errors import InputError, MissingExtra
from spanfluence.reproduce import paper, pipeline
from spanfluence.reproduce.cases import bold, is_paper_case
from spanfluence.reproduce.pipeline import Plan, reproduce_paper
from spanfluence.units import Example, Span, Unit

SIZES = {"train": 130, "val": 10, "test": 14}


def embed(texts):
    return np.array([[text.count(letter) for letter in "aeiostr"] + [1] for text in texts], float)


def mams_xml(count: int, seed: int) -> str:
    rng = random.Random(seed)
    sentences = []
    for _ in range(count):
        noun, label = rng.choice(tiny.NOUNS[:9]), rng.choice(sorted(tiny.OPINIONS))
        text = f"The {noun} was {rng.choice(tiny.OPINIONS[label])} today {rng.randrange(99)}."
        term = f"term={quoteattr(noun)} polarity={quoteattr(label)} from='4' to='{4 + len(noun)}'"
        sentences.append(
            f"<sentence><text>{escape(text)}</text><aspectTerms><aspectTerm {term}/></aspectTerms></sentence>"
        )
    return f"<sentences>{''.join(sentences)}</sentences>"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder in the MAMS layout and one with spans for it."""
    folder, spans = tmp_path_factory.mktemp("mams"), tmp_path_factory.mktemp("spans")
    for number, (split, count) in enumerate(SIZES.items()):
        (folder / f"{split}.xml").write_text(mams_xml(count, number))
    splits = load_mams(folder)
    for split, name in (("train", "train"), ("val", "dev"), ("test", "test")):
        save_examples([opinion(example) for example in splits[split]], spans / f"{name}.jsonl")
    return folder, spans


def opinion(example: Example) -> Example:
    start, end = example.text.index(" was ") + 5, example.text.index(" today")
    return replace(example, spans=(Span(start, end),))


@pytest.fixture
def plan(data, tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "QUICK_TESTS", 4)
    monkeypatch.setattr(pipeline, "QUICK_STEPS", 4)
    folder, spans = data
    return Plan(
        dataset="mams",
        data=folder,
        out=tmp_path / "out",
        spans=spans,
        base=str(tiny_folder("bert")),
        quick=True,
        embed=embed,
        say=lambda text: None,
    )


def test_the_report_has_every_table_and_figure(plan):
    report = reproduce_paper(plan).read_text()
    for heading in ("What holds", "Sag and Lag", "Signs", "The impact of K", "Faithfulness", "Ral",
                    "Case study", "Record"):  # fmt: skip
        assert f"\n## {heading}\n" in report
    assert "| tracin+ (paper's sign) | 22.65 |" in report
    assert "| tracin++ | 23.92 |" in report
    assert "| Sag(10): tracin++ above if++ | 23.92 against 21.74 | yes |" in report
    assert "| Lag(10): tracin+ above if+ | 8.60 against 25.66 | no |" in report
    assert "| tracin++ falls with K: Sag(10) above Sag(100) | 23.92 against 21.32 | yes |" in report
    assert "| Lag(10): tracin++ above bm25 |  |  |" in report
    assert "| variance of Spearman: if++ above tracin++ | 20.50 against 3.57 | yes |" in report
    for row in ("random", "bm25", "embedding", "gradient cosine", "pinpoint"):
        assert f"| {row} |  |" in report.split("## Faithfulness")[1].split("\n## ")[0]
    assert "| control | 55.11 |" in report
    assert "the list is upside down" in report
    for name in ("curves", "sag", "lag", "case"):
        assert (plan.out / "figures" / f"{name}.png").stat().st_size > 10_000
    for name in ("agreement", "curves", "faithfulness", "ral", "case", "claims_agreement"):
        assert (plan.out / "tables" / f"{name}.csv").is_file()
    record = json.loads((plan.out / "run.json").read_text())
    assert record["versions"]["torch"]
    assert record["seconds"]
    resumed(plan)


def resumed(plan):
    """A second run finds everything done."""
    said: list[str] = []
    before = (plan.out / "REPORT.md").read_text()
    reproduce_paper(replace(plan, say=said.append))
    assert [line for line in said if not line.startswith("Ral, lists")] == []
    assert (plan.out / "REPORT.md").read_text() == before


def test_one_stage_alone(plan):
    report = reproduce_paper(replace(plan, stages=("case",))).read_text()
    assert "## Case study" in report
    assert "## Sag and Lag" not in report
    # A later call with another stage shows what the first one found as well.
    report = reproduce_paper(replace(plan, stages=("agreement",), precision="bfloat16")).read_text()
    assert "## Case study" in report
    assert "## Sag and Lag" in report
    stages = json.loads((plan.out / "run.json").read_text())["stages"]
    assert {name: each["precision"] for name, each in stages.items()} == {
        "case": "float32",
        "agreement": "bfloat16",
    }
    # But not what was found with other settings, which measured something else.
    other = replace(plan, stages=("case",), seed=1, run=plan.out / "run")
    report = reproduce_paper(other).read_text()
    assert "## Case study" in report
    assert "## Sag and Lag" not in report


def test_a_k_that_does_not_fit_is_told_before_scoring(plan, monkeypatch):
    monkeypatch.setattr(pipeline, "QUICK_TRAIN", 60)
    with pytest.raises(InputError, match="K=100 does not fit a list of 60"):
        reproduce_paper(plan)
    assert not (plan.out / "stages").exists()


def test_a_run_that_was_trained_on_other_data(plan, tmp_path, data):
    from spanfluence import train_classifier

    train = tiny.make_examples(8, seed=3)
    train_classifier(train, base=plan.base, out=tmp_path / "run", epochs=1)
    with pytest.raises(InputError, match="was trained on other data"):
        reproduce_paper(replace(plan, run=tmp_path / "run", quick=False))
    with pytest.raises(InputError, match="was trained on other data"):
        reproduce_paper(replace(plan, run=tmp_path / "run"))


def test_a_quick_look_takes_a_run_on_all_of_the_data_or_on_its_part(plan, monkeypatch):
    monkeypatch.setattr(pipeline, "QUICK_TRAIN", 110)
    reproduce_paper(replace(plan, stages=("case",)))
    part = plan.out / "run"
    reproduce_paper(replace(plan, stages=("case",), run=part, out=plan.out / "again"))
    with pytest.raises(InputError, match=r"\(110 examples\) than .* \(130 examples\)"):
        reproduce_paper(replace(plan, stages=("case",), run=part, quick=False))


def test_a_run_in_the_folder_that_was_trained_otherwise_is_told(plan, tiny_folder):
    reproduce_paper(replace(plan, stages=("case",)))
    for changes, message in (
        ({"seed": 1}, "its seed was 0, now it is 1"),
        ({"quick": False}, "its epochs was 3, now it is 6"),
        ({"base": str(tiny_folder("roberta"))}, "its base was '.*bert', now it is '.*roberta'"),
    ):
        with pytest.raises(InputError, match=f"{message}.* another --out"):
            reproduce_paper(replace(plan, stages=("case",), **changes))


def test_spans_that_the_model_does_not_read_are_left_out(plan, data, tmp_path, monkeypatch):
    """As `evaluate` does: they must not fail the report after all scoring."""
    spans = tmp_path / "spans"
    spans.mkdir()
    for name in ("train", "test"):
        rows = load_examples(data[1] / f"{name}.jsonl")
        last = [replace(e, spans=(*e.spans, Span(len(e.text) - 3, len(e.text)))) for e in rows[:40]]
        lost = [replace(e, spans=e.spans[1:]) for e in last[:2]]
        save_examples([*lost, *last[2:], *rows[40:]], spans / f"{name}.jsonl")
    monkeypatch.setitem(pipeline.RECIPES["mams"], "max_length", 10)
    said: list[str] = []
    whole = replace(plan, spans=spans, stages=("agreement",), say=said.append)
    monkeypatch.setattr(pipeline, "QUICK_TESTS", 14)
    reproduce_paper(whole)
    assert "2 of 14 tests are left out: the model does not read their spans" in said
    assert json.loads((plan.out / "run.json").read_text())["counts"]["explained"] == 12


def test_a_missing_package_is_told_before_training(plan, monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtra, match="BM25 needs the package 'bm25s'"):
        reproduce_paper(plan)
    assert not plan.out.exists()


def test_a_stage_that_is_none(plan):
    with pytest.raises(InputError, match="no stage 'rall': use agreement"):
        replace(plan, stages=("rall",))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"curvature": "foo"}, "curvature='foo' is not known"),
        ({"faithful_tests": -3}, "faithful_tests=-3 must be a whole number"),
        ({"seeds": 0}, "seeds=0 must be"),
        ({"removal_train": 0}, "removal_train=0 must be"),
        ({"dataset": "imdb"}, "no data set 'imdb' to reproduce"),
    ],
)
def test_a_plan_that_cannot_be_carried_out(plan, changes, message):
    with pytest.raises(InputError, match=message):
        replace(plan, quick=False, **changes)


def test_sizes_are_the_papers(plan):
    full = replace(plan, quick=False)
    assert full.sizes.ks == (10, 100)
    assert replace(full, dataset="sentihood").sizes.ks == (10, 50)
    assert full.sizes.shares == (0.2, 0.5)
    assert full.sizes.repetitions == 5
    assert pipeline.TESTS == 200
    assert full.methods["if++"] == {"method": "if++", "curvature": "lissa"}
    assert (full.sizes.seeds, full.sizes.faithful_tests, full.sizes.removal_train) == (3, 50, None)


def test_sizes_that_were_asked_for_hold_in_a_quick_look_and_are_recorded(plan):
    assert (plan.sizes.seeds, plan.sizes.faithful_tests, plan.sizes.removal_train) == (1, 5, None)
    asked = {"seeds": 2, "faithful_tests": 3, "removal_train": 100}
    reproduce_paper(replace(plan, stages=("case",)))
    stages = json.loads((plan.out / "run.json").read_text())["stages"]
    used = {"seeds": 1, "faithful_tests": 5, "removal_train": None, "precision": "float32"}
    assert stages["case"] == used
    sizes = replace(plan, **asked).sizes
    assert {name: getattr(sizes, name) for name in asked} == asked
    reproduce_paper(replace(plan, stages=("case",), **asked))
    stages = json.loads((plan.out / "run.json").read_text())["stages"]
    assert stages["case"] == {**asked, "precision": "float32"}


def test_published_numbers():
    assert paper.published("mams", "tracin++", "Lag(10)") == 78.03
    assert paper.published("sentihood", "if+", "Ral(20%)") == 16.21
    assert paper.published("mams", "pinpoint", "Lag(10)") is None
    assert paper.columns("sentihood", ("Sag",)) == ["Sag(10)", "Sag(50)"]
    for dataset in ("mams", "sentihood"):
        assert len(paper.columns(dataset, ("Sag", "Lag", "Ral"))) == 6


def test_the_papers_case_is_known_by_its_words():
    assert is_paper_case(Example(paper.CASE.capitalize() + ".", "positive", "food"))
    assert not is_paper_case(Example(paper.CASE, "positive", "service"))


def test_the_papers_rows_stand_beside_ours_in_its_case(plan, monkeypatch):
    monkeypatch.setattr("spanfluence.reproduce.cases.is_paper_case", lambda test: True)
    report = reproduce_paper(replace(plan, stages=("case",))).read_text()
    lines = {line.split(" | ")[0]: line for line in report.splitlines()}
    assert "service **was pretty good.** (service: positive)" in lines["| tracin++"]
    assert "a dark refurbished" in lines["| if+ (paper's sign)"]
    assert "a dark refurbished" not in lines["| if+"]
    assert set(paper.CASE_ROWS) == set(paper.METHODS)


def test_bold_spans_and_harmless_marks():
    example = Example("a *b* c_d e", "x", spans=(Span(6, 9),))
    assert bold(Unit(example, example.spans)) == r"a \*b\* **c\_d** e"
    assert bold(Unit(example)) == r"a \*b\* c\_d e"
