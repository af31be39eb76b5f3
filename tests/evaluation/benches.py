"""A bench over a tiny model, for tests of evaluations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import tiny

from spanfluence import Example, train_classifier
from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.runner import open_bench
from spanfluence.evaluation.sizes import Sizes
from spanfluence.planting import Trigger

TRAIN = tiny.make_examples(40, seed=1)
TESTS = tiny.make_examples(12, seed=2)
METHODS = {
    "tracinf": {"method": "tracinf"},
    "tracin+": {"method": "tracin+"},
    "control": {"method": "control"},
    "pinpoint": {"method": "pinpoint"},
}
SIZES = Sizes(
    ks=(2, 5),
    curve=(1, 2, 5, 10),
    seeds=2,
    repetitions=2,
    faithful_tests=3,
    small_train=30,
    small_tests=4,
    subsets=4,
    planted_train=40,
    planted_tests=3,
    planted_seeds=1,
    triggers=(Trigger("last night", ("last night",), "frequent phrase"),),
    rates=(0.05,),
    flips=(0.1,),
)


def embed(texts):
    """Counts of letters: as good as any encoder here."""
    return np.array([[text.count(letter) for letter in "aeiostr"] + [1] for text in texts], float)


def make_run(base: Path, out: Path) -> Path:
    settings = {"epochs": 2, "batch_size": 10, "learning_rate": 1e-3}
    train_classifier(TRAIN, TESTS, base=base, out=out, **settings)
    return out


def make_bench(run: Path, out: Path, **changes) -> Bench:
    bench = open_bench(
        run,
        TESTS,
        out,
        sizes=SIZES,
        methods=METHODS,
        explained=5,
        embed=embed,
        say=lambda text: None,
    )
    return replace(bench, **changes)


def whole(examples: list[Example]) -> list[Example]:
    return [replace(example, spans=()) for example in examples]
