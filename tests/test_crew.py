"""Workers with classifiers of their own: other modules, the same weights, the same scores."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tiny
import torch

from spanfluence import Explainer, TextClassifier
from spanfluence.batches import UnitBatch
from spanfluence.capture import Capture
from spanfluence.crew import copies, crew
from spanfluence.encoding import Encoded
from spanfluence.errors import NumericsError
from spanfluence.influence import GROUP, _groups

METHODS = ("pinpoint", "tracin++", "tracinf", "if+")


def scored(folder, method: str, threads: int) -> np.ndarray:
    torch.set_num_threads(threads)
    classifier = TextClassifier.load(folder)
    train = tiny.make_examples(40, seed=1)
    tests = tiny.make_examples(7, seed=2)
    extra = {"curvature": "ggn"} if method.startswith("if") else {}
    # Small batches: several groups for each of two workers, the last ones smaller.
    explainer = Explainer(classifier, train, method, label="given", batch_tokens=64, **extra)
    return explainer.scores(tests)


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_two_workers_find_what_one_finds(tiny_folder, two_threads, architecture):
    folder = tiny_folder(architecture)
    for method in METHODS if architecture == "bert" else METHODS[:2]:
        alone, together = (scored(folder, method, threads) for threads in (1, 2))
        np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5 * abs(alone).max())


def test_copies_share_weights_and_nothing_that_a_pass_marks(classifier):
    capture = Capture(classifier)
    first, second = copies(capture, 2)
    assert first is capture
    own, other = first.classifier, second.classifier
    assert other.states is own.states
    assert other.encoder is own.encoder
    moved = set(own.attributed)
    for (name, mine), theirs in zip(
        own.model.named_parameters(), other.model.parameters(), strict=True
    ):
        assert mine.data_ptr() == theirs.data_ptr()
        assert (mine is theirs) == (name not in moved)
    assert not set(own.model.modules()) & set(other.model.modules())
    assert not {layer.module for layer in first.layers} & {layer.module for layer in second.layers}
    assert {layer.module for layer in second.layers} <= set(other.model.modules())
    assert other.trunk.model is other.model
    assert other._trimmed in set(other.model.modules())


def test_each_copy_goes_to_a_point_by_itself(classifier):
    _, second = copies(Capture(classifier), 2)
    examples = tiny.make_examples(4, seed=3)
    before = classifier.predict(examples).probabilities
    moved = {name: p + 0.3 for name, p in classifier.attributed.items()}
    with second.classifier.at(moved):
        there = second.classifier.predict(examples).probabilities
        np.testing.assert_array_equal(classifier.predict(examples).probabilities, before)
        with classifier.at(moved):
            np.testing.assert_array_equal(classifier.predict(examples).probabilities, there)
    assert abs(there - before).max() > 1e-3
    np.testing.assert_array_equal(second.classifier.predict(examples).probabilities, before)


def test_nobody_uses_a_capture_that_is_in_use(classifier, two_threads):
    meet = threading.Barrier(2, timeout=30)

    def work(capture: Capture, part: int) -> int:
        meet.wait()
        return id(capture)

    with crew(Capture(classifier)) as hands:
        used = list(hands.stream(work, range(2)))
    assert len(set(used)) == 2


def test_a_replaced_forward_is_not_copied(classifier, two_threads):
    """Its function would run the original's modules from every copy."""
    block = classifier.model.base_model.encoder.layer[0]
    block.forward = own = block.forward
    with crew(Capture(classifier)) as hands:
        assert hands.team.count == 1
    classifier.predict(tiny.make_examples(2, seed=1))
    assert block.forward is own


def test_weights_that_a_pass_opens_are_not_shared(tiny_folder, two_threads):
    classifier = TextClassifier.load(tiny_folder("deberta-v2"), attribute="*embeddings*")
    with pytest.warns(UserWarning, match="per-example autograd"):
        capture = Capture(classifier)
    with crew(capture) as hands:
        assert hands.team.count == 1


def test_an_error_in_a_worker_leaves_the_model_as_it_was(tiny_folder, two_threads, monkeypatch):
    classifier = TextClassifier.load(tiny_folder("bert"))
    train = tiny.make_examples(40, seed=1)
    explainer = Explainer(classifier, train, "tracin++", label="given", batch_tokens=64)
    assert len(explainer.points) == 3
    before = {name: p.data.clone() for name, p in classifier.attributed.items()}
    original, calls = UnitBatch.gradients, []

    def failing(self, capture, numbers):
        calls.append(threading.get_ident())
        if len(calls) > 8:
            raise NumericsError("made to fail")
        return original(self, capture, numbers)

    monkeypatch.setattr(UnitBatch, "gradients", failing)
    with pytest.raises(NumericsError, match="made to fail"):
        explainer.scores(train[:3])
    assert threading.get_ident() not in calls
    for name, parameter in classifier.attributed.items():
        assert torch.equal(parameter.data, before[name])
    monkeypatch.undo()
    assert np.isfinite(explainer.scores(train[:3])).all()


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("batches", [1, 2, 4, 5, 21, 22, 100])
def test_groups_hold_every_batch_once_and_are_shared_out_evenly(batches, workers):
    members: list[list[tuple[Encoded, list[tuple[int, int]]]]] = [[] for _ in range(batches)]
    groups = list(_groups(members, workers))
    assert [id(own) for group in groups for own in group] == [id(own) for own in members]
    sizes = [len(group) for group in groups]
    assert all(1 <= size <= GROUP for size in sizes)
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) % workers == 0 or len(sizes) == batches < workers
