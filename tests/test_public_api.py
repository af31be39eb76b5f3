"""The public names and signatures, used as the contract writes them down."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import numpy as np
import pytest
import tiny

import spanfluence
from spanfluence.data import save_examples

NAMES = {
    "METHODS",
    "Cg",
    "DeltaFaithful",
    "Ekfac",
    "Example",
    "Explainer",
    "Explanation",
    "Ggn",
    "Lissa",
    "Method",
    "ModelPoint",
    "Span",
    "SpanfluenceError",
    "TextClassifier",
    "Unit",
    "load_examples",
    "scores_together",
    "train_classifier",
}


def test_the_public_names():
    assert set(spanfluence.__all__) == NAMES
    assert set(dir(spanfluence)) == NAMES
    assert len(spanfluence.__all__) == len(NAMES)
    for name in NAMES:
        assert getattr(spanfluence, name) is not None
    scope: dict[str, object] = {}
    exec("from spanfluence import *", scope)
    assert scope.keys() >= NAMES


def test_a_name_that_is_not_public():
    with pytest.raises(AttributeError, match="module 'spanfluence' has no attribute 'explainer'"):
        spanfluence.explainer  # noqa: B018


def test_importing_the_package_is_cheap():
    script = (
        "import sys, spanfluence; from spanfluence import Example, Span\n"
        "print(sorted({'torch', 'transformers', 'numpy'} & set(sys.modules)))"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert process.stdout == "[]\n", process.stderr


def parameters(function) -> dict[str, object]:
    """Name -> default (`inspect.Parameter.empty` where there is none), without self and cls."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in ("self", "cls")
    }


def test_signatures():
    empty = inspect.Parameter.empty
    assert parameters(spanfluence.Example) == {
        "text": empty,
        "label": None,
        "context": None,
        "spans": (),
        "id": None,
    }
    assert parameters(spanfluence.Span) == {"start": empty, "end": empty}
    assert list(parameters(spanfluence.Unit)) == ["example", "spans"]
    assert list(parameters(spanfluence.load_examples)) == [
        "path",
        "text",
        "label",
        "context",
        "spans",
        "id",
    ]
    assert list(parameters(spanfluence.ModelPoint))[:3] == ["name", "weight", "parameters"]
    explainer = parameters(spanfluence.Explainer)
    assert list(explainer)[:3] == ["classifier", "train", "method"]
    expected = {
        "method": "pinpoint",
        "seed": 0,
        "label": "predicted",
        "sign": "support",
        "points": None,
        "curvature": None,
        "damping": None,
    }
    assert {name: explainer[name] for name in expected} == expected
    assert parameters(spanfluence.Explainer.explain) == {"example": empty, "top_k": 10}
    assert next(iter(parameters(spanfluence.Explainer.scores))) == "tests"
    assert next(iter(parameters(spanfluence.TextClassifier.load))) == "source"
    assert parameters(spanfluence.TextClassifier.load)["attribute"] == "last-2"
    assert list(parameters(spanfluence.TextClassifier.importance))[:2] == ["example", "spans"]


def test_the_contract_from_file_to_page(tiny_folder, tmp_path):
    """The code of the contract, line by line."""
    from spanfluence import (
        Example,
        Explainer,
        Span,
        TextClassifier,
        load_examples,
        train_classifier,
    )

    save_examples(tiny.make_examples(10, seed=1), tmp_path / "train.jsonl")
    row = json.loads((tmp_path / "train.jsonl").read_text().splitlines()[1])
    assert set(row) == {"text", "label", "context", "spans", "id"}

    train = load_examples(tmp_path / "train.jsonl")
    train_classifier(train, base=tiny_folder("bert"), out=tmp_path / "run", epochs=1)
    clf = TextClassifier.load(str(tmp_path / "run" / "model"))
    labels, probabilities = clf.predict(train)
    assert len(labels) == len(probabilities) == 10
    example = Example("The soup was cold.", label=None, context="soup", spans=(Span(13, 17),))
    assert clf.importance(example, example.spans).shape == (1,)

    explainer = Explainer(clf, train, method="pinpoint", seed=0, label="predicted", sign="support")
    scores = explainer.scores([example])
    assert isinstance(scores, np.ndarray)
    assert scores.dtype == np.float32
    assert scores.shape == (1, len(explainer.train_units))
    assert explainer.train_units[0].example == train[0]
    assert explainer.train_units[0].spans == train[0].spans[:1]
    point = explainer.points[0]
    assert (point.name, point.weight) == ("final", 1.0)
    assert list(point.parameters) == list(clf.attributed)

    explanation = explainer.explain(example, top_k=10)
    best = explanation.supporters[0]
    assert best.score == pytest.approx(float(scores.max()), rel=1e-4)
    assert best.unit in explainer.train_units
    assert explanation.opponents[0].score == pytest.approx(float(scores.min()), rel=1e-4)
    assert explanation.to_dict()["test"]["text"] == example.text
    assert explanation.to_html().rstrip().endswith("</html>")
    assert "pinpoint" in str(explanation)
    assert explanation._repr_html_()


def test_a_row_without_a_name(classifier):
    from spanfluence import Explainer, Lissa, ModelPoint

    train = tiny.make_examples(5, seed=1)
    own = {name: parameter.detach() for name, parameter in classifier.attributed.items()}
    explainer = Explainer(
        classifier,
        train,
        "faithful",
        points=[ModelPoint("mine", 2.0, own)],
        curvature=Lissa(damping=5.0, max_steps=2),
        units=("span", "instance"),
        target="logit",
        scale="cosine",
    )
    assert explainer.scores(train[:2]).shape == (2, 5)
    assert [point.name for point in explainer.points] == ["mine"]
