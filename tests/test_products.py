"""Products by the other library are the same products, and linear layers the same layers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from spanfluence import products
from spanfluence.products import FastLinear, times_transposed

pytestmark = pytest.mark.usefixtures("small_products_too")


@pytest.fixture(scope="module")
def small_products_too():
    before, products.LEAST_WORK = products.LEAST_WORK, 0
    yield
    products.LEAST_WORK = before


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.integers(1, 40),
    st.integers(1, 40),
    st.booleans(),
    st.sampled_from(["plain", "transposed", "columns of a wider one", "every second row"]),
)
def test_any_shape_and_layout(shape, wide, high, with_bias, layout):
    torch.manual_seed(0)
    rows = torch.randn(*shape, wide)
    weight = {
        "plain": lambda: torch.randn(high, wide),
        "transposed": lambda: torch.randn(wide, high).T,
        "columns of a wider one": lambda: torch.randn(high, wide + 3)[:, 2 : wide + 2],
        "every second row": lambda: torch.randn(2 * high, wide)[::2],
    }[layout]()
    bias = torch.randn(high) if with_bias else None
    expected = rows.double() @ weight.double().T + (bias.double() if with_bias else 0.0)
    found = times_transposed(rows, weight, bias)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_go_the_usual_way(dtype, monkeypatch):
    monkeypatch.setattr(products, "ONEDNN", _refuse)
    rows, weight = torch.randn(4, 6, dtype=dtype), torch.randn(5, 6, dtype=dtype)
    assert torch.equal(times_transposed(rows, weight), nn.functional.linear(rows, weight))


def test_small_products_go_the_usual_way(monkeypatch):
    monkeypatch.setattr(products, "ONEDNN", _refuse)
    monkeypatch.setattr(products, "LEAST_WORK", 1 << 20)
    assert times_transposed(torch.ones(4, 6), torch.ones(5, 6)).eq(6.0).all()


def test_without_the_library_all_is_the_same(monkeypatch):
    monkeypatch.setattr(products, "ONEDNN", None)
    rows, weight, bias = torch.randn(3, 4, 6), torch.randn(5, 6), torch.randn(5)
    expected = rows @ weight.T + bias
    torch.testing.assert_close(times_transposed(rows, weight, bias), expected)


def test_weights_of_their_own_kind_go_the_usual_way(monkeypatch):
    class Own(torch.Tensor):
        pass

    monkeypatch.setattr(products, "ONEDNN", _refuse)
    weight = torch.ones(5, 6).as_subclass(Own)
    assert type(times_transposed(torch.ones(4, 6), weight)) is Own


def _refuse(*_):
    raise AssertionError("not meant for this product")


@pytest.mark.skipif(products.ONEDNN is None, reason="this torch has no other library")
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_and_its_backward_pass(bias):
    torch.manual_seed(0)
    layer = nn.Linear(7, 5, bias=bias).requires_grad_(False)
    rows = torch.randn(2, 3, 7, requires_grad=True)
    plain = layer(rows)
    with FastLinear():
        fast = layer(rows)
    assert type(fast.grad_fn) is not type(plain.grad_fn)  # it is another way
    torch.testing.assert_close(fast, plain)
    onto = torch.randn_like(plain)
    (expected,) = torch.autograd.grad(plain, rows, onto)
    (found,) = torch.autograd.grad(fast, rows, onto)
    torch.testing.assert_close(found, expected)


@pytest.mark.skipif(products.ONEDNN is None, reason="this torch has no other library")
@pytest.mark.parametrize("opened", [("weight", "bias"), ("weight",), ("bias",)])
@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("shape", [(3, 7), (2, 3, 7), (7,)])
def test_a_layer_that_is_trained(opened, reads, shape):
    torch.manual_seed(0)
    layer = nn.Linear(7, 5).requires_grad_(False)
    wanted = [getattr(layer, name).requires_grad_() for name in opened]
    rows = torch.randn(shape, requires_grad=reads)
    wanted += [rows] if reads else []
    plain = layer(rows)
    with FastLinear():
        fast = layer(rows)
    torch.testing.assert_close(fast, plain)
    onto = torch.randn_like(plain)
    expected, found = (torch.autograd.grad(x, wanted, onto) for x in (plain, fast))
    assert type(fast.grad_fn) is not type(plain.grad_fn)  # it is another way
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_products_with_autocast_stay_in_its_precision():
    layer = nn.Linear(7, 5).requires_grad_(False)
    with FastLinear(), torch.autocast("cpu", torch.bfloat16):
        assert layer(torch.randn(3, 7)).dtype == torch.bfloat16


MANY_SHAPES = """
import ctypes
import torch
from spanfluence.allocator import resident_bytes
from spanfluence.products import times_transposed

def size_after(counts):
    for count in counts:
        times_transposed(rows[:count], weight)
    ctypes.CDLL(None).malloc_trim(0)  # what is left in pieces is not held
    return resident_bytes() >> 20

rows, weight = torch.ones(5000, 96), torch.ones(96, 96)
print(size_after(range(4000, 4200)), size_after(range(4200, 5000)))
"""


@pytest.mark.skipif(products.ONEDNN is None, reason="this torch has no other library")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the system for memory")
def test_memory_does_not_grow_with_the_shapes_that_were_met():
    def growth(**more):
        own = {name: value for name, value in os.environ.items() if "CACHE_CAPACITY" not in name}
        done = subprocess.run(
            [sys.executable, "-c", MANY_SHAPES],
            env=own | more,
            capture_output=True,
            text=True,
            check=True,
        )
        first, last = map(int, done.stdout.split())
        return last - first

    unbounded = growth(ONEDNN_PRIMITIVE_CACHE_CAPACITY="1024", LRU_CACHE_CAPACITY="1024")
    assert unbounded > 60  # megabytes; and what a user has set stays
    assert growth() < unbounded / 4
