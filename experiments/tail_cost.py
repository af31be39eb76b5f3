"""An epoch of tail training over cached trunk states against an epoch of ordinary fine-tuning.

    python experiments/tail_cost.py MAMS/train.xml

Both in one run, alternating, on the same texts and batches; prints seconds and their ratio.
"""

from __future__ import annotations

import sys
import time
from statistics import median

from spanfluence.data import load_examples
from spanfluence.loading import load_parts
from spanfluence.model import TextClassifier
from spanfluence.tail import TailFit, TrainSettings

BASE = "minilm"
TEXTS = 1000
BATCH = 64
ROUNDS = 3


def fit_of(attribute: str, examples: list) -> TailFit:
    """A fit of the tail, or with "all" of the whole model."""
    labels = tuple(sorted({str(example.label) for example in examples}))
    classifier = TextClassifier(*load_parts(BASE, labels=labels), attribute=attribute)
    encoded = classifier.encoder.encode(examples)
    ids = classifier.label_ids(examples, "given")
    settings = TrainSettings(batch_size=BATCH, attribute=attribute)
    return TailFit(classifier, settings, encoded, ids)


def seconds(fit: TailFit, epoch: int) -> float:
    """Time of one epoch."""
    start = time.perf_counter()
    fit.run_epoch(epoch)
    return time.perf_counter() - start


def main() -> None:
    """Both in turn."""
    examples = load_examples(sys.argv[1])[:TEXTS]
    tail, whole = fit_of("last-2", examples), fit_of("all", examples)
    start = time.perf_counter()
    tail.fill_states()
    print(f"trunk, once: {time.perf_counter() - start:.1f} s for {len(examples)} texts")
    times: dict[str, list[float]] = {"tail": [], "whole": []}
    for epoch in range(1, ROUNDS + 1):
        times["tail"].append(seconds(tail, epoch))
        times["whole"].append(seconds(whole, epoch))
    for name, found in times.items():
        print(f"{name}: {', '.join(f'{each:.1f}' for each in found)} s an epoch")
    print(f"ratio of medians: {median(times['tail']) / median(times['whole']):.3f}")


if __name__ == "__main__":
    main()
