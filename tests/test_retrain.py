"""Retraining in memory equals training into a run folder, shares trunk states, and is cached."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import replace

import numpy as np
import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file

from spanfluence import Unit, train_classifier
from spanfluence.errors import InputError
from spanfluence.retrain import Retrainer, accuracy, log_odds
from spanfluence.runs import RunFolder
from spanfluence.tail import TrainSettings

TRAIN = tiny.make_examples(14, seed=1)
TESTS = tiny.make_examples(5, seed=2)
WHOLE = [Unit(example) for example in TRAIN]


@pytest.fixture(scope="module")
def run(tiny_folder, tmp_path_factory) -> RunFolder:
    out = tmp_path_factory.mktemp("retrain") / "run"
    settings = {"epochs": 3, "batch_size": 6, "learning_rate": 1e-3, "seed": 4}
    train_classifier(TRAIN, base=tiny_folder("bert"), out=out, **settings)
    return RunFolder.open(out)


def test_all_of_the_data_and_the_runs_seed_give_the_runs_model(run):
    retrained = Retrainer.of_run(run).train(WHOLE, seed=4)
    for epoch, point in zip(run.epochs(), retrained.checkpoints, strict=True):
        saved = run.load_epoch(epoch)[0]
        assert all(torch.equal(saved[name], point.parameters[name]) for name in saved)
        assert point.weight == 1e-3
    parameters = retrained.classifier.attributed
    assert all(torch.equal(saved[name], parameters[name]) for name in saved)


def test_another_seed_gives_another_model(run):
    retrainer = Retrainer.of_run(run)
    first = retrainer.logits(WHOLE, TESTS, seed=4)
    assert (first != retrainer.logits(WHOLE, TESTS, seed=5)).any()
    assert (first == retrainer.logits(WHOLE, TESTS, seed=4)).all()


def test_masks_and_labels_are_part_of_what_is_trained_on(run):
    retrainer = Retrainer.of_run(run)
    whole = retrainer.logits(WHOLE, TESTS, seed=4)
    masked = [Unit(example, example.spans) for example in TRAIN]
    flipped = [Unit(replace(TRAIN[0], label="positive")), *WHOLE[1:]]
    assert TRAIN[0].label != "positive"
    for other in (masked, flipped, WHOLE[:-2]):
        assert (retrainer.logits(other, TESTS, seed=4) != whole).any()


def test_the_trunk_runs_once_for_each_text(run, monkeypatch):
    retrainer = Retrainer.of_run(run)
    retrainer.train(WHOLE, seed=4)
    classifier = retrainer.train(WHOLE[:8], seed=5).classifier
    monkeypatch.setattr(classifier.trunk, "states", None)  # any call would now fail
    retrainer.train(WHOLE[3:], seed=5)


def test_products_in_bfloat16_learn_the_same_but_are_another_recipe(run, tmp_path):
    exact = Retrainer.of_run(run, cache=tmp_path)
    rough = Retrainer.of_run(run, cache=tmp_path, precision="bfloat16")
    first, other = (each.logits(WHOLE, TESTS, seed=4) for each in (exact, rough))
    assert (exact.fits, rough.fits) == (1, 1), "one was taken for the other"
    assert (first != other).any()
    apart = exact.logits(WHOLE, TESTS, seed=5)
    assert np.abs(first - other).max() < 0.2 * np.abs(first - apart).max()
    parameters = rough.train(WHOLE, seed=4).classifier.attributed
    assert all(value.dtype == torch.float32 for value in parameters.values())
    assert rough.for_rows(5).precision == "bfloat16"
    assert rough.course.endswith("products in bfloat16") and "float" not in exact.course


@pytest.mark.parametrize("features", [{"avx512_bf16": False, "avx2": True}, {"avx512_bf16": True}])
def test_a_processor_without_bfloat16_is_told_of(features, run, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: features, raising=False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        Retrainer.of_run(run)
        assert not told
        Retrainer.of_run(run, precision="bfloat16")
    assert [str(one.message)[:45] for one in told] == (
        [] if features["avx512_bf16"] else ["this processor has no instructions for bfloat"]
    )


def test_results_are_taken_from_the_cache(run, tmp_path):
    first = Retrainer.of_run(run, cache=tmp_path / "cache")
    found = first.logits(WHOLE[:9], TESTS, seed=1)
    again = Retrainer.of_run(run, cache=tmp_path / "cache")
    assert (again.logits(WHOLE[:9], TESTS, seed=1) == found).all()
    assert (first.fits, again.fits) == (1, 0)
    assert found == pytest.approx(Retrainer.of_run(run).logits(WHOLE[:9], TESTS, seed=1), abs=1e-4)
    again.logits(WHOLE[:9], TESTS[:2], seed=1)  # other tests are another question
    again.logits([Unit(TRAIN[0], TRAIN[0].spans), *WHOLE[1:9]], TESTS, seed=1)
    assert again.fits == 2
    assert len(list((tmp_path / "cache").glob("*.json"))) == 3


def test_other_weights_in_the_folder_of_the_base_are_another_recipe(tiny_folder, tmp_path):
    base = tmp_path / "base"
    shutil.copytree(tiny_folder("bert"), base)
    settings = {"epochs": 2, "batch_size": 6, "learning_rate": 1e-3}
    train_classifier(TRAIN, base=base, out=tmp_path / "run", **settings)
    run = RunFolder.open(tmp_path / "run")
    before = Retrainer.of_run(run)
    weights = load_file(base / "model.safetensors")
    halved = {name: values / 2 for name, values in weights.items()}
    save_file(halved, base / "model.safetensors", metadata={"format": "pt"})
    after = Retrainer(base, before.labels, before.settings, epochs=before.epochs)
    assert after.recipe["base_files"] != before.recipe["base_files"]
    with pytest.raises(
        InputError, match=r"is not what .* was trained from: its files have changed"
    ):
        Retrainer.of_run(run)
    with pytest.raises(InputError, match=r"cannot resume .*: its base_files was"):
        train_classifier(TRAIN, base=base, out=tmp_path / "run", resume=True, **settings)


def test_a_single_class(run):
    one = [unit for unit in WHOLE if unit.example.label == "neutral"]
    with pytest.raises(InputError, match="single class"):
        Retrainer.of_run(run).train(one, seed=0)


def test_more_epochs_than_the_schedule_has(run):
    with pytest.raises(InputError, match="between 1 and 3"):
        Retrainer.of_run(run, epochs=4)


def settings_of(**changes) -> TrainSettings:
    return TrainSettings(**{"epochs": 20, "batch_size": 100, **changes})


@pytest.mark.parametrize(
    ("rows", "batch"), [(11200, 100), (20000, 100), (5600, 50), (3000, 27), (1792, 16), (1, 16)]
)
def test_fewer_rows_get_smaller_batches_down_to_a_limit(rows, batch):
    # The run: 112 steps an epoch. 3,000 rows in batches of 27: 112 steps.
    retrainer = Retrainer("base", ("a", "b"), settings_of(), epochs=7, rows=11200)
    small = retrainer.for_rows(rows)
    assert small.recipe["settings"]["batch_size"] == batch
    assert small.settings.learning_rate == pytest.approx(1e-4 * (batch / 100) ** 0.5)
    assert small.epochs == 7 and small.course == f"7 epochs in batches of {batch}"
    assert (small.recipe == retrainer.recipe) == (batch == 100)
    assert retrainer.for_rows(2000).for_rows(rows).recipe == small.recipe  # always of the run's


def test_batches_neither_grow_nor_shrink_without_reason():
    small = Retrainer("base", "ab", settings_of(batch_size=4), rows=400).for_rows(20)
    assert small.settings.batch_size == 4  # below the limit already
    unknown = Retrainer("base", "ab", settings_of()).for_rows(5)  # of no known run
    assert unknown.settings == settings_of()


def test_retrainers_for_other_rows_share_states_counts_and_classifiers(run):
    retrainer = Retrainer.of_run(run)
    small = retrainer.for_rows(6)
    trained = small.train(WHOLE[:6], seed=4)
    assert [point.name for point in trained.checkpoints] == ["epoch-001", "epoch-002", "epoch-003"]
    assert retrainer.fits == small.fits == 1
    assert retrainer.store is small.store
    assert retrainer.train(WHOLE, seed=4).classifier is trained.classifier


def test_seeds_that_take_turns_do_not_load_the_base_again(run, monkeypatch):
    retrainer = Retrainer.of_run(run)
    first = retrainer.logits(WHOLE, TESTS, seed=4)
    retrainer.logits(WHOLE, TESTS, seed=5)
    monkeypatch.setattr("spanfluence.retrain.load_parts", None)  # any call would now fail
    assert (retrainer.logits(WHOLE, TESTS, seed=4) == first).all()
    retrainer.logits(WHOLE, TESTS, seed=5)


def test_a_stored_training_is_restored_in_a_classifier_of_its_own(run):
    retrainer = Retrainer.of_run(run)
    trained = retrainer.train(WHOLE[:9], seed=5)
    arrays = trained.arrays()
    expected = trained.classifier.predict(TESTS).probabilities
    again = Retrainer.of_run(run).restored(arrays, seed=5)
    retrainer.train(WHOLE, seed=5)  # overwrites the first, not the second
    assert (again.classifier.predict(TESTS).probabilities == expected).all()
    for old, new in zip(trained.checkpoints, again.checkpoints, strict=True):
        assert (old.name, old.weight) == (new.name, new.weight)
        assert all(torch.equal(old.parameters[n], new.parameters[n]) for n in old.parameters)


def test_accuracy_and_log_odds():
    logits = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 3.0]])
    assert accuracy(logits, np.array([0, 1])) == 0.5
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    own = p[[0, 1], [0, 1]]
    assert log_odds(logits, np.array([0, 1])) == pytest.approx(np.log(own / (1 - own)))
