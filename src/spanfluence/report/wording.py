"""What the numbers and settings of an explanation say in words, for every kind of report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Data = Mapping[str, Any]

IN_WORDS: dict[tuple[str, str], str] = {
    ("points", "final"): "the final model",
    ("points", "checkpoints"): "checkpoints of the training, each weighted by its learning rate",
    ("points", "delta"): "points one small training step away from the final model",
    ("points", "given"): "points given by the caller",
    ("points", "delta-faithful"): "points one small training step away from the final model",
    ("curvature", "identity"): "none: gradients are compared as they are",
    ("curvature", "lissa"): "inverse Hessian, estimated by LiSSA",
    ("curvature", "ggn"): "inverse Gauss-Newton matrix, solved exactly on a training sample",
    ("curvature", "ekfac"): "inverse curvature by Kronecker factors (EK-FAC)",
    ("curvature", "cg"): "inverse Gauss-Newton matrix by conjugate gradients",
    ("target", "loss"): "gradients of the cross-entropy loss",
    ("target", "logit"): "gradients of the label's logit",
    ("target", "margin"): "gradients of the label's log-odds against the others",
    ("contrast", "masked"): "the masked text minus the text as it stands",
    ("contrast", "unmasked"): "the text as it stands",
    ("locality", "text"): "all tokens of the text",
    ("locality", "span"): "the span's own tokens only",
    ("scale", "none"): "none: long gradients count more",
    ("scale", "cosine"): "cosine of the two gradients",
    ("scale", "layer-cosine"): "cosine in each layer, averaged over layers",
    ("weight", "none"): "none",
    ("weight", "importance"): "importance of the training span",
    ("weight", "positive-importance"): "importance of the training span, where it is positive",
    ("mask", "mask"): "by the mask token",
    ("mask", "delete"): "by leaving the span out",
    ("mask", "attention"): "by hiding the span from attention",
    ("mask", "neutral"): "by the unknown token",
    ("sign", "support"): "positive supports",
    ("sign", "paper"): "as printed in the paper",
    ("label", "predicted"): "the label the model predicts",
    ("label", "given"): "the label given with the text",
}


def question(test: Data) -> str:
    """The question an explanation answers."""
    label, context = test["explained_label"], test.get("context")
    if label == test["prediction"]:
        if context:
            return f"Why does the model call “{context}” {label} here?"
        return f"Why does the model call this text {label}?"
    subject = f"“{context}”" if context else "this text"
    return f"What speaks for calling {subject} {label}, when the model says {test['prediction']}?"


def wrong_label(test: Data) -> str | None:
    """A flag for a prediction that is not the label the text came with."""
    given = test.get("label")
    if given is None or str(given) == str(test["prediction"]):
        return None
    return f"the given label is {given}"


def importance(part: Data, label: object) -> str | None:
    """What masking a part does to the logit of the explained label."""
    value = part.get("importance")
    if value is None:
        return None
    pronoun = "it" if part["spans"] else "the whole text"
    size = f"{abs(value):.2f}"
    if float(size) == 0:
        return f"masking {pronoun} leaves the {label} logit as it is"
    return f"masking {pronoun} {'lowers' if value > 0 else 'raises'} the {label} logit by {size}"


def span_importances(part: Data) -> list[float | None]:
    """The importance of each span of a part; in a mixture every span has its own."""
    return list(part.get("importances") or [part["importance"]] * len(part["spans"]))


def shares(part: Data, text: str) -> list[tuple[str, str, str]]:
    """(words, share in percent, importance) of each span of a mixture, the largest share first."""
    if not part.get("shares"):
        return []
    rows = zip(part["spans"], part["shares"], part["importances"], strict=True)
    ordered = sorted(rows, key=lambda row: -row[1])
    return [(text[s:e], f"{share:.0%}", f"{value:+.2f}") for (s, e), share, value in ordered]


def side(settings: Data, supporters: bool) -> str:
    """What being on one side of the list means, given the sign convention and the training unit."""
    if settings.get("sign") == "paper":
        return f"{'highest' if supporters else 'lowest'} scores under the paper’s sign"
    unit = "spans" if train_unit(settings) == "span" else "texts"
    return f"these training {unit} taught it this" if supporters else "these pulled the other way"


def train_unit(settings: Data) -> str:
    """Whether training spans or whole training texts (`instance`) were scored."""
    return str((settings.get("units") or ["span", "span"])[1])


def sign_convention(settings: Data) -> str:
    """How to read the sign of a score."""
    if settings.get("sign") == "paper":
        return (
            "The signs follow the paper. For some of its methods they are the opposite of “positive "
            "supports”, so a high score need not mean that a row taught the model this answer."
        )
    what = "spans" if train_unit(settings) == "span" else "texts"
    return (
        f"A positive score means that the two {what} pull the model’s parameters the same way: "
        "learning from the training row made this answer more likely. A negative score means that "
        "they pull in opposite directions."
    )


def method_columns(settings: Data) -> list[tuple[str, str]]:
    """Every setting as (name, words); values without words of ours are shown as they are."""
    return [(name, _in_words(name, value)) for name, value in settings.items()]


def _in_words(name: str, value: object) -> str:
    if name == "units" and isinstance(value, list | tuple) and len(value) == 2:
        return f"test {value[0]} against training {value[1]}"
    if value is None:
        value = "none"
    return IN_WORDS.get((name, str(value)), str(value))


def points(explanation: Data) -> list[str]:
    """Each model point that was summed over, with its weight and its distance from the final model."""
    lines = []
    for point in explanation["points"]:
        line = f"{point['name']}: weight {point['weight']:.4g}"
        if point.get("distance") is not None:
            line += f", distance {point['distance']:.3g} from the final model"
        lines.append(line)
    return lines


def units_scored(explanation: Data) -> str:
    """How many training units the lists were picked from."""
    unit = "span" if train_unit(explanation["settings"]) == "span" else "text"
    number = explanation["train_units"]
    return f"{number:,} training {unit}{'' if number == 1 else 's'} scored"


def where(row: Data) -> str:
    """The name of a training row: its id, or its position where it has none."""
    return str(row["id"]) if row.get("id") is not None else f"unit {row['index']}"


def score_format(scores: Sequence[float]) -> Callable[[float], str]:
    """One signed number format for a list of scores: three digits for the largest, aligned for all."""
    largest = max((abs(score) for score in scores if math.isfinite(score)), default=0.0)
    if largest and not 1e-3 <= largest < 1e6:
        return lambda score: f"{score:+.2e}"
    decimals = 2 if not largest else min(5, max(0, 2 - math.floor(math.log10(largest))))
    return lambda score: f"{score:+.{decimals}f}"


def part_scores(part: Data) -> list[float]:
    """All scores of a part, of either side."""
    return [row["score"] for row in (*part["supporters"], *part["opponents"])]


def tint(value: float | None) -> float:
    """How strongly to tint a span of this importance, from 0 to 1.

    The scale is absolute (a logit difference of 3 is strong), so that colours compare across reports.
    """
    return math.tanh(abs(value) / 2.5) if value is not None and math.isfinite(value) else 0.0
