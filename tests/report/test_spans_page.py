"""The page of found spans: complete, escaped, self-contained."""

from __future__ import annotations

import io

from rich.console import Console
from test_html import EVIL, Page

from spanfluence import Example
from spanfluence.report.spans import MOST_ROWS, render_spans, summary_table
from spanfluence.spans import finder_named
from spanfluence.spans.files import row_of, summarise


def page_of(examples: list[Example]) -> str:
    found = finder_named("clauses").find(examples)
    rows = [row_of(example, own) for example, own in zip(examples, found, strict=True)]
    return render_spans("file.jsonl", {"finder": "clauses"}, summarise(examples, found), rows)


def test_texts_with_their_spans_marked():
    page = Page(
        page_of([Example("The soup was cold, but the wine was fine.", context="soup", id="a")])
    )
    assert page.marks == ["The soup was cold", "but the wine was fine"]
    assert "Spans of file.jsonl" in page.words
    assert "examples1" in page.words


def test_everything_is_escaped():
    evil = Example(EVIL, label=EVIL, context=EVIL, id=EVIL)
    page = Page(page_of([evil]))
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert page.text.count("alert('x')") >= 4


def test_a_long_file_is_cut():
    html = page_of([Example(f"text {n}") for n in range(MOST_ROWS + 5)])
    assert "5 more examples are in the file" in Page(html).words


def test_the_table():
    examples = [Example("The soup was cold.", context="tea")]
    found = finder_named("words").find(examples)
    console = Console(file=io.StringIO(), width=80)
    console.print(summary_table(summarise(examples, found, about_context=True), "words"))
    text = console.file.getvalue()
    assert "finder words" in text
    assert "note: 1 examples do not hold" in text
