"""What every evaluation stands on: a model, its training set, tests, sizes, and the cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from torch import Tensor

from spanfluence.baselines import Embedder
from spanfluence.data import fingerprint
from spanfluence.errors import InputError
from spanfluence.evaluation.sizes import Sizes
from spanfluence.methods import UnitKind
from spanfluence.metrics import average_ranks
from spanfluence.model import TextClassifier
from spanfluence.points import ModelPoint, checkpoint_points
from spanfluence.progress import progress_bar
from spanfluence.retrain import Retrained, Retrainer, accuracy
from spanfluence.rng import numpy_generator
from spanfluence.scoring import (
    DEFAULT_METHODS,
    MEMORY,
    Asked,
    Scored,
    all_scores,
    baseline_scores,
    method_row,
)
from spanfluence.stages import Stages, settings_fingerprint
from spanfluence.states import StateStore
from spanfluence.units import Example, Unit


@dataclass(frozen=True)
class Bench:
    """One model under evaluation.

    `tests` are explained (labelled, with spans); accuracy is measured on `held_out`.
    """

    classifier: TextClassifier
    train: Sequence[Example]
    tests: Sequence[Example]
    held_out: Sequence[Example]
    retrainer: Retrainer
    stages: Stages
    embed: Embedder
    sizes: Sizes = field(default_factory=Sizes)
    methods: Mapping[str, Asked] = field(default_factory=lambda: dict(DEFAULT_METHODS))
    seed: int = 0
    show: bool = False
    memory_bytes: int = MEMORY
    checkpoints: tuple[ModelPoint, ...] = ()
    votes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Further lists by name: the mean rank in the lists of several methods."""
    name: str = "scores"
    attribute: tuple[str, ...] = ()
    """Parameters that scores of trained models speak of, where they are not those that were trained."""
    encoder: str = ""
    """Name of the sentence encoder behind `embed`, where it is known."""
    training_seconds: float | None = None
    """Time that the run's training took, where it is known."""

    @cached_property
    def _units(self) -> dict[str, list[Unit]]:
        return {}

    @cached_property
    def identity(self) -> dict[str, str]:
        """Fingerprints of everything the results depend on."""
        return {
            "model": parameters_fingerprint(self.classifier, whole=bool(self.attribute)),
            "train": fingerprint(self.train),
            "tests": fingerprint(self.tests),
            "encoder": self.encoder,
        }

    @cached_property
    def _history(self) -> str:
        """Fingerprint of the checkpoints that some methods sum over."""
        points = self.checkpoints or checkpoint_points(self.classifier)
        digest = hashlib.sha256()
        for point in points:
            digest.update(f"{point.name} {point.weight} {_values(point.parameters)}".encode())
        return digest.hexdigest()

    def settings(self, **more: Any) -> dict[str, Any]:
        """The settings of a stage of this bench."""
        return {**self.identity, "seed": self.seed, **more}

    @property
    def sentences(self) -> list[str]:
        """The text of each test: tests about one sentence are no independent ones."""
        return [test.text for test in self.tests]

    @cached_property
    def scored(self) -> list[Scored]:
        """The lists of all methods and baselines; each is a stage of its own."""
        self.fill(self.methods)
        found = [self.scores_of(name, asked) for name, asked in self.methods.items()]
        return [*found, *rank_votes(found, self.votes), *self.baselines]

    @cached_property
    def baselines(self) -> list[Scored]:
        """The cheap lists; quick enough to be made anew."""
        return baseline_scores(
            self.train, self.tests, self.embed, seed=self.seed, units=self.units("span")
        )

    def units(self, kind: UnitKind) -> list[Unit]:
        """The training units of a method, in the order of its scores' columns."""
        if kind not in self._units:
            self._units[kind] = self.classifier.visible_units(self.train, kind)
        return self._units[kind]

    def scores_of(self, name: str, asked: Asked, *, seed: int | None = None) -> Scored:
        """One method's list, from the cache where it is there."""
        seed = self.seed if seed is None else seed
        self.fill({name: asked}, seed)
        arrays = self.stages.arrays(*self._stage(name, asked, seed), dict)
        return Scored(
            name,
            self.units(method_row(asked).units[1]),
            arrays["scores"],
            int(arrays["paper_sign"]),
            distances=tuple(arrays["distances"].tolist()),
        )

    def has(self, name: str, asked: Asked) -> bool:
        """Whether a method's list is there already."""
        return self.stages.has(*self._stage(name, asked, self.seed))

    def _stage(self, name: str, asked: Asked, seed: int) -> tuple[str, dict[str, Any]]:
        key = settings_fingerprint({"name": name, "seed": seed})[:8]
        settings = self.settings(asked=dict(asked), method_seed=seed)
        if method_row(asked).points == "checkpoints":
            settings["checkpoints"] = self._history
        return f"{self.name}/{_slug(name)}-{key}", settings

    def fill(self, methods: Mapping[str, Asked], seed: int | None = None) -> None:
        """Compute the lists that are not there yet; each is kept as soon as its pass is done."""
        seed = self.seed if seed is None else seed
        missing = {
            name: asked
            for name, asked in methods.items()
            if not self.stages.has(*self._stage(name, asked, seed))
        }
        if not missing:
            return
        self.stages.say(f"{self.name}: {', '.join(missing)} ...")
        for scored in all_scores(
            self.classifier,
            self.train,
            self.tests,
            missing,
            seed=seed,
            checkpoints=self.checkpoints,
            memory_bytes=self.memory_bytes,
            show=self.show,
        ):
            found = {
                "scores": scored.scores,
                "paper_sign": np.array(scored.paper_sign),
                "distances": np.array(scored.distances),
            }
            stage = self._stage(scored.name, missing[scored.name], seed)
            self.stages.arrays(*stage, partial(dict, found), seconds=scored.seconds)

    def each(self, what: str, items: Sequence[Any], every: int = 1) -> Iterator[Any]:
        """The items one after the other, with a bar on a terminal and a line in a log."""
        with progress_bar(what, len(items), show=self.show) as advance:
            for number, item in enumerate(items, start=1):
                yield item
                advance(1)
                if number % every == 0:
                    self.stages.say(f"{what}: {number} of {len(items)}")

    @property
    def times(self) -> dict[str, float]:
        """Seconds of the training, and of all stages and retrainings of the folder when computed."""
        found = {}
        if self.training_seconds is not None:
            found["training of the run"] = round(self.training_seconds, 3)
        found |= self.stages.all_seconds()
        again = self._retrainings()
        if again:
            found[f"retraining ({len(again)} trainings)"] = round(sum(again.values()), 3)
        return found

    def _retrainings(self) -> dict[str, float]:
        """Seconds by result: those of this call, and of earlier ones from the cache."""
        found = dict(self.retrainer.seconds)
        for file in sorted(self.retrainer.cache.glob("*.json")) if self.retrainer.cache else ():
            if file.stem not in found:
                found[file.stem] = float(json.loads(file.read_text(encoding="utf-8"))["seconds"])
        return found

    def labels(self, examples: Sequence[Example]) -> np.ndarray:
        """Class indices of given labels."""
        return self.classifier.label_ids(examples, "given")

    def rights(self, units: Sequence[Unit]) -> np.ndarray:
        """1 where a held-out row is right after training on the units (seeds, rows)."""
        labels, known = self.labels(self.held_out), set(self.labels([u.example for u in units]))
        seeds = range(self.seed, self.seed + self.sizes.seeds)
        if len(known) == 1:  # nothing to learn: whatever is asked, that class is the answer
            return np.array([labels == max(known) for _ in seeds], dtype=np.float64)
        found = [
            self.retrainer.logits(units, self.held_out, seed).argmax(axis=1) == labels
            for seed in seeds
        ]
        return np.array(found, dtype=np.float64)

    @property
    def held_out_sentences(self) -> list[str]:
        """The text of each held-out row; several rows may ask about one."""
        return [row.text for row in self.held_out]

    @cached_property
    def accuracy(self) -> float:
        """Share of the held-out rows that this bench's classifier gets right."""
        settings = {"model": self.identity["model"], "held_out": fingerprint(self.held_out)}
        name = f"accuracy/{settings_fingerprint(settings)[:12]}"
        found = self.stages.values(name, settings, lambda: held_out_accuracy(self))
        return float(found)

    def fitted(self, name: str, train: Sequence[Example], seed: int) -> Retrained:
        """The recipe for so many rows, trained on these.

        What was learned is kept as a stage: asked again, by whatever measure, nothing is trained, and
        no result hangs on a second training being equal to the bit.
        """
        retrainer = self.retrainer.for_rows(len(train))
        # A whole text is trained on, so its spans and its name do not matter.
        bare = fingerprint(replace(example, spans=(), id=None) for example in train)
        settings = {"recipe": retrainer.recipe, "train": bare, "seed": seed}
        stage = f"models/{name}-{settings_fingerprint(settings)[:12]}"
        units = [Unit(example) for example in train]
        arrays = self.stages.arrays(stage, settings, lambda: retrainer.train(units, seed).arrays())
        return retrainer.restored(arrays, seed)

    def attributed(self, model: Retrained) -> Retrained:
        """The model with the parameters that this bench's scores speak of."""
        if not self.attribute:
            return model
        model.classifier.states = StateStore()  # its trunk ends elsewhere than that of all others
        model.classifier.attribute_parameters(self.attribute)
        return replace(model, checkpoints=())

    def attributing(self, attribute: tuple[str, ...]) -> Bench:
        """The same bench with scores that speak of other parameters than those that are trained."""
        own = self.classifier
        classifier = TextClassifier(
            own.model,
            own.tokenizer,
            attribute=attribute,
            device=str(own.device),
            max_length=own.encoder.max_length,
            mask_mode=own.encoder.mask_mode,
        )
        return replace(self, classifier=classifier, checkpoints=(), attribute=attribute)

    def small(self, name: str, size: int | None, tests: int | None = None) -> Bench:
        """The same recipe on a seeded part of the training set and of the tests, trained anew.

        Parts of one size are the same rows and one model, whatever they are drawn for. What is
        retrained on the part keeps its recipe (`Retrainer.for_rows`).
        """
        train = draw(self.train, size, self.seed, "small train")
        model = self.attributed(self.fitted("small", train, self.seed))
        return replace(
            self,
            classifier=model.classifier,
            checkpoints=model.checkpoints,
            retrainer=self.retrainer.for_rows(len(train)),
            train=train,
            tests=draw(self.tests, tests, self.seed, "small tests"),
            name=f"{name}/scores",
        )


def held_out_accuracy(bench: Bench, classifier: TextClassifier | None = None) -> float:
    """Share of the bench's held-out rows that a classifier (its own) gets right."""
    classifier = classifier or bench.classifier
    encoded = classifier.encoder.encode(bench.held_out)
    return accuracy(classifier.logits(encoded, keep=True), bench.labels(bench.held_out))


def rank_votes(lists: Sequence[Scored], votes: Mapping[str, tuple[str, ...]]) -> list[Scored]:
    """New lists by the mean rank of a unit in several methods' lists over the same units."""
    by_name = {scored.name: scored for scored in lists}
    found = []
    for name, members in votes.items():
        own = [by_name[member] for member in members]
        ranks = [[average_ranks(row) for row in scored.scores] for scored in own]
        found.append(Scored(name, own[0].units, np.mean(ranks, axis=0)))
    return found


def draw(examples: Sequence[Example], size: int | None, seed: int, purpose: str) -> list[Example]:
    """At most `size` examples in the order of the file, drawn from the seed."""
    if size is None or size >= len(examples):
        return list(examples)
    if size < 1:
        raise InputError(f"size={size} must be at least 1")
    rows = numpy_generator(seed, purpose).choice(len(examples), size, replace=False)
    return [examples[row] for row in sorted(rows.tolist())]


def parameters_fingerprint(classifier: TextClassifier, *, whole: bool = False) -> str:
    """SHA-256 of the attributed parameters (or all of the model's) and the labels."""
    digest = hashlib.sha256("|".join(classifier.labels).encode())
    own = dict(classifier.model.named_parameters()) if whole else classifier.attributed
    digest.update(_values(own).encode())
    if whole:
        digest.update("|".join(sorted(classifier.attributed)).encode())
    return digest.hexdigest()


def _values(parameters: Mapping[str, Tensor]) -> str:
    """SHA-256 of named numbers."""
    digest = hashlib.sha256()
    for name, values in sorted(parameters.items()):
        digest.update(name.encode())
        digest.update(values.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "+-" else "-" for c in name).strip("-")[:60] or "x"
