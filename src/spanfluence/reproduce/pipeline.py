"""`spanfluence reproduce`: from the data to REPORT.md, stage by stage; a finished stage is not repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from spanfluence.baselines import Embedder, bm25_package
from spanfluence.curvature.lissa import Lissa
from spanfluence.data import content_fingerprint
from spanfluence.errors import InputError
from spanfluence.evaluation.agreement import PAPER_SIGN, Judge, agreement_table, curve_table
from spanfluence.evaluation.bench import Bench, draw
from spanfluence.evaluation.faithful import correlations, faithfulness_table
from spanfluence.evaluation.figures import bar_figure, curve_figure
from spanfluence.evaluation.removal import removal_table
from spanfluence.evaluation.runner import (
    OWN,
    check_same_data,
    fill_shared,
    load_run,
    sentence_encoder,
    tests_read,
)
from spanfluence.evaluation.sizes import Sizes
from spanfluence.evaluation.tables import Table, read_tables
from spanfluence.files import write_text_atomic
from spanfluence.reproduce import paper
from spanfluence.reproduce.cases import case_figure, case_table, is_paper_case
from spanfluence.reproduce.claims import agreement_claims, faithfulness_claims
from spanfluence.reproduce.inputs import annotate, check_dataset, load_splits, right_spans
from spanfluence.reproduce.report import Reproduction, render
from spanfluence.retrain import Retrainer
from spanfluence.runs import (
    RunFolder,
    check_results_folder,
    earlier_stages,
    versions,
    write_record,
)
from spanfluence.scoring import DEFAULT_METHODS, MEMORY, Asked, check_tests, method_row
from spanfluence.stages import Say, Stages, settings_fingerprint
from spanfluence.tail import checked_precision
from spanfluence.train import recorded_changes, train_classifier
from spanfluence.units import Example

STAGES = ("agreement", "case", "faithfulness", "ral")
TESTS = 200
QUICK_TRAIN, QUICK_TESTS, QUICK_STEPS, QUICK_EPOCHS = 500, 20, 60, 3
RECIPES: dict[str, dict[str, Any]] = {
    "mams": {"learning_rate": 3e-4, "batch_size": 64, "epochs": 6, "patience": 2},
    "sentihood": {"learning_rate": 3e-4, "batch_size": 32, "epochs": 10, "patience": 3},
}
FORMAT = "spanfluence.reproduction/1"
GIVEN_SIZES = ("seeds", "removal_train", "faithful_tests")
"""Sizes that the user may choose, from call to call."""
CURVE = (1, 2, 5, 10, 20, 50, 100, 200, 500)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is reproduced, from what, and where it goes; sizes that are not given are those of `Sizes`."""

    dataset: str
    data: Path
    out: Path
    run: Path | None = None
    spans: Path | None = None
    reader: Path | None = None
    released: Path | None = None
    base: str = "minilm"
    stages: tuple[str, ...] = ()
    quick: bool = False
    curvature: str = "lissa"
    seeds: int | None = None
    removal_train: int | None = None
    faithful_tests: int | None = None
    precision: str = "float32"
    memory_bytes: int = MEMORY
    seed: int = 0
    show: bool = False
    say: Say = print
    embed: Embedder | None = None

    def __post_init__(self) -> None:
        for name in self.stages:
            if name not in STAGES:
                raise InputError(f"no stage {name!r}: use {', '.join(STAGES)}")
        checked_precision(self.precision)
        check_dataset(self.dataset)
        for asked in self.methods.values():
            method_row(asked)  # a curvature that is not known is told now, not after hours
        _ = self.sizes  # and so is a size

    @property
    def sizes(self) -> Sizes:
        """The paper's sizes, or small ones; what was asked for by name holds in both."""
        given = {name: getattr(self, name) for name in GIVEN_SIZES}
        asked = {name: value for name, value in given.items() if value is not None}
        ks = paper.KS[self.dataset]
        if self.quick:
            return Sizes.quick(**{"ks": ks, "curve": CURVE[:7], "removal_train": None, **asked})
        return Sizes(ks=ks, curve=CURVE, **asked)

    @property
    def methods(self) -> dict[str, Asked]:
        """All methods; those with curvature take the chosen one."""
        curvature: Any = self.curvature
        if self.quick and curvature == "lissa":
            curvature = Lissa(max_steps=QUICK_STEPS, seed=self.seed)
        return {
            name: {**asked, "curvature": curvature} if name.startswith("if") else asked
            for name, asked in DEFAULT_METHODS.items()
        }


def reproduce_paper(plan: Plan) -> Path:
    """Run the plan; returns the path of REPORT.md."""
    check_results_folder(plan.out, FORMAT, (*OWN, "run", "spans"))  # told before hours of work
    bm25_package()
    splits = load_splits(plan.dataset, plan.data)
    whole = splits["train"]
    if plan.quick:
        splits["train"] = draw(whole, QUICK_TRAIN, plan.seed, "quick train")
    plan.out.mkdir(parents=True, exist_ok=True)
    spanned = {
        name: annotate(splits[name], name, folder=plan.spans, reader=plan.reader, out=plan.out)
        for name in ("train", "test")
    }
    kept, counts = right_spans(spanned["test"], plan.released)
    check_tests(kept)
    run = _run(plan, splits, whole)
    bench = _bench(plan, run, spanned["train"], splits["test"], kept)
    of = settings_fingerprint(bench.settings(quick=plan.quick, curvature=plan.curvature))
    found = read_tables(plan.out / "tables", of)  # of earlier calls: the report shows them too
    stages = [name for name in STAGES if name in (plan.stages or STAGES)]
    fill_shared(bench, stages)
    for name in stages:
        new = {table.name: table for table in _tables(name, plan, bench)}
        for table in new.values():
            table.write(plan.out / "tables", of)
        _figures(plan, bench, new)
        found |= new
        _write(plan, bench, run, found, counts, stage=name, of=of)
    return plan.out / "REPORT.md"


def _run(
    plan: Plan, splits: Mapping[str, Sequence[Example]], whole: Sequence[Example]
) -> RunFolder:
    """The given run, checked against the data; or one trained here, once."""
    if plan.run is not None:
        return _given_run(plan, plan.run, splits["train"], whole)
    run = RunFolder(plan.out / "run")
    settings = {**RECIPES[plan.dataset], "seed": plan.seed}
    if plan.quick:
        settings |= {"epochs": QUICK_EPOCHS}
    if run.model.is_dir():
        _check_trained(plan, run, settings)
        check_same_data(run, splits["train"], str(plan.data))
        return run
    plan.say(f"training {plan.base} on {len(splits['train'])} examples ...")
    train_classifier(
        splits["train"],
        splits["dev"],
        base=plan.base,
        out=run.path,
        resume=run.is_recorded,
        show_progress=plan.show,
        **settings,
    )
    return run


def _given_run(
    plan: Plan, path: Path, part: Sequence[Example], whole: Sequence[Example]
) -> RunFolder:
    """A run of the user's, trained on the data or, for a quick look, on the part that is drawn here."""
    run = RunFolder.open(path)
    if content_fingerprint(run.training_examples()) != content_fingerprint(part):
        check_same_data(run, whole, str(plan.data))
    return run


def _check_trained(plan: Plan, run: RunFolder, settings: Mapping[str, Any]) -> None:
    """Raise unless an earlier call trained the folder's run as it is asked for now."""
    changes = recorded_changes(run.record(), {"base": plan.base, "settings": settings})
    if changes:
        raise InputError(
            f"{run.path} was trained otherwise: {'; '.join(changes)} "
            f"(give --run {run.path} to take it as it is, or another --out)"
        )


def _bench(
    plan: Plan,
    run: RunFolder,
    train: Sequence[Example],
    held_out: Sequence[Example],
    kept: Sequence[Example],
) -> Bench:
    embed, encoder = (plan.embed, "") if plan.embed is not None else sentence_encoder()
    classifier = load_run(run)
    readable = tests_read(classifier, kept, plan.say)
    return Bench(
        classifier=classifier,
        train=classifier.with_visible_spans(train),
        tests=_explained(readable, QUICK_TESTS if plan.quick else TESTS, plan.seed),
        held_out=held_out,
        retrainer=Retrainer.of_run(
            run, precision=plan.precision, cache=plan.out / "retrained", show=plan.show
        ),
        stages=Stages(plan.out, say=plan.say),
        embed=embed,
        sizes=plan.sizes,
        methods=plan.methods,
        seed=plan.seed,
        show=plan.show,
        memory_bytes=plan.memory_bytes,
        encoder=encoder,
        training_seconds=run.training_seconds(),
    )


def _explained(kept: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Drawn tests; the paper's case study is among them where the data has it."""
    chosen = draw(kept, count, seed, "explained tests")
    case = [test for test in kept if is_paper_case(test)]
    if case and case[0] not in chosen:
        chosen[-1] = case[0]
    return chosen


def _tables(stage: str, plan: Plan, bench: Bench) -> list[Table]:
    if stage == "agreement":
        judge = Judge(bench)
        claims = agreement_claims(bench, judge, plan.dataset)
        return [agreement_table(bench, judge), curve_table(bench, judge), claims]
    if stage == "case":
        return [case_table(bench)]
    if stage == "faithfulness":
        rows = correlations(bench)
        return [faithfulness_table(bench, rows), faithfulness_claims(bench, rows)]
    return [removal_table(bench)]


def _figures(plan: Plan, bench: Bench, found: dict[str, Table]) -> None:
    folder = plan.out / "figures"
    if "curves" in found:
        table = found["curves"]
        ours = [*bench.methods, "random", "bm25", "embedding"]
        known = {str(row["method"]) for row in table.rows}
        theirs = [
            name + PAPER_SIGN if name + PAPER_SIGN in known else name for name in paper.METHODS
        ]
        panels = {"our sign": ours, "the paper's signs": theirs}
        curve_figure(table, ("Sag", "Lag"), panels, folder / "curves.png")
    if "case" in found:
        case_figure(found["case"], folder / "case.png")
    if "agreement" in found:
        k = bench.sizes.ks[0]
        for measure in ("Sag", "Lag"):
            table = replace(found["agreement"], title=f"{measure}({k}), percent")
            bar_figure(table, (f"{measure}({k})",), folder / f"{measure.lower()}.png")


def _write(
    plan: Plan,
    bench: Bench,
    run: RunFolder,
    found: dict[str, Table],
    counts: dict[str, int],
    *,
    stage: str,
    of: str,
) -> None:
    record = run.record()
    result = Reproduction(
        dataset=plan.dataset,
        quick=plan.quick,
        tables=found,
        counts={"training rows": len(bench.train), **counts, "explained": len(bench.tests)},
        filtered=plan.released is not None,
        model={
            "base": Path(record["base"]).name,
            "epochs": record["selected_epoch"],
            "dev accuracy": _dev_accuracy(record),
            "recipe": bench.retrainer.recipe["settings"],
        },
        curvature=plan.curvature,
        seconds=bench.times,
        versions=versions(),
    )
    write_text_atomic(plan.out / "REPORT.md", render(result))
    same = {"seed": plan.seed, "of": of}
    sizes = {name: getattr(bench.sizes, name) for name in GIVEN_SIZES}
    settings = {**sizes, "precision": plan.precision}
    stages = {**earlier_stages(plan.out, FORMAT, same), stage: settings}
    data = {**asdict(result), "tables": sorted(found), "data": content_fingerprint(bench.train)}
    write_record(plan.out, FORMAT, {**same, "stages": stages, **data})


def _dev_accuracy(record: dict[str, Any]) -> float | None:
    best = [row for row in record["history"] if row["epoch"] == record["selected_epoch"]]
    accuracy: float | None = best[0]["dev_accuracy"]
    return accuracy
