"""The command line: what it prints, what it writes, and one line with code 2 for every bad input."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file

import spanfluence
from spanfluence import METHODS, Example, Lissa, Span, cli
from spanfluence.cli_options import parse_size
from spanfluence.data import save_examples
from spanfluence.data.public import DATASETS, PublicDataset, PublicFile
from spanfluence.demo import Demo
from spanfluence.errors import InputError
from spanfluence.progress import progress_bar
from spanfluence.runs import RunFolder
from spanfluence.session import open_explainer

TRAIN = tiny.make_examples(14, seed=1)
DEV = tiny.make_examples(6, seed=2)
TEXT = "The soup was cold, but the wine list was great."
QUICK = ("--epochs", "3", "--lr", "0.001", "--batch-size", "6")


@pytest.fixture
def refused(spanfluence_):
    """A function: arguments -> the one line of the error, after all that must be true of it."""

    def run(*arguments: object) -> str:
        code, out, err = spanfluence_(*arguments)
        assert code == 2, (out, err)
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert "Traceback" not in err
        return err.removeprefix("error: ").rstrip("\n")

    return run


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    save_examples(TRAIN, folder / "train.jsonl")
    save_examples(DEV, folder / "dev.jsonl")
    return folder


@pytest.fixture(scope="module")
def run_folder(files, tiny_folder, tmp_path_factory) -> Path:
    """A run made by the command itself."""
    out = tmp_path_factory.mktemp("run") / "run"
    arguments = ["train", files / "train.jsonl", "--dev", files / "dev.jsonl"]
    arguments += ["--base", tiny_folder("bert"), "--out", out, *QUICK]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as end:
        patch.setattr(sys, "argv", ["spanfluence", *map(str, arguments)])
        cli.main()
    assert not end.value.code
    return out


@pytest.fixture
def few_steps(monkeypatch):
    """LiSSA of five steps: what it gives is checked elsewhere."""
    solve = Lissa.solve
    monkeypatch.setattr(
        Lissa, "solve", lambda self, *rest: solve(replace(self, max_steps=5), *rest)
    )


# --- help --------------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy():
    """Half a second is not enough for torch, transformers, numpy or matplotlib."""
    script = (
        "import sys; sys.argv = ['spanfluence', '--help']\n"
        "from spanfluence.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'numpy', 'matplotlib', 'pyarrow', 'scipy', 'jinja2'}\n"
        "print('heavy:', sorted(heavy & set(sys.modules)))\n"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert process.stdout.endswith("heavy: []\n")
    for command in ("demo", "train", "spans", "explain", "data"):
        assert command in process.stdout


@pytest.mark.parametrize(
    "command", [(), ("train",), ("spans",), ("explain",), ("demo",), ("data", "fetch")]
)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_command_has_help(spanfluence_, command, flag):
    code, out, err = spanfluence_(*command, flag)
    assert code == 0
    assert err == ""
    assert "Usage: spanfluence" in out


def test_the_version(spanfluence_):
    assert spanfluence_("--version") == (0, f"spanfluence {spanfluence.__version__}\n", "")


def test_a_command_that_is_none(spanfluence_):
    code, out, err = spanfluence_("explian")
    assert code == 2
    assert out == ""
    assert "explian" in err
    assert "Traceback" not in err


# --- train -------------------------------------------------------------------------------------------


def test_train_writes_a_run(run_folder):
    run = RunFolder.open(run_folder)
    assert {path.name for path in run_folder.iterdir()} == {
        "run.json",
        "train.jsonl",
        "model",
        "checkpoints",
        "curve.png",
    }
    assert run.epochs() == [1, 2, 3]
    settings = run.record()["settings"]
    assert (settings["learning_rate"], settings["batch_size"], settings["epochs"]) == (1e-3, 6, 3)
    assert run.training_examples() == TRAIN


def test_train_says_where_things_are(spanfluence_, files, tiny_folder, tmp_path):
    code, out, err = spanfluence_(
        "train", files / "train.jsonl", "--dev", files / "dev.jsonl",
        "--base", tiny_folder("bert"), "--out", tmp_path / "run", *QUICK,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "selected epoch" in out
    assert f"Model: {tmp_path / 'run' / 'model'}" in out
    assert f"spanfluence explain {tmp_path / 'run'}" in out


def test_train_takes_every_setting_and_any_columns(spanfluence_, tiny_folder, tmp_path):
    rows = ["review\tstars\taspect\twhere\tkey"]
    rows += [f"{e.text}\t{e.label}\t{e.context or ''}\t[[0, 3]]\tr{i}" for i, e in enumerate(TRAIN)]
    (tmp_path / "train.tsv").write_text("\n".join(rows) + "\n")
    code, _, err = spanfluence_(
        "train", tmp_path / "train.tsv", "--base", tiny_folder("bert"), "--out", tmp_path / "run",
        "--attribute", "head", "--lr", "0.01", "--weight-decay", "0.1", "--batch-size", "5",
        "--epochs", "2", "--patience", "1", "--schedule", "linear", "--max-length", "32",
        "--warmup", "3", "--clip", "0.5", "--keep", "1", "--seed", "7", "--device", "cpu", "--text-column", "review",
        "--label-column", "stars", "--context-column", "aspect", "--spans-column", "where",
        "--id-column", "key",
    )  # fmt: skip
    assert (code, err) == (0, "")
    run = RunFolder.open(tmp_path / "run")
    assert run.record()["settings"] == {
        "learning_rate": 0.01,
        "weight_decay": 0.1,
        "batch_size": 5,
        "epochs": 2,
        "patience": 1,
        "schedule": "linear",
        "warmup": 3,
        "clip": 0.5,
        "attribute": "head",
        "max_length": 32,
        "keep": 1,
        "seed": 7,
    }
    assert run.training_examples()[3].id == "r3"
    assert run.training_examples()[3].spans[0].end == 3
    code, out, err = spanfluence_(
        "explain", tmp_path / "run", "--text", TEXT, "--span", "cold", "--json"
    )
    assert (code, err) == (0, "")
    assert json.loads(out)["parts"][0]["words"] == "cold"


def test_train_resumes(spanfluence_, refused, run_folder, files, tiny_folder):
    arguments = ["train", files / "train.jsonl", "--dev", files / "dev.jsonl"]
    arguments += ["--base", tiny_folder("bert"), "--out", run_folder]
    before = (run_folder / "model" / "model.safetensors").read_bytes()
    assert refused(*arguments, *QUICK) == (
        f"{run_folder} already holds a run: continue it with --resume, or choose another --out"
    )
    assert refused(*arguments, "--resume") == (
        f"cannot resume {run_folder}: its learning_rate was 0.001, now it is 0.0001; its batch_size "
        "was 6, now it is 100; its epochs was 3, now it is 100 (ask for the same again, or choose "
        "another --out)"
    )
    code, out, err = spanfluence_(*arguments, *QUICK, "--resume")
    assert (code, err) == (0, "")
    assert "selected epoch" in out
    assert (run_folder / "model" / "model.safetensors").read_bytes() == before


# --- explain -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_explain_by_every_method(spanfluence_, run_folder, few_steps, method):
    code, out, err = spanfluence_(
        "explain", run_folder, "--text", TEXT, "--context", "soup", "--span", "cold",
        "--method", method, "--top", "3", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["format"] == "spanfluence.explanation/1"
    assert found["method"] == method
    (part,) = found["parts"]
    assert len(part["supporters"]) == len(part["opponents"]) == 3
    scores = [hit["score"] for hit in part["supporters"]]
    assert scores == sorted(scores, reverse=True)
    assert {hit["id"] for hit in part["supporters"]} <= {example.id for example in TRAIN}
    names = [point["name"] for point in found["points"]]
    kind = found["settings"]["points"]
    selected = RunFolder.open(run_folder).record()["selected_epoch"]
    assert (
        names
        == {
            "final": ["final"],
            "delta": ["delta-0", "delta-1", "delta-2"],
            "checkpoints": [f"epoch-{e:03d}" for e in range(max(1, selected - 2), selected + 1)],
        }[kind]
    )
    if kind == "checkpoints":
        assert [point["weight"] for point in found["points"]] == [1e-3] * len(names)


def test_explain_prints_the_answer(spanfluence_, run_folder):
    code, out, err = spanfluence_(
        "explain", run_folder, "--text", TEXT, "--span", "cold", "--top", "2"
    )
    assert (code, err) == (0, "")
    assert "The soup was" in out
    assert "pinpoint" in out
    ids = [example.id for example in TRAIN if example.id in out]
    assert ids, "the training rows are named"


def test_spans_by_words_and_by_offsets(spanfluence_, run_folder):
    code, out, _ = spanfluence_(
        "explain", run_folder, "--text", TEXT, "--span", "cold", "--span", "41:46", "--json"
    )
    assert code == 0
    parts = json.loads(out)["parts"]
    assert sorted((part["words"], part["spans"]) for part in parts) == [
        ("cold", [[13, 17]]),
        ("great", [[41, 46]]),
    ]
    code, out, _ = spanfluence_("explain", run_folder, "--text", TEXT, "--json", "--finder", "none")
    assert code == 0
    assert [part["spans"] for part in json.loads(out)["parts"]] == [[]]


def test_the_page_is_self_contained_and_never_overwritten(
    spanfluence_, refused, run_folder, tmp_path
):
    page = tmp_path / "page.html"
    arguments = ("explain", run_folder, "--text", TEXT, "--span", "cold", "--html", page)
    code, out, err = spanfluence_(*arguments, "--json")
    assert code == 0
    assert err == f"Page: {page}\n"
    json.loads(out)
    content = page.read_text(encoding="utf-8")
    assert "The soup was" in content
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", content)
    assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//", content)
    assert "<script src" not in content
    assert refused(*arguments) == f"{page} already exists: choose another name for --html"
    assert page.read_text(encoding="utf-8") == content
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_file_of_questions(spanfluence_, run_folder, files, tmp_path):
    page = tmp_path / "page.html"
    code, out, err = spanfluence_(
        "explain", run_folder, "--file", files / "dev.jsonl", "--json", "--top", "1",
        "--label", "given", "--sign", "paper", "--html", page,
    )  # fmt: skip
    assert code == 0
    assert err == f"Page: {page}\n"
    found = [json.loads(line) for line in out.splitlines()]
    assert [each["test"]["id"] for each in found] == [example.id for example in DEV]
    assert [each["test"]["explained_label"] for each in found] == [e.label for e in DEV]
    assert {each["settings"]["sign"] for each in found} == {"paper"}
    content = page.read_text(encoding="utf-8")
    assert f"{len(DEV)} predictions explained by pinpoint" in content
    assert all(f"Example {example.id}" in content for example in DEV)


def test_a_label_by_name(spanfluence_, run_folder, files):
    question = ("explain", run_folder, "--text", TEXT, "--span", "cold", "--json")
    scores = set()
    for name in ("negative", "neutral", "positive"):
        code, out, err = spanfluence_(*question, "--label", name)
        assert (code, err) == (0, "")
        found = json.loads(out)
        assert (found["test"]["explained_label"], found["test"]["label"]) == (name, name)
        assert found["settings"]["label"] == "given"
        scores.add(found["parts"][0]["supporters"][0]["score"])
    assert len(scores) == 3
    code, out, _ = spanfluence_(
        "explain", run_folder, "--file", files / "dev.jsonl", "--json", "--label", "neutral"
    )
    assert code == 0
    labels = [json.loads(line)["test"]["explained_label"] for line in out.splitlines()]
    assert labels == ["neutral"] * len(DEV)


def test_a_span_that_a_method_does_not_use_is_mentioned(spanfluence_, run_folder):
    code, out, _ = spanfluence_(
        "explain", run_folder, "--text", TEXT, "--span", "cold", "--method", "tracinf"
    )
    assert code == 0
    assert "The method tracinf explains the whole text; the span is not used." in out


def test_a_method_with_other_columns_in_one_line(spanfluence_, refused, run_folder):
    question = ("explain", run_folder, "--text", TEXT, "--span", "cold", "--json")
    written = "pinpoint, points=checkpoints, scale=none"
    _, out, _ = spanfluence_(*question, "--method", written)
    found = json.loads(out)
    assert found["method"] == "pinpoint with scale=none, points=checkpoints"
    explainer = open_explainer(
        str(run_folder), method="pinpoint", points="checkpoints", scale="none"
    )
    own = explainer.explain(Example(TEXT, spans=(Span(13, 17),)))
    top = found["parts"][0]["supporters"][0]
    assert top["score"] == pytest.approx(own.supporters[0].score)
    assert "'colour', which is no column" in refused(*question, "--method", "pinpoint, colour=red")
    assert "'mean' is not known" in refused(*question, "--method", "pinpoint, scale=mean")
    twice = refused(*question, "--method", "if++, curvature=cg", "--curvature", "ggn")
    assert "curvature is chosen twice" in twice


def test_curvature_without_a_method_is_a_row_of_its_own(spanfluence_, run_folder):
    question = ("explain", run_folder, "--text", TEXT, "--json", "--curvature", "ggn")
    code, out, _ = spanfluence_(*question)
    assert code == 0
    alone = json.loads(out)
    assert alone["settings"]["target"] == "loss"
    assert alone["method"] == "row with curvature=ggn"
    code, out, _ = spanfluence_(*question, "--method", "if++")
    assert code == 0
    assert json.loads(out)["parts"] == alone["parts"]
    code, out, _ = spanfluence_(*question, "--method", "pinpoint")
    assert code == 0
    assert json.loads(out)["settings"]["target"] == "logit"


def test_a_model_of_ones_own_with_its_training_file(spanfluence_, refused, files, tiny_folder):
    model = tiny_folder("roberta")
    assert refused("explain", model, "--text", TEXT) == (
        f"{model} is not a run, so its training examples are unknown: name them with --train"
    )
    code, out, err = spanfluence_(
        "explain", model, "--train", files / "train.jsonl", "--text", TEXT, "--json",
        "--attribute", "head", "--seed", "5",
    )  # fmt: skip
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["train_units"] == sum(len(example.spans) for example in TRAIN)
    assert found["settings"]["seed"] == 5
    assert "no checkpoints in" in refused(
        "explain", model, "--train", files / "train.jsonl", "--text", TEXT, "--method", "tracin"
    )


def test_other_training_examples_for_a_run(spanfluence_, run_folder, files):
    code, out, _ = spanfluence_(
        "explain",
        run_folder,
        "--train",
        files / "dev.jsonl",
        "--text",
        TEXT,
        "--json",
        "--top",
        "1",
    )
    assert code == 0
    assert json.loads(out)["parts"][0]["supporters"][0]["id"] in {e.id for e in DEV}


def test_memory_and_damping(spanfluence_, refused, run_folder, few_steps):
    question = ("explain", run_folder, "--text", TEXT)
    code, out, _ = spanfluence_(*question, "--method", "if", "--damping", "7", "--json")
    assert code == 0
    assert json.loads(out)["settings"]["damping"] == 7.0
    assert "has no meaning without curvature" in refused(*question, "--damping", "7")
    assert "more than the budget of 10 KB" in refused(*question, "--memory", "10KB")
    assert refused(*question, "--memory", "10KB").startswith("one test needs ")


def test_a_warning_is_one_line_without_a_place_in_the_code(run_folder):
    command = ["spanfluence", "explain", str(run_folder), "--text", TEXT, "--method", "if"]
    script = (
        "import sys\n"
        "from spanfluence.cli import main\n"
        "from spanfluence.curvature import lissa\n"
        "lissa.OFTEN, lissa.WINDOW = -1.0, 1\n"  # warns, and soon, whatever the steps were like
        f"sys.argv = {command!r}\n"
        "main()\n"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert re.fullmatch(r"warning: LiSSA needed its clamp of 100 in .*\n", process.stderr)


# --- bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ((), "give either --text or --file"),
        (("--text", "x", "--file", "y.jsonl"), "give either --text or --file"),
        (("--file", "y.jsonl", "--span", "x"), "--context and --span go with --text"),
        (("--file", "y.jsonl", "--context", "x"), "--context and --span go with --text"),
        (("--file", "y.jsonl"), "y.jsonl: no such file: check the path"),
        (("--text", "  "), "text is empty: remove the row or give it a text"),
        (("--text", TEXT, "--span", "salad"), "span 'salad' does not occur in the text"),
        (("--text", TEXT, "--span", "was"), "span 'was' occurs 2 times in the text"),
        (("--text", TEXT, "--span", "40:90"), "span [40, 90) reaches outside the text of 47 char"),
        (("--text", TEXT, "--span", "4:4"), "span [4, 4) is empty"),
        (("--text", "jalapen\u0303o", "--span", "0:7"), "span [0, 7) cuts a character in two"),
        (
            ("--text", "cold   soup", "--span", "4:7"),
            "span [4, 7) '   ' of example None touches no",
        ),
        (
            ("--text", "cold soup " * 60, "--span", "590:594"),
            "span [590, 594) 'cold' of example None lies beyond the 64 tokens the model reads",
        ),
        (
            ("--text", "soup", "--context", "the waiter " * 60),
            "cannot fit context and text into 64 tokens",
        ),
        (("--text", "bad byte \udcff"), "the tokenizer cannot read the texts"),
        (("--text", TEXT, "--method", "nearest"), "no method 'nearest': use 'if', 'if+'"),
        (("--text", TEXT, "--top", "0"), "top_k=0 must be at least 1"),
        (
            ("--text", TEXT, "--label", "gold"),
            "--label 'gold' is not known: use predicted, given, or a label of the model: negative, ",
        ),
        (
            ("--text", TEXT, "--label", "given"),
            "--label given needs a --file with labels: with --text name the label",
        ),
        (("--text", TEXT, "--sign", "plus"), "sign='plus' is not known"),
        (("--text", TEXT, "--memory", "lots"), "'lots' is not a size: write it like 4GB"),
        (("--text", TEXT, "--memory", "inf"), "'inf' is not a size: write it like 4GB"),
        (("--text", TEXT, "--device", "gpu"), "device='gpu' cannot be used here"),
        (("--text", TEXT, "--attribute", "layer.9"), "attribute='layer.9' matches no parameter"),
        (("--text", TEXT, "--train", "none.csv"), "none.csv: no such file: check the path"),
        (
            ("--text", TEXT, "--method", "if", "--damping", "-1"),
            "Lissa(damping=-1.0",
        ),
        (
            ("--text", TEXT, "--method", "tracin", "--attribute", "head"),
            "the point and the model attribute different parameters",
        ),
    ],
)
def test_questions_that_cannot_be_answered(refused, run_folder, extra, says):
    assert refused("explain", run_folder, *extra).startswith(says)


def test_a_page_in_a_folder_that_is_not_there(refused, run_folder, tmp_path):
    """Said before any work: nothing is printed."""
    page = tmp_path / "no" / "page.html"
    assert refused("explain", run_folder, "--text", TEXT, "--html", page) == (
        f"{page}: its folder {page.parent} does not exist: make it first"
    )


def spoilt_models(tiny_folder, tmp_path):
    """(a folder that is no usable model, what the error says of it)."""
    bert = tiny_folder("bert")
    (tmp_path / "empty").mkdir()
    yield tmp_path / "empty", "is not a model folder: it has no config.json"
    yield bert / "config.json", "is a file: give the folder that holds config.json"
    yield tmp_path / "nowhere", "give a folder with a model, or a hub name"
    pickled = Path(shutil.copytree(bert, tmp_path / "pickled"))
    torch.save(load_file(bert / "model.safetensors"), pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    yield pickled, "holds its weights only as a pickle (pytorch_model.bin)"
    nan = Path(shutil.copytree(bert, tmp_path / "nan"))
    weights = load_file(bert / "model.safetensors")
    weights["classifier.weight"][0, 0] = float("nan")
    save_file(weights, nan / "model.safetensors", metadata={"format": "pt"})
    yield nan, "weight classifier.weight holds NaN or infinite values"


def test_models_that_cannot_be_used(refused, tiny_folder, files, tmp_path):
    train = files / "train.jsonl"
    for model, says in spoilt_models(tiny_folder, tmp_path):
        assert says in refused("explain", model, "--train", train, "--text", TEXT)
        assert says in refused("train", train, "--base", model, "--out", tmp_path / "run")
        assert not (tmp_path / "run").exists(), "nothing half-written"


def test_a_model_without_mask_token(spanfluence_, refused, files, tmp_path):
    model = tiny.make_tiny(tmp_path / "model", "bert", mask_token=False)
    question = ("explain", model, "--train", files / "train.jsonl", "--text", TEXT)
    message = refused(*question, "--span", "cold")
    assert "has no mask token" in message
    assert "mask_mode='attention'" in message
    code, out, _ = spanfluence_(*question, "--method", "tracinf", "--json")
    assert code == 0
    assert json.loads(out)["method"] == "tracinf"


ROW = {"text": "cold soup", "label": "negative"}
OTHER = {"text": "great wine", "label": "positive"}


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "the file is empty"),
        ([{"txt": "x", "label": "a"}], "no column 'text': the columns are 'txt', 'label'"),
        ([ROW, {**OTHER, "label": None}], "training example '2' has no label"),
        ([ROW, ROW | {"text": "hot"}], "the training set knows only the label 'negative'"),
        ([ROW, {**OTHER, "spans": [[3, 99]]}], "span [3, 99) reaches outside the text"),
        ([ROW, {**OTHER, "spans": [[3, 3]]}], "span [3, 3) is empty"),
        ([ROW, {**OTHER, "spans": [[-1, 3]]}], "span start -1 is negative"),
        ([ROW, {"text": "n\u0303o", "label": "a", "spans": [[0, 1]]}], "cuts a character in two"),
        ([ROW, {**OTHER, "text": " "}], "text is empty"),
        ([{**ROW, "id": "a"}, {**OTHER, "id": "a"}], "id 'a' is also the id of"),
        ([ROW, {**OTHER, "label": 1}], "use names everywhere or numbers everywhere"),
    ],
)
def test_training_files_that_cannot_be_used(refused, tiny_folder, tmp_path, rows, says):
    data = tmp_path / "train.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    message = refused("train", data, "--base", tiny_folder("bert"), "--out", tmp_path / "run")
    assert says in message
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        (("--lr", "0"), "learning_rate=0.0 must be positive"),
        (("--lr", "nan"), "learning_rate=nan must be positive"),
        (("--weight-decay", "-1"), "weight_decay=-1.0 must not be negative"),
        (("--epochs", "0"), "epochs=0 must be positive"),
        (("--schedule", "cosine"), "schedule='cosine' is not known"),
        (("--max-length", "9999"), "max_length=9999 is not usable: choose 4 to 64 tokens"),
        (("--attribute", "last-0"), "attribute='last-0' names no block: use 'head'"),
        (("--text-column", "review"), "no column 'review'"),
    ],
)
def test_settings_that_cannot_be(refused, files, tiny_folder, tmp_path, extra, says):
    arguments = ("train", files / "train.jsonl", "--base", tiny_folder("bert"))
    message = refused(*arguments, "--out", tmp_path / "run", *extra)
    assert says in message
    assert not (tmp_path / "run").exists()


def test_unknown_labels(refused, run_folder, files, tiny_folder, tmp_path):
    save_examples([Example("x", "angry", id="d")], tmp_path / "dev.jsonl")
    arguments = ("train", files / "train.jsonl", "--base", tiny_folder("bert"))
    assert "dev example 'd' has the label 'angry', which no training example has" in refused(
        *arguments, "--out", tmp_path / "run", "--dev", tmp_path / "dev.jsonl"
    )
    assert not (tmp_path / "run").exists()
    question = ("explain", run_folder, "--train", tmp_path / "dev.jsonl", "--text", TEXT)
    assert "the label 'angry', which the model does not know" in refused(*question)


def test_a_run_that_was_killed_or_spoilt(refused, run_folder, tmp_path):
    run = Path(shutil.copytree(run_folder, tmp_path / "run"))
    (run / "run.json").write_text("{")
    assert f"{run / 'run.json'}:1: not valid JSON" in refused("explain", run, "--text", TEXT)
    shutil.copy(run_folder / "run.json", run / "run.json")
    shutil.rmtree(run / "model")
    assert refused("explain", run, "--text", TEXT) == (
        f"the training in {run} did not finish: run 'spanfluence train' again with --resume"
    )


def test_a_run_with_a_damaged_record_or_checkpoint(refused, run_folder, tmp_path):
    run = Path(shutil.copytree(run_folder, tmp_path / "run"))
    record = json.loads((run / "run.json").read_text())
    for settings in (None, {}, {"attribute": "last-2"}):
        (run / "run.json").write_text(json.dumps({**record, "settings": settings}))
        message = refused("explain", run, "--text", TEXT)
        assert message.startswith(f"{run / 'run.json'} does not tell the training's ")
        assert "train again, or give" in message
    (run / "run.json").write_text(json.dumps(record))
    folder = run / "checkpoints" / f"epoch-{record['selected_epoch']:03d}"
    question = ("explain", run, "--text", TEXT, "--method", "tracin")
    (folder / "point.json").write_text("{}")
    assert refused(*question).startswith(
        f"{folder / 'point.json'} tells no learning_rate: it is dam"
    )
    shutil.copy(run_folder / "checkpoints" / "epoch-003" / "point.json", folder / "point.json")
    with (folder / "point.safetensors").open("r+b") as file:
        file.truncate(100)
    message = refused(*question)
    assert message.startswith(f"{folder / 'point.safetensors'} cannot be read (")
    assert f"remove the folder {folder} to go on without this epoch, or train again" in message


def test_a_name_that_is_neither_folder_nor_hub_model(refused):
    message = refused("explain", "nofolder", "--text", TEXT)
    assert message.startswith("there is no folder nofolder, and the hub could not be reached (")


def test_a_run_into_a_file(refused, files, tiny_folder, tmp_path):
    (tmp_path / "run").write_text("mine")
    for out in (tmp_path / "run", tmp_path / "run" / "below"):
        arguments = ("train", files / "train.jsonl", "--base", tiny_folder("bert"), "--out", out)
        assert refused(*arguments) == f"{tmp_path / 'run'} is a file: give a new folder for --out"
    assert (tmp_path / "run").read_text() == "mine"


# --- demo --------------------------------------------------------------------------------------------


def test_the_demo_prints_both_answers_and_what_to_try_next(
    spanfluence_, monkeypatch, run_folder, tmp_path
):
    """The command around the story; the story itself is told in test_demo."""
    explainer = open_explainer(str(run_folder))
    good, error = explainer.explain_all([DEV[0], DEV[1]], 3)
    asked, opened = [], []

    def story(out, *, show_progress):
        asked.append((out, out.is_dir(), show_progress))
        return Demo(out / "run", out / "report.html", 0.875, good, error, error, {})

    monkeypatch.setattr("spanfluence.demo.run_demo", story)
    monkeypatch.setattr("typer.launch", opened.append)
    code, out, err = spanfluence_("demo", "--out", tmp_path / "new" / "demo")
    assert (code, err) == (0, "")
    assert asked == [(tmp_path / "new" / "demo", True, True)]
    assert out.startswith("Dev accuracy 87.5%.")
    assert "pinpoint, 3 strongest supporters: planted 0, decoys 0." in out
    assert f"Report: {tmp_path / 'new' / 'demo' / 'report.html'}" in out
    assert f"spanfluence explain {tmp_path / 'new' / 'demo' / 'run'} --context waiter" in out
    assert opened == []
    assert spanfluence_("demo", "--out", tmp_path, "--open")[0] == 0
    assert opened == [str(tmp_path / "report.html")]


# --- data fetch --------------------------------------------------------------------------------------


def test_fetching_wrong_files(refused, tmp_path):
    (tmp_path / "source").mkdir()
    message = refused(
        "data", "fetch", "mams", "--to", tmp_path / "to", "--from", tmp_path / "source"
    )
    assert "in this folder: put it there" in message
    names = re.findall(r"no file '([^']+)'", message)
    (tmp_path / "source" / names[0]).write_bytes(b"something else")
    message = refused(
        "data", "fetch", "mams", "--to", tmp_path / "to", "--from", tmp_path / "source"
    )
    assert f"{tmp_path / 'source' / names[0]}: ended after 14 of" in message
    assert not (tmp_path / "to").exists()
    assert refused("data", "fetch", "imdb", "--to", tmp_path / "to") == (
        "no data set 'imdb' to fetch: choose mams or sentihood"
    )


def test_fetching_from_a_folder(spanfluence_, monkeypatch, tmp_path):
    content = b"<sentences/>"
    file = PublicFile("raw/small.xml", len(content), hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(DATASETS, "small", PublicDataset("owner/name", "commit", (file,)))
    (tmp_path / "small.xml").write_bytes(content)
    target = tmp_path / "to" / "small.xml"
    arguments = ("data", "fetch", "small", "--to", tmp_path / "to", "--from", tmp_path)
    assert spanfluence_(*arguments) == (0, f"copied: {target}\n", "")
    assert target.read_bytes() == content
    assert spanfluence_(*arguments) == (0, f"already there: {target}\n", "")


# --- the entry point itself --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (
            OSError(28, "No space left on device", "/full/disk"),
            2,
            "No space left on device: /full/disk",
        ),
        (InputError("two\nlines"), 2, "two lines"),
        (KeyError("x"), 1, "internal error, KeyError: 'x' (SPANFLUENCE_DEBUG=1 shows where)"),
    ],
)
def test_what_goes_wrong_inside(spanfluence_, monkeypatch, error, code, says):
    def fail(*_, **__):
        raise error

    monkeypatch.delenv("SPANFLUENCE_DEBUG", raising=False)
    monkeypatch.setattr("spanfluence.session.open_explainer", fail)
    assert spanfluence_("explain", "run", "--text", TEXT) == (code, "", f"error: {says}\n")


def test_debugging_shows_the_traceback(spanfluence_, monkeypatch):
    def fail(*_, **__):
        raise KeyError("x")

    monkeypatch.setenv("SPANFLUENCE_DEBUG", "1")
    monkeypatch.setattr("spanfluence.session.open_explainer", fail)
    with pytest.raises(KeyError):
        spanfluence_("explain", "run", "--text", TEXT)


def test_an_interrupted_command(spanfluence_, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("spanfluence.session.open_explainer", interrupt)
    code, out, err = spanfluence_("explain", "run", "--text", TEXT)
    assert code == 130
    assert out == ""
    assert err.startswith("error: interrupted; what was finished is kept")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 10**9), ("512 MB", 512 * 10**6), ("1.5GiB", 3 * 2**29), ("7", 7), ("2kib", 2048),
     (" 10 b ", 10)],
)  # fmt: skip
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "4TB", "four", "4 GB 2", "nan", "inf", "1e999"])
def test_what_is_no_size(text):
    with pytest.raises(InputError, match="is not a size: write it like 4GB or 512MB"):
        parse_size(text)


@pytest.mark.parametrize("text", ["0", "-4GB", "0.0001"])
def test_sizes_that_hold_nothing(text):
    with pytest.raises(InputError, match="is not a size: it must be positive"):
        parse_size(text)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_a_terminal_only(monkeypatch):
    for stream, shown in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_bar("reading", 3, show=True) as advance:
            advance(2)
        assert ("reading" in stream.getvalue()) is shown
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar("reading", 3, show=False) as advance:
        advance(3)
    assert sys.stderr.getvalue() == ""


def test_the_command_is_installed():
    command = Path(sys.executable).with_name("spanfluence")
    process = subprocess.run([command, "--version"], capture_output=True, text=True)
    assert process.stdout == f"spanfluence {spanfluence.__version__}\n"
