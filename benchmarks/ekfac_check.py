"""EK-FAC against kronfluence's, on a small classifier trained for a few steps.

kronfluence draws one label per text from the model to estimate the Fisher matrix. Here it sees every text once
with each of the C labels, and the loss of label c is multiplied by sqrt(C p_c): the mean of squared gradients is
then the exact Fisher matrix, which for cross-entropy is our Gauss-Newton matrix. Lambda is the same on both sides.

Factors of inputs: kronfluence averages aa' over all real tokens. We average over rows that receive a gradient,
which in the last block are only those that the head reads. Through kronfluence's own masks it is told the same
("same rows"); its plain factors are compared, too ("as it comes").
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from kronfluence_peer import Classification, pairwise
from timing import Agreement, agreement
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification
from workload import Workload, linear_layers, linear_parameters, of_differences, open_parameters

from spanfluence import Explainer, TextClassifier
from spanfluence.curvature.ekfac import Ekfac

STEPS, BATCH, RATE = 60, 16, 1e-3


class ExactFisher(Classification):
    """Every label of every text instead of a sampled one. Labels of the factor data are the c to take."""

    def __init__(self, layers: Sequence[str], one_position: Sequence[str] = ()) -> None:
        super().__init__(layers)
        self.one_position = set(one_position)

    def compute_train_loss(
        self, batch: dict[str, Tensor], model: nn.Module, sample: bool = False
    ) -> Tensor:
        """Summed cross-entropy; weighted by sqrt(C p_c) where factors are fitted."""
        if not sample:
            return super().compute_train_loss(batch, model)
        inputs = {name: values for name, values in batch.items() if name != "labels"}
        logits = model(**inputs).logits
        own = torch.softmax(logits.detach(), 1).gather(1, batch["labels"][:, None]).squeeze(1)
        losses = nn.functional.cross_entropy(logits, batch["labels"], reduction="none")
        return (losses * (own * logits.shape[1]).sqrt()).sum()

    def get_attention_mask(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """All real tokens; the first alone for layers that the head reads at one position."""
        everywhere = batch["attention_mask"]
        first = torch.zeros_like(everywhere)
        first[:, 0] = 1
        return {n: first if n in self.one_position else everywhere for n in self.layers}


def small_classifier(work: Workload) -> TextClassifier:
    """A BERT of two blocks and width 64, a little trained; all its linear layers attributed."""
    torch.manual_seed(work.seed)
    tokenizer, labels = work.classifier.tokenizer, work.classifier.labels
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
        attn_implementation="eager",
    )
    model = BertForSequenceClassification(config).eval()
    _train(TextClassifier(model, tokenizer, attribute="all"), work)
    whole = TextClassifier(model, tokenizer, attribute="last-2")
    return TextClassifier(model, tokenizer, attribute=linear_parameters(whole))


def _train(classifier: TextClassifier, work: Workload) -> None:
    encoded = classifier.encoder.encode(work.train)
    labels = torch.from_numpy(classifier.label_ids(work.train, "given"))
    rng = np.random.default_rng(work.seed)
    with open_parameters(classifier.model, list(classifier.attributed)) as leaves:
        optimizer = torch.optim.AdamW(leaves.values(), lr=RATE)
        for _ in range(STEPS):
            rows = rng.choice(len(encoded), size=min(BATCH, len(encoded)), replace=False)
            inputs = classifier.encoder.collate([encoded[r] for r in rows], classifier.device)
            loss = nn.functional.cross_entropy(classifier.model(**inputs).logits, labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def ekfac_agreements(work: Workload, batch_size: int) -> tuple[float, dict[str, Agreement]]:
    """(lambda, agreement with kronfluence): told the same rows, and as it comes."""
    classifier = small_classifier(work)
    explainer = Explainer(
        classifier, work.train, "if++", label="given", curvature=Ekfac(sample=len(work.train))
    )
    mine = explainer.scores(work.tests)
    damping = explainer._operators()[0].damping  # type: ignore[union-attr]
    layers = linear_layers(classifier)
    single = [n for n in layers if ".layer.1." in n and not n.endswith(("key", "value"))]
    ways = {"same rows": single, "as it comes": []}
    return damping, {
        way: agreement(
            mine, _theirs(work, classifier, ExactFisher(layers, rows), damping, batch_size)
        )
        for way, rows in ways.items()
    }


def _theirs(
    work: Workload,
    classifier: TextClassifier,
    task: ExactFisher,
    damping: float,
    batch_size: int,
) -> np.ndarray:
    encoded = classifier.encoder.encode(work.train)
    every_label = [(text, label) for text in encoded for label in range(len(classifier.labels))]
    raw = pairwise(
        copy.deepcopy(classifier.model),
        task,
        classifier,
        work.test_texts(),
        work.train_texts(),
        batch_size,
        "ekfac",
        factor_data=every_label,
        damping=damping,
    )
    return of_differences(raw)
