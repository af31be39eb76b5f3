"""Finder `reader`: the paper's annotator, reading comprehension with a heuristic behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spanfluence.data.reading import parse_json, read_text
from spanfluence.errors import InputError
from spanfluence.spans.found import Finder, Found, Terms, clean_spans
from spanfluence.spans.qa import Answer, Question, QuestionAnswerer
from spanfluence.spans.sentences import sentence_ranges
from spanfluence.spans.terms import check_contexts, known_terms
from spanfluence.spans.words import word_ranges
from spanfluence.units import Example, Span

TEMPLATES: tuple[str, ...] = (
    "How is the X?",
    "How was the X?",
    "How are the X?",
    "How were the X?",
    "How do you rate the X?",
    "How would you rate the X?",
    "How do you think of the X?",
    "What do you think about the X?",
    "What do you say about the X?",
    "What happened to the X?",
    "What did the X do?",
)
"""The paper's questions, in its order; X is the aspect term."""


class Reader(Finder):
    """One span per example: the answer most of the questions agree on.

    Where no question is answered, or only with the entire text, the paper's heuristic takes over: from
    the term to the nearest sentence boundary on both sides (`way` "heuristic"). An aspect that is not
    in the text has no such place, and the example stays without a span.

    `least_score` is the reader's own bar for "no answer": a voted answer that scores less (0 to 1: how
    sure and how agreed the questions are) counts as none. Without it the bar is what the folder's
    run.json names (experiments/train_reader.py chooses it on held-out rows), else 0.
    """

    name = "reader"
    needs_context = True

    def __init__(
        self,
        reader: QuestionAnswerer | str | Path,
        *,
        templates: Sequence[str] = TEMPLATES,
        device: str = "cpu",
        language: str = "en",
        least_score: float | None = None,
    ) -> None:
        self.source = "given" if isinstance(reader, QuestionAnswerer) else str(reader)
        self.reader = (
            reader
            if isinstance(reader, QuestionAnswerer)
            else QuestionAnswerer.load(reader, device=device)
        )
        self.templates, self.language = tuple(templates), language
        self.least_score = _own_bar(self.source) if least_score is None else least_score
        if not 0 <= self.least_score <= 1:
            raise InputError(f"least_score={self.least_score} must lie between 0 and 1")

    @property
    def settings(self) -> dict[str, object]:
        """The model and the number of questions beside the name."""
        return {
            "finder": self.name,
            "reader": self.source,
            "questions": len(self.templates),
            "least_score": self.least_score,
        }

    def find(
        self,
        examples: Sequence[Example],
        terms: Terms | None = None,
        *,
        advance: Callable[[int], None] = lambda done: None,
    ) -> list[list[Found]]:
        """The voted answer of each example, or the heuristic's span."""
        check_contexts(list(examples), self.name)
        placed = known_terms(list(examples), terms)
        asked = [self.questions(example) for example in examples]
        distinct = list(dict.fromkeys(q for group in asked for q in group))
        answers = dict(zip(distinct, self.reader.answer(distinct), strict=True))
        found = []
        for example, group, term in zip(examples, asked, placed, strict=True):
            voted = self._voted(example.text, [answers[question] for question in group])
            sure = voted is not None and voted.score >= self.least_score
            behind = None if sure else sentence_around(example.text, term, self.language)
            if behind is not None:
                voted = Found(behind, 0.0, self.name, "heuristic")
            found.append([voted] if voted else [])
            advance(1)
        return found

    def questions(self, example: Example) -> list[Question]:
        """What is asked about an example: every template with its aspect."""
        term = " ".join(str(example.context).split())
        return [
            Question(template.replace("X", term, 1), example.text) for template in self.templates
        ]

    def _voted(self, text: str, answers: Sequence[Answer]) -> Found | None:
        """The answer that shares most with all answers, each weighted by its probability."""
        useful = [a for a in answers if not a.is_empty and not is_entire(text, a.start, a.end)]
        if not useful:
            return None
        votes = {
            (a.start, a.end): sum(b.probability * _shared(a, b) for b in useful) for a in useful
        }
        winner = max(votes, key=lambda place: (votes[place], -place[0], -place[1]))
        spans = clean_spans(text, [winner])
        return Found(spans[0], votes[winner] / len(answers), self.name, "reader") if spans else None


def sentence_around(text: str, term: Span | None, language: str = "en") -> Span | None:
    """The paper's heuristic: from the term to the nearest sentence boundary on both sides."""
    if term is None:
        return None
    around = [
        (start, end)
        for start, end in sentence_ranges(text, language)
        if start < term.end and term.start < end
    ]
    return next(iter(clean_spans(text, [(around[0][0], around[-1][1])])), None)


def _own_bar(source: str) -> float:
    """The bar that a folder made by experiments/train_reader.py carries."""
    record = Path(source).expanduser() / "run.json"
    if not record.is_file():
        return 0.0
    found: Any = parse_json(read_text(record), record)
    bar = found.get("least_score", 0.0) if isinstance(found, dict) else 0.0
    return float(bar) if isinstance(bar, int | float) else 0.0


def is_entire(text: str, start: int, end: int) -> bool:
    """Whether a range holds every word of the text."""
    words = word_ranges(text) or [(0, len(text))]
    return start <= words[0][0] and words[-1][1] <= end


def _shared(a: Answer, b: Answer) -> float:
    """F1 of the characters under both answers."""
    common = min(a.end, b.end) - max(a.start, b.start)
    return max(0.0, 2 * common / (a.end - a.start + b.end - b.start))
