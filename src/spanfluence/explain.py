"""`Explainer`: which words in which training examples taught the model to say this?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from spanfluence.batches import BATCH_TOKENS, Side
from spanfluence.capture import Capture
from spanfluence.curvature import Operator
from spanfluence.curvature.problem import (
    KINDS,
    Curvature,
    TrainingProblem,
    curvature_named,
    operator_at,
)
from spanfluence.errors import InputError
from spanfluence.explanation import Explanation, Influence, Part
from spanfluence.jobs import Job
from spanfluence.methods import DEFAULT, Method, Sign, UnitKind, row_name, starting_row
from spanfluence.model import LabelChoice, TextClassifier
from spanfluence.points import (
    DeltaFaithful,
    ModelPoint,
    checkpoint_points,
    final_point,
    given_points,
    placed,
)
from spanfluence.proposal import Proposal, UnknownSpans
from spanfluence.spans.found import Finder
from spanfluence.together import Shared, as_test_units, run_jobs, scores_together
from spanfluence.units import Example, Unit, listed, units_of

PointChoice = str | DeltaFaithful | Sequence[ModelPoint]
KEPT = (
    "seed", "label", "sign", "memory_bytes", "batch_tokens",
    "finder", "max_spans", "mixture", "temperature",
)  # fmt: skip
"""Options that `also` hands on: those that are not of one method."""


class Explainer:
    """Scores training units for tests by one method, exactly.

    `method` names a row of the table in `methods.py`, or is a `Method`; any column given by keyword
    replaces that row's choice. Without a name, `points`, `curvature` or `units` begin a row of their own,
    whose other columns have the paper's values; other columns alone vary `pinpoint`. `points` may also be a `DeltaFaithful` recipe or a list of `ModelPoint`; `curvature` may also
    be settings such as `Ggn(sample=1000)`; `damping` is the absolute lambda of the inverse curvature, or
    "auto", and `curvature_sample` how many training instances stand for its training set. `also` makes a
    second explainer over the same training set, and `scores_together` runs several in one pass.

    A test without spans is explained by those that `finder` proposes: the `max_spans` of highest imp,
    as their mixture `score(u) = sum_k p_k score(x'_k, u)` with `p = softmax(imp / temperature)`, or one
    by one with `mixture=False`; with `finder=None` its whole text is explained.
    """

    def __init__(
        self,
        classifier: TextClassifier,
        train: Sequence[Example],
        method: str | Method | None = DEFAULT,
        *,
        seed: int = 0,
        label: LabelChoice = "predicted",
        sign: Sign = "support",
        points: PointChoice | None = None,
        curvature: str | Curvature | None = None,
        damping: float | str | None = None,
        curvature_sample: int | None = None,
        memory_bytes: int = 4 << 30,
        batch_tokens: int = BATCH_TOKENS,
        finder: str | Finder | None = "auto",
        max_spans: int = 5,
        mixture: bool = True,
        temperature: float = 1.0,
        sharing: Explainer | None = None,
        **columns: Any,
    ) -> None:
        self._options = {
            "method": method,
            "seed": seed,
            "label": label,
            "sign": sign,
            "points": points,
            "curvature": curvature,
            "damping": damping,
            "curvature_sample": curvature_sample,
            "memory_bytes": memory_bytes,
            "batch_tokens": batch_tokens,
            "finder": finder,
            "max_spans": max_spans,
            "mixture": mixture,
            "temperature": temperature,
            **columns,
        }
        if sign not in ("support", "paper"):
            raise InputError(f"sign={sign!r} is not known: use 'support' or 'paper'")
        if label not in ("predicted", "given"):
            raise InputError(f"label={label!r} is not known: use 'predicted' or 'given'")
        if not isinstance(classifier, TextClassifier):
            raise InputError(
                f"classifier={classifier!r:.60} is no TextClassifier: give TextClassifier.load(FOLDER)"
            )
        self.classifier, self.train = classifier, tuple(listed(train, "train"))
        _check_training(self.train)
        self.seed, self.label, self.sign = seed, label, sign
        self.memory_bytes, self.batch_tokens = memory_bytes, batch_tokens
        self.unknown_spans = UnknownSpans(finder, max_spans, mixture, temperature)
        given = _given_columns(points, curvature, columns)
        self._own_points = given.get("points") == "given"
        row = {n: v for n, v in given.items() if not (n == "points" and self._own_points)}
        self.method: Method = starting_row(method, given).varied(**row)
        self.name = row_name(method, self.method, given)
        _check_masking(classifier, self.method)
        self.shared: Shared = Shared() if sharing is None else sharing.shared
        self.train_units: list[Unit] = self._train_units(self.method.units[1])
        self._label_ids = classifier.label_ids([unit.example for unit in self.train_units], "given")
        self.points: list[ModelPoint] = self._make_points(points)
        self.curvature = self._make_curvature(curvature, damping, curvature_sample)

    def also(self, method: str | Method | None = DEFAULT, **options: Any) -> Explainer:
        """Another method over the same model and training set; points and solves are shared."""
        own = {name: self._options[name] for name in KEPT}
        return Explainer(self.classifier, self.train, method, sharing=self, **{**own, **options})

    def over(self, train: Sequence[Example]) -> Explainer:
        """The same method over other training examples."""
        return Explainer(self.classifier, train, **self._options)

    def job_for(self, tests: Sequence[Example]) -> Job:
        """What `scores(tests)` will run; all spans of a test are taken together."""
        units = as_test_units(tests)[self.method.units[0]]
        return self.job(units, self.classifier.label_ids(tests, self.label))

    def _train_units(self, kind: UnitKind) -> list[Unit]:
        """Made once for all explainers that share: finding what the model reads costs an encoding."""
        if kind not in self.shared.units:
            self.shared.units[kind] = self.classifier.visible_units(self.train, kind)
        return self.shared.units[kind]

    def _make_points(self, points: PointChoice | None) -> list[ModelPoint]:
        if points is not None and not isinstance(points, str | DeltaFaithful):
            return self._given_points(points)
        recipe = points if isinstance(points, DeltaFaithful) else DeltaFaithful()
        kind = self.method.points
        key = (kind, recipe, self.seed)
        if key not in self.shared.points:
            self.shared.points[key] = (
                recipe.points(self.classifier, self.train, self.seed)
                if kind == "delta"
                else checkpoint_points(self.classifier)
                if kind == "checkpoints"
                else final_point(self.classifier)
            )
        return self.shared.points[key]

    def _given_points(self, points: Sequence[ModelPoint]) -> list[ModelPoint]:
        """The caller's points; those that explainers have in common stay the same objects."""
        known = self.shared.given
        own = given_points(points)
        for point in own:
            if id(point) not in known:
                known[id(point)] = (point, placed(point, self.classifier.attributed))
        return [known[id(point)][1] for point in own]

    def _make_curvature(
        self,
        curvature: str | Curvature | None,
        damping: float | str | None,
        sample: int | None,
    ) -> Curvature | None:
        name = self.method.curvature
        given = {"damping": damping, "curvature_sample": sample}
        odd = next((f"{key}={value}" for key, value in given.items() if value is not None), None)
        if name == "identity":
            if odd is not None:
                raise InputError(f"{odd} has no meaning without curvature: pass curvature='ggn'")
            return None
        if curvature is None or isinstance(curvature, str):
            return curvature_named(name, damping, sample, self.seed)
        if odd is not None:
            kind = type(curvature).__name__
            raise InputError(
                f"{odd} and {kind}(...) do not go together: write it inside {kind}(...)"
            )
        return curvature

    @property
    def capture(self) -> Capture:
        """Made at the first use: probing the layers costs a few passes."""
        if self.shared.capture is None:
            self.shared.capture = Capture(self.classifier)
        return self.shared.capture

    def _operators(self) -> list[Operator | None]:
        """P at each point."""
        if self.curvature is None:
            return [None] * len(self.points)
        return [self._operator(self.curvature, point) for point in self.points]

    def _operator(self, curvature: Curvature, point: ModelPoint) -> Operator:
        shared = self.shared
        if shared.problem is None:
            shared.problem = TrainingProblem(self.classifier, self.train, self.capture)
        key = (curvature, id(point))
        if key not in shared.operators:
            shared.operators[key] = operator_at(curvature, shared.problem, point)
        return shared.operators[key]

    def job(self, units: Sequence[Unit], label_ids: Int[np.ndarray, " units"]) -> Job:
        """What has to run to score test units for their labels."""
        test, train = self.method.units
        return Job(
            self.method,
            self.points,
            self._operators(),
            Side(units, label_ids, self.method, test),
            Side(
                self.train_units,
                self._label_ids,
                self.method,
                train,
                weighted=self.method.weight != "none",
            ),
        )

    def scores(
        self, tests: Sequence[Example], *, advance: Callable[[int], None] = lambda done: None
    ) -> Float[np.ndarray, "tests units"]:
        """Scores of every training unit for every test; all spans of a test are taken together."""
        return scores_together([self], tests, advance=advance)[0]

    def _score_units(
        self,
        units: Sequence[Unit],
        label_ids: Int[np.ndarray, " units"],
        advance: Callable[[int], None],
    ) -> Float[np.ndarray, "tests units"]:
        return (
            run_jobs([self], [self.job(units, label_ids)], advance)[0]
            if units
            else self.no_scores()
        )

    def no_scores(self) -> Float[np.ndarray, "tests units"]:
        """The matrix of no tests."""
        return np.zeros((0, len(self.train_units)), dtype=np.float32)

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
        given = listed(examples, "what to explain")
        proposals = self._proposals(given)
        examples = [proposal.example for proposal in proposals]
        units = [units_of([example], self.method.units[0]) for example in examples]
        flat = [unit for group in units for unit in group]
        labels = self.classifier.label_ids(examples, self.label)
        repeated = np.repeat(labels, [len(group) for group in units])
        scores = self._score_units(flat, repeated, advance)
        importance = self._importance(flat, repeated)
        explanations, row = [], 0
        for example, proposal, group, label in zip(given, proposals, units, labels, strict=True):
            rows = slice(row, row + len(group))
            if proposal.shares:
                parts = [self._mixture(proposal, importance[rows], scores[rows], top_k)]
            else:
                parts = [
                    self._part(unit, imp, values, top_k)
                    for unit, imp, values in zip(group, importance[rows], scores[rows], strict=True)
                ]
            explanations.append(self._explanation(example, int(label), parts, proposal.notes))
            row += len(group)
        return explanations

    def _proposals(self, examples: Sequence[Example]) -> list[Proposal]:
        """Each example with the spans to explain: its own, or under a span method proposed ones."""
        if self.method.units[0] != "span":
            note = f"The method {self.name} explains the whole text; the span is not used."
            return [Proposal(e, notes=(note,) if e.spans else ()) for e in examples]
        return [
            self.unknown_spans.propose(self.classifier, example, self.label) for example in examples
        ]

    def _mixture(
        self,
        proposal: Proposal,
        importance: Sequence[float | None],
        scores: Float[np.ndarray, "spans units"],
        top_k: int,
    ) -> Part:
        """score(u) = sum_k p_k score(x'_k, u): the spans were scored in the same pass as all others."""
        mixed = np.asarray(proposal.shares, dtype=np.float32) @ scores
        whole = self._part(Unit(proposal.example, proposal.example.spans), None, mixed, top_k)
        values = tuple(float(value or 0.0) for value in importance)
        return replace(whole, shares=proposal.shares, importances=values)

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

    def _explanation(
        self, example: Example, label: int, parts: list[Part], found: Sequence[str] = ()
    ) -> Explanation:
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
            notes=(*self._notes(), *found),
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Every choice behind the scores, as it stands in results."""
        columns: dict[str, Any] = {**asdict(self.method), "units": list(self.method.units)}
        if self._own_points:
            columns["points"] = "given"
        if self.curvature is not None:
            columns["damping"] = self.curvature.damping
            if self.curvature.damping == "auto":
                columns["damping"] = [p.damping for p in self._operators() if p is not None]
        columns["mask"] = self.classifier.encoder.mask_mode
        return {**columns, "sign": self.sign, "label": self.label, "seed": self.seed}

    def _notes(self) -> list[str]:
        """What a reader should know of the training units."""
        if self.method.units[1] != "span":
            return []
        notes, size = [], len(self.train)
        bare = sum(1 for e in self.train if not e.spans)
        if bare:
            notes.append(
                f"{bare} of {size} training examples have no spans: "
                "each is covered by its whole text."
            )
        spans = sum(len(e.spans) for e in self.train)
        unseen = spans - sum(1 for unit in self.train_units if unit.spans)
        if unseen:
            emptied = sum(1 for unit in self.train_units if not unit.spans) - bare
            notes.append(
                f"{unseen} of {spans} training spans touch none of the "
                f"{self.classifier.encoder.max_length} tokens that the model reads: they are left out"
                + (f", and {emptied} of {size} training examples" if emptied else "")
                + (" are covered by their whole text." if emptied else ".")
            )
        return notes


def _given_columns(
    points: PointChoice | None, curvature: str | Curvature | None, columns: dict[str, Any]
) -> dict[str, Any]:
    """The columns that the caller chose, by name; points of his own are "given"."""
    chosen = dict(columns)
    if isinstance(points, str):
        Method().varied(points=points)  # raises for a name that is none, "given" among them
        chosen["points"] = points
    elif points is not None:
        chosen["points"] = "delta" if isinstance(points, DeltaFaithful) else "given"
    if isinstance(curvature, str):
        chosen["curvature"] = curvature
    elif curvature is not None:
        kinds = [name for name, kind in KINDS.items() if type(curvature) is kind]
        if not kinds:
            raise InputError(
                f"curvature={curvature!r} is not known: give 'identity', 'lissa', 'ggn', 'ekfac', 'cg', "
                "or settings such as Ggn(sample=1000)"
            )
        chosen["curvature"] = kinds[0]
    return chosen


def _check_masking(classifier: TextClassifier, method: Method) -> None:
    """A deleted span has no tokens left whose gradients could be compared with those it had."""
    deleted = classifier.encoder.mask_mode == "delete" and "span" in method.units
    if deleted and method.locality == "span" and method.contrast == "masked":
        raise InputError(
            "mask_mode='delete' leaves no token at the span's place, which locality='span' with "
            "contrast='masked' compares: use mask_mode='attention', locality='text' or "
            "contrast='unmasked'"
        )


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
