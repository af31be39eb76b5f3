"""Rows by head against the matrices they stand for, and where they are found."""

from __future__ import annotations

import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_gradients import check, check_inner, matrix, randn

from spanfluence import Explainer, TextClassifier
from spanfluence.capture import Capture
from spanfluence.curvature.problem import TrainingProblem
from spanfluence.gradients import DenseGradient, MatrixGradient, inner, stack
from spanfluence.head_gradients import HeadGradient, by_heads
from spanfluence.points import final_point
from spanfluence.text_rows import TextRows

HEADS, SIZE, WIDE = 3, 2, 5
ONE_EACH = torch.arange(4)[:, None]


def attended(seed: int, texts: int, tokens: int, *, weight: bool = True, bias: bool = True):
    """What keys see under one query: multiples of one vector per head and text."""
    factors, vectors = randn(seed, texts, tokens, HEADS), randn(seed + 1, texts, HEADS, SIZE)
    rows = (factors[..., None] * vectors[:, None]).flatten(2)
    inputs = randn(seed + 2, texts, tokens, WIDE)
    given = {"inputs": inputs, "weight": weight, "bias": bias, "heads": HEADS}
    return TextRows("matrix", rows, torch.arange(tokens), **given)


@settings(deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.sampled_from([(True, True), (True, False), (False, True)]),
)
def test_rows_by_head_stand_for_the_rows_of_tokens(seed, tokens, flags):
    rows = attended(seed, 4, tokens, weight=flags[0], bias=flags[1])
    terms, signs = torch.tensor([[0, 1], [3, 2], [1, 1]]), torch.tensor([[1.0, -1.0]]).expand(3, 2)
    short, long = rows.units(terms, signs), rows.units(terms, signs, by_token=True)
    assert isinstance(short, HeadGradient)
    assert isinstance(long, MatrixGradient)
    torch.testing.assert_close(short.dense(), long.dense())
    torch.testing.assert_close(short.square_norms(), long.square_norms())
    others = attended(seed + 9, 4, 3, weight=flags[0], bias=flags[1])
    train = others.units(ONE_EACH)
    expected = short.dense() @ train.dense().T
    as_matrices = others.units(ONE_EACH, by_token=True)
    for tests in (short, long, DenseGradient(short.dense())):
        for units in (train, as_matrices):
            torch.testing.assert_close(inner(tests, units), expected)
    both = stack([short, rows.units(terms[:1], signs[:1])])
    torch.testing.assert_close(both.dense(), torch.cat([short.dense(), short.dense()[:1]]))


def test_batches_of_either_kind_stand_together():
    rows = attended(0, 4, 3)
    mixed = stack([rows.units(ONE_EACH), rows.units(ONE_EACH, by_token=True)])
    dense = rows.units(ONE_EACH).dense()
    torch.testing.assert_close(mixed.dense(), torch.cat([dense, dense]))
    check(mixed)
    check_inner(mixed, matrix(3, 2, 1, WIDE, HEADS * SIZE))


def test_only_the_rows_of_a_span_are_left_as_they_are():
    rows = attended(0, 4, 3)
    wanted = torch.tensor([[True, False, False]]).expand(4, 3)
    assert isinstance(rows.units(ONE_EACH, wanted=wanted), MatrixGradient)


def test_other_rows_are_not_taken_for_rows_by_head():
    rows = randn(0, 2, 4, HEADS * SIZE)
    assert by_heads(randn(1, 2, 4, WIDE), rows, HEADS) is None
    plain = TextRows("matrix", rows, torch.arange(4), inputs=randn(1, 2, 4, WIDE))
    assert not plain.has_rows_by_head(HEADS)
    assert attended(0, 2, 4).has_rows_by_head(HEADS)
    assert not attended(0, 2, 4).has_rows_by_head(4), "six outputs do not make four heads"
    assert not attended(0, 2, 1).has_rows_by_head(HEADS), "one row per text is fewer still"


@pytest.mark.parametrize(
    ("architecture", "names"),
    [("bert", ("key", "value")), ("distilbert", ("k_lin", "v_lin")), ("roberta", ("key", "value"))],
)
def test_the_last_block_of_a_classifier_has_them(tiny_folder, architecture, names):
    classifier = TextClassifier.load(tiny_folder(architecture))
    layers = Capture(classifier).layers
    found = [layer.name for layer in layers if layer.heads]
    assert [name.rpartition(".")[2] for name in found] == list(names)
    assert all(layer.kind == "linear" for layer in layers if layer.heads)


def test_ekfac_sees_tokens_and_ggn_heads(classifier):
    train = tiny.make_examples(5, seed=1)
    explainer = Explainer(classifier, train, "if++", curvature="ggn")
    problem = TrainingProblem(classifier, train, explainer.capture)
    [point] = final_point(classifier)
    kinds = {
        by_token: {type(layer) for layer in problem.rows(point, 5, 0, by_token=by_token).layers}
        for by_token in (False, True)
    }
    assert HeadGradient in kinds[False]
    assert HeadGradient not in kinds[True]
