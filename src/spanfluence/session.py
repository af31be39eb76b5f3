"""From a run folder to a ready `Explainer`: what every command that explains begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spanfluence.data import load_examples
from spanfluence.errors import InputError
from spanfluence.explain import Explainer
from spanfluence.explanation import Explanation
from spanfluence.methods import written_row
from spanfluence.model import TextClassifier
from spanfluence.progress import progress_bar
from spanfluence.runs import RunFolder
from spanfluence.units import Example


def open_explainer(
    source: str,
    *,
    train_file: Path | None = None,
    columns: Mapping[str, str] | None = None,
    attribute: str | None = None,
    device: str = "cpu",
    mask_mode: str = "mask",
    dtype: str | None = None,
    **options: Any,
) -> Explainer:
    """An explainer of a run's model; or of any model folder or hub name, given its training file.

    `columns` are the keywords of `load_examples` for that file. The method may be written with other
    columns of its row: "pinpoint, points=checkpoints".
    """
    options = _with_columns(**options)
    names = columns or {}
    if RunFolder(Path(source)).is_recorded:
        run = RunFolder.open(source)
        settings = run.settings()
        chosen = attribute or settings["attribute"]
        classifier = TextClassifier.load(
            run.model,
            attribute=chosen,
            device=device,
            max_length=settings["max_length"],
            mask_mode=mask_mode,
            dtype=dtype,
        )
        train = (
            run.training_examples() if train_file is None else load_examples(train_file, **names)
        )
    else:
        classifier = TextClassifier.load(
            source,
            attribute=attribute or "last-2",
            device=device,
            mask_mode=mask_mode,
            dtype=dtype,
        )
        if train_file is None:
            raise InputError(
                f"{source} is not a run, so its training examples are unknown: name them with --train"
            )
        train = load_examples(train_file, **names)
    return Explainer(classifier, train, **options)


def _with_columns(method: str | None = None, **options: Any) -> dict[str, Any]:
    """The options of an `Explainer`, with the columns that are written behind a method's name."""
    if method is None:
        return {"method": None, **options}
    name, changed = written_row(method)
    twice = [column for column in changed if options.get(column) is not None]
    if twice:
        raise InputError(f"{twice[0]} is chosen twice, in the method {method!r} too: say it once")
    return {**options, "method": name, **changed}


def explain_with_progress(
    explainer: Explainer, examples: Sequence[Example], top_k: int
) -> list[Explanation]:
    """`explain_all` behind a progress bar."""
    with progress_bar("training units", len(explainer.train_units), show=True) as advance:
        return explainer.explain_all(examples, top_k, advance=advance)
