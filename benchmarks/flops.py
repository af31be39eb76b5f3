"""Floating-point operations that exact span scores cannot do without, counted from layer shapes.

Per text the trunk once; per point the tail forwards and backwards to the outputs of the first attributed layers; and
per layer the cheaper of two products: from matrices (each unit's gradient written out, then one product with all
tests) or from rows, once for all points where they lie as near each other as delta-faithful ones do
(`spanfluence.nearby`). A multiplication and an addition count as two. Only matrix products are counted; norms,
activation functions and biases come on top. A BERT whose head reads the first token is assumed: its last block
is needed at one position; under that one query, keys and values are a row for each head, in the passes
(`spanfluence.one_query`) and in the gradients, whatever the length of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn
from workload import Workload

from spanfluence import TextClassifier
from spanfluence.nearby import worth_trying


@dataclass(frozen=True)
class Linear:
    """A linear layer. `place`: trunk, first (block of the tail), middle, last (block) or head."""

    place: str
    name: str
    size: int  # inputs x outputs
    width: int  # inputs + outputs

    def rows(self, tokens: int) -> int:
        """How many rows of a text meet its weight, and have gradients (of keys under one query: each head's
        row meets its own part of the weight, together once)."""
        return 1 if self.place in ("last", "head") else tokens

    @property
    def under_one_query(self) -> bool:
        """Whether its gradients have one row per head."""
        return self.place == "last" and self.name.endswith(("key", "value"))

    @property
    def goes_back(self) -> bool:
        """Whether the gradient must pass through it: not where it reads the trunk's states."""
        reads_trunk = self.name.endswith(("query", "key", "value"))
        return self.place != "trunk" and not (self.place == "first" and reads_trunk)


def linears(classifier: TextClassifier) -> list[Linear]:
    """The layers of the model, in order."""
    blocks = classifier.model.config.num_hidden_layers
    depth = classifier.trunk.depth if classifier.trunk is not None else 0
    found = []
    for name, module in classifier.model.named_modules():
        if isinstance(module, nn.Linear):
            shape = module.in_features, module.out_features
            place = _place(name, depth, blocks)
            found.append(Linear(place, name, shape[0] * shape[1], sum(shape)))
    return found


def _place(name: str, depth: int, blocks: int) -> str:
    _, found, rest = name.partition(".layer.")
    if not found:
        return "head"
    number = int(rest.partition(".")[0])
    if number < depth:
        return "trunk"
    if number == blocks - 1:
        return "last"
    return "first" if number == depth else "middle"


def trunk_flops(layers: Sequence[Linear], hidden: int, tokens: int) -> float:
    """One text through the frozen blocks."""
    own = [layer for layer in layers if layer.place == "trunk"]
    blocks = sum(layer.name.endswith("query") for layer in own)
    return 2.0 * tokens * sum(layer.size for layer in own) + blocks * 4 * tokens**2 * hidden


def forward_flops(layers: Sequence[Linear], hidden: int, heads: int, tokens: int) -> float:
    """One text through the rest; its rows by head come out on the way."""
    own = [layer for layer in layers if layer.place != "trunk"]
    weights = sum(2.0 * layer.rows(tokens) * layer.size for layer in own)
    return weights + 2 * attention_flops(own, hidden, heads, tokens)


def backward_flops(layers: Sequence[Linear], hidden: int, heads: int, tokens: int) -> float:
    """One text back to the outputs of the first attributed layers."""
    weights = sum(2.0 * layer.rows(tokens) * layer.size for layer in layers if layer.goes_back)
    return weights + 4 * attention_flops(layers, hidden, heads, tokens)


def attention_flops(layers: Sequence[Linear], hidden: int, heads: int, tokens: int) -> float:
    """One product of all that ask in the tail with all tokens; an attention has two, backwards four."""
    asked = [
        heads if layer.place == "last" else tokens
        for layer in layers
        if layer.place != "trunk" and layer.name.endswith("query")
    ]
    return 2.0 * sum(asked) * tokens * hidden


def product_flops(
    layers: Sequence[Linear], heads: int, tests: Sequence[int], train: Sequence[int]
) -> float:
    """Inner products of all pairs; every unit has two texts of the given length."""
    total = 0.0
    for layer in layers:
        if layer.place == "trunk":
            continue
        if layer.under_one_query:
            hidden = layer.width // 2
            total += 8.0 * hidden * (heads + 1) * len(tests) * len(train)
            continue
        ours = sum(2 * layer.rows(tokens) for tokens in tests)
        theirs = sum(2 * layer.rows(tokens) for tokens in train)
        by_matrices = 2.0 * layer.size * (ours + theirs + len(tests) * len(train))
        by_rows = 2.0 * layer.width * ours * theirs
        total += min(by_matrices, by_rows)
    return total


def necessary_flops(work: Workload, points: int) -> float:
    """Of `tracin++` for the workload, cold."""
    layers, hidden, heads = _shapes(work)
    tests, train = _lengths(work)
    texts = 2 * [*tests, *train]
    once = sum(trunk_flops(layers, hidden, tokens) for tokens in texts)
    each = sum(
        way(layers, hidden, heads, tokens)
        for tokens in texts
        for way in (forward_flops, backward_flops)
    )
    products = product_flops(layers, heads, tests, train)
    together = worth_trying(work.points[:points])
    return once + points * each + (products if together else points * products)


def pinpoint_passes_flops(work: Workload) -> float:
    """Of `pinpoint`, cold, without any product of gradients: less than it needs.

    Tests are read whole; training texts also masked, since a score is weighed by what the span does to
    the logit. Gradients are those of whole texts: all tokens ask for the span's keys and values, so
    locality spares hardly anything on the way back.
    """
    layers, hidden, heads = _shapes(work)
    tests, train = _lengths(work)
    forwards = sum(
        trunk_flops(layers, hidden, tokens) + forward_flops(layers, hidden, heads, tokens)
        for tokens in [*tests, *train, *train]
    )
    return forwards + sum(
        backward_flops(layers, hidden, heads, tokens) for tokens in [*tests, *train]
    )


def _shapes(work: Workload) -> tuple[list[Linear], int, int]:
    """The layers, the hidden size and the heads of the model."""
    config = work.linear.model.config
    return linears(work.linear), config.hidden_size, config.num_attention_heads


def _lengths(work: Workload) -> tuple[list[int], list[int]]:
    """Tokens of the tests and of the training texts."""
    encode = work.linear.encoder.encode
    return [len(text) for text in encode(work.tests)], [len(text) for text in encode(work.train)]
