"""The evidence behind `pinpoint`: each of its columns switched by itself, on three measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.lds import span_lds_table
from spanfluence.evaluation.planted import planted_cells, planted_table
from spanfluence.evaluation.span_removal import span_removal_table
from spanfluence.evaluation.tables import Table
from spanfluence.methods import CHOICES, METHODS

LEFT_OUT = {("curvature", "lissa")}
"""Choices that cost too much to switch to: LiSSA needs hours for the tests of one planted cell."""


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
KEY = {"planted": ("planted, all rates", "decoy, all rates"), "span_lds": ("Span-LDS",)}


def ablation_table(bench: Bench) -> Table:
    """Planted precision, span-LDS and span-Ral of `pinpoint` with each column changed."""
    part = replace(bench, methods=VARIANTS, votes=VOTES)
    cells = planted_cells(part)
    tables = [planted_table(part, cells), span_lds_table(part), span_removal_table(part)]
    share = f"Ral({max(bench.sizes.shares):.0%})"
    keys = {**KEY, "span_ral": (share,)}
    return Table(
        "ablation",
        "Pinpoint with one column switched at a time",
        _joined(tables, keys),
        ("Each column of the table is explained under the table it comes from.",),
    )


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
