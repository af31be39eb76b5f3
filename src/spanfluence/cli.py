"""The command line: parse, call one library function, print. Heavy imports happen inside commands."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from spanfluence import cli_evaluation, cli_explain
from spanfluence.cli_explain import print_rich, show
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
from spanfluence.errors import SpanfluenceError

app = typer.Typer(
    name="spanfluence",
    help="Which words in which training examples taught the model to say this?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(help="Public data sets.", no_args_is_help=True)
app.add_typer(data_app, name="data")


INTERRUPTED = 130  # exit code


def main() -> None:
    """Entry point: 0 done, 2 bad input (one line), 1 internal error, 130 interrupted."""
    warnings.formatwarning = _in_one_line
    try:
        app(prog_name="spanfluence")
    except SpanfluenceError as error:
        _fail(str(error), 2)
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # typer's own way out
            _interrupted()
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        _fail(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), 2)
    except Exception as error:
        if os.environ.get("SPANFLUENCE_DEBUG"):
            raise
        _fail(
            f"internal error, {type(error).__name__}: {error} (SPANFLUENCE_DEBUG=1 shows where)", 1
        )


def _interrupted() -> None:
    _fail(
        "interrupted; what was finished is kept: the same command again goes on from there (train: with --resume)",
        INTERRUPTED,
    )


def _fail(message: str, code: int) -> None:
    print("error: " + " ".join(message.splitlines()), file=sys.stderr)
    raise SystemExit(code)


def _in_one_line(message: Warning | str, *_: object, **__: object) -> str:
    """A warning as a user can act on it, without its place in the code."""
    return "warning: " + " ".join(str(message).splitlines()) + "\n"


def _version(asked: bool) -> None:
    if asked:
        from spanfluence import __version__

        print(f"spanfluence {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the run and the report.")] = Path("demo"),
    open_report: Annotated[
        bool, typer.Option("--open", help="Open the report in a browser.")
    ] = False,
) -> None:
    """The whole story on the bundled corpus: train, explain, write a report."""
    from spanfluence.demo import run_demo

    out.mkdir(parents=True, exist_ok=True)
    result = run_demo(out, show_progress=True)
    print(f"Dev accuracy {result.dev_accuracy:.1%}.\n")
    show(result.good)
    show(result.error)
    show(result.error_by_tracin)
    for explanation in (result.error, result.error_by_tracin):
        kinds = result.planted_among(explanation)
        print(
            f"{explanation.method}, {len(explanation.supporters)} strongest supporters: "
            f"planted {kinds['planted']}, decoys {kinds['decoy']}."
        )
    print(f"\nReport: {result.report}\n\nTry next:")
    text = "The waiter was patient and funny when we were there, but the soup arrived cold."
    print(
        f'  spanfluence explain {result.run} --context waiter --span "when we were there" \\\n    --text "{text}"'
    )
    print("  spanfluence explain --help\n  spanfluence train --help")
    if open_report:
        typer.launch(str(result.report))


@app.command()
def train(
    data: Annotated[
        Path,
        typer.Argument(
            help="Training examples: jsonl, csv, tsv, parquet, a datasets folder, MAMS xml or SentiHood json."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the run; must be new, or take --resume.")],
    dev: Annotated[Path | None, typer.Option(help="Examples to select the epoch on.")] = None,
    base: Annotated[
        str, typer.Option(help="Model to start from: a folder, a hub name, or 'minilm'.")
    ] = "minilm",
    attribute: Annotated[
        str, typer.Option(help="Parameters to train: last-N, head, all, or a pattern.")
    ] = "last-2",
    learning_rate: Annotated[float, typer.Option("--lr", help="Learning rate of AdamW.")] = 1e-4,
    weight_decay: Annotated[float, typer.Option(help="Weight decay of AdamW.")] = 0.01,
    batch_size: Annotated[int, typer.Option(help="Examples per step.")] = 100,
    epochs: Annotated[int, typer.Option(help="At most so many epochs.")] = 100,
    patience: Annotated[
        int, typer.Option(help="Stop after so many epochs without a better dev accuracy; 0 never.")
    ] = 5,
    schedule: Annotated[
        str, typer.Option(help="Learning rate over epochs: constant or linear.")
    ] = "constant",
    warmup: Annotated[
        int, typer.Option(help="Steps over which the learning rate rises from nothing.")
    ] = 0,
    clip: Annotated[float, typer.Option(help="Shorten gradients to this length; 0 never.")] = 0.0,
    max_length: Annotated[int | None, typer.Option(help="Read at most so many tokens.")] = None,
    keep: Annotated[
        int, typer.Option(help="Checkpoints to keep: the newest, and those up to the selected one.")
    ] = 3,
    seed: Seed = 0,
    device: Device = "cpu",
    resume: Annotated[bool, typer.Option(help="Continue a run that was interrupted.")] = False,
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    context_column: ContextColumn = "context",
    spans_column: SpansColumn = "spans",
    id_column: IdColumn = "id",
) -> None:
    """Fine-tune a classifier; leaves checkpoints, a curve and a record of the run."""
    from spanfluence.data import load_examples
    from spanfluence.train import summary, train_classifier

    columns = columns_named(text_column, label_column, context_column, spans_column, id_column)
    train_classifier(
        load_examples(data, **columns),
        None if dev is None else load_examples(dev, **columns),
        base=base,
        out=out,
        resume=resume,
        device=device,
        show_progress=True,
        attribute=attribute,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        batch_size=batch_size,
        epochs=epochs,
        patience=patience,
        schedule=schedule,
        warmup=warmup,
        clip=clip,
        max_length=max_length,
        keep=keep,
        seed=seed,
    )
    print(summary(out))


@app.command()
def spans(
    data: Annotated[Path, typer.Argument(help="Examples, in any format that train reads.")],
    out: Annotated[Path, typer.Option(help="The .jsonl to write; must be new.")],
    finder: Annotated[
        str,
        typer.Option(
            help="auto, given, words, ngrams, sentences, clauses, chunks, reader, aspect or rationale."
        ),
    ] = "auto",
    reader: Annotated[
        str | None, typer.Option(help="Question-answering model of the reader: folder or hub name.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Run or model whose importance rationale follows.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE for the finder, e.g. most=2; repeatable.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page to look through.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many examples.")] = None,
    resume: Annotated[bool, typer.Option(help="Continue a run that was interrupted.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace files that exist.")] = False,
    mask_mode: MaskMode = "mask",
    device: Device = "cpu",
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    context_column: ContextColumn = "context",
    spans_column: SpansColumn = "spans",
    id_column: IdColumn = "id",
) -> None:
    """Propose spans for examples that have none."""
    from spanfluence.spans.job import SpansJob

    check_page(html, overwrite=overwrite, advice="choose another name for --html, or --overwrite")
    job = SpansJob.open(
        data,
        finder,
        reader=reader,
        model=model,
        options=option or [],
        limit=limit,
        device=device,
        mask_mode=mask_mode,
        columns=columns_named(text_column, label_column, context_column, spans_column, id_column),
    )
    if job.reason:
        print(f"auto chose {job.finder.name}: {job.reason}.")
    job.run(out, resume=resume, overwrite=overwrite, show_progress=True)
    job.show_summary()
    if html is not None:
        job.write_page(html)
        print(f"Page: {html}", file=sys.stderr)


for _command in (
    cli_explain.explain,
    cli_evaluation.audit,
    cli_evaluation.evaluate,
    cli_evaluation.reproduce,
):
    app.command()(_command)


@app.command()
def doctor(
    run: Annotated[
        str | None,
        typer.Argument(help="A run (or a model with --train): what would explaining cost?"),
    ] = None,
    train_file: Annotated[
        Path | None, typer.Option("--train", help="Training examples, if not those of the run.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="The method to be run.", show_default="pinpoint; with --curvature, if++"),
    ] = None,
    curvature: Annotated[
        str | None, typer.Option(help="Of if, if+, if++: lissa, ggn, ekfac or cg.")
    ] = None,
    tests: Annotated[int, typer.Option(help="Spans to be explained together.")] = 1,
    memory: Memory = "4GB",
    device: Device = "cpu",
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    context_column: ContextColumn = "context",
    spans_column: SpansColumn = "spans",
    id_column: IdColumn = "id",
) -> None:
    """What is installed, which devices there are, and what a job would cost."""
    from spanfluence.doctor import facts, job_cost, table

    columns = columns_named(text_column, label_column, context_column, spans_column, id_column)
    if train_file is None:
        refuse_idle_columns(columns)
    print_rich(table("This installation", facts()))
    if run is not None:
        from spanfluence.session import open_explainer

        explainer = open_explainer(
            run,
            train_file=train_file,
            device=device,
            method=method,
            curvature=curvature,
            memory_bytes=parse_size(memory),
            columns=columns,
        )
        cost = job_cost(explainer, tests)
        print_rich(table(f"{explainer.name}, {tests} tests", cost.rows()))


@data_app.command("fetch")
def data_fetch(
    name: Annotated[str, typer.Argument(help="mams or sentihood.")],
    to: Annotated[Path, typer.Option(help="Folder to put the files in.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="Take local files instead of downloading.")
    ] = None,
) -> None:
    """Download a data set from its public home, checked by size and sha256."""
    from rich.console import Console

    from spanfluence.data.fetch import fetch

    bars = Console(stderr=True) if sys.stderr.isatty() else None
    for fetched in fetch(name, to, source=source, progress=bars):
        print(f"{fetched.outcome}: {fetched.path}")


if __name__ == "__main__":
    main()
