"""The oracle against things that do not share its code: finite differences, dense algebra, plain words."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reference import (
    Gradient,
    at_point,
    attributed,
    delta_point,
    dot,
    encode,
    importance,
    layers_of,
    lissa,
    lissa_solve,
    load,
    loss,
    score,
    scores,
    span_gradient,
    text_gradient,
    text_loss,
    unit_gradient,
)
from tiny import ARCHITECTURES, BYTE_LEVEL, make_examples, make_tiny, make_tokenizer, randomise
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from spanfluence.units import Example, Span, Unit

Loader = Callable[[str], tuple[Any, Any]]
LABELS = ("negative", "neutral", "positive")
TRICKY = "naïve crème brûlée 🍕🔥 and jalapen\u0303o tacos 😀 when we were there"


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Work this small only loses by threads: they wait for each other, and worse on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loader]:
    """`tiny(architecture)` gives the double-precision model and its tokenizer, built once."""
    home = tmp_path_factory.mktemp("tiny")
    built: dict[str, tuple[Any, Any]] = {}

    def get(architecture: str) -> tuple[Any, Any]:
        if architecture not in built:
            built[architecture] = load(make_tiny(home / architecture, architecture))
        return built[architecture]

    yield get


def span_of(text: str, words: str) -> Span:
    start = text.index(words)
    return Span(start, start + len(words))


def label_id(example: Example) -> int:
    return LABELS.index(str(example.label))


def direction(model: Any, names: list[str], seed: int = 0) -> Gradient:
    """A random unit vector in parameter space."""
    generator = torch.Generator().manual_seed(seed)
    named = dict(model.named_parameters())
    raw = {
        name: torch.randn(named[name].shape, generator=generator, dtype=torch.float64)
        for name in names
    }
    norm = dot(raw, raw, names) ** 0.5
    return {name: part / norm for name, part in raw.items()}


def slope(model: Any, along: Gradient, value: Callable[[Any], float], step: float = 1e-5) -> float:
    """Central difference of `value(model)` in the direction `along`."""
    named = dict(model.named_parameters())
    ends = [
        value(at_point(model, {name: named[name] + side * along[name] for name in along}))
        for side in (step, -step)
    ]
    return (ends[0] - ends[1]) / (2 * step)


def importance_slope(
    model: Any, along: Gradient, tokenizer: Any, unit: Unit, label: int, target: str
) -> float:
    return slope(model, along, lambda m: importance(m, tokenizer, unit, label, target))


# --- the tiny models ---------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_folder_loads_with_the_auto_classes(tmp_path: Path, architecture: str) -> None:
    folder = make_tiny(tmp_path / "model", architecture, labels=("no", "yes"), max_length=32)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert (folder / "model.safetensors").exists()
    assert not list(folder.glob("*.bin"))
    assert model.config.model_type == architecture
    assert model.config.id2label == {0: "no", 1: "yes"}
    assert model.config.label2id == {"no": 0, "yes": 1}
    assert tokenizer.is_fast and tokenizer.model_max_length == 32
    assert len(tokenizer) == model.config.vocab_size
    assert tokenizer.mask_token_id < len(tokenizer)
    assert any(isinstance(m, nn.Dropout) and m.p > 0 for m in model.modules())
    fresh = make_tokenizer(architecture, max_length=32)
    assert tokenizer("food", TRICKY, truncation=True) == fresh("food", TRICKY, truncation=True)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_same_seed_same_bytes_other_seed_other_weights(tmp_path: Path, architecture: str) -> None:
    a, b, c = (
        make_tiny(tmp_path / name, architecture, seed=seed)
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    for file in ("tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        assert (a / file).read_bytes() == (b / file).read_bytes()
    assert (a / "model.safetensors").read_bytes() != (c / "model.safetensors").read_bytes()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_models_are_not_degenerate(tiny: Loader, architecture: str) -> None:
    model, tokenizer = tiny(architecture)
    examples = make_examples(30, 5)
    logits = torch.stack([model(**encode(tokenizer, e)[0]).logits[0].detach() for e in examples])
    assert (logits.std(0) > 0.2).all()
    assert set(logits.argmax(1).tolist()) == {0, 1, 2}
    names = attributed(model, "all")
    gradient = text_gradient(model, encode(tokenizer, examples[1])[0], 0, "loss", names)
    inside = [name for name in attributed(model, "last-2") if not name.endswith("bias")]
    assert all(float(gradient[name].norm()) > 1e-4 for name in inside)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_padding_changes_no_logit(tiny: Loader, architecture: str) -> None:
    model, tokenizer = tiny(architecture)
    if architecture == "modernbert":  # its eager attention in double turns padding into NaN
        model = at_point(model, {})
        model.set_attn_implementation("sdpa")
    texts = [example.text for example in make_examples(4, 1, pairs=False)]
    contexts = ["food", "wine list", "café", "crème brûlée"]
    batch = tokenizer(contexts, texts, padding=True, truncation="only_second", return_tensors="pt")
    together = model(**batch).logits
    for row, (context, text) in enumerate(zip(contexts, texts, strict=True)):
        alone = model(**encode(tokenizer, Example(text, context=context))[0]).logits[0]
        torch.testing.assert_close(together[row], alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_tokenizer_without_mask_token_stays_without(tmp_path: Path, architecture: str) -> None:
    folder = make_tiny(tmp_path, architecture, mask_token=False)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    assert tokenizer.mask_token_id is None
    assert len(tokenizer) == model.config.vocab_size
    row = tokenizer("pizza", "the soup was cold", return_offsets_mapping=True)
    assert row.sequence_ids(0).count(1) >= 4
    assert row["input_ids"][0] == tokenizer.cls_token_id
    assert row["input_ids"][-1] == tokenizer.sep_token_id


def test_some_offsets_carry_the_space_before_a_word_and_some_do_not() -> None:
    carries = {}
    for architecture in ARCHITECTURES:
        row = make_tokenizer(architecture)("The soup was cold", return_offsets_mapping=True)
        carries[architecture] = any("The soup was cold"[s] == " " for s, e in row["offset_mapping"])
    assert {name for name, carried in carries.items() if carried} == {"deberta-v2", "modernbert"}


def test_examples_have_spans_on_words_and_contexts_as_asked() -> None:
    examples = make_examples(40, 2)
    assert examples == make_examples(40, 2)
    assert [e.context is not None for e in examples] == [bool(i % 2) for i in range(40)]
    assert all(e.context is None for e in make_examples(5, 2, pairs=False))
    assert all(e.context in e.text for e in make_examples(5, 2, pairs=True) if e.context)
    assert {len(e.spans) for e in examples} == {1, 2}
    assert {e.label for e in examples} == set(LABELS)
    for example in examples:
        for span in example.spans:
            around = example.text[span.start - 1] + example.text[span.end]
            assert not any(character.isalnum() for character in around)


# --- encoding ----------------------------------------------------------------------------------------


def plain_words(text: str, architecture: str) -> list[str]:
    """The words as the tokenizer's normaliser leaves them."""
    if architecture == "roberta":
        return text.split()
    if architecture in ("deberta-v2", "modernbert"):
        return unicodedata.normalize("NFC", text).split()
    stripped = unicodedata.normalize("NFD", text.lower())
    return "".join(c for c in stripped if not unicodedata.combining(c)).split()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    "words",
    ["naïve", "brûlée", "🍕🔥", "jalapen\u0303o", "jalapen\u0303o tacos 😀", "😀", "there", TRICKY],
)
def test_masking_removes_exactly_the_words_of_the_span(architecture: str, words: str) -> None:
    tokenizer = make_tokenizer(architecture, max_length=128)
    for context in (None, "crème brûlée 🍕🔥"):
        example = Example(TRICKY, context=context)
        inputs, positions = encode(tokenizer, example, [span_of(TRICKY, words)])
        plain, none = encode(tokenizer, example)
        assert inputs["input_ids"].shape == plain["input_ids"].shape
        assert positions and not none
        ids = inputs["input_ids"][0].tolist()
        special = {tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id}
        left = tokenizer.decode([i for i in ids if i not in special])
        rest = f"{context or ''} {TRICKY.replace(words, ' ', 1)}"
        assert "\ufffd" not in left
        assert _joined(left) == "".join(plain_words(rest, architecture))


def _joined(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("architecture", BYTE_LEVEL)
def test_an_emoji_of_four_bytes_is_four_masks(tiny: Loader, architecture: str) -> None:
    _, tokenizer = tiny(architecture)
    text = "so good 🍕🔥 twice"
    inputs, positions = encode(tokenizer, Example(text), [span_of(text, "🔥")])
    assert len(positions) == 4
    masked = _joined(tokenizer.decode(inputs["input_ids"][0], skip_special_tokens=False))
    assert "🍕" + 4 * tokenizer.mask_token + "twice" in masked


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_neighbours_of_a_span_keep_their_tokens(tiny: Loader, architecture: str) -> None:
    _, tokenizer = tiny(architecture)
    for example in make_examples(20, 7):
        plain, _ = encode(tokenizer, example)
        masked, positions = encode(tokenizer, example, example.spans)
        for name in plain:
            assert plain[name].shape == masked[name].shape
            same = plain[name][0] == masked[name][0]
            expected = [name != "input_ids" or i not in positions for i in range(len(same))]
            assert same.tolist() == expected


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_white_space_at_the_edge_of_a_span_reaches_no_neighbour(
    tiny: Loader, architecture: str
) -> None:
    _, tokenizer = tiny(architecture)
    example = Example("The soup was cold")
    _, exact = encode(tokenizer, example, [Span(4, 8)])
    _, wide = encode(tokenizer, example, [Span(3, 9)])
    assert exact == wide != []


def test_a_token_across_the_edge_of_a_span_is_masked_whole(tiny: Loader) -> None:
    _, tokenizer = tiny("bert")
    text = "the soup was awful"
    _, positions = encode(tokenizer, Example(text), [Span(5, 7)])
    row = tokenizer(text)
    words = row.word_ids(0)
    assert positions == [i for i, word in enumerate(words) if word == 1 and _meets(row, i, 5, 7)]
    assert encode(tokenizer, Example(text), [Span(3, 4)])[1] == []


def _meets(row: Any, token: int, start: int, end: int) -> bool:
    chars = row.token_to_chars(0, token)
    return bool(chars.start < end and chars.end > start)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_only_the_text_is_truncated(architecture: str) -> None:
    tokenizer = make_tokenizer(architecture, max_length=20)
    text = "the soup was cold and " * 8 + "the waiter was rude"
    example = Example(text, context="wine list")
    spans = [span_of(text, "cold"), span_of(text, "rude")]
    inputs, positions = encode(tokenizer, example, spans)
    assert inputs["input_ids"].shape[1] == 20
    assert positions and max(positions) < 12
    head = tokenizer("wine list")["input_ids"]
    assert inputs["input_ids"][0, : len(head) - 1].tolist() == head[:-1]
    single, _ = encode(tokenizer, Example(text))
    assert single["input_ids"].shape[1] == 20


# --- gradients ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ["bert", "modernbert", "deberta-v2"])
@pytest.mark.parametrize("target", ["loss", "logit"])
def test_instance_gradient_is_the_slope_of_the_loss(
    tiny: Loader, architecture: str, target: str
) -> None:
    model, tokenizer = tiny(architecture)
    example, names = make_examples(2, 0)[1], attributed(model, "all")
    along = direction(model, names)
    inputs, _ = encode(tokenizer, example)
    g = unit_gradient(
        model, tokenizer, Unit(example), 1, "instance", target, "masked", "text", names
    )
    # ModernBERT's eager attention takes its softmax in single precision, whatever the model's
    step, tolerance = (5e-3, 2e-3) if architecture == "modernbert" else (1e-5, 1e-6)
    expected = slope(model, along, lambda m: float(loss(m, inputs, 1, target).detach()), step)
    assert dot(g, along, names) == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("architecture", ["albert", "mpnet"])
@pytest.mark.parametrize("target", ["loss", "logit"])
def test_span_gradient_is_the_slope_of_the_importance(
    tiny: Loader, architecture: str, target: str
) -> None:
    model, tokenizer = tiny(architecture)
    names = attributed(model)
    for example in make_examples(3, 4):
        for unit in (Unit(example, example.spans), Unit(example)):
            g = unit_gradient(model, tokenizer, unit, 2, "span", target, "masked", "text", names)
            along = direction(model, names)
            expected = importance_slope(model, along, tokenizer, unit, 2, target)
            assert dot(g, along, names) == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_unmasked_contrast_is_minus_the_instance_gradient(tiny: Loader) -> None:
    model, tokenizer = tiny("electra")
    example, names = make_examples(1, 3)[0], attributed(model)
    unit = Unit(example, example.spans)
    kinds = [("span", "unmasked"), ("instance", "masked")]
    span, instance = (
        unit_gradient(model, tokenizer, unit, 0, kind, "logit", contrast, "text", names)
        for kind, contrast in kinds
    )
    for name in names:
        torch.testing.assert_close(span[name], -instance[name])


HEAD_OF = ("pooler", "classifier", "pre_classifier", "head.")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_all_positions_together_give_the_whole_gradient(tiny: Loader, architecture: str) -> None:
    model, tokenizer = tiny(architecture)
    if (
        architecture == "deberta-v2"
    ):  # its own projections for positions: tokens alone use the others
        config = type(model.config)(**model.config.to_dict() | {"share_att_key": False})
        model = AutoModelForSequenceClassification.from_config(config)
        randomise(model, 0)
        model = model.double().eval()
    names, example = attributed(model), make_examples(2, 6)[1]
    inputs, _ = encode(tokenizer, example)
    everywhere = range(inputs["input_ids"].shape[1])
    whole = text_gradient(model, inputs, 1, "loss", names)
    summed = span_gradient(model, inputs, everywhere, 1, "loss", names)
    without_tokens = [n for n in names if any(h in n for h in HEAD_OF) or "pos_" in n]
    for name in names:
        if name in without_tokens:
            assert not summed[name].any() and whole[name].any()
        else:
            torch.testing.assert_close(summed[name], whole[name], rtol=1e-9, atol=1e-12)
    assert 0 < len(without_tokens) < len(names) / 2


@pytest.mark.parametrize("architecture", ["bert", "albert", "deberta-v2", "modernbert"])
def test_span_locality_of_a_linear_is_the_sum_of_outer_products(
    tiny: Loader, architecture: str
) -> None:
    model, tokenizer = tiny(architecture)
    example, names = make_examples(4, 6)[3], attributed(model)
    inputs, positions = encode(tokenizer, example, example.spans, masked=False)
    tokens = inputs["input_ids"].shape[1]
    found = span_gradient(model, inputs, positions, 1, "logit", names)
    for owner in layers_of(names):
        module = model.get_submodule(owner)
        if isinstance(module, nn.Linear) and not any(head in owner for head in HEAD_OF):
            expected = torch.zeros_like(module.weight)
            for a, d in _calls(model, module, inputs):
                if a.shape[1] == tokens:  # no text of this test is as long as the position table
                    expected = expected + sum(torch.outer(d[0, t], a[0, t]) for t in positions)
            torch.testing.assert_close(found[f"{owner}.weight"], expected, rtol=1e-9, atol=1e-12)


def _calls(model: Any, module: nn.Linear, inputs: dict[str, Tensor]) -> list[tuple[Tensor, Tensor]]:
    """Input and output gradient of every call of a layer, caught by a forward hook."""
    kept: list[tuple[Tensor, Tensor]] = []
    handle = module.register_forward_hook(lambda _, args, out: kept.append((args[0], out)))
    value = loss(model, inputs, 1, "logit")
    handle.remove()
    outputs = torch.autograd.grad(value, [out for _, out in kept])
    return [(a.detach(), d) for (a, _), d in zip(kept, outputs, strict=True)]


def test_a_position_table_as_long_as_the_text_is_not_taken_for_the_text(tmp_path: Path) -> None:
    """DeBERTa's projections also run over relative positions; here both have 32 rows."""
    model, tokenizer = load(make_tiny(tmp_path, "deberta-v2", max_length=32))
    text = "the soup was cold and " * 8
    inputs, positions = encode(tokenizer, Example(text), [span_of(text, "soup")], masked=False)
    tokens = inputs["input_ids"].shape[1]
    assert model.config.position_buckets * 2 == tokens
    name = "deberta.encoder.layer.2.attention.self.key_proj"
    found = span_gradient(model, inputs, positions, 1, "logit", [f"{name}.weight"])
    calls = _calls(model, model.get_submodule(name), inputs)
    assert [tuple(a.shape[:2]) for a, _ in calls] == [(1, tokens), (1, tokens)]
    a, d = calls[0]  # the projection of the hidden states comes first
    expected = sum(torch.outer(d[0, t], a[0, t]) for t in positions)
    torch.testing.assert_close(found[f"{name}.weight"], expected, rtol=1e-9, atol=1e-12)


def test_gradients_leave_the_model_as_it_was(tiny: Loader) -> None:
    model, tokenizer = tiny("roberta")
    model.requires_grad_(False)
    example, names = make_examples(1, 8)[0], attributed(model)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    unit = Unit(example, example.spans)
    unit_gradient(model, tokenizer, unit, 0, "span", "loss", "masked", "span", names)
    assert not any(p.requires_grad or p.grad is not None for p in model.parameters())
    assert not any("forward" in module.__dict__ for module in model.modules())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


# --- scores ------------------------------------------------------------------------------------------


def test_scales_on_gradients_written_by_hand() -> None:
    a = {
        "x.weight": torch.tensor([3.0, 0.0]),
        "x.bias": torch.tensor([4.0]),
        "y.weight": torch.zeros(1),
    }
    b = {
        "x.weight": torch.tensor([0.0, 5.0]),
        "x.bias": torch.tensor([12.0]),
        "y.weight": torch.ones(1),
    }
    assert layers_of(list(a)) == {"x": ["x.weight", "x.bias"], "y": ["y.weight"]}
    assert score(a, b, "none") == 48
    assert score(a, b, "cosine") == pytest.approx(48 / (5 * 170**0.5))
    assert score(a, b, "layer-cosine") == pytest.approx(48 / (5 * 13))
    zero = {name: torch.zeros_like(part) for name, part in a.items()}
    assert score(a, zero, "cosine") == score(zero, b, "layer-cosine") == 0
    opposite = {"x.weight": b["x.weight"], "x.bias": b["x.bias"], "y.weight": -torch.ones(1)}
    c = b | {"y.weight": 7 * torch.ones(1)}
    assert score(c, opposite, "layer-cosine") == pytest.approx(0)


def test_plain_scores_are_slopes_of_the_train_importance(tiny: Loader) -> None:
    """<s', s> is how fast the train span's importance grows when the weights move along s'."""
    model, tokenizer = tiny("distilbert")
    names, tests, train = attributed(model), make_examples(2, 11), make_examples(3, 12)
    units = [Unit(e, (span,)) for e in train for span in e.spans]
    table = scores(
        model,
        tokenizer,
        tests,
        units,
        [(1.0, {})],
        parameters=names,
        test_labels=[label_id(e) for e in tests],
        train_labels=[label_id(u.example) for u in units],
    )
    for row, test in enumerate(tests):
        side = unit_gradient(
            model, tokenizer, Unit(test, test.spans), label_id(test), "span", "loss", "masked", "text", names
        )  # fmt: skip
        for column, unit in enumerate(units):
            label = label_id(unit.example)
            expected = importance_slope(model, side, tokenizer, unit, label, "loss")
            assert table[row, column] == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_points_add_up_with_their_weights_and_scale_before_weight(tiny: Loader) -> None:
    model, tokenizer = tiny("bert")
    names, tests, train = attributed(model), make_examples(2, 21), make_examples(3, 22)
    units = [Unit(e, e.spans[:1]) for e in train]
    named = dict(model.named_parameters())
    moved = {name: named[name].detach() * 1.1 for name in names}
    pinpoint: dict[str, Any] = {
        "target": "logit",
        "contrast": "unmasked",
        "locality": "span",
        "scale": "layer-cosine",
        "parameters": names,
        "test_labels": [0, 1],
        "train_labels": [2, 0, 1],
    }

    def run(points: list[tuple[float, Any]], **more: Any) -> np.ndarray[Any, Any]:
        return scores(model, tokenizer, tests, units, points, **pinpoint, **more)

    first, second = run([(1.0, {})]), run([(1.0, moved)])
    assert np.abs(first).max() <= 1 and not np.allclose(first, second)
    np.testing.assert_allclose(run([(0.5, {}), (2.0, moved)]), 0.5 * first + 2 * second, rtol=1e-9)
    need = np.array(
        [importance(model, tokenizer, u, y, "logit") for u, y in zip(units, [2, 0, 1], strict=True)]
    )
    np.testing.assert_allclose(run([(1.0, {})], weight="importance"), first * need, rtol=1e-9)
    np.testing.assert_allclose(
        run([(1.0, {})], weight="positive-importance"), first * np.maximum(need, 0), rtol=1e-9
    )
    assert (need > 0).any() and (need < 0).any()


def test_kinds_of_units_are_test_first_train_second(tiny: Loader) -> None:
    model, tokenizer = tiny("bert")
    names, test, train = attributed(model, "head"), make_examples(1, 31)[0], make_examples(1, 32)[0]
    unit = Unit(train, train.spans[:1])
    table = scores(
        model, tokenizer, [test], [unit], [(1.0, {})], units=("instance", "span"),
        parameters=names, test_labels=[1], train_labels=[2],
        solve=lambda values, v: {name: 3 * part for name, part in v.items()},
    )  # fmt: skip
    plain = text_gradient(model, encode(tokenizer, test)[0], 1, "loss", names)
    spans = [encode(tokenizer, train, s)[0] for s in (unit.spans, ())]
    gone, here = (text_gradient(model, inputs, 2, "loss", names) for inputs in spans)
    expected = 3 * (dot(plain, gone, names) - dot(plain, here, names))
    assert table[0, 0] == pytest.approx(expected, rel=1e-9)


# --- curvature and points ----------------------------------------------------------------------------


def logistic() -> tuple[Callable[[Any, Any], Tensor], dict[str, Tensor], Tensor, Gradient]:
    """A logistic regression in two parameter tensors, its dense Hessian, and a right-hand side."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(12, 4, generator=generator, dtype=torch.float64) * 3
    signs = torch.randint(0, 2, (12,), generator=generator) * 2.0 - 1
    parameters = {
        "w": torch.randn(3, generator=generator, dtype=torch.float64) / 3,
        "b": torch.randn(1, generator=generator, dtype=torch.float64) / 3,
    }

    def loss_at(values: Any, batch: Any) -> Tensor:
        rows = features[list(batch)]
        margin = signs[list(batch)] * (rows @ torch.cat([values["w"], values["b"]]))
        return torch.nn.functional.softplus(-margin).mean()

    p = torch.sigmoid(features @ torch.cat([parameters["w"], parameters["b"]]))
    hessian = (features * (p * (1 - p))[:, None]).T @ features / len(features)
    v = {"w": torch.tensor([0.1, -0.2, 0.05]).double(), "b": torch.tensor([0.03]).double()}
    return loss_at, parameters, hessian, v


def flat(gradient: Gradient) -> Tensor:
    return torch.cat([gradient["w"], gradient["b"]])


@pytest.mark.parametrize(("damp", "scale", "steps"), [(0.01, 0.004, 2500), (0.1, 0.2, 400)])
def test_lissa_converges_to_the_damped_inverse(damp: float, scale: float, steps: int) -> None:
    loss_at, parameters, hessian, v = logistic()
    batches = [range(12)] * steps
    found, done = lissa(loss_at, parameters, batches, v, damp=damp, scale=scale)
    damped = hessian + damp / scale * torch.eye(4, dtype=torch.float64)
    assert done == steps
    torch.testing.assert_close(flat(found), torch.linalg.solve(damped, flat(v)), rtol=1e-8, atol=0)


def test_lissa_on_single_instances_wanders_around_the_damped_inverse() -> None:
    """Single instances leave noise of the order of sqrt(scale); its mean over runs is much nearer."""
    loss_at, parameters, hessian, v = logistic()
    draws = np.random.default_rng(0).integers(0, 12, (4, 600)).tolist()
    ends = [flat(lissa(loss_at, parameters, [[k] for k in run], v)[0]) for run in draws]
    damped = hessian + 2.5 * torch.eye(4, dtype=torch.float64)
    exact = torch.linalg.solve(damped, flat(v))
    assert float((torch.stack(ends).mean(0) - exact).norm() / exact.norm()) < 0.1


def test_the_clamp_moves_the_fixed_point_of_a_long_vector() -> None:
    """At the fixed point the clamp acts on H h = H (H + lambda I)^-1 v / scale, not on H v."""
    loss_at, parameters, hessian, v = logistic()
    long = {name: 10 * part for name, part in v.items()}
    damped = hessian + 2.5 * torch.eye(4, dtype=torch.float64)
    exact = torch.linalg.solve(damped, flat(long))
    assert float((hessian @ exact).abs().max() / 0.004) > 100
    batches = [range(12)] * 1200
    clamped, _ = lissa(loss_at, parameters, batches, long)
    free, _ = lissa(loss_at, parameters, batches, long, clamp=math.inf)
    torch.testing.assert_close(flat(free), exact, rtol=1e-4, atol=0)
    assert float((flat(clamped) - exact).norm() / exact.norm()) > 0.05


def test_lissa_clamps_each_product_and_stops_when_the_norm_settles() -> None:
    loss_at, parameters, hessian, v = logistic()
    product = hessian @ flat(v)
    limit = float(product.abs().median())
    one, _ = lissa(loss_at, parameters, [range(12)], v, clamp=limit)
    expected = 0.004 * (1.99 * flat(v) - 0.004 * product.clamp(-limit, limit))
    torch.testing.assert_close(flat(one), expected)
    everything = [range(12)] * 2000
    _, early = lissa(loss_at, parameters, everything, v, tolerance=1e-4)
    _, capped = lissa(loss_at, parameters, everything, v, steps=7, tolerance=1e-12)
    norms = [
        float(flat(lissa(loss_at, parameters, everything, v, steps=k)[0]).norm())
        for k in (early - 2, early - 1, early)
    ]
    assert 10 < early < 2000 and capped == 7
    assert abs(norms[2] / norms[1] - 1) < 1e-4 <= abs(norms[1] / norms[0] - 1)


@pytest.mark.parametrize("architecture", ["bert", "deberta-v2"])
def test_lissa_step_on_a_text_uses_the_hessian_of_its_loss(tiny: Loader, architecture: str) -> None:
    """One step from v holds the product H v, here taken from a difference of gradients."""
    model, tokenizer = tiny(architecture)
    names, train = attributed(model), make_examples(3, 41)
    labels, step = [label_id(example) for example in train], 1e-5
    named = {name: p.detach() for name, p in model.named_parameters() if name in names}
    v = direction(model, names)
    inputs, _ = encode(tokenizer, train[2])
    up, down = (
        text_gradient(
            at_point(model, {n: named[n] + side * v[n] for n in names}), inputs, labels[2], "loss", names
        )
        for side in (step, -step)
    )  # fmt: skip
    loss_at = text_loss(model, tokenizer, train, labels)
    found, _ = lissa(loss_at, named, [[2]], v, damp=0.0, scale=1.0)
    solve = lissa_solve(model, tokenizer, train, labels, [[2]], names, damp=0.0, scale=1.0)
    again = solve({}, v)
    for name in names:
        product = (up[name] - down[name]) / (2 * step)
        torch.testing.assert_close(found[name], 2 * v[name] - product, rtol=1e-5, atol=1e-8)
        torch.testing.assert_close(again[name], found[name])


def test_delta_points_are_one_step_of_the_optimizer(tiny: Loader) -> None:
    model, tokenizer = tiny("mpnet")
    names, batch, rate = attributed(model), make_examples(4, 51), 1e-4
    labels = [label_id(example) for example in batch]
    named = {name: p.detach() for name, p in model.named_parameters() if name in names}

    def mean_loss(values: Any) -> Tensor:
        rows = [encode(tokenizer, example)[0] for example in batch]
        return torch.stack(
            [loss(model, row, y, "loss", values) for row, y in zip(rows, labels, strict=True)]
        ).mean()

    leaves = {name: value.clone().requires_grad_(True) for name, value in named.items()}
    g = dict(zip(names, torch.autograd.grad(mean_loss(leaves), list(leaves.values())), strict=True))
    sgd, adamw = (
        delta_point(model, tokenizer, batch, labels, rate, name, names) for name in ("sgd", "adamw")
    )
    for name in names:
        torch.testing.assert_close(sgd[name], named[name] - rate * g[name], rtol=1e-10, atol=1e-14)
        stepped = named[name] * (1 - rate * 0.01) - rate * g[name] / (g[name].abs() + 1e-8)
        torch.testing.assert_close(adamw[name], stepped, rtol=1e-8, atol=1e-12)
    assert mean_loss(sgd) < mean_loss(named) and mean_loss(adamw) < mean_loss(named)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_attributed_parameters_are_the_last_blocks_and_the_head(
    tiny: Loader, architecture: str
) -> None:
    model, _ = tiny(architecture)
    everything = [name for name, _ in model.named_parameters()]
    last, head, three = (attributed(model, which) for which in ("last-2", "head", "last-3"))
    assert attributed(model, "all") == everything
    assert set(head) < set(last) <= set(three) < set(everything)
    assert (set(last) == set(three)) == (architecture == "albert")
    assert not any("embed" in name for name in last)
    assert architecture == "albert" or not any(".0." in name for name in last)
    outside = [name for name in everything if name not in three]
    assert all(
        "embed" in n or "relative" in n or n.startswith("deberta.encoder.LayerNorm")
        for n in outside
    )
    assert {"classifier.weight", "classifier.out_proj.weight"} & set(head)
