"""`spanfluence evaluate`: the chosen measures of a run's model, as tables, figures and one page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from spanfluence.baselines import Embedder, bm25_package
from spanfluence.data import content_fingerprint, load_examples
from spanfluence.errors import InputError
from spanfluence.evaluation.ablation import ablation_table
from spanfluence.evaluation.agreement import Judge, agreement_table, check_lists, curve_table
from spanfluence.evaluation.bench import Bench, draw
from spanfluence.evaluation.faithful import TRUTH, faithfulness_table
from spanfluence.evaluation.figures import bar_figure, curve_figure
from spanfluence.evaluation.lds import lds_table, span_lds_table
from spanfluence.evaluation.mislabel import mislabel_table
from spanfluence.evaluation.planted import cell_table, planted_cells, planted_table
from spanfluence.evaluation.removal import removal_table
from spanfluence.evaluation.repair import repair_table
from spanfluence.evaluation.sanity import sanity_table
from spanfluence.evaluation.sizes import Sizes
from spanfluence.evaluation.span_removal import span_removal_table
from spanfluence.evaluation.tables import Table, read_tables
from spanfluence.files import write_text_atomic
from spanfluence.methods import written_row
from spanfluence.model import TextClassifier
from spanfluence.planting import TRIGGERS, Trigger
from spanfluence.retrain import Retrainer
from spanfluence.runs import RunFolder, check_results_folder, earlier_stages, write_record
from spanfluence.scoring import (
    DEFAULT_METHODS,
    KNOWN_METHODS,
    MEMORY,
    Asked,
    check_tests,
    method_row,
)
from spanfluence.stages import Say, Stages, settings_fingerprint
from spanfluence.tail import checked_precision
from spanfluence.units import Example

FORMAT = "spanfluence.evaluation/1"
OWN = ("stages", "retrained", "tables", "figures")
"""What stands in a folder of results before its first stage is done."""
EXPLAINED, QUICK_EXPLAINED = 200, 20
# Stages that retrain, or cost most, stand last.
STAGES: dict[str, Callable[[Bench], list[Table]]] = {
    "agreement": lambda bench: _agreement(bench),
    "faithfulness": lambda bench: [faithfulness_table(bench)],
    "sanity": lambda bench: [sanity_table(bench)],
    "mislabel": lambda bench: [mislabel_table(bench)],
    "planted": lambda bench: _planted(bench),
    "repair": lambda bench: [repair_table(bench)],
    "lds": lambda bench: [lds_table(bench)],
    "span-lds": lambda bench: [span_lds_table(bench)],
    "ral": lambda bench: [removal_table(bench)],
    "span-ral": lambda bench: [span_removal_table(bench)],
    "ablation": lambda bench: [ablation_table(bench)],
}
PAGE = (
    "agreement", "faithfulness", "sanity", "mislabel", "planted", "repair", "lds", "span_lds",
    "ral", "span_ral", "ablation",
)  # fmt: skip
BARS: dict[str, tuple[str, ...]] = {
    "planted": ("planted", "decoy"),
    "repair": ("undone",),
    "lds": ("LDS",),
    "span_lds": ("Span-LDS",),
    "ablation": ("planted", "decoy"),
}


def _agreement(bench: Bench) -> list[Table]:
    judge = Judge(bench)
    return [agreement_table(bench, judge), curve_table(bench, judge)]


def _planted(bench: Bench) -> list[Table]:
    cells = planted_cells(bench)
    return [planted_table(bench, cells), cell_table(cells)]


def chosen_stages(names: Sequence[str] | None) -> list[str]:
    """All stages in their order, or those named."""
    if not names:
        return list(STAGES)
    for name in names:
        if name not in STAGES:
            raise InputError(f"no stage {name!r}: use {', '.join(STAGES)}")
    return [name for name in STAGES if name in set(names)]


def chosen_methods(names: Sequence[str] | None) -> dict[str, Asked]:
    """The default methods, or those named; a name may change columns: "pinpoint, points=checkpoints"."""
    return {name: _asked_for(name) for name in names} if names else dict(DEFAULT_METHODS)


def _asked_for(name: str) -> Asked:
    base, columns = written_row(name)
    if base not in KNOWN_METHODS:
        raise InputError(f"no method {name!r} to evaluate: use {', '.join(KNOWN_METHODS)}")
    asked = {**KNOWN_METHODS[base], **columns}
    method_row(asked)  # a choice that is not known is told now, not after hours
    return asked


def changed_sizes(sizes: Sizes, changes: Sequence[str]) -> Sizes:
    """Sizes with `name=value` changes: numbers, lists such as [0.01, 0.03], or names of triggers."""
    known = {field.name for field in fields(Sizes)}
    for change in changes:
        name, _, text = change.partition("=")
        if name not in known:
            raise InputError(f"no size {name!r}: use {', '.join(sorted(known))}")
        sizes = replace(sizes, **{name: _size(name, text)})
    return sizes


def _size(name: str, text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        raise InputError(f"{name}={text} cannot be read: write {name}=3 or {name}=[1, 2]") from None
    if name == "triggers":
        return _triggers(value, text)
    return tuple(value) if isinstance(value, list) else value


def _triggers(value: Any, text: str) -> tuple[Trigger, ...]:
    """The first so many, or those named."""
    by_name = {trigger.name: trigger for trigger in TRIGGERS}
    names = list(by_name)
    if value in range(1, len(names) + 1) and not isinstance(value, bool):
        return TRIGGERS[: int(value)]
    if not isinstance(value, list) or not value or any(each not in names for each in value):
        raise InputError(
            f"triggers={text}: use a number from 1 to {len(names)} or a list of names among "
            f"{', '.join(names)}"
        )
    return tuple(by_name[each] for each in value)


def check_same_data(run: RunFolder, train: Sequence[Example], what: str) -> None:
    """Raise unless the run was trained on these texts and labels (spans may differ)."""
    if content_fingerprint(run.training_examples()) != content_fingerprint(train):
        count = run.record()["train"]["examples"]
        raise InputError(
            f"the run {run.path} was trained on other data ({count} examples) than {what} "
            f"({len(train)} examples): give the data it was trained on, or train anew"
        )


def load_run(run: RunFolder, device: str = "cpu") -> TextClassifier:
    """The run's selected model with the settings it was trained with."""
    settings = run.settings()
    return TextClassifier.load(
        run.model, attribute=settings["attribute"], device=device, max_length=settings["max_length"]
    )


def tests_read(classifier: TextClassifier, tests: Sequence[Example], say: Say) -> list[Example]:
    """The tests with the spans that the model reads; those without any cannot be explained."""
    found = [test for test in classifier.with_visible_spans(tests) if test.spans]
    lost = len(tests) - len(found)
    if not found:
        raise InputError(
            f"the model reads no span of the {lost} tests (it reads {classifier.encoder.max_length} "
            "tokens): give tests whose spans lie nearer the beginning"
        )
    if lost:
        say(f"{lost} of {len(tests)} tests are left out: the model does not read their spans")
    return found


def open_bench(
    run_path: str | Path,
    tests: Sequence[Example],
    out: Path,
    *,
    train: Sequence[Example] | None = None,
    explained: int = EXPLAINED,
    sizes: Sizes | None = None,
    methods: Mapping[str, Asked] | None = None,
    precision: str = "float32",
    embed: Embedder | None = None,
    seed: int = 0,
    show: bool = False,
    say: Say = print,
) -> Bench:
    """A bench over a run folder. `train` may be the run's examples with other spans.

    `precision`: of the matrix products of retrainings.
    """
    check_results_folder(out, FORMAT, OWN)  # told before hours of work
    bm25_package()
    run = RunFolder.open(run_path)
    if train is None:
        train = run.training_examples()
    else:
        check_same_data(run, train, "the training file")
    check_tests([test for test in tests if test.spans] or tests[:1])
    out.mkdir(parents=True, exist_ok=True)
    embed, encoder = (embed, "") if embed is not None else sentence_encoder()
    classifier = load_run(run)
    tests = classifier.with_label_names(tests)
    spanned = [test for test in tests if test.spans]
    return Bench(
        classifier=classifier,
        train=classifier.with_visible_spans(classifier.with_label_names(train)),
        tests=draw(tests_read(classifier, spanned, say), explained, seed, "explained tests"),
        held_out=[test for test in tests if test.label is not None],
        retrainer=Retrainer.of_run(run, precision=precision, cache=out / "retrained", show=show),
        stages=Stages(out, say=say),
        embed=embed,
        sizes=sizes or Sizes(),
        methods=methods or dict(DEFAULT_METHODS),
        seed=seed,
        show=show,
        encoder=encoder,
        training_seconds=run.training_seconds(),
    )


def sentence_encoder() -> tuple[Embedder, str]:
    """The encoder that judges words, and its name."""
    from spanfluence.spans.embedding import DEFAULT, SentenceEncoder

    return SentenceEncoder.load().embed, DEFAULT


def fill_shared(bench: Bench, stages: Sequence[str]) -> None:
    """Check before anything is scored; lists that two stages need join the same passes."""
    if "agreement" in stages:
        check_lists(bench)
        if "faithfulness" in stages:
            bench.fill({**bench.methods, **TRUTH})


def evaluate(bench: Bench, out: Path, stages: Sequence[str] | None = None) -> list[Table]:
    """Run stages one after the other; what is done is written before the next begins."""
    found: list[Table] = []
    chosen = chosen_stages(stages)
    fill_shared(bench, chosen)
    for name in chosen:
        for table in STAGES[name](bench):
            table.write(out / "tables", of=_measured(bench))
            _draw(table, bench, out / "figures")
            found.append(table)
        _write_page(bench, out, name)
    return found


def _draw(table: Table, bench: Bench, folder: Path) -> None:
    if table.name == "curves":
        names = [*bench.methods, "random", "bm25", "embedding"]
        curve_figure(table, ("Sag", "Lag"), names, folder / "curves.png")
    elif table.name in BARS:
        bar_figure(table, BARS[table.name], folder / f"{table.name}.png")


def _measured(bench: Bench) -> str:
    """What the tables of a bench are of: its model, data and seed."""
    return settings_fingerprint(bench.settings())


def _page(bench: Bench, out: Path) -> str:
    """All tables of this model in the folder, also those of earlier calls; no other model's."""
    parts = ["# Evaluation\n"]
    kept = read_tables(out / "tables", _measured(bench))
    for name in PAGE:
        if name not in kept:
            continue
        parts.append(kept[name].markdown())
        figure = "curves" if name == "agreement" else name
        if figure in kept and (out / "figures" / f"{figure}.png").is_file():
            parts.append(f"![{figure}](figures/{figure}.png)\n")
    return "\n".join([*parts, times_table(bench).markdown()])


def _write_page(bench: Bench, out: Path, stage: str) -> None:
    write_text_atomic(out / "EVALUATION.md", _page(bench, out))
    record: dict[str, Any] = {
        **bench.settings(),
        "stages": {
            **earlier_stages(out, FORMAT, bench.settings()),
            stage: {
                "explained": len(bench.tests),
                "sizes": asdict(bench.sizes),
                "methods": dict(bench.methods),
                "precision": bench.retrainer.precision,
            },
        },
        "recipe": bench.retrainer.recipe,
        "seconds": bench.times,
    }
    write_record(out, FORMAT, record)


def times_table(bench: Bench) -> Table:
    """How long the training and all cached stages of the folder took when they were computed."""
    rows: list[dict[str, Any]] = [
        {"stage": name, "seconds": value} for name, value in bench.times.items()
    ]
    return Table("times", "Time taken", rows)


def evaluate_run(
    run: str | Path,
    tests: Path,
    out: Path,
    *,
    stages: Sequence[str] | None = None,
    train: Path | None = None,
    methods: Sequence[str] | None = None,
    explained: int | None = None,
    quick: bool = False,
    changes: Sequence[str] | None = None,
    precision: str = "float32",
    memory_bytes: int = MEMORY,
    seed: int = 0,
    show: bool = False,
    columns: Mapping[str, str] | None = None,
) -> list[Table]:
    """The command: read the files (`columns`: keywords of `load_examples`), run the stages.

    `explained`: how many tests; where it is not given, few of them for a quick look.
    """
    if explained is None:
        explained = QUICK_EXPLAINED if quick else EXPLAINED
    if explained < 1:
        raise InputError(f"explained={explained} must be at least 1")
    chosen_stages(stages)  # a wrong name is told before anything is loaded
    checked_precision(precision)
    sizes = changed_sizes(Sizes.quick() if quick else Sizes(), changes or ())
    named = columns or {}
    bench = open_bench(
        run,
        load_examples(tests, **named),
        out,
        train=None if train is None else load_examples(train, **named),
        explained=explained,
        sizes=sizes,
        methods=chosen_methods(methods),
        precision=precision,
        seed=seed,
        show=show,
    )
    return evaluate(replace(bench, memory_bytes=memory_bytes), out, stages)
