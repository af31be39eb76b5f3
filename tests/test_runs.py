"""The run folder: complete checkpoints or none, and records that are what they claim."""

from __future__ import annotations

import json

import pytest
import tiny
import torch

from spanfluence.data import content_fingerprint, load_examples, save_examples
from spanfluence.errors import InputError
from spanfluence.runs import RunFolder, check_results_folder, read_record, versions, write_record

VALUES = {"layer.weight": torch.arange(6.0).reshape(2, 3), "layer.bias": torch.ones(2)}
STATE = {"layer.weight/exp_avg": torch.zeros(2, 3), "layer.weight/step": torch.tensor(7.0)}


@pytest.fixture
def run(tmp_path) -> RunFolder:
    (tmp_path / "run").mkdir()
    return RunFolder(tmp_path / "run")


def test_an_epoch_comes_back_as_it_was_saved(run):
    transposed = {"layer.weight": VALUES["layer.weight"].T, "layer.bias": VALUES["layer.bias"]}
    run.save_epoch(3, transposed, STATE, {"epoch": 3, "learning_rate": 0.5})
    parameters, state, record = run.load_epoch(3)
    assert torch.equal(parameters["layer.weight"], VALUES["layer.weight"].T)
    assert torch.equal(state["layer.weight/step"], torch.tensor(7.0))
    assert record == {"epoch": 3, "learning_rate": 0.5}
    assert run.epoch_folder(3) == run.path / "checkpoints" / "epoch-003"


def test_epochs_are_in_the_order_of_their_numbers(run):
    for epoch in (10, 9, 1000, 2):
        run.save_epoch(epoch, VALUES, STATE, {"epoch": epoch})
    assert run.epochs() == [2, 9, 10, 1000]


def test_an_epoch_is_saved_whole_or_not_at_all(run, monkeypatch):
    run.save_epoch(1, VALUES, STATE, {"epoch": 1})
    monkeypatch.setattr(json, "dumps", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run.save_epoch(2, VALUES, STATE, {"epoch": 2})
    assert [path.name for path in run.checkpoints.iterdir()] == ["epoch-001"]
    assert run.epochs() == [1]


def test_pruning_keeps_the_newest_and_those_up_to_the_selected(run):
    for epoch in range(1, 8):
        run.save_epoch(epoch, VALUES, STATE, {"epoch": epoch})
    run.prune(keep_last=2, selected=3)
    assert run.epochs() == [2, 3, 6, 7]
    assert [bool(run.load_epoch(epoch)[1]) for epoch in (2, 3, 6, 7)] == [False] * 3 + [True]
    run.prune(keep_last=9, selected=3)
    assert run.epochs() == [2, 3, 6, 7]


def test_a_record_carries_its_format_and_versions(run):
    run.write_record({"command": "train", "seed": 3})
    assert run.record() == {
        "format": "spanfluence.run/1",
        "command": "train",
        "seed": 3,
        "versions": versions(),
    }
    assert versions()["torch"] == torch.__version__


def test_a_folder_that_is_no_run(run):
    with pytest.raises(InputError) as caught:
        RunFolder.open(run.path)
    message = str(caught.value)
    assert message.startswith(f"{run.path} is not a run: it has no run.json")
    assert "'spanfluence train'" in message
    assert "--train" in message


def test_a_run_without_a_model_has_not_finished(run):
    run.write_record({"finished": False})
    with pytest.raises(InputError) as caught:
        RunFolder.open(run.path)
    assert str(caught.value) == (
        f"the training in {run.path} did not finish: run 'spanfluence train' again with --resume"
    )
    run.model.mkdir()
    assert RunFolder.open(str(run.path)) == run


def test_what_another_command_wrote_is_no_run(run):
    write_record(run.path, "spanfluence.audit/1", {"seed": 1})
    with pytest.raises(InputError, match=r"is not the record of a run"):
        RunFolder.open(run.path)


def test_no_command_writes_over_the_record_of_another(run):
    assert read_record(run.path, "spanfluence.audit/1") == {}
    write_record(run.path, "spanfluence.audit/1", {"seed": 1})
    write_record(run.path, "spanfluence.audit/1", {"seed": 2})
    with pytest.raises(InputError, match=r"results of another command.*choose another --out"):
        write_record(run.path, "spanfluence.evaluation/1", {"seed": 3})
    assert read_record(run.path, "spanfluence.audit/1")["seed"] == 2


@pytest.mark.parametrize("content", ['{"format": "spanf', "[1, 2]", '{"settings": {}}', ""])
def test_a_record_that_is_none(run, content):
    (run.path / "run.json").write_text(content)
    with pytest.raises(InputError) as caught:
        run.record()
    assert str(run.path / "run.json") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_results_go_into_new_folders_or_where_the_same_command_left_its_own(tmp_path):
    out = tmp_path / "out"
    check_results_folder(out, "a/1", ("stages",))
    (out / "stages").mkdir(parents=True)
    check_results_folder(out, "a/1", ("stages",))  # interrupted before its first stage was done
    (out / "mine.txt").write_text("precious")
    with pytest.raises(
        InputError, match=r"is not empty \(it holds mine.txt\): choose a new folder"
    ):
        check_results_folder(out, "a/1", ("stages",))
    write_record(out, "a/1", {})
    check_results_folder(out, "a/1", ("stages",))
    with pytest.raises(InputError, match="results of another command"):
        check_results_folder(out, "b/1", ("stages",))
    with pytest.raises(InputError, match="is a file: give a new folder for --out"):
        check_results_folder(out / "mine.txt", "a/1", ())


def test_a_training_file_that_was_changed_is_told(run):
    examples = tiny.make_examples(4, seed=1)
    save_examples(examples, run.train_file)
    told = {"examples": 4, "content": content_fingerprint(examples)}
    run.write_record({"train": told})
    assert run.training_examples() == load_examples(run.train_file)
    save_examples(examples[:3], run.train_file, overwrite=True)
    with pytest.raises(
        InputError, match=r"is not what the run was trained on \(4 examples\): put it back"
    ):
        run.training_examples()
