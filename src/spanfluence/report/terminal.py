"""Explanations on a terminal, in colour or plain; plain text for `print`."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from spanfluence.report import wording
from spanfluence.report.segments import Segment, cut, elide
from spanfluence.report.wording import Data

OPEN, CLOSE = "«", "»"
TEXT_LINES = 3
"""Lines a training text may take before it is shortened around its span."""
MOST_LABELS = 6
BAR = 24
BLUE, ORANGE = (31, 102, 181), (196, 98, 16)

_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_VISIBLE: dict[int, int | str] = {
    **{code: 0x2400 + code for code in range(32)},
    **dict.fromkeys([9, 10, 11, 12, 13, 0x85, 0x2028, 0x2029], " "),
    **dict.fromkeys([*range(0x80, 0x85), *range(0x86, 0xA0), *range(0xD800, 0xE000)], "\ufffd"),
    **dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd"),
    0x7F: 0x2421,
}
"""Control characters, direction overrides and lone surrogates, each to one character that is safe to
print: a training text must not steer the reader's terminal, and its offsets must stay true."""


def render_terminal(
    explanation: Data, *, top: int | None = None, plain: bool | None = None
) -> RenderableType:
    """The explanation for `rich`: the test with its spans tinted by importance, then both lists.

    `top` limits the rows of each list. `plain` marks spans with «» instead of colour; by default
    that is done wherever the console has no colour, so that no span is lost.
    """
    return _Report(explanation, top, plain)


def render_text(explanation: Data) -> str:
    """The explanation as plain text, 100 columns wide, spans between «»."""
    console = Console(
        width=100, file=io.StringIO(), color_system=None, force_terminal=False, force_jupyter=False
    )
    with console.capture() as capture:
        console.print(render_terminal(explanation, plain=True))
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())


@dataclass(frozen=True)
class _Report:
    """Lays itself out for the width and colours of the console it is printed on."""

    explanation: Data
    top: int | None
    plain: bool | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        colourless = console.color_system is None or console.no_color
        plain = colourless if self.plain is None else self.plain
        parts = self.explanation["parts"]
        yield _test(self.explanation, plain)
        for part in parts:
            yield _part(part, self.explanation, self.top, plain, options.max_width)
        yield _reading(self.explanation)


def _test(explanation: Data, plain: bool) -> Group:
    """The question, the prediction and the text."""
    test, parts = explanation["test"], explanation["parts"]
    values = [value for part in parts for value in wording.span_importances(part)]
    segments = cut(safe(test["text"]), [span for part in parts for span in part["spans"]])
    styles = [_tint([values[i] for i in segment.spans]) for segment in segments]
    return Group(
        Text(safe(wording.question(test)), style=_BOLD),
        Text(),
        Padding(_chances(test), (0, 0, 0, 2)),
        Text(),
        Padding(_marked(segments, styles, plain), (0, 0, 0, 2)),
        Text(),
    )


def _chances(test: Data) -> Group:
    """The likeliest labels with bars; the flag where the given label is another."""
    ordered = sorted(test["probabilities"].items(), key=lambda item: -item[1])
    named = {test["prediction"], test["explained_label"], test.get("label")}
    shown = [item for place, item in enumerate(ordered) if place < MOST_LABELS or item[0] in named]
    width = max((cell_len(safe(label)) for label, _ in shown), default=0)
    lines = []
    for label, chance in shown:
        name = safe(label)
        line = Text(name + " " * (width - cell_len(name) + 2))
        line.append("━" * round(BAR * chance) or "╴")
        line.append(" " * (BAR - max(1, round(BAR * chance))) + f"  {chance:.2f}")
        line.stylize(_BOLD if label == test["prediction"] else _DIM)
        lines.append(line)
    if len(ordered) > len(shown):
        lines.append(Text(f"and {len(ordered) - len(shown)} less likely labels", style=_DIM))
    flag = wording.wrong_label(test)
    if flag:
        lines.append(Text(f"! {safe(flag)}", style=Style(bold=True, color="yellow")))
    return Group(*lines)


def _part(part: Data, explanation: Data, top: int | None, plain: bool, width: int) -> Group:
    """What masking the part does, and its two lists."""
    shares = wording.shares(part, explanation["test"]["text"])
    name = f"“{safe(part['words'])}”" if part["spans"] else "The whole text"
    heading = Text(f"A mixture of {len(shares)} spans" if len(shares) > 1 else name, style=_BOLD)
    said = wording.importance(part, explanation["test"]["explained_label"])
    if said:
        heading.append(f": {safe(said)}", style=Style(bold=False))
    lists = [
        _side(name, part, explanation, top, plain, width) for name in ("supporters", "opponents")
    ]
    return Group(heading, *_shares(shares), Text(), *lists)


def _shares(rows: Sequence[tuple[str, str, str]]) -> list[Text]:
    """A line for each span of a mixture."""
    return [
        Text.assemble(
            (f"  {share:>4}  ", _BOLD), f"“{safe(words)}”", (f"  importance {value}", _DIM)
        )
        for words, share, value in rows
    ]


def _side(
    name: str, part: Data, explanation: Data, top: int | None, plain: bool, width: int
) -> Group:
    supporters = name == "supporters"
    rgb = BLUE if supporters else ORANGE
    title = Text.assemble(
        (name.capitalize(), Style(bold=True, color=_colour(rgb, 0.85))),
        f"  {wording.side(explanation['settings'], supporters)}",
    )
    rows = part[name][:top]
    if not rows:
        return Group(title, Text("  none", style=_DIM), Text())
    span = _highlight(rgb, 0.3)
    return Group(title, _table(rows, part, explanation["settings"], span, plain, width), Text())


def _table(
    rows: Sequence[Data], part: Data, settings: Data, span: Style, plain: bool, width: int
) -> Table:
    """Rank, score, label, context and id where known, text; the id is folded, never cut."""
    shown = wording.score_format(wording.part_scores(part))
    cells = [_cells(row, shown(row["score"])) for row in rows]
    names = [name for name in cells[0] if any(cell[name] for cell in cells)]
    widths = {name: _column_width(name, [cell[name] for cell in cells], width) for name in names}
    table = _empty_table(widths)
    room = max(20, width - sum(widths.values()) - 2 * len(widths))
    for cell, row in zip(cells, rows, strict=True):
        text = _training_text(row, settings, span, plain, TEXT_LINES * room)
        table.add_row(*(Text(cell[name]) for name in names), text)
    return table


def _cells(row: Data, score: str) -> dict[str, str]:
    """The short columns of a row."""
    return {
        "#": str(row["rank"]),
        "score": score,
        "label": safe(row["label"]) if row["label"] is not None else "",
        "context": safe(row.get("context") or ""),
        "id": safe(wording.where(row)),
    }


def _empty_table(widths: Mapping[str, int]) -> Table:
    """Columns of given widths, and the text in what remains of the line."""
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        expand=True,
        header_style=_DIM,
    )
    for name, width in widths.items():
        table.add_column(
            Text(name),
            width=width,
            justify="right" if name in {"#", "score"} else "left",
            overflow="fold",
            style=_DIM if name in {"#", "id"} else "",
        )
    table.add_column(Text("text"), ratio=1, overflow="fold")
    return table


def _column_width(name: str, values: Iterable[str], width: int) -> int:
    """As wide as its longest value, within a share of the line; scores and ranks always fit."""
    longest = max(cell_len(value) for value in (name, *values))
    return longest if name in {"#", "score"} else min(longest, max(8, width // 6))


def _training_text(row: Data, settings: Data, span: Style, plain: bool, budget: int) -> Text:
    plain_text = safe(row["text"])
    characters = budget * len(plain_text) // max(1, cell_len(plain_text))
    segments = elide(cut(plain_text, row["spans"]), characters)
    text = _marked(segments, [span] * len(segments), plain)
    if not row["spans"] and wording.train_unit(settings) == "span":
        text.append("  [whole text]", style=_DIM)
    if row.get("note"):
        text.append(f"  ({safe(row['note'])})", style=Style(dim=True, italic=True))
    return text


def _marked(segments: Sequence[Segment], styles: Sequence[Style], plain: bool) -> Text:
    """Segments as one text, those under spans in their style or between «»."""
    text = Text()
    for segment, style in zip(segments, styles, strict=True):
        if plain:
            text.append(OPEN * segment.opens + segment.text + CLOSE * segment.closes)
        else:
            text.append(segment.text, style=style if segment.spans else None)
    return text


def _reading(explanation: Data) -> Group:
    """Method, sign and notes in a few quiet lines."""
    lines = [
        f"method {explanation['method']}, {wording.units_scored(explanation)}",
        wording.sign_convention(explanation["settings"]),
    ]
    notes = [Text(safe(f"note: {note}")) for note in explanation["notes"]]
    return Group(*(Text(safe(line), style=_DIM) for line in lines), *notes)


def _tint(importances: Sequence[float | None]) -> Style:
    """The style of a test span: bluer the more the label needs it, orange where it works against."""
    value = max(importances, key=lambda each: abs(each or 0), default=None)
    return _highlight(ORANGE if value is not None and value < 0 else BLUE, wording.tint(value))


def _highlight(rgb: tuple[int, int, int], strength: float) -> Style:
    """Letters and ground both set, so that the span is legible whatever the terminal's theme."""
    ground = _colour(rgb, 0.25 + 0.75 * strength)
    letters = "#000000" if _lightness(ground) > 0.18 else "#ffffff"
    return Style(color=letters, bgcolor=ground, bold=True)


def _colour(rgb: tuple[int, int, int], strength: float) -> str:
    """A colour between white and `rgb`."""
    red, green, blue = (round(255 - strength * (255 - channel)) for channel in rgb)
    return f"#{red:02x}{green:02x}{blue:02x}"


def _lightness(colour: str) -> float:
    """Relative luminance of `#rrggbb`, from 0 (black) to 1 (white)."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def safe(value: object) -> str:
    """A value as text that cannot steer the terminal."""
    return str(value).translate(_VISIBLE)
