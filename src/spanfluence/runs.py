"""A run folder: what a training leaves behind, and how it is read again.

RUN/run.json                      settings, versions, seed, data fingerprints, history
RUN/train.jsonl                   the training examples, as they were used
RUN/model/                        the selected model, a plain Hugging Face folder
RUN/checkpoints/epoch-NNN/        point.safetensors (attributed parameters), point.json (its learning
                                  rate and scores), and in the newest one optimizer.safetensors
RUN/curve.png                     training curve
"""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spanfluence.data import content_fingerprint, load_examples
from spanfluence.data.reading import parse_json, read_text
from spanfluence.errors import InputError
from spanfluence.files import replace_folder_atomic, write_text_atomic
from spanfluence.loading import read_checkpoint
from spanfluence.units import Example

FORMAT = "spanfluence.run/1"
RECORD = "run.json"
"""In every folder of results: settings, versions, seed; its format says of which command."""


def versions() -> dict[str, str]:
    """Versions that a result depends on."""
    import transformers

    from spanfluence import __version__

    return {
        "spanfluence": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def read_record(folder: Path, format: str) -> dict[str, Any]:
    """The record of an output folder, empty where there is none; raises where it is another command's."""
    file = folder / RECORD
    found: Any = parse_json(read_text(file), file) if file.is_file() else {"format": format}
    if not isinstance(found, dict) or found.get("format") != format:
        raise InputError(
            f"{folder} holds the results of another command (the format of its {RECORD} is not "
            f"{format!r}): choose another --out"
        )
    return found if file.is_file() else {}


def check_results_folder(folder: Path, format: str, own: Collection[str]) -> None:
    """Raise unless results may go here: into a new folder, or where this command has left its own before."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: give a new folder for --out")
    if read_record(folder, format) or not folder.is_dir():
        return
    odd = sorted(file.name for file in folder.iterdir() if file.name not in own)
    if odd:
        raise InputError(
            f"{folder} is not empty (it holds {odd[0]}): choose a new folder for --out"
        )


def earlier_stages(folder: Path, format: str, same: Mapping[str, Any]) -> dict[str, Any]:
    """What earlier calls with the same model and data measured, and how, by the folder's record."""
    record = read_record(folder, format)
    stages: dict[str, Any] = record.get("stages", {})
    return stages if all(record.get(key) == value for key, value in same.items()) else {}


def write_record(folder: Path, format: str, record: Mapping[str, Any]) -> None:
    """Write the record of an output folder, never over that of another command."""
    read_record(folder, format)
    text = json.dumps({"format": format, **record, "versions": versions()}, indent=2, default=str)
    write_text_atomic(folder / RECORD, text + "\n")


@dataclass(frozen=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def model(self) -> Path:
        """The selected model."""
        return self.path / "model"

    @property
    def checkpoints(self) -> Path:
        """One folder per kept epoch."""
        return self.path / "checkpoints"

    @property
    def train_file(self) -> Path:
        """The training examples as they were used."""
        return self.path / "train.jsonl"

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """A finished run; raises when the folder is none."""
        run = cls(Path(path))
        if not run.is_recorded:
            raise InputError(
                f"{path} is not a run: it has no run.json (make one with 'spanfluence train', "
                "or name the training file with --train for a model of your own)"
            )
        run.record()  # the output of another command has a record too
        if not run.model.is_dir():
            raise InputError(
                f"the training in {path} did not finish: run 'spanfluence train' again with --resume"
            )
        return run

    @property
    def is_recorded(self) -> bool:
        """Whether the folder has a record, of a run or of another command's output."""
        return (self.path / RECORD).is_file()

    def training_examples(self) -> list[Example]:
        """What the model was trained on; raises where the file was changed since."""
        found = load_examples(self.train_file)
        told = self.record().get("train")
        if isinstance(told, dict) and told.get("content") not in (None, content_fingerprint(found)):
            raise InputError(
                f"{self.train_file} is not what the run was trained on ({told.get('examples')} examples): put it back, "
                "or give the training file with --train"
            )
        return found

    def write_record(self, record: Mapping[str, Any]) -> None:
        """Write run.json."""
        write_record(self.path, FORMAT, record)

    def record(self) -> dict[str, Any]:
        """Read run.json."""
        file = self.path / RECORD
        found: Any = parse_json(read_text(file), file)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputError(
                f"{file} is not the record of a run (its format is not {FORMAT!r}): give a folder "
                "made by 'spanfluence train'"
            )
        return found

    def settings(self) -> dict[str, Any]:
        """The settings of the training that a model is read with, and all others."""
        found = self.record().get("settings")
        missing = {"attribute", "max_length"} - set(found if isinstance(found, dict) else ())
        if missing or not isinstance(found, dict):
            raise InputError(
                f"{self.path / RECORD} does not tell the training's {', '.join(sorted(missing))}: it "
                f"is damaged; train again, or give {self.model} and name the training file with --train"
            )
        return found

    def drafts(self) -> list[Path]:
        """What a kill left of files that were being written."""
        names = (RECORD, self.train_file.name)
        return [file for name in names for file in self.path.glob(f".{name}.*.tmp")]

    def training_seconds(self) -> float | None:
        """Time of all epochs; None for a run that did not write it down."""
        times = self.record().get("epoch_seconds")
        return sum(times) if times else None

    # Checkpoints ----------------------------------------------------------------------------------

    def epoch_folder(self, epoch: int) -> Path:
        """Where an epoch's checkpoint lies."""
        return self.checkpoints / f"epoch-{epoch:03d}"

    def save_epoch(
        self,
        epoch: int,
        parameters: Mapping[str, Tensor],
        optimizer: Mapping[str, Tensor],
        record: Mapping[str, Any],
    ) -> None:
        """Write one epoch's checkpoint; a kill leaves either all of it or nothing."""
        from safetensors.torch import save_file

        self.checkpoints.mkdir(parents=True, exist_ok=True)
        with replace_folder_atomic(self.epoch_folder(epoch)) as folder:
            save_file(
                {n: p.detach().contiguous() for n, p in parameters.items()},
                folder / "point.safetensors",
            )
            save_file(
                {n: t.contiguous() for n, t in optimizer.items()}, folder / "optimizer.safetensors"
            )
            (folder / "point.json").write_text(
                json.dumps(record, indent=2) + "\n", encoding="utf-8"
            )

    def epochs(self) -> list[int]:
        """Epochs whose checkpoint is complete, in order."""
        records = self.checkpoints.glob("epoch-*/point.json")
        return sorted(int(record.parent.name.removeprefix("epoch-")) for record in records)

    def load_epoch(self, epoch: int) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Any]]:
        """(parameters, optimizer state or {}, record) of one epoch."""
        folder = self.epoch_folder(epoch)
        state = folder / "optimizer.safetensors"
        record: dict[str, Any] = parse_json(read_text(folder / "point.json"), folder / "point.json")
        return (
            read_checkpoint(folder / "point.safetensors"),
            read_checkpoint(state) if state.exists() else {},
            record,
        )

    def prune(self, keep_last: int, selected: int) -> None:
        """Drop old checkpoints; the newest alone keeps its optimizer state.

        Beside the newest ones, as many up to the selected epoch stay: methods over checkpoints take those.
        """
        epochs = self.epochs()
        kept = {*epochs[-keep_last:], *range(selected - keep_last + 1, selected + 1)}
        for epoch in epochs:
            if epoch not in kept:
                shutil.rmtree(self.epoch_folder(epoch))
        for epoch in epochs[:-1]:
            (self.epoch_folder(epoch) / "optimizer.safetensors").unlink(missing_ok=True)
