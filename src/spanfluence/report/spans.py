"""Found spans made visible: a page to look through, and a table of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from spanfluence.report.html import render_template
from spanfluence.report.segments import cut
from spanfluence.report.wording import Data

MOST_ROWS = 1000
"""Examples on one page; a browser should open it at once."""


class Counts(Protocol):
    """What `spanfluence.spans.files.Summary` holds."""

    @property
    def examples(self) -> int: ...  # noqa: D102
    @property
    def spans(self) -> int: ...  # noqa: D102
    @property
    def without(self) -> int: ...  # noqa: D102
    @property
    def entire(self) -> int: ...  # noqa: D102
    @property
    def mean_words(self) -> float: ...  # noqa: D102
    @property
    def ways(self) -> Mapping[str, int]: ...  # noqa: D102
    @property
    def notes(self) -> Sequence[str]: ...  # noqa: D102


def count_rows(counts: Counts) -> list[tuple[str, str]]:
    """(what, how many), for the table and the page."""
    rows = [("examples", f"{counts.examples:,}"), ("spans", f"{counts.spans:,}")]
    if len(counts.ways) > 1:
        rows += [(f"by {way}", f"{number:,}") for way, number in counts.ways.items()]
    rows += [
        ("examples without a span", f"{counts.without:,}"),
        ("spans that are the entire text", f"{counts.entire:,}"),
        ("words per span", f"{counts.mean_words:.1f}"),
    ]
    return rows


def summary_table(counts: Counts, finder: str) -> RenderableType:
    """The counts for `rich`."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(Text(f"finder {finder}"))
    table.add_column("", justify="right")
    for name, value in count_rows(counts):
        table.add_row(Text(name), Text(value))
    return Group(table, *(Text(f"note: {note}") for note in counts.notes))


def render_spans(title: str, settings: Data, counts: Counts, rows: Sequence[Data]) -> str:
    """A self-contained page of texts with their found spans; everything is escaped."""
    shown = [_row(row) for row in rows[:MOST_ROWS]]
    return render_template(
        "spans.html",
        title=f"Spans of {title}",
        settings=[(name, _setting(value)) for name, value in settings.items()],
        counts=count_rows(counts),
        notes=list(counts.notes),
        rows=shown,
        left_out=len(rows) - len(shown),
    )


def _setting(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _row(row: Data) -> dict[str, Any]:
    found = row["found"]
    segments = cut(row["text"], [item["span"] for item in found])
    ways = list(dict.fromkeys(item["way"] for item in found))
    return {
        "id": row.get("id"),
        "context": row.get("context"),
        "label": row.get("label"),
        "ways": ways,
        "score": f"{found[0]['score']:.2f}" if found else None,
        "pieces": [
            {
                "segment": segment.text,
                "mark": None
                if not segment.spans
                else "against"
                if _fallback(found, segment.spans)
                else "for",
                "tint": "0.55",
                "title": ", ".join(
                    f"{found[i]['way']} {found[i]['score']:.2f}" for i in segment.spans
                ),
            }
            for segment in segments
        ],
    }


def _fallback(found: Sequence[Data], spans: Sequence[int]) -> bool:
    return all(found[i]["way"] == "heuristic" for i in spans)
