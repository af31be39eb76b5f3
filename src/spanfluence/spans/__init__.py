"""Span finders: from a text to the words worth scoring, with or without annotation.

found       Found, Finder: what a finder gives, and its one verb
registry    finder_named, choose_finder
files       find_spans, write_spans: many examples, with progress and resume
ranking     rank_spans: the most important candidates and their shares
given, words, clauses, sentences, chunks, aspect, reader, rationale     the finders
"""

from __future__ import annotations

from spanfluence.spans.files import find_spans, write_spans
from spanfluence.spans.found import Finder, Found
from spanfluence.spans.ranking import Ranked, rank_spans
from spanfluence.spans.registry import FINDERS, choose_finder, finder_named

__all__ = [
    "FINDERS",
    "Finder",
    "Found",
    "Ranked",
    "choose_finder",
    "find_spans",
    "finder_named",
    "rank_spans",
    "write_spans",
]
