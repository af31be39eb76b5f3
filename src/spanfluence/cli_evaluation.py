"""The commands that judge models and methods: audit, evaluate, reproduce. As thin as those in `cli`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from spanfluence.cli_options import (
    ContextColumn,
    Device,
    IdColumn,
    LabelColumn,
    MaskMode,
    Memory,
    RetrainPrecision,
    Seed,
    SpansColumn,
    TextColumn,
    columns_named,
    parse_size,
)
from spanfluence.errors import InputError


def audit(
    run: Annotated[
        str, typer.Argument(help="A run folder; or a model folder or hub name with --train.")
    ],
    dev: Annotated[Path, typer.Option(help="Held-out labelled examples.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for audit.html and CSV files; must be new.")
    ] = None,
    train_file: Annotated[
        Path | None, typer.Option("--train", help="Training examples, if not those of the run.")
    ] = None,
    method: Annotated[str, typer.Option(help="A method of the table.")] = "pinpoint",
    top: Annotated[int, typer.Option(help="Rows of each list.")] = 20,
    supporters: Annotated[
        int, typer.Option(help="How far down an error's list phrases are sought.")
    ] = 20,
    probe: Annotated[
        bool, typer.Option(help="Also try out recurring phrases on rows the model gets right.")
    ] = True,
    seed: Seed = 0,
    mask_mode: MaskMode = "mask",
    device: Device = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    context_column: ContextColumn = "context",
    spans_column: SpansColumn = "spans",
    id_column: IdColumn = "id",
) -> None:
    """Which training spans, labels and phrases make the model err on held-out data?"""
    from rich.console import Console

    from spanfluence.audit import AuditSettings, audit_run
    from spanfluence.data import load_examples
    from spanfluence.findings import FORMAT
    from spanfluence.report.audit import audit_terminal, write_audit
    from spanfluence.runs import write_record

    if out is not None and out.is_file():
        raise InputError(f"{out} is a file: give a new folder for --out")
    if out is not None and out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is not empty: choose a new folder for --out")
    columns = columns_named(text_column, label_column, context_column, spans_column, id_column)
    settings = AuditSettings(top=top, supporters=supporters, probe=probe)
    found = audit_run(
        run,
        load_examples(dev, **columns),
        method=method,
        train_file=train_file,
        settings=settings,
        show=True,
        columns=columns,
        seed=seed,
        mask_mode=mask_mode,
        device=device,
    ).to_dict()
    if as_json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        Console(highlight=False).print(audit_terminal(found))
    if out is not None:
        for path in write_audit(found, out):
            typer.echo(f"wrote {path}", err=True)
        asked = {"model": run, "train": train_file, "dev": dev, "method": method, "mask": mask_mode}
        record = {**asked, "seed": seed, "settings": asdict(settings)}
        write_record(out, FORMAT, record)


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    tests: Annotated[Path, typer.Option(help="Labelled tests with spans.")],
    out: Annotated[Path, typer.Option(help="Folder for tables, figures and the cache.")] = Path(
        "evaluation"
    ),
    stages: Annotated[
        list[str] | None, typer.Option(help="Measures to take; may be repeated. Default: all.")
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="Methods to judge, also with other columns ('pinpoint, points=checkpoints'); may be "
            "repeated. Default: all."
        ),
    ] = None,
    train_file: Annotated[
        Path | None, typer.Option("--train", help="The run's training examples with other spans.")
    ] = None,
    explained: Annotated[
        int | None, typer.Option(help="Tests to explain; default: 200, with --quick 20.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Small sizes, for a first look.")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="A size, e.g. seeds=2, rates=[0.01]; may be repeated."),
    ] = None,
    precision: RetrainPrecision = "float32",
    memory: Memory = "4GB",
    seed: Seed = 0,
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    context_column: ContextColumn = "context",
    spans_column: SpansColumn = "spans",
    id_column: IdColumn = "id",
) -> None:
    """Judge methods beside cheap baselines, with intervals. Interrupted, it resumes."""
    from spanfluence.evaluation.runner import evaluate_run

    evaluate_run(
        run,
        tests,
        out,
        stages=stages,
        train=train_file,
        methods=methods,
        explained=explained,
        quick=quick,
        changes=changes,
        precision=precision,
        memory_bytes=parse_size(memory),
        seed=seed,
        show=True,
        columns=columns_named(text_column, label_column, context_column, spans_column, id_column),
    )
    print(f"Tables and figures: {out / 'EVALUATION.md'}")


def reproduce(
    dataset: Annotated[str, typer.Argument(help="mams or sentihood.")],
    data: Annotated[Path, typer.Option(help="Folder with the data set's files.")],
    out: Annotated[Path, typer.Option(help="Folder for the report, figures and the cache.")],
    run: Annotated[
        Path | None, typer.Option(help="A run trained on this data; default: train one.")
    ] = None,
    spans: Annotated[
        Path | None,
        typer.Option(help="Folder with train.jsonl and test.jsonl by 'spanfluence spans'."),
    ] = None,
    reader: Annotated[
        Path | None, typer.Option(help="A reading-comprehension model to annotate spans with.")
    ] = None,
    released: Annotated[
        Path | None,
        typer.Option(help="The paper's released file of test spans; other tests are dropped."),
    ] = None,
    base: Annotated[str, typer.Option(help="Model to start from when training.")] = "minilm",
    stages: Annotated[
        list[str] | None, typer.Option(help="Parts to run; may be repeated. Default: all.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="A part of the data, for a first look.")] = False,
    curvature: Annotated[str, typer.Option(help="Inverse curvature of if, if+, if++.")] = "lissa",
    seeds: Annotated[
        int | None,
        typer.Option(help="Retrainings of each subset for Ral; default: 3, with --quick 1."),
    ] = None,
    removal_train: Annotated[
        int | None, typer.Option(help="Training rows for Ral; default: all.")
    ] = None,
    faithful_tests: Annotated[
        int | None,
        typer.Option(help="Tests of if++ in the faithfulness table; default: 50, with --quick 5."),
    ] = None,
    precision: RetrainPrecision = "float32",
    memory: Memory = "4GB",
    seed: Seed = 0,
) -> None:
    """The paper's tables and figure from the real data. Interrupted, it resumes."""
    from spanfluence.reproduce.pipeline import Plan, reproduce_paper

    plan = Plan(
        dataset=dataset,
        data=data,
        out=out,
        run=run,
        spans=spans,
        reader=reader,
        released=released,
        base=base,
        stages=tuple(stages or ()),
        quick=quick,
        curvature=curvature,
        seeds=seeds,
        removal_train=removal_train,
        faithful_tests=faithful_tests,
        precision=precision,
        memory_bytes=parse_size(memory),
        seed=seed,
        show=True,
    )
    print(f"Report: {reproduce_paper(plan)}")
