"""Fine-tuning into a run folder: checkpoints, selection, resume. The steps themselves are in `tail`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spanfluence.data import content_fingerprint, fingerprint, save_examples
from spanfluence.errors import InputError, NumericsError
from spanfluence.files import replace_folder_atomic
from spanfluence.loading import base_fingerprint, load_parts, trained_labels
from spanfluence.model import TextClassifier, text_losses
from spanfluence.rng import derive_seed
from spanfluence.runs import FORMAT, RECORD, RunFolder, read_record
from spanfluence.tail import TailFit, TrainSettings, epoch_batches
from spanfluence.units import Example

__all__ = ["TrainSettings", "best_epoch", "epoch_batches", "summary", "train_classifier"]


def train_classifier(
    train: Sequence[Example],
    dev: Sequence[Example] | None = None,
    *,
    base: str | Path,
    out: str | Path,
    resume: bool = False,
    device: str = "cpu",
    show_progress: bool = False,
    **settings: Any,
) -> TextClassifier:
    """Fine-tune `base` on `train`, select on `dev` accuracy, write a run folder, return its classifier.

    Without `dev` the last epoch is selected. The other settings are those of `TrainSettings`.
    """
    chosen = _settings(settings)
    run = RunFolder(Path(out))
    labels = _labels(train, dev, base)
    record = {
        "command": "train",
        "base": str(base),
        "base_files": base_fingerprint(base),
        "labels": list(labels),
        "settings": asdict(chosen),
        "train": {
            "examples": len(train),
            "fingerprint": fingerprint(train),
            "content": content_fingerprint(train),
        },
        "dev": None if dev is None else {"examples": len(dev), "fingerprint": fingerprint(dev)},
    }
    _check_folder(run, record, resume=resume)
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(chosen.seed, "head"))
        model, tokenizer = load_parts(base, labels=labels)
        classifier = TextClassifier(
            model,
            tokenizer,
            attribute=chosen.attribute,
            device=device,
            max_length=chosen.max_length,
        )
        fit = _Fit(classifier, chosen, run, train, dev, show_progress)
        made = _begin(run, record, train)  # only now: bad input leaves nothing behind
        try:
            history, times = fit.run_epochs(record)
        except NumericsError as error:
            raise _ended(run, error, made=made) from None
    best = best_epoch(history)
    classifier_state, _, _ = run.load_epoch(best)
    with classifier.at(classifier_state), replace_folder_atomic(run.model) as folder:
        classifier.save(folder)
    done = {"history": history, "epoch_seconds": times, "selected_epoch": best, "finished": True}
    run.write_record({**record, **done})
    _draw_curve(history, best, run.path / "curve.png")
    selected = TextClassifier.load(
        run.model, attribute=chosen.attribute, device=device, max_length=chosen.max_length
    )
    selected.states = classifier.states  # the trunk was frozen: its states stay true
    return selected


def _settings(given: Mapping[str, Any]) -> TrainSettings:
    known = [field.name for field in fields(TrainSettings)]
    odd = next((name for name in given if name not in known), None)
    if odd is not None:
        raise InputError(f"training has no setting {odd!r}: its settings are {', '.join(known)}")
    return TrainSettings(**given)


def best_epoch(history: Sequence[Mapping[str, Any]]) -> int:
    """The first epoch of highest dev accuracy; the last one where there is no dev set."""
    if history[-1]["dev_accuracy"] is None:
        return int(history[-1]["epoch"])
    return int(max(history, key=lambda row: (row["dev_accuracy"], -row["epoch"]))["epoch"])


def _labels(
    train: Sequence[Example], dev: Sequence[Example] | None, base: str | Path
) -> tuple[str, ...]:
    if not train:
        raise InputError("the training set is empty: give at least one labelled example")
    found: set[str] = set()
    for row, example in enumerate(train, start=1):
        if example.label is None:
            raise InputError(
                f"training example {example.id or row!r} has no label: give every row one"
            )
        found.add(str(example.label))
    if len(found) < 2:
        raise InputError(
            f"the training set knows only the label {found.pop()!r}: a classifier needs two"
        )
    if dev is not None and not dev:
        raise InputError(
            "the dev set is empty: give examples to select the epoch on, or no dev set"
        )
    for example in dev or ():
        if str(example.label) not in found:
            raise InputError(
                f"dev example {example.id!r} has the label {example.label!r}, which no training example has"
            )
    known = trained_labels(base)
    ordered = sorted(
        found, key=lambda label: (0, int(label), "") if label.isdecimal() else (1, 0, label)
    )
    return known if set(known) == found else tuple(ordered)


def _check_folder(run: RunFolder, record: Mapping[str, Any], *, resume: bool) -> None:
    """Raise unless the folder is free for this run, or holds the same run to be continued."""
    file = next((p for p in (run.path, *run.path.parents) if p.exists() and not p.is_dir()), None)
    if file is not None:
        raise InputError(f"{file} is a file: give a new folder for --out")
    if run.is_recorded:
        before = read_record(run.path, FORMAT)
        if not resume:
            raise InputError(
                f"{run.path} already holds a run: continue it with --resume, or choose another --out"
            )
        changes = recorded_changes(before, record)
        if changes:
            raise InputError(
                f"cannot resume {run.path}: {'; '.join(changes)} "
                "(ask for the same again, or choose another --out)"
            )
    elif run.path.exists() and any(file not in run.drafts() for file in run.path.iterdir()):
        raise InputError(f"{run.path} is not empty: choose a new folder for --out")


def recorded_changes(before: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """What differs between the record of a run and what is asked now, each in a few words.

    What is not asked for may be anything.
    """
    same_base = before.get("base") == asked.get("base")  # else other files are no news
    told = (
        ("base", "base_files", "labels", "train", "dev")
        if same_base
        else ("base", "labels", "train", "dev")
    )
    keys = [key for key in told if key in asked]
    pairs = [(key, before.get(key), asked[key]) for key in keys]
    old = before.get("settings")
    old = old if isinstance(old, Mapping) else {}
    pairs += [(name, old.get(name), _as_json(now)) for name, now in asked["settings"].items()]
    return [f"its {key} was {was!r}, now it is {now!r}" for key, was, now in pairs if was != now]


def _begin(run: RunFolder, record: Mapping[str, Any], train: Sequence[Example]) -> bool:
    """Write what a new run starts with; whether its folder is new.

    The record comes first: a folder that has one can be resumed, whatever else a kill kept from it.
    """
    made = not run.path.exists()
    run.path.mkdir(parents=True, exist_ok=True)
    for draft in run.drafts():
        draft.unlink()
    if not run.is_recorded:
        run.write_record({**record, "finished": False})
    if not run.train_file.exists():
        save_examples(train, run.train_file)
    return made


def _ended(run: RunFolder, error: NumericsError, *, made: bool) -> NumericsError:
    """The error of a training that diverged; one without a finished epoch leaves its folder free."""
    if run.epochs():
        return NumericsError(f"{error}, and choose another --out: {run.path} keeps earlier epochs")
    for file in (run.train_file, run.path / RECORD):  # the record last: until then it can resume
        file.unlink(missing_ok=True)
    if made:
        run.path.rmdir()
    return error


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


class _Fit(TailFit):
    """One training with a run folder: everything that changes from epoch to epoch."""

    def __init__(
        self,
        classifier: TextClassifier,
        settings: TrainSettings,
        run: RunFolder,
        train: Sequence[Example],
        dev: Sequence[Example] | None,
        show: bool,
    ) -> None:
        encoded, label_ids = classifier.encoder.encode(train), classifier.label_ids(train, "given")
        super().__init__(classifier, settings, encoded, label_ids, show=show)
        self.run = run
        self.dev = None if dev is None else classifier.encoder.encode(dev)
        self.dev_ids = None if dev is None else classifier.label_ids(dev, "given")
        self.names = list(classifier.attributed)

    def run_epochs(self, record: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[float]]:
        """Train from the newest checkpoint on; returns one record per epoch, and their seconds."""
        history = self._restore()
        times = list(self.run.record().get("epoch_seconds", ()))[: len(history)]
        start = time.perf_counter()  # the first epoch's time holds that of the trunk
        self.fill_states(self.dev or [])
        while not self._finished(history):
            epoch = len(history) + 1
            loss = self.run_epoch(epoch)
            accuracy, dev_loss = self._evaluate()
            history.append(
                {
                    "epoch": epoch,
                    "learning_rate": self.optimizer.param_groups[0]["lr"],
                    "train_loss": loss,
                    "dev_accuracy": accuracy,
                    "dev_loss": dev_loss,
                }
            )
            point = {**history[-1], "history": history}
            self.run.save_epoch(epoch, self.classifier.attributed, self._optimizer_state(), point)
            self.run.prune(self.settings.keep, best_epoch(history))
            start, times = time.perf_counter(), [*times, round(time.perf_counter() - start, 3)]
            so_far = {"history": history, "epoch_seconds": times, "finished": False}
            self.run.write_record({**record, **so_far})
        return history, times

    def _finished(self, history: Sequence[Mapping[str, Any]]) -> bool:
        if len(history) >= self.settings.epochs:
            return True
        if not history or not self.settings.patience or self.dev is None:
            return False
        return len(history) - best_epoch(history) >= self.settings.patience

    def _evaluate(self) -> tuple[float | None, float | None]:
        if self.dev is None or self.dev_ids is None:
            return None, None
        logits = self.classifier.logits(self.dev, keep=True)
        if not np.isfinite(logits).all():
            raise self._diverged("the model gave NaN or infinite logits for the dev set")
        losses = text_losses(torch.from_numpy(logits), torch.from_numpy(self.dev_ids), "loss")
        return float((logits.argmax(1) == self.dev_ids).mean()), float(losses.mean())

    # Optimizer state as plain tensors, so that it goes through safetensors -------------------------

    def _optimizer_state(self) -> dict[str, Tensor]:
        state = self.optimizer.state_dict()["state"]
        return {
            f"{self.names[index]}/{key}": torch.as_tensor(value)
            for index, values in state.items()
            for key, value in values.items()
        }

    def _restore(self) -> list[dict[str, Any]]:
        epochs = self.run.epochs()
        if not epochs:
            return []
        parameters, optimizer, record = self.run.load_epoch(epochs[-1])
        for name, parameter in self.classifier.attributed.items():
            parameter.data.copy_(parameters[name])
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in optimizer.items():
            name, _, part = key.rpartition("/")
            state.setdefault(self.names.index(name), {})[part] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        history: list[dict[str, Any]] = record["history"]
        return history


def _draw_curve(history: Sequence[Mapping[str, Any]], best: int, path: Path) -> None:
    from spanfluence.figures import training_curve

    training_curve(history, best, path)


def summary(out: str | Path) -> str:
    """What a finished run came to, in a few lines."""
    run = RunFolder.open(out)
    record = run.record()
    best = next(row for row in record["history"] if row["epoch"] == record["selected_epoch"])
    accuracy = "" if best["dev_accuracy"] is None else f", dev accuracy {best['dev_accuracy']:.2%}"
    return (
        f"{record['train']['examples']} examples, {len(record['history'])} epochs; "
        f"selected epoch {best['epoch']}{accuracy}\n"
        f"Model: {run.model}\nCurve: {run.path / 'curve.png'}\n"
        f'Next: spanfluence explain {run.path} --text "..."'
    )
