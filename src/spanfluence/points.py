"""The points theta_i at which gradients are taken, and their weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from spanfluence.data.reading import parse_json, read_text
from spanfluence.encoding import length_batches
from spanfluence.errors import InputError, NumericsError
from spanfluence.loading import read_checkpoint
from spanfluence.model import MAX_TOKENS, TextClassifier, requiring_gradients, text_losses
from spanfluence.precise import precise
from spanfluence.rng import numpy_generator
from spanfluence.runs import RunFolder
from spanfluence.units import Example

FAITHFUL_LIMIT = 0.5  # "1 > delta >> ||theta_i - theta||": half of 1 is no longer well below it


@dataclass(frozen=True, eq=False)
class ModelPoint:
    """Values of the attributed parameters and the weight their scores enter the sum with.

    `distance` is the Euclidean distance from the final parameters; left at 0, an explainer works it out.
    """

    name: str
    weight: float
    parameters: Mapping[str, Tensor]
    distance: float = 0.0


def final_point(classifier: TextClassifier) -> list[ModelPoint]:
    """The model that makes the prediction, alone."""
    own = {name: parameter.detach().clone() for name, parameter in classifier.attributed.items()}
    return [ModelPoint("final", 1.0, own)]


def given_points(points: object) -> list[ModelPoint]:
    """Points of the caller, if that is what they are."""
    listed = list(points) if isinstance(points, Iterable) else [points]
    own = [point for point in listed if isinstance(point, ModelPoint)]
    if len(own) < len(listed):
        raise InputError(
            f"points={points!r:.80} cannot be used: give 'final', 'checkpoints', 'delta', "
            "DeltaFaithful(...) or a list of ModelPoint"
        )
    if not own:
        raise InputError("points=[] is empty: give at least one ModelPoint")
    return own


def placed(point: ModelPoint, final: Mapping[str, Tensor]) -> ModelPoint:
    """The point itself where it knows its distance, or has none; else a copy that knows it."""
    for name, values in point.parameters.items():
        if name in final and values.shape != final[name].shape:
            raise InputError(
                f"point {point.name!r}: {name} has the shape {tuple(values.shape)}, in the model it is "
                f"{tuple(final[name].shape)}: give values of this model's parameters"
            )
    distance = point.distance or _distance(point.parameters, final)
    moved = np.isfinite(distance) and distance != point.distance
    return replace(point, distance=distance) if moved else point


def checkpoint_points(
    classifier: TextClassifier, folder: Path | None = None, last: int = 3
) -> list[ModelPoint]:
    """Checkpoints of the last epochs up to the selected one, weighted by their learning rate (TracIn).

    `folder` holds `epoch-NNN/` folders; by default the `checkpoints` beside the classifier's model. Epochs
    after the one that the run's record names as selected are no part of the model's history.
    """
    folder = folder or _checkpoints_beside(classifier)
    epochs = sorted(folder.glob("epoch-*/point.json"), key=_epoch_number)
    selected = _selected_epoch(folder)
    if selected is not None:
        epochs = [record for record in epochs if _epoch_number(record) <= selected]
    if not epochs:
        upto = "" if selected is None else f" up to the selected epoch {selected}"
        raise InputError(
            f"no checkpoints in {folder}{upto}: train with 'spanfluence train', pass points=[ModelPoint(...)], "
            "or use a method that needs none (tracinf, tracin+, tracin++)"
        )
    points = []
    for record in epochs[-last:]:
        parameters = read_checkpoint(record.parent / "point.safetensors")
        weight = _learning_rate(record)
        distance = _distance(parameters, classifier.attributed)
        points.append(ModelPoint(record.parent.name, weight, parameters, distance))
    return points


def _learning_rate(record: Path) -> float:
    found: Any = parse_json(read_text(record), record)
    rate = found.get("learning_rate") if isinstance(found, dict) else None
    if not isinstance(rate, int | float):
        raise InputError(
            f"{record} tells no learning_rate: it is damaged; remove the folder {record.parent} to go "
            "on without this epoch, or train again"
        )
    return float(rate)


def _epoch_number(record: Path) -> int:
    return int(record.parent.name.removeprefix("epoch-"))


def _selected_epoch(checkpoints: Path) -> int | None:
    """The epoch whose parameters became the model; None where no finished run tells."""
    run = RunFolder(checkpoints.parent)
    if not run.is_recorded:
        return None
    selected: int | None = run.record().get("selected_epoch")
    return selected


def _checkpoints_beside(classifier: TextClassifier) -> Path:
    if classifier.source is None:
        raise InputError(
            "this classifier was not loaded from a run, so its checkpoints are unknown: pass points="
        )
    for folder in (classifier.source / "checkpoints", classifier.source.parent / "checkpoints"):
        if folder.is_dir():
            return folder
    return classifier.source.parent / "checkpoints"


@dataclass(frozen=True, kw_only=True)
class DeltaFaithful:
    """The recipe of the delta-faithful points: from the final model, one step on a random mini-batch.

    `"sgd"` is the paper's formula, delta = -learning_rate * g; `"adamw"` moves every parameter by about
    learning_rate on its first step, which is far more.
    """

    count: int = 3
    learning_rate: float = 1e-4
    batch_size: int = 100
    optimizer: Literal["sgd", "adamw"] = "sgd"

    def __post_init__(self) -> None:
        if self.count < 1 or self.batch_size < 1 or self.learning_rate <= 0:
            raise InputError(f"{self}: count, batch_size and learning_rate must be positive")
        if self.optimizer not in ("sgd", "adamw"):
            raise InputError(f"optimizer={self.optimizer!r} is not known: use 'sgd' or 'adamw'")

    def points(
        self, classifier: TextClassifier, train: Sequence[Example], seed: int
    ) -> list[ModelPoint]:
        """`count` independent points around the classifier's parameters."""
        points = []
        for index in range(self.count):
            rng = numpy_generator(seed, "delta-faithful", index)
            rows = rng.choice(len(train), size=min(self.batch_size, len(train)), replace=False)
            gradient = mean_gradient(classifier, [train[row] for row in rows])
            parameters = self._step(classifier, gradient)
            distance = _distance(parameters, classifier.attributed)
            if not distance < FAITHFUL_LIMIT:
                raise NumericsError(
                    f"point delta-{index} is {distance:.3g} away from the model, not well below 1: "
                    f"lower the learning rate ({self.learning_rate:g}) or use optimizer='sgd'"
                )
            points.append(ModelPoint(f"delta-{index}", 1.0, parameters, distance))
        return points

    def _step(
        self, classifier: TextClassifier, gradient: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        moved = {n: p.detach().clone().requires_grad_() for n, p in classifier.attributed.items()}
        for name, parameter in moved.items():
            parameter.grad = gradient[name]
        kind = torch.optim.SGD if self.optimizer == "sgd" else torch.optim.AdamW
        kind(moved.values(), lr=self.learning_rate).step()
        return {name: parameter.detach() for name, parameter in moved.items()}


def mean_gradient(classifier: TextClassifier, examples: Sequence[Example]) -> dict[str, Tensor]:
    """Gradient of the mean cross-entropy over examples with their given labels, dropout off."""
    names = list(classifier.attributed)
    total = {name: torch.zeros_like(classifier.attributed[name]) for name in names}
    encoded = classifier.encoder.encode(examples)
    label_ids = classifier.label_ids(examples, "given")
    leaves = list(classifier.attributed.values())
    with requiring_gradients(leaves):
        for rows in length_batches([len(e) for e in encoded], MAX_TOKENS):
            batch = [encoded[row] for row in rows]
            inputs = classifier.encoder.collate(batch, classifier.device)
            states = classifier.trunk_states(batch, inputs, keep=True)
            labels = torch.from_numpy(label_ids[np.array(rows)]).to(classifier.device)
            losses = text_losses(classifier.tail_logits(inputs, states), labels, "loss")
            found = torch.autograd.grad(losses.sum() / len(examples), leaves, allow_unused=True)
            for name, gradient in zip(names, found, strict=True):
                if gradient is not None:
                    total[name] += gradient
    return total


def _distance(parameters: Mapping[str, Tensor], final: Mapping[str, Tensor]) -> float:
    squares = [
        (precise(parameters[name]) - precise(final[name].detach())).square().sum()
        for name in final
        if name in parameters
    ]
    return float(torch.stack(squares).sum().sqrt()) if squares else float("nan")
