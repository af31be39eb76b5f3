"""Score matrices of many methods and baselines for the same tests, in one shape.

A method is asked for by a mapping: `{"method": "faithful", "scale": "cosine"}`, a row of the table and any
keywords of `Explainer`; without a method, what `Explainer` takes without one. `all_scores` is the one place
where methods are run for evaluations; those that share their points run in one pass over the training set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int

from spanfluence import baselines
from spanfluence.baselines import Embedder
from spanfluence.errors import InputError
from spanfluence.explain import Explainer
from spanfluence.jobs import SideKey, bytes_per_test
from spanfluence.methods import CHOICES, Method, starting_row
from spanfluence.metrics import Matrix
from spanfluence.model import LabelChoice, TextClassifier
from spanfluence.points import ModelPoint
from spanfluence.progress import progress_bar
from spanfluence.together import scores_together
from spanfluence.units import Example, Unit, units_of

Asked = Mapping[str, Any]

GRADIENT_COSINE: dict[str, Any] = {"method": "faithful", "scale": "cosine"}
GRADIENT_DOT: dict[str, Any] = {"method": "tracinf", "points": "final"}
"""Whole texts at the final model: what other libraries call so."""
PAPER_METHODS: dict[str, dict[str, Any]] = {
    name: {"method": name}
    for name in ("if", "if+", "if++", "tracin", "tracinf", "tracin+", "tracin++", "control")
}
DEFAULT_METHODS: dict[str, dict[str, Any]] = {
    **PAPER_METHODS,
    "pinpoint": {"method": "pinpoint"},
    "gradient cosine": GRADIENT_COSINE,
}
KNOWN_METHODS: dict[str, dict[str, Any]] = {
    **DEFAULT_METHODS,
    "tracepoint": {"method": "tracepoint"},
    "faithful": {"method": "faithful"},
    "gradient dot": GRADIENT_DOT,
}
"""What can be asked for by name: the last ones only if they are."""
MEMORY = 4 << 30
"""Bytes for the gradients of tests; more than fit are taken in several passes over the training set."""
BASELINES = ("random", "overlap", "bm25", "embedding")
SAME_LABEL = ", same label"
"""Suffix of a baseline that lists units of the test's label before all others."""


@dataclass(frozen=True, eq=False)
class Scored:
    """The list of one method for every test; positive supports the test."""

    name: str
    units: Sequence[Unit]
    scores: Matrix
    paper_sign: int = 1
    """-1 where the paper's numbers are those of the opposite end of the list."""
    seconds: float = 0.0
    """Its share of the time of its pass."""
    distances: tuple[float, ...] = ()
    """Of its points from the final model."""

    @property
    def span_units(self) -> bool:
        """Whether the units are spans, at least where the examples have any."""
        return any(unit.spans for unit in self.units)

    def owners(self, train: Sequence[Example]) -> Int[np.ndarray, " units"]:
        """The row of the training set that each unit belongs to."""
        row_of = {id(example): row for row, example in enumerate(train)}
        return np.array([row_of[id(unit.example)] for unit in self.units])


def check_tests(tests: Sequence[Example]) -> None:
    """Raise unless every test has a label and a span, which every table here needs."""
    if not tests:
        raise InputError("there are no tests: give at least one example with a label and a span")
    for test in tests:
        if test.label is None:
            raise InputError(f"test {test.id!r} has no label: evaluations need the right answer")
        if not test.spans:
            raise InputError(
                f"test {test.id!r} has no spans: annotate the tests first ('spanfluence spans'), "
                "or leave it out"
            )


def explainer_for(
    classifier: TextClassifier,
    train: Sequence[Example],
    asked: Asked,
    *,
    label: LabelChoice = "given",
    seed: int = 0,
    checkpoints: Sequence[ModelPoint] | None = None,
    memory_bytes: int = MEMORY,
) -> Explainer:
    """An explainer for what is asked; `checkpoints` stand in for those of a run folder."""
    options = _options(asked, label=label, seed=seed, checkpoints=checkpoints)
    return Explainer(classifier, train, **{"memory_bytes": memory_bytes, **options})


def _options(
    asked: Asked, *, label: LabelChoice, seed: int, checkpoints: Sequence[ModelPoint] | None
) -> dict[str, Any]:
    """What is asked as keywords of `Explainer`."""
    options: dict[str, Any] = {"seed": seed, "label": label, **asked}
    row = starting_row(asked.get("method"), asked)
    if checkpoints and options.get("points", row.points) == "checkpoints":
        options["points"] = list(checkpoints)
    return options


def all_scores(
    classifier: TextClassifier,
    train: Sequence[Example],
    tests: Sequence[Example],
    methods: Mapping[str, Asked],
    *,
    label: LabelChoice = "given",
    seed: int = 0,
    checkpoints: Sequence[ModelPoint] | None = None,
    memory_bytes: int = MEMORY,
    show: bool = False,
) -> Iterator[Scored]:
    """The lists of all methods, yielded pass by pass over the training set, so that they can be kept."""
    options: dict[str, Any] = {"label": label, "seed": seed, "checkpoints": checkpoints}
    for names in passes(classifier, methods, len(tests), memory_bytes):
        start = time.perf_counter()
        first = explainer_for(
            classifier, train, methods[names[0]], memory_bytes=memory_bytes, **options
        )
        group = [first]
        for name in names[1:]:
            group.append(first.also(**_options(methods[name], **options)))
        with progress_bar(", ".join(names), len(first.train_units), show=show) as advance:
            found = scores_together(group, tests, advance=advance)
        seconds = (time.perf_counter() - start) / len(names)
        for name, explainer, scores in zip(names, group, found, strict=True):
            sign = explainer.method.paper_sign
            distances = tuple(point.distance for point in explainer.points)
            yield Scored(name, explainer.train_units, scores, sign, seconds, distances)


def passes(
    classifier: TextClassifier, methods: Mapping[str, Asked], tests: int, memory_bytes: int
) -> list[list[str]]:
    """Methods that run together: of the same points, as many as fit in one block of tests.

    More would cost passes: the tests' gradients of all of them lie in memory at once. What lies there is
    counted by test sides, not by methods: one whose side is there already (`if+` after `if`, which then
    share their solve) always joins.
    """
    groups: list[_Group] = []
    for name, asked in methods.items():
        points = str(asked.get("points", method_row(asked).points))
        side = _side_key(asked)
        alike = [group for group in groups if group.points == points]
        free = [group for group in alike if side in group.sides]
        if not free and alike:
            need = tests * bytes_per_test(classifier, alike[-1].sides | {side})
            free = alike[-1:] if need <= memory_bytes else []
        group = free[0] if free else _Group(points)
        if not free:
            groups.append(group)
        group.names.append(name)
        group.sides.add(side)
    return [group.names for group in groups]


@dataclass
class _Group:
    """Methods of one pass, and the test sides that they need."""

    points: str
    names: list[str] = field(default_factory=list)
    sides: set[SideKey] = field(default_factory=set)


def method_row(asked: Asked) -> Method:
    """The row of the table that is asked for, with its changed columns of one word."""
    columns = {name: asked[name] for name in (*CHOICES, "units") if name in asked}
    named = {n: v for n, v in columns.items() if n == "units" or isinstance(v, str)}
    return starting_row(asked.get("method"), asked).varied(**named)


def _side_key(asked: Asked) -> SideKey:
    """What `Job.side_key` will tell apart, before there is a job."""
    row = method_row(asked)
    how = [str(asked.get(name)) for name in ("damping", "curvature_sample", "seed")]
    curvature = asked.get("curvature", row.curvature)
    operator = None if curvature == "identity" else (str(curvature), *how)
    return SideKey.of(row, tests=asked.get("label"), operator=operator)


def baseline_scores(
    train: Sequence[Example],
    tests: Sequence[Example],
    embed: Embedder,
    *,
    names: Sequence[str] = BASELINES,
    seed: int = 0,
    same_label: bool = True,
    units: Sequence[Unit] | None = None,
) -> list[Scored]:
    """The baselines over training spans, each also restricted to units of the test's label.

    `units`: the spans of `train` to rank where these are not all, as a model may not read every one.
    """
    units = units_of(train, "span") if units is None else units
    asked = [Unit(test, test.spans) for test in tests]
    ways: dict[str, Callable[[], Matrix]] = {
        "random": lambda: baselines.random_scores(asked, units, seed=seed),
        "overlap": lambda: baselines.overlap_scores(asked, units),
        "bm25": lambda: baselines.bm25_scores(asked, units),
        "embedding": lambda: baselines.embedding_scores(asked, units, embed),
    }
    found: list[Scored] = []
    for name in names:
        scores = ways[name]()
        found.append(Scored(name, units, scores))
        if same_label:
            own = [unit.example.label for unit in units]
            limited = baselines.restricted(scores, [test.label for test in tests], own)
            found.append(Scored(name + SAME_LABEL, units, limited))
    return found
