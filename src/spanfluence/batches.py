"""Units of any number of sides in batches: every text of a batch runs once, whoever asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from spanfluence.capture import Capture, LayerRows
from spanfluence.encoding import Encoded, length_batches
from spanfluence.finite import check_finite
from spanfluence.gradients import LayerGradient, stack
from spanfluence.methods import Method, UnitKind
from spanfluence.model import Target, TextClassifier, text_losses
from spanfluence.one_query import attend_for_logits
from spanfluence.products import FastLinear
from spanfluence.text_rows import Wanted
from spanfluence.units import Unit

Members = Sequence[tuple[Encoded, Sequence[tuple[int, int]]]]
"""Texts, each with the units that are made of it: (number of a side, row in it)."""

BATCH_TOKENS = 2048  # of one gradient batch: larger ones hold more padding, and leave the caches


@dataclass(frozen=True, eq=False)
class Side:
    """The units of one side of the formula. `weighted`: the importance of each is asked for too."""

    units: Sequence[Unit]
    label_ids: Int[np.ndarray, " units"]
    method: Method
    kind: UnitKind
    weighted: bool = False

    @property
    def contrasted(self) -> bool:
        """Whether the gradients of masked texts enter."""
        return self.kind == "span" and self.method.contrast == "masked"

    @property
    def masked(self) -> bool:
        """Whether masked texts are run at all."""
        return self.contrasted or (self.kind == "span" and self.weighted)


@dataclass(frozen=True, eq=False)
class UnitGradients:
    """s(u) of a batch of units at one point, per layer, and the importance of each unit."""

    layers: list[LayerGradient]
    importance: Float[Tensor, " units"] | None

    def square_norms(self) -> Float[Tensor, "layers units"]:
        """Squared norm per layer and unit."""
        return torch.stack([layer.square_norms() for layer in self.layers])

    @classmethod
    def joined(cls, parts: Sequence[UnitGradients]) -> UnitGradients:
        """Units of several batches, one after the other."""
        layers = [stack(own) for own in zip(*(part.layers for part in parts), strict=True)]
        weights = [part.importance for part in parts if part.importance is not None]
        return cls(layers, torch.cat(weights) if weights else None)


class UnitBatches:
    """The units of several sides, grouped by example so that sides share their texts."""

    def __init__(
        self, classifier: TextClassifier, sides: Sequence[Side], batch_tokens: int = BATCH_TOKENS
    ) -> None:
        self.classifier, self.sides, self.batch_tokens = classifier, sides, batch_tokens
        groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for number, side in enumerate(sides):
            for row, (unit, label) in enumerate(zip(side.units, side.label_ids, strict=True)):
                groups.setdefault((id(unit.example), int(label)), []).append((number, row))
        self._groups = list(groups.values())
        firsts = [sides[number].units[row].example for (number, row), *_ in self._groups]
        self._encoded = classifier.encoder.encode(firsts)
        lengths = self.lengths()
        # The largest first: memory is at its peak from the beginning, and what they free serves all others.
        self._batches = sorted(
            length_batches(lengths, batch_tokens),
            key=lambda batch: -len(batch) * max(lengths[number] for number in batch),
        )

    def lengths(self) -> list[int]:
        """Tokens of each example's texts together."""
        pairs = zip(self._encoded, self._groups, strict=True)
        return [len(text) * self._texts(group) for text, group in pairs]

    def _texts(self, group: Sequence[tuple[int, int]]) -> int:
        masked = {
            self.sides[number].units[row].spans
            for number, row in group
            if self.sides[number].masked
        }
        return 1 + len(masked)

    def members(self) -> Iterator[Members]:
        """What each batch is made of."""
        for numbers in self._batches:
            yield [(self._encoded[n], self._groups[n]) for n in numbers]

    def __iter__(self) -> Iterator[UnitBatch]:
        for members in self.members():
            yield UnitBatch(self.classifier, self.sides, members)


class _Place:
    """Where the units of one side stand among the texts of a batch."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.whole: list[int] = []
        self.hidden: list[int] = []
        self.positions: list[Bool[np.ndarray, " tokens"]] = []

    def tokens(self) -> Bool[Tensor, "units tokens"]:
        """The token positions of every unit's spans."""
        found = np.zeros((len(self.rows), max(len(own) for own in self.positions)), dtype=bool)
        for row, own in zip(found, self.positions, strict=True):
            row[: len(own)] = own
        return torch.from_numpy(found)


class UnitBatch:
    """Units that run together: their distinct (text, label) pairs, and how each unit is made of them."""

    def __init__(
        self,
        classifier: TextClassifier,
        sides: Sequence[Side],
        members: Members,
    ) -> None:
        self.classifier, self.sides = classifier, sides
        self._places = [_Place() for _ in sides]
        self._encoded: list[Encoded] = []
        self._owners: list[Unit] = []
        self._labels: list[int] = []
        known: dict[tuple[bytes, int], int] = {}
        for text, group in members:
            self._add(text, group, known)
        device = classifier.device
        self._label_ids = torch.tensor(self._labels, device=device)
        self._inputs = classifier.encoder.collate(self._encoded, device)
        self._states = classifier.trunk_states(self._encoded, self._inputs, keep=True)

    def _add(
        self, text: Encoded, group: Sequence[tuple[int, int]], known: dict[tuple[bytes, int], int]
    ) -> None:
        """Masked texts stand before their whole text: the pair of a lone span is then two neighbours."""
        encoder = self.classifier.encoder
        for number, row in group:
            side, place = self.sides[number], self._places[number]
            if side.kind == "span":
                own = encoder.span_positions(text, side.units[row])
                place.positions.append(own)
                if side.masked:
                    masked = encoder.mask(text, own)
                    place.hidden.append(self._text(masked, side, row, known))
        for number, row in group:
            place = self._places[number]
            place.rows.append(row)
            place.whole.append(self._text(text, self.sides[number], row, known))

    def _text(
        self, text: Encoded, side: Side, row: int, known: dict[tuple[bytes, int], int]
    ) -> int:
        label = int(side.label_ids[row])
        index = known.setdefault((text.key, label), len(self._encoded))
        if index == len(self._encoded):
            self._encoded.append(text)
            self._owners.append(side.units[row])
            self._labels.append(label)
        return index

    def rows(self, number: int) -> Int[np.ndarray, " units"]:
        """The units of a side that this batch holds, as indices into the side."""
        return np.array(self._places[number].rows, dtype=np.int64)

    def gradients(self, capture: Capture, numbers: Sequence[int]) -> dict[int, UnitGradients]:
        """s(u) of every unit of the sides `numbers`, at the classifier's present parameters."""
        found: dict[int, UnitGradients] = {}
        present = [number for number in numbers if self._places[number].rows]
        for target in dict.fromkeys(self.sides[number].method.target for number in present):
            same = [n for n in present if self.sides[n].method.target == target]
            found.update(self._of_target(capture, same, target))
        return found

    def _of_target(
        self, capture: Capture, numbers: Sequence[int], target: Target
    ) -> dict[int, UnitGradients]:
        needed = {t for n in numbers for t in self._places[n].whole}
        needed |= {t for n in numbers if self.sides[n].contrasted for t in self._places[n].hidden}
        spans = {t for n in numbers if self.sides[n].kind == "span" for t in self._places[n].whole}
        texts = _Subset(self, sorted(needed), negative=spans)
        losses, layers = texts.gradients(capture, target)
        weights = [n for n in numbers if self.sides[n].weighted]
        if weights:
            extra = sorted({t for n in weights for t in self._places[n].hidden} - needed)
            if extra:
                losses = {**losses, **_Subset(self, extra).losses(target)}
        return {
            number: UnitGradients(
                self._assembled(number, texts, layers),
                self._importance(number, losses) if number in weights else None,
            )
            for number in numbers
        }

    def _assembled(
        self, number: int, texts: _Subset, layers: Sequence[LayerRows]
    ) -> list[LayerGradient]:
        """s(instance) = g(z); s(span) = g(z_masked) - g(z), or -g(z) unmasked."""
        side, place = self.sides[number], self._places[number]
        columns = [place.hidden, place.whole] if side.contrasted else [place.whole]
        signs = [1, -1] if side.contrasted else [-1 if side.kind == "span" else 1]
        terms, factors = texts.terms(columns, signs)
        local = side.kind == "span" and side.method.locality == "span"
        wanted = Wanted(place.tokens().to(self.classifier.device)) if local else None
        return [rows.units(terms, factors, wanted) for rows in layers]

    def _importance(self, number: int, losses: dict[int, Tensor]) -> Float[Tensor, " units"]:
        place = self._places[number]
        pairs = zip(place.hidden, place.whole, strict=True)
        return torch.stack([losses[masked] - losses[whole] for masked, whole in pairs])


class _Subset:
    """Some texts of a batch, run together.

    Losses of `negative` texts are run with a minus sign: the gradients that a difference subtracts then
    come out negative, and nothing has to be negated afterwards.
    """

    def __init__(
        self, batch: UnitBatch, texts: Sequence[int], negative: set[int] | None = None
    ) -> None:
        self.batch, self.texts = batch, list(texts)
        self._index = {text: number for number, text in enumerate(self.texts)}
        self._signs = [-1 if negative and text in negative else 1 for text in self.texts]
        chosen: slice | Tensor = slice(None)
        device = batch.classifier.device
        if len(self.texts) < len(batch._encoded):
            chosen = torch.tensor(self.texts, device=device)
        self.signs = torch.tensor(self._signs, device=device)
        self.labels = batch._label_ids[chosen]
        self.inputs = {name: values[chosen] for name, values in batch._inputs.items()}
        self.states = None if batch._states is None else batch._states[chosen]

    def gradients(
        self, capture: Capture, target: Target
    ) -> tuple[dict[int, Tensor], list[LayerRows]]:
        """L of each text by its number in the batch, and the (signed) rows of each layer."""

        def signed(logits: Tensor) -> list[Tensor]:
            return [text_losses(logits, self.labels, target) * self.signs]

        [found] = capture.objectives(self.inputs, self.states, signed)
        losses = found.losses * self.signs
        examples = [self.batch._owners[text].example for text in self.texts]
        check_finite(losses.isfinite().cpu().numpy(), examples, "a loss that is")
        return dict(zip(self.texts, losses, strict=True)), found.layers

    def losses(self, target: Target) -> dict[int, Tensor]:
        """L of each text, without gradients."""
        with torch.no_grad(), FastLinear():
            logits = self.batch.classifier.tail_logits(self.inputs, self.states, attend_for_logits)
        return dict(zip(self.texts, text_losses(logits, self.labels, target), strict=True))

    def terms(
        self, columns: Sequence[Sequence[int]], signs: Sequence[int]
    ) -> tuple[Int[Tensor, "units terms"], Float[Tensor, "units terms"] | None]:
        """Places of each unit's texts in this subset, and factors where the signs still differ."""
        places = [[self._index[text] for text in column] for column in columns]
        factors = [
            [sign * self._signs[place] for place in column]
            for column, sign in zip(places, signs, strict=True)
        ]
        device = self.batch.classifier.device
        index = torch.tensor(places, device=device).T
        if all(factor == 1 for column in factors for factor in column):
            return index, None
        return index, torch.tensor(factors, device=device, dtype=torch.float32).T
