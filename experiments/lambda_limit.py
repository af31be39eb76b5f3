"""As lambda grows, `if++` tends to `tracin++` at the final point: rank correlation against lambda.

    python experiments/lambda_limit.py                 # the bundled corpus and a newly trained MiniLM
    python experiments/lambda_limit.py --run demo/run  # or a trained one

(C + lambda I)^-1 v = v / lambda up to terms of the order |C| / lambda, so that the order of the training spans
becomes that of the plain inner products. The figure shows how large lambda must be, in the curvature's own units:
its mean and its largest eigenvalue are marked. Writes docs/lambda.png and experiments/results/lambda_limit.csv.
"""

from __future__ import annotations

import argparse
import csv
import io
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

from spanfluence import Example, Explainer, TextClassifier, train_classifier
from spanfluence.curvature import Operator
from spanfluence.curvature.ggn import Ggn, GgnOperator
from spanfluence.data.bundled import bundled_examples
from spanfluence.demo import SETTINGS
from spanfluence.files import atomic_write, write_text_atomic
from spanfluence.rng import numpy_generator

HERE = Path(__file__).parent
LAMBDAS = np.logspace(-8, 4, 25)
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#555555"  # of the Okabe-Ito palette


@dataclass(frozen=True)
class Found:
    """Rank correlation per test (columns) at each lambda (rows), and the curvature's eigenvalues."""

    lambdas: np.ndarray
    correlations: np.ndarray
    mean_eigenvalue: float
    largest_eigenvalue: float


def one_span(examples: Sequence[Example], count: int, seed: int, purpose: str) -> list[Example]:
    """A random sample of the examples that have a span."""
    marked = [example for example in examples if example.spans]
    order = numpy_generator(seed, purpose).permutation(len(marked))[:count]
    return [marked[index] for index in order.tolist()]


def measure(
    classifier: TextClassifier,
    train: list[Example],
    tests: list[Example],
    lambdas: np.ndarray,
    sample: int,
) -> Found:
    """`if++` at each lambda against `faithful`, over the same training spans."""
    faithful = Explainer(classifier, train, "faithful", label="given")
    plain = faithful.scores(tests)
    rows = []
    for damping in lambdas.tolist():
        curved = faithful.also("if++", curvature=Ggn(damping=damping, sample=sample))
        scores = curved.scores(tests)
        rows.append([spearmanr(a, b).statistic for a, b in zip(scores, plain, strict=True)])
        print(f"lambda {damping:.1e}: mean rank correlation {np.mean(rows[-1]):.4f}", flush=True)
    mean, largest = eigenvalues(curved._operators()[0], classifier)
    return Found(lambdas, np.array(rows), mean, largest)


def eigenvalues(operator: Operator | None, classifier: TextClassifier) -> tuple[float, float]:
    """(mean over all parameters, largest) of the Gauss-Newton matrix."""
    assert isinstance(operator, GgnOperator)
    rows = operator.rows
    size = sum(parameter.numel() for parameter in classifier.attributed.values())
    return rows.trace() / size, float(torch.linalg.eigvalsh(rows.gram())[-1]) / rows.instances


def write_csv(found: Found, path: Path) -> None:
    """One row per lambda."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["lambda", "mean_rank_correlation", "lowest", "highest", "tests"])
    for damping, row in zip(found.lambdas, found.correlations, strict=True):
        figures = [f"{value:.6f}" for value in (row.mean(), row.min(), row.max())]
        writer.writerow([f"{damping:.6g}", *figures, len(row)])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomic(path, out.getvalue())


def draw(found: Found, path: Path) -> None:
    """Mean over tests with the range of single tests; lambda on a log axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axis = figure.subplots()
    low, high = found.correlations.min(1), found.correlations.max(1)
    axis.fill_between(found.lambdas, low, high, color=BLUE, alpha=0.2, lw=0, label="single tests")
    axis.plot(found.lambdas, found.correlations.mean(1), color=BLUE, marker="o", ms=3, label="mean")
    marks = {
        "mean eigenvalue": found.mean_eigenvalue,
        "largest eigenvalue": found.largest_eigenvalue,
    }
    for (name, value), colour in zip(marks.items(), (GREY, ORANGE), strict=True):
        axis.axvline(value, color=colour, ls="--", lw=1, label=f"{name} ({value:.1e})")
    axis.set_xscale("log")
    depth = max(1.0 - float(low.min()), 0.01)
    axis.set_ylim(1.0 - 1.06 * depth, 1.0 + 0.06 * depth)
    axis.set_xlabel("lambda (absolute damping of the Gauss-Newton curvature)")
    axis.set_ylabel("rank correlation with faithful")
    axis.set_title("if++ tends to tracin++ at the final point as lambda grows", fontsize=10)
    axis.legend(fontsize=8, framealpha=1.0, edgecolor="none", loc="best")
    axis.spines[["top", "right"]].set_visible(False)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)


def loaded(run: Path | None, scratch: Path, examples: int | None, seed: int) -> TextClassifier:
    """The model of a run, or MiniLM fine-tuned as in the demo."""
    if run is not None:
        return TextClassifier.load(run)
    train = bundled_examples("train")[:examples]
    print(f"training MiniLM on {len(train)} rows of the bundled corpus ...", flush=True)
    dev = bundled_examples("dev")
    return train_classifier(train, dev, base="minilm", out=scratch / "run", seed=seed, **SETTINGS)


def main() -> None:
    """Read the command line, measure, write."""
    parser = argparse.ArgumentParser(
        description="Rank correlation of if++ with faithful by lambda."
    )
    parser.add_argument("--run", type=Path, help="a run folder; default: train as the demo does")
    parser.add_argument("--tests", type=int, default=32)
    parser.add_argument("--spans", type=int, default=400)
    parser.add_argument("--sample", type=int, default=256, help="curvature sample")
    parser.add_argument("--lambdas", type=int, default=len(LAMBDAS), help="how many of the range")
    parser.add_argument("--train-examples", type=int, help="rows to train on; default all")
    parser.add_argument("--threads", type=int, help="threads of torch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", type=Path, default=HERE.parent / "docs" / "lambda.png")
    parser.add_argument("--csv", type=Path, default=HERE / "results" / "lambda_limit.csv")
    asked = parser.parse_args()
    if asked.threads:
        torch.set_num_threads(asked.threads)
    lambdas = np.logspace(np.log10(LAMBDAS[0]), np.log10(LAMBDAS[-1]), asked.lambdas)
    train = one_span(bundled_examples("train"), asked.spans, asked.seed, "train")
    tests = one_span(bundled_examples("test"), asked.tests, asked.seed, "test")
    with tempfile.TemporaryDirectory() as scratch:
        classifier = loaded(asked.run, Path(scratch), asked.train_examples, asked.seed)
        found = measure(classifier, train, tests, lambdas, asked.sample)
    write_csv(found, asked.csv)
    draw(found, asked.figure)


if __name__ == "__main__":
    main()
