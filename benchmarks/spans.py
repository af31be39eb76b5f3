"""How fast are the span finders? On MAMS train; the reader against its own plain forward pass.

    python benchmarks/spans.py                      # the reader is MiniLM, its answers untrained
    python benchmarks/spans.py --reader reader      # a trained one

Bars: words, sentences and clauses over all of MAMS train in seconds; `aspect` at 150 instances/s or more on two
idle cores; `reader` at 80 % or more of the model's plain forward rate over the same tokens. Writes spans.md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from spanfluence.data.mams import mams_terms, read_mams
from spanfluence.encoding import length_batches
from spanfluence.files import write_text_atomic
from spanfluence.loading import quiet_transformers, resolve_folder
from spanfluence.spans import find_spans, finder_named
from spanfluence.spans.qa import MAX_TOKENS, QuestionAnswerer
from spanfluence.spans.reader import Reader
from spanfluence.units import Example, Span

DATA = Path(os.environ.get("SPANFLUENCE_DATA", "../shared/data"))
PLAIN = ("words", "sentences", "clauses")
ASPECT_BAR, READER_BAR = 150.0, 0.8


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def plain_finders(examples: Sequence[Example]) -> dict[str, float]:
    """Seconds of each finder that needs no model."""
    return {
        name: seconds(lambda name=name: find_spans(examples, finder_named(name))) for name in PLAIN
    }  # type: ignore[misc]


def aspect_rate(examples: Sequence[Example], terms: Sequence[Span]) -> float:
    """Examples per second, from plain text to spans; loading the encoder is not counted."""
    finder = finder_named("aspect")
    finder.find([Example("warm up", context="warm")])
    return len(examples) / seconds(lambda: find_spans(examples, finder, terms=terms))


def reader_rates(
    source: str, examples: Sequence[Example], terms: Sequence[Span], repeats: int = 3
) -> tuple[float, float]:
    """(tokens/s of the finder, tokens/s of the model alone over the same tokens), best of `repeats`.

    The model alone gets ready batches of the same texts; padding is not counted in either rate. The two
    take turns, so that other work on the machine meets both alike.
    """
    answerer = QuestionAnswerer.load(source)
    reader = Reader(answerer)
    questions = list(dict.fromkeys(q for e in examples for q in reader.questions(e)))
    windows = answerer.windows(questions)
    lengths = [len(window.input_ids) for window in windows]
    batches = [
        answerer.collate([windows[row] for row in rows])
        for rows in length_batches(lengths, MAX_TOKENS)
    ]

    def alone() -> None:
        with torch.inference_mode():
            for batch in batches:
                answerer.model(**batch)

    tokens = sum(lengths)
    whole, bare = [], []
    for _ in range(repeats):
        bare.append(seconds(alone))
        whole.append(seconds(lambda: find_spans(examples, reader, terms=terms)))
    return tokens / min(whole), tokens / min(bare)


def untrained_reader(folder: Path) -> str:
    """MiniLM with new answer weights: as fast as a trained one."""
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    base = resolve_folder("minilm")
    with quiet_transformers():
        AutoModelForQuestionAnswering.from_pretrained(base, num_labels=2).save_pretrained(folder)
        AutoTokenizer.from_pretrained(base).save_pretrained(folder)
    return str(folder)


def measured(arguments: argparse.Namespace, path: Path) -> list[str]:
    """A line for each finder."""
    examples, terms = read_mams(path), mams_terms(path)
    lines = [
        f"{name}: {len(examples):,} examples in {spent:.1f} s"
        for name, spent in plain_finders(examples).items()
    ]
    rate = aspect_rate(examples[: arguments.limit], terms[: arguments.limit])
    lines.append(
        f"aspect: {rate:.0f} examples/s (bar {ASPECT_BAR:.0f}: {_met(rate >= ASPECT_BAR)})"
    )
    few = arguments.reader_examples
    with tempfile.TemporaryDirectory() as folder:
        source = arguments.reader or untrained_reader(Path(folder))
        whole, bare = reader_rates(source, examples[:few], terms[:few])
    kind = "trained" if arguments.reader else "untrained"
    lines.append(
        f"reader ({kind}): {whole:.0f} tokens/s, the model alone {bare:.0f}: {whole / bare:.0%} "
        f"(bar {READER_BAR:.0%}: {_met(whole / bare >= READER_BAR)})"
    )
    return lines


def main() -> None:
    """Read the command line, measure, print and write."""
    parser = argparse.ArgumentParser(description="Time the span finders.")
    parser.add_argument("--reader", help="folder or hub name of a question-answering model")
    parser.add_argument("--limit", type=int, help="examples for aspect; default all of MAMS train")
    parser.add_argument("--reader-examples", type=int, default=256)
    parser.add_argument("--threads", type=int, help="threads of torch")
    arguments = parser.parse_args()
    path = DATA / "mams" / "train.xml"
    if not path.exists():
        print(
            f"{path} is not there: get it with 'spanfluence data fetch mams', set SPANFLUENCE_DATA"
        )
        return
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    lines = measured(arguments, path)
    print("\n".join(lines))
    head = "# Speed of the span finders\n\nWritten by `make bench`, on MAMS train.\n\n"
    rows = "".join(f"- {line}\n" for line in lines)
    write_text_atomic(Path(__file__).with_suffix(".md"), head + rows)


def _met(met: bool) -> str:
    return "met" if met else "not met"


if __name__ == "__main__":
    main()
