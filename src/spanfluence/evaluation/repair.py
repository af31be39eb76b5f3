"""Repair: the rows that a list names first are looked at, wrong labels put right, the model trained again.

A planted fault (`planted.py`) shows in tests that its trigger flips. A list is summed over the explained ones, and as many
of the rows that it names are looked at as there are planted ones: what a person would do with it. What is left of
the flips tells what that was worth: a retraining whose right answer is known, and large. (Masking the planted spans
instead would leave the decoys, which carry the phrase beside every label but that of the tests, and teach the same.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.planted import (
    LEARNED,
    Cell,
    Fault,
    explained,
    main_cells,
    measured,
)
from spanfluence.evaluation.tables import Table, counted
from spanfluence.metrics import Interval, bootstrap, ranking
from spanfluence.planting import Planted, triggered_tests, untriggered_tests
from spanfluence.retrain import accuracy
from spanfluence.scoring import BASELINES, SAME_LABEL, Scored
from spanfluence.units import Example, Unit

TRUTH = "the planted rows themselves"
SEARCHES = tuple(name + SAME_LABEL for name in ("bm25", "embedding"))
"""The best of the baselines. Each list costs a training: these and chance stand for all."""
LEFT_OUT = {name + end for name in BASELINES for end in ("", SAME_LABEL)} - {"random", *SEARCHES}


def repair_table(bench: Bench, cells: Sequence[Cell] | None = None) -> Table:
    """Share of the flips undone, and of tests still flipped, mean over the faults that were learned; intervals resample triggers."""
    cells = repair_cells(bench) if cells is None else cells
    learned = main_cells(cells)
    rows = [_row(name, learned) for name in cells[0]["lists"]]
    return Table(
        "repair",
        "Repair: what is left of a fault once wrong labels among the first rows of a list are put right and the model is "
        f"trained again ({counted(len(learned), 'learned fault')}, {counted(bench.sizes.planted_seeds, 'seed')})",
        rows,
        (
            "'flipped before', 'flipped after': share of all triggered tests that get the target label with the trigger and "
            "another one without it; 'undone': by how much the first share fell, as a part of it (below 0 where more are "
            "flipped than before). As many rows are looked at as are planted; wrong labels among them are put right, nothing "
            f"else is changed. '{TRUTH}': all of them.",
            "'rows found': share of the planted rows among those looked at. 'fewer than': flipped after looking at what the "
            "better search names, minus after looking at what this list names, in pairs. Brackets: 95 % bootstrap interval "
            f"over triggers. Of {len(cells)} faults {len(cells) - len(learned)} flipped fewer than {LEARNED:.0%} of the "
            f"tests: not learned, left out. {cells[0]['course']}.",
        ),
    )


def repair_cells(bench: Bench) -> list[Cell]:
    """One result for every trigger and seed at the largest rate."""
    return measured(bench, "repair", _cell, [max(bench.sizes.rates)])


def _cell(bench: Bench, fault: Fault) -> Cell:
    planted = fault.planted
    chosen, lists = explained(bench, fault, fault.model(bench))
    wrong = [row for row, kind in enumerate(planted.kinds) if kind == "planted"]
    named = {
        scored.name: first_rows(scored, planted.train, len(wrong), fault.seed)
        for scored in lists
        if scored.name not in LEFT_OUT
    }
    named[TRUTH] = wrong
    found = {
        name: {"found": len({*rows} & {*wrong}) / len(wrong), **_trained(bench, fault, rows)}
        for name, rows in bench.each(f"repair, {fault.name}", list(named.items()))
    }
    course = bench.retrainer.for_rows(len(planted.train)).course
    return {**fault.facts(), "flipped": chosen.share, "course": course, "lists": found}


def first_rows(scored: Scored, train: Sequence[Example], count: int, seed: int) -> list[int]:
    """The rows of the first units of a list that is summed over its tests, each once."""
    order = ranking(scored.scores.sum(axis=0)[None], seed=seed)[0]
    return list(dict.fromkeys(scored.owners(train)[order].tolist()))[:count]


def put_right(planted: Planted, rows: Collection[int]) -> list[Example]:
    """The training set after somebody has looked at these rows: the planted ones have their own label again."""
    found = list(planted.train)
    for row in rows:
        if planted.kinds[row] == "planted":
            found[row] = replace(found[row], label=planted.source)
    return found


def _trained(bench: Bench, fault: Fault, rows: Collection[int]) -> dict[str, float]:
    """What a model says that was trained after these rows were looked at."""
    planted = fault.planted
    before = untriggered_tests(bench.held_out, planted)
    after = triggered_tests(bench.held_out, planted)
    retrainer = bench.retrainer.for_rows(len(planted.train))
    units = [Unit(example) for example in put_right(planted, rows)]
    logits = retrainer.logits(units, [*before, *after, *bench.held_out], fault.seed)
    says = logits.argmax(axis=1) == bench.classifier.label_id(planted.target)
    without, with_trigger = says[: len(before)], says[len(before) :][: len(after)]
    right = accuracy(logits[len(before) + len(after) :], bench.labels(bench.held_out))
    return {"flipped": float(np.mean(with_trigger & ~without)), "accuracy": right}


def _row(name: str, cells: Sequence[Cell]) -> dict[str, Any]:
    best = min(SEARCHES, key=lambda search: np.mean(_values(cells, search, "flipped") or [0.0]))
    left = _values(cells, name, "flipped")
    undone = [1 - after / cell["flipped"] for after, cell in zip(left, cells, strict=True)]
    fewer = [base - own for base, own in zip(_values(cells, best, "flipped"), left, strict=True)]
    return {
        "method": name,
        "undone": _mean(cells, undone),
        "flipped before": _mean(cells, [cell["flipped"] for cell in cells]),
        "flipped after": _mean(cells, left),
        f"fewer than {best}": _mean(cells, fewer),
        "rows found": _mean(cells, _values(cells, name, "found")),
        "held-out accuracy": _mean(cells, _values(cells, name, "accuracy")),
    }


def _values(cells: Sequence[Mapping[str, Any]], name: str, what: str) -> list[float]:
    return [cell["lists"][name][what] for cell in cells]


def _mean(cells: Sequence[Cell], values: Sequence[float]) -> Interval | None:
    triggers = [cell["trigger"] for cell in cells]
    return bootstrap(values, groups=triggers) if values else None
