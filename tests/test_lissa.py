"""LiSSA on problems whose Hessian is known: its fixed point, its clamp, its stop, its failure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import tiny
import torch
from torch import Tensor

from spanfluence import Lissa, TextClassifier
from spanfluence.capture import Capture, owned
from spanfluence.curvature import hessian
from spanfluence.curvature.problem import LissaOperator, TrainingProblem
from spanfluence.curvature.product import Product, Sides
from spanfluence.errors import InputError, NumericsError
from spanfluence.loading import load_parts
from spanfluence.points import final_point


def randn(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class Toy:
    """A training set whose parameters are its layers; products by two plain backward passes."""

    @contextmanager
    def hessian(self, index: int) -> Iterator[ToyHessian]:
        yield ToyHessian(self, index)


class ToyHessian:
    """Products of one instance, two vectors at a time."""

    def __init__(self, problem: Toy, index: int) -> None:
        self.problem, self.index = problem, index

    def runs(self, block: list[Tensor], workers: int) -> list[slice]:
        return [slice(first, first + 2) for first in range(0, len(block[0]), 2)]

    def products(self, block: list[Tensor]) -> list[Product]:
        leaves = list(self.problem.parameters.values())[: len(block)]
        vectors = [part.view(-1, *p.shape) for part, p in zip(block, leaves, strict=True)]
        loss = self.problem.loss(self.index)
        first = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
        used = [(g, v) for g, v in zip(first, vectors, strict=True) if g is not None]
        second = torch.autograd.grad(
            [g for g, _ in used],
            leaves,
            [v for _, v in used],
            is_grads_batched=True,
            allow_unused=True,
        )
        zeros = (
            torch.zeros_like(v) if s is None else s for s, v in zip(second, vectors, strict=True)
        )
        return [Product((), part.detach().flatten(1)) for part in zeros]


def solve(operator: Lissa, problem: Toy, vectors: dict[str, Tensor]) -> dict[str, Tensor]:
    """`Lissa.solve` between named parameters and flattened layers."""
    solved = operator.solve(problem, [part.flatten(1) for part in vectors.values()])
    return {n: s.view(part.shape) for (n, part), s in zip(vectors.items(), solved, strict=True)}


class Quadratic(Toy):
    """Every instance has the loss 1/2 x'Hx over the parameters a (2) and b (2, 2) laid end to end."""

    def __init__(self, hessian: Tensor, instances: int = 3) -> None:
        self.matrix, self.instances = hessian, instances
        self.parameters = {
            "a": randn(1, 2).requires_grad_(),
            "b": randn(2, 2, 2).requires_grad_(),
        }

    def __len__(self) -> int:
        return self.instances

    def loss(self, index: int) -> Tensor:
        x = torch.cat([self.parameters["a"], self.parameters["b"].flatten()])
        return x @ self.matrix @ x / 2


class Logistic(Toy):
    """Cross-entropy of a softmax regression; `labels` decide nothing about the Hessian."""

    def __init__(self, instances: int = 6) -> None:
        self.inputs = randn(3, instances, 4)
        self.parameters = {
            "weight": randn(4, 3, 4).requires_grad_(),
            "bias": randn(5, 3).requires_grad_(),
            "unused": randn(6, 2).requires_grad_(),
        }

    def __len__(self) -> int:
        return len(self.inputs)

    def loss(self, index: int) -> Tensor:
        logits = self.parameters["weight"] @ self.inputs[index] + self.parameters["bias"]
        return torch.logsumexp(logits, 0) - logits[index % 3]

    def closed_hessian(self, index: int) -> Tensor:
        """(diag(p) - pp') kron (x, 1)(x, 1)' over [weight row by row, bias], in closed form."""
        weight, bias = self.parameters["weight"].detach(), self.parameters["bias"].detach()
        p = torch.softmax(weight @ self.inputs[index] + bias, 0)
        within = torch.diag(p) - torch.outer(p, p)
        x = self.inputs[index]
        return torch.cat(
            [
                torch.cat(
                    [torch.kron(within, torch.outer(x, x)), torch.kron(within, x[:, None])], 1
                ),
                torch.cat([torch.kron(within, x[None]), within], 1),
            ]
        )


def spectrum(*eigenvalues: float) -> Tensor:
    basis, _ = torch.linalg.qr(randn(9, len(eigenvalues), len(eigenvalues)))
    return basis @ torch.diag(torch.tensor(eigenvalues, dtype=torch.float64)) @ basis.T


def block(seed: int, count: int) -> dict[str, Tensor]:
    return {"a": randn(seed, count, 2), "b": randn(seed + 1, count, 2, 2)}


def flat(parts: dict[str, Tensor]) -> Tensor:
    return torch.cat([part.flatten(1) for part in parts.values()], 1)


def closed_form(hessian: Tensor, damping: float, vectors: Tensor) -> Tensor:
    damped = hessian + damping * torch.eye(len(hessian), dtype=torch.float64)
    return torch.linalg.solve(damped, vectors.T).T


@pytest.mark.parametrize(
    ("damping", "scale", "steps"), [(2.5, 0.004, 1800), (2.0, 0.02, 600), (10.0, 0.05, 100)]
)
def test_the_fixed_point_on_a_quadratic(damping, scale, steps):
    hessian = spectrum(0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
    vectors = block(20, 3)
    operator = Lissa(damping=damping, scale=scale, clamp=1e9, max_steps=steps, tolerance=0.0)
    solved = solve(operator, Quadratic(hessian), vectors)
    assert {name: part.shape for name, part in solved.items()} == {"a": (3, 2), "b": (3, 2, 2)}
    expected = closed_form(hessian, damping, flat(vectors))
    torch.testing.assert_close(flat(solved), expected, rtol=1e-7, atol=1e-9)


def test_an_indefinite_hessian_needs_damping_above_its_least_eigenvalue():
    hessian = spectrum(-2.0, -1.0, 0.0, 1.0, 5.0, 9.0)
    vectors = block(30, 2)
    settings = {"scale": 0.02, "clamp": 1e9, "max_steps": 1500, "tolerance": 0.0}
    solved = solve(Lissa(damping=3.0, **settings), Quadratic(hessian), vectors)
    expected = closed_form(hessian, 3.0, flat(vectors))
    torch.testing.assert_close(flat(solved), expected, rtol=1e-9, atol=1e-12)


def test_softmax_regression_one_instance():
    """With a single instance H_k = H: the closed form of the cross-entropy's Hessian is met."""
    problem = Logistic(instances=1)
    vectors = {"weight": randn(40, 2, 3, 4), "bias": randn(41, 2, 3)}
    operator = Lissa(damping=1.0, scale=0.05, max_steps=600, tolerance=0.0)
    solved = solve(operator, problem, vectors)
    expected = closed_form(problem.closed_hessian(0), 1.0, flat(vectors))
    torch.testing.assert_close(flat(solved), expected, rtol=1e-9, atol=1e-12)


def test_softmax_regression_many_instances_converges_to_the_mean_hessian():
    """Steps by single instances wander around the solution of their mean, less for a smaller scale."""
    problem = Logistic()
    mean = torch.stack([problem.closed_hessian(index) for index in range(6)]).mean(0)
    vectors = {"weight": randn(50, 2, 3, 4), "bias": randn(51, 2, 3)}
    expected = closed_form(mean, 1.0, flat(vectors))
    errors = []
    for scale, steps in ((0.1, 100), (0.005, 1500)):
        operator = Lissa(damping=1.0, scale=scale, max_steps=steps, tolerance=0.0)
        found = flat(solve(operator, problem, vectors))
        errors.append(float((found - expected).norm() / expected.norm()))
    assert errors[1] < 0.05
    assert errors[1] < errors[0] / 2


def test_the_clamp_bounds_every_entry_of_a_product():
    """One step from h = v: scale * (v + (1 - damp) v - scale * clamp(Hv)), entry by entry."""
    hessian = spectrum(1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
    vectors = block(60, 2)
    raw = flat(vectors) @ hessian
    assert raw.abs().max() > 50.0 > raw.abs().min()
    solved = flat(solve(Lissa(clamp=50.0, max_steps=1), Quadratic(hessian), vectors))
    expected = 0.004 * ((2 - 0.01) * flat(vectors) - 0.004 * raw.clamp(-50.0, 50.0))
    torch.testing.assert_close(solved, expected)
    free = flat(solve(Lissa(clamp=1e9, max_steps=1), Quadratic(hessian), vectors))
    assert not torch.allclose(free, solved)


def test_a_vector_is_solved_the_same_alone_and_in_a_block():
    problem, vectors = Logistic(), {"weight": randn(70, 5, 3, 4), "bias": randn(71, 5, 3)}
    operator = Lissa(damping=1.0, scale=0.02, max_steps=200)  # the tolerance stops some early
    together = solve(operator, problem, vectors)
    for row in range(5):
        alone = solve(operator, problem, {n: part[row : row + 1] for n, part in vectors.items()})
        for name, part in alone.items():
            torch.testing.assert_close(part[0], together[name][row], rtol=1e-12, atol=0)


def test_it_stops_when_the_norm_has_settled():
    calls = []

    class Counting(Quadratic):
        def loss(self, index):
            calls.append(index)
            return super().loss(index)

    hessian = spectrum(5.0, 5.0, 10.0, 10.0, 20.0, 20.0)
    solve(Lissa(scale=0.05, max_steps=1000, tolerance=1e-3), Counting(hessian), block(80, 2))
    assert 40 <= len(calls) < 200
    calls.clear()
    solve(Lissa(scale=0.05, max_steps=70, tolerance=0.0), Counting(hessian), block(80, 2))
    assert len(calls) == 70
    assert set(calls) == {0, 1, 2}


def test_the_order_of_instances_comes_from_the_seed():
    problem, vectors = Logistic(), {"weight": randn(90, 1, 3, 4), "bias": randn(91, 1, 3)}
    first, same, other = (
        flat(solve(Lissa(damping=1.0, scale=0.05, max_steps=50, seed=seed), problem, vectors))
        for seed in (1, 1, 2)
    )
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_a_clamp_that_hides_divergence_is_told():
    """With an eigenvalue of -900 the recursion grows until the clamp holds it, at no solution."""
    vectors = block(3, 2)
    with pytest.warns(UserWarning, match=r"needed its clamp of 100 in \d+% of its steps"):
        found = solve(Lissa(), Quadratic(spectrum(-900, 1, 1, 1, 1, 1)), vectors)
    assert torch.isfinite(flat(found)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = {name: 0.01 * part for name, part in vectors.items()}
        solve(Lissa(), Quadratic(spectrum(1, 1, 1, 1, 1, 1)), small)


def test_divergence_is_an_error_that_names_a_damping():
    hessian = spectrum(-900.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    vectors = block(100, 1)
    with pytest.raises(NumericsError) as caught:
        solve(Lissa(clamp=float("inf"), max_steps=1000), Quadratic(hessian), vectors)
    assert "LiSSA diverged at step" in str(caught.value)
    assert "with damping 2.5: try damping=25" in str(caught.value)


@pytest.mark.parametrize(
    "settings", [{"damping": -1.0}, {"scale": 0.0}, {"max_steps": 0}, {"damping": float("nan")}]
)
def test_settings_that_cannot_be(settings):
    with pytest.raises(
        InputError, match="damping must not be negative, scale and max_steps positive"
    ):
        Lissa(**settings)


def test_a_damping_that_cannot_converge_is_refused_at_once():
    """More damping would only diverge faster: |1 - damping * scale| > 1."""
    with pytest.raises(InputError) as caught:
        Lissa(damping=1000.0)
    assert "damping=1000 cannot converge with scale 0.004" in str(caught.value)
    assert "use a damping below 250" in str(caught.value)
    assert Lissa(damping=1000.0, scale=0.001).damping == 1000.0


@pytest.mark.parametrize("clamp", [100.0, 0.05])
def test_tests_in_runs_are_those_at_once(tiny_folder, monkeypatch, clamp):
    """Whether products are clamped or not, and however many vectors the cache holds."""
    classifier = TextClassifier.load(tiny_folder("bert"))
    problem = TrainingProblem(classifier, tiny.make_examples(4, seed=1), Capture(classifier))
    sizes = [sum(classifier.attributed[n].numel() for n in names)
             for names in problem.capture.parameter_names]  # fmt: skip
    vectors = [randn(number, 5, size).float() for number, size in enumerate(sizes)]
    settings = Lissa(max_steps=3, clamp=clamp)
    whole = settings.solve(problem, vectors)
    monkeypatch.setattr(hessian, "CACHE_BYTES", 8 * max(sizes))
    monkeypatch.setattr(hessian, "PASS_BYTES", 1)
    with problem.hessian(0) as one:
        assert [run.stop for run in one.runs(vectors, workers=2)] == [1, 2, 3, 4, 5]
    assert [few.stop for few in hessian.few_at_a_time(max(vectors, key=torch.numel))] == [2, 4, 6]
    for mine, expected in zip(settings.solve(problem, vectors), whole, strict=True):
        torch.testing.assert_close(mine, expected)


def test_the_bound_is_not_that_of_all_elements_together():
    """A product of many small elements needs no clamp: each has a bound of its own rows and columns."""
    product = Product(((Sides(torch.ones(2, 1, 30), torch.ones(1, 40)),),), None)
    assert product.bound() == 1.0
    assert Product((), None).bound() == 0.0


# --- Hessian products --------------------------------------------------------------------------------


@pytest.mark.parametrize("index", range(3))
def test_products_are_those_of_torch(index):
    problem = Logistic()
    names = list(problem.parameters)
    values = tuple(problem.parameters[name].detach() for name in names)
    vectors = {name: randn(110, 4, *problem.parameters[name].shape) for name in names}
    with problem.hessian(index) as mine:
        products = mine.products([part.flatten(1) for part in vectors.values()])
    found = {
        name: product.rest.view(vectors[name].shape)
        for name, product in zip(names, products, strict=True)
    }

    def loss(*tensors: Tensor) -> Tensor:
        return Functional(problem, dict(zip(names, tensors, strict=True))).loss(index)

    for row in range(4):
        chosen = tuple(vectors[name][row] for name in names)
        _, expected = torch.autograd.functional.vhp(loss, values, chosen)
        for name, part in zip(names, expected, strict=True):
            torch.testing.assert_close(found[name][row], part)
    assert not found["unused"].any()
    assert not any(part.requires_grad for part in found.values())


class Functional(Logistic):
    """The same losses at parameters handed in."""

    def __init__(self, problem: Logistic, parameters: dict[str, Tensor]) -> None:
        self.inputs, self.parameters = problem.inputs, parameters


def written(products) -> Tensor:
    pieces = [values.clone() for product in products for _, values in product.columns()]
    return torch.cat([piece.flatten(1) for piece in pieces], 1)


@pytest.mark.parametrize("family", tiny.ARCHITECTURES)
@pytest.mark.parametrize("attribute", ["last-2", "head", "*.bias", "*embeddings*"])
def test_products_of_a_classifier(tiny_folder, family, attribute):
    """Products by rows are those of torch, for every architecture, at the point asked for."""
    model, tokenizer = load_parts(tiny_folder(family))
    classifier = TextClassifier(model.double(), tokenizer, attribute=attribute)
    train = tiny.make_examples(4, seed=1)
    problem = TrainingProblem(classifier, train, Capture(classifier))
    values = {name: p.detach() * 0.9 for name, p in classifier.attributed.items()}
    names = [name for own in problem.capture.parameter_names for name in own]
    sizes = [sum(values[n].numel() for n in own) for own in problem.capture.parameter_names]
    block = [randn(120 + number, 2, size) for number, size in enumerate(sizes)]
    with classifier.at(values), problem.hessian(2) as mine:
        products = mine.products(block)
        found = written(products)
    assert not any(p.requires_grad for p in classifier.attributed.values())
    for product, part in zip(products, found.split(sizes, 1), strict=True):
        assert part.abs().max() <= product.bound() * (1 + 1e-9)
        h = torch.ones_like(part)
        product.subtract_from(h, 0.5)
        torch.testing.assert_close(h, 1.0 - 0.5 * part)
        torch.testing.assert_close(written([product.of(slice(1, 2))]), part[1:])

    inputs = classifier.encoder.collate(classifier.encoder.encode([train[2]]), classifier.device)
    label = torch.tensor([classifier.label_id(train[2].label)])

    def loss(*tensors: Tensor) -> Tensor:
        named = dict(zip(names, tensors, strict=True))
        logits = torch.func.functional_call(model, named, kwargs=dict(inputs)).logits
        return torch.nn.functional.cross_entropy(logits, label)

    tensors = tuple(values[name] for name in names)
    for row in range(2):
        columns = torch.cat(block, 1)[row].split([t.numel() for t in tensors])
        chosen = tuple(c.view(t.shape) for c, t in zip(columns, tensors, strict=True))
        _, expected = torch.autograd.functional.vhp(loss, tensors, chosen)
        expected = torch.cat([part.flatten() for part in expected])
        torch.testing.assert_close(found[row], expected, rtol=1e-6, atol=1e-9)


def test_keys_and_values_under_one_query_are_rows_by_head(tiny_folder):
    """The last block asks one question: no key or value of any token is computed."""
    classifier = TextClassifier.load(tiny_folder("bert"))
    problem = TrainingProblem(classifier, tiny.make_examples(2, seed=1), Capture(classifier))
    heads = classifier.model.config.num_attention_heads
    layers = {layer.name: layer for layer in problem.capture.layers}
    block = [randn(1, 2, sum(p.numel() for p in owned(layer))).float() for layer in layers.values()]
    with problem.hessian(0) as one:
        products = dict(zip(layers, one.products(block), strict=True))
    last = max(name.partition(".attention.self.query")[0] for name in layers if "query" in name)
    for part in ("key", "value"):
        product = products[f"{last}.attention.self.{part}"]
        assert len(product.matrices) == heads
        assert {sides.inputs.shape[-2] for own in product.matrices for sides in own} == {1}
    assert len(products[f"{last}.attention.self.query"].matrices) == 1


def test_a_solve_of_a_classifier_is_its_damped_hessian_inverted(tiny_folder):
    """One training instance, head only: the whole Hessian fits, so the fixed point can be checked."""
    model, tokenizer = load_parts(tiny_folder("bert"))
    classifier = TextClassifier(model.double(), tokenizer, attribute="classifier.*")
    train = tiny.make_examples(1, seed=2)
    problem = TrainingProblem(classifier, train, Capture(classifier))
    point = final_point(classifier)[0]
    size = sum(value.numel() for value in point.parameters.values())
    with classifier.at(point.parameters), problem.hessian(0) as mine:
        hessian = written(mine.products([torch.eye(size, dtype=torch.float64)]))
    torch.testing.assert_close(hessian, hessian.T)
    vectors = randn(130, 3, size)
    operator = Lissa(damping=0.5, scale=0.1, max_steps=500, tolerance=0.0)
    [solved] = LissaOperator(operator, problem, point).solve([vectors])
    torch.testing.assert_close(solved, closed_form(hessian, 0.5, vectors), rtol=1e-8, atol=1e-10)
