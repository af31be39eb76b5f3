"""Sanity checks that a useful explanation must pass, whatever else it shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from spanfluence.evaluation.bench import Bench, draw
from spanfluence.evaluation.tables import Table
from spanfluence.metrics import agreement, bootstrap, faithfulness, lag, ranking
from spanfluence.points import ModelPoint
from spanfluence.rng import derive_seed
from spanfluence.scoring import Scored, all_scores
from spanfluence.units import Example

TESTS = 20


def sanity_table(bench: Bench) -> Table:
    """Randomised model, same example, identical class.

    *Randomised model*: Spearman with the list of a model whose attributed parameters are drawn anew; a
    list that stays the same did not come from what was learned. *Same example*: a training example
    explained by the training set should find itself at the top. *Identical class*: the first unit
    should have the test's label.
    """
    own = draw([e for e in bench.train if e.spans], TESTS, bench.seed, "sanity tests")
    tests = [replace(example, spans=example.spans[:1]) for example in own]
    part = replace(bench, tests=tests, name="sanity/scores")
    rows = [_row(part, own, scored) for scored in part.scored]
    return Table(
        "sanity",
        f"Sanity checks, {len(tests)} training rows as tests",
        rows,
        (
            "Spearman with a randomised model should be near 0 (baselines do not use the model: 1 by "
            "nature, left out). 'itself first' and 'itself in 10' should be near 1.",
        ),
    )


def _row(part: Bench, own: list[Example], scored: Scored) -> dict[str, Any]:
    order = ranking(scored.scores, seed=part.seed)
    ids = np.array([id(unit.example) for unit in scored.units])
    hits = np.stack([ids[row] == id(example) for row, example in zip(order, own, strict=True)])
    labels = agreement([t.label for t in part.tests], [u.example.label for u in scored.units])
    random = None
    if scored.name in part.methods:
        other = _randomised(part, scored.name)
        random = bootstrap(faithfulness(scored.scores, other.scores).each)
    return {
        "method": scored.name,
        "Spearman with a randomised model": random,
        "itself first": bootstrap(hits[:, 0].astype(float)),
        "itself in 10": bootstrap(hits[:, :10].any(axis=1).astype(float)),
        "first of the same class": bootstrap(lag(order, labels, 1)),
    }


def _randomised(part: Bench, name: str) -> Scored:
    """The method's list at attributed parameters of the same scale but drawn anew."""
    generator = torch.Generator().manual_seed(derive_seed(part.seed, "randomised model"))
    values = {
        key: parameter.detach().cpu().mean()
        + parameter.detach().cpu().std(correction=0)
        * torch.randn(parameter.shape, generator=generator)
        for key, parameter in part.classifier.attributed.items()
    }
    asked = {**part.methods[name], "points": [ModelPoint("randomised", 1.0, values)]}
    (scored,) = all_scores(part.classifier, part.train, part.tests, {name: asked}, seed=part.seed)
    return scored
