"""A classifier's training set as `TrainingLosses`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from spanfluence.curvature import Block
from spanfluence.curvature.lissa import Lissa
from spanfluence.model import TextClassifier, text_losses
from spanfluence.points import ModelPoint
from spanfluence.units import Example


class ClassifierLosses:
    """Cross-entropy of the given labels at the classifier's present parameters."""

    def __init__(self, classifier: TextClassifier, train: Sequence[Example]) -> None:
        self.classifier = classifier
        self._encoded = classifier.encoder.encode(train)
        self._labels = torch.from_numpy(classifier.label_ids(train, "given")).to(classifier.device)

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """The classifier's attributed parameters."""
        return self.classifier.attributed

    def __len__(self) -> int:
        return len(self._encoded)

    def loss(self, index: int) -> Tensor:
        """Cross-entropy of one training instance."""
        batch = [self._encoded[index]]
        inputs = self.classifier.encoder.collate(batch, self.classifier.device)
        states = self.classifier.trunk_states(batch, inputs, keep=True)
        logits = self.classifier.tail_logits(inputs, states)
        return text_losses(logits, self._labels[index : index + 1], "loss").sum()

    @contextmanager
    def differentiable(self, point: ModelPoint) -> Iterator[None]:
        """The classifier at a point, with parameters that require gradients."""
        leaves = list(self.classifier.attributed.values())
        with self.classifier.at(point.parameters):
            for leaf in leaves:
                leaf.requires_grad_(True)
            try:
                yield
            finally:
                for leaf in leaves:
                    leaf.requires_grad_(False)


def lissa_solver(
    operator: Lissa, problem: ClassifierLosses, point: ModelPoint
) -> Callable[[Block], Block]:
    """P at one point as a function of a block."""

    def solve(block: Block) -> Block:
        with problem.differentiable(point):
            return operator.solve(problem, block)

    return solve
