"""Per-unit gradients of one layer, kept as factors, and their norms.

A linear layer that reads rows a_r and receives output gradients d_r has the gradient sum_r d_r a_r^T.
Keeping the rows instead of the sum makes a difference of gradients a concatenation of rows, and lets an
inner product choose the cheaper way: from the rows, or from the summed matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from spanfluence.allocator import large_empty
from spanfluence.head_gradients import HeadGradient, stack_heads
from spanfluence.tiles import Tile, TiledGradient, tiles_of

CHUNK_BYTES = 16 << 20  # of matrices that are written out piece by piece
SHORT_PIECE = 64  # rows of a weight in a piece, at least, where that is not far too much


@dataclass(frozen=True, eq=False)
class DenseGradient:
    """A layer's gradient written out: one row per unit, parameters flattened, weight before bias."""

    values: Float[Tensor, "units size"]

    @property
    def units(self) -> int:
        """How many units."""
        return self.values.shape[0]

    def dense(self) -> Float[Tensor, "units size"]:
        """The gradient itself."""
        return self.values

    def square_norms(self) -> Float[Tensor, " units"]:
        """Squared Euclidean norm of each unit's gradient."""
        return self.values.square().sum(1)


class Rows(NamedTuple):
    """Inputs and output gradients of some units, equally many rows each; what only fills up is zero."""

    inputs: Float[Tensor, "units rows in"]
    outputs: Float[Tensor, "units rows out"]


@dataclass(frozen=True, eq=False)
class MatrixGradient:
    """Gradient of a linear layer as rows: sum_r outputs_r inputs_r^T, and sum_r outputs_r for the bias.

    Units stand in parts, one after the other, so that short texts need not be filled up to long ones.
    """

    parts: tuple[Rows, ...]
    weight: bool = True
    bias: bool = True
    transposed: bool = False  # Conv1D of transformers stores its weight as (in, out)

    @cached_property
    def units(self) -> int:
        """How many units."""
        return sum(len(part.inputs) for part in self.parts)

    @property
    def wide(self) -> int:
        """How many numbers the layer reads."""
        return self.parts[0].inputs.shape[2]

    @property
    def high(self) -> int:
        """How many numbers the layer gives."""
        return self.parts[0].outputs.shape[2]

    @property
    def size(self) -> int:
        """How many parameters."""
        return self.weights + (self.high if self.bias else 0)

    @property
    def weights(self) -> int:
        """How many of them are the weight's."""
        return self.wide * self.high if self.weight else 0

    @property
    def single_rows(self) -> bool:
        """Whether every unit is a single row."""
        return all(part.outputs.shape[1] == 1 for part in self.parts)

    @property
    def single(self) -> tuple[Tensor, Tensor, Tensor]:
        """Of units of a single row: the two sides of each weight as it is stored, and the outputs."""
        sides = [self._sides(part) for part in self.parts]
        left, right = (torch.cat([s[:, 0] for s in side]) for side in zip(*sides, strict=True))
        return left, right, torch.cat([part.outputs[:, 0] for part in self.parts])

    def dense(self) -> Float[Tensor, "units size"]:
        """Weight gradient flattened as the parameter is stored, then the bias gradient."""
        return self._dense

    @cached_property
    def _dense(self) -> Float[Tensor, "units size"]:
        result = large_empty(self.parts[0].outputs, self.units, self.size)
        for part, own in zip(self.parts, self._of_parts(result), strict=True):
            if self.weight:
                left, right = self._sides(part)
                weights = own[:, : self.weights].view(len(own), left.shape[2], right.shape[2])
                torch.bmm(left.transpose(1, 2), right, out=weights)
            if self.bias:
                own[:, self.weights :] = part.outputs.sum(1)
        return result

    def _of_parts(self, values: Tensor) -> tuple[Tensor, ...]:
        """What belongs to each part, of something with an entry per unit."""
        return tuple(torch.split(values, [len(part.inputs) for part in self.parts]))

    def _sides(self, part: Rows) -> tuple[Tensor, Tensor]:
        """The factors whose product is the weight's gradient as it is stored."""
        return part if self.transposed else (part.outputs, part.inputs)

    def as_matrix(self, values: Float[Tensor, "tests size"]) -> Float[Tensor, "tests out in"]:
        """Flattened gradients of this layer as matrices (out, in), the bias as a last column."""
        high, wide = self.high, self.wide
        weight = values[:, : high * wide]
        shaped = weight.view(-1, wide, high).mT if self.transposed else weight.view(-1, high, wide)
        return torch.cat([shaped, values[:, high * wide :, None]], 2) if self.bias else shaped

    def as_vector(self, matrices: Float[Tensor, "tests out in"]) -> Float[Tensor, "tests size"]:
        """The inverse of `as_matrix`."""
        weight = matrices[..., : self.wide]
        flat = (weight.mT if self.transposed else weight).flatten(1)
        return torch.cat([flat, matrices[..., self.wide]], 1) if self.bias else flat

    def columns(
        self, chunk_bytes: int = CHUNK_BYTES
    ) -> Iterator[tuple[int, Float[Tensor, "units some"]]]:
        """`dense()` in pieces of whole columns: (first column, values). A piece lives until the next.

        The whole of a large layer is never there at once, and a piece is still in the processor's
        cache when it is read.
        """
        if self.weight:
            high, wide = self.stored
            row_bytes = self.units * wide * self.parts[0].outputs.element_size()
            step = min(high, _piece_rows(row_bytes, chunk_bytes))
            runs = [slice(first, min(first + step, high)) for first in range(0, high, step)]
            tiles = [Tile(rows, slice(0, wide)) for rows in runs]
            for tile, values in zip(tiles, self.pieces(tiles), strict=True):
                yield tile.rows.start * wide, values
        if self.bias:
            yield self.weights, self.of_bias

    def pieces(self, tiles: Iterable[Tile]) -> Iterator[Float[Tensor, "units some"]]:
        """The weight's gradient at some tiles, each flattened. A piece lives until the next."""
        sides = [self._sides(part) for part in self.parts]
        buffer = sides[0][0].new_empty(0)
        for tile in tiles:
            if len(buffer) < self.units * tile.size:
                buffer = buffer.new_empty(self.units * tile.size)
            piece = buffer[: self.units * tile.size].view(self.units, *tile.shape)
            self._write(sides, tile, piece)
            yield piece.flatten(1)

    def _write(self, sides: Iterable[tuple[Tensor, Tensor]], tile: Tile, onto: Tensor) -> None:
        for (left, right), own in zip(sides, self._of_parts(onto), strict=True):
            of_tile = left[:, :, tile.rows].transpose(1, 2), right[:, :, tile.columns]
            torch.bmm(*of_tile, out=own)

    def tiled(self) -> TiledGradient:
        """Written out in tiles, which lie in one block of memory."""
        grid = tiles_of(*self.stored) if self.weight else []
        block = large_empty(self.parts[0].outputs, self.units * self.weights)
        tiles = [
            values.view(self.units, -1)
            for values in block.split([self.units * tile.size for tile in grid])
        ]
        sides = [self._sides(part) for part in self.parts]
        for tile, values in zip(grid, tiles, strict=True):
            self._write(sides, tile, values.view(self.units, *tile.shape))
        return TiledGradient(grid, tiles, self.of_bias if self.bias else None)

    @property
    def stored(self) -> tuple[int, int]:
        """The shape of the weight as it is stored."""
        return (self.wide, self.high) if self.transposed else (self.high, self.wide)

    @property
    def of_bias(self) -> Float[Tensor, "units out"]:
        """The gradient of the bias."""
        return torch.cat([part.outputs.sum(1) for part in self.parts])

    @cached_property
    def row_count(self) -> int:
        """How many rows hold anything, over all units, as far as a glance at each tells."""
        return sum(int((part.outputs[..., :8] != 0).any(-1).sum()) for part in self.parts)

    @property
    def filled_rows(self) -> int:
        """How many rows there are with those that only fill up."""
        return sum(part.outputs.shape[:2].numel() for part in self.parts)

    @cached_property
    def rows(
        self,
    ) -> tuple[Float[Tensor, "rows in"], Float[Tensor, "rows out"], Int[Tensor, " rows"]]:
        """Inputs, outputs and owners of the rows; those that only fill up are left out if they are many."""
        inputs, outputs = (
            torch.cat([side.flatten(0, 1) for side in sides])
            for sides in zip(*self.parts, strict=True)
        )
        units = self._of_parts(torch.arange(self.units, device=outputs.device))
        counts = [part.outputs.shape[1] for part in self.parts]
        owners = torch.cat(
            [own.repeat_interleave(count) for own, count in zip(units, counts, strict=True)]
        )
        # Copying the rest would cost more than a few products with 0.
        if self.row_count > 0.7 * len(owners):
            return inputs, outputs, owners
        filled = (outputs != 0).any(-1)
        return inputs[filled], outputs[filled], owners[filled]

    def square_norms(self) -> Float[Tensor, " units"]:
        """From the Gram matrices of the rows: sum_rs (a_r.a_s + 1)(d_r.d_s)."""
        return torch.cat([self._square_norms(part) for part in self.parts])

    def _square_norms(self, part: Rows) -> Float[Tensor, " units"]:
        outputs = torch.bmm(part.outputs, part.outputs.transpose(1, 2))
        inputs = torch.bmm(part.inputs, part.inputs.transpose(1, 2)) if self.weight else 0.0
        return ((inputs + float(self.bias)) * outputs).sum((1, 2)).clamp_min(0.0)


def _piece_rows(row_bytes: int, chunk_bytes: int) -> int:
    """Rows of a weight in a piece: what the budget allows; some more where that is very few.

    Short pieces make poor products: of wide rows some more are taken than the cache would like.
    """
    rows = max(chunk_bytes // row_bytes, min(SHORT_PIECE, 4 * chunk_bytes // row_bytes), 1)
    return rows - rows % 8 if rows > 8 else rows


@dataclass(frozen=True, eq=False)
class EmbeddingGradient:
    """Gradient of an embedding table as rows: outputs_r is added to row `ids_r` of the table."""

    ids: Int[Tensor, "units rows"]
    outputs: Float[Tensor, "units rows out"]
    table_rows: int

    @property
    def units(self) -> int:
        """How many units."""
        return self.ids.shape[0]

    def dense(self) -> Float[Tensor, "units size"]:
        """The whole table, flattened: large; only curvature asks for it."""
        units, _, width = self.outputs.shape
        table = self.outputs.new_zeros(units, self.table_rows, width)
        table.scatter_add_(1, self.ids[..., None].expand_as(self.outputs), self.outputs)
        return table.flatten(1)

    def square_norms(self) -> Float[Tensor, " units"]:
        """Rows meet only where they belong to the same row of the table."""
        same = self.ids[:, :, None] == self.ids[:, None, :]
        return (
            (torch.bmm(self.outputs, self.outputs.transpose(1, 2)) * same)
            .sum((1, 2))
            .clamp_min(0.0)
        )


LayerGradient = DenseGradient | TiledGradient | MatrixGradient | EmbeddingGradient | HeadGradient


def stack(parts: Sequence[LayerGradient]) -> LayerGradient:
    """Units of several batches as one block."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if len({type(part) for part in parts}) > 1:  # rows by head in some batches, by token in others
        return DenseGradient(torch.cat([part.dense() for part in parts]))
    if isinstance(first, MatrixGradient):
        matrices = [part for part in parts if isinstance(part, MatrixGradient)]
        return replace(first, parts=tuple(rows for part in matrices for rows in part.parts))
    if isinstance(first, EmbeddingGradient):
        tables = [part for part in parts if isinstance(part, EmbeddingGradient)]
        return replace(
            first,
            ids=_stack_rows([part.ids for part in tables]),
            outputs=_stack_rows([part.outputs for part in tables]),
        )
    if isinstance(first, HeadGradient):
        return stack_heads([part for part in parts if isinstance(part, HeadGradient)])
    return DenseGradient(torch.cat([part.dense() for part in parts]))


def _stack_rows(parts: Sequence[Tensor]) -> Tensor:
    """Shorter ones are filled up with zero rows."""
    most, units = max(part.shape[1] for part in parts), sum(len(part) for part in parts)
    filled = parts[0].new_zeros(units, most, *parts[0].shape[2:])
    first = 0
    for part in parts:
        filled[first : first + len(part), : part.shape[1]] = part
        first += len(part)
    return filled
