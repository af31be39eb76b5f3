"""A store of trunk states: computed once per text, used by every point, side and method."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from typing import IO

import torch
from jaxtyping import Float
from torch import Tensor

from spanfluence.encoding import Encoded

BUDGET_BYTES = 8 << 30


class StateStore:
    """Hidden states by text, in a temporary file up to a budget of bytes; beyond it they are recomputed.

    A file, so that memory does not grow with the training set: the system keeps in memory what fits
    beside everything else. It is read by position, not mapped, because mapped pages would count as memory of
    the process. It lies in the folder for temporary files (set TMPDIR to move it), takes at most a
    quarter of the disk's free space, and vanishes with the process.
    """

    def __init__(self, budget_bytes: int = BUDGET_BYTES) -> None:
        self.budget_bytes = budget_bytes
        self.used_bytes = 0
        self._file: IO[bytes] | None = None
        self._at_file = threading.Lock()  # one place in it for all threads
        self._places: dict[bytes, int] = {}  # key of a text -> offset in the file
        self._dtype, self._width = torch.float32, 0

    def __contains__(self, encoded: Encoded) -> bool:
        return encoded.key in self._places

    def keep(self, batch: Sequence[Encoded], states: Float[Tensor, "texts tokens hidden"]) -> None:
        """Remember the states of each text of a padded batch, without its padding."""
        self._dtype, self._width = states.dtype, states.shape[-1]
        for encoded, rows in zip(batch, states.cpu(), strict=True):
            size = len(encoded) * rows.shape[-1] * rows.element_size()
            with self._at_file:
                if encoded.key not in self._places and self.used_bytes + size <= self.budget_bytes:
                    self._write(encoded.key, rows[: len(encoded)])

    def _write(self, key: bytes, rows: Float[Tensor, "tokens hidden"]) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="spanfluence-", buffering=0)  # noqa: SIM115
            weakref.finalize(self, self._file.close)
            free = shutil.disk_usage(tempfile.gettempdir()).free
            self.budget_bytes = min(self.budget_bytes, free // 4)
        content = rows.contiguous().view(torch.uint8).numpy().tobytes()
        try:
            self._file.seek(self.used_bytes)
            written = self._file.write(content)
        except OSError:
            written = 0
        if written < len(content):  # the disk is full: what is stored stays, the rest is recomputed
            self.budget_bytes = self.used_bytes
            return
        self._places[key] = self.used_bytes
        self.used_bytes += len(content)

    def gather(
        self, batch: Sequence[Encoded]
    ) -> tuple[Float[Tensor, "texts tokens hidden"], list[int]] | None:
        """States of a batch, zero beyond each text's end, and which of its texts are not known.

        None if no text is known.
        """
        missing = [number for number, encoded in enumerate(batch) if encoded not in self]
        if self._file is None or len(missing) == len(batch):
            return None
        longest = max(len(encoded) for encoded in batch)
        states = torch.zeros(len(batch), longest, self._width, dtype=self._dtype)
        places = states.view(torch.uint8).numpy()
        for number, encoded in enumerate(batch):
            if encoded in self:
                with self._at_file:
                    self._file.seek(self._places[encoded.key])
                    self._file.readinto(places[number, : len(encoded)])  # type: ignore[attr-defined]
        return states, missing

    def clear(self) -> None:
        """Forget everything, e.g. when the trunk itself has changed."""
        self._places.clear()
        self.used_bytes = 0
        if self._file is not None:
            self._file.truncate(0)
