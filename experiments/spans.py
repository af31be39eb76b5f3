"""Measure span finders against human opinion spans and the paper's own annotation; writes spans.md.

    python experiments/spans.py --reader reader        # about 6 minutes on two idle cores

Human spans: the TOWE test sets, and the MAMS terms whose sentence stands in SemEval. The paper's: the
answers its authors released for MAMS test and SentiHood test. What a finder gave is kept in --work, so an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from opinion_spans import (
    DATA,
    TESTS,
    Annotated,
    Opinion,
    authors_mams,
    authors_sentihood,
    compare,
    mams_overlap,
    normalised,
    towe,
)

from spanfluence.files import write_text_atomic
from spanfluence.spans import Finder, Found, finder_named, write_spans
from spanfluence.spans.reader import Reader
from spanfluence.spans.sentences import Sentences
from spanfluence.units import Example, Span

HERE = Path(__file__).parent
WHOLE = "reader, whole annotation"  # with the heuristics behind it
Choice = Callable[[Sequence[Found], Span | None], list[Span]]


def everything(found: Sequence[Found], term: Span | None) -> list[Span]:
    """All spans of the finder together."""
    return [item.span for item in found]


def at_term(found: Sequence[Found], term: Span | None) -> list[Span]:
    """Of a finder that does not know the aspect: the shortest of its spans that hold the term."""
    own = [item.span for item in found if term is not None and _holds(item.span, term)]
    return [min(own, key=lambda span: span.end - span.start)] if own else []


def clause_at_term(found: Sequence[Found], term: Span | None) -> list[Span]:
    """The shortest span that holds the term and words beside it, or else the text's spans there."""
    wider = [item for item in found if item.way in ("clause", "clauses")]
    return at_term(wider, term)


def read_only(found: Sequence[Found], term: Span | None) -> list[Span]:
    """What the reader answered, without the heuristic behind it."""
    return [item.span for item in found if item.way == "reader"]


def _holds(span: Span, term: Span) -> bool:
    return span.start <= term.start and term.end <= span.end


# (name in the table, finder, how its spans become one answer)
ROWS: tuple[tuple[str, str, Choice], ...] = (
    (WHOLE, "reader", everything),
    ("reader, its answers only", "reader", read_only),
    ("aspect", "aspect", everything),
    ("clauses, the one with the term", "clauses", clause_at_term),
    ("clauses, all", "clauses", everything),
    ("chunks, the clause with the term", "chunks", clause_at_term),
    ("chunks, all", "chunks", everything),
    ("sentence with the term", "sentences", at_term),
)


class Bench:
    """Finders by name, and what they found by data set."""

    def __init__(self, reader: str | None, work: Path) -> None:
        self.finders: dict[str, Finder] = {
            "aspect": finder_named("aspect"),
            "clauses": finder_named("clauses"),
            "chunks": finder_named("chunks"),
            "sentences": Sentences(),
        }
        if reader is not None:
            self.finders["reader"] = Reader(reader)
        self.work = work
        work.mkdir(parents=True, exist_ok=True)

    def _version(self, finder: str) -> str:
        """Changes with the finder's settings and with the reader's weights."""
        settings = self.finders[finder].settings
        weights = Path(str(settings.get("reader", ""))) / "model.safetensors"
        stamp = weights.stat().st_mtime_ns if weights.is_file() else 0
        return hashlib.sha256(f"{json.dumps(settings)} {stamp}".encode()).hexdigest()[:8]

    def found(
        self, data: str, finder: str, examples: Sequence[Example], terms: Sequence[Span | None]
    ) -> list[list[Found]]:
        """From the work folder where a run of the same settings left it, else found now."""
        out = self.work / f"{data}.{finder}.{len(examples)}.{self._version(finder)}.jsonl"
        if out.exists():
            return [
                [
                    Found(Span(*item["span"]), item["score"], item["finder"], item["way"])
                    for item in json.loads(line)["found"]
                ]
                for line in out.read_text(encoding="utf-8").splitlines()
            ]
        began = time.monotonic()
        found = write_spans(
            examples, self.finders[finder], out, terms=terms, resume=True, show_progress=True
        )
        print(f"{data} {finder}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        return found


# Against people --------------------------------------------------------------------------------------


def human_rows(bench: Bench, name: str, opinions: Sequence[Opinion]) -> Iterator[dict[str, object]]:
    """One row of the table per way to answer."""
    examples = [opinion.example for opinion in opinions]
    terms = [opinion.term for opinion in opinions]
    for label, finder, choose in ROWS:
        if finder not in bench.finders:
            continue
        found = bench.found(name, finder, examples, terms)
        pairs = [(o, choose(items, o.term)) for o, items in zip(opinions, found, strict=True)]
        if choose is read_only:  # the rows the heuristic answered are another matter
            pairs = [pair for pair in pairs if pair[1]]
        measured = [compare(o.example.text, o.gold, spans) for o, spans in pairs]
        yield {
            "data": name,
            "finder": label,
            "rows": len(measured),
            **{key: _mean(measured, key) for key in ("exact", "f1", "recall", "words")},
        }


def _mean(rows: Sequence[dict[str, float]], key: str) -> float:
    return float(np.mean([row[key] for row in rows])) if rows else 0.0


# Against the authors' annotation ---------------------------------------------------------------------


def place_of(answer: str, text: str) -> Span | None:
    """Where an answer's letters stand in the text, whatever its blanks and punctuation."""
    letters = [i for i, c in enumerate(text) if normalised(c)]
    flat = "".join(normalised(text[i]) for i in letters)
    wanted = normalised(answer)
    place = flat.find(wanted) if wanted else -1
    return None if place < 0 else Span(letters[place], letters[place + len(wanted) - 1] + 1)


def author_rows(bench: Bench, name: str, rows: Sequence[Annotated]) -> Iterator[dict[str, object]]:
    """Agreement with the authors' most frequent answer, where they have one."""
    examples, terms = [row.example for row in rows], [row.term for row in rows]
    theirs = [place_of(row.answer, row.example.text) for row in rows]
    answered = [place for place in theirs if place is not None]
    for label, finder in ((WHOLE, "reader"), ("aspect", "aspect")):
        if finder not in bench.finders:
            continue
        found = bench.found(name, finder, examples, terms)
        measured = [
            compare(example.text, [place], [item.span for item in items])
            for example, items, place in zip(examples, found, theirs, strict=True)
            if place is not None
        ]
        ways = [items[0].way if items else "none" for items in found]
        yield {
            "data": name,
            "finder": label,
            "rows": len(rows),
            "answered by them": len(answered) / len(rows),
            "by our reader": ways.count("reader") / len(rows),
            **{key: _mean(measured, key) for key in ("exact", "f1", "recall", "words")},
        }


# Output ----------------------------------------------------------------------------------------------


def markdown(rows: Sequence[dict[str, object]]) -> str:
    """A table; shares as percentages."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows:
        cells = [_cell(name, row[name]) for name in names]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(name: str, value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}" if name == "words" else f"{100 * value:.1f}"
    return str(value)


TEXT = """# How good are the spans?

Written by `experiments/spans.py`{how}. Percentages, except words.

- **exact**: the words of the found span are exactly the human opinion words.
- **f1**: F1 of those words, against all opinion words of the target together.
- **recall**: share of human opinion spans that lie inside the found one.
- **words**: mean length of what was found.

A finder that does not know the aspect (`clauses`, `chunks`) is measured in two ways: by all it gives, and by the
one piece that holds the aspect term. The thresholds of `aspect` were chosen on TOWE training rows; the reader was
trained without any sentence of these tests.

## Against human opinion spans

{human}

## Against the paper's own annotation

The most frequent of the authors' eleven answers, where it can be found in the text. It is the output of a larger
reader, not of people.

{authors}
{bars}"""


def bars(rows: Sequence[dict[str, object]]) -> str:
    """The bars this work set itself: judged on all TOWE tests together, shown on the MAMS terms too."""
    lines = []
    for data in ("TOWE tests", "MAMS in SemEval"):
        for what, seen, met in _checks([row for row in rows if row["data"] == data]):
            verdict = "yes" if met else "no"
            lines.append(f"| {data} | {what} | {seen} | {verdict} |")
    head = (
        "\n## Bars\n\nThe first rows judge; 180 MAMS terms leave about five points either way.\n\n"
    )
    return head + "| data | bar | measured | met |\n|---|---|---|---|\n" + "\n".join(lines) + "\n"


def _checks(rows: Sequence[dict[str, object]]) -> list[tuple[str, str, bool]]:
    found = {str(row["finder"]): row for row in rows}

    def number(finder: str, key: str) -> float:
        value = found.get(finder, {}).get(key, 0.0)
        return 100 * float(value) if isinstance(value, float) else 0.0

    f1 = [number(name, "f1") for name in (WHOLE, "aspect", "clauses, the one with the term")]
    recalls = [
        (f"recall of {name} at least {bar}", number(name, "recall"), bar)
        for name, bar in ((WHOLE, 85), ("aspect", 90))
    ]
    return [
        ("token F1 of reader at least 65", f"{f1[0]:.1f}", f1[0] >= 65),
        *((what, f"{seen:.1f}", seen >= bar) for what, seen, bar in recalls),
        ("F1: reader > aspect > clauses", ", ".join(f"{x:.1f}" for x in f1), f1[0] > f1[1] > f1[2]),
    ]


def save(rows: Sequence[dict[str, object]], path: Path) -> None:
    """Every number of the page."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Read the command line, measure, write."""
    parser = argparse.ArgumentParser(description="Measure span finders.")
    parser.add_argument("--reader", help="folder or hub name of a question-answering model")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=HERE / "spans.md")
    parser.add_argument(
        "--work", type=Path, default=Path("spans-work"), help="what was found so far"
    )
    parser.add_argument("--limit", type=int, help="rows of each data set, for a trial")
    parser.add_argument("--threads", type=int, help="threads of torch")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    bench, limit = Bench(arguments.reader, arguments.work), arguments.limit
    sets = {f"TOWE {name}": towe(name, "test", arguments.data)[:limit] for name in TESTS}
    sets["TOWE tests"] = [opinion for rows in sets.values() for opinion in rows]
    sets["MAMS in SemEval"] = mams_overlap(arguments.data)[:limit]
    human = [row for name, rows in sets.items() for row in human_rows(bench, name, rows)]
    released = {
        "MAMS test": authors_mams("test", arguments.data)[:limit],
        "SentiHood test": authors_sentihood("test", arguments.data)[:limit],
    }
    authors = [row for name, rows in released.items() for row in author_rows(bench, name, rows)]
    how = "" if limit is None else f" on the first {limit} rows of each set, a trial"
    page = TEXT.format(how=how, human=markdown(human), authors=markdown(authors), bars=bars(human))
    write_text_atomic(arguments.out, page)
    save([*human, *authors], arguments.out.with_suffix(".csv"))
    print(page)


if __name__ == "__main__":
    main()
