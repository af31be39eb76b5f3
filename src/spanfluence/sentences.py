"""An independent sentence encoder: MiniLM with mean pooling, which knows nothing of the explained model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float

from spanfluence.encoding import length_batches
from spanfluence.loading import quiet_transformers, resolve_folder

BATCH_TOKENS = 4096


class SentenceEncoder:
    """Texts to vectors of length 1: the mean of the last hidden states over a text's tokens."""

    def __init__(self, source: str | Path = "minilm", *, max_length: int = 256) -> None:
        from transformers import AutoModel, AutoTokenizer

        folder = resolve_folder(source)
        with quiet_transformers():
            self.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
            self.model = AutoModel.from_pretrained(
                folder, use_safetensors=True, trust_remote_code=False
            ).eval()
        self.max_length = min(max_length, int(self.tokenizer.model_max_length))

    def __call__(self, texts: Sequence[str]) -> Float[np.ndarray, "texts hidden"]:
        """One row per text."""
        rows = self.tokenizer(list(texts), truncation=True, max_length=self.max_length)["input_ids"]
        result = np.zeros((len(rows), self.model.config.hidden_size), dtype=np.float32)
        for batch in length_batches([len(row) for row in rows], BATCH_TOKENS):
            inputs = self.tokenizer.pad(
                {"input_ids": [rows[index] for index in batch]}, return_tensors="pt"
            )
            with torch.no_grad():
                states = self.model(**inputs).last_hidden_state
            there = inputs["attention_mask"][:, :, None].to(states.dtype)
            mean = (states * there).sum(1) / there.sum(1)
            result[batch] = torch.nn.functional.normalize(mean, dim=1).numpy()
        return result
