"""A classifier's training set as curvature sees it, and the operators of one model point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from spanfluence.allocator import keep_freed_memory
from spanfluence.capture import Capture
from spanfluence.curvature import Block, Operator
from spanfluence.curvature.cg import Cg
from spanfluence.curvature.ekfac import Ekfac
from spanfluence.curvature.ggn import Ggn
from spanfluence.curvature.hessian import Hessian, hessian_of
from spanfluence.curvature.lissa import Lissa
from spanfluence.curvature.rows import CurvatureRows
from spanfluence.encoding import length_batches
from spanfluence.errors import InputError
from spanfluence.gradients import LayerGradient, stack
from spanfluence.model import MAX_TOKENS, TextClassifier, text_losses
from spanfluence.points import ModelPoint
from spanfluence.precise import precise
from spanfluence.rng import numpy_generator
from spanfluence.trim import Attend, attend_tokens
from spanfluence.units import Example

Curvature = Lissa | Ggn | Ekfac | Cg

KINDS: dict[str, type[Curvature]] = {"lissa": Lissa, "ggn": Ggn, "ekfac": Ekfac, "cg": Cg}


class TrainingProblem:
    """Cross-entropy of the given labels at the classifier's present parameters."""

    def __init__(
        self, classifier: TextClassifier, train: Sequence[Example], capture: Capture
    ) -> None:
        self.classifier, self.capture = classifier, capture
        self._encoded = classifier.encoder.encode(train)
        self._labels = torch.from_numpy(classifier.label_ids(train, "given")).to(classifier.device)

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """The classifier's attributed parameters."""
        return self.classifier.attributed

    def __len__(self) -> int:
        return len(self._encoded)

    def loss(self, index: int, attend: Attend = attend_tokens) -> Tensor:
        """Cross-entropy of one training instance; `attend`: how a trimmed last block does."""
        batch = [self._encoded[index]]
        inputs = self.classifier.encoder.collate(batch, self.classifier.device)
        states = self.classifier.trunk_states(batch, inputs, keep=True)
        logits = self.classifier.tail_logits(inputs, states, attend)
        return text_losses(logits, self._labels[index : index + 1], "loss").sum()

    def hessian(self, index: int) -> AbstractContextManager[Hessian]:
        """H_k of one instance at the present parameters."""
        return hessian_of(self.capture.layers, partial(self.loss, index))

    def rows(
        self, point: ModelPoint, sample: int, seed: int, *, by_token: bool = False
    ) -> CurvatureRows:
        """Gauss-Newton rows of a seeded sample of training instances at a point."""
        rng = numpy_generator(seed, "curvature sample")
        chosen = np.sort(rng.choice(len(self), size=min(sample, len(self)), replace=False))
        pieces: list[list[LayerGradient]] = []
        with self.classifier.at(point.parameters):
            for group in length_batches([len(self._encoded[i]) for i in chosen], MAX_TOKENS):
                batch = [self._encoded[chosen[row]] for row in group]
                inputs = self.classifier.encoder.collate(batch, self.classifier.device)
                states = self.classifier.trunk_states(batch, inputs, keep=True)
                each = torch.arange(len(batch), device=self.classifier.device)[:, None]
                for found in self.capture.objectives(inputs, states, curvature_directions):
                    own = [
                        (layer.by_token if by_token else layer).units(each)
                        for layer in found.layers
                    ]
                    pieces.append(own)
        layers = [stack(parts) for parts in zip(*pieces, strict=True)]
        return CurvatureRows(layers, len(chosen), self.classifier.device)


def curvature_directions(
    logits: Float[Tensor, "texts classes"],
) -> list[Float[Tensor, " texts"]]:
    """Functions l_k'f of the logits f with sum_k l_k l_k' = diag(p) - pp', p held fixed."""
    p = torch.softmax(precise(logits.detach()), 1)
    values, vectors = torch.linalg.eigh(torch.diag_embed(p) - p[:, :, None] * p[:, None, :])
    # The least eigenvalue belongs to the constant vector and is 0: adding to all logits changes nothing.
    factors = (vectors * values.clamp_min(0).sqrt()[:, None, :])[..., 1:].to(logits)
    return [(logits * factors[..., k]).sum(1) for k in range(factors.shape[-1])]


def operator_at(curvature: Curvature, problem: TrainingProblem, point: ModelPoint) -> Operator:
    """The operator of one model point."""
    keep_freed_memory()  # every step of a solve takes and frees the same large blocks
    if isinstance(curvature, Lissa):
        return LissaOperator(curvature, problem, point)
    size = sum(p.numel() for p in problem.parameters.values())
    # EK-FAC averages over the inputs of single tokens.
    by_token = isinstance(curvature, Ekfac)
    rows = problem.rows(point, curvature.sample, curvature.seed, by_token=by_token)
    return curvature.operator(rows, size)


class LissaOperator:
    """LiSSA at one model point."""

    def __init__(self, settings: Lissa, problem: TrainingProblem, point: ModelPoint) -> None:
        self.settings, self.problem, self.point = settings, problem, point
        self.damping = settings.damping

    def solve(self, block: Block) -> Block:
        """Estimates for all vectors of the block."""
        with self.problem.classifier.at(self.point.parameters):
            return self.settings.solve(self.problem, block)


def curvature_named(
    name: str, damping: float | str | None, sample: int | None, seed: int
) -> Curvature:
    """Settings by name, with the user's lambda and sample size where given."""
    options: dict[str, object] = {"seed": seed}
    if damping is not None:
        if name == "lissa" and damping == "auto":
            raise InputError(
                "damping='auto' needs a Gauss-Newton curvature: 'ggn', 'ekfac' or 'cg'"
            )
        options["damping"] = damping
    if sample is not None:
        if name == "lissa":
            raise InputError("LiSSA draws from the whole training set: leave the sample size out")
        options["sample"] = sample
    make: Callable[..., Curvature] = KINDS[name]
    return make(**options)
