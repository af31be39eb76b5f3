"""Gradients of keys and values that a single query attends to: one row per head, whatever the length.

Where the head of a classifier reads one position, its last block asks one query q. The gradient at the key
of token r and head h is then c_rh q_h, and at its value p_rh g_h: within a head, the tokens' rows
are multiples of one vector. So sum_r (c_rh q_h) a_r^T = q_h (sum_r c_rh a_r)^T: as many rows as heads, not
as many as tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from spanfluence.allocator import large_empty

EXACT = 1e-10  # share of the squared length that rounding may leave beside the one vector
TINY = 1e-30  # instead of the squared length of a head without a gradient


@dataclass(frozen=True, eq=False)
class HeadGradient:
    """sum_r outputs_hr inputs_hr^T in the rows of head h. The last column of the inputs is the bias's."""

    inputs: Float[Tensor, "heads units rows in"]
    outputs: Float[Tensor, "heads units rows out"]
    bias: bool = True

    @property
    def units(self) -> int:
        """How many units."""
        return self.inputs.shape[1]

    @property
    def size(self) -> int:
        """How many parameters."""
        return self.outputs.shape[3] * self.inputs.shape[0] * self.inputs.shape[3]

    def dense(self) -> Float[Tensor, "units size"]:
        """Weight gradient flattened as the parameter is stored, then the bias gradient."""
        result = large_empty(self.inputs, self.units, self.size)
        first = 0
        for outputs, inputs in self.weight_rows():
            values = (outputs.mT @ inputs).flatten(1)
            result[:, first : first + values.shape[1]] = values
            first += values.shape[1]
        if self.bias:
            result[:, first:] = self.of_bias
        return result

    def weight_rows(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Outputs and inputs of the weight, head by head, as (units, rows, ...); none if it has none."""
        inputs = self.inputs[..., :-1] if self.bias else self.inputs
        if inputs.shape[3]:
            yield from zip(self.outputs, inputs, strict=True)

    @property
    def of_bias(self) -> Float[Tensor, "units out"]:
        """The gradient of the bias."""
        return (self.outputs * self.inputs[..., -1:]).sum(2).transpose(0, 1).flatten(1)

    def square_norms(self) -> Float[Tensor, " units"]:
        """From the Gram matrices of the rows."""
        inputs, outputs = (side @ side.mT for side in (self.inputs, self.outputs))
        return (inputs * outputs).sum((0, 2, 3)).clamp_min(0.0)


def inner_of_heads(tests: HeadGradient, train: HeadGradient) -> Float[Tensor, "tests units"]:
    """sum_hrs (a'_hr.a_hs)(d'_hr.d_hs)."""
    inputs, outputs = (
        mine.flatten(1, 2) @ theirs.flatten(1, 2).mT
        for mine, theirs in ((tests.inputs, train.inputs), (tests.outputs, train.outputs))
    )
    pairs = (inputs * outputs).sum(0)
    return pairs.view(tests.units, -1, train.units, train.inputs.shape[2]).sum((1, 3))


def stack_heads(parts: Sequence[HeadGradient]) -> HeadGradient:
    """Units of several batches as one block; all have as many rows, one for each text of a unit."""
    inputs, outputs = (
        torch.cat(sides, 1)
        for sides in zip(*((part.inputs, part.outputs) for part in parts), strict=True)
    )
    return HeadGradient(inputs, outputs, parts[0].bias)


def by_heads(
    rows: Float[Tensor, "texts tokens out"], heads: int
) -> tuple[Float[Tensor, "texts tokens heads"], Float[Tensor, "texts heads some"]] | None:
    """Factors and vectors of each text's rows; None if they are not multiples of one vector in a head."""
    own = rows.unflatten(2, (heads, -1))
    squares = own.square().sum(-1)
    longest = squares.argmax(1)[:, None, :, None].expand(-1, -1, -1, own.shape[-1])
    vectors = own.gather(1, longest)  # the tokens' rows are compared with the longest of them
    factors = (own * vectors).sum(-1) / vectors.square().sum(-1).clamp_min(TINY)
    beside = own - factors[..., None] * vectors
    if bool(beside.square().sum() > EXACT * squares.sum()):
        return None
    return factors, vectors[:, 0]
