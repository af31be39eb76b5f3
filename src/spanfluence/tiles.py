"""Written-out gradients of a weight, cut into tiles.

The gradients of many tests are far larger than a cache, and every group of training units meets all of them: so a
training gradient is written out tile by tile, and each tile of the tests lies in memory as it will be asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

TILE_ROWS, TILE_COLUMNS = 128, 384
"""At most. Lower or narrower tiles make poorer products; larger ones of some 130 units leave the cache."""


class Tile(NamedTuple):
    """A part of a weight as it is stored."""

    rows: slice
    columns: slice

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start

    @property
    def size(self) -> int:
        """How many numbers."""
        return self.shape[0] * self.shape[1]


def tiles_of(high: int, wide: int) -> list[Tile]:
    """A weight of this shape in tiles of nearly one size."""
    sides = (_cuts(high, TILE_ROWS), _cuts(wide, TILE_COLUMNS))
    return [Tile(rows, columns) for rows, columns in product(*sides)]


def _cuts(length: int, most: int) -> list[slice]:
    """A length in parts of at most so much, all but the last of equal size, a multiple of 16."""
    parts = max(1, -(-length // most))
    step = min(most, -(-length // (16 * parts)) * 16)
    return [slice(first, min(first + step, length)) for first in range(0, length, step)]


@dataclass(frozen=True, eq=False)
class TiledGradient:
    """A linear layer's gradient written out, its weight tile after tile; one row per unit in each tile."""

    grid: Sequence[Tile]
    tiles: Sequence[Float[Tensor, "units size"]]
    bias: Float[Tensor, "units out"] | None

    @property
    def units(self) -> int:
        """How many units."""
        return len(self._any)

    @property
    def _any(self) -> Tensor:
        return self.tiles[0] if self.bias is None else self.bias

    def dense(self) -> Float[Tensor, "units size"]:
        """The weight as it is stored, flattened, then the bias: a copy of all."""
        parts = [] if self.bias is None else [self.bias]
        if self.grid:
            shape = self.grid[-1].rows.stop, self.grid[-1].columns.stop
            weight = self._any.new_empty(self.units, *shape)
            for tile, values in zip(self.grid, self.tiles, strict=True):
                weight[:, tile.rows, tile.columns] = values.view(-1, *tile.shape)
            parts.insert(0, weight.flatten(1))
        return torch.cat(parts, 1)

    def square_norms(self) -> Float[Tensor, " units"]:
        """Squared Euclidean norm of each unit's gradient."""
        parts = [*self.tiles, *([] if self.bias is None else [self.bias])]
        return torch.stack([values.square().sum(1) for values in parts]).sum(0)
