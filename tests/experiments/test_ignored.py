"""Results stand in git; the models and texts that lie beside them must not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("mams/run/train.jsonl", True),
        ("mams/spans/test.jsonl", True),
        ("mams-beyond/stages/scores/pinpoint/arrays.npz", True),
        ("mams-beyond/retrained/x.json", True),
        ("mams/REPORT.md", False),
        ("mams/tables/agreement.csv", False),
        ("mams/figures/curves.png", False),
    ],
)
def test_models_and_texts_stay_out_of_git(path, ignored):
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "check-ignore", "--quiet", f"experiments/results/{path}"]
    assert (subprocess.run(command, cwd=ROOT, check=False).returncode == 0) == ignored
