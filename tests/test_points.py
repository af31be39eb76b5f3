"""The points of the sum: final, checkpoints, delta-faithful."""

from __future__ import annotations

import shutil

import pytest
import reference
import tiny
import torch

from spanfluence import DeltaFaithful, Explainer, TextClassifier
from spanfluence.errors import InputError, NumericsError
from spanfluence.loading import load_parts
from spanfluence.points import checkpoint_points, final_point, mean_gradient
from spanfluence.rng import numpy_generator
from spanfluence.runs import RunFolder


def double(folder) -> TextClassifier:
    """In double precision, so that the first step of AdamW, a quotient of tiny numbers, is exact."""
    model, tokenizer = load_parts(folder)
    return TextClassifier(model.double(), tokenizer, source=folder)


def distance(values, final) -> float:
    return float(sum((values[name] - final[name]).pow(2).sum() for name in final).sqrt())


# --- final -------------------------------------------------------------------------------------------


def test_the_final_point_is_the_model_itself(classifier):
    (point,) = final_point(classifier)
    assert (point.name, point.weight, point.distance) == ("final", 1.0, 0.0)
    assert list(point.parameters) == list(classifier.attributed)
    with torch.no_grad():
        classifier.attributed["classifier.bias"].add_(1.0)
    assert not torch.equal(
        point.parameters["classifier.bias"], classifier.attributed["classifier.bias"]
    )


# --- delta-faithful ----------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("architecture", ["bert", "deberta-v2", "albert"])
def test_delta_points_are_single_steps_on_random_batches(tiny_folder, architecture, optimizer):
    folder = tiny_folder(architecture)
    classifier, train = double(folder), tiny.make_examples(7, seed=1)
    recipe = DeltaFaithful(count=2, learning_rate=1e-3, batch_size=3, optimizer=optimizer)
    points = recipe.points(classifier, train, seed=5)
    assert [point.name for point in points] == ["delta-0", "delta-1"]
    model, tokenizer = reference.load(folder)
    for index, point in enumerate(points):
        rng = numpy_generator(5, "delta-faithful", index)
        batch = [train[row] for row in rng.choice(7, size=3, replace=False)]
        expected = reference.delta_point(
            model,
            tokenizer,
            batch,
            [classifier.label_id(example.label) for example in batch],
            1e-3,
            optimizer,
            list(classifier.attributed),
        )
        assert point.weight == 1.0
        assert list(point.parameters) == list(expected)
        # A key's bias has no gradient but rounding, about 1e-16, which AdamW divides by its epsilon, 1e-8.
        loose = 1e-12 if optimizer == "sgd" else 1e-10
        for name, value in point.parameters.items():
            torch.testing.assert_close(value, expected[name], rtol=1e-9, atol=loose)
        assert point.distance == pytest.approx(distance(expected, classifier.attributed), rel=1e-6)
        assert point.distance > 0


def test_delta_points_depend_on_the_seed_and_leave_the_model_alone(classifier):
    train = tiny.make_examples(6, seed=2)
    before = {name: parameter.clone() for name, parameter in classifier.attributed.items()}
    recipe = DeltaFaithful(count=1, batch_size=2)
    first, same, other = (recipe.points(classifier, train, seed)[0] for seed in (0, 0, 1))
    assert torch.equal(first.parameters["classifier.weight"], same.parameters["classifier.weight"])
    assert not torch.equal(
        first.parameters["classifier.weight"], other.parameters["classifier.weight"]
    )
    for name, parameter in classifier.attributed.items():
        assert torch.equal(parameter, before[name])
        assert not parameter.requires_grad


def test_a_batch_larger_than_the_training_set_is_all_of_it(classifier):
    train = tiny.make_examples(4, seed=3)
    one, two = DeltaFaithful(count=2).points(classifier, train, seed=0)
    gradient = mean_gradient(classifier, train)
    for name, parameter in classifier.attributed.items():
        expected = parameter - 1e-4 * gradient[name]
        torch.testing.assert_close(one.parameters[name], expected)
        torch.testing.assert_close(two.parameters[name], expected)


@pytest.mark.parametrize(
    "recipe",
    [DeltaFaithful(learning_rate=1e-2, optimizer="adamw"), DeltaFaithful(learning_rate=1e3)],
)
def test_a_step_that_is_not_small_is_refused(classifier, recipe):
    with pytest.raises(NumericsError) as caught:
        recipe.points(classifier, tiny.make_examples(4, seed=4), seed=0)
    message = str(caught.value)
    assert message.startswith("point delta-0 is ")
    assert "away from the model, not well below 1" in message
    assert f"lower the learning rate ({recipe.learning_rate:g}) or use optimizer='sgd'" in message


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"count": 0}, "count, batch_size and learning_rate must be positive"),
        ({"batch_size": -1}, "count, batch_size and learning_rate must be positive"),
        ({"learning_rate": 0.0}, "count, batch_size and learning_rate must be positive"),
        ({"optimizer": "adam"}, "optimizer='adam' is not known: use 'sgd' or 'adamw'"),
    ],
)
def test_a_recipe_that_cannot_be(settings, says):
    with pytest.raises(InputError) as caught:
        DeltaFaithful(**settings)
    assert says in str(caught.value)


# --- checkpoints -------------------------------------------------------------------------------------


def save_run(folder, model_folder, epochs: dict[int, float]) -> TextClassifier:
    """A run whose checkpoint of each epoch lies `epoch` away from the model in one bias."""
    shutil.copytree(model_folder, folder / "model")
    classifier = TextClassifier.load(folder / "model")
    for epoch, rate in epochs.items():
        values = {name: parameter.clone() for name, parameter in classifier.attributed.items()}
        values["classifier.bias"][1] += epoch
        RunFolder(folder).save_epoch(epoch, values, {}, {"epoch": epoch, "learning_rate": rate})
    return classifier


def test_checkpoints_come_in_order_with_their_learning_rates(tiny_folder, tmp_path):
    rates = {1: 0.5, 2: 0.4, 9: 0.3, 10: 0.2}
    classifier = save_run(tmp_path, tiny_folder("bert"), rates)
    points = checkpoint_points(classifier)
    assert [point.name for point in points] == ["epoch-002", "epoch-009", "epoch-010"]
    assert [point.weight for point in points] == [0.4, 0.3, 0.2]
    assert [point.distance for point in points] == pytest.approx([2, 9, 10], rel=1e-6)
    assert len(checkpoint_points(classifier, last=9)) == 4
    moved = points[-1].parameters["classifier.bias"] - classifier.attributed["classifier.bias"]
    torch.testing.assert_close(moved, torch.tensor([0.0, 10.0, 0.0]))


def test_checkpoints_end_with_the_selected_epoch(tiny_folder, tmp_path):
    classifier = save_run(tmp_path, tiny_folder("bert"), dict.fromkeys(range(1, 8), 0.1))
    run = RunFolder(tmp_path)
    run.write_record({"finished": False})
    assert [point.name for point in checkpoint_points(classifier)][-1] == "epoch-007"
    run.write_record({"selected_epoch": 5, "finished": True})
    names = [point.name for point in checkpoint_points(classifier)]
    assert names == ["epoch-003", "epoch-004", "epoch-005"]
    run.write_record({"selected_epoch": 0, "finished": True})
    with pytest.raises(
        InputError, match=r"no checkpoints in .* up to the selected epoch 0: train with"
    ):
        checkpoint_points(classifier)


def test_the_thousandth_epoch_comes_after_the_one_before(tiny_folder, tmp_path):
    classifier = save_run(tmp_path, tiny_folder("bert"), {998: 0.1, 999: 0.1, 1000: 0.1, 1001: 0.1})
    names = [point.name for point in checkpoint_points(classifier)]
    assert names == ["epoch-999", "epoch-1000", "epoch-1001"]


def test_checkpoints_of_a_run_folder_or_of_any_folder(tiny_folder, tmp_path):
    save_run(tmp_path / "run", tiny_folder("bert"), {1: 0.5, 2: 0.25})
    from_run = TextClassifier.load(tmp_path / "run")
    assert [p.weight for p in checkpoint_points(from_run)] == [0.5, 0.25]
    elsewhere = TextClassifier.load(tiny_folder("bert"))
    found = checkpoint_points(elsewhere, tmp_path / "run" / "checkpoints", last=1)
    assert [p.name for p in found] == ["epoch-002"]
    explainer = Explainer(from_run, tiny.make_examples(3, seed=0), "tracin")
    assert [p.weight for p in explainer.points] == [0.5, 0.25]


def test_missing_checkpoints_say_what_to_do(tiny_folder, tmp_path):
    shutil.copytree(tiny_folder("bert"), tmp_path / "model")
    classifier = TextClassifier.load(tmp_path / "model")
    with pytest.raises(InputError) as caught:
        Explainer(classifier, tiny.make_examples(3, seed=0), "control")
    message = str(caught.value)
    assert message.startswith(f"no checkpoints in {tmp_path / 'checkpoints'}: train with ")
    assert "points=[ModelPoint(...)]" in message
    assert "(tracinf, tracin+, tracin++)" in message
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(InputError, match="no checkpoints in"):
        checkpoint_points(classifier)


def test_a_classifier_from_nowhere_has_no_checkpoints(tiny_folder):
    classifier = TextClassifier(*load_parts(tiny_folder("bert")))
    with pytest.raises(InputError, match=r"was not loaded from a run.*pass points="):
        checkpoint_points(classifier)


def test_checkpoints_of_other_parameters_are_refused_when_used(tiny_folder, tmp_path):
    save_run(tmp_path, tiny_folder("bert"), {1: 0.5})
    classifier = TextClassifier.load(tmp_path / "model", attribute="head")
    examples = tiny.make_examples(3, seed=0)
    explainer = Explainer(classifier, examples, "tracin")
    with pytest.raises(InputError, match="attribute different parameters"):
        explainer.scores(examples[:1])
