"""Many methods and baselines in one shape; self-influence without the matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tiny

from spanfluence import Explainer, ModelPoint
from spanfluence.curvature.lissa import Lissa
from spanfluence.errors import InputError
from spanfluence.points import final_point
from spanfluence.scoring import (
    DEFAULT_METHODS,
    GRADIENT_COSINE,
    all_scores,
    baseline_scores,
    check_tests,
    explainer_for,
    passes,
)
from spanfluence.self_influence import self_influence

TRAIN = tiny.make_examples(9, seed=1)
TESTS = tiny.make_examples(3, seed=2)


def embed(texts):
    return np.array([[len(text), text.count("e"), 1.0] for text in texts])


def test_each_method_gives_what_its_explainer_gives(classifier):
    asked = {"faithful": {"method": "faithful"}, "cosine": GRADIENT_COSINE}
    found = {scored.name: scored for scored in all_scores(classifier, TRAIN, TESTS, asked)}
    for name, options in asked.items():
        explainer = Explainer(classifier, TRAIN, label="given", **options)
        assert found[name].scores == pytest.approx(explainer.scores(TESTS))
        assert found[name].units == explainer.train_units
    assert np.abs(found["cosine"].scores).max() <= 1 + 1e-5


def test_a_row_without_a_name_is_that_of_the_explainer(classifier):
    asked = {"row": {"units": ("instance", "instance")}, "varied": {"scale": "none"}}
    found = {scored.name: scored for scored in all_scores(classifier, TRAIN, TESTS, asked)}
    for name, options in asked.items():
        explainer = Explainer(classifier, TRAIN, label="given", **options)
        assert found[name].units == explainer.train_units
        assert found[name].scores == pytest.approx(explainer.scores(TESTS), rel=1e-4, abs=1e-6)


def test_the_papers_sign_is_told(classifier):
    (scored,) = all_scores(classifier, TRAIN, TESTS[:1], {"tracin+": {"method": "tracin+"}})
    assert scored.paper_sign == -1


def test_checkpoints_stand_in_for_those_of_a_run(classifier):
    point = ModelPoint("epoch-001", 0.5, final_point(classifier)[0].parameters)
    explainer = explainer_for(classifier, TRAIN, {"method": "control"}, checkpoints=[point])
    plain = Explainer(classifier, TRAIN, "faithful", label="given")
    assert explainer.scores(TESTS) == pytest.approx(0.5 * plain.scores(TESTS), rel=1e-5)
    other = explainer_for(classifier, TRAIN, {"method": "faithful"}, checkpoints=[point])
    assert other.points[0].weight == 1.0


def test_a_solver_holds_more_per_test(classifier):
    plain, solved = (
        explainer_for(classifier, TRAIN, {"method": method}).job_for(TESTS)
        for method in ("faithful", "if++")
    )
    assert solved.bytes_per_test(classifier) == 3 * plain.bytes_per_test(classifier)


def asked(*names: str) -> dict:
    return {name: {"method": name} for name in names}


def memory(classifier, *, tests: int = 2, sides: float) -> int:
    """Bytes of the gradients of tests on so many test sides."""
    own = sum(4 * parameter.numel() for parameter in classifier.attributed.values())
    return int(tests * sides * own)


def test_methods_with_the_same_points_run_in_one_pass(classifier):
    methods = asked("faithful", "tracin++", "pinpoint", "tracin+", "if", "tracinf")
    found = passes(classifier, methods, 2, 1 << 30)
    assert found == [["faithful", "pinpoint", "if"], ["tracin++", "tracin+", "tracinf"]]
    # tracin+ and tracinf ask about whole tests alike; nothing else shares a test side here.
    assert passes(classifier, methods, 2, memory(classifier, sides=1)) == [
        ["faithful"], ["tracin++"], ["pinpoint"], ["tracin+", "tracinf"], ["if"],
    ]  # fmt: skip


def test_if_and_if_plus_always_share_their_solve(classifier):
    methods = asked("if", "if+", "if++")
    assert passes(classifier, methods, 2, memory(classifier, sides=4)) == [["if", "if+", "if++"]]
    for sides in (3, 1):  # the second does not even hold one solve for both tests
        found = passes(classifier, methods, 2, memory(classifier, sides=sides))
        assert found == [["if", "if+"], ["if++"]]


def test_settings_of_the_curvature_tell_solves_apart(classifier):
    methods = {
        "a": {"method": "if"},
        "b": {"method": "if+", "curvature": Lissa(max_steps=3)},
        "c": {"method": "if+", "damping": 1.0},
        "d": {"method": "if+"},
    }
    assert passes(classifier, methods, 2, 0) == [["a", "d"], ["b"], ["c"]]


def test_two_hundred_tests_in_ten_gigabytes(classifier):
    """The evaluation's methods; a test of two layers of MiniLM takes 14.8 MB on each side."""
    ten = memory(classifier, tests=200, sides=3.4)
    found = passes(classifier, {**DEFAULT_METHODS, **asked("faithful")}, 200, ten)
    assert found == [
        ["if", "if+"], ["if++"], ["tracin", "control"], ["tracinf", "tracin+", "tracin++"],
        ["pinpoint", "gradient cosine", "faithful"],
    ]  # fmt: skip


def test_baselines_also_among_the_tests_label():
    found = baseline_scores(TRAIN, TESTS, embed)
    names = ["random", "overlap", "bm25", "embedding"]
    assert [scored.name for scored in found] == [
        name + suffix for name in names for suffix in ("", ", same label")
    ]
    units = sum(len(example.spans) for example in TRAIN)
    assert all(scored.scores.shape == (3, units) for scored in found)
    limited = found[1]
    for row, test in enumerate(TESTS):
        same = np.array([unit.example.label == test.label for unit in limited.units])
        assert limited.scores[row][same].min() > limited.scores[row][~same].max()


def test_owners_are_rows_of_the_training_set(classifier):
    scored = baseline_scores(TRAIN, TESTS, embed, names=["random"])[0]
    owners = scored.owners(TRAIN)
    assert [TRAIN[row] for row in owners] == [unit.example for unit in scored.units]
    assert scored.span_units


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ([], "there are no tests"),
        ([replace(TESTS[0], spans=())], "has no spans: annotate"),
        ([replace(TESTS[0], label=None)], "has no label"),
    ],
)
def test_tests_that_cannot_be_used(tests, message):
    with pytest.raises(InputError, match=message):
        check_tests(tests)


@pytest.mark.parametrize("method", ["faithful", "tracinf"])
def test_self_influence_is_the_diagonal(classifier, method):
    train = [replace(e, spans=e.spans[:1]) for e in TRAIN]
    explainer = Explainer(classifier, train, method, label="given")
    full = explainer.scores(train)
    assert self_influence(explainer) == pytest.approx(np.diag(full), rel=1e-4)


@pytest.mark.parametrize(
    ("method", "columns", "message"),
    [
        ("pinpoint", {}, "without scale"),
        ("faithful", {"weight": "importance"}, "without scale, weight"),
        ("tracin+", {}, "another kind"),
    ],
)
def test_self_influence_that_has_no_meaning(classifier, method, columns, message):
    with pytest.raises(InputError, match=message):
        self_influence(Explainer(classifier, TRAIN, method, **columns))
