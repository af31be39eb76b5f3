"""Findings as paired differences: yes, no or unclear, with either sign."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from spanfluence.evaluation.agreement import PAPER_SIGN
from spanfluence.evaluation.faithful import Repeated
from spanfluence.metrics import Faithfulness, Interval
from spanfluence.reproduce.claims import SHOWN, Side, _claim, answer, faithfulness_claims

BENCH = SimpleNamespace(sentences=[f"sentence {number}" for number in range(40)])
NOISE = np.random.default_rng(0).normal(size=40) / 10


@pytest.mark.parametrize(
    ("gap", "says"),
    [
        ((1, 0.5, 2), "yes"),
        ((-1, -2, -0.5), "no"),
        ((1, -1, 3), "unclear"),
        ((-9, -20, -1e-15), "unclear"),
    ],
)
def test_an_interval_that_holds_zero_is_no_answer(gap, says):
    assert answer(Interval(*gap)) == says


def claim(values, more="tracin+", less="if+"):
    rows = _claim(BENCH, values, Side(more, "Lag(10)"), Side(less, "Lag(10)"), "mams")
    return rows[0] if rows else None


def test_differences_are_paired_over_tests():
    """A small difference that every test shows is sure, however much tests differ."""
    base = 5 * NOISE
    row = claim({("tracin+", "Lag(10)"): base + 0.01, ("if+", "Lag(10)"): base})
    assert row["difference"] == pytest.approx((1, 1, 1))
    assert (row["holds"], row["paper"]) == ("yes", "8.60 against 25.66")
    assert row[SHOWN] == "no"  # the paper's text says so, its table the opposite
    assert "holds, paper's sign" not in row


def test_the_papers_sign_is_compared_too():
    values = {
        ("tracin+", "Lag(10)"): 0.7 + NOISE,
        (f"tracin+{PAPER_SIGN}", "Lag(10)"): 0.1 + NOISE,
        ("if+", "Lag(10)"): 0.5 - NOISE,
        (f"if+{PAPER_SIGN}", "Lag(10)"): 0.3 - NOISE,
    }
    row = claim(values)
    assert (row["holds"], row["holds, paper's sign"]) == ("yes", "no")
    del values[f"if+{PAPER_SIGN}", "Lag(10)"]
    assert claim(values)["difference, paper's sign"].mean == pytest.approx(-40, abs=5)


def test_methods_that_were_not_run_have_no_claim():
    assert claim({("tracin+", "Lag(10)"): NOISE}) is None


def test_faithfulness_is_compared_on_common_tests():
    def repeated(name, each):
        return Repeated(name, [Faithfulness(float(each.mean()), float(each.var()), each)])

    found = [
        repeated("control", 0.5 + NOISE),
        repeated("tracin++", 0.9 + NOISE),
        repeated("if++", (0.5 + 9 * NOISE)[:20]),
    ]
    rows = {row["finding"]: row for row in faithfulness_claims(BENCH, found).rows}
    assert rows["Spearman: tracin++ above control"]["difference"].mean == pytest.approx(40)
    wide = rows["variance of Spearman: if++ above tracin++"]
    assert wide["holds"] == "yes"
    assert wide["difference"].mean == pytest.approx(100 * 80 * NOISE[:20].var())
    assert wide["paper"] == "20.50 against 3.57"
