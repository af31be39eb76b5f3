"""Every method, column and architecture against plain autograd loops in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import reference
import tiny
import torch
from scipy.stats import spearmanr

from spanfluence import METHODS, Explainer, Lissa, ModelPoint, TextClassifier
from spanfluence.jobs import visits_of
from spanfluence.points import DeltaFaithful
from spanfluence.rng import numpy_generator
from spanfluence.units import units_of

STEPS = 12
ROWS = {
    "logit": {"target": "logit"},
    "margin": {"target": "margin"},
    "unmasked": {"contrast": "unmasked"},
    "span tokens": {"locality": "span"},
    "unmasked span tokens": {"locality": "span", "contrast": "unmasked"},
    "cosine": {"scale": "cosine"},
    "layer cosine": {"scale": "layer-cosine"},
    "importance": {"weight": "importance"},
    "positive importance": {"weight": "positive-importance"},
    "span to instance": {"units": ("span", "instance")},
    "lissa and layer cosine": {"curvature": "lissa", "scale": "layer-cosine", "target": "logit"},
}


def checkpoints(classifier: TextClassifier) -> list[ModelPoint]:
    """Two invented checkpoints with different learning rates."""
    generator = torch.Generator().manual_seed(3)
    points = []
    for index, rate in enumerate((0.5, 0.25)):
        values = {
            name: p + 0.05 * torch.randn(p.shape, generator=generator)
            for name, p in classifier.attributed.items()
        }
        points.append(ModelPoint(f"epoch-{index}", rate, values))
    return points


def explainer_for(classifier, train, name, running=None, **columns) -> Explainer:
    method = METHODS[name].varied(**columns)
    points = None
    if method.points == "checkpoints":
        points = checkpoints(classifier)
    elif method.points == "delta":
        points = DeltaFaithful(batch_size=3, learning_rate=1e-3)
    if method.curvature == "lissa":
        columns["curvature"] = Lissa(max_steps=STEPS, tolerance=0.0)
    return Explainer(classifier, train, name, points=points, **columns, **(running or {}))


def naive_scores(folder, explainer: Explainer, tests) -> np.ndarray:
    model, tokenizer = reference.load(folder)
    names = list(explainer.classifier.attributed)
    method, train = explainer.method, explainer.train
    label_id = explainer.classifier.label_id
    points = [
        (p.weight, {name: value.double() for name, value in p.parameters.items()})
        for p in explainer.points
    ]
    solve = None
    if method.curvature == "lissa":
        order = numpy_generator(explainer.seed, "lissa").integers(len(train), size=STEPS)
        solve = reference.lissa_solve(
            model,
            tokenizer,
            train,
            [label_id(e.label) for e in train],
            [[index] for index in order.tolist()],
            names,
        )
    units = units_of(train, method.units[1])
    return reference.scores(
        model,
        tokenizer,
        tests,
        units,
        points,
        units=method.units,
        target=method.target,
        contrast=method.contrast,
        locality=method.locality,
        scale=method.scale,
        weight=method.weight,
        parameters=names,
        test_labels=[int(i) for i in explainer.classifier.label_ids(tests, "predicted")],
        train_labels=[label_id(unit.example.label) for unit in units],
        solve=solve,
    )


def assert_close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-4) -> None:
    assert found.shape == expected.shape
    largest = np.abs(expected).max()
    assert largest > 0
    assert np.abs(found - expected).max() < tolerance * largest


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_on_every_architecture(tiny_folder, architecture, name):
    folder = tiny_folder(architecture)
    classifier = TextClassifier.load(folder)
    examples = tiny.make_examples(6, seed=1)
    explainer = explainer_for(classifier, examples[:4], name)
    assert_close(explainer.scores(examples[4:]), naive_scores(folder, explainer, examples[4:]))


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_points_that_are_taken_together(tiny_folder, architecture):
    folder = tiny_folder(architecture)
    examples = tiny.make_examples(6, seed=1)
    points = DeltaFaithful(batch_size=3, learning_rate=1e-5)
    classifier = TextClassifier.load(folder)
    explainer = Explainer(classifier, examples[:4], "tracin++", points=points)
    job = explainer.job_for(examples[4:])
    assert [len(visit.points) for visit in visits_of([job])] == [3]
    expected = naive_scores(folder, explainer, examples[4:])
    # In double precision; rounding in float32 alone leaves 1e-5 of these steep models on some processors.
    assert_close(explainer.scores(examples[4:]), expected, 3e-5)


def test_a_point_given_twice_counts_twice(classifier):
    examples = tiny.make_examples(6, seed=1)
    train, tests = examples[:4], examples[4:]
    point = Explainer(classifier, train, "faithful", label="given").points[0]
    once, twice = (
        Explainer(classifier, train, "faithful", points=points, label="given").scores(tests)
        for points in ([point], [point, point])
    )
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-6)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("architecture", ["bert", "albert", "deberta-v2"])
def test_unnamed_combinations_of_columns(tiny_folder, architecture, row):
    folder = tiny_folder(architecture)
    classifier = TextClassifier.load(folder)
    examples = tiny.make_examples(6, seed=2)
    explainer = explainer_for(classifier, examples[:4], "faithful", **ROWS[row])
    assert_close(explainer.scores(examples[4:]), naive_scores(folder, explainer, examples[4:]))


@pytest.mark.parametrize("attribute", ["head", "last-1", "all", "*.layer.1.output.*"])
@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_any_choice_of_attributed_parameters(tiny_folder, architecture, attribute):
    folder = tiny_folder(architecture)
    classifier = TextClassifier.load(folder, attribute=attribute)
    examples = tiny.make_examples(5, seed=3)
    for name in ("faithful", "if"):
        explainer = explainer_for(classifier, examples[:3], name)
        assert_close(explainer.scores(examples[3:]), naive_scores(folder, explainer, examples[3:]))


def test_examples_without_spans_are_covered_by_their_whole_text(tiny_folder):
    folder = tiny_folder("bert")
    classifier = TextClassifier.load(folder)
    examples = tiny.make_examples(5, seed=4)
    bare = [type(e)(e.text, e.label, e.context, (), e.id) for e in examples]
    explainer = explainer_for(classifier, [*bare[:2], *examples[2:4]], "faithful")
    assert [unit.spans == () for unit in explainer.train_units[:2]] == [True, True]
    tests = [bare[4], examples[4]]
    assert_close(explainer.scores(tests), naive_scores(folder, explainer, tests))
    assert "whole text" in explainer.explain(bare[4]).notes[0]


@pytest.mark.parametrize("name", ["tracin++", "pinpoint", "if++"])
def test_scores_do_not_depend_on_batches_order_or_memory(tiny_folder, name):
    classifier = TextClassifier.load(tiny_folder("roberta"))
    examples = tiny.make_examples(12, seed=5)
    train, tests = examples[:9], examples[9:]
    one = explainer_for(classifier, train, name, {"batch_tokens": 1}).scores(tests)
    many = explainer_for(classifier, train, name, {"batch_tokens": 100_000}).scores(tests)
    assert_close(one, many, 1e-5)
    size = sum(p.numel() for p in classifier.attributed.values()) * 4 * 3
    blocks = explainer_for(classifier, train, name, {"memory_bytes": size}).scores(tests)
    assert_close(blocks, many, 1e-5)
    if name == "pinpoint":  # the other two draw training instances by index
        back = explainer_for(classifier, train[::-1], name)
        columns = [
            back.train_units.index(u) for u in explainer_for(classifier, train, name).train_units
        ]
        assert_close(back.scores(tests[::-1])[::-1][:, columns], many, 1e-5)


def test_gradients_do_not_depend_on_neighbours_in_the_batch(tiny_folder):
    for architecture in tiny.ARCHITECTURES:
        classifier = TextClassifier.load(tiny_folder(architecture))
        examples = tiny.make_examples(32, seed=6)
        together = explainer_for(classifier, examples, "tracinf", {"batch_tokens": 100_000})
        alone = explainer_for(classifier, examples, "tracinf", {"batch_tokens": 1})
        assert_close(alone.scores(examples[:2]), together.scores(examples[:2]), 1e-5)


@pytest.mark.parametrize("method", ["pinpoint", "tracin++", "if++"])
def test_half_precision_ranks_alike(tiny_folder, method):
    train, tests = tiny.make_examples(24, seed=8), tiny.make_examples(3, seed=9)
    columns = {"curvature": "ggn", "damping": 1.0} if method == "if++" else {}
    scores = []
    for dtype in ("float32", "bfloat16"):
        classifier = TextClassifier.load(tiny_folder("bert"), dtype=dtype)
        scores.append(Explainer(classifier, train, method, label="given", **columns).scores(tests))
    assert np.isfinite(scores[1]).all()
    for full, half in zip(*scores, strict=True):
        assert spearmanr(full, half).statistic > 0.97
