"""An explanation made visible: pure functions from its plain dict to HTML, terminal or text.

The input is what `Explanation.to_dict()` gives (format `spanfluence.explanation/1`); nothing here
computes an influence, reads a file of the user's or keeps state.
"""

from __future__ import annotations

from spanfluence.report.html import render_explanation, render_fragment, render_page
from spanfluence.report.terminal import render_terminal, render_text

__all__ = [
    "render_explanation",
    "render_fragment",
    "render_page",
    "render_terminal",
    "render_text",
]
