"""Gauss-Newton operators against dense closed forms on tiny models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import reference_curvature
import tiny
import torch
from scipy.stats import spearmanr
from torch import Tensor

from spanfluence import METHODS, Cg, Ekfac, Explainer, Ggn, TextClassifier, scores_together
from spanfluence.capture import Capture
from spanfluence.curvature import Spent
from spanfluence.curvature.problem import TrainingProblem, curvature_directions, operator_at
from spanfluence.errors import InputError, NumericsError
from spanfluence.loading import load_parts
from spanfluence.points import final_point

FAMILIES = ("bert", "distilbert", "deberta-v2", "albert", "electra")


def randn(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class Case:
    """A tiny classifier in double precision, its training problem, and its curvature written out."""

    def __init__(self, folder, attribute: str, instances: int = 5) -> None:
        model, tokenizer = load_parts(folder)
        self.classifier = TextClassifier(model.double(), tokenizer, attribute=attribute)
        self.train = tiny.make_examples(instances, seed=1)
        self.problem = TrainingProblem(self.classifier, self.train, Capture(self.classifier))
        self.point = final_point(self.classifier)[0]
        self.names = [name for own in self.problem.capture.parameter_names for name in own]
        self.sizes = [
            sum(self.classifier.attributed[name].numel() for name in own)
            for own in self.problem.capture.parameter_names
        ]
        self.rows = reference_curvature.gauss_newton_rows(model, tokenizer, self.train, self.names)

    def block(self, seed: int, tests: int = 3) -> list[Tensor]:
        return list(randn(seed, tests, sum(self.sizes)).split(self.sizes, 1))

    def solved(self, settings, block: list[Tensor]) -> Tensor:
        return torch.cat(operator_at(settings, self.problem, self.point).solve(block), 1)

    def matrix(self) -> Tensor:
        return self.rows.T @ self.rows / len(self.train)

    def closed_form(self, block: list[Tensor], damping: float) -> Tensor:
        damped = self.matrix() + damping * torch.eye(sum(self.sizes), dtype=torch.float64)
        return torch.linalg.solve(damped, torch.cat(block, 1).T).T


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("attribute", ["last-1", "head"])
@pytest.mark.parametrize("damping", [1e-3, 1.0])
def test_ggn_is_the_damped_matrix_inverted(tiny_folder, family, attribute, damping):
    case = Case(tiny_folder(family), attribute)
    block = case.block(7)
    found = case.solved(Ggn(damping=damping), block)
    torch.testing.assert_close(found, case.closed_form(block, damping), rtol=1e-6, atol=1e-8)


def test_a_spent_block_gives_the_same_and_any_other_is_left_as_it_was(tiny_folder):
    case = Case(tiny_folder("bert"), "last-1")
    block = case.block(7)
    found, spent = case.solved(Ggn(damping=0.1), block), Spent(part.clone() for part in block)
    for part, before in zip(block, case.block(7), strict=True):
        assert torch.equal(part, before)
    torch.testing.assert_close(case.solved(Ggn(damping=0.1), spent), found)


@pytest.mark.parametrize("damping", [1e-2, 1.0])
def test_conjugate_gradients_meet_the_same_solution(tiny_folder, damping):
    case = Case(tiny_folder("bert"), "last-1")
    block = case.block(8)
    block = [
        torch.cat([part, torch.zeros_like(part[:1])]) for part in block
    ]  # one test without gradient
    found = case.solved(Cg(damping=damping, tolerance=1e-8), block)
    expected = case.closed_form(block, damping)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)
    assert not found[-1].any()


def test_conjugate_gradients_that_do_not_converge_say_what_to_try(tiny_folder):
    case = Case(tiny_folder("bert"), "last-1")
    with pytest.raises(NumericsError) as caught:
        case.solved(Cg(damping=1e-6, max_steps=2), case.block(9))
    assert "did not converge in 2 steps with damping 1e-06" in str(caught.value)
    assert "try damping=0.0001, or curvature 'ggn'" in str(caught.value)


@pytest.mark.parametrize("family", ["bert", "electra"])
@pytest.mark.parametrize("damping", [1e-2, 1.0])
def test_ekfac_divides_by_the_eigenvalues_in_its_basis(tiny_folder, family, damping):
    case = Case(tiny_folder(family), "head", instances=4)
    block = case.block(10)
    found = case.solved(Ekfac(damping=damping), block)
    model, tokenizer = load_parts(tiny_folder(family))
    expected = reference_curvature.ekfac_solve(
        model.double(),
        tokenizer,
        case.train,
        case.problem.capture.parameter_names,
        torch.cat(block, 1),
        damping,
    )
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8)


def test_ekfac_is_exact_for_one_instance_seen_through_one_position(tiny_folder):
    """One row per layer and class direction, layers apart: the Kronecker basis then diagonalises G."""
    case = Case(tiny_folder("bert"), "classifier.*", instances=1)
    block = case.block(11)
    found = case.solved(Ekfac(damping=0.1), block)
    torch.testing.assert_close(found, case.closed_form(block, 0.1), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("settings", [Ggn(), Cg(max_steps=2000), Ekfac()])
def test_auto_is_a_tenth_of_the_mean_eigenvalue(tiny_folder, settings):
    case = Case(tiny_folder("bert"), "last-1")
    operator = operator_at(settings, case.problem, case.point)
    expected = 0.1 * float(torch.trace(case.matrix())) / sum(case.sizes)
    assert operator.damping == pytest.approx(expected, rel=1e-9)


def test_the_sample_is_seeded_and_no_larger_than_asked_for(tiny_folder):
    case = Case(tiny_folder("bert"), "head", instances=12)
    first, same, other = (case.problem.rows(case.point, 4, seed) for seed in (0, 0, 1))
    assert first.instances == 4
    assert first.count == 4 * (len(case.classifier.labels) - 1)
    torch.testing.assert_close(first.gram(), same.gram())
    assert not torch.allclose(first.gram(), other.gram())
    assert case.problem.rows(case.point, 100, 0).instances == 12


def test_directions_make_up_the_curvature_of_the_softmax():
    logits = randn(12, 6, 4).requires_grad_()
    directions = curvature_directions(logits)
    assert len(directions) == 3
    rows = torch.stack([torch.autograd.grad(d.sum(), logits)[0] for d in directions])
    p = torch.softmax(logits.detach(), 1)
    for text in range(6):
        expected = torch.diag(p[text]) - torch.outer(p[text], p[text])
        torch.testing.assert_close(rows[:, text].T @ rows[:, text], expected)


@pytest.mark.parametrize("name", ["ggn", "cg", "ekfac"])
@pytest.mark.parametrize("method", ["if", "if+", "if++"])
def test_a_large_lambda_leaves_the_inner_product(tiny_folder, name, method):
    """lambda (C + lambda I)^-1 tends to I: `if*` tends to `tracin*` at the final point."""
    classifier = TextClassifier.load(tiny_folder("bert"))
    train, tests = tiny.make_examples(12, seed=3), tiny.make_examples(3, seed=4)
    plain = Explainer(classifier, train, "faithful", units=METHODS[method].units).scores(tests)
    gaps = []
    for damping in (1e0, 1e5, 1e8):
        explainer = Explainer(classifier, train, method, curvature=name, damping=damping)
        found = damping * explainer.scores(tests)
        gaps.append(np.abs(found - plain).max() / np.abs(plain).max())
        rank = spearmanr(found.ravel(), plain.ravel()).statistic
    assert gaps[0] > 0.1 > gaps[1] > gaps[2]
    assert gaps[2] < 1e-3
    assert rank > 0.9999


def test_explainers_share_a_solve(tiny_folder, monkeypatch):
    classifier = TextClassifier.load(tiny_folder("bert"))
    train, tests = tiny.make_examples(8, seed=3), tiny.make_examples(2, seed=4)
    first = Explainer(classifier, train, "if", curvature="ggn", damping=1.0)
    second = first.also("if+", curvature="ggn", damping=1.0)
    solves = []
    original = type(first._operators()[0]).solve
    monkeypatch.setattr(
        type(first._operators()[0]), "solve", lambda s, b: solves.append(1) or original(s, b)
    )
    together = scores_together([first, second], tests)
    assert solves == [1]
    for explainer, scores in zip((first, second), together, strict=True):
        np.testing.assert_allclose(explainer.scores(tests), scores, rtol=1e-4, atol=1e-6)


def test_an_auto_damping_stands_in_the_settings(tiny_folder):
    classifier = TextClassifier.load(tiny_folder("bert"))
    explainer = Explainer(classifier, tiny.make_examples(8, seed=3), "if++", curvature="ggn")
    [damping] = explainer.settings["damping"]
    assert damping > 0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Ggn(damping=0.0), "damping=0.0 leaves a singular system"),
        (lambda: Ggn(damping="foo"), "damping='foo' leaves a singular system"),
        (lambda: Ekfac(damping=-1.0), "damping=-1.0 leaves a singular system"),
        (lambda: Cg(damping=float("nan")), "damping=nan leaves a singular system"),
        (lambda: Ggn(sample=0), "sample=0 must be at least 1"),
        (lambda: Ekfac(sample=0), "sample=0 must be at least 1"),
        (lambda: Cg(max_steps=0), "Cg("),
    ],
)
def test_settings_that_cannot_be(make, says):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("name", ["ggn", "ekfac", "cg"])
def test_a_model_without_curvature_needs_a_damping(tiny_folder, name):
    """A head so sure of itself that its probabilities are 0 and 1 leaves nothing to invert."""
    classifier = TextClassifier.load(tiny_folder("bert"))
    with torch.no_grad():
        classifier.attributed["classifier.weight"].mul_(1e6)
    train, tests = tiny.make_examples(8, seed=3), tiny.make_examples(2, seed=4)
    with pytest.raises(NumericsError, match="mean eigenvalue 0: give damping= as a number"):
        Explainer(classifier, train, "if++", curvature=name).scores(tests)


def test_a_damping_below_rounding_is_singular(tiny_folder):
    classifier = TextClassifier.load(tiny_folder("bert"))
    train = tiny.make_examples(4, seed=3)
    again = [replace(example, id=f"again {example.id}") for example in train]
    explainer = Explainer(classifier, [*train, *again], "if++", curvature="ggn", damping=1e-30)
    with pytest.raises(NumericsError, match="damping 1e-30 is singular in double precision: try"):
        explainer.scores(tiny.make_examples(2, seed=4))


def test_lissa_has_no_automatic_damping(tiny_folder):
    classifier = TextClassifier.load(tiny_folder("bert"))
    with pytest.raises(InputError, match="damping='auto' needs a Gauss-Newton curvature"):
        Explainer(classifier, tiny.make_examples(3, seed=3), "if", damping="auto")
