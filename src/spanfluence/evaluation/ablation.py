"""The evidence behind `pinpoint`: each of its columns switched by itself, on three measures.

Beside the columns: gradients of the blocks before those that are trained ("middle layers"), votes of
several variants, and the paper's method. Every figure has its paired difference to `pinpoint`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spanfluence.anatomy import dissect
from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.lds import Measured, span_lds, span_lds_table
from spanfluence.evaluation.planted import (
    Cell,
    cell_values,
    main_cells,
    planted_cells,
    planted_table,
)
from spanfluence.evaluation.removal import brackets
from spanfluence.evaluation.span_removal import (
    CONTROL,
    Fall,
    span_falls,
    span_removal_table,
)
from spanfluence.evaluation.tables import Table
from spanfluence.methods import CHOICES, METHODS
from spanfluence.metrics import Interval, bootstrap
from spanfluence.model import TextClassifier
from spanfluence.units import Example

LEFT_OUT = {("curvature", "lissa"), ("curvature", "cg")}
"""LiSSA needs hours for the tests of one planted cell; cg solves the same system as ggn, only slower."""


def variants() -> dict[str, dict[str, Any]]:
    """`pinpoint`, every other choice of each of its columns, and the paper's method beside them."""
    base = METHODS["pinpoint"]
    found: dict[str, dict[str, Any]] = {"pinpoint": {"method": "pinpoint"}}
    for column, choices in CHOICES.items():
        for choice in choices:
            if choice != getattr(base, column) and (column, choice) not in LEFT_OUT:
                name = f"pinpoint, {column}={choice}"
                found[name] = {"method": "pinpoint", column: choice}
    found["tracin++"] = {"method": "tracin++"}
    return found


VARIANTS = variants()
VOTES = {"rank votes": ("pinpoint", "pinpoint, contrast=masked", "pinpoint, scale=cosine")}
BASE = "pinpoint"
MIDDLE = "pinpoint, middle layers"
KEY = {"planted": ("planted", "decoy"), "span_lds": ("Span-LDS",)}
MINUS = " minus pinpoint"


@dataclass(frozen=True)
class Evidence:
    """What the three measures found, by the name of the list."""

    cells: list[Cell]
    lds: Measured
    falls: dict[str, dict[float, Fall]]


def ablation_table(bench: Bench) -> Table:
    """Planted precision, span-LDS and span-Ral of `pinpoint` with each column changed."""
    share = max(bench.sizes.shares)  # the one that is shown
    sizes = replace(bench.sizes, shares=(share,))
    part = replace(bench, methods=VARIANTS, votes=VOTES, sizes=sizes)
    found = Evidence(planted_cells(part), span_lds(part), span_falls(part))
    blocks = middle_blocks(bench.classifier)
    if blocks:
        found = _with_middle(
            found, replace(part, methods={MIDDLE: {"method": BASE}}, votes={}), blocks
        )
    tables = [
        planted_table(part, found.cells),
        span_lds_table(part, found.lds),
        span_removal_table(part, found.falls),
    ]
    ral = f"Ral({share:.0%})"
    rows = _joined(tables, {**KEY, "span_ral": (ral, ral + CONTROL)})
    return Table(
        "ablation",
        "Pinpoint with one column switched at a time",
        [{**row, **_differences(found, str(row["method"]), share)} for row in rows],
        (
            "Each column of the table is explained under the table it comes from. 'minus pinpoint': "
            "paired difference, with its own 95 % bootstrap interval. 'middle layers': gradients of the "
            "two blocks before those that are trained.",
            f"Span-Ral. {brackets(part.sizes.seeds)}",
            f"Retrainings take their products in {bench.retrainer.precision}.",
        ),
    )


def middle_blocks(classifier: TextClassifier) -> tuple[str, ...]:
    """Names of the parameters of the two blocks before the first attributed one; none: no such block."""
    if classifier.trunk is None:
        return ()
    encoded = classifier.encoder.encode([Example("a b c d"), Example("e f g")])
    anatomy = dissect(classifier.model, classifier.encoder.collate(encoded, classifier.device))
    wanted = range(max(0, classifier.trunk.depth - 2), classifier.trunk.depth)
    names = [name for name, _ in classifier.model.named_parameters()]
    return tuple(name for name in names if anatomy.block_of(name) in wanted)


def _with_middle(found: Evidence, bench: Bench, blocks: tuple[str, ...]) -> Evidence:
    """The same models, tests, subsets and masks, scored by gradients of other blocks."""
    part = bench.attributing(blocks)
    cells = [
        {**cell, "methods": {**cell["methods"], **more["methods"]}}
        for cell, more in zip(found.cells, planted_cells(part), strict=True)
    ]
    lds = {**found.lds.predicted, MIDDLE: span_lds(part).predicted[MIDDLE]}
    falls = {**found.falls, MIDDLE: span_falls(part)[MIDDLE]}
    return Evidence(cells, replace(found.lds, predicted=lds), falls)


def _differences(found: Evidence, name: str, share: float) -> dict[str, Interval | None]:
    """Paired differences of one list to `pinpoint` in all three measures."""
    cells = main_cells(found.cells)
    values, triggers = cell_values(cells, name, "planted")
    base, _ = cell_values(cells, BASE, "planted")
    planted = [own - other for own, other in zip(values, base, strict=True)]
    lds, falls = found.lds, found.falls
    return {
        f"planted{MINUS}": bootstrap(planted, groups=triggers) if planted else None,
        f"Span-LDS{MINUS}": lds.interval(lds.predicted[name], minus=lds.predicted[BASE]),
        f"span-Ral{MINUS}": falls[name][share].interval(
            falls[name][share].rows - falls[BASE][share].rows
        )
        if name in falls
        else None,
    }


def _joined(tables: Sequence[Table], keys: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for table in tables:
        for row in table.rows:
            name = str(row["method"])
            own = rows.setdefault(name, {"method": name})
            for column in keys[table.name]:
                shown = f"span-{column}" if table.name == "span_ral" else column
                own[shown] = row[column]
    return list(rows.values())
