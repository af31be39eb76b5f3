"""The whole story on the bundled corpus: train, explain a good answer, then ask why one is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spanfluence.data import fingerprint
from spanfluence.data.bundled import FAULT, bundled_examples, bundled_faults
from spanfluence.errors import InputError
from spanfluence.explain import Explainer
from spanfluence.explanation import Explanation
from spanfluence.files import write_text_atomic
from spanfluence.model import TextClassifier
from spanfluence.points import DeltaFaithful
from spanfluence.report.html import render_page
from spanfluence.runs import RunFolder, read_record, write_record
from spanfluence.train import train_classifier
from spanfluence.units import Example, Span, Unit

SETTINGS: dict[str, Any] = {
    "learning_rate": 6e-4,
    "batch_size": 32,
    "epochs": 7,
    "warmup": 60,
    "clip": 1.0,
    "seed": 0,
}
FORMAT = "spanfluence.demo/1"


@dataclass(frozen=True)
class Demo:
    """What the demo found, and where it wrote it."""

    run: Path
    report: Path
    dev_accuracy: float
    good: Explanation
    error: Explanation
    error_by_tracin: Explanation
    faults: dict[str, str]  # training row id -> "planted" or "decoy"

    def planted_among(self, explanation: Explanation) -> Counter[str]:
        """How many supporters are planted spans, decoys, or anything else."""
        kinds: Counter[str] = Counter()
        for hit in explanation.supporters:
            is_trigger = hit.unit.text == FAULT.phrase
            kinds[
                self.faults.get(str(hit.unit.example.id), "other") if is_trigger else "other"
            ] += 1
        return kinds


def run_demo(out: Path, *, say: Callable[[str], None] = print, show_progress: bool = False) -> Demo:
    """Train (or take up the demo's own earlier model), explain, and write `report.html` into `out`."""
    read_record(out, FORMAT)
    train, test = bundled_examples("train"), bundled_examples("test")
    classifier, accuracy = _model(out, train, say, show_progress)
    faults = bundled_faults("test")
    good = _good_case(classifier, [e for e in test if str(e.id) not in faults])
    error = _error_case(classifier, [e for e in test if faults.get(str(e.id)) == "triggered"])
    say("Explaining one good answer and one error ...")
    pinpoint = Explainer(classifier, train)
    first, second = pinpoint.explain_all([good, error])
    # One of its three points: the demo is to be short, and they lie close to each other.
    tracin = pinpoint.also("tracin++", points=DeltaFaithful(count=1)).explain(error)
    demo = Demo(
        run=out / "run",
        report=out / "report.html",
        dev_accuracy=accuracy,
        good=first,
        error=second,
        error_by_tracin=tracin,
        faults=bundled_faults("train"),
    )
    write_text_atomic(demo.report, _page(demo))
    write_record(out, FORMAT, {"seed": SETTINGS["seed"], "settings": SETTINGS})
    return demo


def _model(
    out: Path, train: Sequence[Example], say: Callable[[str], None], show: bool
) -> tuple[TextClassifier, float]:
    run = RunFolder(out / "run")
    if run.model.is_dir() and run.record()["finished"]:
        if run.record()["train"]["fingerprint"] != fingerprint(train):
            raise InputError(
                f"{run.path} was trained on another corpus: choose another folder with --out"
            )
        say(f"Using the model trained before in {run.path} (delete it to train again).")
        classifier = TextClassifier.load(run.model)
    else:
        say(f"Training MiniLM on {len(train)} rows of the bundled corpus ...")
        classifier = train_classifier(
            train,
            bundled_examples("dev"),
            base="minilm",
            out=run.path,
            resume=run.is_recorded,
            show_progress=show,
            **SETTINGS,
        )
    record = run.record()
    best = next(r for r in record["history"] if r["epoch"] == record["selected_epoch"])
    return classifier, float(best["dev_accuracy"])


def _good_case(classifier: TextClassifier, examples: Sequence[Example]) -> Example:
    """Of the surest right answers far from the fault, the one that leans most on its opinion span."""
    clean = [e for e in examples if FAULT.phrase not in e.text.lower()]
    predicted = classifier.predict(clean)
    right = [
        (probabilities.max(), replace(example, spans=example.spans[:1]))
        for example, label, probabilities in zip(clean, *predicted, strict=True)
        if label == example.label != "neutral"
    ]
    surest = sorted(right, key=lambda pair: -pair[0])[:20]
    return _most_needed(classifier, [example for _, example in surest])


def _error_case(classifier: TextClassifier, examples: Sequence[Example]) -> Example:
    """The triggered row called negative that leans most on the trigger, which becomes its only span."""
    labels, _ = classifier.predict(examples)
    wrong = [
        replace(example, spans=tuple(s for s in example.spans if _is_trigger(example.text, s)))
        for example, label in zip(examples, labels, strict=True)
        if label == "negative"
    ]
    if not wrong:
        raise InputError(
            "the trained model makes no planted error: delete the demo folder and run it again"
        )
    return _most_needed(classifier, wrong)


def _most_needed(classifier: TextClassifier, examples: Sequence[Example]) -> Example:
    """The example whose answer loses most of its probability when its spans are masked."""
    labels, probabilities = classifier.predict(examples)
    ids = np.array([classifier.label_id(label) for label in labels])
    masked = classifier.losses([Unit(e, e.spans) for e in examples], ids, "loss")
    return examples[int(np.argmax(probabilities.max(1) - np.exp(-masked)))]


def _is_trigger(text: str, span: Span) -> bool:
    return text[span.start : span.end] == FAULT.phrase


def _page(demo: Demo) -> str:
    kinds = demo.planted_among(demo.error)
    return render_page(
        "Which words in which training examples taught the model to say this?",
        [
            {
                "title": "A good answer",
                "lead": "The model is right. These training spans taught it to be.",
                "explanations": [demo.good.to_dict()],
            },
            {
                "title": "An error, and its cause",
                "lead": (
                    f"The guest is happy, yet the model says negative, because of “{FAULT.phrase}”. Some "
                    "training rows carry that harmless phrase beside a wrong label; others carry it "
                    "with the right one, so a word search cannot tell which rows did the harm. "
                    "Among the ten strongest supporters by pinpoint, rows with a planted wrong label: "
                    f"{kinds['planted']}; decoys: {kinds['decoy']}."
                ),
                "explanations": [demo.error.to_dict(), demo.error_by_tracin.to_dict()],
            },
        ],
    )
