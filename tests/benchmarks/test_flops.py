"""Counted work is what torch counts of the same passes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from spanfluence import Example, TextClassifier
from spanfluence.capture import Capture
from spanfluence.one_query import attend_for_logits

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import flops


@pytest.fixture(scope="module")
def classifier(tiny_folder) -> TextClassifier:
    return TextClassifier.load(tiny_folder("bert"))


def test_the_trunk_and_the_tail_are_what_torch_counts(classifier):
    config = classifier.model.config
    layers = flops.linears(classifier)
    sizes = config.hidden_size, config.num_attention_heads
    (encoded,) = classifier.encoder.encode([Example("a b c d e f g h")])
    inputs = classifier.encoder.collate([encoded], "cpu")
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        states = classifier.trunk.states(inputs)
    assert counted.get_total_flops() == flops.trunk_flops(layers, sizes[0], len(encoded))
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        classifier.tail_logits(inputs, states, attend_for_logits)
    assert counted.get_total_flops() == flops.forward_flops(layers, *sizes, len(encoded))
    capture = Capture(classifier)
    with FlopCounterMode(display=False) as counted:
        capture.objectives(inputs, states, lambda logits: [logits[:, 0]])
    both = [
        way(layers, *sizes, len(encoded)) for way in (flops.forward_flops, flops.backward_flops)
    ]
    assert counted.get_total_flops() == sum(both)
