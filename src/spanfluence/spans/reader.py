"""Finder `reader`: the paper's annotator, reading comprehension with a heuristic behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

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
    ) -> None:
        self.source = "given" if isinstance(reader, QuestionAnswerer) else str(reader)
        self.reader = (
            reader
            if isinstance(reader, QuestionAnswerer)
            else QuestionAnswerer.load(reader, device=device)
        )
        self.templates, self.language = tuple(templates), language

    @property
    def settings(self) -> dict[str, object]:
        """The model and the number of questions beside the name."""
        return {"finder": self.name, "reader": self.source, "questions": len(self.templates)}

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
        asked = [self._questions(example) for example in examples]
        distinct = list(dict.fromkeys(q for group in asked for q in group))
        answers = dict(zip(distinct, self.reader.answer(distinct), strict=True))
        found = []
        for example, group, term in zip(examples, asked, placed, strict=True):
            span = self._voted(example.text, [answers[question] for question in group])
            found.append([span] if span else self._heuristic(example.text, term))
            advance(1)
        return found

    def _questions(self, example: Example) -> list[Question]:
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

    def _heuristic(self, text: str, term: Span | None) -> list[Found]:
        """From the term to the sentence boundaries around it."""
        if term is None:
            return []
        around = [
            (start, end)
            for start, end in sentence_ranges(text, self.language)
            if start < term.end and term.start < end
        ]
        spans = clean_spans(text, [(around[0][0], around[-1][1])])
        return [Found(span, 0.0, self.name, "heuristic") for span in spans]


def is_entire(text: str, start: int, end: int) -> bool:
    """Whether a range holds every word of the text."""
    words = word_ranges(text) or [(0, len(text))]
    return start <= words[0][0] and words[-1][1] <= end


def _shared(a: Answer, b: Answer) -> float:
    """F1 of the characters under both answers."""
    common = min(a.end, b.end) - max(a.start, b.start)
    return max(0.0, 2 * common / (a.end - a.start + b.end - b.start))
