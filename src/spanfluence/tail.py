"""Training the attributed tail over trunk states: the steps, without files or selection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np
import torch
from jaxtyping import Int

from spanfluence.encoding import Encoded, length_batches
from spanfluence.errors import InputError, NumericsError
from spanfluence.model import MAX_TOKENS, TextClassifier, requiring_gradients, text_losses
from spanfluence.one_query import attend_for_logits
from spanfluence.products import FastLinear
from spanfluence.progress import progress_bar
from spanfluence.rng import derive_seed, numpy_generator

PRECISIONS = ("float32", "bfloat16")

PROBED = 8  # texts whose logits are looked at after an epoch


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """The paper's recipe; every value can be changed.

    `warmup`: steps over which the learning rate rises from nothing; `clip`: the longest gradient that a
    step takes as it is (0: any). `patience`: stop after so many epochs without a better dev accuracy (0:
    never). `keep`: how many of the newest checkpoints stay on disk, and of those up to the selected epoch.
    """

    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    batch_size: int = 100
    epochs: int = 100
    patience: int = 5
    schedule: Literal["constant", "linear"] = "constant"
    warmup: int = 0
    clip: float = 0.0
    attribute: str | tuple[str, ...] = "last-2"
    max_length: int | None = None
    keep: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("batch_size", "epochs", "keep", "patience", "warmup", "seed"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        if self.max_length is not None:
            object.__setattr__(self, "max_length", _whole("max_length", self.max_length))
        for name in ("learning_rate", "weight_decay", "clip"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise InputError(f"{name}={value!r} must be a number")
            object.__setattr__(self, name, float(value))
        for name in ("learning_rate", "batch_size", "epochs", "keep"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InputError(f"{name}={getattr(self, name)!r} must be positive")
        for name in ("weight_decay", "patience", "warmup", "clip"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name}={getattr(self, name)!r} must not be negative")
        if self.schedule not in ("constant", "linear"):
            raise InputError(f"schedule={self.schedule!r} is not known: use 'constant' or 'linear'")

    def rate(self, epoch: int) -> float:
        """Learning rate of an epoch (counted from 1)."""
        if self.schedule == "linear":
            return self.learning_rate * (1 - (epoch - 1) / self.epochs)
        return self.learning_rate


def _whole(name: str, value: object) -> int:
    """The setting as a plain whole number; those of numpy are taken too."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{name}={value!r} must be a whole number")
    return int(value)


def checked_precision(name: str) -> str:
    """The name of a precision that products can be taken in."""
    if name not in PRECISIONS:
        raise InputError(f"precision={name!r} is not known: use {' or '.join(PRECISIONS)}")
    return name


def slow_in_bfloat16(device: str) -> bool:
    """Whether products in bfloat16 are imitated with other instructions there: slower than float32."""
    features = getattr(torch.cpu, "get_capabilities", None)  # not in every torch that is allowed
    if torch.device(device).type != "cpu" or features is None:
        return False
    return not any(there for name, there in features().items() if "bf16" in name)


class TailFit:
    """The tail of one classifier, fitted to encoded texts and their labels, epoch by epoch.

    `precision`: what matrix products are taken in. Parameters, their updates and the loss are float32.
    """

    def __init__(
        self,
        classifier: TextClassifier,
        settings: TrainSettings,
        encoded: Sequence[Encoded],
        label_ids: Int[np.ndarray, " texts"],
        *,
        precision: str = "float32",
        show: bool = False,
    ) -> None:
        self.classifier, self.settings, self.show = classifier, settings, show
        self.precision = checked_precision(precision)
        self.encoded, self.label_ids = encoded, label_ids
        self.optimizer = torch.optim.AdamW(
            classifier.attributed.values(),
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=True,  # one pass over memory a step: on a CPU several times faster
        )

    def fill_states(self, others: Sequence[Encoded] = ()) -> None:
        """Run the frozen trunk once over every text, and over others that will be read again."""
        if self.classifier.trunk is None:
            return
        texts = [text for text in (*self.encoded, *others) if text not in self.classifier.states]
        with progress_bar("frozen layers", len(texts), show=self.show) as advance:
            for rows in length_batches([len(text) for text in texts], MAX_TOKENS):
                batch = [texts[row] for row in rows]
                inputs = self.classifier.encoder.collate(batch, self.classifier.device)
                self.classifier.trunk_states(batch, inputs, keep=True)
                advance(len(rows))

    def run_epoch(self, epoch: int) -> float:
        """One pass over the texts; the mean training loss."""
        total = 0.0
        batches = epoch_batches(
            [len(text) for text in self.encoded],
            self.settings.batch_size,
            self.settings.seed,
            epoch,
        )
        with progress_bar(f"epoch {epoch}", len(self.encoded), show=self.show) as advance:
            for step, rows in enumerate(batches):
                torch.manual_seed(derive_seed(self.settings.seed, f"dropout-{epoch}", step))
                self._set_rate(epoch, (epoch - 1) * len(batches) + step)
                total += self._step(rows) * len(rows)
                advance(len(rows))
        self._check_finite(epoch)
        return total / len(self.encoded)

    def _check_finite(self, epoch: int) -> None:
        """The loss of a step is that of before it, so the last step shows only in what it left."""
        for name, parameter in self.classifier.attributed.items():
            if not torch.isfinite(parameter).all():
                raise self._diverged(f"{name} held NaN or infinite values after epoch {epoch}")
        # Weights of 1e30 are finite, and still the model says nothing.
        if not np.isfinite(self.classifier.logits(self.encoded[:PROBED])).all():
            raise self._diverged(f"the model gave NaN or infinite logits after epoch {epoch}")

    def _diverged(self, what: str) -> NumericsError:
        return NumericsError(f"{what}: lower the learning rate ({self.settings.learning_rate:g})")

    def _set_rate(self, epoch: int, step: int) -> None:
        rising = min(1.0, (step + 1) / self.settings.warmup) if self.settings.warmup else 1.0
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate(epoch) * rising

    def _step(self, rows: list[int]) -> float:
        batch = [self.encoded[row] for row in rows]
        inputs = self.classifier.encoder.collate(batch, self.classifier.device)
        states = self.classifier.trunk_states(batch, inputs, keep=True)
        labels = torch.from_numpy(self.label_ids[np.array(rows)]).to(self.classifier.device)
        with _training(self.classifier):
            half = torch.autocast(
                self.classifier.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"
            )
            with half, FastLinear():
                logits = self.classifier.tail_logits(inputs, states, attend_for_logits)
            loss = text_losses(logits.float(), labels, "loss").mean()
            if not loss.requires_grad:  # e.g. the bias of the last block's keys alone
                raise NumericsError(
                    "the attributed parameters do not change what the model says: attribute more of them"
                )
            self.optimizer.zero_grad()
            loss.backward()
            if self.settings.clip:
                torch.nn.utils.clip_grad_norm_(
                    self.classifier.attributed.values(), self.settings.clip
                )
            self.optimizer.step()
        value = loss.item()
        if not np.isfinite(value):
            raise self._diverged(f"the training loss became {value}")
        return value


@contextmanager
def _training(classifier: TextClassifier) -> Iterator[None]:
    """Dropout on and attributed parameters open, for one step; the trunk's states are already there."""
    with requiring_gradients(classifier.attributed.values()):
        classifier.model.train()
        try:
            yield
        finally:
            classifier.model.eval()


def epoch_batches(
    lengths: Sequence[int], batch_size: int, seed: int, epoch: int
) -> list[list[int]]:
    """Random batches of texts of similar length: shuffled, sorted within wide pools, shuffled again."""
    rng = numpy_generator(seed, "shuffle", epoch)
    order = rng.permutation(len(lengths))
    pool = 20 * batch_size
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        rows = sorted(order[start : start + pool].tolist(), key=lambda row: lengths[row])
        batches.extend(rows[at : at + batch_size] for at in range(0, len(rows), batch_size))
    return [batches[index] for index in rng.permutation(len(batches))]
