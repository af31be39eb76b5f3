"""captum's TracInCP (TracInCPFast reads the last layer only), in both of its ways.

By default it runs a backward pass per example. With `batched` it takes the gradients of a batch at once, which
works for linear layers only and fails behind a frozen trunk unless helped (see `Logits`).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from captum.influence import TracInCP
from torch import Tensor, nn
from torch.utils.data import DataLoader
from workload import Workload, by_length, linear_layers, of_differences

from spanfluence import TextClassifier
from spanfluence.encoding import Encoded


class Logits(nn.Module):
    """The classifier as a function of plain tensors, as captum calls it.

    captum listens for gradients at each layer's input, which those behind a frozen trunk do not have: there
    they are made to start.
    """

    def __init__(self, model: nn.Module, layers: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        modules = dict(model.named_modules())
        for name in layers:
            modules[name].register_forward_pre_hook(_start_gradients)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Logits of a batch."""
        return self.model(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).logits


def _start_gradients(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return args if args[0].requires_grad else (args[0].detach().requires_grad_(), *args[1:])


def tracincp_scores(work: Workload, batch_size: int, *, batched: bool = True) -> np.ndarray:
    """Span scores summed over the points: all texts of both sides, then differences of products.

    Points are taken one after the other: captum keeps the tests' gradients at all its checkpoints at once,
    which would only cost memory.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells every layer that it opens
        return _tracincp_scores(work, batch_size, batched)


def _tracincp_scores(work: Workload, batch_size: int, batched: bool) -> np.ndarray:
    queries, train = work.test_texts(), work.train_texts()
    order, layers = by_length(train), linear_layers(work.linear)
    loader = _loader(work.linear, [train[i] for i in order], batch_size)
    query_loader = _loader(work.linear, queries, batch_size)
    total = np.zeros((len(queries) // 2, len(train) // 2))
    for point in work.points:
        with work.linear.at(point.parameters):
            model = Logits(copy.deepcopy(work.linear.model), layers if batched else ()).eval()
        tracer = TracInCP(
            model,
            loader,
            checkpoints=["point"],
            checkpoints_load_func=lambda _model, _name, weight=point.weight: weight,
            layers=[f"model.{name}" for name in layers],
            loss_fn=nn.CrossEntropyLoss(reduction="sum" if batched else "none"),
            sample_wise_grads_per_batch=batched,
        )
        raw = np.empty((len(queries), len(train)))
        raw[:, order] = tracer.influence(query_loader).detach().numpy()
        total += of_differences(raw)
    return total


def _loader(
    classifier: TextClassifier, texts: Sequence[tuple[Encoded, int]], batch_size: int
) -> DataLoader:  # type: ignore[type-arg]
    def collate(batch: Sequence[tuple[Encoded, int]]) -> tuple[Tensor, ...]:
        inputs = classifier.encoder.collate([text for text, _ in batch], torch.device("cpu"))
        names = ("input_ids", "attention_mask", "token_type_ids")
        columns = [inputs.get(name, torch.zeros_like(inputs["input_ids"])) for name in names]
        return (*columns, torch.tensor([label for _, label in batch]))

    return DataLoader(list(texts), batch_size=batch_size, collate_fn=collate)  # type: ignore[arg-type]
