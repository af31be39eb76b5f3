"""What one layer saw in a batch of texts, and how texts make up the gradients of units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from spanfluence.gradients import (
    DenseGradient,
    EmbeddingGradient,
    LayerGradient,
    MatrixGradient,
    Rows,
)


@dataclass(frozen=True, eq=False)
class TextRows:
    """What one layer saw in a batch of texts, before texts are combined into units.

    `rows` holds the output gradient of each text and row (for a norm: its weight and bias terms;
    for a layer without factors: the whole gradient as a single row). `positions` gives the token position
    of each row, -1 where a row is not a token of the text.
    """

    kind: str  # "matrix", "embedding" or "dense"
    rows: Float[Tensor, "texts rows out"]
    positions: Int[Tensor, " rows"]
    inputs: Float[Tensor, "texts rows in"] | None = None
    ids: Int[Tensor, "texts rows"] | None = None
    weight: bool = True
    bias: bool = True
    transposed: bool = False
    table_rows: int = 0

    @property
    def texts(self) -> int:
        """How many texts."""
        return len(self.rows)

    @property
    def by_token(self) -> TextRows:
        """These rows: they are of tokens already (compare `HeadRows`)."""
        return self

    def units(
        self,
        terms: Int[Tensor, "units terms"],
        factors: Float[Tensor, "units terms"] | None = None,
        wanted: Wanted | None = None,
    ) -> LayerGradient:
        """Gradients of units, each a signed sum of the gradients of its texts: their rows side by side.

        `wanted` keeps, per unit, only the rows at some token positions.
        """
        count = len(terms)
        if wanted is not None:
            chosen = self._at(terms, wanted).without_empty_rows()
        else:
            chosen = (self._compact or self)._of(terms.flatten())
        rows = chosen.rows
        if factors is not None:
            rows = rows * factors.flatten()[:, None, None].to(rows.dtype)
        if self.kind == "dense":
            return DenseGradient(rows.reshape(count, -1, rows.shape[-1]).sum(1))
        rows = rows.reshape(count, -1, rows.shape[-1])
        if chosen.ids is not None:
            return EmbeddingGradient(chosen.ids.reshape(count, -1), rows, self.table_rows)
        assert chosen.inputs is not None
        inputs = chosen.inputs.reshape(count, -1, chosen.inputs.shape[-1])
        parts = (Rows(inputs, rows),)
        return MatrixGradient(parts, self.weight, self.bias, self.transposed)

    @cached_property
    def _compact(self) -> TextRows | None:
        """Without empty rows; None where there are none: holding itself it would outlive its batch."""
        found = self.without_empty_rows()
        return None if found is self else found

    def _of(self, texts: Int[Tensor, " texts"]) -> TextRows:
        """Some texts in a given order; neighbouring ones are taken as a view."""
        first = int(texts[0])
        run = torch.arange(first, first + len(texts), device=texts.device)
        chosen = slice(first, first + len(texts)) if torch.equal(texts, run) else texts
        return replace(
            self,
            rows=self.rows[chosen],
            inputs=None if self.inputs is None else self.inputs[chosen],
            ids=None if self.ids is None else self.ids[chosen],
        )

    def _at(self, terms: Int[Tensor, "units terms"], wanted: Wanted) -> TextRows:
        """Per text, only the rows at the wanted token positions; rows that are no tokens are left out."""
        order, filling = wanted.rows(self.positions, terms.shape[1])
        picked = self._picked(terms.reshape(-1, 1), order)
        picked.rows.masked_fill_(filling[..., None], 0)
        return picked

    def without_empty_rows(self) -> TextRows:
        """Drop rows whose output gradient is exactly zero in every text.

        A classifier that reads one position leaves all other rows of its last layers at zero, and
        padding leaves zeros everywhere: what remains is the layer's true number of factors.
        """
        if self.kind == "dense" or self.rows.shape[1] == 1:
            return self
        glance = (self.rows[..., :8] != 0).any(-1)
        if bool(glance.all(1).any()):  # one text fills all rows: nothing can be dropped
            return self
        order, _ = _first_rows((self.rows != 0).any(-1))
        if order.shape[1] == self.rows.shape[1]:
            return self
        texts = torch.arange(self.rows.shape[0], device=order.device)[:, None]
        return self._picked(texts, order)

    def _picked(self, texts: Int[Tensor, "texts _"], order: Int[Tensor, "_ kept"]) -> TextRows:
        unknown = torch.full((order.shape[1],), -1, device=order.device)  # rows differ by text now
        return replace(
            self,
            rows=self.rows[texts, order],
            positions=unknown,
            inputs=None if self.inputs is None else self.inputs[texts, order],
            ids=None if self.ids is None else self.ids[texts, order],
        )


class Wanted:
    """Token positions that are wanted of each unit; the rows of a layer at them are found once for all alike."""

    def __init__(self, tokens: Bool[Tensor, "units tokens"]) -> None:
        self.tokens = tokens
        self._known: dict[tuple[int, ...], tuple[Tensor, Tensor]] = {}

    def rows(
        self, positions: Int[Tensor, " rows"], texts: int
    ) -> tuple[Int[Tensor, "all kept"], Bool[Tensor, "all kept"]]:
        """Of rows at these positions, in each of a unit's texts: the wanted ones, and which only fill up."""
        key = (texts, *positions.tolist())
        if key not in self._known:
            most = self.tokens.shape[1]
            at_tokens = (positions >= 0) & (positions < most)
            own = self.tokens[:, positions.clamp(0, most - 1)] & at_tokens
            order, kept = _first_rows(own.repeat_interleave(texts, 0))
            self._known[key] = order, ~kept
        return self._known[key]


def _first_rows(
    wanted: Bool[Tensor, "texts rows"],
) -> tuple[Int[Tensor, "texts kept"], Bool[Tensor, "texts kept"]]:
    """Indices of the wanted rows, as many columns as the text with the most needs; and which count."""
    most = max(int(wanted.sum(1).max()), 1)
    order = torch.argsort(wanted.to(torch.int8), dim=1, descending=True, stable=True)[:, :most]
    return order, wanted.gather(1, order)


def joined(parts: Sequence[Tensor]) -> Tensor:
    """Rows of several tensors after each other; a single one is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), 1)
