"""HTML of explanations: one self-contained page without script or request, or a notebook fragment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from spanfluence.report.view import explanation_view
from spanfluence.report.wording import Data, question

_HERE = Path(__file__).parent
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Control characters and lone surrogates: not allowed in HTML, and the latter not in UTF-8."""


def render_page(title: str, sections: Sequence[Mapping[str, Any]]) -> str:
    """A complete page.

    A section is `{"title": str, "lead": str, "explanations": [dict, ...]}`. Its explanations stand
    side by side where the window is wide; where they explain the same test it is shown once.
    """
    views = [_section(section) for section in sections]
    return render_template("page.html", title=title, heading=title, sections=views, level=3)


def render_explanation(explanation: Data) -> str:
    """A complete page for one explanation, headed by its question."""
    section = _section({"title": None, "lead": None, "explanations": [explanation]})
    title = question(explanation["test"])
    return render_template("page.html", title=title, heading=None, sections=[section], level=1)


def render_fragment(explanation: Data) -> str:
    """One explanation with its own styles, to stand inside a notebook or another page."""
    section = _section({"title": None, "lead": None, "explanations": [explanation]})
    return render_template("fragment.html", section=section, level=3)


def _section(section: Mapping[str, Any]) -> dict[str, Any]:
    views = [explanation_view(explanation) for explanation in section["explanations"]]
    same = len(views) > 1 and all(view["test"] == views[0]["test"] for view in views)
    return {
        "title": section["title"],
        "lead": section["lead"],
        "explanations": views,
        "shared_test": views[0]["test"] if same else None,
    }


def render_template(template: str, **values: Any) -> str:
    """A template of this folder with our styles; every value is escaped."""
    styles = {
        "styles": _style("explanation.css"),
        "page_styles": _style("page.css"),
        "audit_styles": _style("audit.css"),
    }
    text = _environment().get_template(template).render(**styles, **values)
    return _UNWRITABLE.sub("\ufffd", text)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _style(name: str) -> Markup:
    return Markup((_HERE / name).read_text(encoding="utf-8"))  # noqa: S704 - our own file
