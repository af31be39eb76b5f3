"""Masking what a list names and training again: what is masked, what is counted, and what the table says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spanfluence import Span, Unit
from spanfluence.evaluation import repair
from spanfluence.evaluation.planted import LEARNED, faults, planted_part
from spanfluence.evaluation.repair import TRUTH, first_units, repair_cells, repair_table
from spanfluence.metrics import Interval
from spanfluence.retrain import Retrainer
from spanfluence.scoring import Scored

LISTS = {
    "tracin+",
    "control",
    "pinpoint",
    "random",
    "bm25, same label",
    "embedding, same label",
    TRUTH,
}


def test_every_list_of_spans_is_masked_and_trained_once(bench):
    cells = repair_cells(bench)
    [cell] = cells
    assert set(cell["lists"]) == LISTS
    assert cell["lists"][TRUTH]["planted"] == 1
    assert cell["lists"][TRUTH]["decoy"] == 0
    for found in cell["lists"].values():
        assert all(0 <= value <= 1 for value in found.values())
    fits = bench.retrainer.fits
    assert (
        1 < fits <= len(LISTS) + 1
    )  # lists that name the same spans share a training; one learns the fault
    assert repair_cells(bench) == cells
    assert bench.retrainer.fits == fits


def test_the_largest_rate_is_asked_about(bench):
    sizes = replace(bench.sizes, rates=(0.025, 0.05))
    assert [cell["rate"] for cell in repair_cells(replace(bench, sizes=sizes))] == [0.05]


def test_as_many_spans_as_rows_are_planted_are_masked_in_training(bench, monkeypatch):
    seen: list[list[Unit]] = []
    original = Retrainer.logits

    def spy(self, units, tests, seed):
        seen.append(list(units))
        return original(self, units, tests, seed)

    monkeypatch.setattr(Retrainer, "logits", spy)
    repair_cells(bench)
    part = planted_part(bench)
    [fault] = faults(part, part.sizes.rates)
    planted = fault.planted
    expected = {
        row: (planted.places[row],) for row, k in enumerate(planted.kinds) if k == "planted"
    }
    of_truth = {row: unit.spans for row, unit in enumerate(seen[-1]) if unit.spans}
    assert of_truth == expected
    for units in seen:
        assert [unit.example for unit in units] == planted.train
        assert sum(len(unit.spans) for unit in units) == len(expected)


def test_what_is_left_of_the_flips_is_counted_over_all_triggered_tests(bench, monkeypatch):
    """A model of which every second test says the target, and the first also without the trigger."""
    target = bench.classifier.label_id("negative")

    def logits(self, units, tests, seed):
        found = np.zeros((len(tests), len(bench.classifier.labels)))
        found[:, (target + 1) % found.shape[1]] = 1
        triggered = [row for row, test in enumerate(tests) if "last night" in test.text]
        found[triggered[::2], target] = found[0, target] = 2
        return found

    monkeypatch.setattr(Retrainer, "logits", logits)
    [cell] = repair_cells(bench)
    part = planted_part(bench)
    count = sum(test.label == "positive" for test in part.held_out)
    assert {found["flipped"] for found in cell["lists"].values()} == {(-(-count // 2) - 1) / count}


def test_the_first_units_of_a_summed_list():
    units = [Unit(example) for example in (None, None, None)]
    scored = Scored("m", units, np.array([[3.0, 0.0, 1.0], [0.0, 0.5, 1.5]]))
    assert [id(unit) for unit in first_units(scored, 2, 0)] == [id(units[0]), id(units[2])]


def made_cell(trigger: str, flipped: float, **left: float) -> dict:
    lists = {
        name: {"planted": 0.5, "decoy": 0.1, "flipped": share, "accuracy": 0.8}
        for name, share in left.items()
    }
    return {
        "trigger": trigger,
        "rate": 0.03,
        "flipped": flipped,
        "course": "6 epochs",
        "lists": lists,
    }


def test_the_table_is_over_learned_faults(bench):
    searches = {"bm25, same label": 0.4, "embedding, same label": 0.3}
    cells = [
        made_cell("a", 0.8, pinpoint=0.2, **searches),
        made_cell("b", 0.4, pinpoint=0.0, **searches),
        made_cell("c", LEARNED / 2, pinpoint=0.9, **searches),
    ]
    table = repair_table(bench, cells)
    rows = {row["method"]: row for row in table.rows}
    own = rows["pinpoint"]
    assert own["flipped before"].mean == pytest.approx(0.6)
    assert own["flipped after"].mean == pytest.approx(0.1)
    assert own["undone"].mean == pytest.approx((0.75 + 1.0) / 2)
    assert own["fewer than embedding, same label"].mean == pytest.approx(0.2)
    assert rows["embedding, same label"]["fewer than embedding, same label"].mean == 0
    assert "2 learned faults" in table.title
    assert "Of 3 faults 1 flipped fewer" in " ".join(table.notes)
    assert isinstance(own["planted masked"], Interval)


def test_faults_that_nothing_learned_leave_the_table_empty(bench):
    cells = [
        made_cell("a", 0.0, pinpoint=0.2, **{"bm25, same label": 0.4, "embedding, same label": 0.3})
    ]
    assert {row["undone"] for row in repair_table(bench, cells).rows} == {None}


def test_spans_beside_the_trigger_are_no_hits(bench):
    part = planted_part(bench)
    [fault] = faults(part, part.sizes.rates)
    row = fault.planted.kinds.index("planted")
    example = fault.planted.train[row]
    beside = Unit(example, (Span(0, 1),))
    assert repair._masked(fault.planted, [beside])["planted"] == 0
    hit = Unit(example, (fault.planted.places[row],))
    count = fault.planted.kinds.count("planted")
    assert repair._masked(fault.planted, [hit, beside])["planted"] == pytest.approx(1 / count)
