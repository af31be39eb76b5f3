"""Double precision stays off the devices, some of which have none."""

from __future__ import annotations

from pathlib import Path

import torch

import spanfluence
from spanfluence.precise import precise


def test_the_same_numbers_in_double_precision_on_the_cpu():
    found = precise(torch.tensor([0.1, 3.0]))
    assert found.dtype == torch.float64
    assert found.device.type == "cpu"
    assert found.tolist() == [float(torch.tensor(0.1)), 3.0]


def test_nothing_else_widens_tensors():
    """Apple's devices raise at `.double()`, and there is none here to try it on."""
    package = Path(spanfluence.__file__).parent
    asking = [file.name for file in package.rglob("*.py") if ".double()" in file.read_text("utf-8")]
    assert asking == ["precise.py"]
