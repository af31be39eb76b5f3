"""The oracle: every formula of the method written the slow and obvious way.

One text at a time, no padding, no batching, no caching between points, plain `torch.autograd`. Nothing
here is shared with the library except the three data classes of `units.py`. Works in any precision; tests
compare in double (`load(folder)`).

    score(u', u) = sum_i  w_i * scale(< P_i s(u'; theta_i), s(u; theta_i) >) * weight(u; theta_i)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from spanfluence.units import Example, Span, Unit

Gradient = dict[str, Tensor]
Point = tuple[float, Mapping[str, Tensor]]
Solve = Callable[[Mapping[str, Tensor], Gradient], Gradient]
Batch = TypeVar("Batch")


def load(folder: Path | str, dtype: torch.dtype = torch.float64) -> tuple[Any, Any]:
    """The model (eager attention, dropout off) and tokenizer of a folder."""
    model = AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager")
    return model.to(dtype).eval(), AutoTokenizer.from_pretrained(folder)


def at_point(model: Any, values: Mapping[str, Tensor]) -> Any:
    """A copy of the model that holds `values`, ready for gradients: dropout off, nothing frozen."""
    moved = copy.deepcopy(model)
    moved.set_attn_implementation("eager")
    moved.eval()
    with torch.no_grad():
        named = dict(moved.named_parameters())
        for name, value in values.items():
            named[name].copy_(value)
    return moved.requires_grad_(True)


# --- texts -------------------------------------------------------------------------------------------


def encode(
    tokenizer: Any, example: Example, spans: Sequence[Span] = (), *, masked: bool = True
) -> tuple[dict[str, Tensor], list[int]]:
    """Model inputs of one text and the positions of the tokens that touch `spans`.

    These tokens are replaced by the mask token unless `masked=False`. Tokens of the context and special
    tokens never count.
    """
    if example.context is None:
        row, segment = tokenizer(example.text, truncation=True, return_offsets_mapping=True), 0
    else:
        row = tokenizer(
            example.context, example.text, truncation="only_second", return_offsets_mapping=True
        )
        segment = 1
    offsets, segments = row.pop("offset_mapping"), row.sequence_ids(0)
    positions = [
        position
        for position, (start, end) in enumerate(offsets)
        if segments[position] == segment and _touches(example.text, start, end, spans)
    ]
    inputs = {name: torch.tensor([values]) for name, values in row.items()}
    if masked:
        for position in positions:
            inputs["input_ids"][0, position] = tokenizer.mask_token_id
    return inputs, positions


def _touches(text: str, start: int, end: int, spans: Sequence[Span]) -> bool:
    """Whether a token's own characters, white space at either side aside, meet one of the spans."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return any(start < span.end and end > span.start for span in spans)


def spans_of(unit: Unit) -> tuple[Span, ...]:
    """The unit's spans; a unit without any is the whole text."""
    return unit.spans or (Span(0, len(unit.example.text)),)


def loss(
    model: Any,
    inputs: Mapping[str, Tensor],
    label_id: int,
    target: str,
    values: Mapping[str, Tensor] | None = None,
) -> Tensor:
    """Cross-entropy of the label (`"loss"`), minus its logit (`"logit"`), or minus its log-odds (`"margin"`).

    `values` stand in for the model's own parameters of the same names.
    """
    logits: Tensor = functional_call(model, dict(values or {}), kwargs=dict(inputs)).logits[0]
    if target == "loss":
        return torch.logsumexp(logits, 0) - logits[label_id]
    if target == "logit":
        return -logits[label_id]
    if target == "margin":
        chance = torch.softmax(logits, 0)[label_id]
        return torch.log1p(-chance) - torch.log(chance)
    raise ValueError(f"unknown target {target!r}")


def importance(model: Any, tokenizer: Any, unit: Unit, label_id: int, target: str) -> float:
    """`L(z_masked) - L(z)`: how much the model needs the unit's spans."""
    masked, _ = encode(tokenizer, unit.example, spans_of(unit))
    plain, _ = encode(tokenizer, unit.example)
    with torch.no_grad():
        return float(loss(model, masked, label_id, target) - loss(model, plain, label_id, target))


# --- gradients ---------------------------------------------------------------------------------------


def unit_gradient(
    model: Any,
    tokenizer: Any,
    unit: Unit,
    label_id: int,
    kind: str,
    target: str,
    contrast: str,
    locality: str,
    parameters: Sequence[str],
) -> Gradient:
    """`s(unit; theta)` at the model's present weights.

    An instance has no span, so `contrast` and `locality` do not apply to it.
    """
    plain, positions = encode(tokenizer, unit.example, spans_of(unit), masked=False)
    if kind == "instance":
        return text_gradient(model, plain, label_id, target, parameters)

    def gradient(inputs: Mapping[str, Tensor]) -> Gradient:
        if locality == "text":
            return text_gradient(model, inputs, label_id, target, parameters)
        if locality == "span":
            return span_gradient(model, inputs, positions, label_id, target, parameters)
        raise ValueError(f"unknown locality {locality!r}")

    here = gradient(plain)
    if contrast == "unmasked":
        return {name: -here[name] for name in parameters}
    if contrast == "masked":
        masked, _ = encode(tokenizer, unit.example, spans_of(unit))
        gone = gradient(masked)
        return {name: gone[name] - here[name] for name in parameters}
    raise ValueError(f"unknown contrast {contrast!r}")


def text_gradient(
    model: Any, inputs: Mapping[str, Tensor], label_id: int, target: str, parameters: Sequence[str]
) -> Gradient:
    """The ordinary gradient of one text's loss."""
    named = dict(model.named_parameters())
    leaves = {name: named[name].detach().clone().requires_grad_(True) for name in parameters}
    value = loss(model, inputs, label_id, target, leaves)
    found = torch.autograd.grad(value, list(leaves.values()), allow_unused=True)
    return {
        name: torch.zeros_like(leaf) if gradient is None else gradient
        for (name, leaf), gradient in zip(leaves.items(), found, strict=True)
    }


def span_gradient(
    model: Any,
    inputs: Mapping[str, Tensor],
    positions: Sequence[int],
    label_id: int,
    target: str,
    parameters: Sequence[str],
) -> Gradient:
    """The part of the gradient that comes from the given token positions.

    Every token position gets its own copy of the parameters; the gradients of the copies at `positions`
    are summed, over all calls of a layer. Calls that do not run over the tokens of the text (pooler,
    classifier, relative position tables) add nothing.
    """
    tokens = inputs["input_ids"].shape[1]
    named = dict(model.named_parameters())
    total = {name: torch.zeros_like(named[name]) for name in parameters}
    owners = {owner: model.get_submodule(owner) for owner in layers_of(parameters)}
    over_tokens = _calls_over_tokens(model, inputs, owners, tokens)
    copies: list[tuple[str, int, Tensor]] = []
    with _own_copies(owners, over_tokens, tokens, copies):
        value = loss(model, inputs, label_id, target)
    mine = [(name, leaf) for name, position, leaf in copies if position in positions]
    if mine:
        found = torch.autograd.grad(value, [leaf for _, leaf in mine], allow_unused=True)
        for (name, _), gradient in zip(mine, found, strict=True):
            if name in total and gradient is not None:
                total[name] = total[name] + gradient
    return total


@contextmanager
def _replaced(
    owners: Mapping[str, nn.Module], make: Callable[[str, nn.Module], Any]
) -> Iterator[None]:
    """Within the block every owner's `forward` is `make(owner, module)`."""
    try:
        for owner, module in owners.items():
            module.forward = make(owner, module)
        yield
    finally:
        for module in owners.values():
            module.__dict__.pop("forward", None)


def _calls_over_tokens(
    model: Any, inputs: Mapping[str, Tensor], owners: Mapping[str, nn.Module], tokens: int
) -> dict[str, list[bool]]:
    """Per layer and call: does its input have one row per token, computed from the text?

    "From the text" is seen by letting only the word embeddings require a gradient: an input that does
    not require one then is a table of relative positions, whatever its shape.
    """
    seen: dict[str, list[bool]] = {owner: [] for owner in owners}

    def spy(owner: str, module: nn.Module) -> Callable[[Tensor], Tensor]:
        original: Callable[[Tensor], Tensor] = module.forward

        def forward(x: Tensor) -> Tensor:
            rows = x.dim() == 3 and x.shape[0] == 1 and x.shape[1] == tokens
            seen[owner].append(rows and x.requires_grad)
            return original(x)

        return forward

    before = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    try:
        model.requires_grad_(False)
        model.get_input_embeddings().weight.requires_grad_(True)
        with _replaced(owners, spy):
            model(**inputs)
    finally:
        for parameter, flag in before:
            parameter.requires_grad_(flag)
    return seen


@contextmanager
def _own_copies(
    owners: Mapping[str, nn.Module],
    over_tokens: Mapping[str, list[bool]],
    tokens: int,
    copies: list[tuple[str, int, Tensor]],
) -> Iterator[None]:
    """Within the block each token position uses its own leaf copies, noted in `copies`."""

    def make(owner: str, module: nn.Module) -> Callable[[Tensor], Tensor]:
        original: Callable[[Tensor], Tensor] = module.forward
        calls = iter(over_tokens[owner])

        def copy_of(name: str, position: int) -> Tensor | None:
            own = getattr(module, name)
            if own is None:
                return None
            leaf: Tensor = own.detach().clone().requires_grad_(True)
            copies.append((f"{owner}.{name}", position, leaf))
            return leaf

        def forward(x: Tensor) -> Tensor:
            if not next(calls):
                return original(x)
            rows = [
                _apply(module, x[:, t], copy_of("weight", t), copy_of("bias", t))
                for t in range(tokens)
            ]
            return torch.stack(rows, dim=1)

        return forward

    with _replaced(owners, make):
        yield


def _apply(module: nn.Module, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """What the layer does to one token, with the given parameters."""
    if isinstance(module, nn.Linear) and weight is not None:
        return x @ weight.T if bias is None else x @ weight.T + bias
    if isinstance(module, nn.LayerNorm):
        centred = x - x.mean(-1, keepdim=True)
        x = centred / (centred.pow(2).mean(-1, keepdim=True) + module.eps).sqrt()
        x = x if weight is None else x * weight
        return x if bias is None else x + bias
    raise NotImplementedError(f"no span locality for {type(module).__name__}")


# --- scores ------------------------------------------------------------------------------------------


def layers_of(parameters: Sequence[str]) -> dict[str, list[str]]:
    """Parameter names by the module that owns them: weight and bias of one Linear are one layer."""
    layers: dict[str, list[str]] = {}
    for name in parameters:
        layers.setdefault(name.rpartition(".")[0], []).append(name)
    return layers


def dot(a: Gradient, b: Gradient, names: Sequence[str]) -> float:
    """Inner product over the named parameters."""
    return sum(float((a[name] * b[name]).sum()) for name in names)


def cosine(a: Gradient, b: Gradient, names: Sequence[str]) -> float | None:
    """Cosine over the named parameters; None where one side is zero."""
    norms = math.sqrt(dot(a, a, names)), math.sqrt(dot(b, b, names))
    return None if 0.0 in norms else dot(a, b, names) / (norms[0] * norms[1])


def score(test_gradient: Gradient, train_gradient: Gradient, scale: str) -> float:
    """Inner product, cosine, or the mean of the layers' cosines (layers where one side is zero aside)."""
    names = list(train_gradient)
    if scale == "none":
        return dot(test_gradient, train_gradient, names)
    if scale == "cosine":
        return cosine(test_gradient, train_gradient, names) or 0.0
    if scale == "layer-cosine":
        each = [cosine(test_gradient, train_gradient, own) for own in layers_of(names).values()]
        known = [value for value in each if value is not None]
        return sum(known) / len(known) if known else 0.0
    raise ValueError(f"unknown scale {scale!r}")


def train_weight(
    model: Any, tokenizer: Any, unit: Unit, label: int, target: str, weight: str
) -> float:
    """The factor a train unit's scores carry."""
    if weight == "none":
        return 1.0
    value = importance(model, tokenizer, unit, label, target)
    if weight == "importance":
        return value
    if weight == "positive-importance":
        return max(0.0, value)
    raise ValueError(f"unknown weight {weight!r}")


def scores(
    model: Any,
    tokenizer: Any,
    tests: Sequence[Example],
    train_units: Sequence[Unit],
    points: Sequence[Point],
    *,
    units: tuple[str, str] = ("span", "span"),
    target: str = "loss",
    contrast: str = "masked",
    locality: str = "text",
    scale: str = "none",
    weight: str = "none",
    parameters: Sequence[str],
    test_labels: Sequence[int],
    train_labels: Sequence[int],
    solve: Solve | None = None,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The formula. `units` is (test kind, train kind); all spans of a test are masked together.

    `points` are (weight, parameter values); parameters a point does not name stay as in `model`. `solve`
    applies the point's `P` to a test gradient.
    """
    total = np.zeros((len(tests), len(train_units)))
    for point_weight, values in points:
        here = at_point(model, values)

        def gradient(unit: Unit, label: int, kind: str, here: Any = here) -> Gradient:
            return unit_gradient(
                here, tokenizer, unit, label, kind, target, contrast, locality, parameters
            )

        columns = [
            (
                gradient(unit, label, units[1]),
                train_weight(here, tokenizer, unit, label, target, weight),
            )
            for unit, label in zip(train_units, train_labels, strict=True)
        ]
        for row, (example, label) in enumerate(zip(tests, test_labels, strict=True)):
            side = gradient(Unit(example, example.spans), label, units[0])
            if solve is not None:
                side = solve(values, side)
            for column, (train_side, factor) in enumerate(columns):
                total[row, column] += point_weight * score(side, train_side, scale) * factor
    return total


# --- curvature and points ----------------------------------------------------------------------------


def lissa(
    loss_at: Callable[[Mapping[str, Tensor], Batch], Tensor],
    parameters: Mapping[str, Tensor],
    batches: Sequence[Batch],
    v: Gradient,
    *,
    damp: float = 0.01,
    scale: float = 0.004,
    clamp: float = 100.0,
    steps: int | None = None,
    tolerance: float | None = None,
) -> tuple[Gradient, int]:
    """`h <- v + (1 - damp) h - scale * clamp(H_k h)` from `h = v`; gives `scale * h` and the steps done.

    `loss_at(parameters, batch)` is the loss whose Hessian `H_k` is; step k uses `batches[k]`, at most
    `steps` of them. With a `tolerance` the recursion stops after a step that changes the norm of h by
    less than that share. The fixed point is `(H + (damp / scale) I)^-1 v`.
    """
    names = list(parameters)
    where = tuple(parameters[name].detach() for name in names)
    start = tuple(v[name] for name in names)
    h, done = start, 0
    for batch in batches[:steps]:

        def value(*tensors: Tensor, batch: Batch = batch) -> Tensor:
            return loss_at(dict(zip(names, tensors, strict=True)), batch)

        _, product = torch.autograd.functional.vhp(value, where, h)  # type: ignore[no-untyped-call]
        before = _norm(h)
        h = tuple(
            v_part + (1 - damp) * h_part - scale * hh.clamp(-clamp, clamp)
            for v_part, h_part, hh in zip(start, h, product, strict=True)
        )
        done += 1
        if tolerance is not None and abs(_norm(h) - before) < tolerance * before:
            break
    return {name: scale * part for name, part in zip(names, h, strict=True)}, done


def _norm(parts: Sequence[Tensor]) -> float:
    return math.sqrt(sum(float(part.pow(2).sum()) for part in parts))


def text_loss(
    model: Any, tokenizer: Any, examples: Sequence[Example], labels: Sequence[int]
) -> Callable[[Mapping[str, Tensor], Sequence[int]], Tensor]:
    """A loss for `lissa`: mean cross-entropy of the instances whose indices are the batch."""

    def loss_at(parameters: Mapping[str, Tensor], batch: Sequence[int]) -> Tensor:
        values = []
        for index in batch:
            inputs, _ = encode(tokenizer, examples[index])
            values.append(loss(model, inputs, labels[index], "loss", parameters))
        return torch.stack(values).mean()

    return loss_at


def lissa_solve(
    model: Any,
    tokenizer: Any,
    examples: Sequence[Example],
    labels: Sequence[int],
    batches: Sequence[Sequence[int]],
    parameters: Sequence[str],
    **settings: Any,
) -> Solve:
    """`solve` for `scores`: LiSSA at the point, through the given instances in the given order."""

    def solve(values: Mapping[str, Tensor], v: Gradient) -> Gradient:
        here = at_point(model, values)
        named = dict(here.named_parameters())
        loss_at = text_loss(here, tokenizer, examples, labels)
        return lissa(loss_at, {name: named[name] for name in parameters}, batches, v, **settings)[0]

    return solve


def delta_point(
    model: Any,
    tokenizer: Any,
    batch_examples: Sequence[Example],
    labels: Sequence[int],
    learning_rate: float,
    optimizer: str,
    parameters: Sequence[str],
    *,
    weight_decay: float = 0.01,
) -> Gradient:
    """Parameters after one step on the batch's mean cross-entropy, dropout off.

    `"sgd"` is `theta - lr * grad`; `"adamw"` is a first step of `torch.optim.AdamW`.
    """
    here = at_point(model, {})
    named = dict(here.named_parameters())
    mean = {name: torch.zeros_like(named[name]) for name in parameters}
    for example, label in zip(batch_examples, labels, strict=True):
        inputs, _ = encode(tokenizer, example)
        gradient = text_gradient(here, inputs, label, "loss", parameters)
        for name in parameters:
            mean[name] = mean[name] + gradient[name] / len(batch_examples)
    if optimizer == "sgd":
        return {name: named[name].detach() - learning_rate * mean[name] for name in parameters}
    if optimizer != "adamw":
        raise ValueError(f"unknown optimizer {optimizer!r}")
    for name in parameters:
        named[name].grad = mean[name]
    stepper = torch.optim.AdamW(
        [named[name] for name in parameters], lr=learning_rate, weight_decay=weight_decay
    )
    stepper.step()
    return {name: named[name].detach().clone() for name in parameters}


# Where each architecture keeps its blocks, and what stands after them.
BLOCKS = {
    "bert": "bert.encoder.layer",
    "roberta": "roberta.encoder.layer",
    "distilbert": "distilbert.transformer.layer",
    "mpnet": "mpnet.encoder.layer",
    "electra": "electra.encoder.layer",
    "deberta-v2": "deberta.encoder.layer",
    "albert": "albert.encoder.albert_layer_groups",
    "modernbert": "model.layers",
}
HEADS = {
    "bert": ("bert.pooler.", "classifier."),
    "roberta": ("classifier.",),
    "distilbert": ("pre_classifier.", "classifier."),
    "mpnet": ("classifier.",),
    "electra": ("classifier.",),
    "deberta-v2": ("pooler.", "classifier."),
    "albert": ("albert.pooler.", "classifier."),
    "modernbert": ("model.final_norm.", "head.", "classifier."),
}


def attributed(model: Any, which: str = "last-2") -> list[str]:
    """Names of the parameters of the last N blocks and the head (`"last-N"`), `"head"`, or `"all"`.

    ALBERT has one block that serves as every layer. Tables shared by all blocks (relative positions)
    belong to none.
    """
    names = [name for name, _ in model.named_parameters()]
    if which == "all":
        return names
    architecture = model.config.model_type
    prefixes = list(HEADS[architecture])
    count = 0 if which == "head" else int(which.removeprefix("last-"))
    depth = 1 if architecture == "albert" else model.config.num_hidden_layers
    prefixes += [f"{BLOCKS[architecture]}.{i}." for i in range(max(0, depth - count), depth)]
    return [name for name in names if name.startswith(tuple(prefixes))]
