"""A store of trunk states: computed once per text, used by every point, side and method."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from spanfluence.encoding import Encoded


class StateStore:
    """Hidden states by text, kept in memory up to a budget of bytes; beyond it they are recomputed."""

    def __init__(self, budget_bytes: int = 2 << 30) -> None:
        self.budget_bytes = budget_bytes
        self.used_bytes = 0
        self._kept: dict[bytes, Tensor] = {}

    def __contains__(self, encoded: Encoded) -> bool:
        return encoded.key in self._kept

    def keep(self, batch: Sequence[Encoded], states: Float[Tensor, "texts tokens hidden"]) -> None:
        """Remember the states of each text of a padded batch, without its padding."""
        for encoded, rows in zip(batch, states, strict=True):
            size = len(encoded) * rows.shape[-1] * rows.element_size()
            if encoded.key not in self._kept and self.used_bytes + size <= self.budget_bytes:
                self._kept[encoded.key] = rows[: len(encoded)].clone()
                self.used_bytes += size

    def gather(self, batch: Sequence[Encoded]) -> Float[Tensor, "texts tokens hidden"] | None:
        """States of a batch, zero beyond each text's end; None unless every text is known."""
        if not all(encoded in self for encoded in batch):
            return None
        return torch.nn.utils.rnn.pad_sequence(
            [self._kept[encoded.key] for encoded in batch], batch_first=True
        )

    def clear(self) -> None:
        """Forget everything, e.g. when the trunk itself has changed."""
        self._kept.clear()
        self.used_bytes = 0
