"""The kinds of training that are timed differ in what they cache and tune, not in what they learn."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import tiny

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
import tail_cost


def test_only_the_first_kind_caches(tiny_folder):
    fits = tail_cost.fits_of(tiny.make_examples(6, seed=1), str(tiny_folder("bert")))
    cached, plain, whole = fits.values()
    cached.fill_states()
    losses = [fit.run_epoch(1) for fit in (cached, plain)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert cached.classifier.states.used_bytes > 0 == plain.classifier.states.used_bytes
    assert len(whole.classifier.attributed) > len(plain.classifier.attributed)
