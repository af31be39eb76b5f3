"""The commands audit, evaluate and reproduce: what they print and write, and bad input in one line."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import tiny

from spanfluence import train_classifier
from spanfluence.data import save_examples
from spanfluence.spans.embedding import SentenceEncoder

TRAIN = tiny.make_examples(20, seed=1)
DEV = tiny.make_examples(12, seed=2)


@pytest.fixture(scope="module")
def run_folder(tiny_folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("cli-evaluation") / "run"
    train_classifier(TRAIN, DEV, base=tiny_folder("bert"), out=out, epochs=2, batch_size=10)
    return out


@pytest.fixture
def dev(tmp_path):
    save_examples(DEV, tmp_path / "dev.jsonl")
    return tmp_path / "dev.jsonl"


@pytest.mark.parametrize("name", ["audit", "evaluate", "reproduce"])
def test_help(spanfluence_, name):
    code, out, err = spanfluence_(name, "--help")
    assert (code, err) == (0, "")
    assert "Usage: spanfluence" in out
    assert name in out


def test_audit(spanfluence_, run_folder, dev, tmp_path):
    code, out, err = spanfluence_(
        "audit", run_folder, "--dev", dev, "--out", tmp_path / "out", "--top", 3
    )
    assert code == 0, err
    assert "Phrases behind the errors" in out
    assert "Suspected labels" in out
    assert (tmp_path / "out" / "audit.html").is_file()
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (record["format"], record["seed"]) == ("spanfluence.audit/1", 0)
    assert record["settings"]["top"] == 3 and "torch" in record["versions"]
    assert err.count("wrote ") == 6
    code, out, err = spanfluence_("audit", run_folder, "--dev", dev, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert err == f"error: {tmp_path / 'out'} is not empty: choose a new folder for --out\n"
    code, _, err = spanfluence_("audit", run_folder, "--dev", dev, "--out", dev)
    assert (code, err) == (2, f"error: {dev} is a file: give a new folder for --out\n")


def test_audit_as_json(spanfluence_, run_folder, dev):
    code, out, _ = spanfluence_("audit", run_folder, "--dev", dev, "--json")
    assert code == 0
    assert json.loads(out)["format"] == "spanfluence.audit/1"


def test_audit_with_columns_and_a_way_of_masking(spanfluence_, run_folder, tmp_path):
    data = tmp_path / "dev.csv"
    data.write_text("\n".join(["body,stars", *(f'"{e.text}",{e.label}' for e in DEV)]))
    named = ("--text-column", "body", "--label-column", "stars")
    code, out, err = spanfluence_(
        "audit",
        run_folder,
        "--dev",
        data,
        "--train",
        data,
        *named,
        "--mask-mode",
        "delete",
        "--json",
    )
    assert code == 0, err
    found = json.loads(out)
    assert (found["examined"], found["train_units"], found["mask"]) == (
        len(DEV),
        len(DEV),
        "delete",
    )


@pytest.mark.parametrize("column", ["label", "stars"])
def test_evaluate(spanfluence_, run_folder, dev, tmp_path, monkeypatch, column):
    def embed(texts):
        return np.array([[len(text), 1.0] for text in texts])

    monkeypatch.setattr(SentenceEncoder, "load", lambda: SimpleNamespace(embed=embed))
    out, tests = tmp_path / "evaluation", tmp_path / "tests.jsonl"
    tests.write_text(dev.read_text().replace('"label"', f'"{column}"'))
    options = ["--stages", "sanity", "--methods", "pinpoint", "--quick", "--out", out]
    options += ["--label-column", column]
    code, printed, err = spanfluence_("evaluate", run_folder, "--tests", tests, *options)
    assert code == 0, err
    assert printed.endswith(f"Tables and figures: {out / 'EVALUATION.md'}\n")
    assert (out / "tables" / "sanity.csv").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "RUN", "--tests", "DEV", "--stages", "x"], "no stage 'x': use agreement"),
        (["evaluate", "RUN", "--tests", "DEV", "--methods", "x"], "no method 'x' to evaluate"),
        (["evaluate", "NONE", "--tests", "DEV"], "is not a run"),
        (["doctor", "RUN", "--label-column", "stars"], "names a column of --file or --train"),
        (["audit", "RUN", "--dev", "NONE"], "no such file"),
        (["audit", "RUN", "--dev", "DEV", "--top", "0"], "top=0 must be at least 1"),
        (["reproduce", "imdb", "--data", "NONE", "--out", "OUT"], "use mams or sentihood"),
        (["reproduce", "mams", "--data", "NONE", "--out", "OUT"], "data fetch mams --to"),
        (["reproduce", "mams", "--data", "NONE", "--out", "OUT", "--stages", "x"], "no stage 'x'"),
        (
            ["reproduce", "mams", "--data", "NONE", "--out", "OUT", "--retrain-precision", "int8"],
            "precision='int8' is not known: use float32 or bfloat16",
        ),
        (
            ["evaluate", "NONE", "--tests", "DEV", "--retrain-precision", "int8"],
            "precision='int8' is not known: use float32 or bfloat16",
        ),
    ],
)
def test_bad_input(spanfluence_, run_folder, dev, tmp_path, arguments, message):
    places = {"RUN": run_folder, "DEV": dev, "NONE": tmp_path / "none", "OUT": tmp_path / "out"}
    code, out, err = spanfluence_(*(places.get(each, each) for each in arguments))
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
