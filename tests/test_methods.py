"""The table of methods is that of the method page, row by row and column by column."""

from __future__ import annotations

from dataclasses import asdict, fields

import pytest

from spanfluence import METHODS, Method
from spanfluence.errors import InputError
from spanfluence.methods import CHOICES, method_named

COLUMNS = ("points", "curvature", "units", "target", "contrast", "locality", "scale", "weight")
PAPER = ("loss", "masked", "text", "none", "none")
TABLE = {
    "if": ("final", "lissa", ("instance", "instance"), *PAPER),
    "if+": ("final", "lissa", ("instance", "span"), *PAPER),
    "if++": ("final", "lissa", ("span", "span"), *PAPER),
    "tracin": ("checkpoints", "identity", ("instance", "instance"), *PAPER),
    "tracinf": ("delta", "identity", ("instance", "instance"), *PAPER),
    "tracin+": ("delta", "identity", ("instance", "span"), *PAPER),
    "tracin++": ("delta", "identity", ("span", "span"), *PAPER),
    "control": ("checkpoints", "identity", ("span", "span"), *PAPER),
    "faithful": ("final", "identity", ("span", "span"), *PAPER),
    "pinpoint": (
        "final", "identity", ("span", "span"),
        "logit", "unmasked", "span", "layer-cosine", "importance",
    ),
    "tracepoint": (
        "checkpoints", "identity", ("span", "span"),
        "loss", "unmasked", "span", "layer-cosine", "importance",
    ),
}  # fmt: skip
PAPER_SIGNS = {
    "if": -1,
    "if+": -1,
    "if++": 1,
    "tracin": 1,
    "tracinf": 1,
    "tracin+": -1,
    "tracin++": 1,
    "control": 1,
    "faithful": 1,
    "pinpoint": 1,
    "tracepoint": 1,
}


def test_the_table_has_these_rows():
    assert list(METHODS) == list(TABLE)
    assert tuple(field.name for field in fields(Method)) == COLUMNS


@pytest.mark.parametrize("name", TABLE)
def test_each_row(name):
    assert asdict(METHODS[name]) == dict(zip(COLUMNS, TABLE[name], strict=True))
    assert method_named(name) is METHODS[name]
    assert METHODS[name].paper_sign == PAPER_SIGNS[name]


def test_the_columns_that_a_caller_may_choose_from():
    assert CHOICES == {
        "points": ("final", "checkpoints", "delta"),
        "curvature": ("identity", "lissa", "ggn", "ekfac", "cg"),
        "target": ("loss", "logit", "margin"),
        "contrast": ("masked", "unmasked"),
        "locality": ("text", "span"),
        "scale": ("none", "cosine", "layer-cosine"),
        "weight": ("none", "importance", "positive-importance"),
    }


def test_a_row_varied_keeps_its_other_columns():
    varied = METHODS["tracin++"].varied(target="logit", units=["instance", "span"])
    assert asdict(varied) == {
        **asdict(METHODS["tracin++"]),
        "target": "logit",
        "units": ("instance", "span"),
    }
    assert METHODS["tracin++"].target == "loss"


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (
            {"target": "probability"},
            "target='probability' is not known: use 'loss', 'logit', 'margin'",
        ),
        ({"curvature": "hessian"}, "curvature='hessian' is not known: use 'identity', 'lissa'"),
        ({"points": "last"}, "points='last' is not known: use 'final', 'checkpoints', 'delta'"),
        ({"weight": "imp"}, "weight='imp' is not known"),
        ({"scale": None}, "scale=None is not known"),
        (
            {"colour": "red"},
            "a method has no column 'colour': its columns are 'points', 'curvature', 'units', 'target'",
        ),
        ({"units": ("span",)}, "units=('span',) must be a pair (test, train)"),
        ({"units": ("span", "word")}, "units=('span', 'word') must be a pair (test, train)"),
        (
            {"units": ("instance", "instance"), "contrast": "unmasked"},
            "contrast='unmasked' needs a span unit on one side",
        ),
        (
            {"units": ("instance", "instance"), "locality": "span"},
            "locality='span' needs a span unit on one side",
        ),
        (
            {"units": ("span", "instance"), "weight": "importance"},
            "weight='importance' needs span units on the training side",
        ),
    ],
)
def test_columns_that_cannot_be(columns, says):
    with pytest.raises(InputError) as caught:
        METHODS["faithful"].varied(**columns)
    assert str(caught.value).startswith(says)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError) as caught:
        method_named("trackin")
    assert str(caught.value).startswith("no method 'trackin': use 'if', 'if+'")
    assert str(caught.value).endswith("'tracepoint'")
