"""SentiHood: what people say of urban neighbourhoods, with a sentiment per location and aspect.

Saeidi, Bouchard, Liakata, Riedel: SentiHood: Targeted Aspect Based Sentiment Analysis Dataset for Urban
Neighbourhoods, COLING 2016.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanfluence.data.json_rows import read_json
from spanfluence.data.reading import problem
from spanfluence.errors import InputError
from spanfluence.units import Example

SPLITS = ("train", "dev", "test")
SENTIMENTS = ("Positive", "Negative")


@dataclass(frozen=True, slots=True)
class Opinion:
    """A sentiment, "Positive" or "Negative", about one aspect of one location."""

    location: str
    aspect: str
    sentiment: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it stands in the file; one without any opinion is kept."""

    id: str
    text: str
    opinions: tuple[Opinion, ...]

    def agreed(self) -> Iterator[tuple[int, Opinion]]:
        """The opinions, numbered from 1, about locations of which the sentence speaks in one tone."""
        tones: dict[str, set[str]] = {}
        for opinion in self.opinions:
            tones.setdefault(opinion.location, set()).add(opinion.sentiment)
        for number, opinion in enumerate(self.opinions, start=1):
            if len(tones[opinion.location]) == 1:
                yield number, opinion


def read_sentihood_sentences(path: str | os.PathLike[str]) -> list[Sentence]:
    """Every sentence of a file, those with no opinion included: the paper counts these."""
    source = Path(path)
    sentences: list[Sentence] = []
    rows: dict[str, int] = {}
    for number, item in enumerate(read_json(source), start=1):
        where = f"{source} row {number}"
        sentence = _sentence(item, where)
        if sentence.id in rows:
            raise problem(where, f"id {sentence.id!r} is also the id of row {rows[sentence.id]}")
        rows[sentence.id] = number
        sentences.append(sentence)
    return sentences


def read_sentihood(path: str | os.PathLike[str]) -> list[Example]:
    """One example per opinion: the lower-cased sentence, its location as context, its sentiment.

    A location with opinions of both sentiments in one sentence is left out there, since the aspect is
    not part of the input; repeats are kept. This is the rule by which the data released with "On Sample
    Based Explanation Methods for NLP" (ACL 2021) was made. The id is `SENTENCE-OPINION`.
    """
    examples: list[Example] = []
    for row, sentence in enumerate(read_sentihood_sentences(path), start=1):
        for number, opinion in sentence.agreed():
            try:
                examples.append(_example(sentence, number, opinion))
            except InputError as error:
                raise problem(f"{path} row {row}", error) from None
    if not examples:
        raise problem(path, "no sentence with an opinion in the file: give one that has some")
    return examples


def load_sentihood(folder: str | os.PathLike[str]) -> dict[str, list[Example]]:
    """The splits train, dev and test of a folder that holds sentihood-train.json and so on."""
    paths = {split: Path(folder) / f"sentihood-{split}.json" for split in SPLITS}
    for path in paths.values():
        if not path.is_file():
            advice = "get it with `spanfluence data fetch sentihood --to DIR`"
            raise problem(path, f"no such file: {advice}")
    return {split: read_sentihood(path) for split, path in paths.items()}


def is_sentihood(items: list[Any]) -> bool:
    """Whether the items of a JSON file have the SentiHood layout."""
    return bool(items) and all(
        isinstance(item, dict) and isinstance(item.get("opinions"), list) for item in items
    )


def _example(sentence: Sentence, number: int, opinion: Opinion) -> Example:
    return Example(
        text=sentence.text.lower(),
        label=opinion.sentiment.lower(),
        context=opinion.location.lower(),
        id=f"{sentence.id}-{number}",
    )


def _sentence(item: Any, where: str) -> Sentence:
    if not is_sentihood([item]):
        raise problem(where, "a sentence must be an object with a list of 'opinions'")
    text, identity = item.get("text"), item.get("id")
    if not isinstance(text, str):
        raise problem(where, f"text must be a string, got {text!r}")
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        raise problem(where, f"id must be a whole number or a string, got {identity!r}")
    opinions = tuple(
        _opinion(opinion, f"{where} opinion {number}")
        for number, opinion in enumerate(item["opinions"], start=1)
    )
    return Sentence(str(identity), text, opinions)


def _opinion(item: Any, where: str) -> Opinion:
    keys = ("target_entity", "aspect", "sentiment")
    if not isinstance(item, dict) or not all(isinstance(item.get(key), str) for key in keys):
        raise problem(where, f"must have the strings {', '.join(keys)}, got {item!r}")
    if item["sentiment"] not in SENTIMENTS:
        raise problem(
            where, f"sentiment must be {' or '.join(SENTIMENTS)}, got {item['sentiment']!r}"
        )
    return Opinion(*(item[key] for key in keys))
