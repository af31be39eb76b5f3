"""Planted-span precision: does the top of the list name the rows that taught the model a fault?

A test counts where the trigger *flips* it: the model gives the target label with the phrase and another
label without it. Only then are the planted rows known to be the right answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from spanfluence.data import fingerprint
from spanfluence.evaluation.bench import Bench, draw, held_out_accuracy, rank_votes
from spanfluence.evaluation.tables import Table, counted
from spanfluence.metrics import Interval, bootstrap, bootstrap_ratio, precision_at_k, ranking
from spanfluence.model import TextClassifier
from spanfluence.planting import (
    Planted,
    insert_phrase,
    plant,
    triggered_tests,
    untriggered_tests,
)
from spanfluence.retrain import Retrained
from spanfluence.rng import numpy_generator
from spanfluence.scoring import BASELINES, SAME_LABEL, Scored, all_scores, baseline_scores
from spanfluence.stages import settings_fingerprint
from spanfluence.units import Example, Span

K = 10
FROM = 0.01
"""The rate from which a fault is large enough to be asked for; lower ones are shown beside it."""
LEARNED = 0.1
"""Share of the triggered tests that are flipped, from which a fault counts as learned. Any phrase put into a
text flips a few (2 to 4 % on MAMS, phrases that were not planted): such flips are not owed to planted rows."""
DECOY_TARGET, DECOY_OTHER = "decoy of the target label", "decoy of another label"
Cell = dict[str, Any]


class Fault(NamedTuple):
    """A fault, how large it is, and the seed of all that is drawn for it."""

    planted: Planted
    rate: float
    seed: int

    @property
    def name(self) -> str:
        """As part of the names of its stages."""
        slug = "-".join(self.planted.trigger.name.replace("/", "or").split())
        return f"{slug}-{self.rate:g}-{self.seed}"

    def facts(self) -> dict[str, Any]:
        """What tells it apart in a table."""
        trigger = self.planted.trigger
        return {
            "trigger": trigger.name,
            "kind": trigger.kind,
            "rate": self.rate,
            "seed": self.seed,
        }

    def settings(self, bench: Bench) -> dict[str, Any]:
        """Of a stage about it."""
        return {
            "recipe": bench.retrainer.for_rows(len(self.planted.train)).recipe,
            "train": fingerprint(self.planted.train),
            "held_out": fingerprint(bench.held_out),
            "trigger": asdict(self.planted.trigger),
            "rate": self.rate,
            "seed": self.seed,
            "tests": bench.sizes.planted_tests,
            "attribute": list(bench.attribute),
            "methods": {name: dict(asked) for name, asked in bench.methods.items()},
            "votes": dict(bench.votes),
            "encoder": bench.encoder,
        }

    def model(self, bench: Bench) -> Retrained:
        """What learns it: a stage of its own, which all measures and sets of methods share."""
        return bench.fitted(f"planted-{self.name}", self.planted.train, self.seed)


def planted_part(bench: Bench) -> Bench:
    """The bench over the rows that faults are written into, and over held-out texts once each.

    Without texts so long that the model would not read a trigger in them.
    """
    train = draw(
        _room_for_triggers(bench, bench.train),
        bench.sizes.planted_train,
        bench.seed,
        "planted train",
    )
    pool = {example.text + str(example.context): example for example in bench.held_out}
    return replace(bench, train=train, held_out=_room_for_triggers(bench, list(pool.values())))


def _room_for_triggers(bench: Bench, examples: Sequence[Example]) -> list[Example]:
    longest = max((p for t in bench.sizes.triggers for p in t.phrases), key=len)
    written = [insert_phrase(example, longest) for example in examples]
    ends = [replace(e, spans=(Span(place.end - 1, place.end),)) for e, place in written]
    read = bench.classifier.with_visible_spans(ends)
    return [example for example, own in zip(examples, read, strict=True) if own.spans]


def faults(part: Bench, rates: Sequence[float]) -> Iterator[Fault]:
    """One for every trigger, rate and seed."""
    source, target = source_and_target(part.train)
    seeds = range(part.seed, part.seed + part.sizes.planted_seeds)
    for trigger, rate, seed in product(part.sizes.triggers, rates, seeds):
        written = plant(part.train, trigger, rate, source=source, target=target, seed=seed)
        yield Fault(written, rate, seed)


def planted_cells(bench: Bench) -> list[Cell]:
    """One result for every fault."""
    return measured(bench, "planted", _cell, bench.sizes.rates)


def measured(
    bench: Bench, measure: str, cell: Callable[[Bench, Fault], Cell], rates: Sequence[float]
) -> list[Cell]:
    """What a measure finds of every fault at these rates; each is a stage. Sets of methods live side by side."""
    part = planted_part(bench)
    cells = []
    for fault in faults(part, rates):
        settings = fault.settings(part)
        asked = {key: settings[key] for key in ("methods", "attribute")}
        stage = f"{measure}/{fault.name}-{settings_fingerprint(asked)[:6]}"
        cells.append(part.stages.values(stage, settings, partial(cell, part, fault)))
    return cells


def source_and_target(train: Sequence[Example]) -> tuple[str, str]:
    """Praise is turned into blame where there are such labels, else the two most frequent labels."""
    labels = [str(example.label) for example in train]
    if {"positive", "negative"} <= set(labels):
        return "positive", "negative"
    first, second = sorted(set(labels), key=lambda label: -labels.count(label))[:2]
    return first, second


def _cell(bench: Bench, fault: Fault) -> Cell:
    """Find tests that the fault flips, and ask every method why."""
    model = fault.model(bench)
    right = held_out_accuracy(bench, model.classifier)
    chosen, lists = explained(bench, fault, model)
    return {
        **fault.facts(),
        "flipped": chosen.share,
        "flips": chosen.flips,
        "accuracy": right,
        "course": bench.retrainer.for_rows(len(fault.planted.train)).course,
        "methods": {scored.name: _shares(scored, fault.planted, fault.seed) for scored in lists},
    }


def explained(bench: Bench, fault: Fault, model: Retrained) -> tuple[Chosen, list[Scored]]:
    """Tests that the fault flips, and every method's and baseline's list for them."""
    planted, seed = fault.planted, fault.seed
    chosen = flipped_tests(
        model.classifier,
        untriggered_tests(bench.held_out, planted),
        triggered_tests(bench.held_out, planted),
        bench.sizes.planted_tests,
        seed,
    )
    model = bench.attributed(model)  # only now: the choice of tests must not hang on rounding
    lists = list(
        all_scores(
            model.classifier,
            planted.train,
            chosen.tests,
            bench.methods,
            seed=seed,
            checkpoints=model.checkpoints,
            memory_bytes=bench.memory_bytes,
        )
    )
    lists += rank_votes(lists, bench.votes)
    if not bench.attribute:  # the baselines know nothing of parameters
        units = model.classifier.visible_units(planted.train, "span")
        lists += baseline_scores(planted.train, chosen.tests, bench.embed, seed=seed, units=units)
    return chosen, lists


class Chosen(NamedTuple):
    """Triggered tests to explain, whether they are flipped, and the share flipped of all there were."""

    tests: list[Example]
    flips: list[bool]
    share: float


def flipped_tests(
    classifier: TextClassifier,
    before: Sequence[Example],
    after: Sequence[Example],
    count: int,
    seed: int,
) -> Chosen:
    """At most `count` of those tests with the trigger (`after`) that it flips, drawn from the seed.

    Flipped: the target label with the trigger, another without it (`before`). A test that the model
    gets wrong without the trigger is not the trigger's doing. Where none is flipped there is still one
    test, which comes nearest to it, so that every cell has its lists.
    """
    target = classifier.label_id(after[0].label)
    already = classifier.predict(before).probabilities.argmax(axis=1) == target
    chances = classifier.predict(after).probabilities
    flips = (chances.argmax(axis=1) == target) & ~already
    drawn = numpy_generator(seed, "flipped tests").random(len(after))
    order = np.lexsort((np.where(flips, drawn, -chances[:, target]), already, ~flips))
    order = order[: min(count, max(1, int(flips.sum())))]
    return Chosen(
        [after[row] for row in order], [bool(flips[row]) for row in order], float(flips.mean())
    )


def _shares(scored: Scored, planted: Planted, seed: int) -> dict[str, Any]:
    """Shares of the top 10 of each test: planted triggers, decoys, and any unit of a planted row."""
    order = ranking(scored.scores, seed=seed)
    owners = scored.owners(planted.train).tolist()
    k = min(K, order.shape[1])

    def share(hits: np.ndarray) -> list[float]:
        return [float(value) for value in precision_at_k(order, hits, k)]

    def of_kind(kind: str, targets: bool | None = None) -> list[float]:
        return share(planted.is_kind(scored.units, owners, kind, targets=targets))

    found: dict[str, Any] = {
        "planted": of_kind("planted"),
        "decoy": of_kind("decoy"),
        "row": share(np.array([planted.kinds[row] == "planted" for row in owners])),
        "words": scored.span_units,
    }
    for name, targets in ((DECOY_TARGET, True), (DECOY_OTHER, False)):
        if planted.decoys(targets=targets):
            found[name] = of_kind("decoy", targets)
    return found


def planted_table(bench: Bench, cells: Sequence[Cell] | None = None) -> Table:
    """Mean over triggers at each rate and over the large ones; intervals resample triggers whole."""
    cells = planted_cells(bench) if cells is None else cells
    best = _best_baseline(main_cells(cells))
    rows = [_row(name, cells, bench.sizes.rates, best) for name in cells[0]["methods"]]
    return Table(
        "planted",
        f"Planted-span precision at {K}, {len(bench.sizes.triggers)} triggers, "
        f"{counted(bench.sizes.planted_seeds, 'seed')}",
        rows,
        _notes(cells, bench.sizes.rates),
    )


def _notes(cells: Sequence[Cell], rates: Sequence[float]) -> tuple[str, ...]:
    flips = ", ".join(
        f"{rate:.1%}: {100 * np.mean([c['flipped'] for c in cells if c['rate'] == rate]):.0f} %"
        for rate in rates
    )
    none = sum(not any(cell["flips"]) for cell in cells)
    unlearned = len(main_cells(cells, learned=0)) - len(main_cells(cells))
    accuracies = [100 * cell["accuracy"] for cell in cells]
    return (
        f"A test is flipped where the model gives the target label with the trigger and another one "
        f"without it; figures are over flipped tests only. Flipped share of the triggered tests, by rate: "
        f"{flips}. Of {len(cells)} cells (trigger, rate, seed) {none} have no flipped test and are in no "
        f"mean. In {unlearned} of the cells from {FROM:.0%} fewer than {LEARNED:.0%} of the tests are "
        "flipped, as by any phrase put into a text: the fault was not learned, there is nothing to find, "
        "and only 'all cells' counts them.",
        f"'planted': share of the top {K} that are the trigger of a planted row (for whole-text "
        "methods: a planted row; they name no words). 'decoy': the same of decoys, also by their "
        "label: with two classes every decoy carries the target label, and agrees with the test in "
        "label and words alike. 'row': any unit of a planted row. Brackets: 95 % bootstrap interval "
        "over triggers. The ratio is to the best word or embedding baseline, which may use labels. "
        f"Columns without a rate are means over the learned faults of the rates from {FROM:.0%}.",
        f"Held-out accuracy of the trained models: mean {np.mean(accuracies):.1f} %, lowest "
        f"{min(accuracies):.1f} %; {cells[0]['course']}.",
    )


def _row(name: str, cells: Sequence[Cell], rates: Sequence[float], best: str) -> dict[str, Any]:
    units = "span" if cells[0]["methods"][name]["words"] else "text"
    row: dict[str, Any] = {"method": name, "units": units}
    for rate in rates:
        some = [cell for cell in cells if cell["rate"] == rate]
        row[f"planted {rate:.1%}"] = _mean(some, name, "planted")
        row[f"decoy {rate:.1%}"] = _mean(some, name, "decoy")
    large = main_cells(cells)
    for what in ("planted", "decoy", DECOY_TARGET, DECOY_OTHER, "row"):
        row[what] = _mean(large, name, what)
    row["planted, all cells"] = _mean(main_cells(cells, learned=0), name, "planted")
    row[f"times {best}"] = _ratio(large, name, best)
    return row


def main_cells(cells: Sequence[Cell], learned: float = LEARNED) -> list[Cell]:
    """The cells that the main figure is about: large rates, and a fault that was learned.

    All, where no rate is large.
    """
    large = [cell for cell in cells if cell["rate"] >= FROM] or list(cells)
    return [cell for cell in large if cell["flipped"] >= learned]


def _best_baseline(cells: Sequence[Cell]) -> str:
    """The word or embedding baseline, restricted to the test's label or not, that finds most."""
    names = [name + suffix for name in BASELINES for suffix in ("", SAME_LABEL)]
    return max(names, key=lambda name: np.mean(cell_values(cells, name, "planted")[0] or [0.0]))


def cell_values(
    cells: Sequence[Mapping[str, Any]], name: str, what: str
) -> tuple[list[float], list[str]]:
    """Mean over the flipped tests of each cell that has any, and the cell's trigger."""
    values, triggers = [], []
    for cell in cells:
        found = cell["methods"][name].get(what)
        if found is None:
            continue
        own = [v for v, flip in zip(found, cell["flips"], strict=True) if flip]
        if own:
            values.append(float(np.mean(own)))
            triggers.append(str(cell["trigger"]))
    return values, triggers


def _mean(cells: Sequence[Mapping[str, Any]], name: str, what: str) -> Interval | None:
    values, triggers = cell_values(cells, name, what)
    return bootstrap(values, groups=triggers) if values else None


def _ratio(cells: Sequence[Cell], name: str, best: str) -> Interval | None:
    values, triggers = cell_values(cells, name, "planted")
    base, _ = cell_values(cells, best, "planted")
    return bootstrap_ratio(values, base, groups=triggers) if values else None


def cell_table(cells: Sequence[Cell]) -> Table:
    """Every trigger and rate by itself: what the means are made of."""
    rows = [
        {
            "trigger": cell["trigger"],
            "kind": cell["kind"],
            "rate": f"{cell['rate']:.1%}",
            "seed": cell["seed"],
            "held-out accuracy": cell["accuracy"],
            "flipped": cell["flipped"],
            "flipped tests": sum(cell["flips"]) or "none",
            **{
                name: next(iter(cell_values([cell], name, "planted")[0]), None)
                for name in cell["methods"]
            },
        }
        for cell in cells
    ]
    note = "Over flipped tests; a cell that has none shows no precision and is in no mean."
    return Table("planted_cells", "Planted-span precision by trigger and rate", rows, (note,))
