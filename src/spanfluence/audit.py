"""An audit of the training set: which of its spans, labels and phrases make a model err on held-out data?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from spanfluence.errors import InputError
from spanfluence.explain import Explainer
from spanfluence.findings import Audit, Error, HarmfulSpan, Suspect
from spanfluence.model import TextClassifier
from spanfluence.phrases import Phrase, over_represented
from spanfluence.progress import progress_bar
from spanfluence.session import open_explainer
from spanfluence.sway import Sway, carriers, swaying
from spanfluence.units import Example, Span, Unit, units_of

MOST_SWAYS = 10


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """`top`: rows of each list; `supporters`: how far down an error's list phrases are sought."""

    top: int = 20
    supporters: int = 20
    phrase_rows: int = 3
    most_errors: int = 200
    """Errors beyond so many add little and cost memory; the surest come first."""
    probe: bool = True
    """Whether recurring phrases are also tried out on rows that the model gets right."""

    def __post_init__(self) -> None:
        for name in ("top", "supporters", "phrase_rows", "most_errors"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)} must be at least 1")


def audit(
    explainer: Explainer,
    dev: Sequence[Example],
    settings: AuditSettings | None = None,
    *,
    show: bool = False,
) -> Audit:
    """Ask why the model errs on `dev`, and gather the answers. The explainer must use given labels."""
    settings = settings or AuditSettings()
    if explainer.label != "given":
        raise InputError("an audit asks about chosen labels: make the explainer with label='given'")
    if explainer.sign != "support":
        raise InputError(
            "an audit needs to know what supports: make the explainer with sign='support'"
        )
    _check(explainer, dev)
    dev = explainer.classifier.with_visible_spans(dev)
    every, accuracy = find_errors(explainer.classifier, dev)
    if not every:
        raise InputError(
            f"the model makes no error on the {len(dev)} rows: give held-out data that it gets wrong"
        )
    errors = every[: settings.most_errors]
    wrong, right = _scores(explainer, errors, show)
    harm = wrong.sum(axis=0) - right.sum(axis=0)
    tops = _tops(wrong, settings.supporters)
    phrases = _phrases(explainer.train_units, tops, harm, settings)
    sways = _sways(explainer, dev, settings) if settings.probe else []
    named = {index for phrase, _ in phrases for index in phrase.units}
    named |= carriers(explainer.classifier, explainer.train_units, sways)
    return Audit(
        method=explainer.name,
        examined=len(dev),
        accuracy=accuracy,
        errors=errors,
        spans=_harmful(explainer.train_units, tops, harm, settings.top),
        phrases=phrases,
        suspects=_suspects(explainer, sorted(named), settings.top),
        train_units=len(explainer.train_units),
        sways=sways,
        mask=explainer.classifier.encoder.mask_mode,
        wrong=len(every),
    )


def _check(explainer: Explainer, dev: Sequence[Example]) -> None:
    if not dev:
        raise InputError("the held-out file has no rows: give labelled examples")
    explainer.classifier.label_ids(dev, "given")  # raises for a row without a known label
    known = {explainer.classifier.label_id(example.label) for example in explainer.train}
    if len(known) < 2:
        raise InputError("the training set holds a single class: there is nothing to audit")


def find_errors(classifier: TextClassifier, dev: Sequence[Example]) -> tuple[list[Error], float]:
    """The errors, the surest first, each with the spans that pull towards the wrong label; accuracy."""
    predicted = classifier.predict(dev)
    right = classifier.label_ids(dev, "given")
    errors = []
    for example, label, chances, gold in zip(dev, *predicted, right, strict=True):
        if label != classifier.labels[gold]:
            asked = replace(example, spans=_pulling(classifier, example))
            errors.append(Error(asked, label, float(chances.max())))
    errors.sort(key=lambda error: -error.chance)
    return errors, 1 - len(errors) / len(dev)


def _pulling(classifier: TextClassifier, example: Example) -> tuple[Span, ...]:
    """Spans that the wrong label needs; the one it needs most where it needs none."""
    if len(example.spans) < 2:
        return example.spans
    importance = classifier.importance(example, example.spans)
    pulling = [s for s, value in zip(example.spans, importance, strict=True) if value > 0]
    return tuple(pulling) or (example.spans[int(importance.argmax())],)


def _scores(
    explainer: Explainer, errors: Sequence[Error], show: bool
) -> tuple[Float[np.ndarray, "asked units"], Float[np.ndarray, "asked units"]]:
    """Support for the wrong and for the right label, one row for each span of each error."""
    asked = [
        (replace(unit.example, spans=unit.spans), error.predicted)
        for error in errors
        for unit in units_of([error.example], "span")
    ]
    tests = [replace(example, label=label) for example, label in asked]
    tests += [example for example, _ in asked]
    with progress_bar("training units", len(explainer.train_units), show=show) as advance:
        scores = explainer.scores(tests, advance=advance)
    return scores[: len(asked)], scores[len(asked) :]


def _sways(explainer: Explainer, dev: Sequence[Example], settings: AuditSettings) -> list[Sway]:
    labels = explainer.classifier.predict(dev).labels
    gold = explainer.classifier.label_ids(dev, "given")
    names = explainer.classifier.labels
    right = [e for e, said, own in zip(dev, labels, gold, strict=True) if said == names[own]]
    most = min(settings.top, MOST_SWAYS)
    return swaying(
        explainer.classifier, explainer.train_units, right, seed=explainer.seed, most=most
    )


def _tops(scores: Float[np.ndarray, "asked units"], count: int) -> list[np.ndarray]:
    """The strongest supporters of each question; units that do not support it are none."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return [row[scores[number, row] > 0] for number, row in enumerate(order)]


def _harmful(
    units: Sequence[Unit], tops: Sequence[np.ndarray], harm: np.ndarray, top: int
) -> list[HarmfulSpan]:
    counts = np.bincount(np.concatenate(tops).astype(np.int64), minlength=len(units))
    order = np.argsort(-harm, kind="stable")[:top]
    return [
        HarmfulSpan(units[i], float(harm[i]), int(counts[i])) for i in order.tolist() if harm[i] > 0
    ]


def _phrases(
    units: Sequence[Unit], tops: Sequence[np.ndarray], harm: np.ndarray, settings: AuditSettings
) -> list[tuple[Phrase, list[Unit]]]:
    """Over-represented phrases among the supporters of errors, each with its most harmful units."""
    flagged = {int(index) for row in tops for index in row}
    found = over_represented([unit.text for unit in units], flagged, most=settings.top)
    return [
        (
            phrase,
            [
                units[i]
                for i in sorted(phrase.units, key=lambda i: -harm[i])[: settings.phrase_rows]
            ],
        )
        for phrase in found
    ]


def _suspects(explainer: Explainer, named: Sequence[int], top: int) -> list[Suspect]:
    """Rows whose label rests on a named phrase, then rows whose label the model denies."""
    rows: dict[int, Suspect] = {}
    for suspect in [*_resting(explainer, named), *_denied(explainer, top)]:
        rows.setdefault(id(suspect.example), suspect)
    return list(rows.values())[:top]


def _resting(explainer: Explainer, named: Sequence[int]) -> list[Suspect]:
    """Rows that get another label when a named span is masked, the surest first."""
    units = [explainer.train_units[i] for i in named if explainer.train_units[i].spans]
    if not units:
        return []
    classifier = explainer.classifier
    logits = classifier.logits(classifier.encode_units(units))
    given = classifier.label_ids([unit.example for unit in units], "given")
    found = [
        Suspect(
            unit.example,
            classifier.labels[int(row.argmax())],
            float(_chances(row).max()),
            f"its label rests on “{unit.text}”",
            unit.spans[0],
        )
        for unit, row, label in zip(units, logits, given, strict=True)
        if row.argmax() != label
    ]
    return sorted(found, key=lambda suspect: -suspect.chance)


def _denied(explainer: Explainer, top: int) -> list[Suspect]:
    """Rows to which the model, though trained on them, gives another label; the surest first."""
    classifier, train = explainer.classifier, explainer.train
    logits = classifier.logits(classifier.encoder.encode(train))
    given = classifier.label_ids(train, "given")
    found = [
        Suspect(
            example,
            classifier.labels[int(row.argmax())],
            float(_chances(row).max()),
            "the model was not convinced",
            None,
        )
        for example, row, label in zip(train, logits, given, strict=True)
        if row.argmax() != label
    ]
    return sorted(found, key=lambda suspect: -suspect.chance)[:top]


def _chances(logits: Float[np.ndarray, " classes"]) -> Float[np.ndarray, " classes"]:
    odds = np.exp(logits - logits.max())
    return np.asarray(odds / odds.sum())


def audit_run(
    run: str,
    dev: Sequence[Example],
    *,
    method: str = "pinpoint",
    train_file: Path | None = None,
    settings: AuditSettings | None = None,
    show: bool = False,
    **options: Any,
) -> Audit:
    """The audit of a run folder, or of any model with its training file."""
    explainer = open_explainer(run, train_file=train_file, method=method, label="given", **options)
    return audit(explainer, dev, settings, show=show)
