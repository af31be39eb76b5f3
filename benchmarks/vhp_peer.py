"""LiSSA one test at a time with `torch.autograd.functional.vhp`, the paper's way, beside our batched solver."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call
from workload import Workload

from spanfluence.capture import Capture
from spanfluence.curvature import Block
from spanfluence.curvature.lissa import Lissa
from spanfluence.curvature.problem import TrainingProblem, operator_at
from spanfluence.points import final_point
from spanfluence.rng import numpy_generator


@dataclass(frozen=True)
class Solve:
    """Seconds per test and step, and what was found for the first test, flat."""

    seconds: float
    first: np.ndarray


def settings(steps: int) -> Lissa:
    """The paper's, for exactly so many steps."""
    return Lissa(max_steps=steps, tolerance=0.0)


class Comparison:
    """Both ways at the final point, over the default attributed parameters."""

    def __init__(self, work: Workload) -> None:
        self.work, self.classifier = work, work.classifier
        self.capture = Capture(self.classifier)
        self.problem = TrainingProblem(self.classifier, work.train, self.capture)
        self.point = final_point(self.classifier)[0]

    def block(self, tests: int) -> Block:
        """g(z_masked) - g(z) of the first tests, per layer; tests are repeated where there are too few."""
        texts = self.work.test_texts()[: 2 * tests]
        labels = torch.tensor([label for _, label in texts])
        found = self.capture.texts([text for text, _ in texts], labels, "loss")
        terms = torch.arange(len(texts)).view(-1, 2)
        signs = torch.tensor([[1.0, -1.0]]).expand(len(terms), 2)
        rows = torch.arange(tests) % len(terms)
        return [layer.units(terms, signs).dense()[rows].contiguous() for layer in found.layers]

    def ours(self, tests: int, steps: int) -> Solve:
        """A block of tests; trunk states are computed in the first steps that need them."""
        self.classifier.states.clear()
        block = self.block(tests)
        operator = operator_at(settings(steps), self.problem, self.point)
        began = time.perf_counter()
        solved = operator.solve(block)
        seconds = (time.perf_counter() - began) / (tests * steps)
        return Solve(seconds, torch.cat([values[0] for values in solved]).numpy())

    def by_vhp(self, steps: int) -> Solve:
        """One test: the whole model, its attributed parameters as variables."""
        chosen = settings(steps)
        order = numpy_generator(chosen.seed, "lissa").integers(len(self.problem), size=steps)
        names = [name for layer in self.capture.parameter_names for name in layer]
        values = tuple(self.point.parameters[name] for name in names)
        start = self._split(self.block(1), names)
        model = copy.deepcopy(self.classifier.model)
        running = start
        began = time.perf_counter()
        for index in order.tolist():
            loss = self._loss(model, names, index)
            _, products = torch.autograd.functional.vhp(loss, values, running)
            running = tuple(
                v
                + (1 - chosen.damping * chosen.scale) * h
                - chosen.scale * push.clamp(-chosen.clamp, chosen.clamp)
                for v, h, push in zip(start, running, products, strict=True)
            )
        seconds = (time.perf_counter() - began) / steps
        flat = torch.cat([chosen.scale * h.flatten() for h in running])
        return Solve(seconds, flat.numpy())

    def _split(self, block: Block, names: list[str]) -> tuple[Tensor, ...]:
        flat = torch.cat([values[0] for values in block])
        shapes = [self.classifier.attributed[name].shape for name in names]
        pieces = flat.split([shape.numel() for shape in shapes])
        return tuple(piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True))

    def _loss(self, model: torch.nn.Module, names: list[str], index: int):  # noqa: ANN202
        example = self.work.train[index]
        inputs = self.classifier.encoder.collate(
            self.classifier.encoder.encode([example]), self.classifier.device
        )
        label = torch.from_numpy(self.classifier.label_ids([example], "given"))

        def loss(*values: Tensor) -> Tensor:
            given = dict(zip(names, values, strict=True))
            logits = functional_call(model, given, kwargs=inputs).logits
            return torch.nn.functional.cross_entropy(logits, label)

        return loss


def by_vhp(work: Workload, steps: int) -> Solve:
    """`Comparison.by_vhp` of a workload."""
    return Comparison(work).by_vhp(steps)
