"""Second derivatives by formula are those of torch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from spanfluence.curvature.twice import TwiceDifferentiable

FUNCTIONS = {
    "gelu": nn.functional.gelu,
    "gelu, tanh": lambda x: nn.functional.gelu(x, approximate="tanh"),
    "softmax": lambda x: nn.functional.softmax(x, dim=-1),
    "softmax of a tensor": lambda x: x.softmax(-1),
    "softmax, another dimension": lambda x: torch.softmax(x, 0),
    "layer norm": lambda x: nn.functional.layer_norm(x, (5,)),
    "layer norm, a large epsilon": lambda x: nn.functional.layer_norm(x, (5,), eps=0.5),
    "layer norm, two dimensions": lambda x: nn.functional.layer_norm(x, (3, 5)),
}
BY_FORMULA = {"gelu", "softmax", "softmax of a tensor", "layer norm", "layer norm, a large epsilon"}


def randn(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def derivatives(function, many: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Value, gradient, and the Hessian's products with four vectors, of a curved function of the output."""
    x, weights, vectors = randn(1, 3, 5).requires_grad_(), randn(2, 3, 5), randn(3, 4, 3, 5)
    y = function(x)
    (first,) = torch.autograd.grad((weights * y + y**3).sum(), x, create_graph=True)
    if many:
        (second,) = torch.autograd.grad(first, x, vectors, is_grads_batched=True)
    else:
        second = torch.stack(
            [torch.autograd.grad(first, x, v, retain_graph=True)[0] for v in vectors]
        )
    return y.detach(), first.detach(), second


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("many", [True, False])
def test_second_derivatives_are_those_of_torch(name, many):
    expected = derivatives(FUNCTIONS[name], many=False)
    with TwiceDifferentiable():
        found = derivatives(FUNCTIONS[name], many)
    for mine, own in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, own, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_only_what_has_a_formula_and_needs_a_gradient_goes_by_it(name):
    with TwiceDifferentiable():
        y = FUNCTIONS[name](randn(1, 3, 5).requires_grad_())
        still = FUNCTIONS[name](randn(1, 3, 5))
    assert (
        type(y.grad_fn).__name__ in ("_GeluBackward", "_SoftmaxBackward", "_NormaliseBackward")
    ) == (name in BY_FORMULA)
    assert still.grad_fn is None


def test_the_weight_of_a_norm_has_its_derivatives_too():
    norm = nn.LayerNorm(5).double()
    x = randn(4, 3, 5)

    def products() -> list[Tensor]:
        first = torch.autograd.grad(
            (norm(x) ** 3).sum(), list(norm.parameters()), create_graph=True
        )
        return list(torch.autograd.grad(sum(g.sum() for g in first), list(norm.parameters())))

    expected = products()
    x.requires_grad_()
    with TwiceDifferentiable():
        found = products()
    torch.testing.assert_close(found, expected)
