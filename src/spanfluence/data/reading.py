"""Reading a whole file as text or JSON, and saying in one line what is wrong with it and where."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

from spanfluence.errors import InputError

LONGEST_MESSAGE = 400


def problem(where: object, message: object) -> InputError:
    """The error for what stands at `where` (a path, or a path with a line): always one line."""
    line = " ".join(str(message).splitlines())
    if len(line) > LONGEST_MESSAGE:
        half = LONGEST_MESSAGE // 2
        line = f"{line[:half]} … {line[-half:]}"
    return InputError(f"{where}: {line}")


def quoted(names: list[str], most: int = 20) -> str:
    """`'a', 'b'`, cut after `most` names."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def read_bytes(path: Path) -> bytes:
    """The content of a file that must exist and hold something."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise problem(path, "no such file: check the path") from None
    except OSError as error:
        raise problem(path, f"cannot be read: {error.strerror}") from None
    if not content.strip():
        raise problem(path, "the file is empty: give a file with at least one row")
    return content


def read_text(path: Path) -> str:
    """The content of a UTF-8 file; a byte order mark is dropped, line ends stay as they are."""
    content = read_bytes(path)
    mark = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0
    try:
        text = content[mark:].decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + mark
        line = content.count(b"\n", 0, offset) + 1
        seen = f"byte 0x{content[offset]:02x} at byte offset {offset} is not UTF-8"
        raise problem(f"{path}:{line}", f"{seen}: save it as UTF-8") from None
    if not text.strip():
        raise problem(path, "the file is empty: give a file with at least one row")
    return text


def parse_json(text: str, path: Path, first_line: int = 1) -> Any:
    """`text`, which begins on line `first_line` of `path`, as JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        advice = ""
        if error.msg == "Extra data" and path.suffix.lower() == ".json":
            advice = ": a file with one object per line must be named .jsonl"
        where = f"{path}:{first_line + error.lineno - 1}"
        raise problem(
            where, f"not valid JSON: {error.msg} at column {error.colno}{advice}"
        ) from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; a deep nest
        raise problem(f"{path}:{first_line}", f"not usable JSON: {error}") from None
