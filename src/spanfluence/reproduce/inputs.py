"""What a reproduction starts from: the data set's splits, spans for them, and tests worth asking about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spanfluence.baselines import words
from spanfluence.data import fingerprint, load_examples
from spanfluence.data.mams import load_mams
from spanfluence.data.reading import parse_json, read_text
from spanfluence.data.sentihood import load_sentihood
from spanfluence.errors import InputError
from spanfluence.loading import model_fingerprint
from spanfluence.spans.files import write_spans
from spanfluence.spans.registry import finder_named
from spanfluence.units import Example, Unit

DATASETS = ("mams", "sentihood")
AGREES = 0.5
"""Least F1 of words between our span and the released one for the span to count as right."""


def check_dataset(dataset: str) -> None:
    """Raise unless the paper has numbers for it."""
    if dataset not in DATASETS:
        raise InputError(f"no data set {dataset!r} to reproduce: use {' or '.join(DATASETS)}")


def load_splits(dataset: str, folder: Path) -> dict[str, list[Example]]:
    """The splits train, dev and test."""
    check_dataset(dataset)
    if not folder.is_dir():
        raise InputError(
            f"no folder {folder}: get the data with 'spanfluence data fetch {dataset} --to {folder}'"
        )
    if dataset == "mams":
        splits = load_mams(folder)
        return {"train": splits["train"], "dev": splits["val"], "test": splits["test"]}
    return load_sentihood(folder)


def annotate(
    examples: Sequence[Example],
    split: str,
    *,
    folder: Path | None = None,
    reader: Path | None = None,
    out: Path | None = None,
) -> list[Example]:
    """The examples with spans: from `folder/SPLIT.jsonl`, or found by a reading-comprehension model.

    The file must hold the same examples, by id and text; 'spanfluence spans' writes such files. What a
    reader finds is kept in `out/spans/`, under a name of its own for every reader, and taken from there the
    next time; an annotation that was interrupted goes on where it stopped.
    """
    if folder is not None:
        return _from_file(examples, folder / f"{split}.jsonl")
    if reader is None:
        raise InputError(
            "the data has no spans: pass --spans DIR with train.jsonl and test.jsonl, or --reader MODEL"
        )
    if out is None:
        raise InputError("a reader's spans are kept in a folder: pass out=DIR")
    name = f"{split}-{fingerprint(examples)[:12]}-{model_fingerprint(reader)[:12]}.jsonl"
    kept = out / "spans" / name
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        finder = finder_named("reader", reader=str(reader))
        write_spans(examples, finder, kept, resume=True, show_progress=True)
    return _from_file(examples, kept)


def _from_file(examples: Sequence[Example], file: Path) -> list[Example]:
    known = {example.id: example for example in load_examples(file)}
    found = []
    for example in examples:
        own = known.get(example.id)
        if own is None:
            raise InputError(
                f"{file} has no example {example.id!r}: annotate the whole split with 'spanfluence spans'"
            )
        if (own.text, own.context) != (example.text, example.context):
            raise InputError(
                f"{file}: example {example.id!r} has another text than the data: annotate the data anew"
            )
        found.append(replace(example, spans=own.spans))
    return found


# The paper drops tests with wrong spans; its released answers allow that check -----------------------


def right_spans(
    tests: Sequence[Example], released: Path | None
) -> tuple[list[Example], dict[str, int]]:
    """Tests whose span agrees with the released one (all with spans where none are given); counts."""
    spanned = [test for test in tests if test.spans]
    counts = {"tests": len(tests), "with a span": len(spanned)}
    if released is None:
        return spanned, counts
    answers = released_answers(released)
    kept = [test for test in spanned if _agrees(test, answers)]
    counts["with a released answer"] = sum(
        _key(test.text, test.context) in answers for test in spanned
    )
    counts["with the right span"] = len(kept)
    if not kept:
        raise InputError(
            f"no test agrees with {released}: is it the file of this data set's tests?"
        )
    return kept, counts


def released_answers(path: Path) -> dict[tuple[str, str], str]:
    """(text, term) -> the most frequent answer of the paper's reading-comprehension model."""
    data: Any = parse_json(read_text(path), path)
    found: dict[tuple[str, str], str] = {}
    try:
        for sentence in data.values():
            for term in sentence["terms"].values():
                answer = _majority(term["answers"])
                if answer:
                    found[_key(sentence["original_text"], term["term"])] = answer
    except (AttributeError, KeyError, TypeError):
        raise InputError(f"{path} is not in the layout of the paper's released spans") from None
    return found


def _majority(answers: Sequence[Mapping[str, Any]]) -> str | None:
    valid = Counter(
        str(text).strip()
        for each in answers
        for key, text in each.items()
        if key != "rule" and str(text).strip() and "<s>" not in text and "</s>" not in text
    )
    return valid.most_common(1)[0][0] if valid else None


def _agrees(test: Example, answers: Mapping[tuple[str, str], str]) -> bool:
    answer = answers.get(_key(test.text, test.context))
    return answer is not None and word_f1(Unit(test, test.spans).text, answer) >= AGREES


def _key(text: str, term: str | None) -> tuple[str, str]:
    return " ".join(words(text)), " ".join(words(term or ""))


def word_f1(ours: str, theirs: str) -> float:
    """F1 of the bags of words, as in SQuAD."""
    a, b = Counter(words(ours)), Counter(words(theirs))
    common = sum((a & b).values())
    return 2 * common / (sum(a.values()) + sum(b.values())) if common else 0.0
