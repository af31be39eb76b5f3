"""A reading-comprehension model that answers questions on texts, in batches of similar length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from spanfluence.encoding import length_batches
from spanfluence.errors import InputError, ModelError
from spanfluence.loading import load_reader
from spanfluence.usable import readable_length, usable_device

MAX_TOKENS = 4096  # tokens in one forward batch
WINDOW = 384  # tokens of one window on a long text
OVERLAP = 96  # tokens that neighbouring windows share
LONGEST_ANSWER = 30  # tokens


class Question(NamedTuple):
    """What is asked of which text."""

    question: str
    text: str


class Answer(NamedTuple):
    """Characters `start` up to `end` of the text; equal where the model finds no answer.

    `probability` is that of the span among all spans and "no answer".
    """

    start: int
    end: int
    probability: float

    @property
    def is_empty(self) -> bool:
        """Whether the model says that the text does not answer the question."""
        return self.start >= self.end


class _Window(NamedTuple):
    question: int
    input_ids: list[int]
    token_type_ids: list[int] | None
    offsets: np.ndarray  # (tokens, 2) characters of the text; (0, 0) outside of it
    inside: Bool[np.ndarray, " tokens"]


class QuestionAnswerer:
    """Any `AutoModelForQuestionAnswering` with a fast tokenizer."""

    def __init__(self, model: Any, tokenizer: Any, *, device: str = "cpu") -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(
                f"{type(tokenizer).__name__} gives no character offsets: "
                "use a reader whose folder holds a fast tokenizer (tokenizer.json)"
            )
        self.device = usable_device(device)
        self.model = model.to(self.device).eval().requires_grad_(False)
        self.tokenizer = tokenizer
        self.window = min(WINDOW, readable_length(model, tokenizer))
        self.pad_id: int = 0 if tokenizer.pad_token_id is None else tokenizer.pad_token_id

    @classmethod
    def load(cls, source: str | Path, *, device: str = "cpu") -> QuestionAnswerer:
        """From a folder or the name of a hub model; safetensors only."""
        return cls(*load_reader(source), device=device)

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """The best answer to each question, empty where the model finds none."""
        return [best[0] if best else Answer(0, 0, 0.0) for best in self.n_best(questions, 1)]

    def n_best(self, questions: Sequence[Question], n: int) -> list[list[Answer]]:
        """Up to `n` answers to each question, the best first; none where "no answer" is likelier.

        A long text is read in windows that overlap; answers of all windows are ranked together.
        """
        found: list[dict[tuple[int, int], tuple[float, Answer]]] = [{} for _ in questions]
        windows = self.windows(questions)
        for rows in length_batches([len(w.input_ids) for w in windows], MAX_TOKENS):
            batch = [windows[row] for row in rows]
            for window, answers in zip(batch, self._read(batch, n), strict=True):
                own = found[window.question]
                for margin, answer in answers:
                    place = (answer.start, answer.end)
                    own[place] = max(own.get(place, (-np.inf, answer)), (margin, answer))
        return [
            [answer for _, answer in sorted(own.values(), key=lambda item: -item[0])[:n]]
            for own in found
        ]

    def windows(self, questions: Sequence[Question]) -> list[_Window]:
        """The questions as the model reads them, each with one window or more."""
        if not questions:
            return []
        batch = self._tokenize(questions)
        types = batch.get("token_type_ids")
        found = []
        for row, question in enumerate(batch["overflow_to_sample_mapping"]):
            inside = np.array([s == 1 for s in batch.sequence_ids(row)])
            offsets = np.array(batch["offset_mapping"][row], dtype=np.int64).reshape(-1, 2)
            inside &= offsets[:, 0] < offsets[:, 1]
            ids = batch["input_ids"][row]
            found.append(_Window(question, ids, types[row] if types else None, offsets, inside))
        return found

    def _tokenize(self, questions: Sequence[Question]) -> Any:
        # A window must leave more room for the text than its neighbours share.
        longest = max(
            len(ids) for ids in self.tokenizer([q.question for q in questions])["input_ids"]
        )
        room = self.window - longest - 2
        if room < 8:
            raise InputError(
                f"a question of {longest} tokens leaves no room for the text in the {self.window} tokens "
                "the reader reads: shorten the context"
            )
        return self.tokenizer(
            [q.question for q in questions],
            [q.text for q in questions],
            truncation="only_second",
            max_length=self.window,
            stride=min(OVERLAP, room // 2),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )

    def collate(self, batch: Sequence[_Window]) -> dict[str, Tensor]:
        """Model inputs padded to the longest window of the batch."""
        length = max(len(window.input_ids) for window in batch)
        ids = np.full((len(batch), length), self.pad_id, dtype=np.int64)
        attention, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, window in enumerate(batch):
            size = len(window.input_ids)
            ids[row, :size], attention[row, :size] = window.input_ids, 1
            if window.token_type_ids is not None:
                types[row, :size] = window.token_type_ids
        arrays = {"input_ids": ids, "attention_mask": attention}
        if batch[0].token_type_ids is not None:
            arrays["token_type_ids"] = types
        return {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}

    def _read(self, batch: Sequence[_Window], n: int) -> list[list[tuple[float, Answer]]]:
        """(how far it is ahead of "no answer", the answer) for the best spans of each window."""
        inputs = self.collate(batch)
        with torch.inference_mode():
            output = self.model(**inputs)
        inside = np.zeros(inputs["input_ids"].shape, dtype=bool)
        for row, window in enumerate(batch):
            inside[row, : len(window.inside)] = window.inside
        allowed = torch.from_numpy(inside).to(self.device)
        best = best_spans(output.start_logits, output.end_logits, allowed, n=n)
        margins, spans, chances = (values.tolist() for values in best)
        return [
            [
                (margin, Answer(int(w.offsets[first, 0]), int(w.offsets[last, 1]), chance))
                for margin, (first, last), chance in zip(*row, strict=True)
                if margin > -np.inf
            ]
            if row[0][0] > 0  # else "no answer" is the likeliest
            else []
            for w, row in zip(batch, zip(margins, spans, chances, strict=True), strict=True)
        ]


def best_spans(
    start: Float[Tensor, "texts tokens"],
    end: Float[Tensor, "texts tokens"],
    inside: Bool[Tensor, "texts tokens"],
    longest: int = LONGEST_ANSWER,
    n: int = 1,
) -> tuple[Float[Tensor, "texts n"], Int[Tensor, "texts n two"], Float[Tensor, "texts n"]]:
    """(score ahead of "no answer", first and last token, probability) of each text's `n` best spans.

    A span's score is the sum of its start and end logits; "no answer" is the span of the first token.
    """
    length = start.shape[1]
    band = torch.ones(length, length, dtype=torch.bool, device=start.device)
    band = band.triu().tril(longest - 1)
    allowed = inside[:, :, None] & inside[:, None, :] & band
    table = (start[:, :, None] + end[:, None, :]).float().masked_fill(~allowed, -torch.inf)
    flat = table.flatten(1)
    nothing = (start[:, 0] + end[:, 0]).float()
    best, place = flat.topk(min(n, flat.shape[1]), dim=1)
    total = torch.logsumexp(torch.cat([flat, nothing[:, None]], 1), 1)
    spans = torch.stack([place // length, place % length], 2)
    return best - nothing[:, None], spans, (best - total[:, None]).exp()
