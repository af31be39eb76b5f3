"""What a model and this machine can take: number formats, devices, lengths of texts."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from spanfluence.errors import InputError


def usable_dtype(name: str) -> torch.dtype:
    """The number format of that name."""
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    if name not in known:
        raise InputError(f"dtype={name!r} is not known: use {' or '.join(map(repr, known))}")
    return known[name]


def usable_device(name: str) -> torch.device:
    """The device of that name, if this machine and this torch have it."""
    try:
        return torch.empty(0, device=name).device
    except Exception as error:  # torch raises a different one for each reason
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"device={name!r} cannot be used here ({reason}): use 'cpu'") from None


def check_length(max_length: int, model: nn.Module, tokenizer: Any) -> None:
    """Raise unless texts of `max_length` tokens fit the model and hold more than special tokens."""
    least = tokenizer.num_special_tokens_to_add(pair=True) + 1
    most = min(_position_limits(model), default=max_length)
    if not least <= max_length <= most:
        raise InputError(
            f"max_length={max_length} is not usable: choose {least} to {max(least, most)} tokens"
        )


def _position_limits(model: nn.Module) -> list[int]:
    """Lengths of the tables of absolute positions."""
    limits = []
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            # RoBERTa-like models number positions from padding_idx + 1.
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            limits.append(module.num_embeddings - offset)
    return limits


def readable_length(model: nn.Module, tokenizer: Any) -> int:
    """Tokens the model can read: the least of what tokenizer and position embeddings allow."""
    limits = [int(tokenizer.model_max_length), *_position_limits(model)]
    positions = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        limits.append(positions)
    return min(limits)
