"""The paper's findings as differences of our numbers, test by test, with intervals: yes, no or unclear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spanfluence.evaluation.agreement import PAPER_SIGN, Judge, both_signs, values_of_tests
from spanfluence.evaluation.bench import Bench
from spanfluence.evaluation.faithful import Repeated
from spanfluence.evaluation.tables import Cell, Table, mean_percent, shown
from spanfluence.metrics import Interval
from spanfluence.reproduce import paper

PAIRS = (
    ("tracinf", "if"), ("tracin+", "if+"), ("tracin++", "if++"),  # TracIn family above IF family
    ("if++", "if"), ("if++", "if+"), ("tracin++", "tracinf"), ("tracin++", "tracin+"),  # spans above texts
)  # fmt: skip
FALLING = ("if+", "if++", "tracin+", "tracin++")
"""Methods whose Sag and Lag fall as K grows, as the paper found; those of if and tracinf do not."""
SEARCHED = ("tracin++", "if++", "pinpoint")
ROUNDING = 1e-9  # of sums of equal numbers in another order
SHOWN = "shown by the paper's numbers"
NOTE = (
    "A finding is what the paper's text says; its own tables do not show it everywhere. "
    "Differences are paired over tests, in percent, with a 95 % bootstrap interval that resamples sentences: "
    "yes or no where it leaves out 0, else unclear. Columns with the paper's sign compare the lists as the "
    "paper's tables show them; they are empty where no method of a row has another sign there."
)

Values = Mapping[tuple[str, str], np.ndarray]  # (method, column) -> the value of each test


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a method's list, and a column of its numbers."""

    method: str
    column: str


def agreement_claims(bench: Bench, judge: Judge, dataset: str) -> Table:
    """Findings about Sag and Lag."""
    values = {
        (scored.name, column): each
        for scored in both_signs(bench.scored)
        for column, each in values_of_tests(scored, judge.of(scored), bench).items()
    }
    first, last = bench.sizes.ks[0], bench.sizes.ks[-1]
    rows: list[dict[str, Cell]] = []
    for measure in ("Sag", "Lag"):
        near, far = f"{measure}({first})", f"{measure}({last})"
        for more, less in PAIRS:
            rows += _claim(bench, values, Side(more, near), Side(less, near), dataset)
        for method in FALLING:
            rows += _claim(bench, values, Side(method, near), Side(method, far), dataset)
    for method in SEARCHED:
        for column in (f"Sag, sentence encoder({first})", f"Lag({first})"):
            rows += _claim(bench, values, Side(method, column), Side("bm25", column), dataset)
    return Table(
        "claims_agreement",
        "Findings of the paper on Sag and Lag, and whether a word search does as well",
        rows,
        (NOTE,),
    )


def faithfulness_claims(bench: Bench, found: Sequence[Repeated]) -> Table:
    """Findings about the correlation with the strictly faithful list, on the tests that both rows have."""
    by_name = {each.name: each for each in found}
    rows: list[dict[str, Cell]] = []
    for more, less, what in (
        ("tracin++", "control", "Spearman"),
        ("if++", "control", "Spearman"),
        ("if++", "tracin++", "variance of Spearman"),
    ):
        if more not in by_name or less not in by_name:
            continue
        count = min(len(by_name[name].each) for name in (more, less))
        a, b = (_spread(by_name[name], what, count) for name in (more, less))
        column = 0 if what == "Spearman" else 1
        theirs = (paper.FAITHFULNESS[more][column], paper.FAITHFULNESS[less][column])
        gap = mean_percent(a - b, bench.sentences)
        rows.append(
            {
                "finding": f"{what}: {more} above {less}",
                **_printed(theirs),
                "ours": _against(100 * a.mean(), 100 * b.mean()),
                "difference": gap,
                "holds": answer(gap),
            }
        )
    title = "Findings of the paper on faithfulness"
    return Table("claims_faithfulness", title, rows)


def _spread(each: Repeated, what: str, count: int) -> np.ndarray:
    """Per test: the correlation, or its squared distance from the mean, whose mean is the variance."""
    values = [one.each[:count] for one in each.found]
    if what != "Spearman":
        values = [(one - one.mean()) ** 2 for one in values]
    return np.asarray(np.mean(values, axis=0))


def _claim(
    bench: Bench, values: Values, more: Side, less: Side, dataset: str
) -> list[dict[str, Cell]]:
    ours = _pair(values, more, less, "")
    if ours is None:
        return []
    gap = mean_percent(ours[0] - ours[1], bench.sentences)
    row: dict[str, Cell] = {
        "finding": _finding(more, less),
        **_printed(_published(dataset, more, less)),
        "ours": _against(*(100 * each.mean() for each in ours)),
        "difference": gap,
        "holds": answer(gap),
    }
    theirs = _pair(values, more, less, PAPER_SIGN)
    if theirs is not None:
        gap = mean_percent(theirs[0] - theirs[1], bench.sentences)
        row["difference, paper's sign"], row["holds, paper's sign"] = gap, answer(gap)
    return [row]


def _pair(
    values: Values, more: Side, less: Side, sign: str
) -> tuple[np.ndarray, np.ndarray] | None:
    """Both sides' values; with the paper's sign where the paper has one, None where neither has."""
    signed = [(side.method + sign, side.column) for side in (more, less)]
    plain = [(side.method, side.column) for side in (more, less)]
    if not all(key in values for key in plain) or not any(key in values for key in signed):
        return None
    a, b = (values.get(own, values[p]) for own, p in zip(signed, plain, strict=True))
    return a, b


def answer(gap: Interval) -> str:
    """Whether a difference is above 0, as far as its interval tells."""
    return "yes" if gap.low > ROUNDING else "no" if gap.high < -ROUNDING else "unclear"


def _finding(more: Side, less: Side) -> str:
    if more.method == less.method:
        return f"{more.method} falls with K: {more.column} above {less.column}"
    return f"{more.column}: {more.method} above {less.method}"


def _published(dataset: str, more: Side, less: Side) -> tuple[float, float] | None:
    a, b = (paper.published(dataset, side.method, side.column) for side in (more, less))
    return None if a is None or b is None else (a, b)


def _printed(theirs: tuple[float, float] | None) -> dict[str, Cell]:
    """The paper's two numbers, and whether they show what its text says."""
    if theirs is None:
        return {"paper": None, SHOWN: None}
    return {"paper": _against(*theirs), SHOWN: "yes" if theirs[0] > theirs[1] else "no"}


def _against(a: float, b: float) -> str:
    return f"{shown(float(a))} against {shown(float(b))}"
