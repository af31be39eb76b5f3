"""The last block, run only at the position that the head reads.

A classifier that reads its first token alone needs the last block's query, attention output and feed-forward
at that one position. Each recipe here is a block's forward restricted so; `TextClassifier` uses one only after
it has given the model's own logits on a probe. How that one query attends is the caller's choice: with the keys and
values of all tokens (`attend_tokens`), or without (`one_query.py`). All other submodules are called as
modules, so whoever listens to them (see `capture.py`) hears them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

Forward = Callable[..., Tensor]


@dataclass(frozen=True, eq=False)
class Question:
    """What one position of each text asks of all tokens, in heads of a size."""

    query: Float[Tensor, "texts 1 hidden"]
    key: nn.Linear
    value: nn.Linear
    states: Float[Tensor, "texts tokens hidden"]
    mask: Tensor | None
    size: int
    dropout: nn.Module


Attend = Callable[[Question], Tensor]
"""Gives the context (texts, 1, hidden) of a question."""


def trimmed_forward(block: nn.Module, attend: Attend) -> Forward | None:
    """A forward of `block` for its first position only; None for an unknown architecture."""
    for family, recipe in RECIPES:
        if all(_has(block, path) for path in family):
            return recipe(block, attend)
    return None


@contextmanager
def trimmed(block: nn.Module | None, attend: Attend) -> Iterator[None]:
    """Run `block`, if there is one to be trimmed, by its trimmed forward for a while."""
    forward = None if block is None else trimmed_forward(block, attend)
    if block is None or forward is None:
        yield
        return
    with forward_replaced(block, forward):
        yield


@contextmanager
def forward_replaced(module: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    """Another forward for a while; one that someone else had put there is there again afterwards."""
    before = vars(module).get("forward")
    module.forward = forward
    try:
        yield
    finally:
        if before is None:
            del module.forward
        else:
            module.forward = before


def _bert(block: Any, attend: Attend) -> Forward:
    attention = block.attention.self

    def forward(
        hidden_states: Tensor, attention_mask: Tensor | None = None, *_: Any, **__: Any
    ) -> Tensor:
        first = hidden_states[:, :1]
        question = Question(
            attention.query(first),
            attention.key,
            attention.value,
            hidden_states,
            attention_mask,
            attention.attention_head_size,
            attention.dropout,
        )
        context = attend(question)
        output: Tensor = block.feed_forward_chunk(block.attention.output(context, first))
        return output

    return forward


def _distilbert(block: Any, attend: Attend) -> Forward:
    attention = block.attention

    def forward(
        hidden_states: Tensor, attention_mask: Tensor | None = None, *_: Any, **__: Any
    ) -> Tensor:
        first = hidden_states[:, :1]
        question = Question(
            attention.q_lin(first),
            attention.k_lin,
            attention.v_lin,
            hidden_states,
            attention_mask,
            attention.attention_head_size,
            attention.dropout,
        )
        context = attend(question)
        attended = block.sa_layer_norm(attention.out_lin(context) + first)
        output: Tensor = block.output_layer_norm(block.ffn(attended) + attended)
        return output

    return forward


def attend_tokens(asked: Question) -> Tensor:
    """With the keys and values of all tokens, as the block itself does it."""
    texts, size = len(asked.query), asked.size
    query, keys, values = (
        x.view(texts, -1, x.shape[-1] // size, size).transpose(1, 2)
        for x in (asked.query, asked.key(asked.states), asked.value(asked.states))
    )
    scores = query @ keys.transpose(2, 3) * size**-0.5
    context: Tensor = asked.dropout(masked(scores, asked.mask).softmax(-1)) @ values
    return context.transpose(1, 2).reshape(texts, 1, -1)


def masked(scores: Float[Tensor, "texts heads 1 tokens"], mask: Tensor | None) -> Tensor:
    """The scores as the mask of a block leaves them for its first position."""
    if mask is None:
        return scores
    row = mask[:, :, :1]
    if row.dtype == torch.bool:
        return scores.masked_fill(~row, torch.finfo(scores.dtype).min)
    return scores + row


def _has(module: Any, path: str) -> bool:
    for name in path.split("."):
        module = getattr(module, name, None)
    return module is not None


RECIPES: tuple[tuple[tuple[str, ...], Callable[[Any, Attend], Forward]], ...] = (
    (("attention.self.query", "attention.self.attention_head_size", "feed_forward_chunk"), _bert),
    (("attention.q_lin", "attention.attention_head_size", "sa_layer_norm", "ffn"), _distilbert),
)
