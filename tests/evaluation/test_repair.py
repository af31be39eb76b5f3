"""Looking at the rows that a list names: whose labels are put right, what is counted, and what the table says."""

from __future__ import annotations

from dataclasses import replace

import benches
import numpy as np
import pytest

from spanfluence import Example, Span, Unit
from spanfluence.evaluation.planted import LEARNED, faults, planted_part
from spanfluence.evaluation.repair import (
    TRUTH,
    first_rows,
    put_right,
    repair_cells,
    repair_table,
)
from spanfluence.metrics import Interval
from spanfluence.retrain import Retrainer
from spanfluence.scoring import Scored

LISTS = {*benches.METHODS, "random", "bm25, same label", "embedding, same label", TRUTH}


def test_every_list_is_followed_once(bench):
    cells = repair_cells(bench)
    [cell] = cells
    assert set(cell["lists"]) == LISTS
    assert cell["lists"][TRUTH]["found"] == 1
    for found in cell["lists"].values():
        assert all(0 <= value <= 1 for value in found.values())
    fits = bench.retrainer.fits
    # Lists that name the same planted rows share a training; one learns the fault.
    assert 1 < fits <= len(LISTS) + 1
    assert repair_cells(bench) == cells
    assert bench.retrainer.fits == fits


def test_the_largest_rate_is_asked_about(bench):
    sizes = replace(bench.sizes, rates=(0.025, 0.05))
    assert [cell["rate"] for cell in repair_cells(replace(bench, sizes=sizes))] == [0.05]


def test_all_planted_rows_put_right_are_the_set_without_wrong_labels(bench):
    part = planted_part(bench)
    [fault] = faults(part, part.sizes.rates)
    planted = fault.planted
    rows = range(len(planted.train))
    found = put_right(planted, rows)
    assert [example.label for example in found] == [example.label for example in part.train]
    assert [example.text for example in found] == [example.text for example in planted.train]
    assert put_right(planted, []) == planted.train
    decoy = planted.kinds.index("decoy")
    assert put_right(planted, [decoy]) == planted.train


def test_training_sees_the_rows_that_were_looked_at_put_right(bench, monkeypatch):
    seen: list[list[Unit]] = []
    original = Retrainer.logits

    def spy(self, units, tests, seed):
        seen.append(list(units))
        return original(self, units, tests, seed)

    monkeypatch.setattr(Retrainer, "logits", spy)
    repair_cells(bench)
    part = planted_part(bench)
    [fault] = faults(part, part.sizes.rates)
    wrong = fault.planted.kinds.count("planted")
    changed = [
        sum(u.example.label != e.label for u, e in zip(units, fault.planted.train, strict=True))
        for units in seen
    ]
    assert changed[-1] == wrong  # the truth comes last
    assert all(count <= wrong for count in changed)
    assert not any(unit.spans for units in seen for unit in units)


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


def test_the_first_rows_of_a_summed_list_are_told_once_each():
    train = [Example(f"text {n}", label="a", spans=(Span(0, 4), Span(5, 6))) for n in range(3)]
    units = [Unit(example, (span,)) for example in train for span in example.spans]
    scores = np.array([[3.0, 2.5, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.5, 0.0, 1.9, 0.0]])
    assert first_rows(Scored("m", units, scores), train, 2, 0) == [0, 2]
    assert first_rows(Scored("m", units, scores), train, 3, 0) == [0, 2, 1]


def made_cell(trigger: str, flipped: float, **left: float) -> dict:
    lists = {
        name: {"found": 0.5, "flipped": share, "accuracy": 0.8} for name, share in left.items()
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
    assert isinstance(own["rows found"], Interval)


def test_faults_that_nothing_learned_leave_the_table_empty(bench):
    cells = [
        made_cell("a", 0.0, pinpoint=0.2, **{"bm25, same label": 0.4, "embedding, same label": 0.3})
    ]
    assert {row["undone"] for row in repair_table(bench, cells).rows} == {None}
