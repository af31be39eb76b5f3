"""`TextClassifier`: a Hugging Face classifier as a frozen trunk and an attributed tail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from spanfluence.anatomy import Trunk, dissect, first_attributed_block, select_parameters
from spanfluence.encoding import Encoded, TextEncoder, length_batches
from spanfluence.errors import InputError
from spanfluence.loading import load_parts, quiet_transformers
from spanfluence.one_query import attend_for_logits
from spanfluence.products import FastLinear
from spanfluence.states import StateStore
from spanfluence.trim import Attend, attend_tokens, trimmed, trimmed_forward
from spanfluence.units import Example, Span, Unit, units_of
from spanfluence.usable import check_length, readable_length, usable_device, usable_dtype

Target = Literal["loss", "logit", "margin"]
LabelChoice = Literal["predicted", "given"]

MAX_TOKENS = (
    4096  # tokens in one forward batch: large enough for fast products, small enough for caches
)


class Predictions(NamedTuple):
    """`labels`: the most probable label of each example. `probabilities`: one row per example."""

    labels: list[str]
    probabilities: Float[np.ndarray, "examples classes"]


class TextClassifier:
    """Any `AutoModelForSequenceClassification`, split where the attributed parameters begin.

    The part before (the trunk) is frozen: its states are computed once per text. Dropout is off.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        attribute: str | Sequence[str] = "last-2",
        device: str = "cpu",
        max_length: int | None = None,
        source: str | Path | None = None,
        mask_mode: str = "mask",
        dtype: str | None = None,
    ) -> None:
        self.device = usable_device(device)
        self.model: Any = model.to(self.device).eval().requires_grad_(False)
        if dtype is not None:
            self.model = self.model.to(usable_dtype(dtype))
        self.tokenizer = tokenizer
        self.source = None if source is None else Path(source)
        if max_length is None:
            max_length = readable_length(model, tokenizer)
        check_length(max_length, model, tokenizer)
        self.encoder = TextEncoder(tokenizer, max_length, mask_mode)
        self.labels: tuple[str, ...] = tuple(
            str(model.config.id2label[index]) for index in range(model.config.num_labels)
        )
        self.states = StateStore()
        self.attribute_parameters(attribute)

    @classmethod
    def load(
        cls,
        source: str | Path,
        *,
        attribute: str | Sequence[str] = "last-2",
        device: str = "cpu",
        max_length: int | None = None,
        mask_mode: str = "mask",
        dtype: str | None = None,
    ) -> TextClassifier:
        """From a model folder, a run folder, or the name of a hub model; `mask_mode`: `TextEncoder`.

        `dtype="bfloat16"` runs the model in half the memory; inner products stay in float32.
        """
        model, tokenizer = load_parts(source)
        return cls(
            model,
            tokenizer,
            attribute=attribute,
            device=device,
            max_length=max_length,
            source=source,
            mask_mode=mask_mode,
            dtype=dtype,
        )

    def save(self, folder: Path) -> None:
        """Write model (safetensors) and tokenizer so that `load` and transformers can read them.

        The tokenizer remembers how many tokens are read, so that whoever loads it reads texts alike.
        """
        before = self.tokenizer.model_max_length
        self.tokenizer.model_max_length = self.encoder.max_length
        try:
            with quiet_transformers():
                self.model.save_pretrained(folder, safe_serialization=True)
                self.tokenizer.save_pretrained(folder)
        finally:
            self.tokenizer.model_max_length = before

    def attribute_parameters(self, attribute: str | Sequence[str]) -> None:
        """Choose the parameters that scores speak of: 'last-N', 'head', 'all' or name patterns."""
        probe = self.encoder.collate(
            self.encoder.encode([Example("a b c d"), Example("e f g")]), self.device
        )
        anatomy = dissect(self.model, probe)
        self.attribute = attribute
        self.attributed: dict[str, nn.Parameter] = select_parameters(self.model, anatomy, attribute)
        self.states.clear()
        depth = first_attributed_block(anatomy, self.attributed)
        self.trunk: Trunk | None = Trunk(self.model, anatomy, depth) if depth else None
        self._trimmed: nn.Module | None = None
        if self.trunk is not None and not self._shortcut_agrees(probe):
            self.trunk = None
        last = anatomy.blocks[-1]
        if depth < len(anatomy.blocks) and trimmed_forward(last, attend_tokens) is not None:
            self._trimmed = last
            if not self._shortcut_agrees(probe):
                self._trimmed = None

    def _shortcut_agrees(self, probe: Mapping[str, Tensor]) -> bool:
        """Whether cutting the model in two, or trimming its last block, leaves its logits as they are."""
        with torch.no_grad():
            whole = self.model(**probe).logits
            try:
                states = self.trunk.states(probe) if self.trunk else None
                ways = [
                    self.tail_logits(probe, states, a) for a in (attend_tokens, attend_for_logits)
                ]
            except (IndexError, RuntimeError, TypeError):  # its head reads other positions
                return False
        loose = 1e-4 if whole.dtype in (torch.float32, torch.float64) else 5e-2
        return all(torch.allclose(whole, short, rtol=loose, atol=loose / 10) for short in ways)

    # Labels ---------------------------------------------------------------------------------------

    def label_id(self, label: str | int | None, where: str = "the example") -> int:
        """Class index of a label name or index."""
        if label is None:
            raise InputError(f"{where} has no label: give one of {', '.join(self.labels)}")
        if str(label) in self.labels:  # a name first: 1 is the label "1" of a model that has one
            return self.labels.index(str(label))
        if isinstance(label, int) and 0 <= label < len(self.labels):
            return label
        raise InputError(
            f"{where} has the label {label!r}, which the model does not know: it knows {', '.join(self.labels)}"
        )

    def label_ids(self, examples: Sequence[Example], choice: LabelChoice) -> Int[np.ndarray, " n"]:
        """The label each example is explained for: its given one, or the model's prediction."""
        if choice == "given":
            ids = [self.label_id(e.label, f"example {e.id!r}") for e in examples]
            return np.array(ids, dtype=np.int64)
        if choice != "predicted":
            raise InputError(f"label={choice!r} is not known: use 'predicted' or 'given'")
        return np.asarray(self.logits(self.encoder.encode(examples)).argmax(axis=1), dtype=np.int64)

    def with_label_names(self, examples: Sequence[Example]) -> list[Example]:
        """The examples with the model's names for labels that may be class indices."""

        def named(example: Example) -> Example:
            if example.label is None or str(example.label) in self.labels:
                return example
            label_id = self.label_id(example.label, f"example {example.id!r}")
            return replace(example, label=self.labels[label_id])

        return [named(example) for example in examples]

    # Forward --------------------------------------------------------------------------------------

    def trunk_states(
        self, batch: Sequence[Encoded], inputs: Mapping[str, Tensor], *, keep: bool = False
    ) -> Float[Tensor, "texts tokens hidden"] | None:
        """States that enter the tail, from the store where known; None for a model without trunk."""
        if self.trunk is None:
            return None
        found = self.states.gather(batch)
        if found is None:
            states = self.trunk.states(inputs)
            if keep:
                self.states.keep(batch, states)
            return states
        states, missing = found[0].to(self.device), found[1]
        if missing:
            fresh = self.trunk.states({name: values[missing] for name, values in inputs.items()})
            states[missing] = fresh
            if keep:
                self.states.keep([batch[number] for number in missing], fresh)
        return states

    def tail_logits(
        self,
        inputs: Mapping[str, Tensor],
        states: Float[Tensor, "texts tokens hidden"] | None,
        attend: Attend = attend_tokens,
    ) -> Float[Tensor, "texts classes"]:
        """Logits from trunk states, differentiable in whatever requires a gradient.

        `attend`: how a trimmed last block attends.
        """
        with trimmed(self._trimmed, attend):
            if self.trunk is not None and states is not None:
                return self.trunk.resume(inputs, states)
            logits: Tensor = self.model(**inputs).logits
            return logits

    def logits(
        self, encoded: Sequence[Encoded], *, keep: bool = False
    ) -> Float[np.ndarray, "texts classes"]:
        """Logits of any number of texts, in batches of similar length."""
        result = np.zeros((len(encoded), len(self.labels)), dtype=np.float32)
        for rows in length_batches([len(e) for e in encoded], MAX_TOKENS):
            batch = [encoded[row] for row in rows]
            inputs = self.encoder.collate(batch, self.device)
            states = self.trunk_states(batch, inputs, keep=keep)
            with torch.no_grad(), FastLinear():
                logits = self.tail_logits(inputs, states, attend_for_logits)
            result[rows] = logits.float().cpu().numpy()
        return result

    def predict(self, examples: Sequence[Example]) -> Predictions:
        """Labels and probabilities."""
        logits = self.logits(self.encoder.encode(examples)).astype(np.float64)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities = odds / odds.sum(axis=1, keepdims=True)
        return Predictions([self.labels[i] for i in logits.argmax(axis=1)], probabilities)

    def importance(
        self,
        example: Example,
        spans: Sequence[Span],
        *,
        target: Target = "logit",
        label: LabelChoice = "predicted",
    ) -> Float[np.ndarray, " spans"]:
        """imp per span: L(z_masked) - L(z), how much the model needs the span to say its label.

        With `target="logit"` L is minus the label's logit, so imp is the fall of that logit; with
        `"loss"` it is the cross-entropy; with `"margin"` minus the log-odds of the label.
        """
        units = [Unit(example, (Span.coerce(span),)) for span in spans]
        for unit in units:
            unit.spans[0].check_inside(example.text)
        chosen = self.label_ids([example], label)[0]
        plain, *masked = self.losses(
            [Unit(example), *units], np.full(len(units) + 1, chosen), target
        ).tolist()
        return np.array(masked, dtype=np.float32) - np.float32(plain)

    def visible_spans(self, example: Example, spans: Sequence[Span]) -> list[Span]:
        """Those spans that touch a token the model reads; a long text is cut."""
        (encoded,) = self.encoder.encode([example])
        return _seen(encoded, spans)

    def visible_units(self, examples: Sequence[Example], kind: str) -> list[Unit]:
        """`units_of`, without spans that the model does not read; an example left with none is whole."""
        if kind != "span" or not any(example.spans for example in examples):
            return units_of(examples, kind)
        units: list[Unit] = []
        for example, encoded in zip(examples, self.encoder.encode(examples), strict=True):
            seen = [Unit(example, (span,)) for span in _seen(encoded, example.spans)]
            units.extend(seen or [Unit(example)])
        return units

    def with_visible_spans(self, examples: Sequence[Example]) -> list[Example]:
        """The examples without spans that the model does not read."""
        seen = zip(examples, self.encoder.encode(examples), strict=True)
        kept = ((example, tuple(_seen(encoded, example.spans))) for example, encoded in seen)
        return [e if len(own) == len(e.spans) else replace(e, spans=own) for e, own in kept]

    def losses(
        self, units: Sequence[Unit], label_ids: Int[np.ndarray, " units"], target: Target
    ) -> Float[np.ndarray, " units"]:
        """L of each unit's text with the unit's spans masked; a unit without spans is left whole."""
        logits = torch.from_numpy(self.logits(self.encode_units(units)))
        return text_losses(logits, torch.from_numpy(label_ids), target).numpy()

    def encode_units(self, units: Sequence[Unit]) -> list[Encoded]:
        """Texts with the spans of each unit masked; a unit without spans is left whole."""
        encoded = self.encoder.encode([unit.example for unit in units])
        return [
            self.encoder.mask(text, self.encoder.span_positions(text, unit)) if unit.spans else text
            for text, unit in zip(encoded, units, strict=True)
        ]

    def embeddings(self, units: Sequence[Unit]) -> Float[np.ndarray, "units hidden"]:
        """Last hidden state at the sentence-start token; of a span: emb(x) - emb(x_masked)."""
        whole = self._start_states(self.encoder.encode([unit.example for unit in units]))
        rows = [row for row, unit in enumerate(units) if unit.spans]
        if rows:
            whole[rows] -= self._start_states(self.encode_units([units[row] for row in rows]))
        return whole

    def _start_states(self, encoded: Sequence[Encoded]) -> Float[np.ndarray, "texts hidden"]:
        result = np.zeros((len(encoded), self.model.config.hidden_size), dtype=np.float32)
        for rows in length_batches([len(e) for e in encoded], MAX_TOKENS):
            inputs = self.encoder.collate([encoded[row] for row in rows], self.device)
            with torch.no_grad():
                states = self.model.base_model(**inputs).last_hidden_state
            result[rows] = states[:, 0].float().cpu().numpy()
        return result

    # Points ---------------------------------------------------------------------------------------

    @contextmanager
    def at(self, parameters: Mapping[str, Tensor]) -> Iterator[None]:
        """Use other values of the attributed parameters for a while."""
        if set(parameters) != set(self.attributed):
            odd = sorted(set(parameters) ^ set(self.attributed))[0]
            raise InputError(
                f"the point and the model attribute different parameters (first difference: {odd}): "
                "load the classifier with the same attribute= as the run was trained with"
            )
        own = {name: parameter.data for name, parameter in self.attributed.items()}
        try:
            for name, parameter in self.attributed.items():
                parameter.data = parameters[name].to(parameter.device, parameter.dtype)
            yield
        finally:
            for name, parameter in self.attributed.items():
                parameter.data = own[name]


def _seen(encoded: Encoded, spans: Sequence[Span]) -> list[Span]:
    """Those spans that touch a token."""
    visible = encoded.starts < encoded.ends
    return [span for span in spans if (encoded.touching([span]) & visible).any()]


@contextmanager
def requiring_gradients(parameters: Iterable[nn.Parameter]) -> Iterator[None]:
    """Let parameters require gradients for a while."""
    opened = list(parameters)
    for parameter in opened:
        parameter.requires_grad_(True)
    try:
        yield
    finally:
        for parameter in opened:
            parameter.requires_grad_(False)


def text_losses(
    logits: Float[Tensor, "texts classes"], label_ids: Int[Tensor, " texts"], target: Target
) -> Float[Tensor, " texts"]:
    """L per text: cross-entropy, minus the label's logit, or minus its log-odds against all others."""
    logits = logits if logits.dtype == torch.float64 else logits.float()
    own = logits.gather(1, label_ids[:, None]).squeeze(1)
    if target == "logit":
        return -own
    if target not in ("loss", "margin"):
        raise InputError(f"target={target!r} is not known: use 'loss', 'logit' or 'margin'")
    rivals = logits if target == "loss" else logits.scatter(1, label_ids[:, None], -torch.inf)
    most = rivals.detach().amax(1)
    # Written out: torch's own cannot be differentiated forwards, then backwards.
    return (rivals - most[:, None]).exp().sum(1).log() + most - own
