"""The oracle of the curvature family: Gauss-Newton rows and EK-FAC by loops over texts and classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import reference
import torch
from torch import Tensor

from spanfluence.units import Example


def softmax_factor(logits: Tensor) -> Tensor:
    """L with LL' = diag(p) - pp', in closed form: diag(sqrt p) - p sqrt(p)'."""
    p = torch.softmax(logits.detach(), 0)
    return torch.diag(p.sqrt()) - torch.outer(p, p.sqrt())


def gauss_newton_rows(
    model: Any, tokenizer: Any, train: Sequence[Example], names: Sequence[str]
) -> Tensor:
    """Rows M with G = M'M / n, one per text and class, over the named parameters laid end to end."""
    rows = []
    for example in train:
        inputs, _ = reference.encode(tokenizer, example)
        named = dict(model.named_parameters())
        leaves = [named[name].detach().clone().requires_grad_() for name in names]
        logits = torch.func.functional_call(
            model, dict(zip(names, leaves, strict=True)), kwargs=inputs
        ).logits[0]
        jacobian = []
        for logit in logits:
            found = torch.autograd.grad(logit, leaves, retain_graph=True, allow_unused=True)
            jacobian.append(
                torch.cat(
                    [
                        (torch.zeros_like(leaf) if g is None else g).flatten()
                        for leaf, g in zip(leaves, found, strict=True)
                    ]
                )
            )
        rows.append(softmax_factor(logits).T @ torch.stack(jacobian))
    return torch.cat(rows)


def ekfac_solve(
    model: Any,
    tokenizer: Any,
    train: Sequence[Example],
    layers: Sequence[Sequence[str]],
    vectors: Tensor,
    damping: float,
) -> Tensor:
    """Per linear layer with weight and bias: Q_d ((Q_d' V Q_a) / (lambda_ij + damping)) Q_a'."""
    names = [name for own in layers for name in own]
    rows = gauss_newton_rows(model, tokenizer, train, names)
    sizes = [sum(model.get_parameter(n).numel() for n in own) for own in layers]
    solved = []
    for own, gradients, part in zip(
        layers, rows.split(sizes, 1), vectors.split(sizes, 1), strict=True
    ):
        owner = own[0].rpartition(".")[0]
        inputs, outputs = _covariances(model, tokenizer, train, owner)
        right, left = torch.linalg.eigh(inputs)[1], torch.linalg.eigh(outputs)[1]
        high, wide = model.get_parameter(own[0]).shape
        eigenvalues = torch.zeros(high, wide + 1, dtype=vectors.dtype)
        for gradient in gradients:
            eigenvalues += (left.T @ _matrix(gradient, high, wide) @ right).square() / len(train)
        for vector in part:
            turned = left.T @ _matrix(vector, high, wide) @ right / (eigenvalues + damping)
            back = left @ turned @ right.T
            solved.append(torch.cat([back[:, :wide].flatten(), back[:, wide]]))
    tests = len(vectors)
    return torch.cat(
        [
            torch.stack(solved[number * tests : (number + 1) * tests])
            for number in range(len(layers))
        ],
        1,
    )


def _matrix(flat: Tensor, high: int, wide: int) -> Tensor:
    return torch.cat([flat[: high * wide].view(high, wide), flat[high * wide :, None]], 1)


def _covariances(
    model: Any, tokenizer: Any, train: Sequence[Example], owner: str
) -> tuple[Tensor, Tensor]:
    """Sums of aa' (with a 1 for the bias) and dd' over texts, rows and classes."""
    module = model.get_submodule(owner)
    inputs: Tensor | float = 0.0
    outputs: Tensor | float = 0.0
    for example in train:
        seen: list[tuple[Tensor, Tensor]] = []
        handle = module.register_forward_hook(lambda m, a, o, seen=seen: seen.append((a[0], o)))
        model.requires_grad_(True)
        logits = model(**reference.encode(tokenizer, example)[0]).logits[0]
        handle.remove()
        [(read, given)] = seen
        rows = read.detach().reshape(-1, read.shape[-1])
        rows = torch.cat([rows, torch.ones(len(rows), 1, dtype=rows.dtype)], 1)
        inputs = inputs + rows.T @ rows
        for direction in softmax_factor(logits).T:
            [d] = torch.autograd.grad(direction @ logits, [given], retain_graph=True)
            d = d.reshape(-1, d.shape[-1])
            outputs = outputs + d.T @ d
    assert isinstance(inputs, Tensor)
    assert isinstance(outputs, Tensor)
    return inputs, outputs
