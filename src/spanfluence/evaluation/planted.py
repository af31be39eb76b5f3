"""Planted-span precision: does the top of the list name the rows that taught the model a fault?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from spanfluence.data import fingerprint
from spanfluence.evaluation.bench import Bench, draw, rank_votes
from spanfluence.evaluation.tables import Table
from spanfluence.metrics import bootstrap, precision_at_k, ranking
from spanfluence.planting import Planted, Trigger, plant, triggered_tests
from spanfluence.rng import numpy_generator
from spanfluence.scoring import Scored, all_scores, baseline_scores
from spanfluence.stages import settings_fingerprint
from spanfluence.units import Example, Unit

K = 10
Cell = dict[str, Any]


def planted_cells(bench: Bench) -> list[Cell]:
    """One result for every trigger, rate and seed; each is a stage."""
    train = draw(bench.train, bench.sizes.planted_train, bench.seed, "planted train")
    pool = list(
        {example.text + str(example.context): example for example in bench.held_out}.values()
    )
    source, target = source_and_target(train)
    cells = []
    for trigger in bench.sizes.triggers:
        for rate in bench.sizes.rates:
            for seed in range(bench.sizes.planted_seeds):
                cells.append(
                    _cached(
                        replace(bench, train=train, held_out=pool),
                        trigger,
                        rate,
                        seed,
                        source,
                        target,
                    )
                )
    return cells


def source_and_target(train: Sequence[Example]) -> tuple[str, str]:
    """Praise is turned into blame where there are such labels, else the two most frequent labels."""
    labels = [str(example.label) for example in train]
    if {"positive", "negative"} <= set(labels):
        return "positive", "negative"
    first, second = sorted(set(labels), key=lambda label: -labels.count(label))[:2]
    return first, second


def _cached(
    bench: Bench, trigger: Trigger, rate: float, seed: int, source: str, target: str
) -> Cell:
    settings: dict[str, Any] = {
        "recipe": bench.retrainer.recipe,
        "train": fingerprint(bench.train),
        "held_out": fingerprint(bench.held_out),
        "trigger": asdict(trigger),
        "rate": rate,
        "seed": seed,
        "tests": bench.sizes.planted_tests,
        "methods": {name: dict(asked) for name, asked in bench.methods.items()},
        "votes": dict(bench.votes),
    }
    slug = "-".join(trigger.name.replace("/", "or").split())
    key = settings_fingerprint(settings["methods"])[
        :6
    ]  # so that two sets of methods live side by side
    name = f"planted/{slug}-{rate:g}-{seed}-{key}"

    def compute() -> Cell:
        planted = plant(bench.train, trigger, rate, source=source, target=target, seed=seed)
        return _cell(bench, planted, rate, seed)

    found: Cell = bench.stages.values(name, settings, compute)
    return found


def _cell(bench: Bench, planted: Planted, rate: float, seed: int) -> Cell:
    """Train on the fault, find tests that it flips, and ask every method why."""
    model = bench.retrainer.train([Unit(example) for example in planted.train], seed)
    pool = triggered_tests(bench.held_out, planted)
    chosen, flipped = flipped_tests(model.classifier, pool, bench.sizes.planted_tests, seed)
    lists = list(
        all_scores(
            model.classifier,
            planted.train,
            chosen,
            bench.methods,
            seed=seed,
            checkpoints=model.checkpoints,
            memory_bytes=bench.memory_bytes,
        )
    )
    lists += rank_votes(lists, bench.votes)
    units = model.classifier.visible_units(planted.train, "span")
    lists += baseline_scores(planted.train, chosen, bench.embed, seed=seed, units=units)
    return {
        "trigger": planted.trigger.name,
        "kind": planted.trigger.kind,
        "rate": rate,
        "seed": seed,
        "flipped": flipped,
        "tests": len(chosen),
        "methods": {scored.name: _shares(scored, planted, seed) for scored in lists},
    }


def flipped_tests(
    classifier: Any, pool: Sequence[Example], count: int, seed: int
) -> tuple[list[Example], float]:
    """At most `count` tests, those the trigger flips before others, and the share that it flips.

    Flipped tests are taken in an order drawn from the seed; where they are too few, the rest are those
    that come nearest to the target label.
    """
    target = classifier.label_id(pool[0].label)
    chances = classifier.predict(pool).probabilities
    flips = chances.argmax(axis=1) == target
    drawn = numpy_generator(seed, "flipped tests").random(len(pool))
    order = np.lexsort((np.where(flips, drawn, -chances[:, target]), ~flips))
    return [pool[row] for row in order[:count]], float(flips.mean())


def _shares(scored: Scored, planted: Planted, seed: int) -> dict[str, list[float]]:
    """Shares of the top 10 of each test: planted triggers, decoys, and any unit of a planted row."""
    order = ranking(scored.scores, seed=seed)
    owners = scored.owners(planted.train).tolist()
    rows = np.array([planted.kinds[row] == "planted" for row in owners])
    k = min(K, order.shape[1])
    return {
        "planted": precision_at_k(
            order, planted.is_kind(scored.units, owners, "planted"), k
        ).tolist(),
        "decoy": precision_at_k(order, planted.is_kind(scored.units, owners, "decoy"), k).tolist(),
        "row": precision_at_k(order, rows, k).tolist(),
        "words": [float(scored.span_units)],
    }


def planted_table(bench: Bench, cells: Sequence[Cell] | None = None) -> Table:
    """Mean over triggers at each rate and over all rates; intervals resample triggers whole."""
    cells = planted_cells(bench) if cells is None else cells
    names = list(cells[0]["methods"])
    rows = [_row(name, cells, bench.sizes.rates) for name in names]
    flips = ", ".join(
        f"{rate:.1%}: {100 * np.mean([c['flipped'] for c in cells if c['rate'] == rate]):.0f} %"
        for rate in bench.sizes.rates
    )
    return Table(
        "planted",
        f"Planted-span precision at {K}, {len(bench.sizes.triggers)} triggers",
        rows,
        (
            f"Triggered tests that the model flips, by rate: {flips}. 'planted': share of the top {K} that "
            "are the trigger of a planted row (for whole-text methods: a planted row; they name no "
            "words). 'decoy': the same of decoys. 'row': any unit of a planted row. Brackets: 95 % "
            "bootstrap interval over triggers.",
        ),
    )


def _row(name: str, cells: Sequence[Cell], rates: Sequence[float]) -> dict[str, Any]:
    row: dict[str, Any] = {"method": name}
    units = "span" if cells[0]["methods"][name]["words"][0] else "text"
    row["units"] = units
    for rate in rates:
        some = [cell for cell in cells if cell["rate"] == rate]
        row[f"planted {rate:.1%}"] = _mean(some, name, "planted")
        row[f"decoy {rate:.1%}"] = _mean(some, name, "decoy").mean
    for what in ("planted", "decoy", "row"):
        row[f"{what}, all rates"] = _mean(cells, name, what)
    return row


def _mean(cells: Sequence[Mapping[str, Any]], name: str, what: str) -> Any:
    values = [float(np.mean(cell["methods"][name][what])) for cell in cells]
    return bootstrap(values, groups=[cell["trigger"] for cell in cells])


def cell_table(cells: Sequence[Cell]) -> Table:
    """Every trigger and rate by itself: what the means are made of."""
    rows = [
        {
            "trigger": cell["trigger"],
            "kind": cell["kind"],
            "rate": f"{cell['rate']:.1%}",
            "seed": cell["seed"],
            "flipped": cell["flipped"],
            "tests": cell["tests"],
            **{name: float(np.mean(found["planted"])) for name, found in cell["methods"].items()},
        }
        for cell in cells
    ]
    return Table("planted_cells", "Planted-span precision by trigger and rate", rows)
