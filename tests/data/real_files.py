"""Finds the published data sets for tests; they are no part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def real_folder(name: str) -> Path:
    """The folder `name` (mams, sentihood, tracinf_release) of the real data, or skip the test."""
    chosen = os.environ.get("SPANFLUENCE_DATA")
    root = Path(chosen) if chosen else REPOSITORY.parent / "shared" / "data"
    folder = root / name
    if not folder.is_dir():
        where = f"SPANFLUENCE_DATA={chosen}" if chosen else "../shared/data"
        how = f"`spanfluence data fetch {name} --to DIR/{name}`"
        if name == "tracinf_release":
            how = "copy the folder dataset/ of github.com/IBM/TracInF to DIR/tracinf_release"
        pytest.skip(f"no folder {name!r} in {where}: {how}; then set SPANFLUENCE_DATA=DIR")
    return folder
