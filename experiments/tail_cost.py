"""An epoch of tail training over cached trunk states against an epoch of ordinary fine-tuning.

    python experiments/tail_cost.py MAMS/train.xml

Ordinary is two things: the same two layers tuned, with the frozen layers run again for every batch, as any
training loop does it; and the whole model tuned. All in one run, alternating, on the same texts and
batches; prints seconds and ratios.
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
TAIL = "two layers over cached states"
KINDS = {TAIL: "last-2", "two layers, nothing cached": "last-2", "whole model": "all"}


def fit_of(attribute: str, examples: list, base: str = BASE) -> TailFit:
    """A fit of the tail, or with "all" of the whole model."""
    labels = tuple(sorted({str(example.label) for example in examples}))
    classifier = TextClassifier(*load_parts(base, labels=labels), attribute=attribute)
    encoded = classifier.encoder.encode(examples)
    ids = classifier.label_ids(examples, "given")
    settings = TrainSettings(batch_size=BATCH, attribute=attribute)
    return TailFit(classifier, settings, encoded, ids)


def fits_of(examples: list, base: str = BASE) -> dict[str, TailFit]:
    """One fit of each kind; the one that caches nothing has a store without room."""
    fits = {name: fit_of(attribute, examples, base) for name, attribute in KINDS.items()}
    fits["two layers, nothing cached"].classifier.states.budget_bytes = 0
    return fits


def seconds(fit: TailFit, epoch: int) -> float:
    """Time of one epoch."""
    start = time.perf_counter()
    fit.run_epoch(epoch)
    return time.perf_counter() - start


def main() -> None:
    """All kinds in turn."""
    examples = load_examples(sys.argv[1])[:TEXTS]
    fits = fits_of(examples)
    start = time.perf_counter()
    fits[TAIL].fill_states()
    print(f"trunk, once: {time.perf_counter() - start:.1f} s for {len(examples)} texts")
    times: dict[str, list[float]] = {name: [] for name in fits}
    for epoch in range(1, ROUNDS + 1):
        for name, fit in fits.items():
            times[name].append(seconds(fit, epoch))
    for name, found in times.items():
        ratio = median(times[TAIL]) / median(found)
        print(f"{name}: {', '.join(f'{each:.1f}' for each in found)} s an epoch; ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
