"""Inner products of gradients of one layer, in the cheaper of the ways that their factors allow.

This and the sum over layers and points in `influence.py` are the only inner products of gradients.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from spanfluence.allocator import large_empty
from spanfluence.gradients import (
    DenseGradient,
    EmbeddingGradient,
    LayerGradient,
    MatrixGradient,
)
from spanfluence.head_gradients import HeadGradient, inner_of_heads
from spanfluence.products import times_transposed
from spanfluence.tiles import Tile, TiledGradient

IN_CACHE = 1 << 19  # numbers of a product that is read again at once


def inner(tests: LayerGradient, train: LayerGradient) -> Float[Tensor, "tests units"]:
    """Inner product of every test unit's gradient with every training unit's, for one layer."""
    if isinstance(train, EmbeddingGradient):
        if isinstance(tests, EmbeddingGradient):
            return _inner_of_tables(tests, train)
        return _inner_with_table(tests.dense(), train)
    if isinstance(train, HeadGradient) and isinstance(tests, HeadGradient):
        return inner_of_heads(tests, train)
    if isinstance(train, DenseGradient | TiledGradient) or isinstance(tests, EmbeddingGradient):
        return tests.dense() @ train.dense().T
    if isinstance(train, MatrixGradient):
        if isinstance(tests, MatrixGradient) and _rows_are_cheaper(tests, train):
            return _inner_by_rows(tests, train)
        if train.single_rows:
            return _inner_with_single_rows(_as_tiles(tests, train), train)
        if isinstance(tests, TiledGradient):
            return _inner_by_tiles(tests, train)
        return _inner_by_columns(tests.dense(), train)
    return _inner_with_heads(tests.dense(), train)


def gram(layer: LayerGradient) -> Float[Tensor, "units units"]:
    """Inner products of all pairs of units of one layer."""
    if not isinstance(layer, MatrixGradient) or _rows_are_cheaper(layer, layer):
        return inner(layer, layer)
    total = layer.parts[0].outputs.new_zeros(layer.units, layer.units)
    step = max(1, -(-layer.units // 4))
    for _, values in layer.columns():
        for first in range(0, layer.units, step):  # below the diagonal only: the rest is its mirror
            last = min(first + step, layer.units)
            total[first:last, :last] += times_transposed(values[first:last], values[:last])
    return torch.tril(total) + torch.tril(total, -1).T


def add_weighted_sum(
    values: Float[Tensor, "tests size"],
    layer: LayerGradient,
    weights: Float[Tensor, "tests units"],
    *,
    beta: float = 1.0,
    spent: bool = False,
) -> Float[Tensor, "tests size"]:
    """beta values_t + sum_u weights_tu g_u, written out; `spent` values are written over, where that helps."""
    if isinstance(layer, MatrixGradient | HeadGradient):
        result = values if spent else large_empty(values, *values.shape)
        if isinstance(layer, HeadGradient):
            _add_sum_of_heads(result, values, layer, weights, beta)
        elif layer.single_rows:
            _add_sum_of_single_rows(result, values, layer, weights, beta)
        else:
            for first, piece in layer.columns():
                columns = slice(first, first + piece.shape[1])
                found = times_transposed(weights, piece.T)
                torch.add(found, values[:, columns], alpha=beta, out=result[:, columns])
        return result
    if isinstance(layer, EmbeddingGradient):
        result = (beta * values).view(len(values), layer.table_rows, -1)
        for unit in range(layer.units):
            own = weights[:, unit, None, None] * layer.outputs[unit]
            result.index_add_(1, layer.ids[unit], own)
        return result.flatten(1)
    return torch.addmm(values, weights, layer.dense(), beta=beta)


def _rows_are_cheaper(tests: MatrixGradient, train: MatrixGradient) -> bool:
    """Counted multiplications: all pairs of rows, or the training units' matrices and one product.

    The tests' own matrices are computed once and used for all training batches, so they are free.
    """
    by_rows = tests.row_count * train.row_count * (train.wide + train.high)
    return by_rows < (train.filled_rows + train.units * tests.units) * train.wide * train.high


def _inner_by_rows(tests: MatrixGradient, train: MatrixGradient) -> Float[Tensor, "tests units"]:
    """sum_rs (a'_r.a_s + 1)(d'_r.d_s), without ever forming a weight-sized matrix."""
    (test_inputs, test_outputs, test_units), (inputs, outputs, units) = tests.rows, train.rows
    products = times_transposed(test_outputs, outputs)
    if tests.weight:
        pairs = times_transposed(test_inputs, inputs)
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
    return times_transposed(own.to(rows.dtype), rows.T)


def _as_tiles(tests: LayerGradient, train: MatrixGradient) -> TiledGradient:
    """Written-out tests of a layer: a single tile, if they are not in tiles already."""
    if isinstance(tests, TiledGradient):
        return tests
    values = tests.dense()
    whole = [Tile(slice(0, train.stored[0]), slice(0, train.stored[1]))] if train.weight else []
    bias = values[:, train.weights :] if train.bias else None
    return TiledGradient(whole, [values[:, : train.weights] for _ in whole], bias)


def _inner_with_single_rows(
    tests: TiledGradient, train: MatrixGradient
) -> Float[Tensor, "tests units"]:
    """d_u T_t a_u and d_u . b_t: a matrix of rank one is not worth writing out."""
    left, right, outputs = train.single
    result = left.new_zeros(train.units, tests.units)
    for tile, values in zip(tests.grid, tests.tiles, strict=True):
        matrices = values.view(-1, *tile.shape)
        result += _between(matrices, left[:, tile.rows], right[:, tile.columns])
    if tests.bias is not None:
        result.addmm_(outputs, tests.bias.T)
    return result.T


def _inner_with_heads(
    tests: Float[Tensor, "tests size"], train: HeadGradient
) -> Float[Tensor, "tests units"]:
    """`_inner_with_single_rows` head by head; a unit may have some rows in each."""
    result = tests.new_zeros(train.units, len(tests))
    first = 0
    for outputs, inputs in train.weight_rows():
        shape = outputs.shape[2], inputs.shape[2]
        own = slice(first, first + shape[0] * shape[1])
        sides = outputs.flatten(0, 1), inputs.flatten(0, 1)
        found = _between(tests[:, own].view(-1, *shape), *sides)
        result += found.view(*outputs.shape[:2], -1).sum(1)
        first = own.stop
    if train.bias:
        result.addmm_(train.of_bias, tests[:, first:].T)
    return result.T


def _between(
    matrices: Float[Tensor, "tests high wide"],
    left: Float[Tensor, "rows high"],
    right: Float[Tensor, "rows wide"],
) -> Float[Tensor, "rows tests"]:
    """d_r T_t a_r for every row and matrix: as large products as stay in the cache."""
    found = []
    for some in matrices.split(max(1, IN_CACHE // left.numel())):
        products = times_transposed(right, some.flatten(0, 1)).view(len(right), *some.shape[:2])
        found.append(torch.bmm(products, left[..., None])[..., 0])
    return torch.cat(found, 1)


def _inner_by_tiles(tests: TiledGradient, train: MatrixGradient) -> Float[Tensor, "tests units"]:
    """Written-out tests against rows, tile by tile: the whole of the training side never exists."""
    result = train.parts[0].outputs.new_zeros(train.units, tests.units)
    for values, own in zip(tests.tiles, train.pieces(tests.grid), strict=True):
        result += times_transposed(own, values)
    if tests.bias is not None:
        result += times_transposed(train.of_bias, tests.bias)
    return result.T


def _add_sum_of_single_rows(
    result: Float[Tensor, "tests size"],
    values: Float[Tensor, "tests size"],
    layer: MatrixGradient,
    weights: Float[Tensor, "tests units"],
    beta: float,
) -> None:
    """`add_weighted_sum` onto `result`, where each test's sum of d_u a_u^T is one product."""
    left, right, outputs = layer.single
    if layer.weight:
        own = slice(0, layer.weights)
        _add_sum_of_pairs(result[:, own], values[:, own], weights, left, right, beta)
    if layer.bias:
        own = slice(layer.weights, None)
        torch.add(weights @ outputs, values[:, own], alpha=beta, out=result[:, own])


def _add_sum_of_heads(
    result: Float[Tensor, "tests size"],
    values: Float[Tensor, "tests size"],
    layer: HeadGradient,
    weights: Float[Tensor, "tests units"],
    beta: float,
) -> None:
    """`_add_sum_of_single_rows` head by head; a unit may have some rows in each."""
    first = 0
    by_row = weights.repeat_interleave(layer.outputs.shape[2], 1)
    for outputs, inputs in layer.weight_rows():
        own = slice(first, first + outputs.shape[2] * inputs.shape[2])
        sides = outputs.flatten(0, 1), inputs.flatten(0, 1)
        _add_sum_of_pairs(result[:, own], values[:, own], by_row, *sides, beta)
        first = own.stop
    if layer.bias:
        own = slice(first, None)
        torch.add(weights @ layer.of_bias, values[:, own], alpha=beta, out=result[:, own])


def _add_sum_of_pairs(
    result: Float[Tensor, "tests size"],
    values: Float[Tensor, "tests size"],
    weights: Float[Tensor, "tests rows"],
    left: Float[Tensor, "rows high"],
    right: Float[Tensor, "rows wide"],
    beta: float,
) -> None:
    """result_t = beta values_t + sum_r w_tr d_r a_r^T, some tests at once."""
    step = max(1, IN_CACHE // result.shape[1])
    for onto, before, own in zip(*(x.split(step) for x in (result, values, weights)), strict=True):
        weighted = (own[:, None] * left.T).flatten(0, 1)
        found = times_transposed(weighted, right.T).view(onto.shape)
        torch.add(found, before, alpha=beta, out=onto)


def _inner_by_columns(
    tests: Float[Tensor, "tests size"], train: MatrixGradient
) -> Float[Tensor, "tests units"]:
    """`_inner_by_tiles`, of tests that are not in tiles."""
    result = tests.new_zeros(train.units, len(tests))
    for first, values in train.columns():
        result += times_transposed(values, tests[:, first : first + values.shape[1]])
    return result.T


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


def better_written_out(tests: LayerGradient) -> bool:
    """Whether a block of tests will meet training rows of its own kind as matrices."""
    if isinstance(tests, MatrixGradient):
        return not _rows_are_cheaper(tests, tests)
    return isinstance(tests, DenseGradient)


def written_out(tests: LayerGradient) -> DenseGradient | TiledGradient:
    """A block of tests as training units will meet it."""
    return tests.tiled() if isinstance(tests, MatrixGradient) else DenseGradient(tests.dense())
