"""MAMS, aspect-term version: restaurant sentences with several aspects of differing sentiment.

Jiang, Chen, Xu, Ao, Yang: A Challenge Dataset and Effective Models for Aspect-Based Sentiment Analysis,
EMNLP-IJCNLP 2019. The layout is that of the SemEval 2014 task, so those files can be read too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from spanfluence.data.reading import problem, read_text
from spanfluence.errors import InputError
from spanfluence.units import Example, Span

SPLITS = ("train", "val", "test")


def read_mams(path: str | os.PathLike[str]) -> list[Example]:
    """One example per `aspectTerm`: the sentence, the term as context, its polarity as label.

    The id is `SENTENCE-ASPECT`, both counted from 1. `spans` is empty: a term is what an opinion is
    about, not the words of the opinion; for the place of the terms see `mams_terms`.
    """
    return [example for example, _ in _read(Path(path))]


def mams_terms(path: str | os.PathLike[str]) -> list[Span]:
    """Where each example of `read_mams` has its term, in the same order."""
    return [term for _, term in _read(Path(path))]


def load_mams(folder: str | os.PathLike[str]) -> dict[str, list[Example]]:
    """The splits train, val and test of a folder that holds train.xml, val.xml and test.xml."""
    paths = {split: Path(folder) / f"{split}.xml" for split in SPLITS}
    for path in paths.values():
        if not path.is_file():
            raise problem(path, "no such file: get it with `spanfluence data fetch mams --to DIR`")
    return {split: read_mams(path) for split, path in paths.items()}


def _read(path: Path) -> list[tuple[Example, Span]]:
    root = _parse(path)
    found = [
        pair
        for number, sentence in enumerate(root.iter("sentence"), start=1)
        for pair in _aspects(sentence, number, f"{path} sentence {number}")
    ]
    if not found:
        raise problem(path, "no aspectTerm in the file: give a file in the MAMS aspect-term layout")
    return found


def _parse(path: Path) -> ElementTree.Element:
    """The document's root. Text that declares entities could grow without bound, so it is refused.

    The guard reads the decoded text, and the parser is given that same text, so that no other encoding
    can hide a declaration from it.
    """
    text = read_text(path)
    for declaration in ("<!DOCTYPE", "<!ENTITY"):
        if declaration in text:
            line = text.count("\n", 0, text.index(declaration)) + 1
            raise problem(f"{path}:{line}", f"{declaration} is not allowed here: remove it")
    try:
        return ElementTree.fromstring(text)  # noqa: S314  # guarded above
    except ElementTree.ParseError as error:
        raise problem(f"{path}:{error.position[0]}", f"not valid XML: {error}") from None


def _aspects(
    sentence: ElementTree.Element, number: int, where: str
) -> Iterator[tuple[Example, Span]]:
    """The aspect terms of one sentence; a sentence without any gives nothing."""
    text = sentence.findtext("text") or ""
    for aspect, element in enumerate(sentence.iter("aspectTerm"), start=1):
        place = f"{where} aspect {aspect}"
        term = _attribute(element, "term", place)
        polarity = _attribute(element, "polarity", place)
        start, end = _offset(element, "from", place), _offset(element, "to", place)
        try:
            example = Example(text, label=polarity, context=term, id=f"{number}-{aspect}")
            span = Span(start, end)
        except InputError as error:
            raise problem(place, error) from None
        if text[start:end] != term:
            seen = f"characters {start} to {end} are {text[start:end]!r}, not the term {term!r}"
            raise problem(place, f"{seen}: correct from and to")
        yield example, span


def _attribute(element: ElementTree.Element, name: str, where: str) -> str:
    value = element.get(name)
    if not value:
        raise problem(where, f"aspectTerm has no {name!r}: add the attribute")
    return value


def _offset(element: ElementTree.Element, name: str, where: str) -> int:
    value = _attribute(element, name, where)
    if not (value.isascii() and value.isdecimal()):
        raise problem(where, f"{name!r} must be a whole number, got {value!r}")
    return int(value)
