"""Factored gradients against the matrices they stand for, written out with loops."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spanfluence import inner_products, tiles
from spanfluence.gradients import DenseGradient, EmbeddingGradient, MatrixGradient, Rows, stack
from spanfluence.inner_products import add_weighted_sum, better_written_out, gram, inner
from spanfluence.text_rows import TextRows, Wanted
from spanfluence.tiles import tiles_of

TABLE_ROWS = 7
SIZES = st.integers(1, 5)
FLAGS = st.sampled_from([(True, True), (True, False), (False, True)])  # (weight, bias)
SEEDS = st.integers(0, 10_000)


def randn(seed: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def matrix(seed, units, rows, wide, high, flags=(True, True), transposed=False) -> MatrixGradient:
    weight, bias = flags
    inputs, outputs = randn(seed, units, rows, wide), randn(seed + 1, units, rows, high)
    return MatrixGradient((Rows(inputs, outputs),), weight, bias, transposed)


def table(seed, units, rows, high) -> EmbeddingGradient:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(TABLE_ROWS, (units, rows), generator=generator)
    return EmbeddingGradient(ids, randn(seed + 1, units, rows, high), TABLE_ROWS)


def written_out(layer) -> torch.Tensor:
    """The gradient of each unit by plain loops over its rows."""
    if isinstance(layer, DenseGradient):
        return layer.values
    if isinstance(layer, MatrixGradient):
        return torch.cat([written_out_part(layer, part) for part in layer.parts])
    units = []
    for unit in range(layer.units):
        whole = torch.zeros(layer.table_rows, layer.outputs.shape[2], dtype=torch.float64)
        for place, row in zip(layer.ids[unit].tolist(), layer.outputs[unit], strict=True):
            whole[place] += row
        units.append(whole.flatten())
    return torch.stack(units)


def written_out_part(layer: MatrixGradient, part: Rows) -> torch.Tensor:
    units = []
    for inputs, outputs in zip(*part, strict=True):
        weight = torch.zeros(outputs.shape[1], inputs.shape[1], dtype=torch.float64)
        bias = torch.zeros(outputs.shape[1], dtype=torch.float64)
        for a, d in zip(inputs, outputs, strict=True):
            weight += torch.outer(d, a)
            bias += d
        weight = weight.T if layer.transposed else weight
        parts = ([weight.flatten()] if layer.weight else []) + ([bias] if layer.bias else [])
        units.append(torch.cat(parts))
    return torch.stack(units)


def check(layer) -> None:
    """Everything a layer's gradient tells about itself."""
    expected = written_out(layer)
    assert layer.units == len(expected)
    torch.testing.assert_close(layer.dense(), expected)
    torch.testing.assert_close(layer.square_norms(), expected.square().sum(1))
    torch.testing.assert_close(gram(layer), expected @ expected.T)
    weights = randn(5, 2, layer.units)
    onto = randn(6, 2, expected.shape[1])
    torch.testing.assert_close(
        add_weighted_sum(onto, layer, weights, beta=0.5), 0.5 * onto + weights @ expected
    )
    if isinstance(layer, MatrixGradient):
        pieces = [(first, values.clone()) for first, values in layer.columns(chunk_bytes=1)]
        assert [first for first, _ in pieces] == running_widths(pieces)
        torch.testing.assert_close(torch.cat([values for _, values in pieces], 1), expected)
        if layer.weight:
            torch.testing.assert_close(layer.as_vector(layer.as_matrix(expected)), expected)


def running_widths(pieces) -> list[int]:
    ends = torch.tensor([0, *(values.shape[1] for _, values in pieces)]).cumsum(0)
    return ends[:-1].tolist()


def check_inner(tests, train) -> None:
    expected = written_out(tests) @ written_out(train).T
    torch.testing.assert_close(inner(tests, train), expected)


@settings(deadline=None)
@given(SEEDS, SIZES, SIZES, SIZES, SIZES, FLAGS, st.booleans())
def test_a_linear_layer(seed, units, rows, wide, high, flags, transposed):
    check(matrix(seed, units, rows, wide, high, flags, transposed))


@settings(deadline=None)
@given(SEEDS, SIZES, SIZES, SIZES)
def test_an_embedding_table(seed, units, rows, high):
    check(table(seed, units, rows, high))


def test_a_layer_written_out():
    check(DenseGradient(randn(0, 3, 8)))


@settings(deadline=None)
@given(SEEDS, st.tuples(SIZES, SIZES), st.tuples(SIZES, SIZES), SIZES, SIZES, FLAGS, st.booleans())
def test_inner_products_of_linear_layers(seed, tests, train, wide, high, flags, transposed):
    a = matrix(seed, *tests, wide, high, flags, transposed)
    b = matrix(seed + 9, *train, wide, high, flags, transposed)
    check_inner(a, b)
    check_inner(DenseGradient(a.dense()), b)  # as after a solve with inverse curvature


@pytest.mark.parametrize("flags", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("sizes", [(1, 40, 40), (30, 2, 2)])
def test_both_ways_to_an_inner_product(sizes, flags):
    """Few rows of wide layers go by rows, many rows of narrow ones by the summed matrices."""
    rows, wide, high = sizes
    check_inner(matrix(1, 3, rows, wide, high, flags), matrix(2, 4, rows, wide, high, flags))


@settings(deadline=None)
@given(SEEDS, st.tuples(SIZES, SIZES), st.tuples(SIZES, SIZES), SIZES)
def test_inner_products_of_tables(seed, tests, train, high):
    a, b = table(seed, *tests, high), table(seed + 9, *train, high)
    check_inner(a, b)
    check_inner(DenseGradient(a.dense()), b)


def test_inner_products_of_layers_written_out():
    check_inner(DenseGradient(randn(0, 2, 8)), DenseGradient(randn(1, 3, 8)))


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(tiles, "TILE_ROWS", 2)
    monkeypatch.setattr(tiles, "TILE_COLUMNS", 3)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("flags", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rows", [1, 3])
def test_tests_written_out_in_tiles(flags, transposed, rows):
    layers = [matrix(seed, 2, 4, 7, 5, flags, transposed) for seed in (0, 4)]
    layer = stack(layers)
    expected, found = written_out(layer), layer.tiled()
    assert len(found.tiles) == (len(tiles_of(*layer.stored)) if flags[0] else 0)
    assert found.units == 4
    torch.testing.assert_close(found.dense(), expected)
    torch.testing.assert_close(found.square_norms(), expected.square().sum(1))
    train = stack([matrix(seed, 3, rows, 7, 5, flags, transposed) for seed in (9, 12)])
    torch.testing.assert_close(inner(found, train), expected @ written_out(train).T)
    torch.testing.assert_close(inner(found, train.tiled()), expected @ written_out(train).T)


@pytest.mark.parametrize(
    "shape", [(1, 1), (128, 384), (129, 385), (384, 1536), (3072, 768), (50, 7)]
)
def test_tiles_cover_a_weight_once(shape):
    covered = torch.zeros(shape)
    for tile in tiles_of(*shape):
        covered[tile.rows, tile.columns] += 1
        assert tile.size == covered[tile.rows, tile.columns].numel() <= 128 * 384
    assert covered.eq(1).all()


def test_a_table_is_written_out_whole():
    found = inner_products.written_out(table(0, 2, 3, 4))
    torch.testing.assert_close(found.dense(), written_out(table(0, 2, 3, 4)))


# --- blocks of units ---------------------------------------------------------------------------------


@settings(deadline=None)
@given(SEEDS, st.lists(st.tuples(SIZES, SIZES), min_size=2, max_size=4), FLAGS, st.booleans())
def test_a_linear_layer_in_parts(seed, parts, flags, transposed):
    def make(seed):
        layers = [matrix(seed + k, *part, 4, 5, flags, transposed) for k, part in enumerate(parts)]
        return stack(layers)

    check(make(seed))
    check_inner(make(seed), make(seed + 9))
    check_inner(make(seed), matrix(seed + 20, 2, 1, 4, 5, flags, transposed))


@pytest.mark.parametrize("transposed", [False, True])
def test_stacking_puts_units_after_each_other(transposed):
    for parts in (
        [
            matrix(0, 2, 3, 4, 5, (True, False), transposed),
            matrix(5, 3, 1, 4, 5, (True, False), transposed),
        ],
        [table(0, 2, 3, 4), table(5, 3, 6, 4)],
        [DenseGradient(randn(0, 2, 6)), DenseGradient(randn(1, 3, 6))],
    ):
        together = stack(parts)
        check(together)
        torch.testing.assert_close(together.dense(), torch.cat([part.dense() for part in parts]))
        assert stack(parts[:1]) is parts[0]


def test_many_tests_of_many_rows_are_better_written_out():
    assert not better_written_out(matrix(0, 1, 9, 40, 50))
    assert better_written_out(stack([matrix(0, 100, 9, 40, 50)] * 2))
    assert not better_written_out(matrix(0, 10, 1, 40, 50))
    assert better_written_out(DenseGradient(randn(0, 2, 6)))


def test_rows_that_only_fill_up_are_not_counted():
    layer = matrix(0, 3, 4, 5, 6)
    outputs = layer.parts[0].outputs
    outputs[0, 1:] = 0.0
    outputs[2] = 0.0
    assert layer.row_count == 5
    assert layer.rows[2].tolist() == [0, 1, 1, 1, 1]
    check_inner(layer, matrix(3, 2, 1, 5, 6))
    check_inner(matrix(3, 2, 1, 5, 6), layer)
    outputs[:] = 0.0
    empty = MatrixGradient(layer.parts)
    assert empty.row_count == 0
    check_inner(empty, matrix(3, 2, 1, 5, 6))
    check_inner(matrix(3, 2, 1, 5, 6), empty)


# --- from texts to units -----------------------------------------------------------------------------


def text_rows(kind: str, texts: int = 3, tokens: int = 4) -> TextRows:
    """What a layer saw in some texts: one row per token, and one that is no token."""
    rows = randn(0, texts, tokens + 1, 5)
    positions = torch.tensor([*range(tokens), -1])
    inputs = randn(1, texts, tokens + 1, 2) if kind == "matrix" else None
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(TABLE_ROWS, (texts, tokens + 1), generator=generator)
    return TextRows(
        kind, rows, positions, inputs=inputs, ids=ids if kind == "embedding" else None,
        table_rows=TABLE_ROWS,
    )  # fmt: skip


def gradient_of(rows: TextRows, text: int, kept: list[int]) -> torch.Tensor:
    """The gradient of one text by loops over some of its rows."""
    one = torch.tensor([kept], dtype=torch.long)
    if rows.kind == "dense":
        return rows.rows[text, kept].sum(0)
    outputs = rows.rows[text, one]
    if rows.kind == "embedding":
        return written_out(EmbeddingGradient(rows.ids[text, one], outputs, TABLE_ROWS))[0]
    return written_out(MatrixGradient((Rows(rows.inputs[text, one], outputs),)))[0]


KINDS = pytest.mark.parametrize("kind", ["matrix", "embedding", "dense"])
EVERYONE = torch.arange(3)[:, None]


@KINDS
def test_a_difference_of_texts(kind):
    rows = text_rows(kind)
    masked, plain = torch.tensor([0, 2, 1, 1]), torch.tensor([1, 1, 0, 2])
    signs = torch.tensor([[1.0, -1.0]]).expand(4, 2)
    units = rows.units(torch.stack([masked, plain], 1), signs)
    everything = list(range(5))
    for unit in range(4):
        expected = gradient_of(rows, int(masked[unit]), everything) - gradient_of(
            rows, int(plain[unit]), everything
        )
        torch.testing.assert_close(units.dense()[unit], expected)
        torch.testing.assert_close(units.square_norms()[unit], expected.square().sum())


@KINDS
def test_only_the_rows_of_the_span(kind):
    rows = text_rows(kind)
    texts = torch.tensor([2, 0, 1, 0])
    wanted = torch.tensor(
        [[False, True, False, True], [True] * 4, [False, False, True, False], [False] * 4]
    )
    units = rows.units(texts[:, None], torch.full((4, 1), -1.0), Wanted(wanted))
    for unit, text in enumerate(texts.tolist()):
        kept = wanted[unit].nonzero().flatten().tolist()
        expected = -gradient_of(rows, text, kept)
        torch.testing.assert_close(units.dense()[unit], expected)
    assert not units.dense()[3].any(), "a unit without a token in the layer has no gradient there"


def test_rows_that_are_wanted_depend_on_where_a_layer_has_its_rows():
    wanted = Wanted(torch.tensor([[True, False, True], [False, True, False]]))
    for positions, texts, rows in (
        ([0, 1, 2], 1, [[0, 2], [1]]),
        ([2, 1, -1], 1, [[0], [1]]),
        ([0, 1, 2], 2, [[0, 2], [0, 2], [1], [1]]),
        ([-1, 5], 1, [[], []]),
        ([0, 1, 2], 1, [[0, 2], [1]]),  # known by now
    ):
        order, filling = wanted.rows(torch.tensor(positions), texts)
        kept = [own[~fills].tolist() for own, fills in zip(order, filling, strict=True)]
        assert kept == rows


@KINDS
def test_rows_that_are_no_tokens_belong_to_no_span(kind):
    rows = text_rows(kind)
    rows = TextRows(**{**vars(rows), "positions": torch.full((5,), -1)})
    units = rows.units(EVERYONE, wanted=Wanted(torch.ones(3, 4, dtype=torch.bool)))
    assert not units.dense().any()


@KINDS
def test_empty_rows_are_dropped_and_nothing_else(kind):
    rows = text_rows(kind)
    values = rows.rows.clone()
    values[:, [0, 2]] = 0.0  # in every text
    values[1, 3] = 0.0  # in one text only
    rows = TextRows(**{**vars(rows), "rows": values})
    short = rows.without_empty_rows()
    if kind != "dense":
        assert short.rows.shape[1] == 3
    for text in range(3):
        expected = gradient_of(rows, text, list(range(5)))
        torch.testing.assert_close(short.units(EVERYONE).dense()[text], expected)
    full = text_rows(kind)
    assert full.without_empty_rows() is full


@KINDS
def test_a_layer_without_any_gradient_keeps_its_shape(kind):
    rows = text_rows(kind)
    rows = TextRows(**{**vars(rows), "rows": torch.zeros_like(rows.rows)})
    units = rows.without_empty_rows().units(EVERYONE)
    assert not units.dense().any()
    assert units.dense().shape == text_rows(kind).units(EVERYONE).dense().shape


@KINDS
def test_neighbouring_texts_are_not_copied(kind):
    """Units whose texts stand side by side, in pairs or alone, are views of the batch."""
    rows = text_rows(kind)
    pair = rows.units(torch.tensor([[0, 1]]))
    torch.testing.assert_close(
        pair.dense()[0], sum(gradient_of(rows, text, list(range(5))) for text in (0, 1))
    )
    if kind != "dense":
        outputs = pair.parts[0].outputs if kind == "matrix" else pair.outputs
        assert outputs.data_ptr() == rows.rows.data_ptr()


@pytest.mark.parametrize("empty", [False, True])
def test_what_a_batch_left_dies_with_it(empty):
    """Waiting for the garbage collector, batches would pile up."""
    rows = TextRows("matrix", randn(0, 2, 3, 4), torch.arange(3), inputs=randn(1, 2, 3, 5))
    if empty:
        rows.rows[:, 1] = 0.0
    rows.units(torch.arange(2)[:, None])
    alive = weakref.ref(rows)
    gc.disable()
    try:
        del rows
        assert alive() is None
    finally:
        gc.enable()
