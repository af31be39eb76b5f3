"""The formula, streamed over the training set, in one place.

score(u', u) = sum_i w_i scale< P_i s(u'; theta_i), s(u; theta_i) > weight(u)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from spanfluence.capture import Capture, check_finite_losses
from spanfluence.encoding import Encoded, length_batches
from spanfluence.errors import InputError
from spanfluence.gradients import (
    DenseGradient,
    LayerGradient,
    TextRows,
    combine,
    inner,
    pick,
    stack,
)
from spanfluence.methods import Method, UnitKind
from spanfluence.model import TextClassifier, text_losses
from spanfluence.points import ModelPoint
from spanfluence.units import Unit

Block = dict[str, Tensor]  # parameter name -> (tests, *shape of the parameter)
Solver = Callable[[Block], Block]  # P_i, applied to the test side

BATCH_TOKENS = 4096  # tokens of one gradient batch


@dataclass(frozen=True, eq=False)
class UnitGradients:
    """s(u) of a batch of units at one point, per layer, and the importance of each unit."""

    layers: list[LayerGradient]
    importance: Float[Tensor, " units"] | None

    def square_norms(self) -> Float[Tensor, "layers units"]:
        """Squared norm per layer and unit."""
        return torch.stack([layer.square_norms() for layer in self.layers])


class _Texts:
    """Distinct (text, label) pairs of a batch, ready to run: trunk states are shared by all points."""

    def __init__(self, classifier: TextClassifier) -> None:
        self.classifier = classifier
        self.encoded: list[Encoded] = []
        self._labels: list[int] = []
        self._known: dict[tuple[bytes, int], int] = {}

    def add(self, text: Encoded, label: int) -> int:
        """Index of the text in the batch; a text that several units share runs once."""
        index = self._known.setdefault((text.key, label), len(self.encoded))
        if index == len(self.encoded):
            self.encoded.append(text)
            self._labels.append(label)
        return index

    def prepare(self) -> None:
        """Collate and fetch the trunk's states."""
        if self.encoded:
            self.labels = torch.tensor(self._labels, device=self.classifier.device)
            self.inputs = self.classifier.encoder.collate(self.encoded, self.classifier.device)
            self.states = self.classifier.trunk_states(self.encoded, self.inputs, keep=True)

    def losses(self, method: Method) -> Float[Tensor, " texts"]:
        """L of each text at the classifier's present parameters, without gradients."""
        with torch.no_grad():
            logits = self.classifier.tail_logits(self.inputs, self.states)
        return text_losses(logits, self.labels, method.target)


class _UnitBatch:
    """Units that run together: their texts, and how each unit is made of them."""

    def __init__(self, side: Side, rows: Sequence[int]) -> None:
        self.method, self.kind = side.method, side.kind
        classifier = side.classifier
        self.units = [side.units[row] for row in rows]
        self.device = classifier.device
        # Masked texts need gradients only where the contrast subtracts them.
        self.texts = _Texts(classifier)
        self.masked = self.texts if self.method.contrast == "masked" else _Texts(classifier)
        encoded = [side.encoded[row] for row in rows]
        positions = np.zeros((len(rows), max(len(e) for e in encoded)), dtype=bool)
        whole, covered = [], []
        for index, (row, text) in enumerate(zip(rows, encoded, strict=True)):
            label = int(side.label_ids[row])
            whole.append(self.texts.add(text, label))
            if self.kind == "span":
                own = classifier.encoder.span_positions(text, side.units[row])
                positions[index, : len(own)] = own
                if self.method.contrast == "masked" or side.weighted:
                    covered.append((classifier.encoder.mask(text, own), label))
        # Masked texts stand together behind the whole ones, so that both are views of the batch.
        hidden = [self.masked.add(text, label) for text, label in covered]
        self.whole = torch.tensor(whole, device=self.device)
        self.hidden = torch.tensor(hidden, device=self.device)
        self.positions = torch.from_numpy(positions).to(self.device)
        self.weighted = side.weighted
        self.texts.prepare()
        if self.masked is not self.texts:
            self.masked.prepare()

    def gradients(self, capture: Capture) -> UnitGradients:
        """s(u) of every unit at the classifier's present parameters."""
        texts = self.texts
        found = capture.texts(
            texts.encoded,
            texts.labels,
            self.method.target,
            inputs=texts.inputs,
            states=texts.states,
        )
        check_finite_losses(found.losses, self._text_name)
        importance = None
        if self.weighted:
            masked = found.losses if self.masked is texts else self.masked.losses(self.method)
            importance = masked[self.hidden] - found.losses[self.whole]
        return UnitGradients([self._assemble(rows) for rows in found.layers], importance)

    def _terms(self) -> list[tuple[Tensor, float]]:
        """s(instance) = g(z); s(span) = g(z_masked) - g(z), or -g(z) unmasked."""
        if self.kind == "instance":
            return [(self.whole, 1.0)]
        if self.method.contrast == "unmasked":
            return [(self.whole, -1.0)]
        return [(self.hidden, 1.0), (self.whole, -1.0)]

    def _assemble(self, rows: TextRows) -> LayerGradient:
        if self.kind == "span" and self.method.locality == "span":
            return combine(
                [
                    (rows.of_positions(texts, self.positions).without_empty_rows(), sign)
                    for texts, sign in self._terms()
                ]
            )
        rows = rows.without_empty_rows()
        return combine([(rows.of(texts), sign) for texts, sign in self._terms()])

    def _text_name(self, text: int) -> str:
        unit = int((torch.cat([self.whole, self.hidden]) == text).nonzero()[0]) % len(self.units)
        return f"example {self.units[unit].example.id!r} ({self.units[unit].example.text[:40]!r})"


class Side:
    """The units of one side of the formula, encoded, in batches of similar length."""

    def __init__(
        self,
        classifier: TextClassifier,
        units: Sequence[Unit],
        label_ids: Int[np.ndarray, " units"],
        method: Method,
        kind: UnitKind,
        *,
        weighted: bool = False,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        self.classifier, self.units, self.label_ids = classifier, units, label_ids
        self.method, self.kind, self.weighted = method, kind, weighted
        self.encoded = classifier.encoder.encode([unit.example for unit in units])
        texts = 2 if kind == "span" and (method.contrast == "masked" or weighted) else 1
        self.batches = length_batches([texts * len(e) for e in self.encoded], batch_tokens)

    def run(self) -> Iterator[tuple[list[int], _UnitBatch]]:
        """(indices of the units, the batch ready to give gradients at any point)."""
        for rows in self.batches:
            yield rows, _UnitBatch(self, rows)


@dataclass(frozen=True, eq=False)
class _TestSide:
    """P_i s(u') of a block of tests at one point, and its norms per layer."""

    point: ModelPoint
    layers: list[LayerGradient]
    square_norms: Float[Tensor, "layers tests"]


class Influence:
    """Scores of any tests against a training set, at given points."""

    def __init__(
        self,
        classifier: TextClassifier,
        method: Method,
        points: Sequence[ModelPoint],
        solvers: Sequence[Solver | None],
    ) -> None:
        self.classifier, self.method = classifier, method
        self.points, self.solvers = points, solvers
        self.capture = Capture(classifier)

    def scores(
        self,
        tests: Side,
        train: Side,
        *,
        memory_bytes: int = 4 << 30,
        advance: Callable[[int], None] = lambda done: None,
    ) -> Float[np.ndarray, "tests units"]:
        """The score matrix. Training gradients are streamed; tests go in blocks that fit the memory.

        `advance` is called with the number of (test block, training unit) steps just done.
        """
        result = np.zeros((len(tests.units), len(train.units)), dtype=np.float64)
        for block in self._blocks(len(tests.units), memory_bytes):
            side = Side(
                self.classifier,
                [tests.units[row] for row in block],
                tests.label_ids[block],
                self.method,
                tests.kind,
            )
            prepared = [
                self._test_side(side, point, solver)
                for point, solver in zip(self.points, self.solvers, strict=True)
            ]
            for columns, batch in train.run():
                result[np.ix_(block, np.array(columns))] = (
                    self._batch_scores(prepared, batch).cpu().numpy()
                )
                advance(len(columns))
        return result.astype(np.float32)

    def _blocks(self, tests: int, memory_bytes: int) -> list[Int[np.ndarray, " rows"]]:
        each = 4 * len(self.points) * sum(p.numel() for p in self.classifier.attributed.values())
        if each > memory_bytes:
            raise InputError(
                f"one test needs {each / 1e9:.2f} GB for its gradients, more than the budget of "
                f"{memory_bytes / 1e9:.2f} GB: raise the memory or attribute fewer parameters"
            )
        blocks = max(1, -(-tests * each // memory_bytes))
        return np.array_split(np.arange(tests), blocks)

    def _test_side(self, side: Side, point: ModelPoint, solver: Solver | None) -> _TestSide:
        pieces: list[list[LayerGradient]] = []
        order: list[int] = []
        with self.classifier.at(point.parameters):
            for rows, batch in side.run():
                pieces.append(batch.gradients(self.capture).layers)
                order.extend(rows)
        back = np.argsort(np.array(order))
        layers = [pick(stack(parts), torch.from_numpy(back)) for parts in zip(*pieces, strict=True)]
        if solver is not None:
            layers = self._solved(layers, solver)
        norms = torch.stack([layer.square_norms() for layer in layers])
        return _TestSide(point, layers, norms)

    def _solved(self, layers: list[LayerGradient], solver: Solver) -> list[LayerGradient]:
        """P applied to the block: written out per parameter, solved, and gathered per layer again."""
        names = self.capture.parameter_names
        block: Block = {}
        for layer, own in zip(layers, names, strict=True):
            shapes = [self.classifier.attributed[name].shape for name in own]
            columns = layer.dense().split([shape.numel() for shape in shapes], 1)
            for name, shape, values in zip(own, shapes, columns, strict=True):
                block[name] = values.reshape(-1, *shape)
        solved = solver(block)
        return [
            DenseGradient(torch.cat([solved[name].flatten(1) for name in own], 1)) for own in names
        ]

    def _batch_scores(
        self, prepared: Sequence[_TestSide], batch: _UnitBatch
    ) -> Float[Tensor, "tests units"]:
        total: Tensor | float = 0.0
        for side in prepared:
            with self.classifier.at(side.point.parameters):
                train = batch.gradients(self.capture)
            products = torch.stack(
                [inner(a, b) for a, b in zip(side.layers, train.layers, strict=True)]
            )
            scores = scaled(products.double(), side.square_norms, train, self.method.scale)
            total = total + side.point.weight * weighted(
                scores, train.importance, self.method.weight
            )
        assert isinstance(total, Tensor)
        return total


def scaled(
    products: Float[Tensor, "layers tests units"],
    test_norms: Float[Tensor, "layers tests"],
    train: UnitGradients,
    scale: str,
) -> Float[Tensor, "tests units"]:
    """Inner products summed over layers, as they are or as cosines.

    "layer-cosine" is the mean of the layers' own cosines over those layers that have a gradient on both
    sides; a unit without any gradient scores 0.
    """
    if scale == "none":
        return products.sum(0)
    train_norms = train.square_norms()
    if scale == "cosine":
        products = products.sum(0, keepdim=True)
        test_norms, train_norms = test_norms.sum(0, keepdim=True), train_norms.sum(0, keepdim=True)
    lengths = (test_norms[:, :, None].double() * train_norms[:, None, :].double()).sqrt()
    there = lengths > 0
    cosines = torch.where(there, products / lengths.where(there, 1.0), 0.0)
    return cosines.sum(0) / there.sum(0).clamp_min(1)


def weighted(
    scores: Float[Tensor, "tests units"], importance: Float[Tensor, " units"] | None, weight: str
) -> Float[Tensor, "tests units"]:
    """Scores times the importance of the training span, where the method asks for it."""
    if weight == "none" or importance is None:
        return scores
    return scores * (importance.clamp_min(0) if weight == "positive-importance" else importance)
