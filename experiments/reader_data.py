"""What a reader is trained on: SQuAD questions and TOWE targets as questions, as text and as tokens."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opinion_spans import TRAINS, Opinion, compare, normalised, test_texts, towe

from spanfluence.rng import numpy_generator
from spanfluence.spans.reader import TEMPLATES
from spanfluence.units import Span

HELD_ARTICLES = 3  # of 16 SQuAD articles
HELD_TOWE = 0.1  # of the TOWE sentences


@dataclass(frozen=True)
class Settings:
    """Every choice of the training, as it stands in run.json."""

    base: str = "minilm"
    seed: int = 0
    squad_shares: tuple[float, ...] = (0.5, 0.25, 0.25)  # one epoch each; TOWE is whole in all
    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    warmup: float = 0.1
    batch_tokens: int = 2048
    max_length: int = 256
    stride: int = 64
    limit: int | None = None


@dataclass(frozen=True)
class Row:
    """A question with its answer; `answer` is None where the text has none."""

    question: str
    text: str
    answer: Span | None


# Data ------------------------------------------------------------------------------------------------


def squad(data: Path, settings: Settings) -> tuple[list[Row], list[tuple[Row, list[str]]]]:
    """(training rows, held-out rows with all accepted answers), divided by article."""
    path = data / "squad2_half_dev" / "dev-v2.0.json"
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    order = numpy_generator(settings.seed, "articles").permutation(len(articles)).tolist()
    held = set(order[:HELD_ARTICLES])
    train: list[Row] = []
    test: list[tuple[Row, list[str]]] = []
    for number, article in enumerate(articles):
        for paragraph in article["paragraphs"]:
            for item in paragraph["qas"]:
                row, accepted = _squad_row(item, paragraph["context"])
                if number in held:
                    test.append((row, accepted))
                else:
                    train.append(row)
    return train[: settings.limit], test[: settings.limit]


def _squad_row(item: dict[str, Any], text: str) -> tuple[Row, list[str]]:
    answers = item["answers"]
    span = None
    if answers:
        start = answers[0]["answer_start"]
        span = Span(start, start + len(answers[0]["text"]))
    return Row(item["question"].strip(), text, span), [a["text"] for a in answers]


def opinions(data: Path, settings: Settings) -> tuple[list[Opinion], list[Opinion]]:
    """(training, held-out) TOWE rows, without a sentence that finders are measured on, none twice."""
    forbidden = test_texts(data)
    known: dict[tuple[str, int, tuple[Span, ...]], Opinion] = {}
    left_out = 0
    for name in TRAINS:
        for opinion in towe(name, "train", data):
            text = normalised(opinion.example.text)
            if text in forbidden:
                left_out += 1
            else:
                known.setdefault((text, opinion.term.start, opinion.gold), opinion)
    texts = sorted({key[0] for key in known})
    random.Random(settings.seed).shuffle(texts)
    held = set(texts[: int(HELD_TOWE * len(texts))])
    train = [opinion for (text, *_), opinion in known.items() if text not in held]
    test = [opinion for (text, *_), opinion in known.items() if text in held]
    say(f"TOWE: {left_out} rows left out (TOWE test or MAMS text), {len(known)} distinct rows kept")
    return train[: settings.limit], test[: settings.limit]


def best_stretch(opinion: Opinion) -> Span:
    """The stretch between gold spans with the highest token F1 against all of them."""
    text, gold = opinion.example.text, sorted(opinion.gold)
    middle = (opinion.term.start + opinion.term.end) / 2
    stretches = [
        Span(gold[i].start, gold[j].end) for i in range(len(gold)) for j in range(i, len(gold))
    ]

    def quality(span: Span) -> tuple[float, float]:
        distance = abs((span.start + span.end) / 2 - middle)
        return round(compare(text, gold, [span])["f1"], 9), -distance

    return max(stretches, key=quality)


def towe_row(opinion: Opinion, template: str, plain: bool) -> Row:
    """The opinion as a question; `plain` undoes the tokenisation of the text, as real texts are."""
    example, answer = opinion.example, best_stretch(opinion)
    text = example.text
    if plain:
        text, answer = untokenised(text, answer)
    return Row(template.replace("X", str(example.context), 1), text, answer)


def untokenised(text: str, span: Span) -> tuple[str, Span]:
    """Without the blanks that a tokeniser put before punctuation and clitics; the span moves along."""
    kept = [
        i
        for i, character in enumerate(text)
        if not (
            character == " "
            and text[i + 1 :].startswith((",", ".", "!", "?", ";", ":", ")", "n't", "'"))
        )
    ]
    inside = [place for place, i in enumerate(kept) if span.start <= i < span.end]
    return "".join(text[i] for i in kept), Span(inside[0], inside[-1] + 1)


def epoch_rows(
    squad_rows: Sequence[Row], towe_rows: Sequence[Opinion], settings: Settings, epoch: int
) -> list[Row]:
    """The rows of one epoch: a share of SQuAD, and every TOWE row with a template drawn anew."""
    rng = numpy_generator(settings.seed, "epoch", epoch)
    number = round(settings.squad_shares[epoch] * len(squad_rows))
    rows = [squad_rows[i] for i in rng.permutation(len(squad_rows))[:number]]
    for opinion in towe_rows:
        template = TEMPLATES[int(rng.integers(len(TEMPLATES)))]
        rows.append(towe_row(opinion, template, bool(rng.random() < 0.5)))
    return rows


# Tokens --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Features:
    """Windows of the rows as token ids with the first and last token of their answers."""

    ids: list[list[int]]
    types: list[list[int]] | None
    starts: list[int]
    ends: list[int]


def features(tokenizer: Any, rows: Sequence[Row], settings: Settings) -> Features:
    """An answer outside of a window, like no answer, points to the first token."""
    batch = tokenizer(
        [row.question for row in rows],
        [row.text for row in rows],
        truncation="only_second",
        max_length=settings.max_length,
        stride=settings.stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    starts, ends = [], []
    for window, sample in enumerate(batch["overflow_to_sample_mapping"]):
        first, last = _token_span(
            batch["offset_mapping"][window], batch.sequence_ids(window), rows[sample].answer
        )
        starts.append(first)
        ends.append(last)
    return Features(batch["input_ids"], batch.get("token_type_ids"), starts, ends)


def _token_span(
    offsets: Sequence[tuple[int, int]], segments: Sequence[int | None], answer: Span | None
) -> tuple[int, int]:
    if answer is None:
        return 0, 0
    own = [
        i
        for i, ((start, end), segment) in enumerate(zip(offsets, segments, strict=True))
        if segment == 1 and start < answer.end and answer.start < end
    ]
    cut = not own or offsets[own[0]][0] > answer.start or offsets[own[-1]][1] < answer.end
    return (0, 0) if cut else (own[0], own[-1])


def say(line: str) -> None:
    """A line of the log, at once."""
    print(line, file=sys.stderr, flush=True)
