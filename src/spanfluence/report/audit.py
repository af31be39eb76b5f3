"""An audit made visible: one self-contained page, tables for the terminal, and CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from spanfluence.files import write_text_atomic
from spanfluence.report.html import render_template
from spanfluence.report.segments import cut, elide
from spanfluence.report.terminal import safe
from spanfluence.report.view import FIXED_COLOURS
from spanfluence.report.wording import Data

SWAYS = "Recurring phrases that change right answers when added"
SHOWN = 220
"""Characters of a text beyond which it is shortened around its span."""
CSV_COLUMNS: dict[str, tuple[str, ...]] = {
    "phrases": ("phrase", "flagged", "everywhere", "expected", "lift", "p_value", "variants"),
    "sways": ("phrase", "reach", "units", "changed", "tried", "towards"),
    "spans": ("harm", "errors", "id", "label", "context", "words", "spans", "text"),
    "suspects": ("id", "label", "says", "chance", "reason", "context", "spans", "text"),
    "errors": ("id", "label", "predicted", "chance", "context", "spans", "text"),
}


def render_audit(audit: Data) -> str:
    """A complete page from `Audit.to_dict()`."""
    return render_template(
        "audit.html",
        title=headline(audit),
        summary=summary(audit),
        phrases=[_phrase(each) for each in audit["phrases"]],
        sways=audit["sways"],
        spans=[_spotted(each, "against") for each in audit["spans"]],
        suspects=[_spotted(each, "against") for each in audit["suspects"]],
        errors=[_spotted(each, "for") for each in audit["errors"]],
        wrong=audit["wrong"],
        method=audit["method"],
    )


def headline(audit: Data) -> str:
    """What the audit says first."""
    if audit["phrases"]:
        return f"The model’s errors lean on “{audit['phrases'][0]['phrase']}”"
    first = next(iter(audit["sways"]), None)
    if first and first["notable"]:
        return f"“{first['phrase']}” turns right answers into {first['towards']}"
    return "No phrase stands out behind the model’s errors"


def summary(audit: Data) -> str:
    """What was examined, in two sentences."""
    traced = len(audit["errors"])
    which = "Each was" if traced == audit["wrong"] else f"The surest {traced} were"
    return (
        f"{audit['wrong']} of {audit['examined']} held-out rows are wrong "
        f"({audit['accuracy']:.1%} right). {which} traced to the training spans that support the wrong "
        f"answer, among {audit['train_units']} units, by {audit['method']}."
    )


def p_value(value: float) -> str:
    """A probability in few digits."""
    return "< 1e-12" if value < 1e-12 else f"{value:.1e}" if value < 0.001 else f"{value:.3f}"


def _phrase(phrase: Data) -> dict[str, Any]:
    return {
        **phrase,
        "lift": f"{phrase['lift']:.1f}",
        "expected": f"{phrase['expected']:.1f}",
        "p_value": p_value(phrase["p_value"]),
        "examples": [_spotted(each, "against") for each in phrase["examples"]],
    }


def _spotted(row: Data, mark: str) -> dict[str, Any]:
    segments = elide(cut(row["text"], row["spans"]), SHOWN)
    shown = [
        {"segment": s.text, "mark": mark if s.spans else None, "tint": "0.55", "title": "span"}
        for s in segments
    ]
    colours = {
        name: FIXED_COLOURS.get(str(row.get(name)), 3) for name in ("label", "says", "predicted")
    }
    return {**row, "shown": shown, "colours": colours}


def audit_terminal(audit: Data, top: int = 10) -> RenderableType:
    """Three tables for `rich`."""
    phrases = [
        (
            each["phrase"],
            f"{each['flagged']} of {each['everywhere']}",
            f"{each['expected']:.1f}",
            p_value(each["p_value"]),
        )
        for each in audit["phrases"][:top]
    ]
    sways = [
        (each["phrase"], f"{each['changed']} of {each['tried']}", each["towards"], each["units"])
        for each in audit["sways"][:top]
    ]
    spans = [
        (f"{each['harm']:.3g}", each["label"], each["id"], each["words"])
        for each in audit["spans"][:top]
    ]
    suspects = [
        (
            each["id"],
            each["label"],
            f"{each['says']} ({each['chance']:.2f})",
            each["reason"],
            each["text"],
        )
        for each in audit["suspects"][:top]
    ]
    return Group(
        Text(safe(headline(audit)), style="bold"),
        Text(safe(summary(audit))),
        Text(),
        _grid("Phrases behind the errors", ("phrase", "found", "expected", "p"), phrases),
        _grid(SWAYS, ("phrase", "answers changed", "towards", "training spans"), sways),
        _grid(
            "Training spans that pull towards wrong answers",
            ("harm", "label", "id", "words"),
            spans,
        ),
        _grid("Suspected labels", ("id", "label", "rather", "because", "text"), suspects),
    )


def _grid(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Group:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    for column in ("#", *columns):
        wide = column in ("text", "words", "phrase", "because")
        table.add_column(column, no_wrap=not wide, overflow="fold")
    for rank, row in enumerate(rows, start=1):
        table.add_row(str(rank), *(Text(safe("" if cell is None else cell)) for cell in row))
    body: RenderableType = table if rows else Text("  none", style="dim")
    return Group(Text(title, style="bold"), body, Text())


def write_audit(audit: Data, folder: Path) -> list[Path]:
    """audit.html and one CSV file for each list; returns what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / "audit.html": render_audit(audit)}
    for name, columns in CSV_COLUMNS.items():
        files[folder / f"{name}.csv"] = _csv(audit[name], columns)
    for path, content in files.items():
        write_text_atomic(path, content)
    return list(files)


def _csv(rows: Sequence[Data], columns: Sequence[str]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["rank", *columns])
    for rank, row in enumerate(rows, start=1):
        writer.writerow([rank, *(_cell(row[column]) for column in columns)])
    return stream.getvalue()


def _cell(value: Any) -> Any:
    """Texts that a spreadsheet would take for a formula are quoted with an apostrophe."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return value
