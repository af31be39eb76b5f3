"""Figures as PNG files: labelled, colour-blind safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spanfluence.files import atomic_write

BLUE, ORANGE = "#0072b2", "#d55e00"  # of the Okabe-Ito palette


def training_curve(history: Sequence[Mapping[str, Any]], selected: int, path: Path) -> None:
    """Training loss and dev accuracy by epoch, with the selected epoch marked."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    epochs = [row["epoch"] for row in history]
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    left = figure.subplots()
    left.plot(epochs, [row["train_loss"] for row in history], color=BLUE, marker="o", ms=4)
    left.set_xlabel("epoch")
    left.set_ylabel("training loss", color=BLUE)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.set_ylim(bottom=0)
    if history[-1]["dev_accuracy"] is not None:
        right = left.twinx()
        accuracy = [100 * row["dev_accuracy"] for row in history]
        right.plot(epochs, accuracy, color=ORANGE, marker="s", ms=4, ls="--")
        right.set_ylabel("dev accuracy (%)", color=ORANGE)
        best = accuracy[epochs.index(selected)]
        right.annotate(
            f"selected: epoch {selected}, {best:.1f} %",
            (selected, best),
            textcoords="offset points",
            xytext=(0, -16),
            ha="center",
            fontsize=8,
        )
    left.spines["top"].set_visible(False)
    left.set_title("Fine-tuning", fontsize=10)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
