"""The only code that retrains: many fits of one tail, in memory, over one store of trunk states.

A text is run through the frozen trunk once, whatever number of subsets, masks or changed labels it takes
part in afterwards. A retraining starts from the base model and a seed, as `train_classifier` does, runs
a fixed number of epochs, and selects nothing. `for_rows` is the same recipe with smaller batches, for a
training set so small that the run's batches would be too few steps to learn anything.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int

from spanfluence.data import fingerprint
from spanfluence.errors import InputError
from spanfluence.files import write_text_atomic
from spanfluence.loading import base_fingerprint, load_parts
from spanfluence.model import TextClassifier
from spanfluence.points import ModelPoint
from spanfluence.rng import derive_seed
from spanfluence.runs import RunFolder
from spanfluence.stages import settings_fingerprint
from spanfluence.states import StateStore
from spanfluence.tail import TailFit, TrainSettings, checked_precision, slow_in_bfloat16
from spanfluence.units import Example, Unit

STORE_BYTES = 3 << 30
LAST = 3  # epochs whose parameters are kept as checkpoints
LEAST_BATCH = 16
"""Smaller batches learn no more (1,000 rows of MAMS), and a step costs as much as several rows."""
HELD_SEEDS = 4  # untrained classifiers kept in memory; seeds take turns within one subset
WEIGHTS = "weights"


@dataclass(frozen=True)
class Retrained:
    """A classifier fitted in memory, and the points of its last epochs (for TracIn and control)."""

    classifier: TextClassifier
    checkpoints: tuple[ModelPoint, ...]

    def arrays(self) -> dict[str, np.ndarray]:
        """The points as plain arrays; the last one is the classifier itself (`Retrainer.restored`)."""
        found = {
            f"{point.name}/{name}": value.cpu().numpy()
            for point in self.checkpoints
            for name, value in point.parameters.items()
        }
        return {WEIGHTS: np.array([point.weight for point in self.checkpoints]), **found}


@dataclass
class _Shared:
    """What a retrainer and its copies for other numbers of rows have in common."""

    store: StateStore = field(default_factory=lambda: StateStore(STORE_BYTES))
    fits: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    fresh: dict[int, tuple[TextClassifier, dict[str, torch.Tensor]]] = field(default_factory=dict)


class Retrainer:
    """Fits the tail of `base` again and again; trunk states are shared by all fits.

    What is trained on is given as units: an example with its label, and the spans of it that are
    *masked* during training (none: the whole text is seen). `cache` is a folder for results; equal
    trainings are never repeated. `rows`: the size of the training set that `epochs` were chosen on.
    `precision`: of matrix products; bfloat16 is up to twice as fast where the processor has it.
    """

    def __init__(
        self,
        base: str | Path,
        labels: Sequence[str],
        settings: TrainSettings,
        *,
        epochs: int | None = None,
        rows: int | None = None,
        precision: str = "float32",
        device: str = "cpu",
        cache: Path | None = None,
        show: bool = False,
    ) -> None:
        self.base, self.labels, self.settings = base, tuple(labels), settings
        self.epochs, self.rows = epochs or settings.epochs, rows
        if len(self.labels) < 2:
            raise InputError(f"labels {list(labels)} are a single class: retraining needs two")
        if not 1 <= self.epochs <= settings.epochs:
            raise InputError(f"epochs={self.epochs} must lie between 1 and {settings.epochs}")
        self.precision = checked_precision(precision)
        if precision == "bfloat16" and slow_in_bfloat16(device):
            warnings.warn(
                "this processor has no instructions for bfloat16: retraining in it is slower than in float32",
                stacklevel=2,
            )
        self.device, self.cache, self.show = device, cache, show
        self._base_files = base_fingerprint(base)
        self._shared = _Shared()
        self._whole = self  # the recipe of the run, which every other is reckoned from

    @property
    def store(self) -> StateStore:
        """Trunk states of every text seen so far."""
        return self._shared.store

    @property
    def fits(self) -> int:
        """Trainings really run, not taken from the cache."""
        return self._shared.fits

    @property
    def seconds(self) -> dict[str, float]:
        """Time of each training by its result, also of those that came from the cache."""
        return self._shared.seconds

    @classmethod
    def of_run(cls, run: RunFolder, **options: Any) -> Retrainer:
        """The recipe of a run: its base, labels and settings, for as many epochs as were selected."""
        record = run.record()
        own = run.settings()
        attribute = own["attribute"]
        if isinstance(attribute, list):
            attribute = tuple(attribute)
        settings = TrainSettings(**{**own, "attribute": attribute})
        given = {"epochs": record["selected_epoch"], "rows": record["train"]["examples"]}
        found = cls(record["base"], record["labels"], settings, **{**given, **options})
        if record.get("base_files", found._base_files) != found._base_files:
            raise InputError(
                f"the base model {record['base']} is not what {run.path} was trained from: its files have "
                "changed; put them back, or train anew"
            )
        return found

    def for_rows(self, rows: int) -> Retrainer:
        """The recipe for a training set of so many rows: an epoch has about as many steps as the run's.

        batch' = max(LEAST_BATCH, batch * rows / rows of the run),  rate' = rate * sqrt(batch' / batch)

        The square root is how Adam's rate goes with the noise of a batch. More epochs of the run's batches
        instead would cost several times as much and do no better (experiments/LOG.md). Batches never
        grow; states, cache and counts are shared. Without a known size of the run the recipe stays as it is.
        """
        whole = self._whole
        result = copy.copy(whole)
        size = whole.settings.batch_size
        if whole.rows is not None and rows < whole.rows:
            batch = min(size, max(LEAST_BATCH, round(size * rows / whole.rows)))
            rate = whole.settings.learning_rate * math.sqrt(batch / size)
            result.settings = replace(whole.settings, batch_size=batch, learning_rate=rate)
        return result

    @property
    def course(self) -> str:
        """How long it trains, in words."""
        words = f"{self.epochs} epochs in batches of {self.settings.batch_size}"
        return words if self.precision == "float32" else f"{words}, products in {self.precision}"

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything a retraining depends on beside its texts and its seed."""
        settings = {k: v for k, v in asdict(self.settings).items() if k not in ("seed", "keep")}
        found = {
            "base": str(self.base),
            "labels": list(self.labels),
            "settings": settings,
            "epochs": self.epochs,
        }
        if self._base_files is not None:
            found["base_files"] = self._base_files
        # Only where it is another than that of the run, so that results of before stay known.
        return found if self.precision == "float32" else {**found, "precision": self.precision}

    def train(self, units: Sequence[Unit], seed: int) -> Retrained:
        """Fit the tail to the units. The classifier is this retrainer's own until its next `train`."""
        classifier = self._start(seed)
        ids = classifier.label_ids([unit.example for unit in units], "given")
        if len(set(ids.tolist())) < 2:
            raise InputError("the training set holds a single class: a classifier needs two")
        settings = replace(self.settings, seed=seed)
        encoded = classifier.encode_units(units)
        fit = TailFit(classifier, settings, encoded, ids, precision=self.precision)
        fit.fill_states()
        points = []
        for epoch in range(1, self.epochs + 1):
            fit.run_epoch(epoch)
            if epoch > self.epochs - LAST:
                own = {n: p.detach().clone() for n, p in classifier.attributed.items()}
                points.append(ModelPoint(f"epoch-{epoch:03d}", settings.rate(epoch), own))
        self._shared.fits += 1
        return Retrained(classifier, tuple(points))

    def logits(
        self, units: Sequence[Unit], tests: Sequence[Example], seed: int
    ) -> Float[np.ndarray, "tests classes"]:
        """What a model trained on `units` says of `tests`; taken from the cache where it is there."""
        key = self._key(units, tests, seed)
        file = None if self.cache is None else self.cache / f"{key}.json"
        if file is not None and file.is_file():
            record = json.loads(file.read_text(encoding="utf-8"))
            self.seconds[key] = record["seconds"]
            return np.array(record["logits"])
        start = time.perf_counter()
        classifier = self.train(units, seed).classifier
        found = classifier.logits(classifier.encoder.encode(tests), keep=True)
        self.seconds[key] = round(time.perf_counter() - start, 3)
        # Rounded alike in memory and on disk, so that a resumed job gives the same figures.
        rounded = [[round(float(value), 5) for value in row] for row in found]
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            record = {"seed": seed, "seconds": self.seconds[key], "logits": rounded}
            write_text_atomic(file, json.dumps(record) + "\n")
        return np.array(rounded)

    def restored(self, arrays: Mapping[str, np.ndarray], seed: int) -> Retrained:
        """A training of this seed from its `Retrained.arrays`, in a classifier of its own."""
        names = sorted({key.split("/")[0] for key in arrays if key != WEIGHTS})
        points = tuple(
            ModelPoint(name, float(weight), _tensors(arrays, f"{name}/"))
            for name, weight in zip(names, arrays[WEIGHTS], strict=True)
        )
        classifier = self._build(seed)
        _copy(points[-1].parameters, classifier)
        return Retrained(classifier, points)

    def _start(self, seed: int) -> TextClassifier:
        """The untrained classifier of a seed: new head, first values of the tail, shared states."""
        held = self._shared.fresh
        if seed not in held:
            if len(held) >= HELD_SEEDS:
                held.pop(next(iter(held)))
            classifier = self._build(seed)
            first = {n: p.detach().clone() for n, p in classifier.attributed.items()}
            held[seed] = (classifier, first)
        classifier, first = held[seed]
        _copy(first, classifier)
        return classifier

    def _build(self, seed: int) -> TextClassifier:
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(seed, "head"))
            model, tokenizer = load_parts(self.base, labels=self.labels)
        classifier = TextClassifier(
            model,
            tokenizer,
            attribute=self.settings.attribute,
            device=self.device,
            max_length=self.settings.max_length,
        )
        classifier.states = self.store
        return classifier

    def _key(self, units: Sequence[Unit], tests: Sequence[Example], seed: int) -> str:
        digest = hashlib.sha256(settings_fingerprint(self.recipe).encode())
        digest.update(fingerprint(replace(u.example, spans=u.spans) for u in units).encode())
        digest.update(fingerprint(tests).encode())
        return f"{digest.hexdigest()[:32]}-{seed}"


def _tensors(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, torch.Tensor]:
    return {
        key.removeprefix(prefix): torch.from_numpy(value.copy())
        for key, value in arrays.items()
        if key.startswith(prefix)
    }


def _copy(values: Mapping[str, torch.Tensor], classifier: TextClassifier) -> None:
    for name, parameter in classifier.attributed.items():
        parameter.data.copy_(values[name])


def accuracy(
    logits: Float[np.ndarray, "tests classes"], label_ids: Int[np.ndarray, " tests"]
) -> float:
    """Share of the tests whose highest logit is that of their label."""
    return float((logits.argmax(axis=1) == label_ids).mean())


def log_odds(
    logits: Float[np.ndarray, "tests classes"], label_ids: Int[np.ndarray, " tests"]
) -> Float[np.ndarray, " tests"]:
    """log p / (1 - p) of each test's label: what subsets are compared by."""
    rows = np.arange(len(logits))
    own = logits[rows, label_ids]
    others = logits.astype(np.float64).copy()
    others[rows, label_ids] = -np.inf
    top = others.max(axis=1)
    return np.asarray(own - top - np.log(np.exp(others - top[:, None]).sum(axis=1)))
