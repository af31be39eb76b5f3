"""What an HTML report shows of an explanation: words, numbers as text and segments, ready to place.

The templates only lay this out. Two methods that explain the same test give equal `test` views, by
which a page knows to show the test once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from spanfluence.report import wording
from spanfluence.report.segments import Segment, cut, elide
from spanfluence.report.wording import Data

LONG_TEXT = 500
"""Characters above which a text is shown shortened around its spans, the whole of it folded."""
COLOURS = 8
"""Label colours in the style sheet; more labels than that share them, and always carry their name."""
FIXED_COLOURS = {"negative": 0, "positive": 1, "neutral": 2}
SHOWN_LABELS = 6


def explanation_view(explanation: Data) -> dict[str, Any]:
    """Everything a template needs to draw one explanation."""
    settings = explanation["settings"]
    colours = _label_colours(explanation)
    parts = [_part(part, explanation, colours) for part in explanation["parts"]]
    return {
        "method": explanation["method"],
        "test": _test(explanation, colours),
        "parts": parts,
        "units": wording.units_scored(explanation),
        "sign": wording.sign_convention(settings),
        "columns": wording.method_columns(settings),
        "points": wording.points(explanation),
        "notes": explanation["notes"],
    }


def _label_colours(explanation: Data) -> dict[str, int]:
    """A colour number for each label, in the order of the model's labels."""
    rows = [
        row for part in explanation["parts"] for row in (*part["supporters"], *part["opponents"])
    ]
    test = explanation["test"]
    seen = [*test["probabilities"], test["prediction"], test["explained_label"], test.get("label")]
    seen += [row["label"] for row in rows]
    labels = list(dict.fromkeys(str(label) for label in seen if label is not None))
    if FIXED_COLOURS.keys() >= set(labels):
        return FIXED_COLOURS
    return {label: number % COLOURS for number, label in enumerate(labels)}


def _test(explanation: Data, colours: dict[str, int]) -> dict[str, Any]:
    test, parts = explanation["test"], explanation["parts"]
    return {
        "question": wording.question(test),
        "flag": wording.wrong_label(test),
        "context": test.get("context"),
        "id": test.get("id"),
        "chances": _chances(test, colours),
        "text": _text(_test_segments(test, parts), test["text"]),
        "finding": _finding(parts[0], test) if len(parts) == 1 else None,
    }


def _finding(part: Data, test: Data) -> dict[str, Any]:
    """Which words are explained, and what masking them does; of a mixture each span's share."""
    shares = wording.shares(part, test["text"])
    return {
        "words": part["words"] if part["spans"] else None,
        "importance": wording.importance(part, test["explained_label"]),
        "shares": [
            {"words": words, "share": share, "importance": typographic(value)}
            for words, share, value in shares
        ],
    }


def _chances(test: Data, colours: dict[str, int]) -> dict[str, Any]:
    """The likeliest labels with their probabilities; the predicted and the given are always among them."""
    ordered = sorted(test["probabilities"].items(), key=lambda item: -item[1])
    named = {test["prediction"], test["explained_label"], test.get("label")}
    shown = [
        {
            "label": str(label),
            "colour": colours[str(label)],
            "percent": f"{100 * chance:.1f}",
            "number": f"{chance:.2f}",
            "predicted": label == test["prediction"],
        }
        for place, (label, chance) in enumerate(ordered)
        if place < SHOWN_LABELS or label in named
    ]
    return {"shown": shown, "left_out": len(ordered) - len(shown)}


def _test_segments(test: Data, parts: Sequence[Data]) -> list[dict[str, Any]]:
    """The test text with the spans of all parts, each tinted by its importance."""
    owners = [
        {"spans": [span], "importance": value}
        for part in parts
        for span, value in zip(part["spans"], wording.span_importances(part), strict=True)
    ]
    segments = cut(test["text"], [span for part in parts for span in part["spans"]])
    return [_test_segment(segment, owners, test["explained_label"]) for segment in segments]


def _test_segment(segment: Segment, owners: Sequence[Data], label: object) -> dict[str, Any]:
    if not segment.spans:
        return {"segment": segment, "mark": None}
    owner = max((owners[i] for i in segment.spans), key=lambda part: abs(part["importance"] or 0))
    value = owner["importance"]
    mark = "against" if value is not None and value < 0 else "for"
    title = wording.importance(owner, label) or "the explained span"
    return {
        "segment": segment,
        "mark": mark,
        "tint": f"{wording.tint(value):.2f}",
        "title": title,
    }


def _text(marked: Sequence[dict[str, Any]], whole: str) -> dict[str, Any]:
    """Marked segments to show at once and, for a long text, all of them to unfold."""
    if len(whole) <= LONG_TEXT:
        return {"shown": _plain(marked), "folded": None}
    short = elide([piece["segment"] for piece in marked], LONG_TEXT)
    shown = [{**piece, "segment": part} for piece, part in zip(marked, short, strict=True)]
    return {"shown": _plain(shown), "folded": _plain(marked)}


def _plain(marked: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pieces with the text of their segment."""
    return [{**piece, "segment": piece["segment"].text} for piece in marked]


def _part(part: Data, explanation: Data, colours: dict[str, int]) -> dict[str, Any]:
    settings = explanation["settings"]
    scores = wording.part_scores(part)
    lists = [
        {
            "name": name,
            "meaning": wording.side(settings, name == "supporters"),
            "mark": "for" if name == "supporters" else "against",
            "rows": [_row(row, name, scores, explanation, colours) for row in part[name]],
        }
        for name in ("supporters", "opponents")
    ]
    return {**_finding(part, explanation["test"]), "lists": lists}


def _row(
    row: Data, side: str, scores: Sequence[float], explanation: Data, colours: dict[str, int]
) -> dict[str, Any]:
    mark = "for" if side == "supporters" else "against"
    pieces = [
        {"segment": s, "mark": mark if s.spans else None, "tint": "0.55", "title": "training span"}
        for s in cut(row["text"], row["spans"])
    ]
    importance, label = row.get("importance"), row["label"]
    whole = not row["spans"] and wording.train_unit(explanation["settings"]) == "span"
    return {
        "rank": row["rank"],
        "text": _text(pieces, row["text"]),
        "whole": whole,
        "score": typographic(wording.score_format(scores)(row["score"])),
        "bar": _bar(row["score"], scores),
        "id": wording.where(row),
        "context": row.get("context"),
        "label": None if label is None else str(label),
        "colour": None if label is None else colours[str(label)],
        "differs": str(label) != str(explanation["test"]["explained_label"]),
        "importance": None if importance is None else typographic(f"{importance:.2f}"),
        "note": row.get("note"),
    }


def _bar(score: float, scores: Sequence[float]) -> str:
    """The length of a score's bar in percent of the part's largest."""
    largest = max((abs(each) for each in scores if math.isfinite(each)), default=0.0)
    return f"{100 * abs(score) / largest:.1f}" if largest and math.isfinite(score) else "0"


def typographic(number: str) -> str:
    """A number as text with a real minus sign."""
    return number.replace("-", "−")
