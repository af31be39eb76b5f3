"""Fine-tuning: the recipe step by step, checkpoints, resuming after a kill, and every refusal."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import spanfluence.train as training
from spanfluence import Example, TextClassifier, train_classifier
from spanfluence.data import content_fingerprint, fingerprint, load_examples
from spanfluence.errors import InputError, ModelError, NumericsError
from spanfluence.runs import RunFolder
from spanfluence.train import TrainSettings, best_epoch, epoch_batches, summary

TRAIN = tiny.make_examples(20, seed=1)
DEV = tiny.make_examples(8, seed=2)
FAST = {"learning_rate": 1e-3, "batch_size": 8, "epochs": 4, "patience": 0, "seed": 3}


@pytest.fixture
def base(tiny_folder) -> Path:
    return tiny_folder("bert")


@pytest.fixture(scope="module")
def finished(tiny_folder, tmp_path_factory) -> RunFolder:
    """One uninterrupted run, which nobody changes."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    train_classifier(TRAIN, DEV, base=tiny_folder("bert"), out=out, **FAST)
    return RunFolder.open(out)


def give_accuracies(monkeypatch, *values: float) -> None:
    """Let the dev set find these accuracies, epoch after epoch."""
    coming = iter(values)
    monkeypatch.setattr(training._Fit, "_evaluate", lambda self: (next(coming), 1.0))


def weights(run: RunFolder) -> dict[str, torch.Tensor]:
    return load_file(run.model / "model.safetensors")


def assert_same_run(one: RunFolder, other: RunFolder) -> None:
    """Bitwise: the model, every kept checkpoint, the history and the selection."""
    assert (one.model / "model.safetensors").read_bytes() == (
        other.model / "model.safetensors"
    ).read_bytes()
    assert one.record()["history"] == other.record()["history"]
    assert one.record()["selected_epoch"] == other.record()["selected_epoch"]
    assert one.epochs() == other.epochs()
    for epoch in one.epochs():
        mine, theirs = one.load_epoch(epoch), other.load_epoch(epoch)
        for a, b in zip(mine[:2], theirs[:2], strict=True):
            assert a.keys() == b.keys()
            assert all(torch.equal(a[name], b[name]) for name in a)


# --- the recipe --------------------------------------------------------------------------------------


def without_dropout(folder: Path, out: Path) -> Path:
    shutil.copytree(folder, out)
    config = json.loads((out / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (out / "config.json").write_text(json.dumps(config))
    return out


def plain_loop(
    folder: Path, epochs: int, warmup: int, clip: float
) -> tuple[dict[str, torch.Tensor], list[float]]:
    """The same training in plain torch: no trunk, no cache, one padded batch after the other."""
    model = AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tuned = {
        name: parameter
        for name, parameter in model.named_parameters()
        if any(part in name for part in ("layer.1.", "layer.2.", "pooler", "classifier"))
    }
    optimizer = torch.optim.AdamW(tuned.values(), lr=1e-3, weight_decay=0.01)
    rows = [
        tokenizer(*((e.context, e.text) if e.context is not None else (e.text,)), truncation=True)
        for e in TRAIN
    ]
    labels = [model.config.label2id[e.label] for e in TRAIN]
    losses, step = [], 0
    model.train()
    for epoch in range(1, epochs + 1):
        total = 0.0
        for batch in epoch_batches([len(row["input_ids"]) for row in rows], 8, 3, epoch):
            inputs = tokenizer.pad([rows[i] for i in batch], return_tensors="pt")
            logits = model(**inputs).logits
            loss = torch.nn.functional.cross_entropy(
                logits, torch.tensor([labels[i] for i in batch])
            )
            optimizer.zero_grad()
            loss.backward()
            if clip:
                length = torch.cat([p.grad.flatten() for p in tuned.values()]).norm()
                for parameter in tuned.values():
                    parameter.grad *= min(1.0, clip / length)
            step += 1
            optimizer.param_groups[0]["lr"] = 1e-3 * min(1.0, step / warmup if warmup else 1.0)
            optimizer.step()
            total += loss.item() * len(batch)
        losses.append(total / len(TRAIN))
    return {name: parameter.detach() for name, parameter in tuned.items()}, losses


@pytest.mark.parametrize(("warmup", "clip"), [(0, 0.0), (9, 0.0), (0, 0.3)])
def test_training_is_a_plain_torch_loop_over_the_tail(base, tmp_path, warmup, clip):
    folder = without_dropout(base, tmp_path / "base")
    settings = {**FAST, "epochs": 2, "warmup": warmup, "clip": clip}
    classifier = train_classifier(TRAIN, base=folder, out=tmp_path / "run", **settings)
    expected, losses = plain_loop(folder, 2, warmup, clip)
    assert classifier.attributed.keys() == expected.keys()
    for name, parameter in classifier.attributed.items():
        if not name.endswith("key.bias"):  # its gradient is zero: AdamW scales up rounding errors
            torch.testing.assert_close(parameter.detach(), expected[name], rtol=1e-4, atol=5e-6)
    history = RunFolder(tmp_path / "run").record()["history"]
    np.testing.assert_allclose([row["train_loss"] for row in history], losses, rtol=1e-5)
    start = load_file(folder / "model.safetensors")
    end = weights(RunFolder(tmp_path / "run"))
    moved = {name for name in start if not torch.equal(start[name], end[name])}
    assert moved <= set(expected), "a frozen weight moved"
    assert len(moved) > 0.9 * len(expected)


def test_dropout_is_on_while_training(base, tmp_path):
    settings = {**FAST, "epochs": 1}
    folder = without_dropout(base, tmp_path / "base")
    train_classifier(TRAIN, base=folder, out=tmp_path / "dry", **settings)
    train_classifier(TRAIN, base=base, out=tmp_path / "wet", **settings)
    dry, wet = (RunFolder(tmp_path / name).record()["history"] for name in ("dry", "wet"))
    assert abs(dry[0]["train_loss"] - wet[0]["train_loss"]) > 1e-4


def test_any_choice_of_parameters_can_be_trained(base, tmp_path):
    settings = {**FAST, "epochs": 1, "attribute": ("classifier.*", "*.layer.0.output.*")}
    classifier = train_classifier(TRAIN, base=base, out=tmp_path / "run", **settings)
    assert all("classifier" in n or "layer.0.output" in n for n in classifier.attributed)
    start, end = load_file(base / "model.safetensors"), weights(RunFolder(tmp_path / "run"))
    moved = {name for name in start if not torch.equal(start[name], end[name])}
    assert moved
    assert moved <= set(classifier.attributed)
    again = train_classifier(TRAIN, base=base, out=tmp_path / "run", resume=True, **settings)
    assert again.attributed.keys() == classifier.attributed.keys()


def test_training_learns(base, tmp_path):
    """Two labels told apart by one word: the tail finds it."""
    texts = [f"The {noun} was {word}." for noun in tiny.NOUNS for word in ("great", "awful")]
    train = [Example(t, "positive" if "great" in t else "negative") for t in texts]
    classifier = train_classifier(
        train, train, base=base, out=tmp_path / "run", learning_rate=3e-3, batch_size=8, epochs=15
    )
    assert classifier.predict(train).labels == [example.label for example in train]


def test_the_classifier_returned_is_the_one_on_disk(finished):
    classifier = TextClassifier.load(finished.path)
    assert classifier.labels == ("negative", "neutral", "positive")
    best, _, _ = finished.load_epoch(finished.record()["selected_epoch"])
    for name, parameter in classifier.attributed.items():
        assert torch.equal(parameter, best[name])


def test_one_seed_one_result(base, finished, tmp_path):
    train_classifier(TRAIN, DEV, base=base, out=tmp_path / "same", **FAST)
    assert_same_run(RunFolder(tmp_path / "same"), finished)
    train_classifier(TRAIN, DEV, base=base, out=tmp_path / "other", **{**FAST, "seed": 4})
    other = RunFolder(tmp_path / "other").record()["history"]
    assert other != finished.record()["history"]


def test_training_leaves_the_random_numbers_of_the_caller_alone(base, tmp_path):
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    train_classifier(TRAIN, base=base, out=tmp_path / "run", **{**FAST, "epochs": 1})
    assert torch.equal(torch.rand(3), expected)


def test_batches_are_random_and_of_similar_length():
    lengths = [int(n) for n in np.random.default_rng(0).integers(3, 60, size=101)]
    batches = epoch_batches(lengths, 10, seed=0, epoch=1)
    assert sorted(row for batch in batches for row in batch) == list(range(101))
    assert sorted(len(batch) for batch in batches) == [1] + [10] * 10
    spread = np.mean([np.ptp([lengths[row] for row in batch]) for batch in batches])
    assert spread < 0.3 * np.ptp(lengths)
    assert batches == epoch_batches(lengths, 10, seed=0, epoch=1)
    assert batches != epoch_batches(lengths, 10, seed=0, epoch=2)
    assert batches != epoch_batches(lengths, 10, seed=1, epoch=1)


def test_the_rate_falls_linearly_when_asked_to(base, tmp_path):
    settings = TrainSettings(learning_rate=0.4, epochs=4, schedule="linear")
    assert [settings.rate(epoch) for epoch in (1, 2, 3, 4)] == pytest.approx([0.4, 0.3, 0.2, 0.1])
    assert TrainSettings(learning_rate=0.4).rate(77) == 0.4
    train_classifier(TRAIN, base=base, out=tmp_path / "run", schedule="linear", **FAST)
    run = RunFolder(tmp_path / "run")
    rates = [row["learning_rate"] for row in run.record()["history"]]
    assert rates == pytest.approx([1e-3, 7.5e-4, 5e-4, 2.5e-4])
    assert [run.load_epoch(epoch)[2]["learning_rate"] for epoch in run.epochs()] == rates[1:]


def test_the_rate_of_a_checkpoint_is_that_of_its_last_step(base, tmp_path):
    steps = -(-len(TRAIN) // FAST["batch_size"])
    train_classifier(TRAIN, base=base, out=tmp_path / "run", warmup=2 * steps, **FAST)
    history = RunFolder(tmp_path / "run").record()["history"]
    rates = [row["learning_rate"] for row in history]
    assert rates == pytest.approx([5e-4, 1e-3, 1e-3, 1e-3])


# --- selection, patience and what stays on disk ------------------------------------------------------


def test_the_best_epoch():
    rows = [{"epoch": i, "dev_accuracy": a} for i, a in enumerate((0.5, 0.8, 0.8, 0.7), start=1)]
    assert best_epoch(rows) == 2, "the first of the best"
    assert best_epoch([{**row, "dev_accuracy": None} for row in rows]) == 4


def test_the_selected_epoch_becomes_the_model_and_stays(base, tmp_path, monkeypatch):
    give_accuracies(monkeypatch, 0.5, 0.9, 0.6, 0.9, 0.1, 0.2)
    classifier = train_classifier(
        TRAIN, DEV, base=base, out=tmp_path / "run", **{**FAST, "epochs": 6, "keep": 2}
    )
    run = RunFolder(tmp_path / "run")
    assert run.record()["selected_epoch"] == 2
    assert run.epochs() == [1, 2, 5, 6]
    states = [e for e in run.epochs() if (run.epoch_folder(e) / "optimizer.safetensors").exists()]
    assert states == [6], "only the newest can be resumed from"
    chosen, last = run.load_epoch(2)[0], run.load_epoch(6)[0]
    for name, parameter in classifier.attributed.items():
        assert torch.equal(parameter, chosen[name])
    assert not torch.equal(chosen["classifier.weight"], last["classifier.weight"])


def test_without_dev_the_last_epoch_is_the_model(base, tmp_path):
    train_classifier(TRAIN, base=base, out=tmp_path / "run", **FAST)
    record = RunFolder(tmp_path / "run").record()
    assert record["selected_epoch"] == 4
    assert record["dev"] is None
    assert [row["dev_accuracy"] for row in record["history"]] == [None] * 4


def test_patience_ends_a_training_that_does_not_improve(base, tmp_path, monkeypatch):
    give_accuracies(monkeypatch, 0.5, 0.7, 0.7, 0.6, 0.9)
    settings = {**FAST, "epochs": 9, "patience": 2}
    train_classifier(TRAIN, DEV, base=base, out=tmp_path / "run", **settings)
    record = RunFolder(tmp_path / "run").record()
    assert [row["dev_accuracy"] for row in record["history"]] == [0.5, 0.7, 0.7, 0.6]
    assert record["selected_epoch"] == 2


def test_dev_accuracy_is_what_predict_says(finished):
    """The history's last row against the last checkpoint itself."""
    parameters, _, row = finished.load_epoch(4)
    classifier = TextClassifier.load(finished.path)
    with classifier.at(parameters):
        labels, probabilities = classifier.predict(DEV)
    right = [label == example.label for label, example in zip(labels, DEV, strict=True)]
    assert row["dev_accuracy"] == pytest.approx(np.mean(right))
    chances = [probabilities[i, classifier.label_id(e.label)] for i, e in enumerate(DEV)]
    assert row["dev_loss"] == pytest.approx(-np.log(chances).mean(), rel=1e-4)


def test_the_record_of_a_run(finished, base):
    record = finished.record()
    assert record["format"] == "spanfluence.run/1"
    assert record["command"] == "train"
    assert record["base"] == str(base)
    assert record["labels"] == ["negative", "neutral", "positive"]
    assert record["settings"] == {
        "learning_rate": 1e-3,
        "weight_decay": 0.01,
        "batch_size": 8,
        "epochs": 4,
        "patience": 0,
        "schedule": "constant",
        "warmup": 0,
        "clip": 0.0,
        "attribute": "last-2",
        "max_length": None,
        "keep": 3,
        "seed": 3,
    }
    assert record["train"] == {
        "examples": 20,
        "fingerprint": fingerprint(TRAIN),
        "content": content_fingerprint(TRAIN),
    }
    assert record["dev"] == {"examples": 8, "fingerprint": fingerprint(DEV)}
    assert record["finished"] is True
    assert len(record["epoch_seconds"]) == 4
    assert finished.training_seconds() == sum(record["epoch_seconds"]) > 0
    assert [row["epoch"] for row in record["history"]] == [1, 2, 3, 4]
    assert set(record["history"][0]) == {
        "epoch",
        "learning_rate",
        "train_loss",
        "dev_accuracy",
        "dev_loss",
    }
    assert set(record["versions"]) == {"spanfluence", "python", "torch", "transformers"}
    assert load_examples(finished.train_file) == TRAIN


def test_the_curve_is_a_picture(finished, base, tmp_path):
    picture = (finished.path / "curve.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(picture) > 5_000
    train_classifier(TRAIN, base=base, out=tmp_path / "run", **{**FAST, "epochs": 1})
    alone = (tmp_path / "run" / "curve.png").read_bytes()
    assert alone.startswith(b"\x89PNG")
    assert alone != picture


def test_the_summary_names_the_files_and_the_next_command(finished, base, tmp_path):
    lines = summary(finished.path).splitlines()
    best = finished.record()["selected_epoch"]
    assert lines[0].startswith(f"20 examples, 4 epochs; selected epoch {best}, dev accuracy ")
    assert lines[1:] == [
        f"Model: {finished.model}",
        f"Curve: {finished.path / 'curve.png'}",
        f'Next: spanfluence explain {finished.path} --text "..."',
    ]
    train_classifier(TRAIN, base=base, out=tmp_path / "run", **{**FAST, "epochs": 1})
    assert summary(tmp_path / "run").splitlines()[0] == "20 examples, 1 epochs; selected epoch 1"


# --- kills and resuming ------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0, 1, 4, 11])
def test_a_training_interrupted_anywhere_ends_the_same(base, finished, tmp_path, monkeypatch, step):
    """Three steps make an epoch: before the first, within the first, second and last epoch."""
    out, done = tmp_path / "run", []
    plain_step = training._Fit._step

    def interrupted(self, rows):
        if len(done) == step:
            raise KeyboardInterrupt
        done.append(rows)
        return plain_step(self, rows)

    with monkeypatch.context() as patch:
        patch.setattr(training._Fit, "_step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_classifier(TRAIN, DEV, base=base, out=out, **FAST)
    assert RunFolder(out).record()["finished"] is False
    assert not (out / "model").exists()
    with pytest.raises(
        InputError, match="did not finish: run 'spanfluence train' again with --resume"
    ):
        RunFolder.open(out)
    train_classifier(TRAIN, DEV, base=base, out=out, resume=True, **FAST)
    assert_same_run(RunFolder(out), finished)


def test_a_training_killed_while_it_writes_ends_the_same(base, finished, tmp_path):
    """SIGKILL in the middle of the second epoch's checkpoint, in a process of its own."""
    out = tmp_path / "run"
    script = textwrap.dedent(
        f"""
        import os, signal, sys
        sys.path.insert(0, {str(Path(tiny.__file__).parent)!r})
        import safetensors.torch, torch
        torch.set_num_threads(1)
        from test_train import DEV, FAST, TRAIN
        from spanfluence import train_classifier

        write, calls = safetensors.torch.save_file, []

        def killed(tensors, path, *more):
            write(tensors, path, *more)
            calls.append(path)
            if len(calls) == 4:  # parameters and optimizer of epoch 1, then of epoch 2
                with open(path, "r+b") as file:
                    file.truncate(100)
                os.kill(os.getpid(), signal.SIGKILL)

        safetensors.torch.save_file = killed
        train_classifier(TRAIN, DEV, base={str(base)!r}, out={str(out)!r}, **FAST)
        """
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert RunFolder(out).epochs() == [1], "the checkpoint that was being written does not count"
    train_classifier(TRAIN, DEV, base=base, out=out, resume=True, **FAST)
    assert_same_run(RunFolder(out), finished)


@pytest.mark.parametrize("kind", ["run.json", "train.jsonl"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_training_killed_while_it_begins_can_be_resumed(base, finished, tmp_path, kind, moment):
    """SIGKILL just before, and just after, each of the first two files takes its place."""
    out = tmp_path / "run"
    script = textwrap.dedent(
        f"""
        import os, signal, sys
        from pathlib import Path
        sys.path.insert(0, {str(Path(tiny.__file__).parent)!r})
        import torch
        torch.set_num_threads(1)
        from test_train import DEV, FAST, TRAIN
        from spanfluence import train_classifier

        move = Path.replace

        def killed(self, target):
            if target.name != {kind!r}:
                return move(self, target)
            if {moment!r} == "after":
                move(self, target)
            os.kill(os.getpid(), signal.SIGKILL)

        Path.replace = killed
        train_classifier(TRAIN, DEV, base={str(base)!r}, out={str(out)!r}, **FAST)
        """
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert process.returncode == -signal.SIGKILL, process.stderr
    train_classifier(TRAIN, DEV, base=base, out=out, resume=True, **FAST)
    assert_same_run(RunFolder(out), finished)
    assert load_examples(out / "train.jsonl") == TRAIN
    assert not list(out.glob(".*")), "no draft is left"


def test_resuming_a_finished_run_changes_nothing(base, finished, tmp_path):
    shutil.copytree(finished.path, tmp_path / "run")
    train_classifier(TRAIN, DEV, base=base, out=tmp_path / "run", resume=True, **FAST)
    assert_same_run(RunFolder(tmp_path / "run"), finished)


def test_resuming_where_nothing_is_starts_anew(base, finished, tmp_path):
    train_classifier(TRAIN, DEV, base=base, out=tmp_path / "run", resume=True, **FAST)
    assert_same_run(RunFolder(tmp_path / "run"), finished)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"learning_rate": 2e-3}, "learning_rate"),
        ({"epochs": 9}, "epochs"),
        ({"train": TRAIN[:-1]}, "train"),
        ({"train": [replace(TRAIN[0], spans=()), *TRAIN[1:]]}, "train"),
        ({"dev": None}, "dev"),
        ({"dev": DEV[::-1]}, "dev"),
        ({"base": "distilbert"}, "base"),
    ],
)
def test_resuming_another_training_is_refused(base, finished, tiny_folder, tmp_path, change, key):
    shutil.copytree(finished.path, tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    settings = {**FAST, "train": TRAIN, "dev": DEV, "base": base, **change}
    if change.get("base"):
        settings["base"] = tiny_folder(change["base"])
    train, dev = settings.pop("train"), settings.pop("dev")
    with pytest.raises(InputError) as caught:
        train_classifier(train, dev, out=tmp_path / "run", resume=True, **settings)
    assert str(caught.value).startswith(f"cannot resume {tmp_path / 'run'}: its {key} was ")
    assert str(caught.value).count(", now it is ") == 1, "only what differs is named"
    assert before == {
        path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()
    }


def test_nothing_is_overwritten(base, finished, tmp_path):
    with pytest.raises(InputError) as caught:
        train_classifier(TRAIN, DEV, base=base, out=finished.path, **FAST)
    assert str(caught.value) == (
        f"{finished.path} already holds a run: continue it with --resume, or choose another --out"
    )
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError) as caught:
        train_classifier(TRAIN, DEV, base=base, out=tmp_path, **FAST)
    assert str(caught.value) == f"{tmp_path} is not empty: choose a new folder for --out"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


# --- labels ------------------------------------------------------------------------------------------


def relabelled(*names) -> list[Example]:
    return [replace(e, label=names[row % len(names)]) for row, e in enumerate(TRAIN)]


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        (("b", "a", "c"), ("a", "b", "c")),
        (("10", "9", "2"), ("2", "9", "10")),
        (("10", "x", "9"), ("9", "10", "x")),
        ((0, 1), ("0", "1")),
        ((3, 1, 2), ("1", "2", "3")),
        ((-1, 1), ("1", "-1")),
        (("²", "a"), ("a", "²")),
    ],
)
def test_the_order_of_new_labels(base, tmp_path, given, ordered):
    train = relabelled(*given)
    settings = {**FAST, "epochs": 1}
    classifier = train_classifier(train, train, base=base, out=tmp_path / "run", **settings)
    assert classifier.labels == ordered
    found = [classifier.labels[i] for i in classifier.label_ids(train, "given")]
    assert found == [str(example.label) for example in train]
    accuracy = RunFolder(tmp_path / "run").record()["history"][0]["dev_accuracy"]
    right = [
        label == str(example.label)
        for label, example in zip(classifier.predict(train).labels, train, strict=True)
    ]
    assert accuracy == pytest.approx(np.mean(right))


def test_a_trained_base_keeps_its_own_order(tmp_path):
    order = ("positive", "negative", "neutral")
    folder = tiny.make_tiny(tmp_path / "base", "bert", labels=order)
    settings = {**FAST, "epochs": 1, "learning_rate": 1e-9}
    classifier = train_classifier(TRAIN, base=folder, out=tmp_path / "run", **settings)
    assert classifier.labels == order
    assert classifier.predict(DEV).labels == TextClassifier.load(folder).predict(DEV).labels


# --- refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("train", "dev", "says"),
    [
        ([], None, "the training set is empty: give at least one labelled example"),
        (
            [replace(e, label="same") for e in TRAIN],
            None,
            "the training set knows only the label 'same': a classifier needs two",
        ),
        (
            [*TRAIN, Example("no label", id="bare")],
            None,
            "training example 'bare' has no label: give every row one",
        ),
        (
            [*TRAIN, Example("no label")],
            None,
            "training example 21 has no label: give every row one",
        ),
        (
            TRAIN,
            [Example("x", label="angry", id="d1")],
            "dev example 'd1' has the label 'angry', which no training example has",
        ),
        (
            TRAIN,
            [],
            "the dev set is empty: give examples to select the epoch on, or no dev set",
        ),
        (
            [*TRAIN, Example("soup", "neutral", context="the waiter " * 60)],
            None,
            "cannot fit context and text into 64 tokens",
        ),
    ],
)
def test_examples_that_cannot_be_trained_on(base, tmp_path, train, dev, says):
    with pytest.raises(InputError) as caught:
        train_classifier(train, dev, base=base, out=tmp_path / "run", **FAST)
    assert str(caught.value).startswith(says)
    assert not (tmp_path / "run").exists(), "a refused training left something behind"


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"learning_rate": 0.0}, "learning_rate=0.0 must be positive"),
        ({"learning_rate": float("nan")}, "learning_rate=nan must be positive"),
        ({"batch_size": 0}, "batch_size=0 must be positive"),
        ({"epochs": -1}, "epochs=-1 must be positive"),
        ({"keep": 0}, "keep=0 must be positive"),
        ({"patience": -1}, "patience=-1 must not be negative"),
        ({"weight_decay": -0.1}, "weight_decay=-0.1 must not be negative"),
        ({"warmup": -5}, "warmup=-5 must not be negative"),
        ({"clip": -1.0}, "clip=-1.0 must not be negative"),
        ({"schedule": "cosine"}, "schedule='cosine' is not known: use 'constant' or 'linear'"),
        ({"attribute": "layer.77"}, "attribute='layer.77' matches no parameter of the model"),
        ({"max_length": 1000}, "max_length=1000 is not usable: choose 4 to 64 tokens"),
        ({"max_length": 0}, "max_length=0 is not usable: choose 4 to 64 tokens"),
        ({"device": "gpu"}, "device='gpu' cannot be used here"),
        (
            {"foo": 1},
            "training has no setting 'foo': its settings are learning_rate, weight_decay, ",
        ),
        ({"epochs": "3"}, "epochs='3' must be a whole number"),
        ({"epochs": 2.5}, "epochs=2.5 must be a whole number"),
        ({"seed": None}, "seed=None must be a whole number"),
        ({"max_length": "32"}, "max_length='32' must be a whole number"),
        ({"learning_rate": "fast"}, "learning_rate='fast' must be a number"),
        ({"clip": True}, "clip=True must be a number"),
    ],
)
def test_settings_that_cannot_be(base, tmp_path, setting, says):
    with pytest.raises(InputError) as caught:
        train_classifier(TRAIN, base=base, out=tmp_path / "run", **{**FAST, **setting})
    assert str(caught.value).startswith(says)
    assert not (tmp_path / "run").exists()


def test_a_base_that_cannot_be_read_leaves_nothing(base, tmp_path):
    spoilt = Path(shutil.copytree(base, tmp_path / "spoilt"))
    tensors = load_file(spoilt / "model.safetensors")
    tensors["classifier.bias"][0] = float("nan")
    from safetensors.torch import save_file

    save_file(tensors, spoilt / "model.safetensors", metadata={"format": "pt"})
    for source in (spoilt, tmp_path / "nowhere"):
        with pytest.raises(ModelError):
            train_classifier(TRAIN, base=source, out=tmp_path / "run", **FAST)
        assert not (tmp_path / "run").exists()


def test_parameters_that_change_nothing_leave_no_run(base, tmp_path):
    with pytest.raises(NumericsError, match="do not change what the model says: attribute more"):
        settings = {**FAST, "attribute": "*.layer.2.attention.self.key.bias"}
        train_classifier(TRAIN, base=base, out=tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


def test_a_loss_that_explodes_is_an_error(base, tmp_path):
    with pytest.raises(NumericsError) as caught:
        train_classifier(TRAIN, base=base, out=tmp_path / "run", **{**FAST, "learning_rate": 1e30})
    assert "lower the learning rate (1e+30)" in str(caught.value)


@pytest.mark.parametrize("dev", [None, DEV])
@pytest.mark.parametrize("rate", [1e38, 1e30, 1e20])
def test_a_last_step_that_explodes_leaves_no_run(base, tmp_path, dev, rate):
    """With one step in all, no loss is ever computed after it."""
    settings = {**FAST, "epochs": 1, "batch_size": 100}
    out = tmp_path / "new" / "run"
    with pytest.raises(NumericsError) as caught:
        train_classifier(TRAIN, dev, base=base, out=out, **{**settings, "learning_rate": rate})
    assert str(caught.value).endswith(f": lower the learning rate ({rate:g})")
    assert not out.exists(), "nothing of a run without an epoch"
    train_classifier(TRAIN, dev, base=base, out=out, **settings)
    assert RunFolder.open(out).record()["finished"] is True


def test_a_later_epoch_that_explodes_keeps_those_before(base, tmp_path, monkeypatch):
    plain = training._Fit._step

    def spoilt(self, rows):
        value = plain(self, rows)
        if self.run.epochs():
            self.classifier.attributed["classifier.bias"].data[0] = float("nan")
        return value

    monkeypatch.setattr(training._Fit, "_step", spoilt)
    settings = {**FAST, "batch_size": 100}
    with pytest.raises(NumericsError) as caught:
        train_classifier(TRAIN, base=base, out=tmp_path / "run", **settings)
    assert str(caught.value) == (
        "classifier.bias held NaN or infinite values after epoch 2: lower the learning rate (0.001), "
        f"and choose another --out: {tmp_path / 'run'} keeps earlier epochs"
    )
    run = RunFolder(tmp_path / "run")
    assert run.epochs() == [1]
    assert run.record()["finished"] is False
    assert not run.model.exists()


def test_a_saved_model_reads_as_many_tokens_as_it_was_trained_with(base, tmp_path):
    out = tmp_path / "run"
    settings = {**FAST, "epochs": 1, "attribute": "head"}
    trained = train_classifier(TRAIN, base=base, out=out, max_length=8, **settings)
    for source in (out, out / "model"):
        loaded = TextClassifier.load(source)
        assert loaded.encoder.max_length == 8
        assert loaded.attribute == "last-2", "what is attributed stays the caller's choice"
        np.testing.assert_allclose(
            loaded.predict(DEV).probabilities, trained.predict(DEV).probabilities, rtol=1e-4
        )
        assert TextClassifier.load(source, max_length=16).encoder.max_length == 16
    assert AutoTokenizer.from_pretrained(out / "model").model_max_length == 8
    assert TextClassifier.load(base).encoder.max_length == 64


def test_training_is_silent(base, tmp_path, recwarn, capfd):
    train_classifier(TRAIN, DEV, base=base, out=tmp_path / "run", **{**FAST, "epochs": 1})
    assert [str(warning.message) for warning in recwarn] == []
    assert capfd.readouterr() == ("", "")
