"""Per-unit gradients of one layer, kept as factors, and their inner products and norms.

A linear layer that reads rows a_r and receives output gradients d_r has the gradient sum_r d_r a_r^T.
Keeping the rows instead of the sum makes a difference of gradients a concatenation of rows, and lets an
inner product choose the cheaper way: from the rows, or from the summed matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from spanfluence.allocator import large_empty

CHUNK_BYTES = 6 << 20  # of a matrix that is written out piece by piece
WIDE_CHUNK_BYTES = 32 << 20  # the same where all units are needed at once
SHORT_PIECE = 64  # rows of a weight in a piece
GROUP = 128  # units written out together where they need not all be


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

    @cached_property
    def transposed_dense(self) -> Float[Tensor, "size units"]:
        """A unit per column."""
        return self.values.T.contiguous()

    def square_norms(self) -> Float[Tensor, " units"]:
        """Squared Euclidean norm of each unit's gradient."""
        return self.values.square().sum(1)


@dataclass(frozen=True, eq=False)
class MatrixGradient:
    """Gradient of a linear layer as rows: sum_r outputs_r inputs_r^T, and sum_r outputs_r for the bias."""

    inputs: Float[Tensor, "units rows in"]
    outputs: Float[Tensor, "units rows out"]
    weight: bool = True
    bias: bool = True
    transposed: bool = False  # Conv1D of transformers stores its weight as (in, out)

    @property
    def units(self) -> int:
        """How many units."""
        return self.inputs.shape[0]

    def dense(self) -> Float[Tensor, "units size"]:
        """Weight gradient flattened as the parameter is stored, then the bias gradient."""
        return self.transposed_dense.T

    @cached_property
    def transposed_dense(self) -> Float[Tensor, "size units"]:
        """`dense()` with a unit per column: the layout in which one side of a product is read fastest.

        Turned by a product with ones and zeros, which is exact, and faster than a strided copy.
        """
        result = large_empty(self.outputs, self.size, self.units)
        ones = torch.eye(self.units, dtype=result.dtype, device=result.device)
        for start, values in self.columns():
            torch.mm(values.T, ones, out=result[start : start + values.shape[1]])
        return result

    @property
    def size(self) -> int:
        """How many parameters."""
        wide, high = self.inputs.shape[2], self.outputs.shape[2]
        return (wide * high if self.weight else 0) + (high if self.bias else 0)

    def some(self, units: slice) -> MatrixGradient:
        """Some of the units, as views."""
        return replace(self, inputs=self.inputs[units], outputs=self.outputs[units])

    def as_matrix(self, values: Float[Tensor, "tests size"]) -> Float[Tensor, "tests out in"]:
        """Flattened gradients of this layer as matrices (out, in), the bias as a last column."""
        high, wide = self.outputs.shape[-1], self.inputs.shape[-1]
        weight = values[:, : high * wide]
        shaped = weight.view(-1, wide, high).mT if self.transposed else weight.view(-1, high, wide)
        return torch.cat([shaped, values[:, high * wide :, None]], 2) if self.bias else shaped

    def as_vector(self, matrices: Float[Tensor, "tests out in"]) -> Float[Tensor, "tests size"]:
        """The inverse of `as_matrix`."""
        wide = self.inputs.shape[-1]
        weight = matrices[..., :wide]
        flat = (weight.mT if self.transposed else weight).flatten(1)
        return torch.cat([flat, matrices[..., wide]], 1) if self.bias else flat

    def columns(
        self, chunk_bytes: int = CHUNK_BYTES
    ) -> Iterator[tuple[int, Float[Tensor, "units some"]]]:
        """`dense()` in pieces of whole columns: (first column, values). A piece lives until the next.

        Pieces stay in the processor's cache between being written and being read: summing all rows of
        a large layer first, and reading it afterwards, takes twice as long.
        """
        first = 0
        if self.weight:
            left, right = self.outputs, self.inputs
            if self.transposed:
                left, right = right, left
            high, wide = left.shape[2], right.shape[2]
            row_bytes = self.units * wide * left.element_size()
            # Short pieces make poor products: of wide rows some more are taken than the cache would like.
            step = max(chunk_bytes // row_bytes, min(SHORT_PIECE, 4 * chunk_bytes // row_bytes), 1)
            step = min(high, max(8, step - step % 8) if high >= 8 else step)
            buffer = left.new_empty(self.units, step, wide)
            for start in range(0, high, step):
                some = left[:, :, start : start + step].transpose(1, 2)
                piece = buffer if some.shape[1] == step else left.new_empty(*some.shape[:2], wide)
                torch.bmm(some, right, out=piece)
                yield start * wide, piece.flatten(1)
            first = high * wide
        if self.bias:
            yield first, self.outputs.sum(1)

    @cached_property
    def row_count(self) -> int:
        """How many rows hold anything, over all units, as far as a glance at each tells."""
        return int((self.outputs[..., :8] != 0).any(-1).sum())

    @cached_property
    def rows(
        self,
    ) -> tuple[Float[Tensor, "rows in"], Float[Tensor, "rows out"], Int[Tensor, " rows"]]:
        """Inputs, outputs and owners of the rows; those that only fill up are left out if they are many."""
        units, count, _ = self.outputs.shape
        owners = torch.arange(units, device=self.outputs.device).repeat_interleave(count)
        inputs, outputs = self.inputs.flatten(0, 1), self.outputs.flatten(0, 1)
        # Copying the rest would cost more than a few products with 0.
        if self.row_count > 0.7 * units * count:
            return inputs, outputs, owners
        filled = (outputs != 0).any(-1)
        return inputs[filled], outputs[filled], owners[filled]

    def square_norms(self) -> Float[Tensor, " units"]:
        """From the Gram matrices of the rows: sum_rs (a_r.a_s + 1)(d_r.d_s)."""
        outputs = torch.bmm(self.outputs, self.outputs.transpose(1, 2))
        inputs = torch.bmm(self.inputs, self.inputs.transpose(1, 2)) if self.weight else 0.0
        return ((inputs + float(self.bias)) * outputs).sum((1, 2)).clamp_min(0.0)


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


LayerGradient = DenseGradient | MatrixGradient | EmbeddingGradient


def inner(tests: LayerGradient, train: LayerGradient) -> Float[Tensor, "tests units"]:
    """Inner product of every test unit's gradient with every training unit's, for one layer."""
    if isinstance(train, EmbeddingGradient):
        if isinstance(tests, EmbeddingGradient):
            return _inner_of_tables(tests, train)
        return _inner_with_table(tests.dense(), train)
    if isinstance(train, DenseGradient) or isinstance(tests, EmbeddingGradient):
        return tests.dense() @ train.dense().T
    if isinstance(tests, MatrixGradient) and _rows_are_cheaper(tests, train):
        return _inner_by_rows(tests, train)
    return _inner_by_columns(tests.transposed_dense, train)


def gram(layer: LayerGradient) -> Float[Tensor, "units units"]:
    """Inner products of all pairs of units of one layer."""
    if not isinstance(layer, MatrixGradient) or _rows_are_cheaper(layer, layer):
        return inner(layer, layer)
    total = layer.outputs.new_zeros(layer.units, layer.units)
    step = max(1, -(-layer.units // 4))
    for _, values in layer.columns(WIDE_CHUNK_BYTES):
        for first in range(0, layer.units, step):  # below the diagonal only: the rest is its mirror
            last = min(first + step, layer.units)
            total[first:last, :last].addmm_(values[first:last], values[:last].T)
    return torch.tril(total) + torch.tril(total, -1).T


def add_weighted_sum(
    values: Float[Tensor, "tests size"],
    layer: LayerGradient,
    weights: Float[Tensor, "tests units"],
    *,
    beta: float = 1.0,
) -> Float[Tensor, "tests size"]:
    """beta values_t + sum_u weights_tu g_u, written out with a test per column in memory."""
    if isinstance(layer, MatrixGradient):
        turned, given = weights.T.contiguous(), values.T
        result = large_empty(values, *given.shape)
        for first, piece in layer.columns(WIDE_CHUNK_BYTES):
            rows = slice(first, first + piece.shape[1])
            torch.addmm(given[rows], piece.T, turned, beta=beta, out=result[rows])
        return result.T
    if isinstance(layer, EmbeddingGradient):
        result = (beta * values).view(len(values), layer.table_rows, -1)
        for unit in range(layer.units):
            own = weights[:, unit, None, None] * layer.outputs[unit]
            result.index_add_(1, layer.ids[unit], own)
        return result.flatten(1)
    return torch.addmm(values, weights, layer.values, beta=beta)


def _rows_are_cheaper(tests: MatrixGradient, train: MatrixGradient) -> bool:
    return _by_rows(tests.units, tests.row_count, train)


def _by_rows(tests: int, test_rows: int, train: MatrixGradient) -> bool:
    """Counted multiplications: all pairs of rows, or the training units' matrices and one product.

    The tests' own matrices are computed once and used for all training batches, so they are free.
    """
    wide, high = train.inputs.shape[2], train.outputs.shape[2]
    by_rows = test_rows * train.row_count * (wide + high)
    return by_rows < train.units * (train.inputs.shape[1] + tests) * wide * high


def _inner_by_rows(tests: MatrixGradient, train: MatrixGradient) -> Float[Tensor, "tests units"]:
    """sum_rs (a'_r.a_s + 1)(d'_r.d_s), without ever forming a weight-sized matrix."""
    (test_inputs, test_outputs, test_units), (inputs, outputs, units) = tests.rows, train.rows
    products = test_outputs @ outputs.T
    if tests.weight:
        pairs = test_inputs @ inputs.T
        products = products * (pairs + 1.0 if tests.bias else pairs)
    return _summed(_summed(products, test_units, tests.units).T, units, train.units).T


def _summed(
    rows: Float[Tensor, "rows others"], owners: Int[Tensor, " rows"], units: int
) -> Float[Tensor, "units others"]:
    each, left = divmod(len(owners), units)
    regular = torch.arange(units, device=owners.device).repeat_interleave(each)
    if each and not left and torch.equal(owners, regular):
        return rows if each == 1 else rows.reshape(units, each, -1).sum(1)
    # A product with a matrix of zeros and ones: far faster than adding row by row.
    own = torch.arange(units, device=owners.device)[:, None] == owners
    return own.to(rows.dtype) @ rows


def _inner_by_columns(
    tests: Float[Tensor, "size tests"], train: MatrixGradient
) -> Float[Tensor, "tests units"]:
    """Written-out tests against rows, piece by piece: the whole of the training side never exists."""
    groups = []
    for start in range(0, train.units, GROUP):
        part = train.some(slice(start, start + GROUP))
        # Four sums side by side: one product of two short sides would leave processors idle.
        result = tests.new_zeros(4, part.units, tests.shape[1])
        for first, values in part.columns():
            some = tests[first : first + values.shape[1]]
            if values.shape[1] % 4:
                result[0].addmm_(values, some)
            else:
                quarters = values.view(part.units, 4, -1).transpose(0, 1)
                result.baddbmm_(quarters, some.view(4, -1, some.shape[1]))
        groups.append(result.sum(0))
    return torch.cat(groups).T


def _inner_of_tables(
    tests: EmbeddingGradient, train: EmbeddingGradient
) -> Float[Tensor, "tests units"]:
    same = tests.ids.flatten()[:, None] == train.ids.flatten()[None, :]
    products = (tests.outputs.flatten(0, 1) @ train.outputs.flatten(0, 1).T) * same
    shape = (tests.units, tests.ids.shape[1], train.units, train.ids.shape[1])
    return products.view(shape).sum((1, 3))


def _inner_with_table(
    tests: Float[Tensor, "tests size"], train: EmbeddingGradient
) -> Float[Tensor, "tests units"]:
    """Only the table rows that a training unit touches enter its product."""
    width = train.outputs.shape[-1]
    tables = tests.view(tests.shape[0], -1, width)
    result = tests.new_zeros(tests.shape[0], train.units)
    for unit in range(train.units):
        touched = tables[:, train.ids[unit]]
        result[:, unit] = (touched * train.outputs[unit]).sum((1, 2))
    return result


def stack(parts: Sequence[LayerGradient]) -> LayerGradient:
    """Units of several batches as one block; shorter ones are filled up with zero rows."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, MatrixGradient):
        matrices = [part for part in parts if isinstance(part, MatrixGradient)]
        return replace(
            first,
            inputs=_stack_rows([part.inputs for part in matrices]),
            outputs=_stack_rows([part.outputs for part in matrices]),
        )
    if isinstance(first, EmbeddingGradient):
        tables = [part for part in parts if isinstance(part, EmbeddingGradient)]
        return replace(
            first,
            ids=_stack_rows([part.ids for part in tables]),
            outputs=_stack_rows([part.outputs for part in tables]),
        )
    return DenseGradient(torch.cat([part.dense() for part in parts]))


def _stack_rows(parts: Sequence[Tensor]) -> Tensor:
    most, units = max(part.shape[1] for part in parts), sum(len(part) for part in parts)
    filled = parts[0].new_zeros(units, most, *parts[0].shape[2:])
    first = 0
    for part in parts:
        filled[first : first + len(part), : part.shape[1]] = part
        first += len(part)
    return filled


def written_out(parts: Sequence[LayerGradient]) -> DenseGradient:
    """Units of several batches as one block of written-out gradients, a unit per column in memory."""
    whole = stack(parts)
    if isinstance(whole, EmbeddingGradient):
        whole = DenseGradient(whole.dense())
    return DenseGradient(whole.transposed_dense.T)


def better_written_out(parts: Sequence[LayerGradient]) -> bool:
    """Whether a block of tests, in parts, will meet training rows of its own kind as matrices."""
    matrices = [part for part in parts if isinstance(part, MatrixGradient)]
    if not matrices:
        return isinstance(parts[0], DenseGradient)
    units, rows = (sum(getattr(m, what) for m in matrices) for what in ("units", "row_count"))
    return not _by_rows(units, rows, max(matrices, key=lambda m: m.inputs.shape[1]))
