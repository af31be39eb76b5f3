"""How good a reader is: on held-out SQuAD and TOWE, and where its bar for "no answer" should lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from opinion_spans import Opinion, compare
from reader_data import Row

from spanfluence.spans.qa import Question, QuestionAnswerer
from spanfluence.spans.reader import TEMPLATES, Reader, sentence_around
from spanfluence.units import Span

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


def choose_bar(
    answerer: QuestionAnswerer, held: Sequence[Opinion]
) -> tuple[float, list[dict[str, float]]]:
    """(the score below which an answer counts as none, F1 and recall at each bar) on held-out rows.

    The whole annotation is the reader with the sentence around the term behind it. A low bar keeps short
    and sometimes wrong answers, a high one gives whole sentences; chosen is the highest F1 among bars with
    a recall of at least RECALL.
    """
    examples, terms = [o.example for o in held], [o.term for o in held]
    answers = Reader(answerer, least_score=0.0).find(examples, terms)
    table = []
    for bar in np.linspace(0, 0.95, 20).round(2).tolist():
        measured = []
        for opinion, items in zip(held, answers, strict=True):
            sure = items and items[0].way == "reader" and items[0].score >= bar
            span = items[0].span if sure else sentence_around(opinion.example.text, opinion.term)
            measured.append(compare(opinion.example.text, opinion.gold, [span] if span else []))
        table.append(
            {"bar": bar} | {k: float(np.mean([m[k] for m in measured])) for k in ("f1", "recall")}
        )
    enough = [row for row in table if row["recall"] >= RECALL] or table[-1:]
    return max(enough, key=lambda row: row["f1"])["bar"], table


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
