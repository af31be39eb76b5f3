"""Faithfulness: rank correlation of lists with those of the final model alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spanfluence.errors import NumericsError
from spanfluence.evaluation.agreement import BRACKETS
from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.tables import Table, mean_percent, percent
from spanfluence.metrics import Faithfulness, Interval, bootstrap_variance, faithfulness
from spanfluence.points import DeltaFaithful
from spanfluence.scoring import Asked, Scored, method_row

TRUTH: dict[str, Asked] = {"faithful": {"method": "faithful"}}
ROWS = ("control", "tracin++", "if++")
REPEATED = ("tracin++", "if++")
"""What a new seed changes: delta-faithful points, or the order of LiSSA's instances."""
FURTHER_POINTS: Asked = {"method": "tracin++", "points": DeltaFaithful(optimizer="adamw")}
FURTHER = "tracin++ (adamw points)"
LISTS = ("gradient cosine", "pinpoint", "random", "bm25", "embedding")
"""What any method should beat, or be told apart from."""

NOTES = (
    "Var.: 100 times the variance of the correlation over tests, mean over repetitions. Distance: mean "
    f"Euclidean distance of a method's points from the final model. {BRACKETS}",
    "A method with curvature costs a solve for each test and repetition, so it is judged on the first tests "
    "only; the column 'tests' says how many stand behind a row.",
    "With SGD one step at the learning rate hardly moves the model, so 'tracin++' is close to the truth by "
    "construction; points one step of AdamW away, which is far longer, are a harder trial.",
)


@dataclass(frozen=True, eq=False)
class Repeated:
    """A method's correlations with the truth, one `Faithfulness` for each repetition."""

    name: str
    found: Sequence[Faithfulness]
    distances: tuple[float, ...] = ()

    @property
    def each(self) -> np.ndarray:
        """The value of each test, mean over repetitions."""
        return np.asarray(np.mean([one.each for one in self.found], axis=0))

    def variance(self, sentences: Sequence[str]) -> Interval:
        """Over tests, mean over repetitions; tests about one sentence are resampled together."""
        return bootstrap_variance(np.array([one.each for one in self.found]), groups=sentences)


def faithfulness_table(bench: Bench, found: Sequence[Repeated] | None = None) -> Table:
    """Mean and variance (x 100, as in the paper) over tests and repetitions."""
    found = correlations(bench) if found is None else found
    title = "Spearman correlation with the strictly faithful list, x 100"
    notes: tuple[str, ...] = NOTES
    if "tracin++" in bench.methods and FURTHER not in {each.name for each in found}:
        notes = (*notes, f"No row '{FURTHER}': its points lie too far from the model.")
    return Table("faithfulness", title, [_row(bench, each) for each in found], notes)


def correlations(bench: Bench) -> list[Repeated]:
    """Of every list over training spans. The lists of the first repetition are those of all tables."""
    plain = {n: a for n, a in bench.methods.items() if n in (*ROWS, *LISTS) and not _solved(a)}
    bench.fill({**plain, **TRUTH})  # at once: they share passes
    truth = bench.scores_of("faithful", TRUTH["faithful"]).scores
    found = [_repeated(bench, name, truth) for name in ROWS if name in bench.methods]
    if "tracin++" in bench.methods:
        found += _further(bench, truth)
    return found + [
        Repeated(scored.name, [faithfulness(scored.scores, truth)], scored.distances)
        for scored in _other_lists(bench)
    ]


def _repeated(bench: Bench, name: str, truth: np.ndarray) -> Repeated:
    asked = bench.methods[name]
    tests = bench.sizes.faithful_tests if _solved(asked) else len(bench.tests)
    part = replace(bench, tests=bench.tests[:tests], name="faithfulness")
    part = part if tests < len(bench.tests) else bench
    # A test's row does not depend on the other tests, so a longer list that is there already serves.
    lists = [(bench if bench.has(name, asked) else part).scores_of(name, asked)]
    if name in REPEATED:
        for number in range(1, bench.sizes.repetitions):
            lists.append(part.scores_of(name, asked, seed=bench.seed + number))
    found = [faithfulness(each.scores[:tests], truth[:tests]) for each in lists]
    return Repeated(name, found, tuple(d for each in lists for d in each.distances))


def _solved(asked: Asked) -> bool:
    return bool(asked.get("curvature", method_row(asked).curvature) != "identity")


def _further(bench: Bench, truth: np.ndarray) -> list[Repeated]:
    """tracin++ at points that are farther away; none where they are too far to be called faithful."""
    try:
        scored = bench.scores_of(FURTHER, FURTHER_POINTS)
    except NumericsError:
        return []
    return [Repeated(FURTHER, [faithfulness(scored.scores, truth)], scored.distances)]


def _other_lists(bench: Bench) -> list[Scored]:
    own = [bench.scores_of(name, bench.methods[name]) for name in LISTS if name in bench.methods]
    return own + [scored for scored in bench.baselines if scored.name in LISTS]


def _row(bench: Bench, each: Repeated) -> dict[str, Any]:
    values = each.each
    means = [one.mean for one in each.found]
    return {
        "method": each.name,
        "mean": mean_percent(values, bench.sentences),
        "var.": percent(each.variance(bench.sentences[: len(values)])),
        "sd over repetitions": 100 * float(np.std(means, ddof=1)) if len(means) > 1 else None,
        "repetitions": len(means),
        "tests": len(values),
        "distance": float(np.mean(each.distances)) if each.distances else None,
    }
