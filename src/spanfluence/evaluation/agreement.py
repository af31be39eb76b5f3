"""Sag and Lag of every list, at given K and as curves over K, with both sign conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spanfluence.baselines import Embedder
from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.tables import Table, mean_percent
from spanfluence.metrics import (
    Matrix,
    agreement,
    check_k,
    cosines,
    curves,
    ranking,
    top_means,
)
from spanfluence.scoring import Scored, method_row
from spanfluence.units import Unit, units_of

PAPER_SIGN = " (paper's sign)"
BRACKETS = (
    "Brackets: 95 % bootstrap interval over tests; those about one sentence are resampled together."
)


@dataclass(frozen=True, eq=False)
class Truth:
    """The three matrices a list is judged by, for units of one kind."""

    sag: Matrix
    """Cosine with the test span in the explained model's space: of spans, or of whole texts."""
    sag_span: Matrix
    """The same with every unit embedded by its spans, so that whole texts are judged alike."""
    sag_sentence: Matrix
    """Cosine of the units' words in the space of an independent sentence encoder."""
    lag: Matrix


def both_signs(scored: Sequence[Scored]) -> list[Scored]:
    """Every list, and the reversed one beside it where the paper's sign is the opposite."""
    found = []
    for each in scored:
        found.append(each)
        if each.paper_sign < 0:
            found.append(Scored(each.name + PAPER_SIGN, each.units, -each.scores))
    return found


class Judge:
    """Truth for spans and for whole texts; embeddings are made once for each kind of unit."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.tests = [Unit(test, test.spans) for test in bench.tests]
        self._known: dict[bool, Truth] = {}
        self._embedded: dict[Unit, np.ndarray] = {}

    def of(self, scored: Scored) -> Truth:
        """The truth for a list's units."""
        kind = scored.span_units
        if kind not in self._known:
            self._known[kind] = self._make(scored.units)
        return self._known[kind]

    def _make(self, units: Sequence[Unit]) -> Truth:
        kind = "span" if any(unit.spans for unit in units) else "instance"
        settings = self.bench.settings(kind=kind)
        stage = f"{self.bench.name}-truth/{kind}"
        found = self.bench.stages.arrays(stage, settings, lambda: self._compute(units))
        labels = [unit.example.label for unit in units]
        return Truth(**found, lag=agreement([t.example.label for t in self.tests], labels))

    def _compute(self, units: Sequence[Unit]) -> dict[str, np.ndarray]:
        tests = self._embeddings(self.tests)
        own = cosines(tests, self._embeddings(units)).astype(np.float32)
        spans = [Unit(unit.example, unit.spans or unit.example.spans) for unit in units]
        same = spans == list(units)
        sentence = _sentence_cosines(self.tests, units, self.bench.embed).astype(np.float32)
        return {
            "sag": own,
            "sag_span": own if same else cosines(tests, self._embeddings(spans)).astype(np.float32),
            "sag_sentence": sentence,
        }

    def _embeddings(self, units: Sequence[Unit]) -> np.ndarray:
        """The model's embeddings; each distinct unit is read once, for whichever list asks first."""
        new = [unit for unit in dict.fromkeys(units) if unit not in self._embedded]
        if new:
            self._embedded |= dict(zip(new, self.bench.classifier.embeddings(new), strict=True))
        return np.stack([self._embedded[unit] for unit in units])


def _sentence_cosines(tests: Sequence[Unit], units: Sequence[Unit], embed: Embedder) -> Matrix:
    return cosines(embed([test.text for test in tests]), embed([unit.text for unit in units]))


MEASURES = {
    "sag": "Sag",
    "sag_span": "Sag, spans",
    "sag_sentence": "Sag, sentence encoder",
    "lag": "Lag",
}


def check_lists(bench: Bench) -> None:
    """Raise, before hours of scoring, where K is longer than a list or all rows have one label."""
    kinds = {method_row(asked).units[1] for asked in bench.methods.values()} | {"span"}
    for kind in sorted(kinds):
        for k in bench.sizes.ks:
            check_k(k, len(units_of(bench.train, kind)))
    agreement([test.label for test in bench.tests], [example.label for example in bench.train])


def agreement_table(bench: Bench, judge: Judge) -> Table:
    """Sag and Lag in percent at each K, with intervals over tests; the last rows are chance."""
    check_lists(bench)
    lists = both_signs(bench.scored)
    rows: list[dict[str, Any]] = []
    for scored in lists:
        cells = {
            column: mean_percent(values, bench.sentences)
            for column, values in values_of_tests(scored, judge.of(scored), bench).items()
        }
        rows.append({"method": scored.name, **cells})
    rows.append(_chance("chance", judge.of(bench.baselines[0]), bench))
    texts = [scored for scored in lists if not scored.span_units]
    if texts:
        rows.append(_chance("chance, whole texts", judge.of(texts[0]), bench))
    title = f"Semantic and label agreement, in percent, {len(bench.tests)} tests"
    return Table("agreement", title, rows, _notes(bench))


def _notes(bench: Bench) -> tuple[str, ...]:
    notes = [
        "Sag: cosine, in the explained model's own space, of the top K units with the test span "
        "(an instance unit is embedded as its whole text). 'Sag, spans' embeds every unit by its "
        "spans; 'Sag, sentence encoder' compares the words in the space of a sentence encoder. "
        f"{BRACKETS} "
        "Equal scores are ordered by a seeded draw. Chance is the mean over all training spans, or, for "
        "methods that list whole texts, over all training texts.",
        "By construction, 'embedding' is the best possible list of spans by 'Sag, sentence encoder', and "
        "rows ', same label' have a Lag near 100.",
    ]
    if bench.encoder and bench.encoder == bench.retrainer.recipe["base"]:
        notes.append(
            f"The sentence encoder, {bench.encoder}, is also the base of the explained model, before its "
            "last layers were tuned: it is independent of the labels, not of the model."
        )
    return tuple(notes)


def values_of_tests(scored: Scored, truth: Truth, bench: Bench) -> dict[str, np.ndarray]:
    """Column -> the value of each test at that K."""
    order = ranking(scored.scores, seed=bench.seed)
    found: dict[str, np.ndarray] = {}
    for measure, title in MEASURES.items():
        means = top_means(order, getattr(truth, measure), bench.sizes.ks)
        found |= {f"{title}({k})": means[:, place] for place, k in enumerate(bench.sizes.ks)}
    return found


def _chance(name: str, truth: Truth, bench: Bench) -> dict[str, Any]:
    row: dict[str, Any] = {"method": name}
    for measure, title in MEASURES.items():
        for k in bench.sizes.ks:
            row[f"{title}({k})"] = float(100 * getattr(truth, measure).mean())
    return row


def curve_table(bench: Bench, judge: Judge) -> Table:
    """Mean Sag and Lag in percent against K, with intervals over tests: what the figure shows."""
    rows: list[dict[str, Any]] = []
    for scored in both_signs(bench.scored):
        truth = judge.of(scored)
        order = ranking(scored.scores, seed=bench.seed)
        ks = [k for k in bench.sizes.curve if k <= len(scored.units)]
        found = {m: curves(order, getattr(truth, m), ks) for m in MEASURES}
        for place, k in enumerate(ks):
            cells = {
                t: mean_percent(found[m][place][1], bench.sentences) for m, t in MEASURES.items()
            }
            rows.append({"method": scored.name, "K": k, **cells})
    return Table("curves", "Agreement against K, in percent", rows, (BRACKETS,))
