"""Spans of a whole data set: found in batches with progress, kept while at work, written whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spanfluence.data import fingerprint
from spanfluence.data.reading import problem
from spanfluence.data.saving import example_fields
from spanfluence.errors import InputError
from spanfluence.files import write_text_atomic
from spanfluence.progress import progress_bar
from spanfluence.spans.found import Finder, Found, Terms
from spanfluence.spans.terms import check_contexts, check_terms
from spanfluence.units import Example, Span

BATCH = 256
"""Examples that go to a finder at once: enough to fill batches of similar length."""


def find_spans(
    examples: Sequence[Example],
    finder: Finder,
    *,
    terms: Terms | None = None,
    show_progress: bool = False,
) -> list[list[Found]]:
    """What the finder proposes for each example, best first."""
    found: list[list[Found]] = []
    with progress_bar(f"spans by {finder.name}", len(examples), show=show_progress) as advance:
        for rows, places in _batches(examples, terms, 0):
            found += finder.find(rows, places, advance=advance)
    return found


def _batches(
    examples: Sequence[Example], terms: Terms | None, done: int
) -> Iterable[tuple[Sequence[Example], Terms | None]]:
    for start in range(done, len(examples), BATCH):
        rows = slice(start, start + BATCH)
        yield examples[rows], None if terms is None else terms[rows]


def with_spans(example: Example, found: Sequence[Found]) -> Example:
    """The example with the found spans instead of its own, in reading order."""
    return replace(example, spans=tuple(sorted({item.span for item in found})))


# The file ------------------------------------------------------------------------------------------


def write_spans(
    examples: Sequence[Example],
    finder: Finder,
    out: str | os.PathLike[str],
    *,
    terms: Terms | None = None,
    resume: bool = False,
    overwrite: bool = False,
    show_progress: bool = False,
) -> list[list[Found]]:
    """Find spans and write examples with them as .jsonl that `load_examples` reads.

    Each row also has `found` (span, score, finder, way), where known `term`, and `mask` where a
    classifier was asked. What is done is kept
    beside the file in OUT.partial, so that `resume` goes on where an interrupted run stopped. Input that
    cannot be used leaves no such file: examples that were corrected could not go on from it.
    """
    target = Path(out)
    journal = _Journal(target.with_name(target.name + ".partial"), examples, terms, finder)
    _check_target(target, journal.path, resume, overwrite)
    check_terms(examples, terms)
    if finder.needs_context:
        check_contexts(examples, finder.name)
    found = journal.read() if resume else []
    with progress_bar(f"spans by {finder.name}", len(examples), show=show_progress) as advance:
        advance(len(found))
        _find_rest(examples, terms, finder, journal, found, advance)
    places = [None] * len(examples) if terms is None else terms
    mask = finder.settings.get("mask")
    rows = [row_of(*each, mask) for each in zip(examples, found, places, strict=True)]
    write_text_atomic(target, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    journal.drop()
    return found


def _find_rest(
    examples: Sequence[Example],
    terms: Terms | None,
    finder: Finder,
    journal: _Journal,
    found: list[list[Found]],
    advance: Callable[[int], None],
) -> None:
    """Add to `found` what is missing, batch by batch, each noted in the journal."""
    for rows, places in _batches(examples, terms, len(found)):
        try:
            new = finder.find(rows, places, advance=advance)
        except InputError:
            journal.drop()
            raise
        journal.add(found, new)
        found += new


def row_of(
    example: Example, found: Sequence[Found], term: Span | None = None, mask: object = None
) -> dict[str, Any]:
    """The JSON row of one example with what was found in it; `mask`: how a classifier was asked."""
    row: dict[str, Any] = {**example_fields(with_spans(example, found))}
    if term is not None:
        row["term"] = [term.start, term.end]
    if mask is not None:
        row["mask"] = mask
    row["found"] = [_packed(item) for item in found]
    return row


def _check_target(target: Path, partial: Path, resume: bool, overwrite: bool) -> None:
    if target.suffix.lower() not in (".jsonl", ".ndjson"):
        raise problem(target, "spans are written as .jsonl: choose a name that ends so")
    if target.exists() and not overwrite:
        raise problem(target, "the file exists: choose another name, or add --overwrite")
    if not target.parent.is_dir():
        raise problem(target, f"its folder {target.parent} does not exist: make it first")
    if partial.exists() and not (resume or overwrite):
        raise problem(
            target, "an earlier run was interrupted: go on with --resume, or add --overwrite"
        )


class _Journal:
    """What an unfinished run has found so far: a line that names the work, then one per example."""

    def __init__(
        self, path: Path, examples: Sequence[Example], terms: Terms | None, finder: Finder
    ) -> None:
        self.path, self.most, self._begun = path, len(examples), False
        head = {
            "examples": fingerprint(examples),
            "terms": _terms_fingerprint(terms),
            "settings": finder.settings,
        }
        self.head = json.loads(json.dumps(head))  # as it is read back: tuples are lists

    def read(self) -> list[list[Found]]:
        """The examples done; a last line that was cut by a kill is dropped."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")[:-1]
        if not lines:
            raise self._damaged("it has no whole line")
        try:
            named = json.loads(lines[0])
            found = [[_unpacked(item) for item in json.loads(line)] for line in lines[1:]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._damaged(str(error)) from None
        if named != self.head:
            raise InputError(
                f"{self.path} belongs to other examples or another finder: add --overwrite to start anew"
            )
        if len(found) > self.most:
            raise self._damaged(f"{len(found)} rows for {self.most} examples")
        return found

    def _damaged(self, reason: str) -> InputError:
        return problem(
            self.path, f"damaged, so it cannot be resumed ({reason}): add --overwrite to start anew"
        )

    def add(self, before: Sequence[Sequence[Found]], new: Sequence[Sequence[Found]]) -> None:
        """Note one batch; the first is written together with the head and what came `before` it."""
        if self._begun:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write("".join(_line(items) + "\n" for items in new))
            return
        lines = [json.dumps(self.head), *(_line(items) for items in (*before, *new))]
        write_text_atomic(self.path, "".join(line + "\n" for line in lines))
        self._begun = True

    def drop(self) -> None:
        """Remove the file, if there is one."""
        self.path.unlink(missing_ok=True)


def _terms_fingerprint(terms: Terms | None) -> str | None:
    if terms is None:
        return None
    pairs = [None if term is None else [term.start, term.end] for term in terms]
    return hashlib.sha256(json.dumps(pairs).encode("ascii")).hexdigest()


def _line(found: Sequence[Found]) -> str:
    return json.dumps([_packed(item) for item in found])


def _packed(item: Found) -> dict[str, Any]:
    return {
        "span": [item.span.start, item.span.end],
        "score": round(item.score, 6),
        "finder": item.finder,
        "way": item.way,
    }


def _unpacked(item: dict[str, Any]) -> Found:
    return Found(Span(*item["span"]), item["score"], item["finder"], item["way"])


# Summary -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    """What a run found, in numbers."""

    examples: int
    spans: int
    without: int
    entire: int
    mean_words: float
    ways: dict[str, int]
    notes: tuple[str, ...]


def summarise(
    examples: Sequence[Example],
    found: Sequence[Sequence[Found]],
    *,
    terms: Terms | None = None,
    about_context: bool = False,
) -> Summary:
    """Counts of spans by the way they came; notes on what needed care.

    `about_context`: whether the finder looked for the context, so that its absence matters.
    """
    from spanfluence.spans.reader import is_entire
    from spanfluence.spans.words import word_ranges

    items = [(e.text, item) for e, own in zip(examples, found, strict=True) for item in own]
    words = [len(word_ranges(text[f.span.start : f.span.end])) for text, f in items]
    return Summary(
        examples=len(examples),
        spans=len(items),
        without=sum(not own for own in found),
        entire=sum(is_entire(text, f.span.start, f.span.end) for text, f in items),
        mean_words=sum(words) / len(words) if words else 0.0,
        ways=dict(Counter(f.way for _, f in items).most_common()),
        notes=tuple(_notes(examples, terms)) if about_context else (),
    )


def _notes(examples: Sequence[Example], terms: Terms | None) -> Iterable[str]:
    from spanfluence.spans.terms import term_places

    open_ones = [e for i, e in enumerate(examples) if terms is None or terms[i] is None]
    places = [len(term_places(e.text, e.context)) for e in open_ones if e.context is not None]
    if absent := places.count(0):
        yield f"{absent} examples do not hold their context word for word."
    if several := sum(number > 1 for number in places):
        yield (
            f"{several} examples hold their context several times: its first place was taken. "
            "A column 'term' with [start, end] says which is meant."
        )
