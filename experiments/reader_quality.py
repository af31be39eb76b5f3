"""How good a reader is: on held-out SQuAD and TOWE, and where its bar for "no answer" should lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from opinion_spans import Opinion, compare
from reader_data import Row

from spanfluence.spans.found import Found
from spanfluence.spans.qa import Question, QuestionAnswerer
from spanfluence.spans.reader import TEMPLATES, Reader, sentence_around
from spanfluence.units import Span

BREADTHS = (1.0, 1.5, 2.0, 3.0, 4.0)
RECALL = 0.88  # that the whole annotation should have on held-out TOWE rows


def towe_quality(answerer: QuestionAnswerer, held: Sequence[Opinion]) -> dict[str, float]:
    """Exact match and token F1 of the first question alone."""
    questions = [
        Question(TEMPLATES[0].replace("X", str(o.example.context), 1), o.example.text) for o in held
    ]
    found = []
    for opinion, answer in zip(held, answerer.answer(questions), strict=True):
        spans = [] if answer.is_empty else [Span(answer.start, answer.end)]
        found.append(compare(opinion.example.text, opinion.gold, spans))
    return (
        {name: float(np.mean([each[name] for each in found])) for name in ("exact", "f1")}
        if found
        else {}
    )


def choose_settings(
    answerer: QuestionAnswerer, held: Sequence[Opinion]
) -> tuple[dict[str, float], list[dict[str, float]]]:
    """(breadth and least_score of the finder, F1 and recall of every choice) on held-out rows.

    Measured is the whole annotation: the reader with the sentence around the term behind it. Chosen is the
    highest F1 among choices with a recall of at least RECALL.
    """
    asked = Reader(answerer).answers([opinion.example for opinion in held])
    table = []
    for breadth in BREADTHS:
        reader = Reader(answerer, breadth=breadth, least_score=0.0)
        votes = [reader.decide(o.example.text, a, o.term) for o, a in zip(held, asked, strict=True)]
        for bar in np.linspace(0, 0.9, 19).round(2).tolist():
            quality = [_annotated(o, own, bar) for o, own in zip(held, votes, strict=True)]
            means = {k: float(np.mean([q[k] for q in quality])) for k in ("f1", "recall")}
            table.append({"breadth": breadth, "least_score": bar, **means})
    enough = [row for row in table if row["recall"] >= RECALL] or table[-1:]
    best = max(enough, key=lambda row: row["f1"])
    return {name: best[name] for name in ("breadth", "least_score")}, table


def _annotated(opinion: Opinion, found: Sequence[Found], bar: float) -> dict[str, float]:
    text = opinion.example.text
    sure = found and found[0].way == "reader" and found[0].score >= bar
    span = found[0].span if sure else sentence_around(text, opinion.term)
    return compare(text, opinion.gold, [span] if span else [])


def squad_quality(
    answerer: QuestionAnswerer, held: Sequence[tuple[Row, list[str]]]
) -> dict[str, float]:
    """SQuAD's exact match and F1, over answerable and unanswerable questions together and apart."""
    answers = answerer.answer([Question(row.question, row.text) for row, _ in held])
    rows = []
    for (row, accepted), answer in zip(held, answers, strict=True):
        words = normal_words(row.text[answer.start : answer.end])
        golds = [normal_words(text) for text in accepted] or [[]]
        exact = float(any(words == gold for gold in golds))
        rows.append((exact, max(word_f1(words, gold) for gold in golds), bool(accepted)))
    names = {
        "all": rows,
        "answerable": [r for r in rows if r[2]],
        "unanswerable": [r for r in rows if not r[2]],
    }
    return {
        f"{name} {what}": float(np.mean([row[place] for row in group]))
        for name, group in names.items()
        if group
        for place, what in enumerate(("exact", "f1"))
    }


def normal_words(text: str) -> list[str]:
    """Lower-cased words without articles and punctuation, as SQuAD's own measure has it."""
    bare = "".join(c if c.isalnum() or c.isspace() else "" for c in text.lower())
    return [word for word in bare.split() if word not in ("a", "an", "the")]


def word_f1(found: Sequence[str], gold: Sequence[str]) -> float:
    """F1 of two bags of words; both empty is right."""
    if not found or not gold:
        return float(list(found) == list(gold))
    rest = list(gold)
    common = sum(1 for word in found if word in rest and not rest.remove(word))  # type: ignore[func-returns-value]
    return 2 * common / (len(found) + len(gold))
