"""kronfluence: exact inner products by its identity strategy, and its EK-FAC."""

from __future__ import annotations

import copy
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from kronfluence.analyzer import Analyzer, prepare_model
from kronfluence.arguments import FactorArguments, ScoreArguments
from kronfluence.task import Task
from kronfluence.utils.dataset import DataLoaderKwargs
from torch import Tensor, nn
from torch.utils.data import Dataset
from workload import Workload, by_length, linear_layers, of_differences

from spanfluence import TextClassifier
from spanfluence.encoding import Encoded

Text = tuple[Encoded, int]


class Texts(Dataset):  # type: ignore[type-arg]
    """Texts with their labels."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> Text:
        return self.texts[index]


class Classification(Task):
    """Summed cross-entropy of the given labels, over the attributed linear layers."""

    def __init__(self, layers: Sequence[str]) -> None:
        self.layers = list(layers)

    def compute_train_loss(
        self, batch: dict[str, Tensor], model: nn.Module, sample: bool = False
    ) -> Tensor:
        """Summed over the batch; `sample` is never asked for by the identity strategy."""
        inputs = {name: values for name, values in batch.items() if name != "labels"}
        logits = model(**inputs).logits
        return nn.functional.cross_entropy(logits, batch["labels"], reduction="sum")

    def compute_measurement(self, batch: dict[str, Tensor], model: nn.Module) -> Tensor:
        """The same loss."""
        return self.compute_train_loss(batch, model)

    def get_influence_tracked_modules(self) -> list[str]:
        """The attributed linear layers."""
        return self.layers

    def get_attention_mask(self, batch: dict[str, Tensor]) -> Tensor:
        """Padding is left out of the factors."""
        return batch["attention_mask"]


def identity_scores(work: Workload, batch_size: int) -> np.ndarray:
    """Span scores summed over the points: all texts of both sides, then differences of products."""
    layers = linear_layers(work.linear)
    queries, train = work.test_texts(), work.train_texts()
    total = np.zeros((len(queries) // 2, len(train) // 2))
    for point in work.points:
        with work.linear.at(point.parameters):
            model = copy.deepcopy(work.linear.model)
        task = Classification(layers)
        raw = pairwise(model, task, work.linear, queries, train, batch_size, "identity")
        total += point.weight * of_differences(raw)
    return total


def pairwise(
    model: nn.Module,
    task: Task,
    classifier: TextClassifier,
    queries: Sequence[Text],
    train: Sequence[Text],
    batch_size: int,
    strategy: str,
    *,
    factor_data: Sequence[Text] | None = None,
    damping: float = 1e-8,
) -> np.ndarray:
    """Scores of all pairs of texts. All queries go in one block, which serves kronfluence best."""
    order = by_length(train)
    with tempfile.TemporaryDirectory() as folder:
        analyzer = _analyzer(model, task, classifier, Path(folder))
        analyzer.fit_all_factors(
            "factors",
            dataset=Texts(factor_data if factor_data is not None else train),
            per_device_batch_size=batch_size,
            factor_args=FactorArguments(strategy=strategy),
        )
        analyzer.compute_pairwise_scores(
            "scores",
            factors_name="factors",
            query_dataset=Texts(queries),
            train_dataset=Texts([train[i] for i in order]),
            per_device_query_batch_size=len(queries),
            per_device_train_batch_size=batch_size,
            score_args=ScoreArguments(damping_factor=damping),
        )
        found = analyzer.load_pairwise_scores("scores")["all_modules"].numpy()
    scores = np.empty_like(found)
    scores[:, order] = found
    return scores


def _analyzer(model: nn.Module, task: Task, classifier: TextClassifier, folder: Path) -> Analyzer:
    def collate(texts: Sequence[Any]) -> dict[str, Tensor]:
        inputs = classifier.encoder.collate([text for text, *_ in texts], torch.device("cpu"))
        return {**inputs, "labels": torch.tensor([label for _, label, *_ in texts])}

    analyzer = Analyzer(
        "benchmark",
        prepare_model(model, task),
        task,
        cpu=True,
        disable_tqdm=True,
        output_dir=str(folder),
        log_level=logging.ERROR,
    )
    analyzer.set_dataloader_kwargs(DataLoaderKwargs(collate_fn=collate))
    return analyzer
