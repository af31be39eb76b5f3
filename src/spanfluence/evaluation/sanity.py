"""Sanity checks that a useful explanation must pass, whatever else it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from spanfluence.errors import NumericsError
from spanfluence.evaluation.bench import Bench, draw
from spanfluence.evaluation.tables import Table
from spanfluence.methods import method_named
from spanfluence.metrics import agreement, bootstrap, faithfulness, lag, ranking
from spanfluence.points import ModelPoint
from spanfluence.rng import derive_seed
from spanfluence.scoring import Asked, Scored, all_scores
from spanfluence.units import Example

TESTS = 20


def sanity_table(bench: Bench) -> Table:
    """Randomised model, same example, identical class.

    *Randomised model*: Spearman with the list of a model whose attributed parameters are drawn anew; a
    list that stays the same did not come from what was learned. *Same example*: a training example
    explained by the training set should find itself at the top; a row of the same text, context and
    label is itself. *Identical class*: the first unit of any other row should have the test's label.
    """
    own = draw([e for e in bench.train if e.spans], TESTS, bench.seed, "sanity tests")
    tests = [replace(example, spans=example.spans[:1]) for example in own]
    part = replace(bench, tests=tests, name="sanity/scores")
    lists = part.scored
    randomised = _randomised(part)
    rows = [_row(part, scored, randomised.get(scored.name)) for scored in lists]
    missing = [name for name in part.methods if name not in randomised]
    note = (
        f" No list at randomised parameters (it diverged): {', '.join(missing)}." if missing else ""
    )
    return Table(
        "sanity",
        f"Sanity checks, {len(tests)} training rows as tests",
        rows,
        (
            "Spearman with a randomised model should be near 0 (baselines do not use the model: 1 by "
            "nature, left out). 'itself first' and 'itself in 10' should be near 1; rows of the same "
            "text, context and label count as itself, and are left out for 'first of the same class'."
            + note,
        ),
    )


def _row(part: Bench, scored: Scored, random: np.ndarray | None) -> dict[str, Any]:
    itself = same_rows(part.tests, [unit.example for unit in scored.units])
    order = ranking(scored.scores, seed=part.seed)
    hits = np.take_along_axis(itself, order, axis=1)
    others = ranking(np.where(itself, -np.inf, scored.scores), seed=part.seed)
    labels = agreement([t.label for t in part.tests], [u.example.label for u in scored.units])
    spearman = None
    if random is not None:
        spearman = bootstrap(faithfulness(scored.scores, random).each)
    return {
        "method": scored.name,
        "Spearman with a randomised model": spearman,
        "itself first": bootstrap(hits[:, 0].astype(float)),
        "itself in 10": bootstrap(hits[:, :10].any(axis=1).astype(float)),
        "first of the same class": bootstrap(lag(others, labels, 1)),
    }


def same_rows(tests: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
    """Which examples are each test itself or its exact twin (tests, examples)."""
    twins: dict[tuple[Any, ...], list[int]] = {}
    for place, example in enumerate(examples):
        twins.setdefault(_content(example), []).append(place)
    found = np.zeros((len(tests), len(examples)), dtype=bool)
    for row, test in enumerate(tests):
        found[row, twins.get(_content(test), [])] = True
    return found


def _content(example: Example) -> tuple[Any, ...]:
    return example.text, example.context, str(example.label)


def _randomised(part: Bench) -> dict[str, np.ndarray]:
    """Scores of the methods at attributed parameters of the same scale but drawn anew; a stage."""
    asked = {name: dict(own) for name, own in part.methods.items()}
    settings = part.settings(randomised=asked)
    return part.stages.arrays("sanity/randomised", settings, lambda: _random_scores(part))


def _random_scores(part: Bench) -> dict[str, np.ndarray]:
    """All methods in one call, LiSSA apart: at random parameters it may diverge, and is then left out."""
    points = [ModelPoint("randomised", 1.0, _random_values(part))]
    asked = {name: {**own, "points": points} for name, own in part.methods.items()}
    shaky = {name: own for name, own in asked.items() if _by_lissa(own)}
    found = _scores(part, {name: own for name, own in asked.items() if name not in shaky})
    for name, own in shaky.items():
        try:
            found |= _scores(part, {name: own})
        except NumericsError as error:
            part.stages.say(f"sanity: {name} at randomised parameters: {error}")
    return found


def _by_lissa(asked: Asked) -> bool:
    row = method_named(asked.get("method", "pinpoint"))
    return bool(asked.get("curvature", row.curvature) == "lissa")


def _scores(part: Bench, asked: dict[str, Asked]) -> dict[str, np.ndarray]:
    options: dict[str, Any] = {"seed": part.seed, "memory_bytes": part.memory_bytes}
    lists = all_scores(part.classifier, part.train, part.tests, asked, **options)
    return {scored.name: scored.scores for scored in lists}


def _random_values(part: Bench) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(derive_seed(part.seed, "randomised model"))
    return {
        key: parameter.detach().cpu().mean()
        + parameter.detach().cpu().std(correction=0)
        * torch.randn(parameter.shape, generator=generator)
        for key, parameter in part.classifier.attributed.items()
    }
