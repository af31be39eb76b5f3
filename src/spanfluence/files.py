"""Files and folders that appear whole or not at all.

Everything is written beside its final place under a hidden name, forced to disk, and then renamed, so
that a reader, or a run resumed after a kill, never meets half a file.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spanfluence.errors import InputError


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to, moved to `path` when the block ends without an exception.

    An existing file is replaced in one step; after an exception it is as it was, and nothing new is
    left in the folder.
    """
    target = Path(path)
    check_parent(target)
    if target.exists() and not target.is_file():  # a folder, or a device such as /dev/null
        raise InputError(f"{target}: is not a regular file: choose another path to write to")
    draft = _sibling(target, "tmp")
    try:
        yield draft
        _sync(draft)
        draft.replace(target)
        _sync(target.parent)
    finally:
        draft.unlink(missing_ok=True)


def write_text_atomic(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8, line ends untouched, by `atomic_write`."""
    with atomic_write(path) as draft:
        draft.write_bytes(text.encode("utf-8"))


@contextmanager
def replace_folder_atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder to fill, moved to `path` when the block ends without an exception.

    A new folder appears in one step. An existing one is first renamed to `.NAME.*.old` and put back if
    the second rename fails; only a kill between the two renames leaves it under that name.
    """
    target = Path(path)
    check_parent(target)
    if target.exists() and not target.is_dir():
        raise InputError(f"{target}: is a file, not a folder: move it away or choose another path")
    draft = _sibling(target, "tmp")
    draft.mkdir()
    try:
        yield draft
        for item in [*draft.rglob("*"), draft]:
            _sync(item)
        _swap(draft, target)
        _sync(target.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _swap(draft: Path, target: Path) -> None:
    """Put folder `draft` in the place of `target`, which need not exist."""
    if not target.exists():
        draft.rename(target)
        return
    old = _sibling(target, "old")
    target.rename(old)
    try:
        draft.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _sibling(target: Path, suffix: str) -> Path:
    """A hidden name beside `target` that no other writer uses."""
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}.{suffix}")


def check_parent(target: Path) -> None:
    """Raise unless the folder of `target` is there and can be written to."""
    if not target.parent.is_dir():
        raise InputError(f"{target}: its folder {target.parent} does not exist: make it first")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"{target}: no permission to write in the folder {target.parent}")


def _sync(path: Path) -> None:
    """Force a file's content, or a folder's list of names, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
