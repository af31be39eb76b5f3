"""`TextClassifier` against plain transformers, and what it keeps, restores and refuses."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
import reference
import tiny
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from spanfluence import Explainer, TextClassifier
from spanfluence.errors import InputError
from spanfluence.model import text_losses
from spanfluence.states import StateStore
from spanfluence.units import Example, Span, Unit

LABELS = ("negative", "neutral", "positive")


@pytest.fixture(scope="module", params=tiny.ARCHITECTURES)
def folder(request, tiny_folder):
    return tiny_folder(request.param)


def plain_logits(folder, example: Example, spans=()) -> torch.Tensor:
    """Logits by transformers alone, in single precision, one text at a time."""
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs, _ = reference.encode(tokenizer, example, spans)
    with torch.no_grad():
        return model(**inputs).logits[0]


# --- forward -----------------------------------------------------------------------------------------


def test_predict_is_the_softmax_of_plain_transformers(folder):
    examples = tiny.make_examples(6, seed=1)
    labels, probabilities = TextClassifier.load(folder).predict(examples)
    for example, label, row in zip(examples, labels, probabilities, strict=True):
        expected = torch.softmax(plain_logits(folder, example), 0)
        np.testing.assert_allclose(row, expected.numpy(), rtol=1e-4, atol=1e-6)
        assert label == LABELS[int(expected.argmax())]
    np.testing.assert_allclose(probabilities.sum(1), 1.0, rtol=1e-12)
    assert len(set(labels)) > 1, "a classifier that always says the same tests nothing"


def test_predict_of_nothing_is_nothing(classifier):
    labels, probabilities = classifier.predict([])
    assert labels == []
    assert probabilities.shape == (0, 3)


def test_importance_is_the_fall_of_the_logit(folder):
    classifier = TextClassifier.load(folder)
    example = Example("The soup was cold, but the wine list was great.", context="soup")
    spans = [Span(13, 17), Span(41, 46), Span(0, len(example.text))]
    before = plain_logits(folder, example)
    chosen = int(before.argmax())
    after = [plain_logits(folder, example, [span]) for span in spans]
    falls = [float(before[chosen] - masked[chosen]) for masked in after]
    np.testing.assert_allclose(classifier.importance(example, spans), falls, rtol=1e-3, atol=1e-5)

    label = torch.tensor([chosen])
    risen = [
        float(torch.nn.functional.cross_entropy(masked[None], label))
        - float(torch.nn.functional.cross_entropy(before[None], label))
        for masked in after
    ]
    found = classifier.importance(example, spans, target="loss")
    np.testing.assert_allclose(found, risen, rtol=1e-3, atol=1e-5)


def test_importance_for_the_given_label(classifier, tiny_folder):
    example = Example("The soup was cold.", label="neutral")
    span = Span(13, 17)
    fall = (
        plain_logits(tiny_folder("bert"), example)
        - plain_logits(tiny_folder("bert"), example, [span])
    )[1]
    found = classifier.importance(example, [(13, 17)], label="given")
    np.testing.assert_allclose(found, [float(fall)], rtol=1e-3)
    with pytest.raises(InputError, match="has no label"):
        classifier.importance(Example("The soup was cold."), [span], label="given")


def test_importance_checks_its_spans(classifier):
    example = Example("cold soup")
    assert classifier.importance(example, []).shape == (0,)
    with pytest.raises(InputError, match="outside the text of 9 characters"):
        classifier.importance(example, [(5, 30)])
    with pytest.raises(
        InputError, match="target='probability' is not known: use 'loss', 'logit' or 'margin'"
    ):
        classifier.importance(example, [(0, 4)], target="probability")


def test_losses_of_logits():
    logits = torch.tensor([[1.0, 2.0, 4.0], [0.5, 0.0, -1.0]])
    labels = torch.tensor([2, 1])
    assert text_losses(logits, labels, "logit").tolist() == [-4.0, 0.0]
    expected = [
        -float(torch.log_softmax(row, 0)[label]) for row, label in zip(logits, labels, strict=True)
    ]
    np.testing.assert_allclose(text_losses(logits, labels, "loss"), expected, rtol=1e-6)
    odds = [np.log(np.exp(-loss) / (1 - np.exp(-loss))) for loss in expected]
    np.testing.assert_allclose(-text_losses(logits, labels, "margin"), odds, rtol=1e-5)


def test_embeddings_are_start_states_and_their_differences(folder):
    example = Example("The soup was cold.", spans=[(13, 17)])
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def start_state(spans):
        inputs, _ = reference.encode(tokenizer, example, spans)
        with torch.no_grad():
            return model.base_model(**inputs).last_hidden_state[0, 0].numpy()

    whole, masked = start_state(()), start_state(example.spans)
    units = [Unit(example), Unit(example, example.spans), Unit(Example("wine"))]
    found = TextClassifier.load(folder).embeddings(units)
    np.testing.assert_allclose(found[0], whole, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], whole - masked, rtol=1e-3, atol=1e-5)
    assert found.shape == (3, 16)
    assert np.abs(found[1]).max() > 1e-3


def test_dropout_is_off(tiny_folder):
    model = AutoModelForSequenceClassification.from_pretrained(tiny_folder("bert")).train()
    classifier = TextClassifier(model, AutoTokenizer.from_pretrained(tiny_folder("bert")))
    assert not any(module.training for module in classifier.model.modules())
    example = [Example("The soup was cold.")]
    first, second = (classifier.predict(example).probabilities for _ in range(2))
    assert first.tolist() == second.tolist()
    assert not any(parameter.requires_grad for parameter in classifier.model.parameters())


# --- labels ------------------------------------------------------------------------------------------


def test_labels_by_name_and_by_index(classifier):
    assert classifier.labels == LABELS
    assert [classifier.label_id(name) for name in LABELS] == [0, 1, 2]
    assert [classifier.label_id(index) for index in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("label", ["angry", 3, -1, "Positive", ""])
def test_a_label_that_the_model_does_not_know(classifier, label):
    with pytest.raises(InputError) as caught:
        classifier.label_id(label, "example 'a'")
    assert str(caught.value) == (
        f"example 'a' has the label {label!r}, which the model does not know: "
        "it knows negative, neutral, positive"
    )


def test_a_missing_label(classifier):
    with pytest.raises(InputError) as caught:
        classifier.label_ids([Example("x", label=1), Example("y", id="b")], "given")
    assert str(caught.value) == (
        "example 'b' has no label: give one of negative, neutral, positive"
    )


def test_a_number_is_first_a_name_of_the_model(tmp_path):
    """Stars from 1 to 3 are no class indices, although two of them could be."""
    classifier = TextClassifier.load(tiny.make_tiny(tmp_path, "bert", labels=("1", "2", "3")))
    assert [classifier.label_id(star) for star in (1, 2, 3)] == [0, 1, 2]
    assert classifier.label_id(0) == 0, "no such name: a class index"
    assert [classifier.label_id(star) for star in ("1", "2", "3")] == [0, 1, 2]


def test_the_choice_of_labels(classifier):
    examples = tiny.make_examples(5, seed=3)
    predicted = classifier.label_ids(examples, "predicted")
    assert [LABELS[i] for i in predicted] == classifier.predict(examples).labels
    given = classifier.label_ids(examples, "given")
    assert [LABELS[i] for i in given] == [example.label for example in examples]
    with pytest.raises(InputError, match="label='gold' is not known: use 'predicted' or 'given'"):
        classifier.label_ids(examples, "gold")


# --- the trunk's states ------------------------------------------------------------------------------


def count_first_block(classifier) -> list[int]:
    """A list that grows by one with every text that runs through the trunk."""
    seen: list[int] = []
    layer = classifier.model.bert.encoder.layer[0].output.dense
    layer.register_forward_pre_hook(lambda _, args: seen.extend([1] * len(args[0])))
    return seen


def test_trunk_states_are_computed_once_per_text(classifier):
    texts = classifier.encoder.encode(tiny.make_examples(7, seed=4))
    seen = count_first_block(classifier)
    first = classifier.logits(texts, keep=True)
    assert len(seen) == 7
    second = classifier.logits(texts[::-1], keep=True)
    assert len(seen) == 7, "the second pass ran the trunk again"
    np.testing.assert_allclose(second[::-1], first, rtol=1e-5, atol=1e-6)
    classifier.logits(classifier.encoder.encode([Example("something new")]))
    assert len(seen) == 8


def test_scores_share_the_states_among_points_and_calls(classifier):
    train, tests = tiny.make_examples(6, seed=5), tiny.make_examples(2, seed=6)
    explainer = Explainer(classifier, train, "tracin++")
    assert len(explainer.points) == 3
    explainer.scores(tests)
    seen = count_first_block(classifier)
    again = explainer.scores(tests)
    assert seen == [], "three points, two sides and a prediction, yet the trunk need not run"
    assert again.shape == (2, len(explainer.train_units))


def test_the_store_keeps_to_its_budget(classifier):
    texts = classifier.encoder.encode([Example(f"the soup was {word}") for word in "abcd"])
    one = len(texts[0]) * 16 * 4
    assert {len(text) for text in texts} == {len(texts[0])}
    classifier.states = StateStore(budget_bytes=2 * one + one // 2)
    kept = classifier.logits(texts, keep=True)
    assert classifier.states.used_bytes == 2 * one
    assert [text in classifier.states for text in texts] == [True, True, False, False]
    assert classifier.states.gather(texts[2:]) is None
    states, missing = classifier.states.gather(texts)
    assert states.shape == (4, len(texts[0]), 16)
    assert missing == [2, 3]
    np.testing.assert_allclose(classifier.logits(texts, keep=True), kept, rtol=1e-5, atol=1e-6)
    assert classifier.states.used_bytes == 2 * one
    classifier.states.clear()
    assert classifier.states.used_bytes == 0
    assert texts[0] not in classifier.states


def test_threads_share_a_store(classifier):
    """Its file has one place at a time, and every text its own."""
    texts = classifier.encoder.encode([Example(" ".join(["soup"] * n)) for n in range(1, 41)])
    store, mixed = StateStore(), []

    def states_of(number: int) -> torch.Tensor:
        return torch.full((1, len(texts[number]), 64), float(number))

    def keep_and_read(numbers: Sequence[int]) -> None:
        for number in numbers:
            store.keep([texts[number]], states_of(number))
            states, missing = store.gather([texts[number]])
            if missing or not torch.equal(states, states_of(number)):
                mixed.append(number)

    threads = [
        threading.Thread(target=keep_and_read, args=(list(range(40))[first::3] * 20,))
        for first in (0, 0, 1, 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mixed == []
    assert store.used_bytes == sum(len(text) for text in texts) * 64 * 4


def test_only_unknown_texts_of_a_batch_run_the_trunk(classifier):
    known, new = Example("the soup was cold and thin"), Example("a new one")
    texts = classifier.encoder.encode([known, new])
    expected = classifier.logits(texts)
    classifier.logits(texts[:1], keep=True)
    rows = []
    handle = next(classifier.model.modules()).register_forward_pre_hook(
        lambda module, args, kwargs: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    classifier.trunk_states(texts, classifier.encoder.collate(texts, classifier.device))
    handle.remove()
    assert rows == [1]
    np.testing.assert_allclose(classifier.logits(texts), expected, rtol=1e-4, atol=1e-5)


def test_a_full_disk_means_recomputing(classifier, monkeypatch):
    texts = classifier.encoder.encode([Example("soup"), Example("bread and soup")])
    expected = classifier.logits(texts)
    store = StateStore()
    classifier.states = store

    class Full:
        def seek(self, place):
            return place

        def write(self, content):
            raise OSError(28, "No space left on device")

    store._file = Full()
    np.testing.assert_allclose(classifier.logits(texts, keep=True), expected, rtol=1e-5, atol=1e-6)
    assert store.used_bytes == 0
    assert store.budget_bytes == 0


def test_other_attributed_parameters_forget_the_states(classifier):
    texts = classifier.encoder.encode([Example("soup")])
    classifier.logits(texts, keep=True)
    assert texts[0] in classifier.states
    classifier.attribute_parameters("head")
    assert texts[0] not in classifier.states


# --- points ------------------------------------------------------------------------------------------


def test_at_uses_other_values_and_restores_its_own(classifier):
    example = [Example("The soup was cold.")]
    own = {name: parameter.clone() for name, parameter in classifier.attributed.items()}
    before = classifier.predict(example).probabilities
    zero = {name: torch.zeros_like(parameter) for name, parameter in own.items()}
    with classifier.at(zero):
        np.testing.assert_allclose(classifier.predict(example).probabilities, 1 / 3, rtol=1e-6)
    assert classifier.predict(example).probabilities.tolist() == before.tolist()
    with pytest.raises(ZeroDivisionError), classifier.at(zero):
        raise ZeroDivisionError
    for name, parameter in classifier.attributed.items():
        assert torch.equal(parameter, own[name])
    assert all(not value.any() for value in zero.values()), "the point itself was changed"


def test_at_refuses_a_point_of_other_parameters(classifier):
    values = {name: parameter.clone() for name, parameter in classifier.attributed.items()}
    values.pop("classifier.bias")
    with pytest.raises(InputError) as caught, classifier.at(values):
        pass
    assert "first difference: classifier.bias" in str(caught.value)
    assert "same attribute=" in str(caught.value)


# --- settings ----------------------------------------------------------------------------------------


def test_the_window_is_what_model_and_tokenizer_allow(folder, tiny_folder):
    assert TextClassifier.load(folder).encoder.max_length == 64
    short = TextClassifier.load(folder, max_length=10)
    encoded = short.encoder.encode([Example("the soup was cold " * 9)])
    assert len(encoded[0]) == 10
    assert short.logits(encoded).shape == (1, 3)


@pytest.mark.parametrize("length", [0, -5, 1, 3, 65, 1000])
def test_a_window_that_the_model_cannot_have(tiny_folder, length):
    with pytest.raises(InputError) as caught:
        TextClassifier.load(tiny_folder("bert"), max_length=length)
    assert str(caught.value) == f"max_length={length} is not usable: choose 4 to 64 tokens"


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "cpu:x"])
def test_a_device_that_is_not_there(tiny_folder, device):
    with pytest.raises(InputError) as caught:
        TextClassifier.load(tiny_folder("bert"), device=device)
    assert str(caught.value).startswith(f"device={device!r} cannot be used here")
    assert "\n" not in str(caught.value)


def test_save_and_load_again(classifier, tmp_path):
    examples = tiny.make_examples(3, seed=8)
    classifier.save(tmp_path / "copy")
    copy = TextClassifier.load(tmp_path / "copy")
    assert copy.predict(examples).probabilities.tolist() == (
        classifier.predict(examples).probabilities.tolist()
    )
    assert not list((tmp_path / "copy").glob("*.bin"))
