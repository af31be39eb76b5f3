"""Checked download of the public data sets; none of their files is part of this package."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from spanfluence.data.public import BASE_URL, DATASETS, PublicDataset, PublicFile
from spanfluence.data.reading import problem
from spanfluence.errors import InputError
from spanfluence.files import atomic_write

TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 16
_ADVICE = "or take local copies with --from DIR (source= in Python)"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file now in place, and how it came there."""

    path: Path
    outcome: Literal["downloaded", "copied", "already there"]


def fetch(
    name: str,
    to: str | os.PathLike[str],
    *,
    source: str | os.PathLike[str] | None = None,
    progress: Console | None = None,
    base_url: str = BASE_URL,
    timeout: float = TIMEOUT_SECONDS,
) -> list[Fetched]:
    """Put the files of the data set `name`, with its licence, into the folder `to`.

    Every file is checked before it appears there. `source` is a folder to copy from instead of
    downloading: it holds the files themselves, or is a clone of their repository. A file already in
    place is kept; one of that name with another content is an error and is never overwritten.
    `progress` is the console on which bars are drawn.
    """
    dataset, folder = _dataset(name), Path(to)
    missing = [file for file in dataset.files if not _in_place(folder / file.name, file)]
    with _made(folder), _bars(progress) as bar:
        for file in missing:
            if source is None:
                origin = dataset.url(file, base_url)
                chunks = _download(origin, timeout)
            else:
                origin = str(_local(Path(source), file))
                chunks = _read(Path(origin))
            _store(chunks, origin, file, folder / file.name, bar(file))
    way: Literal["downloaded", "copied"] = "downloaded" if source is None else "copied"
    return [
        Fetched(folder / file.name, way if file in missing else "already there")
        for file in dataset.files
    ]


def _dataset(name: str) -> PublicDataset:
    if name not in DATASETS:
        raise InputError(f"no data set {name!r} to fetch: choose {' or '.join(DATASETS)}")
    return DATASETS[name]


def _in_place(path: Path, file: PublicFile) -> bool:
    """Whether the right file is there; raise when another one stands in its place."""
    if not path.exists():
        return False
    if path.is_file() and path.stat().st_size == file.size:
        with path.open("rb") as handle:
            if hashlib.file_digest(handle, "sha256").hexdigest() == file.sha256:
                return True
    raise problem(path, "exists with another content: move it away, or fetch to another folder")


def _store(
    chunks: Generator[bytes, None, None],
    origin: str,
    file: PublicFile,
    target: Path,
    advance: Callable[[int], None],
) -> None:
    """Write the chunks to `target` if they are the file's bytes; otherwise leave nothing."""
    digest, received = hashlib.sha256(), 0
    with atomic_write(target) as draft:
        with closing(chunks), draft.open("wb") as handle:
            for chunk in chunks:
                handle.write(chunk)
                digest.update(chunk)
                received += len(chunk)
                advance(len(chunk))
                if received > file.size:  # no need to hear the rest
                    raise problem(origin, f"more than the {file.size} bytes expected: {_ADVICE}")
        if received < file.size:
            raise problem(
                origin, f"ended after {received} of {file.size} bytes: try again, {_ADVICE}"
            )
        if digest.hexdigest() != file.sha256:
            raise problem(
                origin,
                f"wrong content, SHA-256 {digest.hexdigest()} instead of {file.sha256}: "
                f"try again, {_ADVICE}",
            )


def _download(url: str, timeout: float) -> Generator[bytes, None, None]:
    """The body at `url`, piece by piece; whatever the network does wrong becomes one line."""
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise problem(url, "only http and https addresses can be downloaded: correct base_url")
    request = urllib.request.Request(url, headers={"User-Agent": "spanfluence"})  # noqa: S310  # checked above
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:  # noqa: S310  # checked above
            while chunk := response.read(CHUNK_BYTES):
                yield chunk
    except urllib.error.HTTPError as error:
        error.close()
        raise problem(
            url, f"the server answered {error.code} {error.reason}: try again later, {_ADVICE}"
        ) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error or type(error).__name__
        raise problem(url, f"download failed ({reason}): check the network, {_ADVICE}") from None


def _local(source: Path, file: PublicFile) -> Path:
    """The file in a folder of copies, or in a clone of the repository."""
    for candidate in (source / file.name, source / file.path):
        if candidate.is_file():
            return candidate
    raise problem(source, f"no file {file.name!r} in this folder: put it there")


def _read(path: Path) -> Generator[bytes, None, None]:
    try:
        with path.open("rb") as handle:
            while chunk := handle.read(CHUNK_BYTES):
                yield chunk
    except OSError as error:
        raise problem(path, f"cannot be read: {error.strerror}") from None


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make `folder` with its parents; after a failure, remove those that are new and still empty."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise problem(folder, f"cannot be made a folder: {error.strerror}") from None
    try:
        yield
    except BaseException:
        for path in new:
            if not any(path.iterdir()):
                path.rmdir()
        raise


@contextmanager
def _bars(console: Console | None) -> Iterator[Callable[[PublicFile], Callable[[int], None]]]:
    """A function that opens a file's progress bar and gives the function that moves it on."""
    if console is None:
        yield lambda file: lambda size: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=console) as progress:

        def bar(file: PublicFile) -> Callable[[int], None]:
            task = progress.add_task(file.name, total=file.size)
            return lambda size: progress.advance(task, size)

        yield bar
