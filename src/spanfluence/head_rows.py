"""What the keys or values of one query saw in a batch of texts: one row per head, whatever the length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from spanfluence.gradients import LayerGradient
from spanfluence.head_gradients import HeadGradient, by_heads
from spanfluence.text_rows import TextRows, Wanted


@dataclass(frozen=True, eq=False)
class HeadRows:
    """Output gradients that are, in row r and the part of head h, factors_rh vectors_h.

    `positions` gives the token position of each row, -1 where a row is not a token of the text.
    """

    inputs: Float[Tensor, "texts rows in"]
    positions: Int[Tensor, " rows"]
    factors: Float[Tensor, "texts rows heads"]
    vectors: Float[Tensor, "texts heads some"]
    weight: bool = True
    bias: bool = True

    @property
    def texts(self) -> int:
        """How many texts."""
        return len(self.inputs)

    def units(
        self,
        terms: Int[Tensor, "units terms"],
        factors: Float[Tensor, "units terms"] | None = None,
        wanted: Wanted | None = None,
    ) -> LayerGradient:
        """As `TextRows.units`. Some tokens of a text may have fewer rows than it has heads."""
        if wanted is not None:
            return self.by_token.units(terms, factors, wanted)
        vectors = self.vectors[terms]
        if factors is not None:
            vectors = vectors * factors[..., None, None].to(vectors.dtype)
        inputs, outputs = (
            side.permute(2, 0, 1, 3).contiguous() for side in (self._pooled[terms], vectors)
        )
        return HeadGradient(inputs, outputs, self.bias)

    @cached_property
    def _pooled(self) -> Float[Tensor, "texts heads in"]:
        """sum_r factors_rh inputs_r; the bias reads a one beside the inputs."""
        parts = [self.factors.mT @ self.inputs] if self.weight else []
        return torch.cat([*parts, self.factors.sum(1)[..., None]] if self.bias else parts, -1)

    @cached_property
    def by_token(self) -> TextRows:
        """The same with all rows."""
        rows = (self.factors[..., None] * self.vectors[:, None]).flatten(2)
        return TextRows(
            "matrix", rows, self.positions, inputs=self.inputs, weight=self.weight, bias=self.bias
        )


def rows_by_head(rows: TextRows, heads: int) -> HeadRows | None:
    """Several rows as one per head; None where they differ in more than length there."""
    if rows.kind != "matrix" or rows.transposed or rows.rows.shape[2] % heads:
        return None
    if rows.inputs is None or rows.without_empty_rows().rows.shape[1] == 1:
        return None
    found = by_heads(rows.rows, heads)
    if found is None:
        return None
    return HeadRows(rows.inputs, rows.positions, *found, rows.weight, rows.bias)
