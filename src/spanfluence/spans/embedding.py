"""A sentence encoder: mean-pooled, normalised states of any Hugging Face encoder, MiniLM by default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from spanfluence.encoding import length_batches
from spanfluence.loading import load_encoder
from spanfluence.usable import usable_device

MAX_TOKENS = 4096
LONGEST = 128  # tokens of one piece that are read: clauses are far shorter
DEFAULT = "minilm"
REMEMBERED = 200_000  # embeddings kept; beyond it the memory starts anew


class SentenceEncoder:
    """Embeds strings; each distinct string is embedded once."""

    def __init__(self, model: Any, tokenizer: Any, *, device: str = "cpu") -> None:
        self.device = usable_device(device)
        self.model, self.tokenizer = model.to(self.device).eval(), tokenizer
        self.longest = min(LONGEST, int(tokenizer.model_max_length))
        self._known: dict[str, Float[np.ndarray, " hidden"]] = {}

    @classmethod
    def load(cls, source: str | Path = DEFAULT, *, device: str = "cpu") -> SentenceEncoder:
        """From a folder or hub name of an encoder with a fast tokenizer."""
        return cls(*load_encoder(source), device=device)

    def embed(
        self, texts: Sequence[str], *, advance: Callable[[int], None] = lambda done: None
    ) -> Float[np.ndarray, "texts hidden"]:
        """One row of length 1 per text; `advance` counts the texts that had to be read."""
        if len(self._known) > REMEMBERED:
            self._known.clear()
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for rows, vectors in self._batches(new):
            for row, vector in zip(rows, vectors, strict=True):
                self._known[new[row]] = vector
            advance(len(rows))
        return np.stack([self._known[text] for text in texts])

    def _batches(self, texts: Sequence[str]) -> Any:
        if not texts:
            return
        ids = self.tokenizer(list(texts), truncation=True, max_length=self.longest)["input_ids"]
        for rows in length_batches([len(row) for row in ids], MAX_TOKENS):
            padded = self.tokenizer.pad({"input_ids": [ids[row] for row in rows]})
            inputs = {
                name: torch.tensor(padded[name], device=self.device)
                for name in ("input_ids", "attention_mask")
            }
            with torch.inference_mode():
                states = self.model(**inputs).last_hidden_state
                there = inputs["attention_mask"][:, :, None].to(states.dtype)
                pooled = (states * there).sum(1) / there.sum(1)
                yield rows, torch.nn.functional.normalize(pooled, dim=1).cpu().numpy()
