"""Cached stages: a long job is a row of named results, each computed once for its settings.

OUT/stages/NAME/stage.json    settings, their fingerprint, versions, seconds taken
OUT/stages/NAME/result.json   or arrays.npz: what the stage found

A stage folder appears whole or not at all. A job that was interrupted skips what is there with the same
fingerprint; a stage whose settings changed is computed again. So is one that was computed before FORMAT was
raised: raise it with every change of code after which old results would be wrong.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spanfluence.errors import InputError
from spanfluence.files import replace_folder_atomic
from spanfluence.runs import versions

FORMAT = 2

Say = Callable[[str], None]
Arrays = dict[str, np.ndarray]


def settings_fingerprint(settings: Mapping[str, Any]) -> str:
    """SHA-256 of settings that JSON can write."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Stages:
    """The results of one job, kept in a folder."""

    folder: Path
    say: Say = print
    seconds: dict[str, float] = field(default_factory=dict)
    """Time each stage of this job took when it was computed, now or before."""

    def values(self, name: str, settings: Mapping[str, Any], compute: Callable[[], Any]) -> Any:
        """A result that JSON can hold."""

        def write(folder: Path) -> None:
            (folder / "result.json").write_text(
                json.dumps(compute(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
            )

        folder = self.folder_of(name, settings, write)
        return json.loads((folder / "result.json").read_text(encoding="utf-8"))

    def arrays(
        self,
        name: str,
        settings: Mapping[str, Any],
        compute: Callable[[], Arrays],
        *,
        seconds: float | None = None,
    ) -> Arrays:
        """A result of numpy arrays; `seconds` tells the time where it was computed beforehand."""

        def write(folder: Path) -> None:
            np.savez(folder / "arrays.npz", allow_pickle=False, **compute())

        folder = self.folder_of(name, settings, write, seconds=seconds)
        with np.load(folder / "arrays.npz", allow_pickle=False) as found:
            return {key: found[key] for key in found.files}

    def has(self, name: str, settings: Mapping[str, Any]) -> bool:
        """Whether the stage is there with these settings."""
        record = _record(self._path(name))
        return record is not None and record["fingerprint"] == _fingerprint(settings)

    def folder_of(
        self,
        name: str,
        settings: Mapping[str, Any],
        write: Callable[[Path], None],
        *,
        seconds: float | None = None,
    ) -> Path:
        """The stage's folder, made by `write` unless it is there with the same settings."""
        path = self._path(name)
        if self.has(name, settings):
            record = _record(path)
            assert record is not None
            self.seconds[name] = record["seconds"]
            return path
        if seconds is None:
            self.say(f"{name} ...")
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_folder_atomic(path) as draft:
            start = time.perf_counter()
            write(draft)
            took = time.perf_counter() - start if seconds is None else seconds
            self.seconds[name] = round(took, 3)
            record = {
                "stage": name,
                "format": FORMAT,
                "fingerprint": _fingerprint(settings),
                "settings": settings,
                "seconds": self.seconds[name],
                "versions": versions(),
            }
            (draft / "stage.json").write_text(
                json.dumps(record, indent=1, default=str) + "\n", encoding="utf-8"
            )
        self.say(f"{name}: {self.seconds[name]:.1f} s")
        return path

    def all_seconds(self) -> dict[str, float]:
        """Time of every stage in the folder, whichever call computed it."""
        found = {}
        for file in sorted((self.folder / "stages").rglob("stage.json")):
            record = _record(file.parent)
            if record is not None and record.get("format") == FORMAT:
                found[str(record["stage"])] = float(record["seconds"])
        return found

    def _path(self, name: str) -> Path:
        if not name or any(part in ("", ".", "..") for part in name.split("/")):
            raise InputError(f"{name!r} is not the name of a stage")
        return self.folder / "stages" / name


def _fingerprint(settings: Mapping[str, Any]) -> str:
    return settings_fingerprint({"format": FORMAT, "settings": settings})


def _record(path: Path) -> dict[str, Any] | None:
    """The stage's record, or None where there is none that can be read."""
    try:
        record: Any = json.loads((path / "stage.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and "fingerprint" in record else None
