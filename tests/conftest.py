"""Fixtures shared by all tests: tiny classifiers, built once per session."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import pytest
import tiny
import torch

from spanfluence import TextClassifier, cli

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing here may reach for the network
torch.set_num_threads(1)  # tiny models: threads only wait for each other


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """A function: architecture name -> folder of a tiny classifier."""
    made: dict[str, Path] = {}

    def build(architecture: str) -> Path:
        if architecture not in made:
            folder = tmp_path_factory.mktemp("tiny") / architecture
            made[architecture] = tiny.make_tiny(folder, architecture)
        return made[architecture]

    return build


@pytest.fixture
def classifier(tiny_folder) -> TextClassifier:
    return TextClassifier.load(tiny_folder("bert"))


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def spanfluence_(monkeypatch, capsys):
    """A function: arguments of `spanfluence` -> (exit code, standard output, standard error)."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # set back at the end

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["spanfluence", *map(str, arguments)])
        capsys.readouterr()
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return run
