"""`Explainer` and `Explanation`: ranking, parts, settings, plain data and its faces."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import reference
import tiny
import torch

from spanfluence import (
    METHODS,
    DeltaFaithful,
    Example,
    Explainer,
    Ggn,
    Lissa,
    Method,
    ModelPoint,
    Span,
    TextClassifier,
)
from spanfluence.errors import InputError, ModelError, NumericsError
from spanfluence.explanation import Explanation
from spanfluence.text_rows import TextRows
from spanfluence.units import Unit

TRAIN = tiny.make_examples(9, seed=1)
TEXT = "The soup was cold, but the wine list was great."
COLD, GREAT = Span(13, 17), Span(41, 46)
TEST = Example(TEXT, "negative", "soup", (COLD, GREAT), "t1")

EXPLANATION_KEYS = {
    "format", "method", "settings", "points", "train_units", "test", "parts", "notes",
}  # fmt: skip
COLUMNS = {"points", "curvature", "units", "target", "contrast", "locality", "scale", "weight"}
SETTING_KEYS = COLUMNS | {"mask", "sign", "label", "seed"}
TEST_KEYS = {"id", "context", "text", "label", "prediction", "explained_label", "probabilities"}
PART_KEYS = {"spans", "words", "importance", "supporters", "opponents"}
HIT_KEYS = {
    "rank", "score", "index", "id", "context", "text", "label", "spans", "words", "importance",
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tiny_folder) -> TextClassifier:
    return TextClassifier.load(tiny_folder("bert"))


@pytest.fixture(scope="module")
def pinpoint(model) -> Explainer:
    return Explainer(model, TRAIN)


@pytest.fixture(scope="module")
def answer(pinpoint) -> Explanation:
    return pinpoint.explain(TEST, top_k=4)


def only(example: Example, *spans: Span) -> Example:
    return replace(example, spans=spans)


# --- units and scores --------------------------------------------------------------------------------


def test_one_unit_per_training_span_or_whole_text(model, pinpoint):
    spans = [(e, (span,)) for e in TRAIN for span in e.spans]
    assert [(unit.example, unit.spans) for unit in pinpoint.train_units] == spans
    mixed = [only(TRAIN[0]), TRAIN[1]]
    units = Explainer(model, mixed).train_units
    assert units[0] == Unit(mixed[0])
    assert [unit.spans for unit in units[1:]] == [(span,) for span in TRAIN[1].spans]
    whole = Explainer(model, TRAIN, "tracinf").train_units
    assert whole == [Unit(example) for example in TRAIN]


def test_scores_have_a_row_per_test_and_a_column_per_unit(pinpoint):
    scores = pinpoint.scores([TEST, only(TEST, COLD)])
    assert scores.shape == (2, len(pinpoint.train_units))
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    assert pinpoint.scores([]).shape == (0, len(pinpoint.train_units))


def test_scores_mask_all_spans_of_a_test_together(tiny_folder, model):
    explainer = Explainer(model, TRAIN[:3], "faithful")
    plain, tokenizer = reference.load(tiny_folder("bert"))
    units = explainer.train_units
    expected = reference.scores(
        plain,
        tokenizer,
        [TEST],
        units,
        [(1.0, {})],
        parameters=list(model.attributed),
        test_labels=[int(model.label_ids([TEST], "predicted")[0])],
        train_labels=[model.label_id(unit.example.label) for unit in units],
    )
    together = explainer.scores([TEST])
    np.testing.assert_allclose(together, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())
    for span in TEST.spans:
        assert not np.allclose(explainer.scores([only(TEST, span)]), together, rtol=1e-2)


def test_progress_counts_every_training_unit(pinpoint):
    steps = []
    pinpoint.scores([TEST], advance=steps.append)
    assert sum(steps) == len(pinpoint.train_units)


def test_progress_comes_to_the_number_of_units_over_points_and_blocks(classifier):
    explainer = Explainer(classifier, TRAIN, "tracin++", batch_tokens=64)
    explainer.memory_bytes = 4 * sum(p.numel() for p in classifier.attributed.values())
    steps: list[int] = []
    explainer.scores([TEST, TEST], advance=steps.append)  # two blocks at three points
    assert sum(steps) == len(explainer.train_units)
    assert min(steps) > 0


# --- explanations ------------------------------------------------------------------------------------


def test_supporters_are_the_highest_and_opponents_the_lowest_scores(pinpoint):
    example = only(TEST, COLD)
    row = pinpoint.scores([example])[0]
    explanation = pinpoint.explain(example, top_k=4)
    for hits, ranked in (
        (explanation.supporters, np.sort(row)[::-1]),
        (explanation.opponents, np.sort(row)),
    ):
        assert [hit.score for hit in hits] == pytest.approx(ranked[:4].tolist(), rel=1e-5)
        for hit in hits:
            assert hit.score == pytest.approx(float(row[hit.index]), rel=1e-5)
            assert hit.unit is pinpoint.train_units[hit.index]
    assert explanation.train_units == len(pinpoint.train_units)


def test_several_spans_are_explained_one_by_one_the_most_important_first(pinpoint, answer, model):
    importance = dict(zip(TEST.spans, model.importance(TEST, TEST.spans).tolist(), strict=True))
    order = sorted(TEST.spans, key=lambda span: -importance[span])
    assert [part.spans for part in answer.parts] == [(span,) for span in order]
    for part in answer.parts:
        assert part.importance == pytest.approx(importance[part.spans[0]], rel=1e-4)
        row = pinpoint.scores([only(TEST, *part.spans)])[0]
        best = int(row.argmax())
        assert part.supporters[0].index == best
        assert part.supporters[0].score == pytest.approx(float(row[best]), rel=1e-4)
        assert part.opponents[0].index == int(row.argmin())
    assert answer.supporters == answer.parts[0].supporters
    assert answer.opponents == answer.parts[0].opponents


def test_hits_carry_the_importance_of_the_training_span_for_its_own_label(answer, model):
    hit = answer.supporters[0]
    expected = model.importance(hit.unit.example, hit.unit.spans, label="given")
    assert hit.importance == pytest.approx(float(expected[0]), rel=1e-4, abs=1e-6)


def test_a_test_without_spans_is_explained_as_a_whole_where_no_finder_is_wanted(model):
    explanation = Explainer(model, TRAIN, finder=None).explain(only(TEST))
    (part,) = explanation.parts
    assert part.spans == ()
    assert part.importance is None
    assert explanation.notes == ("The test has no span: its whole text is explained.",)


def test_instance_methods_explain_the_whole_text_and_say_that_a_span_is_not_used(model):
    explainer = Explainer(model, [only(e) for e in TRAIN], "tracinf")
    explanation = explainer.explain(TEST)
    assert [part.spans for part in explanation.parts] == [()]
    assert explanation.notes == (
        "The method tracinf explains the whole text; the span is not used.",
    )
    assert explainer.explain(only(TEST)).notes == ()
    assert {hit.importance for hit in explanation.supporters} == {None}


def test_training_examples_without_spans_are_mentioned(model):
    bare = [only(TRAIN[0]), only(TRAIN[1]), *TRAIN[2:]]
    explanation = Explainer(model, bare).explain(TEST)
    assert explanation.notes == (
        "2 of 9 training examples have no spans: each is covered by its whole text.",
    )


def test_more_asked_than_there_is(pinpoint):
    explanation = pinpoint.explain(TEST, top_k=1000)
    every = list(range(len(pinpoint.train_units)))
    assert sorted(hit.index for hit in explanation.supporters) == every
    assert [hit.index for hit in explanation.opponents] == (
        [hit.index for hit in explanation.supporters][::-1]
    )


@pytest.mark.parametrize("top_k", [0, -3])
def test_less_than_one_asked(pinpoint, top_k):
    with pytest.raises(InputError, match=f"top_k={top_k} must be at least 1"):
        pinpoint.explain(TEST, top_k=top_k)


def test_many_in_one_pass_are_each_alone(pinpoint):
    tests = [TEST, only(TEST), replace(TEST, text="The pizza was awful.", spans=(Span(14, 19),))]
    together = pinpoint.explain_all(tests, 3)
    assert [e.example for e in together] == tests
    for test, explanation in zip(tests, together, strict=True):
        alone = pinpoint.explain(test, 3)
        assert [part.spans for part in explanation.parts] == [part.spans for part in alone.parts]
        for a, b in zip(explanation.parts, alone.parts, strict=True):
            assert [h.index for h in a.supporters] == [h.index for h in b.supporters]
            assert [h.score for h in a.supporters] == pytest.approx(
                [h.score for h in b.supporters], rel=1e-4
            )
    assert pinpoint.explain_all([]) == []


# --- label and sign ----------------------------------------------------------------------------------


def test_the_label_that_is_explained(model):
    predicted = model.predict([TEST]).labels[0]
    other = next(name for name in model.labels if name != predicted)
    test = replace(TEST, label=other)
    by_prediction = Explainer(model, TRAIN, "faithful").explain(test)
    assert (by_prediction.prediction, by_prediction.explained_label) == (predicted, predicted)
    by_label = Explainer(model, TRAIN, "faithful", label="given").explain(test)
    assert (by_label.prediction, by_label.explained_label) == (predicted, other)
    assert by_label.supporters[0].score != pytest.approx(
        by_prediction.supporters[0].score, rel=1e-3
    )
    expected = model.importance(test, test.spans, label="given")
    assert by_label.parts[0].importance == pytest.approx(float(expected.max()), rel=1e-4)
    with pytest.raises(InputError, match="example 't1' has no label: give one of negative"):
        Explainer(model, TRAIN, "faithful", label="given").explain(replace(TEST, label=None))


@pytest.mark.parametrize(
    ("name", "factor"), [("tracin+", -1), ("tracinf", 1), ("faithful", 1), ("if", -1)]
)
def test_the_signs_of_the_paper(model, name, factor):
    columns = {"curvature": Lissa(max_steps=2)} if name == "if" else {}
    ours = Explainer(model, TRAIN, name, **columns).scores([TEST])
    papers = Explainer(model, TRAIN, name, sign="paper", **columns).scores([TEST])
    np.testing.assert_array_equal(papers, factor * ours)


# --- methods, points and curvature -------------------------------------------------------------------


def test_names_of_named_and_unnamed_rows(model):
    assert Explainer(model, TRAIN).name == "pinpoint"
    assert Explainer(model, TRAIN, "faithful", scale="none").name == "faithful"
    varied = Explainer(model, TRAIN, "faithful", scale="cosine", units=("instance", "span"))
    assert varied.name == "faithful with scale=cosine, units=('instance', 'span')"
    assert varied.explain(TEST, 1).method == varied.name
    assert Explainer(model, TRAIN, "faithful", curvature="lissa").name == (
        "faithful with curvature=lissa"
    )


FINAL = {"points": "final", "curvature": "identity"}


@pytest.mark.parametrize(
    ("columns", "row", "name"),
    [
        ({}, METHODS["pinpoint"], "pinpoint"),
        ({"points": "final", "units": ("span", "span")}, METHODS["faithful"], "faithful"),
        ({"points": "final"}, METHODS["faithful"], "faithful"),
        ({"points": "delta", "units": ["instance", "span"]}, METHODS["tracin+"], "tracin+"),
        (
            {**FINAL, "units": ("instance", "instance")},
            Method(units=("instance", "instance")),
            "row with units=('instance', 'instance')",
        ),
        (
            {"curvature": Ggn(sample=4), "target": "logit"},
            Method(curvature="ggn", target="logit"),
            "row with curvature=ggn, target=logit",
        ),
        (
            {"scale": "none"},
            replace(METHODS["pinpoint"], scale="none"),
            "pinpoint with scale=none",
        ),
        (
            {"method": "pinpoint", "points": "delta"},
            replace(METHODS["pinpoint"], points="delta"),
            "pinpoint with points=delta",
        ),
        ({"method": METHODS["faithful"]}, METHODS["faithful"], "faithful"),
        (
            {"method": Method(target="logit"), "scale": "cosine"},
            Method(target="logit", scale="cosine"),
            "row with target=logit, scale=cosine",
        ),
    ],
)
def test_a_row_instead_of_a_name_has_the_papers_values(model, columns, row, name):
    for nothing in ({}, {"method": None}):
        explainer = Explainer(model, TRAIN, **{**nothing, **columns})
        assert (explainer.method, explainer.name) == (row, name)
        again = explainer.over(TRAIN[:2])
        assert (again.method, again.name) == (row, name)
    beside = Explainer(model, TRAIN, "tracinf").also(**columns)
    assert (beside.method, beside.name) == (row, name)


def test_a_row_without_a_name_scores_as_the_named_one(model):
    written = Explainer(model, TRAIN, points="final", units=("span", "span"))
    named = Explainer(model, TRAIN, "faithful")
    np.testing.assert_array_equal(written.scores([TEST]), named.scores([TEST]))


def test_points_of_the_caller_are_recorded_as_such(model):
    own = {name: p.detach().clone() for name, p in model.attributed.items()}
    moved = {name: value + 0.01 for name, value in own.items()}
    size = sum(value.numel() for value in own.values())
    points = [
        ModelPoint("same", 1.0, own),
        ModelPoint("moved", 1.0, moved),
        ModelPoint("told", 1.0, moved, 7.0),
    ]
    explainer = Explainer(model, TRAIN, "tracin++", points=points)
    assert explainer.settings["points"] == "given"
    assert explainer.name == "tracin++ with points=given"
    distances = [point.distance for point in explainer.points]
    assert distances == pytest.approx([0.0, 0.01 * size**0.5, 7.0], rel=1e-3)
    beside = explainer.also("faithful", points=points)
    assert all(a is b for a, b in zip(explainer.points, beside.points, strict=True)), "runs once"
    assert Explainer(model, TRAIN, points=points).name == "faithful with points=given"


def test_another_method_or_training_set_keeps_how_unknown_spans_are_found(model):
    options = {"finder": "words", "max_spans": 2, "mixture": False, "temperature": 0.5}
    first = Explainer(model, TRAIN, label="given", **options)
    for other in (first.also("faithful"), first.over(TRAIN[:3])):
        found = other.unknown_spans
        assert {name: getattr(found, name) for name in options} == options
        assert len(other.explain(only(TEST)).parts) == 2
    assert first.also("faithful", max_spans=3).unknown_spans.max_spans == 3


def test_points_of_every_kind(model, tiny_folder):
    assert [p.name for p in Explainer(model, TRAIN).points] == ["final"]
    delta = Explainer(model, TRAIN, "tracin++", seed=4)
    assert [p.name for p in delta.points] == ["delta-0", "delta-1", "delta-2"]
    assert all(list(p.parameters) == list(model.attributed) for p in delta.points)
    recipe = Explainer(model, TRAIN, "faithful", points=DeltaFaithful(count=2))
    assert len(recipe.points) == 2
    assert recipe.settings["points"] == "delta", "the settings must say what was summed over"
    assert recipe.name == "faithful with points=delta"
    named = Explainer(model, TRAIN, "faithful", points="delta")
    assert [p.name for p in named.points] == ["delta-0", "delta-1", "delta-2"]


def test_given_points_are_summed_with_their_weights(model):
    own = {name: p.detach().clone() for name, p in model.attributed.items()}
    moved = {name: value * 0.9 for name, value in own.items()}
    one = Explainer(model, TRAIN, "faithful", points=[ModelPoint("a", 1.0, own)]).scores([TEST])
    two = Explainer(model, TRAIN, "faithful", points=[ModelPoint("b", 1.0, moved)]).scores([TEST])
    both = Explainer(
        model, TRAIN, "faithful", points=[ModelPoint("a", 0.5, own), ModelPoint("b", 3.0, moved)]
    )
    expected = 0.5 * one + 3.0 * two
    away = 0.1 * float(torch.cat([value.flatten() for value in own.values()]).norm())
    np.testing.assert_allclose(
        both.scores([TEST]), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max()
    )
    assert both.explain(TEST, 1).points == (
        {"name": "a", "weight": 0.5, "distance": 0.0},
        {"name": "b", "weight": 3.0, "distance": pytest.approx(away, rel=1e-4)},
    )
    for name, parameter in model.attributed.items():
        assert torch.equal(parameter, own[name])


def test_damping_reaches_the_curvature(model, monkeypatch):
    solve = Lissa.solve
    monkeypatch.setattr(  # a thousand steps would tell the same
        Lissa, "solve", lambda self, *rest: solve(replace(self, max_steps=50), *rest)
    )
    weak, strong = (Explainer(model, TRAIN, "if++", damping=damping) for damping in (2.5, 100.0))
    assert weak.settings["damping"] == 2.5
    assert Explainer(model, TRAIN, "if++").settings["damping"] == 2.5
    a, b = weak.scores([TEST]), strong.scores([TEST])
    assert np.abs(b).max() < np.abs(a).max() / 5, "an inverse of 100 I is far smaller"
    given = Explainer(model, TRAIN, "faithful", curvature=Lissa(damping=7.0, max_steps=3))
    assert given.settings["damping"] == 7.0
    assert given.settings["curvature"] == "lissa"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"method": "nearest"}, "no method 'nearest': use 'if', "),
        ({"sign": "plus"}, "sign='plus' is not known: use 'support' or 'paper'"),
        ({"label": "gold"}, "label='gold' is not known: use 'predicted' or 'given'"),
        ({"points": []}, "points=[] is empty: give at least one ModelPoint"),
        ({"points": "start"}, "points='start' is not known"),
        ({"points": "given"}, "points='given' is not known"),
        ({"points": 5}, "points=5 cannot be used: give 'final', 'checkpoints', 'delta', "),
        ({"points": [5]}, "points=[5] cannot be used: give 'final', 'checkpoints', 'delta', "),
        (
            {"points": [ModelPoint("odd", 1.0, {"classifier.bias": torch.zeros(9)})]},
            "point 'odd': classifier.bias has the shape (9,), in the model it is (3,): give values",
        ),
        ({"curvature": 3}, "curvature=3 is not known: give 'identity', 'lissa', "),
        ({"units": 5}, "units=5 must be a pair (test, train) of 'instance' or 'span'"),
        ({"units": "span"}, "units='span' must be a pair (test, train) of 'instance' or 'span'"),
        ({"method": 5}, "no method 5: use 'if', "),
        ({"curvature": "newton"}, "curvature='newton' is not known"),
        ({"colour": "red"}, "a method has no column 'colour'"),
        (
            {"damping": 1.0},
            "damping=1.0 has no meaning without curvature: pass curvature='ggn'",
        ),
        (
            {"curvature": Lissa(), "damping": 1.0},
            "damping=1.0 and Lissa(...) do not go together: write it inside Lissa(...)",
        ),
        ({"method": "if", "damping": -1.0}, "Lissa(damping=-1.0"),
    ],
)
def test_arguments_that_cannot_be(model, arguments, says):
    with pytest.raises(InputError) as caught:
        Explainer(model, TRAIN, **arguments)
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)


def test_training_sets_that_cannot_be(model):
    with pytest.raises(InputError, match="the training set is empty: give at least one labelled"):
        Explainer(model, [])
    twice = [TRAIN[0], TRAIN[1], replace(TRAIN[2], id=TRAIN[0].id)]
    with pytest.raises(InputError) as caught:
        Explainer(model, twice)
    assert str(caught.value) == (
        f"training id {TRAIN[0].id!r} stands at rows 1 and 3: make ids unique, so that an answer "
        "names one row"
    )
    with pytest.raises(InputError, match="example '1-1' has no label"):
        Explainer(model, [TRAIN[0], replace(TRAIN[1], label=None)])
    with pytest.raises(InputError, match="has the label 'angry', which the model does not know"):
        Explainer(model, [replace(TRAIN[0], label="angry")])


def test_rows_without_ids_are_no_duplicates(model):
    explanation = Explainer(model, [replace(e, id=None) for e in TRAIN]).explain(TEST, 3)
    hits = explanation.to_dict()["parts"][0]["supporters"]
    assert {hit["id"] for hit in hits} == {None}
    assert f"unit {hits[0]['index']}" in str(explanation), "named by its place instead"


def test_a_budget_too_small_for_one_test(model):
    with pytest.raises(
        InputError,
        match=r"one test needs [\d.]+ KB .* budget of 10 B: raise the memory or attribute",
    ):
        Explainer(model, TRAIN, memory_bytes=10).scores([TEST])


def test_a_model_without_mask_token_can_still_explain_whole_texts(tmp_path):
    bare = TextClassifier.load(tiny.make_tiny(tmp_path, "bert", mask_token=False))
    assert Explainer(bare, TRAIN, "tracinf").explain(TEST, 2).supporters
    with pytest.raises(ModelError, match="has no mask token"):
        Explainer(bare, TRAIN, "faithful").scores([TEST])


def test_spans_that_the_model_does_not_reach_are_refused(model):
    long = Example("cold soup " * 60, "negative", spans=[(590, 594)], id="long")
    with pytest.raises(InputError, match="of example 'long' lies beyond the 64 tokens"):
        Explainer(model, TRAIN).explain(long)


def test_training_spans_that_the_model_does_not_reach_are_left_out(model, pinpoint):
    words = "cold soup " * 60
    half = Example(words, "negative", spans=[(0, 4), (590, 594)], id="half")
    lost = Example(words, "positive", spans=[(580, 584), (590, 594)], id="lost")
    explainer = Explainer(model, [half, *TRAIN, lost])
    assert explainer.train_units == [
        Unit(half, (Span(0, 4),)),
        *pinpoint.train_units,
        Unit(lost),
    ]
    scores = explainer.scores([TEST])
    assert scores.shape == (1, len(explainer.train_units))
    np.testing.assert_allclose(scores[:, 1:-1], pinpoint.scores([TEST]), rtol=1e-3, atol=1e-6)
    spans = 4 + sum(len(example.spans) for example in TRAIN)
    assert explainer.explain(TEST).notes == (
        f"3 of {spans} training spans touch none of the 64 tokens that the model reads: they are left "
        "out, and 1 of 11 training examples are covered by their whole text.",
    )
    assert Explainer(model, [half, *TRAIN]).explain(TEST).notes == (
        f"1 of {spans - 2} training spans touch none of the 64 tokens that the model reads: they are "
        "left out.",
    )
    assert explainer.also("tracinf").explain(only(TEST)).notes == ()


def test_a_loss_that_is_not_finite_names_its_text(model):
    broken = {name: p.detach() * float("nan") for name, p in model.attributed.items()}
    explainer = Explainer(model, TRAIN, "faithful", points=[ModelPoint("broken", 1.0, broken)])
    with pytest.raises(NumericsError) as caught:
        explainer.scores([TEST])
    assert "example 't1' ('The soup was cold, but the wine list was')" in str(caught.value)
    assert "has a loss that is not finite" in str(caught.value)


@pytest.mark.parametrize("method", ["faithful", "pinpoint", "tracinf"])
@pytest.mark.parametrize("culprit", [TEST, TRAIN[2]], ids=["test", "train"])
def test_gradients_that_are_not_finite_name_their_example(model, method, culprit):
    """The losses are finite, the gradients of one example are not."""
    explainer = Explainer(model, TRAIN, method)
    objectives = explainer.capture.objectives
    [text] = model.encoder.encode([culprit])

    def spoiled(inputs, states, of_logits):
        found = objectives(inputs, states, of_logits)
        ids = inputs["input_ids"][:, : len(text)]
        own = (ids == torch.from_numpy(text.input_ids)[: ids.shape[1]]).all(1)
        for layer in found[0].layers:
            values = layer.rows if isinstance(layer, TextRows) else layer.vectors
            values[own] = torch.nan
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explainer.capture, "objectives", spoiled)
        with pytest.raises(NumericsError, match="has gradients that are not finite") as caught:
            explainer.scores([TEST])
    assert str(caught.value).startswith(culprit.title)


# --- plain data --------------------------------------------------------------------------------------


def test_the_json_form_has_exactly_the_documented_keys(answer):
    found = answer.to_dict()
    assert set(found) == EXPLANATION_KEYS
    assert set(found["settings"]) == SETTING_KEYS
    assert {frozenset(point) for point in found["points"]} == {
        frozenset({"name", "weight", "distance"})
    }
    assert set(found["test"]) == TEST_KEYS
    assert len(found["parts"]) == 2
    for part in found["parts"]:
        assert set(part) == PART_KEYS
        assert [hit["rank"] for hit in part["supporters"]] == [1, 2, 3, 4]
        for hit in (*part["supporters"], *part["opponents"]):
            assert set(hit) == HIT_KEYS


def test_the_json_form_says_what_was_asked_and_found(answer, model, pinpoint):
    found = answer.to_dict()
    assert found["format"] == "spanfluence.explanation/1"
    assert found["method"] == "pinpoint"
    assert found["settings"] == {
        "points": "final",
        "curvature": "identity",
        "units": ["span", "span"],
        "target": "logit",
        "contrast": "unmasked",
        "locality": "span",
        "scale": "layer-cosine",
        "weight": "importance",
        "mask": "mask",
        "sign": "support",
        "label": "predicted",
        "seed": 0,
    }
    assert found["points"] == [{"name": "final", "weight": 1.0, "distance": 0.0}]
    assert found["train_units"] == len(pinpoint.train_units)
    test = found["test"]
    assert (test["id"], test["context"], test["text"], test["label"]) == (
        "t1",
        "soup",
        TEXT,
        "negative",
    )
    assert test["prediction"] == model.predict([TEST]).labels[0]
    assert list(test["probabilities"]) == list(model.labels)
    assert sum(test["probabilities"].values()) == pytest.approx(1.0)
    assert {tuple(map(tuple, part["spans"])): part["words"] for part in found["parts"]} == {
        ((13, 17),): "cold",
        ((41, 46),): "great",
    }
    hit, unit = found["parts"][0]["supporters"][0], answer.supporters[0].unit
    assert (hit["text"], hit["id"], hit["context"], hit["label"], hit["words"]) == (
        unit.example.text,
        unit.example.id,
        unit.example.context,
        unit.example.label,
        unit.text,
    )
    assert hit["spans"] == [[unit.spans[0].start, unit.spans[0].end]]


def test_the_json_form_survives_json(answer):
    found = answer.to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_damping_is_among_the_settings_of_a_curvature_method(model):
    explainer = Explainer(model, TRAIN, "if", curvature=Lissa(max_steps=2))
    assert set(explainer.explain(TEST, 1).to_dict()["settings"]) == SETTING_KEYS | {"damping"}


def test_class_indices_are_shown_as_names(model):
    numbered = [replace(e, label=model.label_id(e.label)) for e in TRAIN]
    explainer = Explainer(model, numbered)
    found = explainer.explain(replace(TEST, label=2), 3).to_dict()
    assert found["test"]["label"] == "positive"
    by_id = {e.id: e.label for e in TRAIN}
    for hit in found["parts"][0]["supporters"]:
        assert hit["label"] == by_id[hit["id"]]


@pytest.mark.parametrize(
    ("label", "shown"),
    [(1, "1"), (3, "3"), (0, "1"), (7, "7"), (-1, "-1"), ("2", "2"), (None, None)],
)
def test_numbers_that_are_names_are_shown_as_they_are(answer, label, shown):
    stars = replace(
        answer,
        example=replace(TEST, label=label),
        probabilities={"1": 0.5, "2": 0.25, "3": 0.25},
    )
    assert stars.to_dict()["test"]["label"] == shown


def test_the_faces_of_an_explanation(answer):
    hit = answer.supporters[0].unit.example
    for face in (str(answer), answer.to_html(), answer._repr_html_()):
        assert "pinpoint" in face
        assert "negative" in face
        assert str(hit.id) in face
    assert "The soup was " in str(answer)
    assert answer.to_html().lstrip().lower().startswith("<!doctype html")
    assert "<html" not in answer._repr_html_().lower()
    for face in (str(answer), answer.to_html(), answer._repr_html_()):
        assert "cold" in face
        assert "great" in face


def test_text_is_escaped(model):
    nasty = "<script>alert(1)</script> & more"
    train = [*TRAIN, Example(nasty, "neutral", spans=[(0, 8)], id="<b>")]
    explanation = Explainer(model, train).explain(replace(TEST, context="<i>&"), top_k=50)
    for page in (explanation.to_html(), explanation._repr_html_()):
        assert "<script>alert(1)" not in page
        assert "<i>&" not in page
        assert "&lt;i&gt;&amp;" in page


def test_an_interrupted_pass_leaves_the_model_as_it_was(classifier):
    explainer = Explainer(classifier, TRAIN, "tracin++")
    before = {name: p.detach().clone() for name, p in classifier.attributed.items()}

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as kept:  # as a notebook keeps the traceback
        explainer.scores([TEST, TEST, TEST], advance=interrupt)
    assert kept.tb is not None
    assert all(torch.equal(before[name], p) for name, p in classifier.attributed.items())
