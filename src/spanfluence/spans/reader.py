"""Finder `reader`: the paper's annotator, reading comprehension with a heuristic behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spanfluence.data.reading import parse_json, read_text
from spanfluence.errors import InputError
from spanfluence.spans.found import Finder, Found, Terms, clean_spans
from spanfluence.spans.qa import Answer, Question, QuestionAnswerer
from spanfluence.spans.sentences import check_language, sentence_ranges
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
N_BEST = 4  # answers of each question that vote
CANDIDATES = 8  # answers that can win, alone or as the stretch over two


class Reader(Finder):
    """One span per example: the answer on which the questions agree most.

    The likeliest few answers of every question vote, each with its probability, for every candidate (one
    of them, or the stretch over two) by how much they share with it: F-beta of the characters, so that
    `breadth` (beta) above 1 favours a candidate that leaves nothing out over one that adds nothing.

    Where no question is answered, or only with the entire text, the paper's heuristic takes over: from
    the term to the nearest sentence boundary on both sides (`way` "heuristic"). An aspect that is not
    in the text has no such place, and the example stays without a span.

    `least_score` is the reader's own bar for "no answer": a voted answer that scores less (0 to 1: how
    sure and how agreed the questions are) counts as none. Without it the bar is what the folder's
    run.json names (experiments/train_reader.py chooses it on held-out rows), else 0; likewise `breadth`,
    else 1.
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
        breadth: float | None = None,
    ) -> None:
        if isinstance(templates, str) or not templates:
            raise InputError(f"templates={templates!r} are no questions: give a list of them")
        check_language(language)  # before a model is read
        self.source = "given" if isinstance(reader, QuestionAnswerer) else str(reader)
        self.reader = (
            reader
            if isinstance(reader, QuestionAnswerer)
            else QuestionAnswerer.load(reader, device=device)
        )
        self.templates, self.language = tuple(templates), language
        own = _own_settings(self.source)
        self.least_score = own.get("least_score", 0.0) if least_score is None else least_score
        self.breadth = own.get("breadth", 1.0) if breadth is None else breadth
        if not 0 <= self.least_score <= 1:
            raise InputError(f"least_score={self.least_score} must lie between 0 and 1")
        if not 0 < self.breadth < float("inf"):
            raise InputError(f"breadth={self.breadth} must be positive and finite")

    @property
    def settings(self) -> dict[str, object]:
        """The model, the questions and every other choice beside the name."""
        return {
            "finder": self.name,
            "reader": self.source,
            "questions": len(self.templates),
            "templates": list(self.templates),
            "language": self.language,
            "least_score": self.least_score,
            "breadth": self.breadth,
        }

    def find(
        self,
        examples: Sequence[Example],
        terms: Terms | None = None,
        *,
        advance: Callable[[int], None] = lambda done: None,
    ) -> list[list[Found]]:
        """The voted answer of each example, or the heuristic's span."""
        check_contexts(examples, self.name)
        placed = known_terms(examples, terms)
        found = []
        for example, answers, term in zip(examples, self.answers(examples), placed, strict=True):
            found.append(self.decide(example.text, answers, term))
            advance(1)
        return found

    def answers(self, examples: Sequence[Example]) -> list[list[list[Answer]]]:
        """The likeliest answers to every question about each example; none for "no answer"."""
        asked = [self.questions(example) for example in examples]
        distinct = list(dict.fromkeys(question for group in asked for question in group))
        known = dict(zip(distinct, self.reader.n_best(distinct, N_BEST), strict=True))
        return [[known[question] for question in group] for group in asked]

    def decide(
        self, text: str, answers: Sequence[Sequence[Answer]], term: Span | None
    ) -> list[Found]:
        """The voted answer, or where the reader failed the sentence around the term."""
        voted = self._voted(text, answers)
        if voted is None or voted.score < self.least_score:
            behind = sentence_around(text, term, self.language)
            if behind is not None:
                voted = Found(behind, 0.0, self.name, "heuristic")
        return [voted] if voted else []

    def questions(self, example: Example) -> list[Question]:
        """What is asked about an example: every template with its aspect."""
        term = " ".join(str(example.context).split())
        return [
            Question(template.replace("X", term, 1), example.text) for template in self.templates
        ]

    def _voted(self, text: str, answers: Sequence[Sequence[Answer]]) -> Found | None:
        weights: dict[tuple[int, int], float] = {}
        for own in answers:
            # A question whose best answer is the entire text has failed, whatever comes after it.
            if own and not is_entire(text, own[0].start, own[0].end):
                for answer in own:
                    place = (answer.start, answer.end)
                    weights[place] = weights.get(place, 0.0) + answer.probability
        votes = {
            place: sum(w * _shared(place, other, self.breadth) for other, w in weights.items())
            for place in _candidates(weights)
            if not is_entire(text, *place)
        }
        if not votes:
            return None
        winner = max(votes, key=lambda place: (votes[place], -place[0], -place[1]))
        spans = clean_spans(text, [winner])
        return Found(spans[0], votes[winner] / len(answers), self.name, "reader") if spans else None


def _candidates(weights: Mapping[tuple[int, int], float]) -> set[tuple[int, int]]:
    """The heaviest answers, and the stretches over two of them."""
    heaviest = sorted(weights, key=lambda place: -weights[place])[:CANDIDATES]
    return {(min(a[0], b[0]), max(a[1], b[1])) for a in heaviest for b in heaviest}


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


def _own_settings(source: str) -> dict[str, float]:
    """The choices that a folder made by experiments/train_reader.py carries."""
    record = Path(source).expanduser() / "run.json"
    if not record.is_file():
        return {}
    found: Any = parse_json(read_text(record), record)
    if not isinstance(found, dict):
        return {}
    return {
        name: float(found[name])
        for name in ("least_score", "breadth")
        if isinstance(found.get(name), int | float)
    }


def is_entire(text: str, start: int, end: int) -> bool:
    """Whether a range holds every word of the text."""
    words = word_ranges(text) or [(0, len(text))]
    return start <= words[0][0] and words[-1][1] <= end


def _shared(place: tuple[int, int], answer: tuple[int, int], beta: float) -> float:
    """F-beta of a candidate's characters against an answer's."""
    common = min(place[1], answer[1]) - max(place[0], answer[0])
    if common <= 0:
        return 0.0
    weight = beta * beta
    return (1 + weight) * common / (place[1] - place[0] + weight * (answer[1] - answer[0]))
