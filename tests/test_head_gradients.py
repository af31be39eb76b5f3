"""Rows by head against the matrices they stand for, and where they are found."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_gradients import check, check_inner, matrix, randn

import spanfluence.capture
from spanfluence import Explainer, TextClassifier, inner_products
from spanfluence.capture import Capture
from spanfluence.curvature.problem import TrainingProblem
from spanfluence.gradients import DenseGradient, MatrixGradient, stack
from spanfluence.head_gradients import HeadGradient
from spanfluence.head_rows import rows_by_head
from spanfluence.inner_products import add_weighted_sum, inner
from spanfluence.model import requiring_gradients
from spanfluence.one_query import attend_for_logits
from spanfluence.points import final_point
from spanfluence.text_rows import TextRows, Wanted
from spanfluence.trim import attend_tokens

HEADS, SIZE, WIDE = 3, 2, 5
ONE_EACH = torch.arange(4)[:, None]


def attended(seed: int, texts: int, tokens: int, *, weight: bool = True, bias: bool = True):
    """What keys see under one query: multiples of one vector per head and text."""
    factors, vectors = randn(seed, texts, tokens, HEADS), randn(seed + 1, texts, HEADS, SIZE)
    rows = (factors[..., None] * vectors[:, None]).flatten(2)
    inputs = randn(seed + 2, texts, tokens, WIDE)
    given = {"inputs": inputs, "weight": weight, "bias": bias}
    return TextRows("matrix", rows, torch.arange(tokens), **given)


@settings(deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 6),
    st.sampled_from([(True, True), (True, False), (False, True)]),
)
def test_rows_by_head_stand_for_the_rows_of_tokens(seed, tokens, flags):
    plain = attended(seed, 4, tokens, weight=flags[0], bias=flags[1])
    rows = rows_by_head(plain, HEADS)
    terms, signs = torch.tensor([[0, 1], [3, 2], [1, 1]]), torch.tensor([[1.0, -1.0]]).expand(3, 2)
    short, long = rows.units(terms, signs), plain.units(terms, signs)
    torch.testing.assert_close(rows.by_token.rows, plain.rows)
    assert isinstance(short, HeadGradient)
    assert isinstance(long, MatrixGradient)
    torch.testing.assert_close(short.dense(), long.dense())
    torch.testing.assert_close(short.square_norms(), long.square_norms())
    others = attended(seed + 9, 4, 3, weight=flags[0], bias=flags[1])
    train = rows_by_head(others, HEADS).units(ONE_EACH)
    expected = short.dense() @ train.dense().T
    as_matrices = others.units(ONE_EACH)
    for tests in (short, long, DenseGradient(short.dense())):
        for units in (train, as_matrices):
            torch.testing.assert_close(inner(tests, units), expected)
    onto, weights = randn(7, 2, short.size), randn(8, 2, 3)
    found = add_weighted_sum(onto, short, weights, beta=0.5)
    torch.testing.assert_close(found, 0.5 * onto + weights @ long.dense())
    both = stack([short, rows.units(terms[:1], signs[:1])])
    torch.testing.assert_close(both.dense(), torch.cat([short.dense(), short.dense()[:1]]))


def test_tests_that_do_not_all_fit_the_cache(monkeypatch):
    """A few tests at a time, by heads and by single rows: the same numbers as of all at once."""
    monkeypatch.setattr(inner_products, "IN_CACHE", 40)
    by_head = rows_by_head(attended(0, 4, 3), HEADS).units(torch.tensor([[0, 1], [3, 2], [1, 1]]))
    for layer in (by_head, matrix(1, 3, 1, WIDE, HEADS * SIZE)):
        onto, weights = randn(7, 5, layer.dense().shape[1]), randn(8, 5, 3)
        found = inner(DenseGradient(onto), layer)
        torch.testing.assert_close(found, onto @ layer.dense().T)
        found = add_weighted_sum(onto, layer, weights, beta=0.5)
        torch.testing.assert_close(found, 0.5 * onto + weights @ layer.dense())


def test_batches_of_either_kind_stand_together():
    rows = rows_by_head(attended(0, 4, 3), HEADS)
    mixed = stack([rows.units(ONE_EACH), rows.by_token.units(ONE_EACH)])
    dense = rows.units(ONE_EACH).dense()
    torch.testing.assert_close(mixed.dense(), torch.cat([dense, dense]))
    check(mixed)
    check_inner(mixed, matrix(3, 2, 1, WIDE, HEADS * SIZE))


def test_only_the_rows_of_a_span_are_left_as_they_are():
    plain = attended(0, 4, 3)
    wanted = Wanted(torch.tensor([[True, False, False]]).expand(4, 3))
    found = rows_by_head(plain, HEADS).units(ONE_EACH, wanted=wanted)
    assert isinstance(found, MatrixGradient)
    torch.testing.assert_close(found.dense(), plain.units(ONE_EACH, wanted=wanted).dense())


def test_other_rows_are_not_taken_for_rows_by_head():
    rows = randn(0, 2, 4, HEADS * SIZE)
    plain = TextRows("matrix", rows, torch.arange(4), inputs=randn(1, 2, 4, WIDE))
    assert rows_by_head(plain, HEADS) is None
    assert rows_by_head(attended(0, 2, 4), HEADS) is not None
    assert rows_by_head(attended(0, 2, 4), 4) is None, "six outputs do not make four heads"
    assert rows_by_head(attended(0, 2, 1), HEADS) is None, "one row per text is fewer still"


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


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "roberta"])
def test_one_query_asks_for_no_key_and_no_value(tiny_folder, architecture, monkeypatch):
    classifier = TextClassifier.load(tiny_folder(architecture))
    capture = Capture(classifier)
    batch = classifier.encoder.encode(tiny.make_examples(4, seed=2))
    labels = torch.tensor([0, 1, 0, 1])
    calls = []
    by_tokens = spanfluence.capture.attend_tokens
    monkeypatch.setattr(
        spanfluence.capture, "attend_tokens", lambda *args: calls.append(1) or by_tokens(*args)
    )
    short = capture.texts(batch, labels, "loss")
    assert not calls
    capture.layers = [replace(layer, heads=0) for layer in capture.layers]
    plain = capture.texts(batch, labels, "loss")
    assert calls
    torch.testing.assert_close(short.losses, plain.losses)
    for mine, theirs in zip(short.layers, plain.layers, strict=True):
        expected = theirs.units(ONE_EACH).dense()
        torch.testing.assert_close(mine.units(ONE_EACH).dense(), expected, atol=1e-5, rtol=1e-4)
        rows = (mine.by_token.rows, theirs.by_token.rows)
        torch.testing.assert_close(*rows, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "roberta"])
def test_one_query_learns_what_keys_and_values_would_teach(tiny_folder, architecture):
    classifier = TextClassifier.load(tiny_folder(architecture))
    inputs = classifier.encoder.collate(
        classifier.encoder.encode(tiny.make_examples(4, seed=2)), "cpu"
    )
    states = classifier.trunk.states(inputs)
    classifier.model.train()
    own = classifier.attributed
    found = []
    for attend in (attend_tokens, attend_for_logits):
        torch.manual_seed(3)  # the same shares are dropped
        with requiring_gradients(own.values()):
            loss = classifier.tail_logits(inputs, states, attend).logsumexp(1).sum()
            found.append(torch.autograd.grad(loss, list(own.values()), allow_unused=True))
    classifier.model.eval()
    still = classifier.tail_logits(inputs, states).logsumexp(1).sum()
    assert abs(loss - still) > 1e-4, "nothing was dropped"
    for name, by_tokens, by_query in zip(own, *found, strict=True):
        if by_query is None:  # the bias of the last block's keys, which changes nothing
            assert name.split(".")[-2] in ("key", "k_lin") and by_tokens.abs().max() < 1e-6
        else:
            torch.testing.assert_close(by_query, by_tokens, atol=1e-5, rtol=1e-4)
    assert sum(each is None for each in found[1]) == 1


def test_dropped_shares_are_left_to_keys_and_values(tiny_folder):
    classifier = TextClassifier.load(tiny_folder("bert"))
    capture = Capture(classifier)
    batch = classifier.encoder.encode(tiny.make_examples(4, seed=2))
    labels = torch.tensor([0, 1, 0, 1])
    plain = [replace(layer, heads=0) for layer in capture.layers]
    classifier.model.train()
    found = []
    for layers in (capture.layers, plain):
        capture.layers = layers
        torch.manual_seed(3)
        found.append(capture.texts(batch, labels, "loss"))
    classifier.model.eval()
    for mine, theirs in zip(*(each.layers for each in found), strict=True):
        expected = theirs.units(ONE_EACH).dense()
        torch.testing.assert_close(mine.units(ONE_EACH).dense(), expected, atol=1e-5, rtol=1e-4)


KEYS, VALUES = ("*.layer.1.attention.self.key.*", "*.layer.1.attention.self.value.*")


@pytest.mark.parametrize(
    "attribute",
    [
        [VALUES],
        [KEYS],
        [KEYS, VALUES],  # nothing before them has a gradient
        [KEYS, VALUES, "*.layer.1.output.*"],
        ["*.layer.1.attention.self.value.weight", "*.layer.1.attention.self.key.weight"],
    ],
)
def test_parts_of_the_attention_agree_with_autograd(tiny_folder, attribute):
    classifier = TextClassifier.load(tiny_folder("bert"), attribute=attribute)
    check_with_autograd(Capture(classifier))


def test_layers_without_bias_agree_with_autograd(classifier):
    for name in ("key", "value"):
        setattr(
            classifier.model.bert.encoder.layer[-1].attention.self,
            name,
            torch.nn.Linear(*[classifier.model.config.hidden_size] * 2, bias=False),
        )
    classifier.attribute_parameters("last-1")
    check_with_autograd(Capture(classifier))


class Louder(torch.nn.Linear):
    def forward(self, inputs):
        return 1.5 * super().forward(inputs)


@pytest.mark.parametrize("way", ["type", "hook", "forward"])
def test_layers_that_do_more_than_their_weight_tells(classifier, way):
    attention = classifier.model.bert.encoder.layer[-1].attention.self
    plain = attention.value
    if way == "type":
        attention.value = Louder(plain.in_features, plain.out_features)
        attention.value.load_state_dict(plain.state_dict())
    elif way == "hook":
        plain.register_forward_hook(lambda module, args, output: 1.5 * output)
    else:
        plain.forward = lambda inputs: (
            1.5 * torch.nn.functional.linear(inputs, plain.weight, plain.bias)
        )
    classifier.attribute_parameters("last-1")
    texts = classifier.encoder.encode(tiny.make_examples(4, seed=2))
    with torch.no_grad():
        expected = classifier.model(**classifier.encoder.collate(texts, classifier.device)).logits
    torch.testing.assert_close(torch.from_numpy(classifier.logits(texts)), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some layers go by autograd
        check_with_autograd(Capture(classifier))


def check_with_autograd(capture):
    batch = capture.classifier.encoder.encode(tiny.make_examples(4, seed=2))
    labels = torch.tensor([0, 1, 0, 1])
    found = capture.texts(batch, labels, "loss")
    capture.layers = [replace(layer, kind="whole", heads=0) for layer in capture.layers]
    truth = capture.texts(batch, labels, "loss")
    for mine, theirs in zip(found.layers, truth.layers, strict=True):
        expected = theirs.units(ONE_EACH).dense()
        torch.testing.assert_close(mine.units(ONE_EACH).dense(), expected, atol=1e-5, rtol=1e-4)


def test_rows_that_are_no_tokens_stay_none():
    plain = replace(attended(0, 4, 3), positions=torch.full((3,), -1))
    found = rows_by_head(plain, HEADS)
    wanted = Wanted(torch.tensor([[True, False, False]]).expand(4, 3))
    assert not found.units(ONE_EACH, wanted=wanted).dense().any()
    assert found.units(ONE_EACH).dense().any()


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
