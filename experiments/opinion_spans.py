"""Human opinion spans to train and measure span finders with: TOWE, MAMS terms in SemEval, the authors'.

Shared by train_reader.py and spans.py; not part of the package.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanfluence.data.mams import mams_terms, read_mams
from spanfluence.data.sentihood import read_sentihood
from spanfluence.units import Example, Span

DATA = Path(os.environ.get("SPANFLUENCE_DATA", "../shared/data"))
TESTS = ("14res", "15res", "16res")
TRAINS = ("14res", "15res", "16res", "14lap")


@dataclass(frozen=True)
class Opinion:
    """An aspect in a text, where it stands, and the words people marked as the opinion on it."""

    example: Example
    term: Span
    gold: tuple[Span, ...]


def normalised(text: str) -> str:
    """Equal for texts that differ in case, blanks and punctuation only."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def towe(name: str, split: str, data: Path = DATA) -> list[Opinion]:
    """One TOWE file; a row is one target with all its opinion spans."""
    with (data / "towe" / name / f"{split}.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    opinions = []
    for number, row in enumerate(rows, start=1):
        text, targets = _tagged(row["target_tags"])
        same, gold = _tagged(row["opinion_words_tags"])
        if text != same or len(targets) != 1:
            raise SystemExit(f"towe {name} {split} row {number} does not have one target")
        term = text[targets[0].start : targets[0].end]
        example = Example(text, context=term, id=f"{name}-{split}-{number}")
        opinions.append(Opinion(example, targets[0], tuple(gold)))
    return opinions


def _tagged(cell: str) -> tuple[str, list[Span]]:
    r"""The text of `token\TAG token\TAG ...` and the character spans of its B I I ... runs."""
    text, runs = "", []
    for item in cell.split(" "):
        token, _, tag = item.rpartition("\\")
        start = len(text) + (1 if text else 0)
        text += (" " if text else "") + token
        if tag == "B":
            runs.append([start, len(text)])
        elif tag == "I" and runs:
            runs[-1][1] = len(text)
    return text, [Span(*run) for run in runs]


def mams_overlap(data: Path = DATA) -> list[Opinion]:
    """MAMS terms whose sentence and term stand in TOWE too, the human spans moved to the MAMS text."""
    known: dict[tuple[str, str], Opinion] = {}
    for name in TESTS:
        for split in ("train", "test"):
            for opinion in towe(name, split, data):
                example = opinion.example
                key = (normalised(example.text), normalised(example.context or ""))
                known.setdefault(key, opinion)
    found = []
    for split in ("train", "val", "test"):
        path = data / "mams" / f"{split}.xml"
        for example, term in zip(read_mams(path), mams_terms(path), strict=True):
            other = known.get((normalised(example.text), normalised(example.context or "")))
            if other is not None:
                gold = tuple(_moved(span, other.example.text, example.text) for span in other.gold)
                found.append(Opinion(example, term, gold))
    return found


def _moved(span: Span, source: str, target: str) -> Span:
    """The same letters in a text that differs in blanks and punctuation only."""
    letters = [i for i, c in enumerate(source) if normalised(c)]
    places = [i for i, c in enumerate(target) if normalised(c)]
    own = [place for i, place in zip(letters, places, strict=True) if span.start <= i < span.end]
    return Span(own[0], own[-1] + 1) if own else Span(0, 1)


def test_texts(data: Path = DATA) -> set[str]:
    """Normalised texts that a trained reader is measured on: TOWE tests, every MAMS sentence."""
    texts = {normalised(o.example.text) for name in TESTS for o in towe(name, "test", data)}
    for split in ("train", "val", "test"):
        texts |= {normalised(e.text) for e in read_mams(data / "mams" / f"{split}.xml")}
    return texts


# The authors' annotation ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Annotated:
    """An example with the authors' eleven answers; "" stands for no answer."""

    example: Example
    term: Span | None
    answers: tuple[str, ...]

    @property
    def answer(self) -> str:
        """The most frequent answer; "" where no question got one."""
        given = [answer for answer in self.answers if answer]
        return Counter(given).most_common(1)[0][0] if given else ""


def authors_mams(split: str = "test", data: Path = DATA) -> list[Annotated]:
    """Their reading-comprehension answers for MAMS val or test."""
    path = data / "mams" / f"{split}.xml"
    released = _released(data / "tracinf_release" / "ATSA" / f"model_5_{split}_w_qa.json")
    examples, terms = read_mams(path), mams_terms(path)
    if len(released) != len(examples):
        raise SystemExit(f"{len(released)} released answers for {len(examples)} examples")
    return [
        Annotated(example, term, answers)
        for example, term, (_, answers) in zip(examples, terms, released, strict=True)
    ]


def authors_sentihood(split: str = "test", data: Path = DATA) -> list[Annotated]:
    """Their answers for SentiHood, matched to our examples by text and location, in order."""
    examples = read_sentihood(data / "sentihood" / f"sentihood-{split}.json")
    name = f"sentihood_model_5_{split}_w_qa.json"
    waiting: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for (text, term), answers in _released(data / "tracinf_release" / "sentihood" / name):
        waiting.setdefault((normalised(text), term.lower()), []).append(answers)
    found = []
    for example in examples:
        queue = waiting.get((normalised(example.text), (example.context or "").lower()))
        if queue:
            found.append(Annotated(example, None, queue.pop(0)))
    return found


def _released(path: Path) -> list[tuple[tuple[str, str], tuple[str, ...]]]:
    content = json.loads(path.read_text(encoding="utf-8"))
    return [
        ((sentence["original_text"], term["term"]), tuple(_answers(term["answers"][0])))
        for sentence in content.values()
        for term in sentence["terms"].values()
    ]


def _answers(given: dict[str, object]) -> Iterator[str]:
    for number in range(11):
        answer = str(given.get(str(number), ""))
        yield "" if "<s>" in answer or "</s>" in answer else answer.strip()


# Measures --------------------------------------------------------------------------------------------


def tokens(text: str, spans: Sequence[Span]) -> set[tuple[int, int]]:
    """Blank-separated pieces with a letter or digit, by offset, that the spans touch."""
    pieces = {m.span() for m in re.finditer(r"\w+(?:['’]\w+)*", text)}
    return {(s, e) for s, e in pieces if any(span.start < e and s < span.end for span in spans)}


def compare(text: str, gold: Sequence[Span], found: Sequence[Span]) -> dict[str, float]:
    """Exact match and F1 of the tokens under both, and the share of gold spans that lie inside ours."""
    wanted, given = tokens(text, gold), tokens(text, found)
    common = len(wanted & given)
    precision = common / len(given) if given else 0.0
    recall = common / len(wanted) if wanted else 0.0
    inside = [bool(own) and own <= given for own in (tokens(text, [span]) for span in gold)]
    return {
        "exact": float(wanted == given),
        "f1": 2 * precision * recall / (precision + recall) if common else 0.0,
        "recall": sum(inside) / len(inside) if inside else 0.0,
        "words": float(len(given)),
    }
