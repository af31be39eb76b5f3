"""Every metric on cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from spanfluence import metrics
from spanfluence.errors import InputError

SCORES = np.array([[0.1, 0.9, 0.5, -1.0], [3.0, 2.0, 1.0, 0.0]])
ORDER = np.array([[1, 2, 0, 3], [0, 1, 2, 3]])


def test_ranking_is_from_the_highest_down():
    assert metrics.ranking(SCORES).tolist() == ORDER.tolist()


def test_ties_stand_in_a_seeded_order_of_their_own_for_each_test():
    scores = np.zeros((50, 6))
    first, again = metrics.ranking(scores, seed=1), metrics.ranking(scores, seed=1)
    assert first.tolist() == again.tolist()
    assert first.tolist() != metrics.ranking(scores, seed=2).tolist()
    assert len(set(first[:, 0].tolist())) == 6
    assert sorted(first[0].tolist()) == list(range(6))


def test_scores_that_cannot_be_ranked():
    with pytest.raises(InputError, match="NaN"):
        metrics.ranking(np.array([[0.0, np.nan]]))
    with pytest.raises(InputError, match="NaN"):
        metrics.spearman(np.array([np.nan, 1.0, 2.0]), np.arange(3.0))
    with pytest.raises(InputError, match="NaN"):
        metrics.auc(np.array([np.nan, 1.0, 2.0]), np.array([True, False, True]))


def test_sag_is_the_mean_cosine_of_the_top():
    tests = np.array([[2.0, 0.0], [0.0, 1.0]])
    units = np.array([[1.0, 0.0], [0.0, 5.0], [-3.0, 0.0], [0.0, 0.0]])
    cosine = metrics.cosines(tests, units)
    assert cosine.tolist() == [[1, 0, -1, 0], [0, 1, 0, 0]]
    assert metrics.sag(ORDER, cosine, 1).tolist() == [0.0, 0.0]
    assert metrics.sag(ORDER, cosine, 2).tolist() == [-0.5, 0.5]
    assert metrics.sag(ORDER, cosine, 4).tolist() == [0.0, 0.25]


def test_lag_is_the_share_of_the_top_with_the_tests_label():
    agrees = metrics.agreement(["a", "b"], ["b", "a", "a", "b"])
    assert metrics.lag(ORDER, agrees, 2).tolist() == [1.0, 0.5]
    assert metrics.lag(ORDER, agrees, 3).tolist() == [pytest.approx(2 / 3), pytest.approx(1 / 3)]


def test_label_agreement_needs_two_classes():
    with pytest.raises(InputError, match="single class"):
        metrics.agreement(["a"], ["a", "a"])


@pytest.mark.parametrize("k", [0, 5, -1])
def test_a_k_that_the_list_does_not_have(k):
    with pytest.raises(InputError, match=f"K={k} does not fit a list of 4 training units"):
        metrics.sag(ORDER, SCORES, k)


def test_curves_hold_one_value_per_k_and_test():
    agrees = metrics.agreement(["a", "b"], ["b", "a", "a", "b"])
    found = metrics.curves(ORDER, agrees, [1, 2, 4])
    assert [(k, values.tolist()) for k, values in found] == [
        (1, [1.0, 1.0]),
        (2, [1.0, 0.5]),
        (4, [0.5, 0.5]),
    ]


def test_precision_at_k():
    relevant = np.array([False, True, True, False])
    assert metrics.precision_at_k(ORDER, relevant, 2).tolist() == [1.0, 0.5]


def test_lists_are_combined_by_addition_over_tests_and_spans():
    found = metrics.combined(SCORES, np.array([0, 0, 1, 3]), 4)
    assert found == pytest.approx([6.0, 1.5, 0.0, -1.0])


def test_top_share():
    values = np.array([1.0, 5.0, 3.0, 4.0, 2.0])
    assert metrics.top_share(values, 0.4).tolist() == [1, 3]
    assert metrics.top_share(values, 0.01).tolist() == [1]
    with pytest.raises(InputError, match="between 0 and 1"):
        metrics.top_share(values, 1.0)


def test_ral_is_the_fall_of_accuracy():
    assert metrics.ral([0.9, 0.8], [0.7, 0.85]) == pytest.approx([0.2, -0.05])
    with pytest.raises(InputError, match="give pairs"):
        metrics.ral([0.9], [])


def test_spearman_with_and_without_ties():
    a, b = np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 30.0, 20.0, 40.0])
    assert metrics.spearman(a, b) == pytest.approx(0.8)  # 1 - 6 * (1 + 1) / (4 * 15)
    assert metrics.spearman(a, -a) == pytest.approx(-1)
    assert metrics.spearman(a, np.ones(4)) == 0.0
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, 40).astype(float), rng.normal(size=40)
    assert metrics.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)


def test_faithfulness_is_the_mean_and_variance_over_tests():
    truth = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    scores = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    found = metrics.faithfulness(scores, truth)
    assert found.each == pytest.approx([1, -1])
    assert (found.mean, found.variance) == (0.0, 1.0)
    with pytest.raises(InputError, match="must be equal"):
        metrics.faithfulness(scores, truth[:1])


def test_lds_correlates_over_subsets():
    predicted = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    actual = np.array([[-3.0, -2.0, -1.0], [5.0, 9.0, 1.0]])
    assert metrics.lds(predicted, actual) == pytest.approx([1.0, -0.5])


def test_auc_counts_a_tie_half():
    scores = np.array([0.1, 0.4, 0.4, 0.8])
    positive = np.array([False, True, False, True])
    assert metrics.auc(scores, positive) == pytest.approx(3.5 / 4)
    with pytest.raises(InputError, match="both kinds"):
        metrics.auc(scores, np.ones(4, dtype=bool))


def test_the_bootstrap_is_seeded_and_covers_the_mean():
    values = np.random.default_rng(0).normal(size=200)
    found = metrics.bootstrap(values, seed=3)
    assert found == metrics.bootstrap(values, seed=3)
    assert found.mean == pytest.approx(values.mean())
    half = 1.96 * values.std() / np.sqrt(200)  # what theory says of a mean
    assert found.low == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.15 * half)
    assert metrics.bootstrap([2.0]) == (2.0, 2.0, 2.0)
    with pytest.raises(InputError, match="no values"):
        metrics.bootstrap([])


def test_groups_weigh_the_same_and_are_resampled_whole():
    found = metrics.bootstrap([0, 0, 0, 0, 1, 1], groups="aaaabb")
    assert found.mean == 0.5
    assert (found.low, found.high) == (0.0, 1.0)


def test_ranks_of_resampled_items():
    values = np.array([[5.0, 9.0, 7.0]])
    counts = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    found = metrics.resampled_ranks(values, counts)[:, 0]
    assert found[0].tolist() == [1, 3, 2]
    assert found[1, [0, 2]].tolist() == [1.5, 3]  # of 5, 5, 7
    assert found[2, [1, 2]].tolist() == [2.5, 1]  # of 9, 9, 7


def test_lds_of_resampled_subsets_by_hand_and_by_loops():
    predicted, actual = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]])
    counts = np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])
    # ranks 123 and 132: 1/2; the lists 2, 2, 3 and 3, 3, 2: opposed; one subset alone orders nothing
    assert metrics.resampled_lds(predicted, actual, counts)[:, 0] == pytest.approx([0.5, -1, 0])
    rng = np.random.default_rng(0)
    predicted, actual = rng.normal(size=(2, 3, 8)).round(1)
    rows = rng.integers(8, size=(5, 8))
    counts = np.stack([np.bincount(row, minlength=8) for row in rows]).astype(float)
    naive = [metrics.lds(predicted[:, row], actual[:, row]) for row in rows]
    assert metrics.resampled_lds(predicted, actual, counts) == pytest.approx(np.array(naive))


def test_tests_that_share_their_subsets_do_not_make_an_lds_sure():
    rng = np.random.default_rng(0)
    predicted, actual = (np.repeat(rng.normal(size=(1, 30)), 50, axis=0) for _ in range(2))
    alone = metrics.bootstrap(metrics.lds(predicted, actual))
    found = metrics.bootstrap_lds(predicted, actual)
    assert alone.high - alone.low < 1e-9
    assert found.high - found.low > 0.4  # 30 subsets: about 4 / sqrt(30)
    assert found.mean == pytest.approx(alone.mean)
    assert metrics.bootstrap_lds(predicted, actual, minus=predicted) == (0, 0, 0)
    assert metrics.bootstrap_lds(predicted, actual, minus=actual).high < 0


def test_tests_about_one_sentence_are_resampled_as_one_in_an_lds():
    rng = np.random.default_rng(0)
    actual = np.repeat(rng.normal(size=(6, 40)), 8, axis=0)
    predicted = actual.copy()
    predicted[:24] *= -1  # three sentences at -1, three at 1: only the sentences vary
    alone = metrics.bootstrap_lds(predicted, actual)
    found = metrics.bootstrap_lds(predicted, actual, groups=[row // 8 for row in range(48)])
    assert found.mean == alone.mean == pytest.approx(0)
    assert found.high - found.low > 2 * (alone.high - alone.low)
    assert set(np.round(np.array(found) * 3, 6) % 1) == {0}  # means of six values of -1 or 1


def test_the_bootstrap_of_a_variance():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 400))
    found = metrics.bootstrap_variance(values)
    assert found.mean == pytest.approx(values.var(axis=1).mean())
    # The variance of 400 normal values has a standard error of sqrt(2 / 400), of two runs' mean less.
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.sqrt(2 / 400 / 2), rel=0.2)
    tiny = metrics.bootstrap_variance(1 - 1e-9 * values)
    assert tiny == pytest.approx(1e-18 * np.array(found), rel=1e-6)
    pairs = np.repeat(values, 2, axis=1)
    grouped = metrics.bootstrap_variance(pairs, groups=[i // 2 for i in range(800)])
    single = metrics.bootstrap_variance(pairs)
    assert grouped.high - grouped.low > 1.2 * (single.high - single.low)
    assert metrics.bootstrap_variance(np.ones((1, 3))) == (0, 0, 0)
    with pytest.raises(InputError, match="must be a matrix"):
        metrics.bootstrap_variance(np.ones(3))


def test_the_bootstrap_of_a_ratio():
    groups = ["a", "a", "b"]
    found = metrics.bootstrap_ratio([0.8, 0.8, 0.4], [0.4, 0.4, 0.2], groups=groups)
    assert found == pytest.approx((2, 2, 2))
    wide = metrics.bootstrap_ratio([1.0, 1.0, 1.0], [0.5, 0.5, 0.0], groups=groups)
    assert wide.mean == pytest.approx(4)  # each group weighs the same
    assert (wide.low, wide.high) == (2, np.inf)
    assert metrics.bootstrap_ratio([1.0], [0.0], groups=["a"]) is None


def test_groups_may_weigh_as_much_as_they_have_values():
    found = metrics.bootstrap([0, 0, 0, 0, 1, 1], groups="aaaabb", equal_groups=False)
    assert found.mean == pytest.approx(1 / 3)
    assert (found.low, found.high) == (0.0, 1.0)
    alone = np.random.default_rng(1).normal(size=40)
    names = range(40)
    assert metrics.bootstrap(alone, groups=names, equal_groups=False) == pytest.approx(
        metrics.bootstrap(alone), abs=0.05
    )
    with pytest.raises(InputError, match="6 values in 2 groups"):
        metrics.bootstrap(np.arange(6), groups="ab")


def test_values_that_go_together_widen_the_interval():
    values = np.random.default_rng(0).normal(size=50)
    repeated, names = np.repeat(values, 8), np.repeat(np.arange(50), 8)
    plain = metrics.bootstrap(repeated)
    whole = metrics.bootstrap(repeated, groups=names, equal_groups=False)
    assert whole.mean == pytest.approx(plain.mean)
    assert (whole.high - whole.low) / (plain.high - plain.low) == pytest.approx(8**0.5, rel=0.15)


def test_runs_and_values_are_both_resampled():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1, 300))
    one, rows = metrics.bootstrap_runs(values), metrics.bootstrap(values[0])
    assert one.mean == pytest.approx(rows.mean)
    assert one.high - one.low == pytest.approx(rows.high - rows.low, rel=0.1)
    apart = values + np.array([[-1.0], [0.0], [1.0]])  # seeds that do not agree
    found = metrics.bootstrap_runs(apart)
    assert found.mean == pytest.approx(values.mean())
    assert found.high - found.low > 3 * (one.high - one.low)
    grouped = metrics.bootstrap_runs(np.array([[0.0, 0, 0, 0, 1, 1]]), groups="aaaabb")
    assert grouped == pytest.approx((1 / 3, 0, 1))
    with pytest.raises(InputError, match="must be a matrix"):
        metrics.bootstrap_runs(np.ones(3))


def test_the_bootstrap_of_an_auc():
    rng = np.random.default_rng(0)
    positive = np.arange(60) < 20
    scores = rng.normal(size=60) + positive
    found = metrics.bootstrap_auc(scores, positive, draws=200)
    assert found.low < found.mean < found.high
    assert found.mean == pytest.approx(metrics.auc(scores, positive))
