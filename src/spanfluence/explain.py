"""`Explainer`: which words in which training examples taught the model to say this?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from spanfluence.curvature.lissa import Lissa
from spanfluence.curvature.problem import ClassifierLosses, lissa_solver
from spanfluence.errors import InputError
from spanfluence.explanation import Explanation, Influence, Part
from spanfluence.influence import BATCH_TOKENS, Side, Solver
from spanfluence.influence import Influence as Scorer
from spanfluence.methods import Method, Sign, method_named
from spanfluence.model import LabelChoice, TextClassifier
from spanfluence.points import DeltaFaithful, ModelPoint, checkpoint_points, final_point
from spanfluence.units import Example, Unit, units_of

PointChoice = str | DeltaFaithful | Sequence[ModelPoint]


class Explainer:
    """Scores training units for tests by one method, exactly.

    `method` names a row of the table in `methods.py`; any column given by keyword replaces that row's
    choice. `points` may also be a `DeltaFaithful` recipe or a list of `ModelPoint`; `damping` is the
    absolute lambda of the inverse curvature.
    """

    def __init__(
        self,
        classifier: TextClassifier,
        train: Sequence[Example],
        method: str = "pinpoint",
        *,
        seed: int = 0,
        label: LabelChoice = "predicted",
        sign: Sign = "support",
        points: PointChoice | None = None,
        curvature: str | Lissa | None = None,
        damping: float | None = None,
        memory_bytes: int = 4 << 30,
        batch_tokens: int = BATCH_TOKENS,
        **columns: Any,
    ) -> None:
        if sign not in ("support", "paper"):
            raise InputError(f"sign={sign!r} is not known: use 'support' or 'paper'")
        if label not in ("predicted", "given"):
            raise InputError(f"label={label!r} is not known: use 'predicted' or 'given'")
        self.classifier, self.train = classifier, tuple(train)
        _check_training(self.train)
        self.seed, self.label, self.sign = seed, label, sign
        self.memory_bytes, self.batch_tokens = memory_bytes, batch_tokens
        if isinstance(points, str):
            columns["points"] = points
        elif isinstance(points, DeltaFaithful):
            columns["points"] = "delta"
        if isinstance(curvature, str):
            columns["curvature"] = curvature
        elif curvature is not None:
            columns["curvature"] = "lissa"
        self.name = method
        self.method: Method = method_named(method).varied(**columns)
        if columns and self.method != method_named(method):
            changed = ", ".join(f"{name}={value}" for name, value in columns.items())
            self.name = f"{method} with {changed}"
        self.train_units: list[Unit] = units_of(self.train, self.method.units[1])
        self._label_ids = classifier.label_ids([unit.example for unit in self.train_units], "given")
        self.points: list[ModelPoint] = self._make_points(points)
        self._operator = self._make_operator(curvature, damping)
        self._scorer: Scorer | None = None

    def _make_points(self, points: PointChoice | None) -> list[ModelPoint]:
        if points is not None and not isinstance(points, str | DeltaFaithful):
            given = list(points)
            if not given:
                raise InputError("points=[] is empty: give at least one ModelPoint")
            return given
        if isinstance(points, DeltaFaithful) or self.method.points == "delta":
            recipe = points if isinstance(points, DeltaFaithful) else DeltaFaithful()
            return recipe.points(self.classifier, self.train, self.seed)
        if self.method.points == "checkpoints":
            return checkpoint_points(self.classifier)
        return final_point(self.classifier)

    def _make_operator(self, curvature: str | Lissa | None, damping: float | None) -> Lissa | None:
        if self.method.curvature == "identity":
            if damping is not None:
                raise InputError(
                    f"damping={damping:g} has no meaning without curvature: pass curvature='lissa'"
                )
            return None
        if isinstance(curvature, Lissa):
            if damping is not None:
                raise InputError(
                    "give damping either in Lissa(damping=...) or as damping=, not both"
                )
            return curvature
        return Lissa(seed=self.seed) if damping is None else Lissa(seed=self.seed, damping=damping)

    def _prepared(self) -> Scorer:
        """Built at the first use: probing the layers costs a few passes."""
        if self._scorer is None:
            solvers: list[Solver | None] = [None] * len(self.points)
            if self._operator is not None:
                problem = ClassifierLosses(self.classifier, self.train)
                solvers = [lissa_solver(self._operator, problem, point) for point in self.points]
            self._scorer = Scorer(self.classifier, self.method, self.points, solvers)
            self._train_side = Side(
                self.classifier,
                self.train_units,
                self._label_ids,
                self.method,
                self.method.units[1],
                weighted=self.method.weight != "none",
                batch_tokens=self.batch_tokens,
            )
        return self._scorer

    def scores(
        self, tests: Sequence[Example], *, advance: Callable[[int], None] = lambda done: None
    ) -> Float[np.ndarray, "tests units"]:
        """Scores of every training unit for every test; all spans of a test are taken together."""
        together = self.method.units[0] == "span"
        units = [Unit(test, test.spans if together else ()) for test in tests]
        return self._score_units(units, self.classifier.label_ids(tests, self.label), advance)

    def _score_units(
        self,
        units: Sequence[Unit],
        label_ids: Int[np.ndarray, " units"],
        advance: Callable[[int], None],
    ) -> Float[np.ndarray, "tests units"]:
        if not units:
            return np.zeros((0, len(self.train_units)), dtype=np.float32)
        scorer = self._prepared()
        kind = self.method.units[0]
        tests = Side(
            self.classifier, units, label_ids, self.method, kind, batch_tokens=self.batch_tokens
        )
        scores = scorer.scores(
            tests, self._train_side, memory_bytes=self.memory_bytes, advance=advance
        )
        return scores * np.float32(self.method.paper_sign if self.sign == "paper" else 1)

    def explain(self, example: Example, top_k: int = 10) -> Explanation:
        """Why the model says this of `example`: its spans one by one, or its whole text."""
        return self.explain_all([example], top_k)[0]

    def explain_all(
        self,
        examples: Sequence[Example],
        top_k: int = 10,
        *,
        advance: Callable[[int], None] = lambda done: None,
    ) -> list[Explanation]:
        """Explanations of many tests in one pass over the training set."""
        if top_k < 1:
            raise InputError(f"top_k={top_k} must be at least 1")
        units = [units_of([example], self.method.units[0]) for example in examples]
        flat = [unit for group in units for unit in group]
        labels = self.classifier.label_ids(examples, self.label)
        repeated = np.repeat(labels, [len(group) for group in units])
        scores = self._score_units(flat, repeated, advance)
        importance = self._importance(flat, repeated)
        explanations, row = [], 0
        for example, group, label in zip(examples, units, labels, strict=True):
            parts = [
                self._part(unit, importance[row + offset], scores[row + offset], top_k)
                for offset, unit in enumerate(group)
            ]
            explanations.append(self._explanation(example, int(label), parts))
            row += len(group)
        return explanations

    def _importance(
        self, units: Sequence[Unit], label_ids: Int[np.ndarray, " units"]
    ) -> list[float | None]:
        """imp of each unit's spans as a fall of the label's logit; None for whole texts."""
        rows = [row for row, unit in enumerate(units) if unit.spans]
        found: list[float | None] = [None] * len(units)
        if rows:
            whole = self.classifier.losses(
                [Unit(units[r].example) for r in rows], label_ids[rows], "logit"
            )
            masked = self.classifier.losses([units[r] for r in rows], label_ids[rows], "logit")
            for row, value in zip(rows, (masked - whole).tolist(), strict=True):
                found[row] = value
        return found

    def _part(
        self, unit: Unit, importance: float | None, scores: Float[np.ndarray, " units"], top_k: int
    ) -> Part:
        order = np.argsort(-scores, kind="stable")
        supporters, opponents = order[:top_k], order[::-1][:top_k]
        return Part(
            unit.spans, importance, self._hits(supporters, scores), self._hits(opponents, scores)
        )

    def _hits(
        self, columns: Int[np.ndarray, " hits"], scores: Float[np.ndarray, " units"]
    ) -> tuple[Influence, ...]:
        units = [self.train_units[column] for column in columns]
        importance = self._importance(units, self._label_ids[columns])
        return tuple(
            Influence(unit, float(scores[column]), int(column), imp)
            for unit, column, imp in zip(units, columns, importance, strict=True)
        )

    def _explanation(self, example: Example, label: int, parts: list[Part]) -> Explanation:
        names = self.classifier.labels
        predicted = self.classifier.predict([example])
        return Explanation(
            example=example,
            prediction=predicted.labels[0],
            explained_label=names[label],
            probabilities=dict(zip(names, predicted.probabilities[0].tolist(), strict=True)),
            method=self.name,
            settings=self.settings,
            points=tuple(
                {"name": p.name, "weight": p.weight, "distance": p.distance} for p in self.points
            ),
            train_units=len(self.train_units),
            parts=tuple(sorted(parts, key=lambda part: -(part.importance or 0.0))),
            notes=tuple(self._notes(example)),
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Every choice behind the scores, as it stands in results."""
        columns: dict[str, Any] = {**asdict(self.method), "units": list(self.method.units)}
        if self._operator is not None:
            columns["damping"] = self._operator.damping
        return {**columns, "sign": self.sign, "label": self.label, "seed": self.seed}

    def _notes(self, example: Example) -> list[str]:
        notes = []
        bare = sum(1 for e in self.train if not e.spans)
        if self.method.units[1] == "span" and bare:
            notes.append(
                f"{bare} of {len(self.train)} training examples have no spans: "
                "each is covered by its whole text."
            )
        if self.method.units[0] == "span" and not example.spans:
            notes.append("The test has no span: its whole text is explained.")
        return notes


def _check_training(train: Sequence[Example]) -> None:
    if not train:
        raise InputError("the training set is empty: give at least one labelled example")
    seen: dict[str, int] = {}
    for row, example in enumerate(train):
        if example.id is not None and seen.setdefault(example.id, row) != row:
            raise InputError(
                f"training id {example.id!r} stands at rows {seen[example.id] + 1} and {row + 1}: "
                "make ids unique, so that an answer names one row"
            )
