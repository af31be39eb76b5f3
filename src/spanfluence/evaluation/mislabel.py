"""Mislabel detection: do flipped training labels stand out by their self-influence?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spanfluence.data import fingerprint
from spanfluence.errors import InputError
from spanfluence.evaluation.bench import Bench, draw, held_out_accuracy
from spanfluence.evaluation.tables import Table
from spanfluence.metrics import Interval, bootstrap_auc, cosines
from spanfluence.retrain import Retrained
from spanfluence.rng import numpy_generator
from spanfluence.scoring import explainer_for
from spanfluence.self_influence import self_influence
from spanfluence.units import Example, Unit

METHODS: dict[str, dict[str, Any]] = {
    "tracin": {"method": "tracin"},
    "tracinf": {"method": "tracinf"},
    "final model": {"method": "tracinf", "points": "final"},
    "final model, spans": {"method": "faithful"},
}
NEIGHBOURS = 10


def mislabel_table(bench: Bench) -> Table:
    """AUC of every ranking at each share of flipped labels; 0.5 is chance."""
    train = draw(bench.train, bench.sizes.small_train, bench.seed, "mislabel train")
    rows: dict[str, dict[str, Any]] = {}
    models = []
    for share in bench.sizes.flips:
        found = _cached(bench, train, share)
        models.append(f"{share:.0%} flipped: {100 * found['accuracy']:.1f} %")
        for name, interval in found["auc"].items():
            rows.setdefault(name, {"ranking": name})[f"AUC, {share:.0%} flipped"] = Interval(
                *interval
            )
    return Table(
        "mislabel",
        f"Detection of flipped labels among {len(train)} training rows",
        list(rows.values()),
        (
            "Brackets: 95 % bootstrap interval over rows. 'loss' is the loss of the given label.",
            f"Held-out accuracy of the trained models: {', '.join(models)}; "
            f"{bench.retrainer.for_rows(len(train)).course}.",
        ),
    )


def _cached(bench: Bench, train: Sequence[Example], share: float) -> dict[str, Any]:
    settings = {
        "recipe": bench.retrainer.for_rows(len(train)).recipe,
        "train": fingerprint(train),
        "held_out": fingerprint(bench.held_out),
        "share": share,
        "seed": bench.seed,
        "encoder": bench.encoder,
    }

    def compute() -> dict[str, Any]:
        return _measure(bench, train, share)

    found: dict[str, Any] = bench.stages.values(f"mislabel/{share:g}", settings, compute)
    return found


def flip_labels(
    train: Sequence[Example], labels: Sequence[str], share: float, seed: int
) -> tuple[list[Example], np.ndarray]:
    """A copy with a share of the labels changed to another one, and which rows those are."""
    count = round(share * len(train))
    if count < 1:
        raise InputError(f"flips={share:g} of {len(train)} rows is less than one row: raise it")
    rng = numpy_generator(seed, f"flips {share:g}")
    chosen = rng.choice(len(train), count, replace=False)
    flipped, result = np.zeros(len(train), dtype=bool), list(train)
    for row in sorted(chosen.tolist()):
        others = [label for label in labels if label != str(train[row].label)]
        result[row] = replace(train[row], label=others[int(rng.integers(len(others)))])
        flipped[row] = True
    return result, flipped


def _measure(bench: Bench, train: Sequence[Example], share: float) -> dict[str, Any]:
    noisy, flipped = flip_labels(train, bench.classifier.labels, share, bench.seed)
    model = bench.fitted(f"mislabel-{share:g}", noisy, bench.seed)
    found = _suspicions(bench, noisy, model)
    return {
        "auc": {n: bootstrap_auc(values, flipped, seed=bench.seed) for n, values in found.items()},
        "accuracy": held_out_accuracy(bench, model.classifier),
    }


def _suspicions(bench: Bench, noisy: Sequence[Example], model: Retrained) -> dict[str, np.ndarray]:
    """Higher means more suspect, one value per row; spans of a row are added up."""
    found: dict[str, np.ndarray] = {}
    for name, asked in METHODS.items():
        explainer = explainer_for(
            model.classifier, noisy, asked, seed=bench.seed, checkpoints=model.checkpoints
        )
        row_of = {id(example): row for row, example in enumerate(noisy)}
        owners = [row_of[id(unit.example)] for unit in explainer.train_units]
        totals = np.zeros(len(noisy))
        np.add.at(totals, owners, self_influence(explainer, show=bench.show))
        found[f"self-influence, {name}"] = totals
    ids = model.classifier.label_ids(noisy, "given")
    found["loss"] = model.classifier.losses([Unit(e) for e in noisy], ids, "loss")
    found["embedding neighbours of other labels"] = _neighbours(bench, noisy, ids)
    found["random"] = numpy_generator(bench.seed, "mislabel").random(len(noisy))
    return found


def _neighbours(bench: Bench, examples: Sequence[Example], ids: np.ndarray) -> np.ndarray:
    """Share of the nearest texts, by sentence embedding, that have another label."""
    vectors = bench.embed([f"{e.context or ''} {e.text}".strip() for e in examples])
    alike = cosines(vectors, vectors)
    np.fill_diagonal(alike, -np.inf)
    near = np.argsort(-alike, axis=1)[:, :NEIGHBOURS]
    return np.asarray((ids[near] != ids[:, None]).mean(axis=1))
