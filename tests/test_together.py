"""Several methods in one pass: the same scores, fewer passes through the model."""

from __future__ import annotations

import numpy as np
import pytest
import tiny

from spanfluence import Explainer, TextClassifier, scores_together
from spanfluence.capture import Capture
from spanfluence.curvature.lissa import Lissa
from spanfluence.errors import InputError
from spanfluence.influence import Influence
from spanfluence.points import DeltaFaithful

TRAIN, TESTS = tiny.make_examples(14, seed=21), tiny.make_examples(3, seed=22)


@pytest.fixture
def classifier(tiny_folder):
    return TextClassifier.load(tiny_folder("bert"))


def passes(monkeypatch) -> list[int]:
    """Texts of every forward pass with gradients, as they happen."""
    seen: list[int] = []
    original = Capture.objectives

    def spy(self, inputs, states, of_logits):
        seen.append(len(inputs["input_ids"]))
        return original(self, inputs, states, of_logits)

    monkeypatch.setattr(Capture, "objectives", spy)
    return seen


@pytest.mark.parametrize(
    "methods",
    [
        ("tracinf", "tracin+", "tracin++"),
        ("faithful", "pinpoint"),
        ("tracin++", "pinpoint", "faithful"),
    ],
)
def test_together_as_alone(classifier, methods):
    first = Explainer(classifier, TRAIN, methods[0])
    group = [first, *(first.also(name) for name in methods[1:])]
    together = scores_together(group, TESTS)
    for explainer, scores in zip(group, together, strict=True):
        alone = Explainer(classifier, TRAIN, explainer.name).scores(TESTS)
        np.testing.assert_allclose(scores, alone, rtol=1e-4, atol=1e-5 * np.abs(alone).max())


def test_instances_and_spans_share_their_passes(classifier, monkeypatch):
    first = Explainer(classifier, TRAIN, "tracin++")
    second = first.also("tracin+")
    assert all(a is b for a, b in zip(first.points, second.points, strict=True))
    first.scores(TESTS[:1])  # examines the layers
    seen = passes(monkeypatch)
    scores_together([first, second], TESTS)
    both = sum(seen)
    seen.clear()
    first.scores(TESTS)
    second.scores(TESTS)
    assert both < 0.75 * sum(seen), "the training side of both is the same"


def solves(monkeypatch) -> list[int]:
    """Vectors of every LiSSA solve, as they happen."""
    seen: list[int] = []
    original = Lissa.solve

    def spy(self, problem, block):
        seen.append(len(block[0]))
        return original(self, problem, block)

    monkeypatch.setattr(Lissa, "solve", spy)
    return seen


def test_if_and_if_plus_share_one_solve(classifier, monkeypatch):
    few = Lissa(max_steps=3)
    first = Explainer(classifier, TRAIN, "if", curvature=few)
    group = [first, first.also("if+", curvature=few), first.also("if++", curvature=few)]
    seen = solves(monkeypatch)
    scores_together(group[:2], TESTS)
    assert seen == [3]
    seen.clear()
    scores_together(group, TESTS)
    assert seen == [3, 3]


@pytest.mark.parametrize(("second", "blocks"), [("tracin+", 1), ("tracin++", 3)])
def test_memory_is_counted_by_test_sides(classifier, monkeypatch, second, blocks):
    """tracinf and tracin+ differ on the training side alone: together they need no more memory."""
    own = sum(4 * parameter.numel() for parameter in classifier.attributed.values())
    near = DeltaFaithful(batch_size=5, learning_rate=1e-6)  # taken together: one visit
    first = Explainer(classifier, TRAIN, "tracinf", memory_bytes=3 * own, points=near)
    seen = []
    original = Influence._test_sides

    def spy(self, jobs, visit, block, *others):
        seen.append(len(block))
        return original(self, jobs, visit, block, *others)

    monkeypatch.setattr(Influence, "_test_sides", spy)
    scores_together([first, first.also(second, points=near)], TESTS)
    assert len(seen) == blocks


def test_other_labels_of_the_same_tests_are_another_side(classifier):
    first = Explainer(classifier, TRAIN, "faithful", label="given")
    second = first.also("faithful", label="predicted")
    together = scores_together([first, second], TESTS)
    for explainer, scores in zip((first, second), together, strict=True):
        np.testing.assert_allclose(scores, explainer.scores(TESTS), rtol=1e-4, atol=1e-6)


def test_locality_drops_rows_and_work(classifier):
    """Only the span's rows enter the products of a layer that sees every token."""
    explainer = Explainer(classifier, TRAIN, "pinpoint", label="given")
    from spanfluence.batches import UnitBatches

    job = explainer.job_for(TESTS)
    wide = Explainer(classifier, TRAIN, "pinpoint", locality="text", label="given").job_for(TESTS)
    rows = []
    for side in (job.train, wide.train):
        batch = next(iter(UnitBatches(classifier, [side])))
        layers = batch.gradients(explainer.capture, [0])[0].layers
        rows.append(max(layer.row_count for layer in layers if hasattr(layer, "row_count")))
    assert rows[0] < 0.6 * rows[1]


def test_strangers_cannot_run_together(classifier):
    strangers = [Explainer(classifier, TRAIN, name) for name in ("faithful", "pinpoint")]
    with pytest.raises(InputError, match="made from each other"):
        scores_together(strangers, TESTS)


def test_no_tests_give_no_rows(classifier):
    [scores] = scores_together([Explainer(classifier, TRAIN)], [])
    assert scores.shape[0] == 0


def test_a_budget_below_one_test_is_an_error(classifier):
    explainer = Explainer(classifier, TRAIN, "tracin++", memory_bytes=1000)
    with pytest.raises(InputError, match="more than the budget"):
        explainer.scores(TESTS)
