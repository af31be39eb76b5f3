"""The last block, run only at the position that the head reads.

A classifier that reads its first token alone needs the last block's keys and values everywhere, but its
queries, attention output and feed-forward at that one position. Each recipe here is a block's forward
restricted so; `TextClassifier` uses one only after it has given the model's own logits on a probe.
Submodules are called as modules, so whoever listens to them (see `capture.py`) hears them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

Forward = Callable[..., Tensor]


def trimmed_forward(block: nn.Module) -> Forward | None:
    """A forward of `block` for its first position only; None for an unknown architecture."""
    for family, recipe in RECIPES:
        if all(_has(block, path) for path in family):
            return recipe(block)
    return None


@contextmanager
def using(block: nn.Module, forward: Forward) -> Iterator[None]:
    """Run `block` by another forward for a while."""
    block.forward = forward
    try:
        yield
    finally:
        del block.forward


def _bert(block: Any) -> Forward:
    attention = block.attention.self

    def forward(
        hidden_states: Tensor, attention_mask: Tensor | None = None, *_: Any, **__: Any
    ) -> Tensor:
        first = hidden_states[:, :1]
        context = _attend(
            attention.query(first),
            attention.key(hidden_states),
            attention.value(hidden_states),
            attention_mask,
            attention.attention_head_size,
            attention.dropout,
        )
        output: Tensor = block.feed_forward_chunk(block.attention.output(context, first))
        return output

    return forward


def _distilbert(block: Any) -> Forward:
    attention = block.attention

    def forward(
        hidden_states: Tensor, attention_mask: Tensor | None = None, *_: Any, **__: Any
    ) -> Tensor:
        first = hidden_states[:, :1]
        context = _attend(
            attention.q_lin(first),
            attention.k_lin(hidden_states),
            attention.v_lin(hidden_states),
            attention_mask,
            attention.attention_head_size,
            attention.dropout,
        )
        attended = block.sa_layer_norm(attention.out_lin(context) + first)
        output: Tensor = block.output_layer_norm(block.ffn(attended) + attended)
        return output

    return forward


def _attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, size: int, dropout: nn.Module
) -> Tensor:
    """Multi-head attention of one query position over all keys."""
    texts = query.shape[0]
    query, key, value = (
        x.view(texts, -1, x.shape[-1] // size, size).transpose(1, 2) for x in (query, key, value)
    )
    scores = query @ key.transpose(2, 3) * size**-0.5
    if mask is not None:
        row = mask[:, :, :1]
        scores = (
            scores.masked_fill(~row, torch.finfo(scores.dtype).min)
            if row.dtype == torch.bool
            else scores + row
        )
    context: Tensor = dropout(scores.softmax(-1)) @ value
    return context.transpose(1, 2).reshape(texts, 1, -1)


def _has(module: Any, path: str) -> bool:
    for name in path.split("."):
        module = getattr(module, name, None)
    return module is not None


RECIPES: tuple[tuple[tuple[str, ...], Callable[[Any], Forward]], ...] = (
    (("attention.self.query", "attention.self.attention_head_size", "feed_forward_chunk"), _bert),
    (("attention.q_lin", "attention.attention_head_size", "sa_layer_norm", "ffn"), _distilbert),
)
