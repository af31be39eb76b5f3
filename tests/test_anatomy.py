"""Blocks, heads and the cut between trunk and tail, for every architecture."""

from __future__ import annotations

import numpy as np
import pytest
import reference
import tiny
import torch
from torch import nn

from spanfluence import TextClassifier
from spanfluence.anatomy import Anatomy, Trunk, dissect, first_attributed_block, select_parameters
from spanfluence.errors import InputError
from spanfluence.loading import load_parts
from spanfluence.units import Example

CHOICES = ("last-1", "last-2", "last-9", "head", "all")


@pytest.fixture(scope="module", params=tiny.ARCHITECTURES)
def loaded(request, tiny_folder) -> TextClassifier:
    return TextClassifier.load(tiny_folder(request.param))


@pytest.mark.parametrize("which", CHOICES)
def test_attributed_parameters_by_name(loaded, which):
    loaded.attribute_parameters(which)
    assert list(loaded.attributed) == reference.attributed(loaded.model, which)
    named = dict(loaded.model.named_parameters())
    assert all(loaded.attributed[name] is named[name] for name in loaded.attributed)


def test_the_default_is_the_last_two_blocks_and_the_head(tiny_folder):
    classifier = TextClassifier.load(tiny_folder("bert"))
    assert classifier.attribute == "last-2"
    owners = {name.rpartition(".")[0] for name in classifier.attributed}
    assert {"bert.pooler.dense", "classifier"} < owners
    assert {name.split(".")[3] for name in owners if "encoder" in name} == {"1", "2"}


def test_patterns_choose_parameters_by_name(tiny_folder):
    classifier = TextClassifier.load(tiny_folder("bert"), attribute="*.layer.1.output.dense.*")
    assert list(classifier.attributed) == [
        "bert.encoder.layer.1.output.dense.weight",
        "bert.encoder.layer.1.output.dense.bias",
    ]
    classifier.attribute_parameters(["classifier.bias", "bert.embeddings.word_embeddings.weight"])
    assert list(classifier.attributed) == [
        "bert.embeddings.word_embeddings.weight",
        "classifier.bias",
    ]
    assert classifier.trunk is None, "attributed embeddings leave no frozen trunk"


@pytest.mark.parametrize("attribute", ["layer.7.*", "last-x", ["nothing", "at all"], []])
def test_a_pattern_that_matches_nothing(tiny_folder, attribute):
    with pytest.raises(InputError) as caught:
        TextClassifier.load(tiny_folder("bert"), attribute=attribute)
    assert str(caught.value).startswith(
        f"attribute={attribute!r} matches no parameter of the model"
    )
    assert "'last-N', 'head', 'all' or a pattern such as 'bert." in str(caught.value)


def test_last_zero_is_called_head(tiny_folder):
    with pytest.raises(InputError, match="attribute='last-0' names no block: use 'head'"):
        TextClassifier.load(tiny_folder("bert"), attribute="last-0")


@pytest.mark.parametrize("which", ["last-1", "last-2", "head"])
def test_the_cut_model_gives_the_logits_of_the_whole(loaded, which):
    loaded.attribute_parameters(which)
    batch = loaded.encoder.encode(tiny.make_examples(5, seed=2))
    inputs = loaded.encoder.collate(batch, loaded.device)
    with torch.no_grad():
        whole = loaded.model(**inputs).logits
        states = loaded.trunk_states(batch, inputs)
        halves = loaded.tail_logits(inputs, states)
    np.testing.assert_allclose(halves, whole, rtol=1e-4, atol=1e-5)
    if loaded.model.config.model_type == "albert":
        assert loaded.trunk is None, "ALBERT has one block for all layers: nothing is frozen"
    else:
        assert loaded.trunk.depth == {"last-1": 2, "last-2": 1, "head": 3}[which]
        assert states.shape == (*inputs["input_ids"].shape, 16)
        assert torch.isfinite(states).all()


def test_the_tail_really_starts_from_the_states(tiny_folder):
    classifier = TextClassifier.load(tiny_folder("modernbert"))
    batch = classifier.encoder.encode([Example("the soup was cold")])
    inputs = classifier.encoder.collate(batch, classifier.device)
    states = classifier.trunk_states(batch, inputs)
    with torch.no_grad():
        one = classifier.tail_logits(inputs, states)
        other = classifier.tail_logits(inputs, states.flip(-1))
        again = classifier.model(**inputs).logits
    assert not torch.allclose(one, other, atol=1e-3)
    np.testing.assert_allclose(again, one, rtol=1e-4, atol=1e-5)


class Reader(nn.Module):
    """A pooler that reads the text in its own way."""

    def __init__(self, read) -> None:
        super().__init__()
        self.read = read
        self.dense = nn.Linear(16, 16)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.dense(self.read(hidden_states)))


@pytest.mark.parametrize(
    "read",
    [lambda x: x.mean(1), lambda x: x[:, 1], lambda x: x[:, :2].flatten(1)[:, 16:] * 1.0],
    ids=["mean", "second token", "slice"],
)
def test_a_head_that_reads_more_than_the_first_token(tiny_folder, read):
    """The last block must then run at every position: logits and gradients are the whole model's."""
    model, tokenizer = load_parts(tiny_folder("bert"))
    model.bert.pooler = Reader(read)
    classifier = TextClassifier(model, tokenizer)
    batch = classifier.encoder.encode(tiny.make_examples(4, seed=3))
    inputs = classifier.encoder.collate(batch, classifier.device)
    with torch.no_grad():
        whole = classifier.model(**inputs).logits
    np.testing.assert_allclose(classifier.logits(batch), whole.numpy(), rtol=1e-4, atol=1e-5)


def test_a_failing_forward_leaves_the_model_whole(tiny_folder):
    classifier = TextClassifier.load(tiny_folder("bert"))
    batch = classifier.encoder.encode([Example("the soup was cold")])
    inputs = classifier.encoder.collate(batch, classifier.device)
    with torch.no_grad():
        before = classifier.model(**inputs).logits
        states = classifier.trunk_states(batch, inputs)
        with pytest.raises(RuntimeError):
            classifier.tail_logits(inputs, states[..., :3])
        after = classifier.model(**inputs).logits
    assert torch.equal(before, after)


class Odd(nn.Module):
    """A model whose cut cannot work: its last block also reads the raw input."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.short = nn.ModuleList([nn.Linear(4, 4)])
        self.mixed = nn.ModuleList([nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)])
        self.head = nn.Linear(4, 2)
        self.unused = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.short[0](self.first(x))
        for block in self.blocks:
            x = block(x)
        return self.head(self.first(x))


def test_dissecting_a_model_of_ones_own():
    model = Odd()
    anatomy = dissect(model, {"x": torch.ones(2, 4)})
    assert anatomy.block_names == ("blocks.0", "blocks.1")
    assert anatomy.head == {"head.weight", "head.bias"}, "`first` also runs before the blocks"
    assert anatomy.block_of("blocks.1.bias") == 1
    assert anatomy.block_of("first.bias") is None
    assert set(select_parameters(model, anatomy, "last-1")) == {
        "blocks.1.weight",
        "blocks.1.bias",
        "head.weight",
        "head.bias",
    }
    assert first_attributed_block(anatomy, {"blocks.1.bias": 0, "head.bias": 0}) == 1
    assert first_attributed_block(anatomy, {"head.bias": 0}) == 2
    assert first_attributed_block(anatomy, {"first.bias": 0}) == 0


def test_a_model_without_blocks_has_no_trunk():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    anatomy = dissect(model, {"input": torch.ones(1, 4)})
    assert anatomy.blocks == ()
    assert first_attributed_block(anatomy, {"1.bias": 0}) == 0


def test_a_trunk_that_is_never_called_is_an_error():
    model = Odd()
    anatomy = Anatomy((model.unused, model.head), ("unused", "head"), frozenset())
    trunk = Trunk(model, anatomy, 1)
    trunk._next = None
    with pytest.raises(RuntimeError, match="never called"):
        trunk.states({"x": torch.ones(1, 4)})
