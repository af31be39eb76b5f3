"""One tiny run for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import benches
import pytest


@pytest.fixture(scope="session")
def evaluated_run(tiny_folder, tmp_path_factory) -> Path:
    return benches.make_run(tiny_folder("bert"), tmp_path_factory.mktemp("evaluated") / "run")


@pytest.fixture
def bench(evaluated_run, tmp_path):
    return benches.make_bench(evaluated_run, tmp_path / "out")
