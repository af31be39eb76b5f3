"""The doctor: facts that are true, and costs that hold."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import tiny

from spanfluence import Explainer, TextClassifier, __version__
from spanfluence.doctor import EXTRAS, duration, facts, job_cost
from spanfluence.errors import InputError
from spanfluence.jobs import size


@pytest.fixture(scope="module")
def classifier(tiny_folder):
    return TextClassifier.load(tiny_folder("bert"))


def test_facts_name_versions_devices_and_extras():
    found = facts()
    assert found["spanfluence"] == __version__
    assert found["torch"].startswith("2.")
    assert "cpu" in found["devices"]
    assert "datasets" in found["extras"]
    assert "evaluate" in found["extras"]
    assert found["matrix products"].endswith("GFLOP/s (float32, cpu)")


def test_every_extra_for_users_is_looked_for():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"]) - {"dev"}


def test_a_cost_is_counted_from_the_job(classifier):
    train = tiny.make_examples(20, seed=1)
    explainer = Explainer(classifier, train, "tracin++")
    size_of_one = 4 * sum(p.numel() for p in classifier.attributed.values())
    explainer.memory_bytes = 4 * size_of_one
    cost = job_cost(explainer, 10)
    assert cost.train_units == len(explainer.train_units)
    assert cost.points == 3
    assert cost.blocks == 3  # four tests at a time
    texts = classifier.encoder.encode(train)
    spans = [max(1, len(example.spans)) for example in train]
    tokens = sum(len(text) * (1 + count) for text, count in zip(texts, spans, strict=True))
    assert cost.disk_bytes == tokens * classifier.model.config.hidden_size * 4
    assert cost.seconds > 0
    assert "3 passes (raise --memory for fewer)" in cost.rows()["passes over the training set"]


def test_what_costs_memory(classifier):
    train = tiny.make_examples(20, seed=1)
    one, three = (Explainer(classifier, train, method) for method in ("faithful", "tracin++"))
    assert job_cost(one, 1).memory_bytes < job_cost(one, 5000).memory_bytes
    # Of points that follow each other only one is in memory, of those taken together the rows of a batch each.
    # (What the process held before may have grown a little.)
    memory = job_cost(one, 5000).memory_bytes
    follow = three.also("tracin++", scale="cosine")
    assert job_cost(follow, 5000).memory_bytes == pytest.approx(memory, rel=0.01)
    assert memory < job_cost(three, 5000).memory_bytes < 1.2 * memory
    solved = Explainer(classifier, train, "if++", curvature="ggn")
    assert job_cost(one, 100).memory_bytes < job_cost(solved, 100).memory_bytes


def test_no_tests_is_an_error(classifier):
    explainer = Explainer(classifier, tiny.make_examples(4, seed=1))
    with pytest.raises(InputError, match="tests=0 must be at least 1"):
        job_cost(explainer, 0)


MEASURE = """
import json, resource, sys
import torch
torch.set_num_threads(1)
from spanfluence import Example, Explainer, TextClassifier
from spanfluence.doctor import job_cost
classifier = TextClassifier.load(sys.argv[1])
texts = [f"soup number {i} was cold and thin and so was the bread that came with it" for i in range(600)]
train = [Example(t, classifier.labels[i % 2], spans=((0, 4),)) for i, t in enumerate(texts)]
explainer = Explainer(classifier, train, "faithful", label="given")
tests = [Example(e.text, e.label, spans=e.spans, id=str(i)) for i, e in enumerate(train[:400])]
stated = job_cost(explainer, len(tests)).memory_bytes
explainer.scores(tests)
print(json.dumps([stated, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory as Linux gives it")
def test_the_stated_memory_holds(tiny_folder):
    command = [sys.executable, "-c", MEASURE, str(tiny_folder("bert"))]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    stated, used = json.loads(found.stdout.splitlines()[-1])
    assert used <= stated <= 1.5 * used


def test_numbers_as_a_person_reads_them():
    assert [size(n) for n in (12, 1200, 3.4e6, 2e9, 5e12)] == [
        "12 B", "1.2 KB", "3.4 MB", "2 GB", "5 TB"
    ]  # fmt: skip
    assert duration(0.2) == "about 1 s"
    assert duration(200) == "about 3 min"
