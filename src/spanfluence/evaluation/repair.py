"""Repair: the spans that a list names first are masked, and the model is trained again. Is the fault gone?

A planted fault (`planted.py`) shows in tests that its trigger flips. A list is summed over the explained ones, and as many
of its first spans are masked as there are planted rows, which keep their wrong labels. What is left of the flips
tells whether those words taught them: a retraining whose right answer is known, and large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.planted import (
    LEARNED,
    Cell,
    Fault,
    explained,
    faults,
    main_cells,
    planted_part,
)
from spanfluence.evaluation.span_removal import masks
from spanfluence.evaluation.tables import Table, counted
from spanfluence.metrics import Interval, bootstrap, ranking
from spanfluence.planting import Planted, triggered_tests, untriggered_tests
from spanfluence.retrain import accuracy
from spanfluence.scoring import BASELINES, SAME_LABEL, Scored
from spanfluence.units import Example, Unit

TRUTH = "the planted spans themselves"
LEFT_OUT = {name for name in BASELINES if name != "random"} | {
    f"{name}{SAME_LABEL}" for name in ("random", "overlap")
}
"""Each list costs a training: chance, and searches that are told the label (without it they find less), stand for all."""


def repair_table(bench: Bench, cells: Sequence[Cell] | None = None) -> Table:
    """Share of tests that are still flipped, mean over the faults that were learned; intervals resample triggers."""
    cells = repair_cells(bench) if cells is None else cells
    learned = main_cells(cells)
    rows = [_row(name, learned) for name in cells[0]["lists"]]
    return Table(
        "repair",
        f"Repair: flipped tests after masking the first spans of a list and training again "
        f"({counted(len(learned), 'learned fault')}, {counted(bench.sizes.planted_seeds, 'seed')})",
        rows,
        (
            "'flipped before', 'flipped after': share of all triggered tests that get the target label with "
            "the trigger and another one without it; 'undone': by how much the first share fell, as a part of it "
            "(below 0 where more are flipped than before). As many spans are masked as rows are planted, and these rows "
            f"keep their wrong labels. '{TRUTH}': all of them, and nothing else; what it leaves is owed to the wrong "
            "labels, and to the phrase itself.",
            "'planted masked': share of the planted triggers among what is masked; 'decoys masked': of the decoys. 'fewer than': "
            "flipped after masking by the best search, minus after masking by this list, in pairs. Brackets: 95 % bootstrap "
            f"interval over triggers. Of {len(cells)} faults {len(cells) - len(learned)} flipped fewer than "
            f"{LEARNED:.0%} of the tests: not learned, left out. {cells[0]['course']}.",
        ),
    )


def repair_cells(bench: Bench) -> list[Cell]:
    """One result for every trigger and seed at the largest rate; each is a stage."""
    part = planted_part(bench)
    return [
        part.stages.values(
            fault.stage(part, "repair"), fault.settings(part), partial(_cell, part, fault)
        )
        for fault in faults(part, [max(part.sizes.rates)])
    ]


def _cell(bench: Bench, fault: Fault) -> Cell:
    planted = fault.planted
    chosen, lists = explained(bench, fault, fault.model(bench))
    asked = [scored for scored in lists if scored.span_units and scored.name not in LEFT_OUT]
    count = planted.kinds.count("planted")
    named = {scored.name: first_units(scored, count, fault.seed) for scored in asked}
    named[TRUTH] = planted_units(planted)
    found = {
        name: {**_masked(planted, units), **_trained(bench, fault, units)}
        for name, units in bench.each(f"repair, {fault.name}", list(named.items()))
    }
    course = bench.retrainer.for_rows(len(planted.train)).course
    return {**fault.facts(), "flipped": chosen.share, "course": course, "lists": found}


def first_units(scored: Scored, count: int, seed: int) -> list[Unit]:
    """The first units of a list that is summed over its tests."""
    order = ranking(scored.scores.sum(axis=0)[None], seed=seed)[0]
    return [scored.units[index] for index in order[:count]]


def planted_units(planted: Planted) -> list[Unit]:
    """The triggers of the planted rows."""
    return [
        Unit(planted.train[row], (planted.places[row],))
        for row, kind in enumerate(planted.kinds)
        if kind == "planted"
    ]


def _masked(planted: Planted, units: Sequence[Unit]) -> dict[str, float]:
    """Shares of the planted and of the decoy triggers among some units."""
    own = {(id(unit.example), span) for unit in units for span in unit.spans}

    def share(kind: str) -> float:
        rows = [row for row, each in enumerate(planted.kinds) if each == kind]
        hits = sum((id(planted.train[row]), planted.places[row]) in own for row in rows)
        return hits / max(1, len(rows))

    return {"planted": share("planted"), "decoy": share("decoy")}


def _trained(bench: Bench, fault: Fault, units: Sequence[Unit]) -> dict[str, float]:
    """What a model says that was trained with these units masked."""
    planted = fault.planted
    hidden = {key: spans for key, (_, spans) in masks(units, range(len(units))).items()}
    texts = [Unit(example, hidden.get(id(example), ())) for example in planted.train]
    before: list[Example] = untriggered_tests(bench.held_out, planted)
    after = triggered_tests(bench.held_out, planted)
    retrainer = bench.retrainer.for_rows(len(planted.train))
    logits = retrainer.logits(texts, [*before, *after, *bench.held_out], fault.seed)
    says = logits.argmax(axis=1) == bench.classifier.label_id(planted.target)
    without, with_trigger = says[: len(before)], says[len(before) :][: len(after)]
    right = accuracy(logits[len(before) + len(after) :], bench.labels(bench.held_out))
    return {"flipped": float(np.mean(with_trigger & ~without)), "accuracy": right}


def _row(name: str, cells: Sequence[Cell]) -> dict[str, Any]:
    best = _best(cells)
    left = _values(cells, name, "flipped")
    undone = [1 - after / cell["flipped"] for after, cell in zip(left, cells, strict=True)]
    fewer = [base - own for base, own in zip(_values(cells, best, "flipped"), left, strict=True)]
    return {
        "method": name,
        "undone": _mean(cells, undone),
        "flipped before": _mean(cells, [cell["flipped"] for cell in cells]),
        "flipped after": _mean(cells, left),
        f"fewer than {best}": _mean(cells, fewer),
        "planted masked": _mean(cells, _values(cells, name, "planted")),
        "decoys masked": _mean(cells, _values(cells, name, "decoy")),
        "held-out accuracy": _mean(cells, _values(cells, name, "accuracy")),
    }


def _best(cells: Sequence[Cell]) -> str:
    """The search by words or embeddings that leaves the fewest flips."""
    names = [f"{name}{SAME_LABEL}" for name in BASELINES if f"{name}{SAME_LABEL}" not in LEFT_OUT]
    return min(names, key=lambda name: np.mean(_values(cells, name, "flipped") or [0.0]))


def _values(cells: Sequence[Mapping[str, Any]], name: str, what: str) -> list[float]:
    return [cell["lists"][name][what] for cell in cells]


def _mean(cells: Sequence[Cell], values: Sequence[float]) -> Interval | None:
    triggers = [cell["trigger"] for cell in cells]
    return bootstrap(values, groups=triggers) if values else None
