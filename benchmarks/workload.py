"""What every tool of the benchmark works on: one model, one sample of texts, one set of points."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from torch import nn

from spanfluence import Example, Span, TextClassifier
from spanfluence.data.bundled import bundled_examples
from spanfluence.data.mams import read_mams
from spanfluence.encoding import Encoded
from spanfluence.points import DeltaFaithful, ModelPoint
from spanfluence.rng import numpy_generator
from spanfluence.train import train_classifier
from spanfluence.units import Unit

DATA = Path(os.environ.get("SPANFLUENCE_DATA", "../shared/data"))
TRAINING = {"epochs": 1, "learning_rate": 3e-4, "batch_size": 64}


@dataclass(frozen=True, eq=False)
class Workload:
    """`linear` is the model of `classifier` with only its linear layers attributed: all that the peers know."""

    corpus: str
    folder: Path
    classifier: TextClassifier
    linear: TextClassifier
    tests: Sequence[Example]
    train: Sequence[Example]
    seed: int
    point_count: int

    @cached_property
    def points(self) -> list[ModelPoint]:
        """Delta-faithful points of the linear layers: the same for every tool, made once in each process."""
        return DeltaFaithful(count=self.point_count).points(self.linear, self.train, self.seed)

    def few(self, spans: int) -> Workload:
        """The same tests with only the first training spans, at the same points."""
        smaller = replace(self, train=self.train[:spans])
        smaller.__dict__["points"] = self.points
        return smaller

    def test_texts(self) -> list[tuple[Encoded, int]]:
        """(text, label) of every test: masked, whole, masked, whole ..."""
        return self._texts(self.tests)

    def train_texts(self) -> list[tuple[Encoded, int]]:
        """(text, label) of every training span: masked, whole, masked, whole ..."""
        return self._texts(self.train)

    def _texts(self, examples: Sequence[Example]) -> list[tuple[Encoded, int]]:
        masked = self.linear.encode_units([Unit(e, e.spans) for e in examples])
        whole = self.linear.encoder.encode(examples)
        labels = self.linear.label_ids(examples, "given").tolist()
        return [
            pair
            for hidden, text, label in zip(masked, whole, labels, strict=True)
            for pair in ((hidden, label), (text, label))
        ]


def of_differences(raw: np.ndarray) -> np.ndarray:
    """(g'_m - g').(g_m - g) of every pair of spans from the products of all their texts."""
    tests, train = raw.shape[0] // 2, raw.shape[1] // 2
    blocks = raw.reshape(tests, 2, train, 2)
    return blocks[:, 0, :, 0] - blocks[:, 0, :, 1] - blocks[:, 1, :, 0] + blocks[:, 1, :, 1]


def by_length(texts: Sequence[tuple[Encoded, int]]) -> np.ndarray:
    """An order in which neighbours are alike in length, so that batches hold little padding."""
    return np.argsort([len(text) for text, _ in texts], kind="stable")


def middle_quarter(example: Example) -> Example:
    """The example with one span: the middle quarter of its words."""
    words = [match.span() for match in re.finditer(r"\S+", example.text)]
    count = max(1, len(words) // 4)
    first = (len(words) - count) // 2
    return replace(example, spans=(Span(words[first][0], words[first + count - 1][1]),))


def corpus() -> tuple[str, list[Example], list[Example]]:
    """(name, training texts, test texts) of MAMS, or of the bundled corpus where MAMS is absent."""
    folder = DATA / "mams"
    if (folder / "train.xml").is_file():
        return "MAMS", read_mams(folder / "train.xml"), read_mams(folder / "test.xml")
    return "the bundled corpus", bundled_examples("train"), bundled_examples("test")


def sample(examples: Sequence[Example], count: int, seed: int, purpose: str) -> list[Example]:
    """Random examples, each with its span; a larger sample begins with the smaller one."""
    order = numpy_generator(seed, purpose).permutation(len(examples))[:count]
    return [middle_quarter(replace(examples[i], id=f"{purpose}-{i}")) for i in order.tolist()]


def trained(train: Sequence[Example], count: int, out: Path, seed: int) -> Path:
    """MiniLM after one epoch of its last two layers on some texts: its gradients are real ones."""
    chosen = sample(train, count, seed, "fine-tuning")
    train_classifier(chosen, base="minilm", out=out, seed=seed, **TRAINING)
    return out


def workload(run: Path, tests: int, spans: int, *, points: int, seed: int) -> Workload:
    """The sample of a size, and the model of a run folder."""
    name, train, test = corpus()
    classifier = TextClassifier.load(run)
    return Workload(
        corpus=name,
        folder=run,
        classifier=classifier,
        linear=TextClassifier.load(run, attribute=linear_parameters(classifier)),
        tests=sample(test, tests, seed, "test"),
        train=sample(train, spans, seed, "train"),
        seed=seed,
        point_count=points,
    )


def linear_parameters(classifier: TextClassifier) -> list[str]:
    """Names of those attributed parameters that belong to linear layers."""
    modules = dict(classifier.model.named_modules())
    return [
        name
        for name in classifier.attributed
        if isinstance(modules[name.rpartition(".")[0]], nn.Linear)
    ]


def linear_layers(classifier: TextClassifier) -> list[str]:
    """Names of the attributed linear modules."""
    return list(dict.fromkeys(name.rpartition(".")[0] for name in linear_parameters(classifier)))


@contextmanager
def open_parameters(model: nn.Module, names: Sequence[str]) -> Iterator[dict[str, nn.Parameter]]:
    """Let some parameters of a model require gradients for a while."""
    chosen = {name: p for name, p in model.named_parameters() if name in set(names)}
    for parameter in chosen.values():
        parameter.requires_grad_(True)
    try:
        yield chosen
    finally:
        for parameter in chosen.values():
            parameter.requires_grad_(False)
