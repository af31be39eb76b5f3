"""One run of `spanfluence spans`: data and a finder in, a file, a table and a page out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spanfluence.data import load_examples, load_terms
from spanfluence.errors import InputError
from spanfluence.files import write_text_atomic
from spanfluence.spans.files import Summary, row_of, summarise, write_spans
from spanfluence.spans.found import Finder, Found
from spanfluence.spans.registry import choose_finder, finder_named, options_from_text
from spanfluence.units import Example, Span

_WITH_DEVICE = ("reader", "aspect")


@dataclass
class SpansJob:
    """Examples, where their contexts stand, and the finder; `reason` says why auto chose it."""

    examples: list[Example]
    terms: list[Span | None] | None
    finder: Finder
    title: str
    reason: str = ""
    found: list[list[Found]] = field(default_factory=list)

    @classmethod
    def open(
        cls,
        data: Path,
        finder: str,
        *,
        reader: str | None = None,
        model: str | None = None,
        options: Sequence[str] = (),
        limit: int | None = None,
        device: str = "cpu",
        mask_mode: str = "mask",
        columns: Mapping[str, str] | None = None,
    ) -> SpansJob:
        """Read the data and make the finder ready; `columns` are the keywords of `load_examples`."""
        if limit is not None and limit < 1:
            raise InputError(f"--limit {limit} leaves nothing: use at least 1")
        _check_device(device)
        names, reason = columns or {}, ""
        examples, terms = load_examples(data, **names), load_terms(data, **names)
        if limit is not None:
            examples, terms = examples[:limit], None if terms is None else terms[:limit]
        if finder == "auto":
            finder, reason = choose_finder(examples, reader=reader is not None)
        _check_flags(finder, reader, model, mask_mode)
        chosen: dict[str, Any] = {**options_from_text(finder, _parsed(options))}
        if finder == "reader":
            chosen["reader"] = reader
        if finder == "rationale" and model is not None:
            chosen["classifier"] = _classifier(model, device, mask_mode)
        if finder in _WITH_DEVICE:
            chosen["device"] = device
        return cls(examples, terms, finder_named(finder, **chosen), data.name, reason)

    def run(self, out: Path, *, resume: bool, overwrite: bool, show_progress: bool) -> None:
        """Find and write."""
        self.found = write_spans(
            self.examples,
            self.finder,
            out,
            terms=self.terms,
            resume=resume,
            overwrite=overwrite,
            show_progress=show_progress,
        )

    @property
    def summary(self) -> Summary:
        """What was found, in numbers."""
        return summarise(
            self.examples,
            self.found,
            terms=self.terms,
            about_context=self.finder.needs_context,
        )

    def show_summary(self) -> None:
        """Print the table."""
        from rich.console import Console

        from spanfluence.report.spans import summary_table

        Console(highlight=False).print(summary_table(self.summary, self.finder.name))

    def write_page(self, path: Path) -> None:
        """Write the page to look through."""
        from spanfluence.report.spans import render_spans

        rows = [row_of(e, found) for e, found in zip(self.examples, self.found, strict=True)]
        page = render_spans(self.title, self.finder.settings, self.summary, rows)
        write_text_atomic(path, page)


def _check_device(device: str) -> None:
    """Also where the finder needs none: a slip should not wait for one that does."""
    if device != "cpu":  # the usual case need not wait for torch
        from spanfluence.usable import usable_device

        usable_device(device)


def _check_flags(finder: str, reader: str | None, model: str | None, mask_mode: str) -> None:
    if reader is not None and finder != "reader":
        raise InputError(f"--reader has no meaning for the finder {finder!r}: leave it out")
    if model is not None and finder != "rationale":
        raise InputError(f"--model has no meaning for the finder {finder!r}: leave it out")
    if mask_mode != "mask" and finder != "rationale":
        raise InputError(f"--mask-mode has no meaning for the finder {finder!r}: leave it out")


def _parsed(options: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for option in options:
        name, sign, value = option.partition("=")
        if not sign or not name:
            raise InputError(f"--option {option!r} is not NAME=VALUE, e.g. most=2")
        found[name] = value
    return found


def _classifier(source: str, device: str, mask_mode: str) -> Any:
    from spanfluence.model import TextClassifier

    return TextClassifier.load(source, device=device, mask_mode=mask_mode)
