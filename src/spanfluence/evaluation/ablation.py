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

SWITCHES: dict[str, Mapping[str, Any]] = {
    "target loss": {"target": "loss"},
    "masked difference": {"contrast": "masked"},
    "whole text": {"locality": "text"},
    "no scale": {"scale": "none"},
    "one cosine": {"scale": "cosine"},
    "no weight": {"weight": "none"},
    "positive importance": {"weight": "positive-importance"},
    "delta points": {"points": "delta"},
    "checkpoints": {"points": "checkpoints"},
    "masked difference, one cosine": {"contrast": "masked", "scale": "cosine"},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "pinpoint": {"method": "pinpoint"},
    **{f"pinpoint, {name}": {"method": "pinpoint", **change} for name, change in SWITCHES.items()},
    "tracin++": {"method": "tracin++"},
}
VOTES = {"rank votes": ("pinpoint", "pinpoint, masked difference", "pinpoint, one cosine")}
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
