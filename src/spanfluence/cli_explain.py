"""The command that explains: which training spans taught the model to say this? As thin as those in `cli`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanfluence.cli_options import (
    ContextColumn,
    Device,
    IdColumn,
    LabelColumn,
    MaskMode,
    Memory,
    Seed,
    SpansColumn,
    TextColumn,
    check_page,
    columns_named,
    parse_size,
    refuse_idle_columns,
)
from spanfluence.errors import InputError

if TYPE_CHECKING:
    from spanfluence.explain import Explainer
    from spanfluence.explanation import Explanation
    from spanfluence.spans import Finder
    from spanfluence.units import Example


def explain(
    run: Annotated[
        str, typer.Argument(help="A run folder; or a model folder or hub name with --train.")
    ],
    text: Annotated[str | None, typer.Option(help="The text to explain.")] = None,
    context: Annotated[
        str | None, typer.Option(help="First segment of the pair, e.g. the aspect.")
    ] = None,
    span: Annotated[
        list[str] | None, typer.Option(help="Words of the text, or START:END; may be repeated.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="Explain every example of a file instead of --text.")
    ] = None,
    train_file: Annotated[
        Path | None, typer.Option("--train", help="Training examples, if not those of the run.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="A method: pinpoint, tracin++, if++, ... or unknown to list them.",
            show_default="pinpoint; with --curvature, if++",
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="Supporters and opponents to show.")] = 10,
    label: Annotated[
        str,
        typer.Option(
            help="Explain the predicted label, the given one of a --file, or one by name."
        ),
    ] = "predicted",
    sign: Annotated[
        str, typer.Option(help="support: top supports; paper: the paper's signs.")
    ] = "support",
    curvature: Annotated[
        str | None, typer.Option(help="Of if, if+, if++: lissa (the paper's), ggn, ekfac or cg.")
    ] = None,
    damping: Annotated[
        str | None, typer.Option(help="Lambda of the inverse curvature: a number, or auto.")
    ] = None,
    curvature_sample: Annotated[
        int | None, typer.Option(help="Training instances that ggn, ekfac or cg look at.")
    ] = None,
    attribute: Annotated[
        str | None,
        typer.Option(help="Attributed parameters; default: those of the run, else last-2."),
    ] = None,
    finder: Annotated[
        str,
        typer.Option(
            help="Where a text has no span: a finder that proposes some, auto, or none for its whole text."
        ),
    ] = "auto",
    reader: Annotated[
        str | None, typer.Option(help="Question-answering model of --finder reader.")
    ] = None,
    max_spans: Annotated[int, typer.Option(help="At most so many proposed spans.")] = 5,
    separate: Annotated[
        bool, typer.Option("--separate", help="Proposed spans one by one instead of mixed.")
    ] = False,
    mask_mode: MaskMode = "mask",
    memory: Memory = "4GB",
    seed: Seed = 0,
    device: Device = "cpu",
    dtype: Annotated[str | None, typer.Option(help="float32, or bfloat16.")] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print JSON (docs/json.md); with --file one line per example."),
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Also write a self-contained page.")] = None,
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    context_column: ContextColumn = "context",
    spans_column: SpansColumn = "spans",
    id_column: IdColumn = "id",
) -> None:
    """Why does the model say this? Ranks training spans by their influence."""
    from spanfluence.session import explain_with_progress, open_explainer

    columns = columns_named(text_column, label_column, context_column, spans_column, id_column)
    examples = _questions(text, context, span, file, columns)
    if file is None and train_file is None:
        refuse_idle_columns(columns)
    check_page(html)
    if label == "given" and file is None:
        raise InputError(
            "--label given needs a --file with labels: with --text name the label, e.g. --label positive"
        )
    explainer = open_explainer(
        run,
        train_file=train_file,
        columns=columns,
        attribute=attribute,
        device=device,
        method=method,
        label="predicted" if label == "predicted" else "given",
        sign=sign,
        curvature=curvature,
        damping=_damping(damping),
        curvature_sample=curvature_sample,
        memory_bytes=parse_size(memory),
        seed=seed,
        mask_mode=mask_mode,
        dtype=dtype,
        finder=_test_finder(finder, reader, device),
        max_spans=max_spans,
        mixture=not separate,
    )
    if label not in ("predicted", "given"):
        examples = _labelled(examples, label, explainer.classifier.labels)
    explanations = explain_with_progress(explainer, examples, top)
    for explanation in explanations:
        if as_json:
            indent = None if file is not None else 2
            print(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=indent))
        else:
            show(explanation)
    if html is not None:
        _write_html(html, explainer, explanations)


def _labelled(examples: list[Example], label: str, known: tuple[str, ...]) -> list[Example]:
    """The examples with the label that is to be explained."""
    from dataclasses import replace

    if label not in known:
        raise InputError(
            f"--label {label!r} is not known: use predicted, given, or a label of the model: "
            f"{', '.join(known)}"
        )
    return [replace(example, label=label) for example in examples]


def _damping(text: str | None) -> float | str | None:
    if text is None or text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--damping {text!r} is no number: give one, or auto") from None


def _test_finder(name: str, reader: str | None, device: str) -> str | Finder | None:
    if reader is not None and name != "reader":
        raise InputError(f"--reader has no meaning for --finder {name}: leave it out")
    if name not in ("reader", "aspect"):
        return None if name == "none" else name
    from spanfluence.spans import finder_named

    own = {"reader": reader} if name == "reader" else {}
    return finder_named(name, device=device, **own)  # these two hold a model of their own


def _questions(
    text: str | None,
    context: str | None,
    span: list[str] | None,
    file: Path | None,
    columns: dict[str, str],
) -> list[Example]:
    from spanfluence.data import load_examples
    from spanfluence.units import Example, locate_span

    if (text is None) == (file is None):
        raise InputError("give either --text or --file")
    if file is not None:
        if context is not None or span:
            raise InputError("--context and --span go with --text; a --file carries its own")
        return load_examples(file, **columns)
    assert text is not None
    return [Example(text, context=context, spans=tuple(locate_span(text, s) for s in span or ()))]


def _write_html(path: Path, explainer: Explainer, explanations: list[Explanation]) -> None:
    from spanfluence.files import write_text_atomic
    from spanfluence.report.html import render_page

    if len(explanations) == 1:
        page = explanations[0].to_html()
    else:
        sections: list[dict[str, Any]] = [
            {"title": f"Example {e.example.id}", "lead": "", "explanations": [e.to_dict()]}
            for e in explanations
        ]
        page = render_page(
            f"{len(explanations)} predictions explained by {explainer.name}", sections
        )
    write_text_atomic(path, page)
    print(f"Page: {path}", file=sys.stderr)


def show(explanation: Explanation) -> None:
    """Print an explanation as a terminal shows it."""
    from spanfluence.report.terminal import render_terminal

    print_rich(render_terminal(explanation.to_dict()))


def print_rich(content: Any) -> None:
    """Print something that rich draws."""
    from rich.console import Console

    Console(highlight=False).print(content)
