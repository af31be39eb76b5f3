"""The case study: the first explanation that each method gives for one test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spanfluence.baselines import words
from spanfluence.evaluation.agreement import PAPER_SIGN, both_signs
from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.figures import text_figure
from spanfluence.evaluation.tables import Table
from spanfluence.metrics import ranking
from spanfluence.reproduce.paper import CASE, CASE_ROWS
from spanfluence.units import Example, Unit


def is_paper_case(test: Example) -> bool:
    """Whether the test is the one of the paper's case study."""
    return words(test.text) == words(CASE) and (test.context or "").lower() == "food"


def case_row(bench: Bench) -> int:
    """The paper's case where it is among the tests, else the first test that the model gets right."""
    for row, test in enumerate(bench.tests):
        if is_paper_case(test):
            return row
    predicted = bench.classifier.predict(bench.tests).labels
    rights = [row for row, t in enumerate(bench.tests) if predicted[row] == str(t.label)]
    return rights[0] if rights else 0


def case_table(bench: Bench) -> Table:
    """The top of every method's list; the span in bold where the method names one."""
    row = case_row(bench)
    test = bench.tests[row]
    rows = []
    for scored in both_signs([s for s in bench.scored if not s.name.endswith("same label")]):
        best = int(ranking(scored.scores[row : row + 1], seed=bench.seed)[0, 0])
        cells = {"method": scored.name, **_cells(scored.units[best])}
        if is_paper_case(test):
            # Where both ends of a list are shown, the paper's row belongs to the paper's end.
            theirs = scored.paper_sign > 0
            plain = scored.name.removesuffix(PAPER_SIGN)
            cells["the paper's first explanation"] = CASE_ROWS.get(plain) if theirs else None
        rows.append(cells)
    title = (
        f"Case study: {bold(Unit(test, test.spans))} ({test.context or 'no context'}: {test.label})"
    )
    note = f"Rows with {PAPER_SIGN.strip(' ()')} show the top of the paper's list, our bottom."
    return Table("case", title, rows, (note,))


def case_figure(table: Table, path: Path) -> None:
    """The table as a picture: each method's first explanation, the span in colour."""
    rows = []
    for row in table.rows:
        about = f" ({row['aspect']}: {row['label']})" if row["aspect"] else f" ({row['label']})"
        rows.append((str(row["method"]), f"{row['first explanation']}{about}"))
    text_figure(table.title, rows, path)


def _cells(unit: Unit) -> dict[str, Any]:
    return {
        "first explanation": bold(unit),
        "aspect": unit.example.context or "",
        "label": str(unit.example.label),
    }


def bold(unit: Unit) -> str:
    """The text with the unit's spans in Markdown bold; other marks in it are kept from acting."""
    text, parts, at = unit.example.text, [], 0
    for span in sorted(unit.spans):
        if span.start >= at:
            parts += [_plain(text[at : span.start]), f"**{_plain(text[span.start : span.end])}**"]
            at = span.end
    return "".join([*parts, _plain(text[at:])]).strip()


def _plain(text: str) -> str:
    for mark in "\\`*_<>[]":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split("\n"))
