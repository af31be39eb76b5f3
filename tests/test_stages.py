"""Stages are computed once for their settings, appear whole, and say what they took."""

from __future__ import annotations

import json

import numpy as np
import pytest

from spanfluence.errors import InputError
from spanfluence.stages import Stages


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def stages(tmp_path, said) -> Stages:
    return Stages(tmp_path, say=said.append)


def test_a_stage_is_computed_once(stages, said):
    calls = []
    for _ in range(2):
        found = stages.values("a/b", {"k": 1}, lambda: calls.append(1) or {"x": [1, 2]})
        assert found == {"x": [1, 2]}
    assert calls == [1]
    assert said[0] == "a/b ..."
    assert len(said) == 2


def test_other_settings_compute_it_again(stages):
    assert stages.values("a", {"k": 1}, lambda: 1) == 1
    assert stages.values("a", {"k": 2}, lambda: 2) == 2
    assert stages.values("a", {"k": 2}, lambda: 3) == 2


def test_results_of_an_older_format_are_computed_again(stages, tmp_path, monkeypatch):
    stages.values("a", {"k": 1}, lambda: 1)
    assert set(stages.all_seconds()) == {"a"}
    monkeypatch.setattr("spanfluence.stages.FORMAT", 1000)
    assert stages.all_seconds() == {}
    assert stages.values("a", {"k": 1}, lambda: 2) == 2


def test_times_of_all_calls_are_gathered(stages, tmp_path):
    stages.values("a/b", {}, lambda: 1)
    later = Stages(tmp_path, say=print)
    later.values("c", {}, lambda: 1)
    assert set(later.seconds) == {"c"}
    assert set(later.all_seconds()) == {"a/b", "c"}


def test_arrays_come_back_as_they_were(stages):
    stages.arrays("m", {}, lambda: {"s": np.eye(2, dtype=np.float32)})
    found = stages.arrays("m", {}, dict)
    assert found["s"].dtype == np.float32
    assert found["s"].tolist() == [[1, 0], [0, 1]]


def test_a_stage_that_failed_left_nothing(stages, tmp_path):
    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stages.values("a", {}, fail)
    assert list((tmp_path / "stages").iterdir()) == []
    assert stages.values("a", {}, lambda: "done") == "done"


def test_the_record_names_settings_versions_and_time(stages, tmp_path):
    stages.values("a", {"k": 1}, lambda: 0)
    record = json.loads((tmp_path / "stages" / "a" / "stage.json").read_text())
    assert record["settings"] == {"k": 1}
    assert record["seconds"] == stages.seconds["a"] >= 0
    assert "torch" in record["versions"]


def test_a_damaged_record_counts_as_none(stages, tmp_path):
    stages.values("a", {}, lambda: 1)
    (tmp_path / "stages" / "a" / "stage.json").write_text("{")
    assert stages.values("a", {}, lambda: 2) == 2


@pytest.mark.parametrize("name", ["", "../x", "a//b"])
def test_names_that_lead_elsewhere(stages, name):
    with pytest.raises(InputError, match="not the name of a stage"):
        stages.values(name, {}, int)
