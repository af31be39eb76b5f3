"""REPORT.md: our numbers beside the paper's, and which of its findings hold with our model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanfluence.evaluation.agreement import PAPER_SIGN
from spanfluence.evaluation.removal import LOST
from spanfluence.evaluation.tables import Cell, Table
from spanfluence.reproduce import paper

SIGN = """## Signs

A positive score of ours means that the two units pull the parameters the same way: the top of a list supports
the test. The paper's signs do not agree with each other: its IF carries the minus of its Eq. 1, its IF+ and TracIn+
are `g'.(g - g_masked)`, minus ours, and its IF++ and TracIn++, printed with a minus, were computed by the released
code as ours. Rows marked "paper's sign" are the opposite end of our list, and the paper's number stands beside
them. The paper's TracIn+ row (Lag 8.60 on MAMS, far below chance) is such a row: the list is upside down. It is
a sign, not a finding about label agreement.
"""


@dataclass(frozen=True)
class Reproduction:
    """Everything the report says."""

    dataset: str
    quick: bool
    tables: Mapping[str, Table]
    counts: Mapping[str, int]
    filtered: bool
    model: Mapping[str, Any]
    curvature: str
    seconds: Mapping[str, float]
    versions: Mapping[str, str]


def render(result: Reproduction) -> str:
    """The whole page."""
    parts = [f"# Reproduction on {result.dataset}\n", _setup(result)]
    claims = [
        result.tables[n] for n in ("claims_agreement", "claims_faithfulness") if n in result.tables
    ]
    if claims:
        parts += ["## What holds\n", *(table.markdown() for table in claims)]
    if "agreement" in result.tables:
        parts += ["## Sag and Lag\n", beside(result, "agreement", ("Sag", "Lag")).markdown()]
        parts += [
            "![Sag by method](figures/sag.png)\n",
            "![Lag by method](figures/lag.png)\n",
            SIGN,
        ]
        parts += [
            "## The impact of K\n",
            "Above with our sign, every method and baseline; below the six methods of the paper's figure, with "
            "its signs.\n",
            "![Sag and Lag against K](figures/curves.png)\n",
        ]
        parts += ["## All measures of agreement\n", result.tables["agreement"].markdown()]
    if "faithfulness" in result.tables:
        parts += ["## Faithfulness\n", _faithfulness(result).markdown()]
    if "ral" in result.tables:
        parts += ["## Ral\n", beside(result, "ral", ("Ral",), (LOST,)).markdown()]
    if "case" in result.tables:
        parts += ["## Case study\n", "![Case study](figures/case.png)\n"]
        parts.append(result.tables["case"].markdown())
    return "\n".join([*parts, _times(result)])


def _setup(result: Reproduction) -> str:
    model = result.model
    accuracy = model["dev accuracy"]
    shown_accuracy = "unknown" if accuracy is None else f"{100 * accuracy:.1f} %"
    lines = [
        f"Model: {model['base']}, {model['epochs']} epochs, dev accuracy {shown_accuracy} "
        f"(the paper: RoBERTa-large, {paper.ACCURACY[result.dataset]} %).",
        "Counts: " + ", ".join(f"{name} {count}" for name, count in result.counts.items()) + ".",
        f"Inverse curvature of if, if+ and if++: {result.curvature}.",
    ]
    if not result.filtered:
        lines.append(
            "No released or human spans were given, so no test was dropped for a wrong span."
        )
    if result.quick:
        lines.append("**A quick run on a part of the data: the numbers mean little.**")
    return "\n".join(f"- {line}" for line in lines) + "\n"


def beside(
    result: Reproduction, name: str, measures: Sequence[str], further: tuple[str, ...] = ()
) -> Table:
    """The paper's columns of a table, each followed by ours; then columns of ours that begin so."""
    table = result.tables[name]
    signed = {str(row["method"]) for row in table.rows}
    rows = []
    for row in table.rows:
        method = str(row["method"])
        plain = method.removesuffix(PAPER_SIGN)
        # Where both ends of a list are shown, the paper's number belongs to the paper's end.
        theirs = method if f"{method}{PAPER_SIGN}" not in signed else ""
        cells: dict[str, Cell] = {"method": method}
        for column in paper.columns(result.dataset, measures):
            value = paper.published(result.dataset, plain, column) if theirs else None
            cells[f"{column}, paper"] = value
            cells[f"{column}, ours"] = row.get(column)
        cells |= {column: row[column] for column in row if further and column.startswith(further)}
        rows.append(cells)
    return Table(name, table.title, rows, table.notes)


def _faithfulness(result: Reproduction) -> Table:
    """The paper's two columns in front of ours."""
    table = result.tables["faithfulness"]
    rows = []
    for row in table.rows:
        mean, variance = paper.FAITHFULNESS.get(str(row["method"]), (None, None))
        both: dict[str, Cell] = {
            "method": row["method"],
            "mean, paper": mean,
            "mean, ours": row["mean"],
            "var., paper": variance,
            "var., ours": row["var."],
        }
        further = {name: cell for name, cell in row.items() if name not in ("mean", "var.")}
        rows.append({**both, **further})
    return Table(table.name, table.title, rows, table.notes)


def _times(result: Reproduction) -> str:
    rows: list[dict[str, Cell]] = [
        {"stage": name, "seconds": value} for name, value in result.seconds.items()
    ]
    rows.append({"stage": "all of these", "seconds": float(sum(result.seconds.values()))})
    versions = ", ".join(f"{name} {value}" for name, value in result.versions.items())
    table = Table("times", "Time taken when computed", rows, (f"Versions: {versions}.",))
    return f"## Record\n\n{table.markdown()}"
