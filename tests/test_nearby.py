"""Points that are taken together: the same scores as point by point, or no togetherness."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tiny
import torch

from spanfluence import Explainer, ModelPoint, TextClassifier, jobs, scores_together
from spanfluence import influence as engine
from spanfluence.errors import NumericsError
from spanfluence.gradients import DenseGradient, EmbeddingGradient, MatrixGradient, Rows
from spanfluence.head_gradients import HeadGradient
from spanfluence.jobs import visits_of
from spanfluence.nearby import REACH, Sample, TooFarError, check, mean_gradient, shares, some_units
from spanfluence.points import DeltaFaithful

TRAIN, TESTS = tiny.make_examples(24, seed=31), tiny.make_examples(4, seed=32)
NEAR = DeltaFaithful(batch_size=5, learning_rate=1e-5)  # the gradients of tiny models are steep


def delta(classifier: TextClassifier, method: str = "tracin++", **options: object) -> Explainer:
    return Explainer(classifier, TRAIN, method, points=NEAR, label="given", **options)


def point_by_point(monkeypatch, explainer: Explainer) -> np.ndarray:
    with monkeypatch.context() as patched:
        patched.setattr(jobs, "worth_trying", lambda points: False)
        return explainer.scores(TESTS)


def visits(monkeypatch) -> list[int]:
    """Points of every visit whose test side was made, as it happens."""
    seen: list[int] = []
    original = engine.Influence._test_sides

    def spy(self, jobs, visit, *others):
        seen.append(len(visit.points))
        return original(self, jobs, visit, *others)

    monkeypatch.setattr(engine.Influence, "_test_sides", spy)
    return seen


@pytest.mark.parametrize("method", ["tracin++", "tracin+", "tracinf"])
@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_near_points_stand_together(tiny_folder, monkeypatch, architecture, method):
    explainer = delta(TextClassifier.load(tiny_folder(architecture)), method, batch_tokens=64)
    apart = point_by_point(monkeypatch, explainer)
    seen = visits(monkeypatch)
    np.testing.assert_allclose(explainer.scores(TESTS), apart, atol=1e-5 * np.abs(apart).max())
    assert seen == [3]


@pytest.mark.parametrize("attribute", ["all", "head", "last-1"])
def test_whatever_is_attributed(tiny_folder, monkeypatch, attribute):
    explainer = delta(TextClassifier.load(tiny_folder("bert"), attribute=attribute))
    apart = point_by_point(monkeypatch, explainer)
    np.testing.assert_allclose(explainer.scores(TESTS), apart, atol=1e-5 * np.abs(apart).max())


def test_weights_of_near_points_count(classifier, monkeypatch):
    given = [
        ModelPoint(p.name, 1.0 + 2 * n, p.parameters)
        for n, p in enumerate(delta(classifier).points)
    ]
    explainer = Explainer(classifier, TRAIN, "tracin++", points=given, label="given")
    apart = point_by_point(monkeypatch, explainer)
    seen = visits(monkeypatch)
    found = explainer.scores(TESTS)
    assert seen == [3]
    np.testing.assert_allclose(found, apart, atol=1e-5 * np.abs(apart).max())
    once = Explainer(classifier, TRAIN, "tracin++", points=given[:1], label="given").scores(TESTS)
    np.testing.assert_allclose(found, 9 * once, atol=0.05 * np.abs(found).max())


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("tracin++", {"scale": "cosine"}),
        ("tracin++", {"weight": "importance"}),
        ("tracin++", {"curvature": "ggn"}),
        (
            "tracin++",
            {"points": DeltaFaithful(batch_size=5, optimizer="adamw", learning_rate=1e-3)},
        ),
        ("tracin++", {"points": "final"}),
    ],
)
def test_what_is_no_plain_sum_over_near_points_goes_point_by_point(classifier, method, options):
    explainer = Explainer(classifier, TRAIN, method, label="given", **{"points": NEAR, **options})
    found = visits_of([explainer.job_for(TESTS)])
    assert [len(visit.points) for visit in found] == [1] * len(explainer.points)


def test_methods_over_the_same_points_share_visits(classifier):
    first = delta(classifier)
    plain, cosine = (
        first.also("tracin+", points=NEAR),
        first.also("tracin++", points=NEAR, scale="cosine"),
    )
    asked = [each.job_for(TESTS) for each in (first, plain, cosine)]
    assert [visit.jobs for visit in visits_of(asked[:2])] == [[(0, 0), (1, 0)]]
    mixed = visits_of(asked)
    assert [len(visit.points) for visit in mixed] == [1, 1, 1]
    assert all([number for number, _ in visit.jobs] == [0, 1, 2] for visit in mixed)
    for explainer, scores in zip(
        (first, cosine), scores_together([first, cosine], TESTS), strict=True
    ):
        np.testing.assert_allclose(
            scores, explainer.scores(TESTS), atol=1e-5 * np.abs(scores).max()
        )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("good_checks", [0, 1, 4])
def test_points_that_turn_out_too_far_are_taken_apart(
    tiny_folder, two_threads, monkeypatch, good_checks, threads
):
    torch.set_num_threads(threads)
    explainer = delta(TextClassifier.load(tiny_folder("bert")), batch_tokens=64)
    apart = point_by_point(monkeypatch, explainer)
    checks: list[int] = []

    def failing(points, tests, train):
        checks.append(len(points))
        if len(checks) > good_checks:
            raise TooFarError

    monkeypatch.setattr(engine, "check", failing)
    seen, told = visits(monkeypatch), []
    found = explainer.scores(TESTS, advance=told.append)
    np.testing.assert_array_equal(found, apart)
    assert seen == [3, 1, 1, 1]
    assert sum(told) == len(explainer.train_units)
    assert min(told) > 0


def test_points_near_in_parameters_but_not_in_gradients_are_found_out(classifier, monkeypatch):
    points = DeltaFaithful(batch_size=5, learning_rate=1e-4)
    explainer = Explainer(classifier, TRAIN, "tracin++", points=points, label="given")
    assert all(0 < point.distance < REACH for point in explainer.points)
    apart = point_by_point(monkeypatch, explainer)
    seen = visits(monkeypatch)
    np.testing.assert_array_equal(explainer.scores(TESTS), apart)
    assert seen == [3, 1, 1, 1]


def test_numbers_that_are_none_are_told_by_example(classifier):
    explainer = delta(classifier)
    for point in explainer.points:
        next(iter(point.parameters.values())).fill_(torch.nan)
    with pytest.raises(NumericsError, match=r"example .32-0.*not finite"):
        explainer.scores(TESTS)


def gradients(kind: str, seed: int, step: float) -> list:
    """One layer at three points, `step` apart."""
    generator = torch.Generator().manual_seed(seed)

    def near(*shape: int) -> list[torch.Tensor]:
        base = torch.randn(shape, generator=generator, dtype=torch.float64)
        moves = [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(3)]
        return [base + step * move for move in moves]

    outputs, inputs = near(5, 4, 3), near(5, 4, 2)
    if kind == "matrix":
        return [MatrixGradient((Rows(a, d),)) for a, d in zip(inputs, outputs, strict=True)]
    if kind == "head":
        pairs = zip(near(6, 5, 2, 3), near(6, 5, 2, 4), strict=True)
        return [HeadGradient(a, d) for a, d in pairs]
    if kind == "embedding":
        ids = torch.randint(0, 7, (5, 4), generator=generator)
        return [EmbeddingGradient(ids, d, 7) for d in outputs]
    return [DenseGradient(values) for values in near(5, 11)]


SHARES = [0.5, 0.3, 0.2]


def off(kind: str, step: float) -> float:
    layers = gradients(kind, 1, step)
    expected = sum(s * layer.dense() for s, layer in zip(SHARES, layers, strict=True))
    return float((mean_gradient(layers, SHARES).dense() - expected).abs().max())


@pytest.mark.parametrize("kind", ["head", "embedding", "dense"])
def test_the_mean_of_most_layers_is_exact(kind):
    assert off(kind, 0.3) < 1e-12


def test_mean_rows_are_off_in_second_order():
    assert off("matrix", 1e-2) < 1e-3
    assert off("matrix", 1e-3) == pytest.approx(off("matrix", 1e-2) / 100, rel=1e-6)


def test_rows_that_differ_in_number_or_kind_are_too_far():
    [first, *_] = gradients("matrix", 1, 0.0)
    shorter = MatrixGradient((Rows(first.parts[0].inputs[:, :3], first.parts[0].outputs[:, :3]),))
    for other in (shorter, DenseGradient(first.dense()), gradients("head", 1, 0.0)[0]):
        with pytest.raises(TooFarError):
            mean_gradient([first, other], [0.5, 0.5])


@pytest.mark.parametrize("kind", ["matrix", "head", "embedding", "dense"])
def test_some_units_are_the_first_and_keep_no_batch(kind):
    [layer, *_] = gradients(kind, 1, 0.0)
    some = some_units(layer)
    torch.testing.assert_close(some.dense(), layer.dense()[:2])
    held = {id(t.untyped_storage()) for t in vars(layer).values() if isinstance(t, torch.Tensor)}
    assert not held & {
        id(t.untyped_storage()) for t in vars(some).values() if isinstance(t, torch.Tensor)
    }


@pytest.mark.parametrize("kind", ["matrix", "head", "embedding", "dense"])
def test_samples_are_in_double_precision(kind):
    layers = [_as_float32(layer) for layer in gradients(kind, 1, 0.0)]
    sample = Sample.of([[layer] for layer in layers], SHARES)
    for own in (*sample.each, sample.mean):
        assert own[0].dense().dtype == torch.float64


def _as_float32(layer):
    if isinstance(layer, MatrixGradient):
        return replace(layer, parts=tuple(Rows(*(s.float() for s in part)) for part in layer.parts))
    found = {
        name: value.float()
        for name, value in vars(layer).items()
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    }
    return replace(layer, **found)


def test_spans_that_hardly_matter_do_not_part_the_points():
    """Their gradients are differences of nearly equal ones: in float32 what is left of a product is rounding."""
    generator = torch.Generator().manual_seed(0)
    whole, change = torch.randn(2, 2, 30, 8, generator=generator)
    inputs = torch.randn(2, 60, 4, generator=generator)
    inputs[:, 30:] = inputs[:, :30]
    each = []
    for move in (1.0, 1.0 + 1e-5, 1.0 - 2e-5):
        outputs = torch.cat([move * (whole + 1e-3 * change), -move * whole], 1)
        each.append([MatrixGradient((Rows(inputs, outputs),))])
    points = [ModelPoint(f"p{n}", 1.0, {}) for n in range(3)]
    sample = Sample.of(each, shares(points))
    check(points, sample, sample)
    rounded = Sample(each, [mean_gradient([layers[0] for layers in each], shares(points))])
    with pytest.raises(TooFarError):
        check(points, rounded, rounded)
