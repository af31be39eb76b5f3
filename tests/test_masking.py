"""Masking modes: what the model reads, and that every score follows."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
import torch

from spanfluence import Example, Explainer, Span, TextClassifier
from spanfluence.errors import InputError, ModelError
from spanfluence.units import Unit

MODES = ("mask", "delete", "attention", "neutral", "neutral:the")
TRAIN = tiny.make_examples(6, seed=1)
TEST = Example(
    "The soup was cold, but the wine list was great.", "negative", "soup", (Span(13, 17),)
)


@pytest.fixture(params=MODES)
def masked(request, tiny_folder) -> TextClassifier:
    return TextClassifier.load(tiny_folder("bert"), mask_mode=request.param)


def naive_inputs(classifier: TextClassifier, unit: Unit) -> dict[str, torch.Tensor]:
    """One text as plain transformers code would mask it."""
    tokenizer, example = classifier.tokenizer, unit.example
    pair = (example.context, example.text) if example.context else (example.text,)
    batch = tokenizer(*pair, return_offsets_mapping=True)
    ids, types = list(batch["input_ids"]), list(batch["token_type_ids"])
    attention = [1] * len(ids)
    segment = 1 if example.context else 0
    hit = [
        s == segment and any(a < span.end and span.start < b for span in unit.spans)
        for s, (a, b) in zip(batch.sequence_ids(), batch["offset_mapping"], strict=True)
    ]
    mode = classifier.encoder.mask_mode
    if mode == "delete":
        ids, types, attention = (
            [v for v, h in zip(values, hit, strict=True) if not h]
            for values in (ids, types, attention)
        )
    elif mode == "attention":
        attention = [0 if h else 1 for h in hit]
    else:
        words = {"mask": tokenizer.mask_token, "neutral": tokenizer.unk_token, "neutral:the": "the"}
        other = tokenizer.convert_tokens_to_ids(words[mode])
        ids = [other if h else i for i, h in zip(ids, hit, strict=True)]
    named = {"input_ids": ids, "token_type_ids": types, "attention_mask": attention}
    return {name: torch.tensor([values]) for name, values in named.items()}


def naive_gradient(classifier: TextClassifier, unit: Unit, label: int, target: str) -> torch.Tensor:
    parameters = list(classifier.attributed.values())
    for parameter in parameters:
        parameter.requires_grad_(True)
    logits = classifier.model(**naive_inputs(classifier, unit)).logits
    loss = -logits[0, label]
    if target == "loss":
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor([label]))
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    for parameter in parameters:
        parameter.requires_grad_(False)
    return torch.cat(
        [
            (torch.zeros_like(p) if g is None else g).flatten()
            for p, g in zip(parameters, found, strict=True)
        ]
    )


def test_importance_is_that_of_the_naively_masked_text(masked):
    with torch.no_grad():
        whole = masked.model(**naive_inputs(masked, Unit(TEST))).logits[0]
        other = masked.model(**naive_inputs(masked, Unit(TEST, TEST.spans))).logits[0]
    label = int(whole.argmax())
    expected = float(whole[label] - other[label])
    assert masked.importance(TEST, TEST.spans)[0] == pytest.approx(expected, abs=1e-4)
    assert abs(expected) > 1e-4, "masking changes something"


def test_scores_are_those_of_naively_masked_texts(masked):
    explainer = Explainer(masked, TRAIN, "faithful")
    label = int(masked.label_ids([TEST], "predicted")[0])

    def span_gradient(unit: Unit, label: int) -> torch.Tensor:
        return naive_gradient(masked, unit, label, "loss") - naive_gradient(
            masked, Unit(unit.example), label, "loss"
        )

    test = span_gradient(Unit(TEST, TEST.spans), label)
    expected = [
        float(test @ span_gradient(unit, masked.label_id(unit.example.label)))
        for unit in explainer.train_units
    ]
    scores = explainer.scores([TEST])[0]
    np.testing.assert_allclose(scores, expected, rtol=2e-3, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["pinpoint", "tracin++", "tracin+"])
def test_every_kind_of_method_runs_and_records_the_mode(masked, method):
    explainer = Explainer(masked, TRAIN, method)
    explanation = explainer.explain(TEST, top_k=2)
    assert np.isfinite([hit.score for hit in explanation.supporters]).all()
    assert explanation.to_dict()["settings"]["mask"] == masked.encoder.mask_mode


def test_scores_do_not_depend_on_the_batch(masked):
    together = Explainer(masked, TRAIN).scores([TEST, *TRAIN[:2]])[0]
    alone = Explainer(masked, TRAIN, batch_tokens=1).scores([TEST])[0]
    np.testing.assert_allclose(alone, together, rtol=1e-4, atol=1e-6)


def test_a_model_without_a_mask_token(tmp_path):
    folder = tiny.make_tiny(tmp_path / "bare", "bert", mask_token=False)
    with pytest.raises(ModelError, match=r"has no mask token.*--mask-mode"):
        Explainer(TextClassifier.load(folder), TRAIN).explain(TEST)
    for mode in MODES[1:]:
        clf = TextClassifier.load(folder, mask_mode=mode)
        assert Explainer(clf, TRAIN).explain(TEST, top_k=1).supporters


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_every_architecture_takes_every_mode(tiny_folder, architecture):
    for mode in MODES[:4]:
        clf = TextClassifier.load(tiny_folder(architecture), mask_mode=mode)
        assert np.isfinite(clf.importance(TEST, [*TEST.spans, Span(0, len(TEST.text))])).all()


def test_modes_that_cannot_be(tiny_folder):
    folder = tiny_folder("bert")
    for mode in ("blank", "delete:the", "", "neutral:"):
        with pytest.raises(InputError, match="is not known: use 'mask', 'delete'"):
            TextClassifier.load(folder, mask_mode=mode)
    with pytest.raises(InputError, match="name a word of one token"):
        TextClassifier.load(folder, mask_mode="neutral:the wine list")
    clf = TextClassifier.load(folder, mask_mode="delete")
    with pytest.raises(InputError, match="leaves no token at the span's place"):
        Explainer(clf, TRAIN, "faithful", locality="span")
    Explainer(clf, TRAIN, "faithful", locality="span", contrast="unmasked")
