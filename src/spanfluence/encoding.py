"""From characters to tokens: encoding, and which tokens a character span touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from spanfluence.errors import InputError, ModelError
from spanfluence.units import Example, Span, Unit

BATCH_COST = 96  # tokens that take about as long as what a batch needs beside its products
TOKENIZED_TOGETHER = 256  # texts: what a tokenizer returns is ten times what is kept of it
MASK_MODES = ("mask", "delete", "attention", "neutral")


@dataclass(frozen=True, eq=False)
class Encoded:
    """One text as the model reads it.

    `starts` and `ends` hold each token's character range in the example's text, trimmed of white
    space; tokens that are not of the text (special tokens, context) have the empty range (0, 0).
    `unseen` marks tokens that no other token attends to.
    """

    input_ids: Int[np.ndarray, " tokens"]
    token_type_ids: Int[np.ndarray, " tokens"] | None
    starts: Int[np.ndarray, " tokens"]
    ends: Int[np.ndarray, " tokens"]
    unseen: Bool[np.ndarray, " tokens"] | None = None

    def __len__(self) -> int:
        return len(self.input_ids)

    @property
    def key(self) -> bytes:
        """Equal for equal model inputs."""
        types = b"" if self.token_type_ids is None else self.token_type_ids.tobytes()
        unseen = b"" if self.unseen is None else b"|" + self.unseen.tobytes()
        return self.input_ids.tobytes() + b"|" + types + unseen

    def touching(self, spans: Sequence[Span]) -> Bool[np.ndarray, " tokens"]:
        """Tokens of the text with at least one character in one of `spans`."""
        touched = np.zeros(len(self), dtype=bool)
        for span in spans:
            touched |= (self.starts < span.end) & (self.ends > span.start)
        return touched


class TextEncoder:
    """A fast tokenizer, the number of tokens its model reads, and how spans are masked.

    | mask_mode         | the tokens of a masked span                                              |
    |-------------------|--------------------------------------------------------------------------|
    | `mask`            | become the mask token                                                    |
    | `delete`          | are left out; the text gets shorter                                      |
    | `attention`       | stay in place, as padding does: no other token attends to them           |
    | `neutral`         | become the unknown token, or with `neutral:WORD` the one token of WORD   |

    All but `mask` work for models without a mask token.
    """

    def __init__(self, tokenizer: Any, max_length: int, mask_mode: str = "mask") -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(
                f"{type(tokenizer).__name__} gives no character offsets: "
                "use a model whose folder holds a fast tokenizer (tokenizer.json)"
            )
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.pad_id: int = 0 if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        self.mask_mode = mask_mode
        self._neutral_id = self._check_mode(mask_mode)

    def _check_mode(self, mode: str) -> int | None:
        """Raise for a mode that is none; the id of the neutral token, where the mode has one."""
        kind, colon, word = mode.partition(":")
        if kind not in MASK_MODES or (colon and not (word and kind == "neutral")):
            known = ", ".join(f"'{known}'" for known in MASK_MODES)
            raise InputError(f"mask_mode={mode!r} is not known: use {known} or 'neutral:WORD'")
        if kind != "neutral":
            return None
        if not word:
            unknown: int | None = self.tokenizer.unk_token_id
            if unknown is None:
                raise InputError(
                    f"{type(self.tokenizer).__name__} has no unknown token: "
                    "name a neutral one, e.g. mask_mode='neutral:the'"
                )
            return unknown
        ids = self.tokenizer(word, add_special_tokens=False)["input_ids"]
        if len(ids) != 1:
            raise InputError(
                f"mask_mode={mode!r}: {word!r} is {len(ids)} tokens here: name a word of one token"
            )
        return int(ids[0])

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        """Each example as (context, text) where it has a context, else as text alone."""
        encoded: list[Encoded | None] = [None] * len(examples)
        for paired in (False, True):
            rows = [
                i for i, example in enumerate(examples) if (example.context is not None) is paired
            ]
            for first in range(0, len(rows), TOKENIZED_TOGETHER):
                part = rows[first : first + TOKENIZED_TOGETHER]
                batch = self._tokenize([examples[i] for i in part], paired)
                for position, row in enumerate(part):
                    encoded[row] = self._one(batch, position, examples[row], paired)
        return [item for item in encoded if item is not None]

    def _tokenize(self, examples: Sequence[Example], paired: bool) -> Any:
        texts = [example.text for example in examples]
        segments = ([example.context for example in examples], texts) if paired else (texts,)
        # The text gives way, not the context: it is the longer one, and spans live in it.
        truncation = "only_second" if paired else True
        try:
            return self.tokenizer(
                *segments,
                truncation=truncation,
                max_length=self.max_length,
                return_offsets_mapping=True,
            )
        except Exception as error:
            # The tokenizer speaks of truncation when the context alone fills the model's window.
            if "truncat" not in str(error).lower():
                raise InputError(
                    f"the tokenizer cannot read the texts ({error}): remove what is not valid Unicode"
                ) from None
            raise InputError(
                f"cannot fit context and text into {self.max_length} tokens ({error}): shorten the context"
            ) from None

    def _one(self, batch: Any, position: int, example: Example, paired: bool) -> Encoded:
        segment = np.array([-1 if s is None else s for s in batch.sequence_ids(position)])
        offsets = np.array(batch["offset_mapping"][position], dtype=np.int32).reshape(-1, 2)
        offsets[segment != int(paired)] = 0
        _trim(offsets, example.text)
        types = batch.get("token_type_ids")
        return Encoded(
            input_ids=np.array(batch["input_ids"][position], dtype=np.int32),
            token_type_ids=None if types is None else np.array(types[position], dtype=np.int32),
            starts=offsets[:, 0],
            ends=offsets[:, 1],
        )

    def span_positions(self, encoded: Encoded, unit: Unit) -> Bool[np.ndarray, " tokens"]:
        """Tokens of the unit; a unit without spans is its whole text."""
        spans = unit.spans or (Span(0, len(unit.example.text)),)
        visible = encoded.starts < encoded.ends
        for span in spans:
            if not (encoded.touching([span]) & visible).any():
                raise InputError(self._unreachable(unit.example, span, encoded))
        return encoded.touching(spans)

    def _unreachable(self, example: Example, span: Span, encoded: Encoded) -> str:
        words = example.text[span.start : span.end]
        what = f"span [{span.start}, {span.end}) {words[:40]!r} of example {example.id!r}"
        cut = len(encoded) >= self.max_length
        if cut and span.start >= int(encoded.ends.max(initial=0)) and words.strip():
            return (
                f"{what} lies beyond the {self.max_length} tokens the model reads: "
                "shorten the text, or move the span into its first part"
            )
        return f"{what} touches no token of the text: choose a span that holds a visible character"

    def mask(self, encoded: Encoded, positions: Bool[np.ndarray, " tokens"]) -> Encoded:
        """The same text with the tokens at `positions` masked as `mask_mode` says."""
        if self.mask_mode == "delete":
            return _without(encoded, positions)
        if self.mask_mode == "attention":
            return replace(encoded, unseen=positions)
        if self._neutral_id is not None:
            return replace(
                encoded, input_ids=np.where(positions, self._neutral_id, encoded.input_ids)
            )
        mask_id = self.tokenizer.mask_token_id
        if mask_id is None:
            raise ModelError(
                f"{type(self.tokenizer).__name__} has no mask token, so a span cannot be masked: "
                "mask in another way (mask_mode='attention', 'delete' or 'neutral'; --mask-mode), "
                "or use a method of whole instances (if, tracin, tracinf)"
            )
        return replace(encoded, input_ids=np.where(positions, mask_id, encoded.input_ids))

    def collate(self, batch: Sequence[Encoded], device: torch.device) -> dict[str, Tensor]:
        """Model inputs padded to the longest of the batch."""
        length = max(len(encoded) for encoded in batch)
        ids = np.full((len(batch), length), self.pad_id, dtype=np.int64)
        attention = np.zeros_like(ids)
        types = np.zeros_like(ids)
        for row, encoded in enumerate(batch):
            ids[row, : len(encoded)] = encoded.input_ids
            attention[row, : len(encoded)] = 1 if encoded.unseen is None else ~encoded.unseen
            if encoded.token_type_ids is not None:
                types[row, : len(encoded)] = encoded.token_type_ids
        arrays = {"input_ids": ids, "attention_mask": attention}
        if batch[0].token_type_ids is not None:
            arrays["token_type_ids"] = types
        return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def _without(encoded: Encoded, positions: Bool[np.ndarray, " tokens"]) -> Encoded:
    """The text without some of its tokens."""
    kept = ~positions
    types = encoded.token_type_ids
    return Encoded(
        encoded.input_ids[kept],
        None if types is None else types[kept],
        encoded.starts[kept],
        encoded.ends[kept],
    )


def _trim(offsets: Int[np.ndarray, "tokens two"], text: str) -> None:
    """Take white space off both ends of each token's range, in place.

    Sentence-piece tokens own the space before their word; a span that ends with that space must not
    reach the next word's token.
    """
    for row, (start, end) in enumerate(offsets.tolist()):
        piece = text[start:end]
        if piece and (piece[0].isspace() or piece[-1].isspace()):
            first = start + len(piece) - len(piece.lstrip())
            offsets[row] = (first, first + len(piece.strip()))


def length_batches(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Indices grouped by similar length so that rows x longest stays within `max_tokens`.

    Of all such groups of neighbours in length, those that cost least: all tokens, with padding, and a
    batch's own cost. The longest come first.
    """
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    starts = _cheapest_cuts(np.array([lengths[index] for index in order], np.int64), max_tokens)
    return [order[first:last] for first, last in pairwise([*starts, len(order)])]


def _cheapest_cuts(lengths: Int[np.ndarray, " rows"], max_tokens: int) -> list[int]:
    """Where batches of falling lengths begin, by dynamic programming over where the last one does."""
    cost, start = np.zeros(len(lengths) + 1), np.zeros(len(lengths) + 1, np.int64)
    first = 0
    for last in range(1, len(lengths) + 1):
        while first < last - 1 and (last - first) * lengths[first] > max_tokens:
            first += 1
        rows = np.arange(last - first, 0, -1)
        costs = cost[first:last] + rows * lengths[first:last] + BATCH_COST
        start[last] = first + costs.argmin()
        cost[last] = costs.min()
    starts = [len(lengths)]
    while starts[-1]:
        starts.append(int(start[starts[-1]]))
    return starts[:0:-1]
