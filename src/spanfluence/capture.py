"""Running a classifier so that every attributed layer tells its inputs and output gradients.

Weights never require a gradient here: backward runs from the loss to the outputs of the attributed
layers and stops there, so summed weight gradients are never formed.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from spanfluence.encoding import Encoded
from spanfluence.head_rows import HeadRows, rows_by_head
from spanfluence.model import Target, TextClassifier, requiring_gradients, text_losses
from spanfluence.one_query import OneQuery, attend_once, needs_tokens
from spanfluence.products import FastLinear
from spanfluence.text_rows import TextRows, joined
from spanfluence.trim import Question, attend_tokens
from spanfluence.units import Example

LayerRows = TextRows | HeadRows


@dataclass(frozen=True, eq=False)
class Layer:
    """A module that owns attributed parameters. `kind` "whole" means per-example autograd.

    `shared` numbers those of its calls in a forward pass that serve all texts of the batch at once
    (DeBERTa projects its relative positions so): their output gradients are taken text by text.
    `heads` is set where one query attends to the layer's outputs (see `head_rows`).
    """

    name: str
    module: nn.Module
    kind: str  # "linear", "conv1d", "norm", "embedding" or "whole"
    parameters: tuple[str, ...]  # attributed ones by full name, weight before bias
    shared: frozenset[int] = frozenset()
    heads: int = 0


@dataclass(frozen=True, eq=False)
class TextGradients:
    """L of each text of a batch, and what each layer saw of it (in the order of `Capture.layers`)."""

    losses: Float[Tensor, " texts"]
    layers: list[LayerRows]


class Capture:
    """Per-example gradients of one classifier's attributed parameters."""

    def __init__(self, classifier: TextClassifier) -> None:
        self.classifier = classifier
        self.layers = _layers_of(classifier)
        self._examine()

    @property
    def parameter_names(self) -> list[tuple[str, ...]]:
        """Per layer, the parameters whose flattened gradients make up `dense()`, in order."""
        return [layer.parameters for layer in self.layers]

    def texts(
        self, batch: list[Encoded], label_ids: Int[Tensor, " texts"], target: Target
    ) -> TextGradients:
        """Gradients of L of each text at the classifier's present parameters."""
        inputs = self.classifier.encoder.collate(batch, self.classifier.device)
        states = self.classifier.trunk_states(batch, inputs)
        [found] = self.objectives(
            inputs, states, lambda logits: [text_losses(logits, label_ids, target)]
        )
        return found

    def objectives(
        self,
        inputs: Mapping[str, Tensor],
        states: Float[Tensor, "texts tokens hidden"] | None,
        of_logits: Callable[[Float[Tensor, "texts classes"]], list[Float[Tensor, " texts"]]],
    ) -> list[TextGradients]:
        """Gradients of several functions of the logits: one forward pass, one backward pass each."""
        texts, tokens = inputs["input_ids"].shape
        found = []
        with torch.enable_grad(), FastLinear(), _Recorder(self.layers, texts) as recorder:
            values = of_logits(self.classifier.tail_logits(inputs, states, recorder.attend))
            for number, value in enumerate(values, start=1):
                gradients = recorder.backward(value, retain=number < len(values))
                rows = [recorder.rows(layer, gradients, tokens) for layer in self.layers]
                found.append(TextGradients(value.detach(), rows))
        return found

    def _examine(self) -> None:
        """Run three texts: note which calls are shared, and compare every layer with plain autograd.

        A weight may also be used outside its module's forward: such layers go by per-example autograd.
        """
        probe = [Example("a b c d"), Example("e f g"), Example("i j k l m")]
        batch = self.classifier.encoder.encode(probe)
        labels = torch.arange(3, device=self.classifier.device) % len(self.classifier.labels)
        shared = self._shared_calls(batch)
        factored = [replace(x, shared=shared[x.name]) for x in self.layers]
        whole = [replace(x, kind="whole") for x in self.layers]
        self.layers = whole
        truth = self.texts(batch, labels, "loss")
        self.layers = factored
        self.layers = factored = self._headwise(factored, self.texts(batch, labels, "loss"))
        found = self.texts(batch, labels, "loss")
        half = self.classifier.model.dtype in (torch.bfloat16, torch.float16)
        agreed = [
            mine.kind == "whole" or _equal(a, b, half=half)
            for mine, a, b in zip(factored, found.layers, truth.layers, strict=True)
        ]
        self.layers = [f if good else w for f, w, good in zip(factored, whole, agreed, strict=True)]
        slow = [layer.name for layer in self.layers if layer.kind == "whole"]
        if slow:
            warnings.warn(
                f"per-example autograd, which is slow, is used for: {', '.join(slow)}", stacklevel=4
            )

    def _headwise(self, layers: list[Layer], found: TextGradients) -> list[Layer]:
        """The layers, each told its number of heads if its rows are one for each head."""
        heads = getattr(self.classifier.model.config, "num_attention_heads", 0)
        return [
            replace(layer, heads=heads) if heads and rows_by_head(rows.by_token, heads) else layer
            for layer, rows in zip(layers, found.layers, strict=True)
        ]

    def _shared_calls(self, batch: list[Encoded]) -> dict[str, frozenset[int]]:
        """By layer: the numbers of its calls that serve all texts at once."""
        with torch.no_grad(), _Recorder(self.layers, len(batch)) as recorder:
            self.classifier.model(**self.classifier.encoder.collate(batch, self.classifier.device))
        return {
            layer.name: frozenset(
                number
                for number, call in enumerate(c for c in recorder.calls if c.layer == layer.name)
                if call.output.shape[0] != len(batch)
            )
            for layer in self.layers
        }


def _equal(found: LayerRows, truth: LayerRows, *, half: bool) -> bool:
    expected = truth.by_token.rows[:, 0]
    mine = found.units(torch.arange(found.texts, device=expected.device)[:, None]).dense()
    loose = 5e-2 if half else 1e-3
    return bool((mine - expected).norm() <= loose * expected.norm() + loose * 1e-4)


@dataclass(frozen=True, eq=False)
class _Call:
    layer: str
    shared: bool
    input: Tensor
    output: Tensor
    answer: OneQuery | None = None
    """Of a key or value under one query: its output is then the scores or the context."""


class _Recorder:
    """Hooks that keep each call's input and output while a batch runs."""

    def __init__(self, layers: list[Layer], texts: int) -> None:
        self.layers = layers
        self.texts = texts
        self.calls: list[_Call] = []
        self._stack = ExitStack()

    def __enter__(self) -> _Recorder:
        for layer in self.layers:
            if layer.kind == "whole":
                self._stack.enter_context(requiring_gradients(owned(layer)))
                continue
            if layer.kind == "embedding":
                handle = layer.module.register_forward_pre_hook(self._expand)
                self._stack.callback(handle.remove)
            handle = layer.module.register_forward_hook(self._keep(layer))
            self._stack.callback(handle.remove)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _expand(self, _: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Position ids come once for the whole batch: give each text its own."""
        if args[0].dim() == 2 and args[0].shape[0] == 1 < self.texts:
            return (args[0].expand(self.texts, -1), *args[1:])
        return args

    def _keep(self, layer: Layer) -> Callable[[nn.Module, tuple[Any, ...], Tensor], Tensor]:
        numbers = itertools.count()

        def hook(_: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
            if not output.requires_grad and torch.is_grad_enabled():
                output = output.detach().requires_grad_()
            shared = next(numbers) in layer.shared
            self.calls.append(_Call(layer.name, shared, args[0].detach(), output))
            return output

        return hook

    def attend(self, asked: Question) -> Tensor:
        """`Attend` of the trimmed block: without keys and values where both are known to go by head."""
        by_head = {id(layer.module): layer.name for layer in self.layers if layer.heads}
        names = [by_head.get(id(module)) for module in (asked.key, asked.value)]
        # Dropped shares do not sum to 1, which the rows of a value's bias take for granted.
        if None in names or asked.dropout.training or needs_tokens(asked, hooks=1):  # its own
            return attend_tokens(asked)
        if not asked.query.requires_grad:  # gradients begin here, as in `_keep`
            asked = replace(asked, query=asked.query.detach().requires_grad_())
        found, states = attend_once(asked), asked.states.detach()
        for name, output in zip(names, (found.scores, found.context), strict=True):
            self.calls.append(_Call(str(name), False, states, output, found))
        return found.joined

    def backward(self, losses: Float[Tensor, " texts"], *, retain: bool) -> list[Tensor]:
        """Gradient at each call's output, one entry per text; shared calls and whole layers text by text."""
        shared = [call.output for call in self.calls if call.shared]
        own = [call.output for call in self.calls if not call.shared]
        whole = [p for layer in self.layers if layer.kind == "whole" for p in owned(layer)]
        found = _per_example(losses, [*shared, *whole], retain=retain or bool(own))
        self._whole = {id(p): g for p, g in zip(whole, found[len(shared) :], strict=True)}
        text_by_text = iter(found[: len(shared)])
        together = iter(_materialised(own, losses.sum(), retain=retain))
        return [next(text_by_text if call.shared else together) for call in self.calls]

    def rows(self, layer: Layer, gradients: list[Tensor], tokens: int) -> LayerRows:
        """What one layer saw, over all its calls."""
        if layer.kind == "whole":
            own = [self._whole[id(p)].flatten(1) for p in owned(layer)]
            return _as_single_row(widened(torch.cat(own, 1)))
        pairs = [
            (call, gradient)
            for call, gradient in zip(self.calls, gradients, strict=True)
            if call.layer == layer.name
        ]
        if not pairs:  # a module that this model never runs
            size = sum(parameter.numel() for parameter in owned(layer))
            return _as_single_row(widened(owned(layer)[0].new_zeros(self.texts, size)))
        if pairs[0][0].answer is not None:
            return _head_rows(layer, *pairs[0])
        rows = self._text_rows(layer, pairs, tokens)
        return (rows_by_head(rows, layer.heads) or rows) if layer.heads else rows

    def _text_rows(self, layer: Layer, pairs: list[tuple[_Call, Tensor]], tokens: int) -> TextRows:
        # Sums over rows and layers need more than eight bits: half-precision factors are widened here.
        outputs = widened(joined([g.reshape(self.texts, -1, g.shape[-1]) for _, g in pairs]))
        positions = torch.cat([_token_rows(call, g, tokens) for call, g in pairs])
        weight, bias = (_attributes(layer, name) for name in ("weight", "bias"))
        inputs = widened(joined([self._inputs(layer, call) for call, _ in pairs]))
        if layer.kind == "embedding":
            table: Any = layer.module
            if table.padding_idx is not None:  # torch never moves the padding row
                outputs = outputs * (inputs != table.padding_idx)[..., None]
            size = table.num_embeddings
            return TextRows("embedding", outputs, positions, ids=inputs, table_rows=size)
        if layer.kind == "norm":
            terms = [outputs * normalised(layer.module, inputs)] if weight else []
            return TextRows("dense", torch.cat([*terms, outputs] if bias else terms, -1), positions)
        return TextRows(
            "matrix",
            outputs,
            positions,
            inputs=inputs,
            weight=weight,
            bias=bias,
            transposed=layer.kind == "conv1d",
        )

    def _inputs(self, layer: Layer, call: _Call) -> Tensor:
        """(texts, rows, width) of a call's input, (texts, rows) of ids; shared input is repeated."""
        width = () if layer.kind == "embedding" else call.input.shape[-1:]
        if call.shared:
            return call.input.reshape(1, -1, *width).expand(self.texts, -1, *width)
        return call.input.reshape(self.texts, -1, *width)


def _head_rows(layer: Layer, call: _Call, gradient: Tensor) -> HeadRows:
    """Of a key: c_rh q_h with the gradient c of the scores; of a value: p_rh g_h with that of the context."""
    answer = call.answer
    assert answer is not None
    if call.output is answer.scores:
        factors, vectors = gradient * answer.query.shape[2] ** -0.5, answer.query.detach()
    else:
        factors, vectors = answer.shares.detach(), gradient
    tokens = torch.arange(call.input.shape[1], device=call.input.device)
    return HeadRows(
        widened(call.input),
        tokens,
        widened(factors.mT),
        widened(vectors),
        weight=_attributes(layer, "weight"),
        bias=_attributes(layer, "bias"),
    )


def widened(values: Tensor) -> Tensor:
    """Half-precision numbers as float32."""
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values


def _as_single_row(values: Float[Tensor, "texts size"]) -> TextRows:
    return TextRows("dense", values[:, None], torch.full((1,), -1, device=values.device))


def _token_rows(call: _Call, gradient: Tensor, tokens: int) -> Int[Tensor, " rows"]:
    """The token position of each row of a call; -1 where rows are not the text's tokens."""
    rows = gradient[0, ..., 0].numel()
    if not call.shared and gradient.dim() == 3 and rows == tokens:
        return torch.arange(tokens, device=gradient.device)
    return torch.full((rows,), -1, device=gradient.device)


def normalised(module: Any, inputs: Tensor) -> Tensor:
    """What a norm multiplies by its weight."""
    if isinstance(module, nn.LayerNorm):
        return nn.functional.layer_norm(inputs, module.normalized_shape, eps=module.eps)
    epsilon = getattr(module, "variance_epsilon", None) or getattr(module, "eps", None) or 1e-6
    return inputs * torch.rsqrt(inputs.square().mean(-1, keepdim=True) + epsilon)


def _layers_of(classifier: TextClassifier) -> list[Layer]:
    owners: dict[str, list[str]] = {}
    for name in classifier.attributed:
        owners.setdefault(name.rpartition(".")[0], []).append(name)
    modules = dict(classifier.model.named_modules())
    layers = []
    for owner, names in owners.items():
        kind = _kind(modules[owner], {name.rpartition(".")[2] for name in names})
        names.sort(key=lambda name: (not name.endswith("weight"), name))
        layers.append(Layer(owner, modules[owner], kind, tuple(names)))
    return layers


def _kind(module: nn.Module, attributed: set[str]) -> str:
    if attributed <= {"weight", "bias"}:
        if isinstance(module, nn.Linear):
            return "linear"
        if isinstance(module, nn.LayerNorm) or type(module).__name__.endswith("RMSNorm"):
            return "norm"
        if isinstance(module, nn.Embedding):
            return "embedding"
        if type(module).__name__ == "Conv1D":
            return "conv1d"
    return "whole"


def _attributes(layer: Layer, short: str) -> bool:
    return any(name.rpartition(".")[2] == short for name in layer.parameters)


def owned(layer: Layer) -> list[nn.Parameter]:
    """A layer's attributed parameters, weight before bias."""
    return [getattr(layer.module, name.rpartition(".")[2]) for name in layer.parameters]


def _materialised(outputs: Sequence[Tensor], loss: Tensor, *, retain: bool = False) -> list[Tensor]:
    """Gradients of `loss`, zero where it does not depend on an output."""
    if not outputs:
        return []
    found = torch.autograd.grad(loss, outputs, retain_graph=retain, allow_unused=True)
    return [torch.zeros_like(o) if g is None else g for o, g in zip(outputs, found, strict=True)]


def _per_example(
    losses: Float[Tensor, " texts"], leaves: Sequence[Tensor], *, retain: bool
) -> list[Tensor]:
    """Gradient of each loss, one backward pass per text; texts become the first axis."""
    if not leaves:
        return []
    last = len(losses) - 1
    found = [
        _materialised(leaves, loss, retain=retain or index < last)
        for index, loss in enumerate(losses)
    ]
    return [torch.stack(column) for column in zip(*found, strict=True)]
